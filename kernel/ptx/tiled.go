package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// tiledForm is one variant of a kernel of the form [product] on the ordinary
// arithmetic units: a block of 256 threads computes a tile of 16·rows by 16·cols
// results, each thread rows×cols of them; slabs of depth steps along the group
// pass through shared memory, one being filled while the other is used. Every
// result is one chain of fma in ascending order for each chunk, so the bits are
// those of any other way.
type tiledForm struct {
	rows, cols int // of a thread; multiples of 4, or both 2
	x, z       lineup
	out        lineup // axis of vectors of results: along the columns or none
	one        bool   // the group is one chunk
	depth      int    // steps of a slab; a multiprocessor with one block waits for each
}

const (
	tiledThreads = tiledLanes * tiledLanes
	tiledDepth   = 16 // steps of the least slabs, of which the others are multiples
	tiledPad     = 4  // elements between rows of a slab, so that turned stores spread over the banks
)

// tiledLanes is how many threads of a block lie along the rows, and along the columns.
const tiledLanes = 16

// lineup says along which axis four neighbours are read or written at once.
type lineup uint8

const (
	single     lineup = iota // one element at a time
	alongGroup               // along the reduced axis
	alongTile                // along the rows of the first operand, the columns of the second
)

// String marks the lineup in entry names.
func (l lineup) String() string { return [...]string{"1", "k", "t"}[l] }

type tiledEmitter struct {
	*emitter
	p     *product
	form  tiledForm
	t     ir.DType
	size  int
	chunk int
	tid   reg
	batch []reg // indices of the batch axes, by axis
	rows  reg   // extents of the matrix of results
	cols  reg
	row0  reg // first row and column of the block
	col0  reg
	group reg // elements of the group
	x, z  *side
	acc   [][]reg
	base  reg // of shared memory
	guard reg // whether the next product takes part, "" if all do
}

// side is one operand of the product on its way to shared memory.
type side struct {
	value  kernel.Ref
	refs   []kernel.Ref // what it is computed from
	axes   []int
	along  lineup
	wide   int // elements of a slab's row
	origin reg
	extent reg
	at     int  // bytes of the slab in the buffer
	plain  bool // memory as it is
	copies *slabCopies
}

// side is how many neighbours of a line are one thread's.
func (f tiledForm) side() int { return min(f.rows, f.cols, 4) }

// bytes is what a buffer of two slabs takes.
func (f tiledForm) bufferBytes(size int) int {
	return f.depth * size * (tiledLanes*(f.rows+f.cols) + 2*tiledPad)
}

// shared is the dynamic shared memory of a block.
func (f tiledForm) shared(size int) int {
	n := 2 * f.bufferBytes(size)
	if !f.one {
		n += tiledThreads * size * f.rows * f.cols
	}
	return n
}

// emitTiled writes one variant of a product.
func emitTiled(k *kernel.Kernel, p *product, form tiledForm) (*emitter, error) {
	e := newTiled(k, p)
	e.form = form
	e.dynamic = form.shared(e.size)
	e.begin()
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	if err := e.multiply(); err != nil {
		return nil, err
	}
	return e.emitter, e.finishTile()
}

func newTiled(k *kernel.Kernel, p *product) *tiledEmitter {
	in := &k.Body[p.dot]
	e := &tiledEmitter{emitter: newEmitter(k), p: p, t: in.Type, size: in.Type.Size(), chunk: k.Reductions[in.Imm].Tree.Chunk}
	e.depth = make([]int, len(k.Body))
	e.rares = k.Rares
	for i, l := range k.Levels() {
		if l != kernel.UniformLevel {
			e.depth[i] = elementDepth
		}
	}
	return e
}

