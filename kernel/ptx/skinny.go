package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// skinnyForm is one variant of a product of which one operand has few rows or
// columns, at most skinnyLines. Such a product is as fast as memory brings the other
// operand, so what counts is how much of that is on its way at once: a warp takes 32
// lines of it and one chunk of the group, a thread one line, and each has a long
// stretch of the group in flight while it multiplies the one before. Wider accesses
// along the lines would leave fewer threads and the same bytes in flight for each
// result, so there are none. The few lines are the same for the whole warp: their
// values are computed once and read from shared memory.
//
// A group may have several axes, such as blocks of codes, their halves and the codes of
// a half: then a stretch lies within the last one.
//
// A thread sums its chunk in ascending order. The chunks of a block are added in shared
// memory, more of them than a block takes in scratch memory, by a second step.
type skinnyForm struct {
	turned bool // the few lines are columns
	lines  int  // that a thread sums: 1, 2, 4, 8 or 16
	warps  int  // of a block, which take a chunk each
	steps  int  // of a stretch, a power of two
	along  int  // steps along the group that are read at once: 1, or those of 16 bytes
	part   part
}

const (
	skinnyLines  = 16
	skinnyGroup  = 256 // the shortest group that is worth it
	skinnyWarps  = 8   // more would leave too few registers
	skinnyFinish = 128 // threads of a block that adds chunks
)

func (f skinnyForm) threads() int {
	if f.part == finish {
		return skinnyFinish
	}
	return 32 * f.warps
}

type skinnyEmitter struct {
	*tiledEmitter
	f         skinnyForm
	few, many *strip
	steps     int         // of a stretch
	inner     int         // the axis of the group that a stretch lies along
	stretchAt []reg       // place of the next stretch along the axes of a group of several
	offsets   map[int]reg // the bytes to there from the start of the group, by argument
	lane      reg
	warp      reg
	chunkAt   reg // number of the thread's chunk
	line      reg // of the many
	inside    reg // predicate: there is such a line
	at        []reg
	position  reg // step of the group at which the stretch in use begins
	rest      reg // steps of the chunk from there on, for the few
	left      reg // and for the many: none outside
	buffer    reg // values of the few
	sums      []reg
}

// strip is one operand of the product.
type strip struct {
	value  kernel.Ref
	refs   []kernel.Ref // what it is computed from
	loads  []kernel.Ref
	axes   []int
	extent reg
}

// emitSkinny writes one variant of a product with few rows or columns.
func emitSkinny(k *kernel.Kernel, p *product, form skinnyForm) (*emitter, error) {
	e := &skinnyEmitter{tiledEmitter: newTiled(k, p), f: form}
	e.operands()
	e.axisAt = func(axis int) reg { return e.slotReg(slotStart, axis, 0) } // nothing uniform asks
	e.batch = make([]reg, len(k.Axes))
	if len(p.batch) > 0 {
		e.decode(e.to(b32, "mov.u32", "%ctaid.y"), p.batch, e.batch)
	}
	e.addresses(e.batch)
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	if form.part == finish {
		return e.emitter, e.addChunks()
	}
	e.find()
	if err := e.sumChunk(); err != nil {
		return nil, err
	}
	return e.emitter, e.deliver()
}

// operands sorts them into few and many.
func (e *skinnyEmitter) operands() {
	strips := [2]*strip{
		{value: e.p.x, axes: e.p.rows, extent: e.slotReg(slotRows, 0, 0)},
		{value: e.p.z, axes: e.p.cols, extent: e.slotReg(slotColumns, 0, 0)},
	}
	for _, s := range strips {
		s.refs = e.upTo(s.value)
		s.loads = e.loadsOf(s.refs)
	}
	e.few, e.many = strips[0], strips[1]
	if e.f.turned {
		e.few, e.many = e.many, e.few
	}
	e.group = e.slotReg(slotGroup, 0, 0)
	e.steps, e.inner = e.f.steps, e.p.reduced[len(e.p.reduced)-1]
	if e.f.part != finish {
		e.dynamic = e.f.warps * max(2*e.bufferBytes(), e.sumBytes())
	}
}

// bufferBytes is what a warp's stretch of the few takes.
func (e *skinnyEmitter) bufferBytes() int { return e.f.lines * e.steps * e.size }

// sumBytes is what the sums of a warp take.
func (e *skinnyEmitter) sumBytes() int {
	if e.f.part == whole && e.f.warps > 1 {
		return 32 * e.f.lines * e.size
	}
	return 0
}

