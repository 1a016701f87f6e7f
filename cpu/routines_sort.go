package cpu

import (
	"unsafe"

	"github.com/sinter-go/sinter/internal/keysort"
	"github.com/sinter-go/sinter/ir"
)

func init() {
	sorts := byBits{sortLanes[uint8], sortLanes[uint16], sortLanes[uint32], sortLanes[uint64]}
	builtinRoutines["sort"] = func(c *Call) error { return sorts.run(c, c.Node.Attr("descending").Bool()) }
	builtinRoutines["topk"] = func(c *Call) error { return sorts.run(c, c.Node.Attr("largest").Bool()) }
}

// orderly is an implementation of a routine for elements of one width.
type orderly[T keysort.Bits] func(c *Call, o keysort.Order[T]) error

// byBits are the implementations of a routine that compares elements.
type byBits struct {
	b8  orderly[uint8]
	b16 orderly[uint16]
	b32 orderly[uint32]
	b64 orderly[uint64]
}

// run runs the implementation for the elements of the first operand.
func (r byBits) run(c *Call, descending bool) error {
	const unsigned, signed, float = keysort.Unsigned, keysort.Signed, keysort.Float
	switch c.In[0].Type.DType {
	case ir.I8:
		return r.b8(c, keysort.OrderOf[uint8](signed, 0, descending))
	case ir.I16:
		return r.b16(c, keysort.OrderOf[uint16](signed, 0, descending))
	case ir.U16:
		return r.b16(c, keysort.OrderOf[uint16](unsigned, 0, descending))
	case ir.F16:
		return r.b16(c, keysort.OrderOf[uint16](float, 0x7c00, descending))
	case ir.BF16:
		return r.b16(c, keysort.OrderOf[uint16](float, 0x7f80, descending))
	case ir.I32:
		return r.b32(c, keysort.OrderOf[uint32](signed, 0, descending))
	case ir.U32:
		return r.b32(c, keysort.OrderOf[uint32](unsigned, 0, descending))
	case ir.F32:
		return r.b32(c, keysort.OrderOf[uint32](float, 0x7f800000, descending))
	case ir.I64:
		return r.b64(c, keysort.OrderOf[uint64](signed, 0, descending))
	case ir.U64:
		return r.b64(c, keysort.OrderOf[uint64](unsigned, 0, descending))
	case ir.F64:
		return r.b64(c, keysort.OrderOf[uint64](float, 0x7ff0000000000000, descending))
	}
	return r.b8(c, keysort.OrderOf[uint8](unsigned, 0, descending)) // bool and u8
}

// sortable returns an error if places along an axis need more than 32 bits.
func sortable(extent int) error {
	if int64(extent) > keysort.MaxItems {
		return ir.Errorf(ir.ErrUnsupported, "%d elements are to be sorted, at most %d can be", extent, int64(keysort.MaxItems))
	}
	return nil
}

// laneSort sorts lanes along an axis, and keeps the first room elements of each.
type laneSort[T keysort.Bits] struct {
	order                keysort.Order[T]
	extent, inner, room  int
	groups, each, across int // lanes side by side are sorted in groups of each; across groups make a row of them
	x, y                 []T
	places               []int64
	selects              bool
}

// chunk is how many elements are shown to a selector at once.
const chunk = 1024

func sortLanes[T keysort.Bits](c *Call, order keysort.Order[T]) error {
	shape := c.In[0].Type.Shape
	axis, err := ir.Axis(int(c.Node.Attr("axis").Int), len(shape))
	if err != nil {
		return err
	}
	outer, extent, inner := split(shape, axis, 1)
	s := &laneSort[T]{order: order, extent: extent, inner: inner, room: c.Out[0].Type.Shape[axis],
		x: view[T](c.In[0].Data), y: view[T](c.Out[0].Data), places: view[int64](c.Out[1].Data)}
	if outer*inner*s.room == 0 {
		return nil
	}
	if err := sortable(extent); err != nil {
		return err
	}
	// Lanes side by side share cache lines, so they are read together.
	s.each = min(inner, 8, max(1, 1<<20/extent))
	s.across = (inner + s.each - 1) / s.each
	s.groups = outer * s.across
	s.selects = 8*s.room <= extent
	if s.groups < c.Threads() && extent >= 1<<16 {
		if s.selects {
			return s.selectBlocks(c)
		}
		return s.sortOne(c)
	}
	return s.sortGroups(c)
}

