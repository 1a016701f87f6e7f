package ptx

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// unitType is what the matrix units multiply in a kernel: bf16, f16 or, where that is asked
// for, f32, rounded to tf32. The order of summation is theirs. Of a kernel that has other
// products, or none, it is Invalid.
func unitType(k *kernel.Kernel, target Target) ir.DType {
	for _, r := range k.Reductions {
		switch r.Kind {
		case kernel.PairDot:
			return ir.BF16
		case kernel.HalfDot:
			return ir.F16
		}
	}
	if !target.TF32 {
		return ir.Invalid
	}
	for i := range k.Body {
		if in := &k.Body[i]; in.Op == kernel.OpReduce && in.Type == ir.F32 && k.Reductions[in.Imm].Kind == kernel.Dot {
			return ir.F32
		}
	}
	return ir.Invalid
}

// onHopper reports whether Hopper's form is there for what is multiplied. That of f32 would want
// both operands with steps as neighbours, as the form of a warp does, and has no other gain yet.
func (m *Module) onHopper() bool { return m.target.hopper() && m.unit != ir.F32 }

// planMatrix launches a product on the matrix units. An operand that copies of 16 bytes
// take is read where it lies; another one is computed into scratch memory first, in an
// order that they take. Which it is changes no bit.
func (m *Module) planMatrix(p *Plan, l *kernel.Launch, base []uint64) error {
	z := m.reduceSizes(l)
	if z.group == 0 {
		return m.planSequential(p, l, base)
	}
	z.rows, z.cols = extent(l, m.form.rows), extent(l, m.form.cols)
	z.items = extent(l, m.form.batch)
	if z.items > math.MaxUint16 || z.rows > math.MaxInt32 || z.cols > math.MaxInt32 || z.group > math.MaxInt32/int64(m.unit.Size()/2) {
		return m.halve(p, l, base, m.planMatrix)
	}
	f, warps := warpForm{}, !m.onHopper() || min(z.rows, z.cols) <= thinHopper
	if warps {
		f = m.warpFormFor(z)
		f.computed = f.thin && m.computes(l, base, f.many)
	}
	if axis := m.packedApart(l, base, f.notPacked()); axis >= 0 {
		return m.halveAlong(axis, p, l, base, m.planMatrix)
	}
	if warps {
		return m.planWarpForm(p, l, base, z, f)
	}
	return m.planHopper(p, l, base, z)
}

// thinHopper is how many rows or columns a product has at least in Hopper's form. One with
// fewer is bound by reading the other operand, for which that has too few blocks: the
// smallest tile has 128 rows.
const thinHopper = thinLines

// unitTiles is how many tiles the results of all batches have.
func (z sizes) unitTiles(tall, wide int64) int64 {
	return z.items * ((z.rows + tall - 1) / tall) * ((z.cols + wide - 1) / wide)
}

// planHopper launches a product in Hopper's form.
func (m *Module) planHopper(p *Plan, l *kernel.Launch, base []uint64, z sizes) error {
	if z.unitTiles(matrixRows, matrixWidths[0]) > math.MaxInt32 {
		return m.halve(p, l, base, m.planMatrix)
	}
	x, z1, err := m.located(p, l, base, -1)
	if err != nil {
		return err
	}
	return m.addMatrix(p, l, base, z, x, z1, m.matrixWidth(z, z1.turned))
}

// addMatrix adds a product in Hopper's form whose tiles have so many columns.
func (m *Module) addMatrix(p *Plan, l *kernel.Launch, base []uint64, z sizes, x, z1 lying, cols int) error {
	f := matrixForm{cols: cols, turnX: x.turned, turnZ: z1.turned, pairs: m.vectorResults(l, base), whole: z.cols%int64(cols) == 0}
	e, err := m.matrixEntry(f)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, min(z.unitTiles(matrixRows, int64(f.cols)), m.target.sms()), 1)
	p.Steps[len(p.Steps)-1].Maps = []TensorMap{x.boxes(matrixRows), z1.boxes(f.cols)}
	return nil
}

