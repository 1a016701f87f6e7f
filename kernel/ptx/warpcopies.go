package ptx

import (
	"fmt"
	"math/bits"
)

// warpCopies bring an operand to a slab, and zeros for what lies outside: zeros change no
// sum. A thread copies the vector of one number of several rows; of a vector of which a part
// lies outside just the others are read.
type warpCopies struct {
	step   reg // of the first element in the slab, 32 bits: along the vector, or the row where the operand is turned
	by     int // rows from one copy to the next
	count  int
	room   reg   // rows from the first one on that there are, if they are lines, 32 bits
	bytes  reg   // of a vector that there are, if its elements are lines
	from   reg   // address of the first one of the next slab
	apart  reg   // bytes from one to the next, and
	onward reg   // from slab to slab
	to     []reg // place of a copy in a slab, less the rows before it: the orders of vectors that its rows have come in turn
}

func (e *warpEmitter) newWarpCopies(s *warpSide, batch reg) *warpCopies {
	v := s.shape.vectors
	c := &warpCopies{by: warpThreads / v, count: s.shape.rows * v / warpThreads}
	vector := e.to(b32, "and.b32", e.tid, fmt.Sprint(v-1))
	row := e.to(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(v))))
	first := e.to(b32, "mul.lo.u32", vector, fmt.Sprint(copyHalves)) // element of the row
	for i := range max(1, 8/c.by) {
		at := e.vectorPlace(s.shape, e.to(b32, "add.u32", row, fmt.Sprint(i*c.by)), vector)
		c.to = append(c.to, e.to(b32, "add.u32", at, fmt.Sprint(s.at-i*c.by*s.shape.pitch())))
	}
	line := row
	if c.step = first; s.turned {
		c.step, line = row, first
	}
	at := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", line))
	room := e.to(b32, "cvt.u32.u64", e.to(b64, "sub.s64", s.extent, at))
	stride := e.slotReg(slotOperandStride, s.number, 0)
	p := e.to(b64, "mad.lo.s64", e.to(b64, "cvt.u64.u32", batch), e.slotReg(slotOperandStride, s.number, 1), e.slotReg(slotOperand, s.number, 0))
	near, across := e.to(b64, "cvt.u64.u32", first), at
	if s.turned {
		near, across = at, e.to(b64, "cvt.u64.u32", row)
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

// copySlab begins to copy the next slab of both operands, unless the group has ended.
func (e *warpEmitter) copySlab(slab reg) {
	none := e.label()
	e.opIf(e.to(pred, "setp.le.s32", e.left, "0"), "bra", none)
	for _, s := range e.sides {
		c := s.copies
		steps := e.to(b32, "sub.s32", e.left, c.step)
		room, bytes := c.room, c.bytes
		if s.turned {
			room = steps
		} else {
			bytes = e.vectorBytes(steps)
		}
		from, to := c.from, make([]reg, min(len(c.to), c.count))
		for i := range to {
			to[i] = e.to(b32, "add.u32", slab, c.to[i])
		}
		for i := range c.count {
			if i > 0 {
				from = e.to(b64, "add.s64", from, c.apart)
			}
			n := e.to(b32, "selp.b32", bytes, "0", e.to(pred, "setp.gt.s32", room, fmt.Sprint(i*c.by)))
			e.op("cp.async.cg.shared.global", mem(to[i%len(to)], int64(i*c.by*s.shape.pitch())), mem(from, 0), fmt.Sprint(copyBytes), n)
		}
		e.op("add.s64", c.from, c.from, c.onward)
	}
	e.op("sub.s32", e.left, e.left, fmt.Sprint(e.f.depth))
	e.place(none)
	e.op("cp.async.commit_group") // of nothing behind the group: groups are counted
}