func (s *laneSort[T]) wide() bool { return unsafe.Sizeof(T(0)) == 8 }

// group returns the first lane of a group, by the positions of its first elements
// in x and in the results, and the number of its lanes.
func (s *laneSort[T]) group(g int) (from, to, lanes int) {
	o, j := g/s.across, g%s.across*s.each
	return o*s.extent*s.inner + j, o*s.room*s.inner + j, min(s.each, s.inner-j)
}

// laneSpace is the workspace of one lane. Elements of 64 bits need all of it.
type laneSpace struct {
	items, tmp, keys []uint64
	places           []uint32
}

// words is the length of the workspace of n elements in words of 64 bits.
func (s *laneSort[T]) words(n int) int {
	if s.wide() {
		return 3*n + (n+1)/2
	}
	return 2 * n
}

func (s *laneSort[T]) space(w []uint64, n int) laneSpace {
	l := laneSpace{items: w[:n], tmp: w[n : 2*n]}
	if s.wide() {
		l.keys, l.places = w[2*n:3*n], unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(w[3*n:]))), n)
	}
	return l
}

// sort sorts the lane from x[from] on.
func (s *laneSort[T]) sort(w keysort.Workers, l laneSpace, from int) []uint64 {
	if n, blocks := s.extent, w.Threads(); blocks > 1 && n >= 1<<15 {
		w.Parallel(blocks, func(b int) { s.load(l, from, n*b/blocks, n*(b+1)/blocks) })
	} else {
		s.load(l, from, 0, n)
	}
	if s.wide() {
		return keysort.Sort64(w, l.keys, l.items, l.tmp, l.places)
	}
	return keysort.Sort(w, l.items, l.tmp)
}

// load reads elements first to last of the lane from x[from] on.
func (s *laneSort[T]) load(l laneSpace, from, first, last int) {
	x := s.x[from+first*s.inner:]
	if s.wide() {
		s.order.Keys(asBits[T](l.keys[first:last]), x, s.inner)
		return
	}
	s.order.Items(l.items[first:last], x, s.inner, first)
}

// asBits is keys of 64 bits as what they are, for code that is made for all widths.
func asBits[T keysort.Bits](keys []uint64) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys))
}

// put writes sorted elements, from number first on: those of the lane from x[from]
// on, to the lane from y[to] on.
func (s *laneSort[T]) put(sorted []uint64, first, from, to int) {
	for i, v := range sorted {
		at := int(uint32(v))
		p := to + (first+i)*s.inner
		s.places[p] = int64(at)
		if s.wide() {
			s.y[p] = s.x[from+at*s.inner]
			continue
		}
		b, ok := s.order.Element(T(v >> 32))
		if !ok {
			b = s.x[from+at*s.inner]
		}
		s.y[p] = b
	}
}

// sortOne sorts lanes one after the other, each by all threads.
func (s *laneSort[T]) sortOne(c *Call) error {
	w, err := words(c, s.words(s.extent))
	if err != nil {
		return err
	}
	l := s.space(w, s.extent)
	for g := range s.groups {
		from, to, lanes := s.group(g)
		for j := range lanes {
			sorted := s.sort(c, l, from+j)
			blocks := c.Threads()
			c.Parallel(blocks, func(b int) {
				i := s.room * b / blocks
				s.put(sorted[i:s.room*(b+1)/blocks], i, from+j, to+j)
			})
		}
	}
	return nil
}

// words returns workspace.
func words(c *Call, n int) ([]uint64, error) {
	b, err := c.Scratch(8 * n)
	return view[uint64](b), err
}