// side is the axes of the rows or columns of an operand of the product.
func (m *Module) side(i int) []int {
	if i == 0 {
		return m.form.rows
	}
	return m.form.cols
}

// operand is an operand of the product, of bf16 and f16 before it is converted.
func (m *Module) operand(i int) kernel.Ref {
	r := []kernel.Ref{m.form.x, m.form.z}[i]
	if m.unit == ir.F32 {
		return r
	}
	return m.k.Body[r].A
}

// lying is where an operand of a product on matrix units lies: a matrix for each number of
// the batch, whose elements are neighbours along one axis and lie at multiples of 16 bytes
// along the others.
type lying struct {
	arg     int    // of the kernel, -1 in scratch memory
	base    uint64 // address of the first element, in scratch memory once that is bound
	place   uint64 // there
	turned  bool   // lines, not the steps of the group, are neighbours
	extents [3]int64
	strides [2]int64 // bytes: from a line to the next, or a step where it is turned, and from matrix to matrix
}

// boxes describes an operand to the copy engine, which brings so many lines at once.
func (o lying) boxes(lines int) TensorMap {
	t := TensorMap{Arg: o.arg, Base: o.base, Offset: o.place, Extents: [4]int64{o.extents[0], o.extents[1], o.extents[2]},
		Strides: [3]int64{o.strides[0], o.strides[1]}, Box: [4]int32{matrixDepth, int32(lines), 1}}
	if o.turned {
		t.Box[1] = matrixDepth
	}
	return t
}

// located finds both operands but one that is skipped, if any is, or adds steps that compute
// them to where they are found then.
func (m *Module) located(p *Plan, l *kernel.Launch, base []uint64, skip int) (x, z lying, err error) {
	room := int64(0) // of scratch memory: what other launches of the plan had there is done with
	for i, to := range []*lying{&x, &z} {
		if i == skip {
			continue
		}
		var ok bool
		if *to, ok = m.inPlace(l, base, i); ok {
			continue
		}
		if *to, err = m.packed(p, l, base, i, &room); err != nil {
			return x, z, err
		}
	}
	p.scratch(room)
	return x, z, nil
}

// packLimit is from how many bytes of a packed operand on a launch is divided into some
// that follow each other in the same memory: an operand that is windows of another is many
// times as large.
const packLimit = 1 << 30

// packedApart is an axis that a launch is to be halved along, as an operand that is packed
// would be larger than the limit; -1 if none is, or it has one line. An operand may be skipped.
func (m *Module) packedApart(l *kernel.Launch, base []uint64, skip int) int {
	most, axis := m.packLimit, -1
	for i := range 2 {
		if i == skip {
			continue
		}
		if _, ok := m.inPlace(l, base, i); ok || m.packedBytes(l, i) <= most {
			continue
		}
		for _, a := range append(append([]int(nil), m.form.batch...), m.side(i)...) {
			if l.Extents[a] > 1 {
				most, axis = m.packedBytes(l, i), a
				break
			}
		}
	}
	return axis
}

// packedBytes is what a packed operand takes.
func (m *Module) packedBytes(l *kernel.Launch, i int) int64 {
	axes := m.packedAxes(i, m.liesTurned(i))
	return m.packedLine(extent(l, axes[2])) * extent(l, axes[1]) * extent(l, axes[0])
}

// packedLine is the bytes of what lies side by side in a packed operand.
func (m *Module) packedLine(elements int64) int64 {
	return (int64(m.unit.Size())*elements + copyBytes - 1) &^ (copyBytes - 1)
}

