package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// tiledForm is one variant of a kernel of the form [product] on the ordinary
// arithmetic units: a block of down×across threads computes a tile of results, each
// thread rows×cols of them; slabs of depth steps along the group pass through a ring in
// shared memory, one being used while the others are filled. Every result is one chain
// of fma in ascending order for each chunk, so the bits are those of any other way.
type tiledForm struct {
	rows, cols   int // of a thread: 1, 2 or multiples of 4
	down, across int // threads along the rows, and along the columns: multiples of 4 and 8
	x, z         lineup
	out          lineup // axis of vectors of results: along the columns or none
	one          bool   // the group is one chunk
	depth        int    // steps of a slab
	stages       int    // slabs of the ring, at least 2
	ahead        int    // steps that a thread's operands are in registers before they are multiplied
	unroll       int    // steps of the loop's body, where they are fewer than those of a slab
	perSM        int    // blocks that share a multiprocessor, 0 if any number will do
	rate         int    // results that a multiprocessor computes in a time, relative to other forms, as measured on an H200
	own          bool   // each copy of a slab keeps its address; for threads with registers to spare
}

const (
	tiledLanes = 16 // threads along each side of an ordinary tile
	tiledDepth = 16 // steps of the least slabs, of which the others are multiples
	tiledPad   = 4  // elements between rows of a slab, so that turned stores spread over the banks
)

// squareTile is the form that any product can take.
func squareTile(rows, cols int) tiledForm {
	return tiledForm{
		rows: rows, cols: cols, down: tiledLanes, across: tiledLanes, depth: tiledDepth, stages: 2, ahead: 1, unroll: tiledDepth,
		rate: 100 * rows * cols / (rows*cols + rows + cols), // products, and reading their operands
	}
}

// lineup says along which axis four neighbours are read or written at once.
type lineup uint8

const (
	single     lineup = iota // one element at a time
	alongGroup               // along the reduced axis
	alongTile                // along the rows of the first operand, the columns of the second
	kept                     // along the reduced axis, in shared memory too
)

// String marks the lineup in entry names.
func (l lineup) String() string { return [...]string{"1", "k", "t", "s"}[l] }

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

// side is one operand of the product on its way to shared memory and from there.
type side struct {
	value  kernel.Ref
	refs   []kernel.Ref // what it is computed from
	axes   []int
	along  lineup
	wide   int // lines of the tile: rows or columns
	lines  int // of a thread
	lanes  int // threads that share the lines
	lane   reg // among them
	origin reg
	extent reg
	at     int  // bytes of the slab in the buffer
	plain  bool // memory as it is
	copies *slabCopies
	from   reg           // address of the thread's part of the slab in use
	held   map[int][]reg // elements of the thread's lines, by step; those that the loop carries
}

func (f tiledForm) threads() int { return f.down * f.across }
func (f tiledForm) tall() int    { return f.down * f.rows }
func (f tiledForm) wide() int    { return f.across * f.cols }

// sideBytes is what a slab of an operand with so many lines takes.
func (f tiledForm) sideBytes(along lineup, lines, size int) int {
	if along != kept {
		lines += tiledPad
	}
	return f.depth * size * lines
}

// bufferBytes is what a slab of both operands takes.
func (f tiledForm) bufferBytes(size int) int {
	return f.sideBytes(f.x, f.tall(), size) + f.sideBytes(f.z, f.wide(), size)
}

// shared is the dynamic shared memory of a block.
func (f tiledForm) shared(size int) int {
	n := f.stages * f.bufferBytes(size)
	if !f.one {
		n += f.threads() * size * f.rows * f.cols
	}
	return n
}

// emitTiled writes one variant of a product.
func emitTiled(k *kernel.Kernel, p *product, form tiledForm) (*emitter, error) {
	e := newTiled(k, p)
	e.form = form
	e.dynamic, e.perSM = form.shared(e.size), form.perSM
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
	bm, bn := int64(e.form.tall()), int64(e.form.wide())
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
	e.base = e.def(b32, "mov.u32", "dyn")
	e.lanes()
	f := e.form
	e.x = &side{value: e.p.x, axes: e.p.rows, along: f.x, wide: f.tall(), lines: f.rows, lanes: f.down, lane: e.consts["ty"], origin: e.row0, extent: e.rows}
	e.z = &side{value: e.p.z, axes: e.p.cols, along: f.z, wide: f.wide(), lines: f.cols, lanes: f.across, lane: e.consts["tx"], origin: e.col0, extent: e.cols,
		at: f.sideBytes(f.x, f.tall(), e.size)}
	for _, s := range []*side{e.x, e.z} {
		s.plain, s.refs = plainOperand(e.k, e.p, s.value, s.axes), e.upTo(s.value)
	}
}

// lanes places the threads: those of a warp are 4 by 8 neighbours, so that what they read
// of a slab at once lies in few banks.
func (e *tiledEmitter) lanes() {
	across := e.form.across / 8 // warps side by side
	warp := e.def(b32, "shr.u32", e.tid, "5")
	lane := e.def(b32, "and.b32", e.tid, "31")
	over := e.def(b32, "shr.u32", warp, fmt.Sprint(bits.TrailingZeros(uint(across))))
	beside := e.def(b32, "and.b32", warp, fmt.Sprint(across-1))
	e.consts["ty"] = e.def(b32, "mad.lo.u32", over, "4", e.def(b32, "shr.u32", lane, "3"))
	e.consts["tx"] = e.def(b32, "mad.lo.u32", beside, "8", e.def(b32, "and.b32", lane, "7"))
}

// vector is how many neighbouring lines of a side are one thread's.
func (s *side) vector() int { return min(s.lines, 4) }

// line is the number in the tile of line i of a thread.
func (e *tiledEmitter) line(s *side, i int) reg {
	return e.to(b32, "mad.lo.u32", s.lane, fmt.Sprint(s.vector()), fmt.Sprint(i/4*4*s.lanes+i%4))
}

// pitch is how many elements lie between the first ones of a slab's rows.
func (s *side) pitch(depth int) int {
	if s.along == kept {
		return depth
	}
	return s.wide + tiledPad
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

func (e *tiledEmitter) clear() {
	for _, row := range e.acc {
		for _, r := range row {
			e.op("mov"+classType[classOf(e.t)], r, "0")
		}
	}
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
