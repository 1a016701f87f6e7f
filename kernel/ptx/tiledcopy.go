package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// slabCopies bring an operand to shared memory as it is, past the registers, and
// zeros for what lies outside: four elements at a time where they lie side by side in
// the slab too, else one by one, which turns the operand on the way. What does not
// change from slab to slab is computed once: the units that do so are those that
// multiply.
type slabCopies struct {
	op     string
	bytes  int
	list   []slabCopy
	step   reg // of the thread in the slab, 32 bits
	offset reg // of the thread in the buffer
	stride reg // bytes from slab to slab
}

type slabCopy struct {
	from reg // address for the next slab
	size reg // bytes to copy, 0 outside the rows or columns
	step int // beside the thread's
	at   int // bytes beside the thread's place
}

// plainCopies reports whether a value is memory as it is.
func (e *tiledEmitter) plainCopies(v kernel.Ref) bool {
	return e.k.Body[v].Op == kernel.OpLoad && e.size == 4 && len(e.p.reduced) == 1
}

func (e *tiledEmitter) newCopies(s *side) *slabCopies {
	c := &slabCopies{op: "cp.async.ca.shared.global", bytes: 4}
	n, per := 1, e.form.depth // threads that share a line of what is copied
	if s.along == alongTile {
		c.op, c.bytes, n, per = "cp.async.cg.shared.global", 16, 4, s.wide/4
	}
	arg := int(e.k.Body[s.value].Imm)
	part := e.to(b32, "and.b32", e.tid, fmt.Sprint(per-1))
	other := e.to(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(per))))
	line := other
	c.step = part
	if s.along == alongTile {
		c.step, line = other, e.to(b32, "shl.b32", part, "2")
	}
	pitch := s.wide + tiledPad
	at := e.to(b32, "mad.lo.u32", c.step, fmt.Sprint(pitch), line)
	c.offset = e.to(b64, "mul.wide.u32", at, fmt.Sprint(e.size))
	if a := e.p.reduced[0]; e.k.Args[arg].Access[a] == kernel.Strided {
		c.stride = e.to(b64, "mul.lo.s64", e.slotReg(slotStride, arg, a), fmt.Sprint(e.form.depth))
	} else if e.k.Args[arg].Access[a] == kernel.Unit {
		c.stride = e.constant(b64, uint64(e.form.depth*e.size))
	}
	for pass := range s.wide * e.form.depth / n / tiledThreads {
		by := tiledThreads / per * pass
		step, l, d := c.step, line, slabCopy{at: s.at + by*e.size}
		if s.along == alongTile {
			d.step, d.at = by, s.at+by*pitch*e.size
			step = e.to(b32, "add.u32", c.step, fmt.Sprint(by))
		} else {
			l = e.to(b32, "add.u32", line, fmt.Sprint(by))
		}
		where := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", l))
		t := e.operandTile(s, e.to(b64, "cvt.u64.u32", step), where, step, l, n)
		p, _ := t.address(arg)
		d.from = e.to(b64, "mov.b64", p)
		d.size = e.to(b32, "selp.b32", fmt.Sprint(c.bytes), "0", e.to(pred, "setp.lt.s64", where, s.extent))
		c.list = append(c.list, d)
	}
	return c
}

// emit copies the slab that begins at step k to the buffer.
func (c *slabCopies) emit(e *tiledEmitter, k, buffer reg) {
	left := e.to(b32, "cvt.u32.u64", e.to(b64, "min.s64", e.to(b64, "max.s64", e.to(b64, "sub.s64", e.group, k), "0"), fmt.Sprint(e.form.depth)))
	to := e.to(b64, "add.s64", buffer, c.offset)
	var inside reg
	last := -1
	for _, d := range c.list {
		if d.step != last { // those of one step share what says that there is such a step
			inside = e.to(pred, "setp.lt.u32", e.to(b32, "add.u32", c.step, fmt.Sprint(d.step)), left)
			last = d.step
		}
		e.op(c.op, mem(to, int64(d.at)), mem(d.from, 0), fmt.Sprint(c.bytes), e.to(b32, "selp.b32", d.size, "0", inside))
		if c.stride != "" {
			e.op("add.s64", d.from, d.from, c.stride)
		}
	}
}