// inPlace describes an operand that is a matrix in memory, if copies can take it from there.
// The copy engine takes no strides that are 0 or less, or of 1 TB.
func (m *Module) inPlace(l *kernel.Launch, base []uint64, i int) (t lying, ok bool) {
	ld := &m.k.Body[m.operand(i)]
	if ld.Op != kernel.OpLoad || ld.Type != m.unit {
		return t, false
	}
	arg := int(ld.Imm)
	group, one := m.asOneAxis(l, arg, m.form.reduced)
	side, oneToo := m.asOneAxis(l, arg, m.side(i))
	batch, oneAsWell := m.asOneAxis(l, arg, m.form.batch)
	if !one || !oneToo || !oneAsWell {
		return t, false
	}
	size := int64(m.unit.Size())
	t = lying{arg: arg, base: base[arg] + uint64(size*l.Args[arg].Offset)}
	near, across := group, side
	if t.turned = group.stride != 1; t.turned {
		near, across = side, group
	}
	if near.stride != 1 || t.base%16 != 0 || t.turned && m.unit == ir.F32 {
		return t, false
	}
	t.extents = [3]int64{near.extent, across.extent, batch.extent}
	t.strides = [2]int64{size * across.stride, size * batch.stride}
	if across.extent == 1 { // whatever its stride
		t.strides[0] = (size*near.extent + 15) &^ 15
	}
	if batch.extent == 1 {
		t.strides[1] = t.strides[0] * across.extent
	}
	for _, s := range t.strides {
		if s%16 != 0 || m.onHopper() && (s <= 0 || s >= 1<<40) {
			return t, false
		}
	}
	return t, true
}

// oneAxis is an axis that some of a launch are for an argument.
type oneAxis struct {
	extent int64
	stride int64 // elements from one to the next: of a single one 1 if the kernel says so, else 0
}

// asOneAxis reports whether the elements of an argument along axes lie as if they were one:
// those in front of the last step over all that is behind them.
func (m *Module) asOneAxis(l *kernel.Launch, arg int, axes []int) (a oneAxis, ok bool) {
	a.extent = extent(l, axes)
	access, strides := m.k.Args[arg].Access, l.Args[arg].Strides
	if n := len(axes); n > 0 && access[axes[n-1]] == kernel.Unit {
		a.stride = 1
	}
	next, found := int64(0), false // what the axis in front has to step over
	for i := len(axes) - 1; i >= 0; i-- {
		n, stride := l.Extents[axes[i]], int64(0)
		if n == 1 {
			continue
		}
		if access[axes[i]] != kernel.Broadcast {
			stride = strides[axes[i]]
		}
		if !found {
			a.stride, found = stride, true
		} else if stride != next {
			return a, false
		}
		next = stride * n
	}
	return a, true
}

// liesTurned reports whether what an operand is computed from lies with neighbouring
// lines side by side: it is then packed so, unless words of 32 bits would have to be turned
// on the way to the matrix units, which turn halves.
func (m *Module) liesTurned(i int) bool {
	side := m.side(i)
	if len(side) == 0 || m.unit == ir.F32 {
		return false
	}
	args := map[int]bool{}
	m.argsOf(args, m.operand(i))
	turned := false
	for arg := range args {
		a := &m.k.Args[arg]
		if a.Access[m.form.reduced[len(m.form.reduced)-1]] == kernel.Unit {
			return false
		}
		turned = turned || a.Access[side[len(side)-1]] == kernel.Unit
	}
	return turned
}

// packing is the elementwise kernel that computes an operand.
type packing struct {
	*kernel.Derived
	module *Module
}

// packedAxes are the axes of a packed operand, slowest first: batches, and then lines
// and the group or, turned, the group and lines.
func (m *Module) packedAxes(i int, turned bool) [3][]int {
	if turned {
		return [3][]int{m.form.batch, m.form.reduced, m.side(i)}
	}
	return [3][]int{m.form.batch, m.side(i), m.form.reduced}
}

// packingOf returns that of an operand, made when it is needed first.
func (m *Module) packingOf(i int, turned bool) (*packing, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := &m.packings[i]
	if *at != nil {
		return *at, nil
	}
	made, err := m.newPacking(i, turned)
	if err == nil {
		*at = made
	}
	return made, err
}

