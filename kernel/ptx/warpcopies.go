package ptx

import (
	"fmt"
	"math/bits"
)

// slabPart is what a thread brings of an operand to a slab: the vector of one number of
// several rows.
type slabPart struct {
	vector, row reg // its number, and the first row, 32 bits
	by          int // rows from one to the next
	count       int
	spots       []reg // places in a slab, less the rows before them: the orders of vectors that the rows have come in turn
	pitch       int
}

func (e *warpEmitter) newSlabPart(s *warpSide) slabPart {
	v := s.shape.vectors
	p := slabPart{by: warpThreads / v, count: s.shape.rows * v / warpThreads, pitch: s.shape.pitch()}
	p.vector = e.to(b32, "and.b32", e.tid, fmt.Sprint(v-1))
	p.row = e.to(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(v))))
	for i := range max(1, 8/p.by) {
		at := e.vectorPlace(s.shape, e.to(b32, "add.u32", p.row, fmt.Sprint(i*p.by)), p.vector)
		p.spots = append(p.spots, e.to(b32, "add.u32", at, fmt.Sprint(s.at-i*p.by*p.pitch)))
	}
	return p
}

// places returns where the thread's rows of a slab are.
func (e *warpEmitter) places(p *slabPart, slab reg) func(i int) string {
	to := make([]reg, min(len(p.spots), p.count))
	for i := range to {
		to[i] = e.to(b32, "add.u32", slab, p.spots[i])
	}
	return func(i int) string { return mem(to[i%len(to)], int64(i*p.by*p.pitch)) }
}

// warpCopies bring an operand to a slab, and zeros for what lies outside: zeros change no
// sum. Of a vector of which a part lies outside just the others are read.
type warpCopies struct {
	slabPart
	step   reg // of the first element in the slab, 32 bits: along the vector, or the row where the operand is turned
	room   reg // rows from the first one on that there are, if they are lines, 32 bits
	bytes  reg // of a vector that there are, if its elements are lines
	from   reg // address of the first one of the next slab
	apart  reg // bytes from one to the next, and
	onward reg // from slab to slab
}

func (e *warpEmitter) newWarpCopies(s *warpSide, batch reg) *warpCopies {
	c := &warpCopies{slabPart: e.newSlabPart(s)}
	first := e.to(b32, "mul.lo.u32", c.vector, fmt.Sprint(copyHalves)) // element of the row
	line := c.row
	if c.step = first; s.turned {
		c.step, line = c.row, first
	}
	at := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", line))
	room := e.to(b32, "cvt.u32.u64", e.to(b64, "sub.s64", s.extent, at))
	stride := e.slotReg(slotOperandStride, s.number, 0)
	p := e.to(b64, "mad.lo.s64", e.to(b64, "cvt.u64.u32", batch), e.slotReg(slotOperandStride, s.number, 1), e.slotReg(slotOperand, s.number, 0))
	near, across := e.to(b64, "cvt.u64.u32", first), at
	if s.turned {
		near, across = at, e.to(b64, "cvt.u64.u32", c.row)
	}
	p = e.to(b64, "mad.lo.s64", across, stride, p)
	c.from = e.to(b64, "mad.lo.s64", near, "2", p)
	c.apart = e.to(b64, "mul.lo.s64", stride, fmt.Sprint(c.by))
	if s.turned {
		c.bytes = e.vectorBytes(room)
		c.onward = e.to(b64, "mul.lo.s64", stride, fmt.Sprint(e.f.depth))
	} else {
		c.room = room
		c.onward = e.constant(b64, uint64(2*e.f.depth))
	}
	return c
}

// vectorBytes is how many bytes of a vector there are where so many elements are left, which
// may be less than none.
func (a *asm) vectorBytes(left reg) reg {
	n := a.to(b32, "max.s32", a.to(b32, "min.s32", left, fmt.Sprint(copyHalves)), "0")
	return a.to(b32, "shl.b32", n, "1")
}

// copySlab begins to copy the next slab of what is copied, unless the group has ended.
func (e *warpEmitter) copySlab(slab reg) {
	none := e.label()
	e.opIf(e.to(pred, "setp.le.s32", e.left, "0"), "bra", none)
	for _, s := range e.sides {
		if c := s.copies; c != nil {
			e.copyPart(s, c, e.places(&c.slabPart, slab))
		}
	}
	e.op("sub.s32", e.left, e.left, fmt.Sprint(e.f.depth))
	e.place(none)
	e.op("cp.async.commit_group") // of nothing behind the group: groups are counted
}

// copyPart begins to copy the thread's part of a slab.
func (e *warpEmitter) copyPart(s *warpSide, c *warpCopies, place func(i int) string) {
	steps := e.to(b32, "sub.s32", e.left, c.step)
	room, bytes := c.room, c.bytes
	if s.turned {
		room = steps
	} else {
		bytes = e.vectorBytes(steps)
	}
	from := c.from
	for i := range c.count {
		if i > 0 {
			from = e.to(b64, "add.s64", from, c.apart)
		}
		n := e.to(b32, "selp.b32", bytes, "0", e.to(pred, "setp.gt.s32", room, fmt.Sprint(i*c.by)))
		e.op("cp.async.cg.shared.global", place(i), mem(from, 0), fmt.Sprint(copyBytes), n)
	}
	e.op("add.s64", c.from, c.from, c.onward)
}