// sortGroups shares the groups among the threads.
func (s *laneSort[T]) sortGroups(c *Call) error {
	tasks := min(s.groups, 4*c.Threads())
	if s.selects {
		c.Parallel(tasks, func(t int) { s.selectGroups(s.groups*t/tasks, s.groups*(t+1)/tasks) })
		return nil
	}
	// Lanes lie one cache line further apart than they are long, so that those of
	// 2^n elements do not compete for the same lines.
	apart := s.extent + 8
	own := s.each*apart + s.words(s.extent)
	w, err := words(c, tasks*own)
	if err != nil {
		return err
	}
	c.Parallel(tasks, func(t int) {
		w := w[t*own : (t+1)*own]
		side, l := w[:s.each*apart], s.space(w[s.each*apart:], s.extent)
		for g := s.groups * t / tasks; g < s.groups*(t+1)/tasks; g++ {
			from, to, lanes := s.group(g)
			if lanes == 1 {
				s.put(s.sort(keysort.Serial{}, l, from)[:s.room], 0, from, to)
				continue
			}
			s.fill(side, apart, from, lanes)
			for j := range lanes {
				var sorted []uint64
				if lane := side[j*apart:][:s.extent]; s.wide() {
					sorted = keysort.Sort64(keysort.Serial{}, lane, l.items, l.tmp, l.places)
				} else {
					sorted = keysort.Sort(keysort.Serial{}, lane, l.tmp)
				}
				s.put(sorted[:s.room], 0, from+j, to+j)
			}
		}
	})
	return nil
}

// fill reads lanes side by side, as items, or as keys if those have 64 bits.
func (s *laneSort[T]) fill(side []uint64, apart, from, lanes int) {
	for i := range s.extent {
		for j, b := range s.x[from+i*s.inner:][:lanes] {
			k := uint64(s.order.Key(b))
			if !s.wide() {
				k = k<<32 | uint64(i)
			}
			side[j*apart+i] = k
		}
	}
}

// selectGroups selects in the lanes of some groups.
func (s *laneSort[T]) selectGroups(first, last int) {
	sel := s.selector()
	for g := first; g < last; g++ {
		from, to, lanes := s.group(g)
		for j := range lanes {
			sel.reset()
			sel.show(s, from+j, 0, s.extent)
			sel.put(s, from+j, to+j)
		}
	}
}

// selectBlocks selects in the blocks of each lane, a block for each thread, and then
// among what was selected.
func (s *laneSort[T]) selectBlocks(c *Call) error {
	blocks := c.Threads()
	sels := make([]*selector[T], blocks)
	c.Parallel(blocks, func(b int) { sels[b] = s.selector() })
	for g := range s.groups {
		from, to, lanes := s.group(g)
		for j := range lanes {
			c.Parallel(blocks, func(b int) {
				sels[b].reset()
				sels[b].show(s, from+j, s.extent*b/blocks, s.extent*(b+1)/blocks)
				sels[b].least()
			})
			for _, o := range sels[1:] {
				sels[0].join(o)
			}
			sels[0].put(s, from+j, to+j)
		}
	}
	return nil
}

// selector selects among items, or keys of 64 bits.
type selector[T keysort.Bits] struct {
	narrow *keysort.Selector
	wide   *keysort.Selector64
	chunk  [chunk]uint64
}

func (s *laneSort[T]) selector() *selector[T] {
	if s.wide() {
		return &selector[T]{wide: keysort.NewSelector64(s.room, s.extent)}
	}
	return &selector[T]{narrow: keysort.NewSelector(s.room, s.extent)}
}

func (l *selector[T]) reset() {
	if l.wide != nil {
		l.wide.Reset()
		return
	}
	l.narrow.Reset()
}

// show shows elements first to last of the lane from x[from] on.
func (l *selector[T]) show(s *laneSort[T], from, first, last int) {
	for i := first; i < last; i += chunk {
		part := l.chunk[:min(chunk, last-i)]
		if l.wide != nil {
			s.order.Keys(asBits[T](part), s.x[from+i*s.inner:], s.inner)
			l.wide.Add(part, i)
			continue
		}
		s.order.Items(part, s.x[from+i*s.inner:], s.inner, i)
		l.narrow.Add(part)
	}
}

func (l *selector[T]) least() {
	if l.wide != nil {
		l.wide.Least()
		return
	}
	l.narrow.Least()
}

func (l *selector[T]) join(o *selector[T]) {
	if l.wide != nil {
		l.wide.Join(o.wide)
		return
	}
	l.narrow.Add(o.narrow.Least())
}

// put writes what was selected of the lane from x[from] on.
func (l *selector[T]) put(s *laneSort[T], from, to int) {
	if l.wide == nil {
		s.put(l.narrow.Least(), 0, from, to)
		return
	}
	for i, at := range l.wide.Least() {
		s.put([]uint64{uint64(at)}, i, from, to)
	}
}