// begin finds the block's tile and the place of its operands.
func (e *tiledEmitter) begin() {
	e.tid = e.tidHead()
	e.group = e.slotReg(slotGroup, 0, 0)
	e.rows, e.cols = e.slotReg(slotRows, 0, 0), e.slotReg(slotColumns, 0, 0)
	bm, bn := int64(tiledLanes*e.form.rows), int64(tiledLanes*e.form.cols)
	// Blocks of eight tile rows at a time share what they read of both operands.
	tiles := func(n reg, of int64) reg {
		return e.to(b32, "cvt.u32.u64", e.to(b64, "div.u64", e.to(b64, "add.u64", n, fmt.Sprint(of-1)), fmt.Sprint(of)))
	}
	tm, tn := tiles(e.rows, bm), tiles(e.cols, bn)
	id := e.to(b32, "mov.u32", "%ctaid.x")
	band := e.to(b32, "mul.lo.u32", tn, "8")
	g := e.to(b32, "div.u32", id, band)
	first := e.to(b32, "mul.lo.u32", g, "8")
	high := e.to(b32, "min.u32", e.to(b32, "sub.u32", tm, first), "8")
	in := e.to(b32, "sub.u32", id, e.to(b32, "mul.lo.u32", g, band))
	col := e.to(b32, "div.u32", in, high)
	row := e.to(b32, "add.u32", first, e.to(b32, "sub.u32", in, e.to(b32, "mul.lo.u32", col, high)))
	e.row0 = e.to(b64, "mul.wide.u32", row, fmt.Sprint(bm))
	e.col0 = e.to(b64, "mul.wide.u32", col, fmt.Sprint(bn))
	e.batch = make([]reg, len(e.k.Axes))
	if len(e.p.batch) > 0 {
		e.decode(e.to(b32, "mov.u32", "%ctaid.y"), e.p.batch, e.batch)
	}
	e.axisAt = func(axis int) reg { return e.slotReg(slotStart, axis, 0) } // nothing uniform asks
	e.addresses(e.batch)
	e.base = e.def(b64, "mov.u64", "dyn")
	n := tiledLanes
	slab := e.form.depth * e.size * (n*e.form.rows + tiledPad)
	e.x = &side{plain: e.plainCopies(e.p.x), value: e.p.x, refs: e.upTo(e.p.x), axes: e.p.rows, along: e.form.x, wide: n * e.form.rows, origin: e.row0, extent: e.rows}
	e.z = &side{plain: e.plainCopies(e.p.z), value: e.p.z, refs: e.upTo(e.p.z), axes: e.p.cols, along: e.form.z, wide: n * e.form.cols, origin: e.col0, extent: e.cols, at: slab}
}

// upTo lists, in body order, what values need, the product itself excluded.
func (e *tiledEmitter) upTo(values ...kernel.Ref) []kernel.Ref {
	need := map[kernel.Ref]bool{}
	for _, v := range values {
		need[v] = e.depth[v] >= elementDepth
	}
	var out []kernel.Ref
	for i := len(e.k.Body) - 1; i >= 0; i-- {
		r := kernel.Ref(i)
		if !need[r] || r == e.p.dot {
			continue
		}
		out = append([]kernel.Ref{r}, out...)
		e.k.Body[i].Operands(func(o kernel.Ref) {
			if e.depth[o] >= elementDepth {
				need[o] = true
			}
		})
	}
	return out
}

