package kernel

import (
	"fmt"
	"unsafe"
)

// maxScratch bounds what a frame returned to the pool may hold, and accBudget
// what the accumulators of a tile should: wider tiles where state is small.
const (
	maxScratch = 8 << 20
	accBudget  = 2 << 20
)

// space is a group of axes walked in row-major order, with extents of one left
// out and axes merged that every argument walks as one.
type space struct {
	n      int64 // points
	dims   int
	extent [MaxAxes]int64
	axis   [MaxAxes]int // the last original axis of a dimension
	stride []int64      // bytes, at arg*MaxAxes+dimension
}

// segment is a run of lanes along the last dimension of a space.
type segment struct {
	at, n int
	idx   [MaxAxes]int64 // of the first lane
}

// lanes are the points of a space that make up one tile.
type lanes struct {
	pos  int64 // linear position of the first lane
	n    int
	segs []segment
	off  []int64 // bytes, at segment*args+arg
}

// frame is the scratch of one Run.
type frame struct {
	x       *interp
	l       *Launch
	arena   unsafe.Pointer
	ptr     []unsafe.Pointer // where the current tile of every value is
	base    []unsafe.Pointer // operand element at index zero
	direct  []bool           // loads may use the operand's memory itself
	nargs   int
	rows    bool  // lanes run along the reduced group, else along the kept axes
	width   int   // lanes of a full tile
	lane    space // the axes of the lanes
	loop    space // the others
	tile    lanes
	single  lanes // one lane at offset zero: uniform steps, and row steps of rows
	ln      *lanes
	inner   []int64 // bytes between lanes, per argument
	loopPos int64
	loopIdx [MaxAxes]int64
	loopOff []int64
	accs    []accumulator
	scans   []scanner
	wide    [64]float64
}

func (x *interp) newFrame() *frame {
	n := len(x.k.Args)
	words := make([]uint64, x.arena/8+1)
	f := &frame{
		x: x, nargs: n,
		arena:   unsafe.Pointer(unsafe.SliceData(words)),
		ptr:     make([]unsafe.Pointer, len(x.k.Body)),
		base:    make([]unsafe.Pointer, n),
		direct:  make([]bool, n),
		inner:   make([]int64, n),
		loopOff: make([]int64, n),
	}
	f.lane.stride, f.loop.stride = make([]int64, n*MaxAxes), make([]int64, n*MaxAxes)
	f.single = lanes{n: 1, segs: []segment{{at: 0, n: 1}}, off: make([]int64, n)}
	for _, s := range x.accs {
		f.accs = append(f.accs, newAccumulator(s))
	}
	for _, s := range x.scans {
		f.scans = append(f.scans, newScanner(s))
	}
	return f
}

// Run executes one launch.
func (x *interp) Run(l *Launch) {
	if !x.check(l) {
		return
	}
	f, ok := x.pool.Get().(*frame)
	if !ok {
		f = x.newFrame()
	}
	f.bind(l)
	f.ln = &f.single
	f.exec(x.uniform, 1, true)
	if f.rows {
		f.runRows()
	} else {
		f.runColumns()
	}
	// Keep neither the operands nor much memory alive.
	f.l = nil
	clear(f.base)
	clear(f.ptr)
	held := 0
	for _, a := range f.accs {
		held += a.held()
	}
	if held <= maxScratch {
		x.pool.Put(f)
	}
}

func bug(k *Kernel, format string, args ...any) {
	panic(fmt.Sprintf("sinter/kernel: BUG: kernel %s: ", k.Name) + fmt.Sprintf(format, args...))
}

// check panics if the launch does not fit the kernel or an operand would be
// accessed outside its memory. It reports whether there is anything to do.
func (x *interp) check(l *Launch) bool {
	k := x.k
	if len(l.Extents) != len(k.Axes) || len(l.Args) != len(k.Args) || len(l.Params) != len(k.Params) {
		bug(k, "launch with %d axes, %d arguments, %d parameters", len(l.Extents), len(l.Args), len(l.Params))
	}
	if l.Start != nil && len(l.Start) != len(k.Axes) || l.Full != nil && len(l.Full) != len(k.Axes) {
		bug(k, "launch with start %v, full %v", l.Start, l.Full)
	}
	empty := false
	for _, n := range l.Extents {
		if n < 0 {
			bug(k, "extents %v", l.Extents)
		}
		empty = empty || n == 0
	}
	if empty {
		return false
	}
	for i := range l.Args {
		a, arg := &l.Args[i], &k.Args[i]
		if len(a.Strides) != len(k.Axes) {
			bug(k, "arg%d has %d strides", i, len(a.Strides))
		}
		lo, hi := a.Offset, a.Offset
		for d, n := range l.Extents {
			if n == 1 {
				continue
			}
			st := a.Strides[d]
			if arg.Access[d] == Unit && st != 1 || arg.Access[d] == Broadcast && st != 0 {
				bug(k, "arg%d axis %d: stride %d does not match its access class", i, d, st)
			}
			if st > 0 {
				hi += st * (n - 1)
			} else {
				lo += st * (n - 1)
			}
		}
		if arg.Gather {
			if a.GatherExtent < 1 {
				bug(k, "arg%d: gather extent %d", i, a.GatherExtent)
			}
			if a.GatherStride > 0 {
				hi += a.GatherStride * (a.GatherExtent - 1)
			} else {
				lo += a.GatherStride * (a.GatherExtent - 1)
			}
		}
		if lo < 0 || hi >= a.Size/int64(arg.Type.Size()) {
			bug(k, "arg%d: elements %d to %d of %d bytes of %s", i, lo, hi, a.Size, arg.Type)
		}
	}
	return true
}