// find tells the thread its chunk and its line.
func (e *skinnyEmitter) find() {
	e.tid, e.lane = e.tidHead(), e.laneHead()
	e.warp = e.to(b32, "shr.u32", e.tid, "5")
	block := e.to(b32, "mov.u32", "%ctaid.x")
	e.chunkAt = e.warp
	if e.f.part == chunks {
		across := e.to(b32, "cvt.u32.u64", e.to(b64, "shr.u64", e.to(b64, "add.u64", e.many.extent, "31"), "5"))
		q := e.to(b32, "div.u32", block, across)
		block = e.to(b32, "sub.u32", block, e.to(b32, "mul.lo.u32", q, across))
		e.chunkAt = e.to(b32, "mad.lo.u32", q, fmt.Sprint(e.f.warps), e.warp)
	}
	e.position = e.to(b64, "mul.wide.u32", e.chunkAt, fmt.Sprint(e.chunk))
	rest := e.to(b64, "max.s64", e.to(b64, "sub.s64", e.group, e.position), "0")
	e.rest = e.to(b32, "cvt.u32.u64", e.to(b64, "min.s64", rest, fmt.Sprint(e.chunk)))
	e.line = e.to(b64, "add.s64", e.to(b64, "mul.wide.u32", block, "32"), e.to(b64, "cvt.u64.u32", e.lane))
	e.inside = e.to(pred, "setp.lt.s64", e.line, e.many.extent)
	e.left = e.to(b32, "selp.b32", e.rest, e.constant(b32, 0), e.inside)
	e.at = append([]reg(nil), e.batch...)
	e.locate(e.line, e.many, e.at)
	e.base = e.def(b64, "mov.u64", "dyn")
}

// locate splits the number of a line over its axes.
func (e *skinnyEmitter) locate(line reg, s *strip, idx []reg) {
	if len(s.axes) > 0 {
		e.decodeWide(line, s.axes, idx)
	}
}

// sumChunk leaves the sums of the thread's chunk. All warps of a block take as many
// turns, whatever is left of their chunks, and so meet at the barriers: one a turn is
// enough, since the few have two buffers.
func (e *skinnyEmitter) sumChunk() error {
	c := classOf(e.t)
	for range e.f.lines {
		e.sums = append(e.sums, e.to(c, "mov"+classType[c], "0"))
	}
	first := e.to(b64, "mad.lo.u64", e.to(b64, "cvt.u64.u32", e.warp), fmt.Sprint(2*e.bufferBytes()), e.base)
	both := e.to(b64, "add.s64", e.to(b64, "add.s64", first, first), fmt.Sprint(e.bufferBytes()))
	e.buffer = e.to(b64, "mov.b64", first)
	e.seek(e.position)
	few, many := e.newFew(), e.newMany()
	load := func() (x, z []*tile, err error) {
		for i := range few.parts {
			t := few.tile(i)
			if err := e.evalTile(e.few.loads, t); err != nil {
				return nil, nil, err
			}
			x = append(x, t)
		}
		if len(e.p.reduced) > 1 {
			e.seek(e.to(b64, "add.s64", e.position, fmt.Sprint(e.steps)))
		}
		z, err = many.load()
		few.advance()
		return x, z, err
	}
	x, z, err := load()
	if err != nil {
		return err
	}
	heldX, heldZ := e.hold(x), e.hold(z)
	turns := e.to(b32, "cvt.u32.u64", e.to(b64, "min.s64", e.group, fmt.Sprint(e.chunk)))
	i := e.to(b32, "mov.b32", "0")
	loop := e.label()
	e.place(loop)
	if err := few.put(heldX); err != nil {
		return err
	}
	values, err := many.values(heldZ)
	if err != nil {
		return err
	}
	if e.f.along <= 4 {
		e.op("bar.sync", "0")
	}
	for _, n := range []reg{e.rest, e.left} {
		e.op("sub.s32", n, n, fmt.Sprint(e.steps))
	}
	e.op("add.s64", e.position, e.position, fmt.Sprint(e.steps))
	if x, z, err = load(); err != nil { // on their way while these are multiplied
		return err
	}
	if e.f.along > 4 {
		// Words of several elements are taken apart late, in the midst of products: only
		// what stands before a barrier is asked for before that.
		e.op("bar.sync", "0")
	}
	for q := 0; q < e.steps; q += 4 {
		for r := range e.sums {
			for n, v := range e.sharedFour(e.buffer, int64((r*e.steps+q)*e.size)) {
				e.accumulate(e.sums[r], v, values[q+n])
			}
		}
	}
	e.keep(heldX, x)
	e.keep(heldZ, z)
	e.op("sub.s64", e.buffer, both, e.buffer)
	e.op("add.u32", i, i, fmt.Sprint(e.steps))
	e.opIf(e.to(pred, "setp.lt.u32", i, turns), "bra", loop)
	return nil
}