// multiply runs over the group and leaves the sums in acc.
func (e *tiledEmitter) multiply() error {
	e.acc = make([][]reg, e.form.rows)
	for i := range e.acc {
		e.acc[i] = make([]reg, e.form.cols)
		for j := range e.acc[i] {
			e.acc[i][j] = e.reg(classOf(e.t))
		}
	}
	e.clear()
	next := e.to(b64, "mov.b64", e.base)            // buffer to fill
	k := e.to(b64, "mov.b64", "0")                  // first step of the slabs in it
	kept := e.to(b32, "mov.b32", fmt.Sprint(0))     // steps of the chunk so far
	used := e.to(b64, "mov.b64", e.base)            // buffer to use
	folded := e.to(pred, "setp.ne.u32", kept, kept) // a chunk was folded
	for _, s := range []*side{e.x, e.z} {
		if s.plain {
			s.copies = e.newCopies(s)
		}
	}
	load := func() ([]*tile, error) {
		tiles := append(e.fetch(e.x, k, next), e.fetch(e.z, k, next)...)
		for _, t := range tiles {
			if err := e.evalTile(e.loadsOf(t.refs), t); err != nil {
				return nil, err
			}
		}
		return tiles, nil
	}
	fill := func(tiles []*tile) error {
		for _, t := range tiles {
			if err := e.evalTile(t.refs, t); err != nil {
				return err
			}
			t.put(next)
		}
		if e.x.plain || e.z.plain {
			e.op("cp.async.wait_all")
		}
		if e.t.IsFloat() {
			e.padSteps(k, next)
		}
		return nil
	}
	tiles, err := load()
	if err != nil {
		return err
	}
	if err := fill(tiles); err != nil {
		return err
	}
	e.op("bar.sync", "0")
	loop, end := e.label(), e.label()
	e.place(loop)
	e.op("mov.b64", used, next)
	// The other buffer: the sum of both addresses less this one.
	both := e.to(b64, "add.s64", e.to(b64, "add.s64", e.base, e.base), fmt.Sprint(e.form.bufferBytes(e.size)))
	e.op("sub.s64", next, both, next)
	e.op("add.s64", k, k, fmt.Sprint(e.form.depth))
	if tiles, err = load(); err != nil {
		return err
	}
	x, z := e.fragments(used, 0)
	for kk := range e.form.depth {
		nx, nz := x, z
		if kk+1 < e.form.depth { // on their way while these are multiplied
			nx, nz = e.fragments(used, kk+1)
		}
		e.step(x, z)
		x, z = nx, nz
	}
	if err := fill(tiles); err != nil {
		return err
	}
	e.op("bar.sync", "0")
	if !e.form.one {
		e.op("add.u32", kept, kept, fmt.Sprint(e.form.depth))
		more := e.label()
		e.opIf(e.to(pred, "setp.lt.u32", kept, fmt.Sprint(e.chunk)), "bra", more)
		e.fold(folded)
		e.op("setp.eq.u32", folded, kept, kept)
		e.op("mov.b32", kept, "0")
		e.clear()
		e.place(more)
	}
	e.opIf(e.to(pred, "setp.lt.s64", k, e.group), "bra", loop)
	e.place(end)
	if !e.form.one {
		last := e.label()
		e.opIf(e.to(pred, "setp.eq.u32", kept, "0"), "bra", last)
		e.fold(folded)
		e.place(last)
		for i := range e.acc {
			for j := range e.acc[i] {
				e.op("ld.shared"+classType[classOf(e.t)], e.acc[i][j], e.total(i, j))
			}
		}
	}
	return nil
}

// padSteps makes the steps of a slab beyond the group -0 in the first operand: as they
// are 0 in the second, each adds -0, which changes no sum, be it -0 itself.
func (e *tiledEmitter) padSteps(k, buffer reg) {
	done := e.label()
	left := e.to(b64, "sub.s64", e.group, k)
	e.opIf(e.to(pred, "setp.ge.s64", left, fmt.Sprint(e.form.depth)), "bra", done)
	e.op("bar.sync", "0") // zeros of other threads are there
	steps := e.to(b32, "cvt.u32.u64", e.to(b64, "max.s64", left, "0"))
	c, s := classOf(e.t), e.x
	minus := e.constant(c, 1<<(8*e.size-1))
	for at := 0; at < s.wide*e.form.depth; at += tiledThreads {
		i := e.to(b32, "add.u32", e.tid, fmt.Sprint(at))
		step := e.to(b32, "shr.u32", i, fmt.Sprint(bits.TrailingZeros(uint(s.wide))))
		line := e.to(b32, "and.b32", i, fmt.Sprint(s.wide-1))
		place := e.to(b32, "mad.lo.u32", step, fmt.Sprint(s.wide+tiledPad), line)
		p := e.to(b64, "add.s64", buffer, e.to(b64, "mul.wide.u32", place, fmt.Sprint(e.size)))
		e.opIf(e.to(pred, "setp.ge.u32", step, steps), "st.shared"+classType[c], mem(p, int64(s.at)), minus)
	}
	e.place(done)
}

func (e *tiledEmitter) clear() {
	for _, row := range e.acc {
		for _, r := range row {
			e.op("mov"+classType[classOf(e.t)], r, "0")
		}
	}
}