// bind prepares the frame for a launch.
func (f *frame) bind(l *Launch) {
	x := f.x
	f.l = l
	for i := range l.Args {
		a := &l.Args[i]
		f.base[i] = unsafe.Add(a.Base, a.Offset*int64(x.k.Args[i].Type.Size()))
		f.direct[i] = x.k.Args[i].Dir == In
		for j := range l.Args {
			o := &l.Args[j]
			if x.k.Args[j].Dir == Out && uintptr(a.Base) < uintptr(o.Base)+uintptr(o.Size) && uintptr(o.Base) < uintptr(a.Base)+uintptr(a.Size) {
				f.direct[i] = false // a store may change what was loaded
			}
		}
	}
	kept, reduced, inside := int64(1), int64(1), int64(1)
	for d, n := range l.Extents {
		switch {
		case x.k.Axes[d] == Reduced:
			reduced *= n
		case x.to > 0 && d >= x.to:
			inside *= n
			kept *= n
		default:
			kept *= n
		}
	}
	// Lanes run along the kept axes where enough of them lie inside the reduced
	// group, or where rows are too short to be worth a tile each.
	f.rows = x.from < x.to && inside < KeptInsideMin && (reduced >= 32 || kept <= reduced)
	if f.rows {
		f.setSpace(&f.lane, Reduced)
		f.setSpace(&f.loop, Parallel)
	} else {
		f.setSpace(&f.lane, Parallel)
		f.setSpace(&f.loop, Reduced)
	}
	f.width = int(min(f.lane.n, tileWidth))
	if !f.rows {
		perLane := int64(1)
		for _, s := range x.accs {
			perLane += stateBytes(s.red, reduced)
		}
		f.width = int(min(int64(f.width), max(accBudget/perLane, 8)))
	}
	for i := range f.inner {
		f.inner[i] = 0
		if f.lane.dims > 0 {
			f.inner[i] = f.lane.stride[i*MaxAxes+f.lane.dims-1]
		}
	}
	f.rewind()
}

func (f *frame) setSpace(s *space, kind AxisKind) {
	s.n, s.dims = 1, 0
	args := f.l.Args
axes:
	for d, n := range f.l.Extents {
		if f.x.k.Axes[d] != kind || n == 1 {
			continue
		}
		s.n *= n
		at := s.dims
		if at > 0 && !f.x.indexed[d] && !f.x.indexed[s.axis[at-1]] {
			merge := true
			for i := range args {
				merge = merge && s.stride[i*MaxAxes+at-1] == args[i].Strides[d]*n*int64(f.x.k.Args[i].Type.Size())
			}
			if merge {
				s.extent[at-1] *= n
				s.axis[at-1] = d
				for i := range args {
					s.stride[i*MaxAxes+at-1] = args[i].Strides[d] * int64(f.x.k.Args[i].Type.Size())
				}
				continue axes
			}
		}
		s.extent[at], s.axis[at] = n, d
		for i := range args {
			s.stride[i*MaxAxes+at] = args[i].Strides[d] * int64(f.x.k.Args[i].Type.Size())
		}
		s.dims++
	}
}

// take sets t to n lanes of the space from a linear position.
func (f *frame) take(t *lanes, pos int64, n int) {
	s := &f.lane
	t.pos, t.n = pos, n
	t.segs, t.off = t.segs[:0], t.off[:0]
	var g segment
	rest := pos
	for d := s.dims - 1; d >= 0; d-- {
		g.idx[d] = rest % s.extent[d]
		rest /= s.extent[d]
	}
	last := s.dims - 1
	for at := 0; at < n; {
		g.at, g.n = at, n-at
		if last >= 0 {
			g.n = int(min(int64(g.n), s.extent[last]-g.idx[last]))
		}
		for i := range f.nargs {
			off := int64(0)
			for d := range s.dims {
				off += g.idx[d] * s.stride[i*MaxAxes+d]
			}
			t.off = append(t.off, off)
		}
		t.segs = append(t.segs, g)
		at += g.n
		for d := last; d >= 0; d-- {
			if d == last {
				g.idx[d] += int64(g.n)
			} else {
				g.idx[d]++
			}
			if g.idx[d] < s.extent[d] || d == 0 {
				break
			}
			g.idx[d] = 0
		}
	}
}