func (m *Module) newPacking(i int, turned bool) (*packing, error) {
	ref := m.operand(i)
	var axes []int
	for _, list := range m.packedAxes(i, turned) {
		axes = append(axes, list...)
	}
	d, at := m.k.Derive(m.k.Name+[]string{" rows", " columns"}[i], m.k.Closure(ref), axes)
	block := d.Block(m.unit, kernel.Out, axes[len(axes)-1])
	d.K.Body = append(d.K.Body, kernel.Instr{Op: kernel.OpStore, Type: m.unit, A: at[ref], B: kernel.None, C: kernel.None, Imm: uint64(block)})
	made, err := Generate(d.K, m.target)
	if err != nil {
		return nil, err
	}
	return &packing{d, made}, nil
}

// packed adds steps that compute an operand into scratch memory: what lies side by
// side, the group or neighbouring lines, at multiples of 16 bytes, batches behind each
// other. room is what the launch has of scratch memory so far.
func (m *Module) packed(p *Plan, l *kernel.Launch, base []uint64, i int, room *int64) (t lying, err error) {
	turned := m.liesTurned(i)
	c, err := m.packingOf(i, turned)
	if err != nil {
		return t, err
	}
	axes := m.packedAxes(i, turned)
	near, across, batch := extent(l, axes[2]), extent(l, axes[1]), extent(l, axes[0])
	size := int64(m.unit.Size())
	line := m.packedLine(near) / size
	sub := &kernel.Launch{Params: append([]uint64(nil), l.Params...)}
	for _, axis := range c.Axes {
		start, full := int64(0), l.Extents[axis]
		if l.Start != nil {
			start = l.Start[axis]
		}
		if l.Full != nil {
			full = l.Full[axis]
		}
		sub.Extents, sub.Start, sub.Full = append(sub.Extents, l.Extents[axis]), append(sub.Start, start), append(sub.Full, full)
	}
	for _, axis := range c.Extents {
		full := l.Extents[axis]
		if l.Full != nil {
			full = l.Full[axis]
		}
		sub.Params = append(sub.Params, uint64(full))
	}
	of, bases := append([]int(nil), c.Args...), make([]uint64, 0, len(c.Args)+1)
	for _, arg := range c.Args {
		o := l.Args[arg]
		own := o.Strides
		o.Strides = nil
		for _, axis := range c.Axes {
			o.Strides = append(o.Strides, own[axis])
		}
		sub.Args = append(sub.Args, o)
		bases = append(bases, base[arg])
	}
	block := kernel.Operand{Strides: make([]int64, len(c.Axes))}
	at, step := len(c.Axes), int64(1)
	for n := range axes {
		list := axes[2-n]
		if n == 1 {
			step = line
		}
		for j := len(list) - 1; j >= 0; j-- {
			at--
			block.Strides[at] = step
			step *= l.Extents[list[j]]
		}
	}
	sub.Args = append(sub.Args, block)
	made, err := c.module.Plan(sub, append(bases, 0))
	if err != nil {
		return t, err
	}
	take := func(bytes int64) (at uint64) {
		at = uint64(*room)
		*room += (bytes + 255) &^ 255
		return at
	}
	place := take(m.packedBytes(l, i))
	own := take(made.Scratch) // memory of the steps' own
	for _, s := range made.Steps {
		s.at = own
		s.of = append(of, -1)
		s.place = place
		s.relative = append([]uint64(nil), s.Params...)
		p.Steps = append(p.Steps, s)
	}
	return lying{arg: -1, base: place, place: place, turned: turned, extents: [3]int64{near, across, batch}, strides: [2]int64{size * line, size * line * across}}, nil
}

// vectorResults reports whether results are stored eight at a time, and what goes with
// them is read in pairs.
func (m *Module) vectorResults(l *kernel.Launch, base []uint64) bool {
	if len(m.form.cols) == 0 {
		return false
	}
	for i := range m.outside() {
		if a := &m.k.Args[i]; a.Dir == kernel.Out && (a.Type.Size() != 2 && a.Type.Size() != 4 || a.Access[m.form.cols[len(m.form.cols)-1]] != kernel.Unit) {
			return false
		}
	}
	return m.neighbours(8, l, base, m.outside(), m.form.cols)
}