// fragments reads the thread's part of one column of the first slab and of one row of
// the second.
func (e *tiledEmitter) fragments(buffer reg, kk int) (x, z []reg) {
	tx := e.head("tx", func() reg { return e.def(b32, "and.b32", e.tid, fmt.Sprint(tiledLanes-1)) })
	ty := e.head("ty", func() reg { return e.def(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(tiledLanes)))) })
	// Threads of a warp read neighbouring fours.
	at := func(name string, lane reg) reg {
		return e.head(name, func() reg { return e.def(b64, "mul.wide.u32", lane, fmt.Sprint(e.form.side()*e.size)) })
	}
	read := func(s *side, lane reg, n int) []reg {
		var out []reg
		p := e.to(b64, "add.s64", buffer, lane)
		if n == 2 {
			return e.sharedTwo(p, int64(s.at+e.size*kk*(s.wide+tiledPad)))
		}
		for i := range n / 4 {
			off := int64(s.at + e.size*(kk*(s.wide+tiledPad)+4*tiledLanes*i))
			out = append(out, e.sharedFour(p, off)...)
		}
		return out
	}
	return read(e.x, at("ty bytes", ty), e.form.rows), read(e.z, at("tx bytes", tx), e.form.cols)
}

// step multiplies every element of x with every one of z.
func (e *tiledEmitter) step(x, z []reg) {
	for i := range x {
		if e.p.guard { // NaN is not 0
			e.guard = e.to(pred, "setp.neu"+suffix(e.t), x[i], e.constant(classOf(e.t), 0))
		}
		for j := range z {
			e.accumulate(e.acc[i][j], x[i], z[j])
		}
	}
}

// accumulate adds a product to a sum.
func (e *tiledEmitter) accumulate(sum, x, z reg) {
	if e.guard != "" {
		e.opIf(e.guard, "fma.rn"+suffix(e.t), sum, x, z, sum)
	} else if e.t.IsFloat() {
		e.op("fma.rn"+suffix(e.t), sum, x, z, sum)
	} else {
		e.op("mad.lo"+suffix(e.t), sum, x, z, sum)
	}
}

// head defines a value in the head, once.
func (e *emitter) head(name string, make func() reg) reg {
	if r, ok := e.consts[name]; ok {
		return r
	}
	r := make()
	e.consts[name] = r
	return r
}

// sharedTwo reads two elements that lie side by side.
func (e *tiledEmitter) sharedTwo(p reg, off int64) []reg {
	c := classOf(e.t)
	r := []reg{e.reg(c), e.reg(c)}
	e.op("ld.shared.v2"+classType[c], group(r), mem(p, off))
	return r
}

// sharedFour reads four elements that lie side by side.
func (e *tiledEmitter) sharedFour(p reg, off int64) []reg {
	c := classOf(e.t)
	r := []reg{e.reg(c), e.reg(c), e.reg(c), e.reg(c)}
	if e.size == 4 {
		e.op("ld.shared.v4.b32", group(r), mem(p, off))
		return r
	}
	e.op("ld.shared.v2.b64", group(r[:2]), mem(p, off))
	e.op("ld.shared.v2.b64", group(r[2:]), mem(p, off+16))
	return r
}

// total is where the sum of the chunks before has its place.
func (e *tiledEmitter) total(i, j int) string {
	p := e.head("totals", func() reg {
		return e.def(b64, "add.s64", e.base, e.def(b64, "mul.wide.u32", e.tid, fmt.Sprint(e.size)))
	})
	return mem(p, int64(2*e.form.bufferBytes(e.size)+tiledThreads*e.size*(i*e.form.cols+j)))
}

// fold adds the chunk in the accumulators to the totals; the first one is taken as
// it is.
func (e *tiledEmitter) fold(folded reg) {
	c := classOf(e.t)
	for i := range e.acc {
		for j, r := range e.acc[i] {
			old := e.reg(c)
			e.op("mov"+classType[c], old, "0")
			e.opIf(folded, "ld.shared"+classType[c], old, e.total(i, j))
			sum, _ := e.arith(kernel.OpAdd, e.t, old, r)
			e.op("st.shared"+classType[c], e.total(i, j), e.to(c, "selp"+classType[c], sum, r, folded))
		}
	}
}