// rewind and advance walk the space of the loop.
func (f *frame) rewind() {
	f.loopPos = 0
	f.loopIdx = [MaxAxes]int64{}
	clear(f.loopOff)
}

func (f *frame) advance() {
	s := &f.loop
	f.loopPos++
	for d := s.dims - 1; d >= 0; d-- {
		f.loopIdx[d]++
		for i := range f.loopOff {
			f.loopOff[i] += s.stride[i*MaxAxes+d]
		}
		if f.loopIdx[d] < s.extent[d] {
			return
		}
		f.loopIdx[d] = 0
		for i := range f.loopOff {
			f.loopOff[i] -= s.stride[i*MaxAxes+d] * s.extent[d]
		}
	}
}

// exec runs steps on n lanes. Values of which there is one are spread over a
// tile where steps on tiles use them.
func (f *frame) exec(steps []step, n int, spread bool) {
	for i := range steps {
		s := &steps[i]
		f.ptr[s.dst] = unsafe.Add(f.arena, s.slot)
		s.fn(f, s, n)
		if spread && s.fill {
			f.spread(s.dst, s.size)
		}
	}
}

func (f *frame) spread(r Ref, size int) {
	switch size {
	case 1:
		fill(vec[uint8](f, r, f.width))
	case 2:
		fill(vec[uint16](f, r, f.width))
	case 4:
		fill(vec[uint32](f, r, f.width))
	default:
		fill(vec[uint64](f, r, f.width))
	}
}

func fill[T raw](d []T) {
	v := d[0]
	for i := range d {
		d[i] = v
	}
}

// begin readies the reductions and scans of a pass over total elements.
func (f *frame) begin(p *pass, width int, total int64) {
	for _, i := range p.reduces {
		f.accs[i].begin(f.rows, width, total)
	}
	for _, i := range p.scans {
		f.scans[i].begin(f.rows, width)
	}
}

// finish writes the results of the reductions of a pass.
func (f *frame) finish(p *pass, n int) {
	for _, i := range p.reduces {
		s := &f.x.accs[i]
		r := Ref(s.at)
		f.ptr[r] = unsafe.Add(f.arena, s.slot)
		f.accs[i].finish(f.ptr[r])
		if f.rows && s.fill {
			f.spread(r, s.size)
		}
	}
}

// runColumns takes tiles of kept positions and walks the reduced group for each.
func (f *frame) runColumns() {
	x := f.x
	f.ln = &f.tile
	for pos := int64(0); pos < f.lane.n; pos += int64(f.width) {
		n := int(min(int64(f.width), f.lane.n-pos))
		f.take(&f.tile, pos, n)
		for i := range x.passes {
			p := &x.passes[i]
			f.exec(p.row, n, false)
			if len(p.elem) == 0 {
				continue
			}
			f.begin(p, n, f.loop.n)
			for r := int64(0); r < f.loop.n; r++ {
				f.exec(p.elem, n, false)
				f.advance()
			}
			f.rewind()
			f.finish(p, n)
		}
	}
}

// runRows takes the kept positions one by one and walks the reduced group in
// tiles for each.
func (f *frame) runRows() {
	x := f.x
	whole := f.lane.n <= int64(f.width)
	if whole {
		f.take(&f.tile, 0, f.width)
	}
	for row := int64(0); row < f.loop.n; row++ {
		for i := range x.passes {
			p := &x.passes[i]
			f.ln = &f.single
			f.exec(p.row, 1, true)
			if len(p.elem) == 0 {
				continue
			}
			f.ln = &f.tile
			f.begin(p, 1, f.lane.n)
			for pos := int64(0); pos < f.lane.n; pos += int64(f.width) {
				n := int(min(int64(f.width), f.lane.n-pos))
				if !whole {
					f.take(&f.tile, pos, n)
				}
				f.exec(p.elem, n, false)
			}
			f.finish(p, 1)
		}
		f.advance()
	}
}

// linear is the row-major index of a lane over the whole iteration space.
func (f *frame) linear(i int) int64 {
	kept, reduced := f.ln.pos+int64(i), f.loopPos
	if f.rows {
		kept, reduced = reduced, kept
	}
	l := f.l
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	at, unit := int64(0), int64(1)
	for d := len(l.Extents) - 1; d >= 0; d-- {
		from := &kept
		if f.x.k.Axes[d] == Reduced {
			from = &reduced
		}
		idx := *from % l.Extents[d]
		*from /= l.Extents[d]
		if l.Start != nil {
			idx += l.Start[d]
		}
		at += idx * unit
		unit *= full[d]
	}
	return at
}
