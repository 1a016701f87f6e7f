package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// slabCopies bring an operand to shared memory as it is, and zeros for what lies outside.
// Where neighbours stay neighbours in the slab, four elements go past the registers at a
// time. An operand that is turned on the way goes past them one by one, or through them
// where it lies so that four are read at once. What does not change from slab to slab is
// computed once: the units that do so are those that multiply.
type slabCopies struct {
	along  lineup
	by     int   // lines from one to the next; steps where neighbours lie along the lines
	step   reg   // of the first one in the slab, 32 bits
	room   reg   // lines from that of the first one on that there are, 32 bits
	from   []reg // addresses for the next slab: of the first one, or of all
	sizes  []reg // bytes to copy of each, 0 where there is no such line, if they have registers of their own
	apart  reg   // bytes from one to the next if they are as many for all, "" if they are none
	stride reg   // bytes from slab to slab
	places []slabPlace
	pitch  int // bytes from step to step of a slab that is not kept
	words  [][]reg
}

// slabPlace is a place in the buffer.
type slabPlace struct {
	base reg
	off  int
}

// plainOperand reports whether an operand of a product is memory as it is, of 32 bits: its
// neighbours along the group, or along the last of the axes of its lines, are elements of
// their own.
func plainOperand(k *kernel.Kernel, p *product, v kernel.Ref, axes []int) bool {
	in := &k.Body[v]
	if in.Op != kernel.OpLoad || in.Type.Size() != 4 || len(p.reduced) != 1 {
		return false
	}
	access := k.Args[in.Imm].Access
	return access[p.reduced[0]] != kernel.Broadcast && (len(axes) == 0 || access[axes[len(axes)-1]] != kernel.Broadcast)
}

// bytes is what one copy moves.
func (c *slabCopies) bytes() int {
	if c.along == single {
		return 4
	}
	return 16
}

func (e *tiledEmitter) newCopies(s *side) *slabCopies {
	f := e.form
	c := &slabCopies{along: s.along, pitch: e.size * s.pitch(f.depth)}
	per := f.depth // threads that share a line of what is copied
	switch s.along {
	case alongTile:
		per = s.wide / 4
	case alongGroup, kept:
		per = f.depth / 4
	}
	arg := int(e.k.Body[s.value].Imm)
	c.by = f.threads() / per
	part := e.to(b32, "and.b32", e.tid, fmt.Sprint(per-1))
	line := e.to(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(per))))
	c.step = part
	switch s.along {
	case alongTile:
		c.step, line = line, e.to(b32, "shl.b32", part, "2")
	case alongGroup, kept:
		c.step = e.to(b32, "shl.b32", part, "2")
	}
	c.stride = e.strideTimes(arg, e.p.reduced[0], f.depth)
	if s.along == alongTile {
		c.apart = e.strideTimes(arg, e.p.reduced[0], c.by)
	} else if len(s.axes) == 1 {
		c.apart = e.strideTimes(arg, s.axes[0], c.by)
	}
	first := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", line))
	room := e.to(b64, "max.s64", e.to(b64, "min.s64", e.to(b64, "sub.s64", s.extent, first), fmt.Sprint(s.wide)), "0")
	c.room = e.to(b32, "cvt.u32.u64", room)
	for i := range s.wide * f.depth * e.size / c.bytes() / f.threads() {
		step, l := c.step, line
		if s.along == alongTile {
			step = e.to(b32, "add.u32", step, fmt.Sprint(i*c.by))
		} else {
			l = e.to(b32, "add.u32", line, fmt.Sprint(i*c.by))
		}
		c.places = append(c.places, c.placeOf(e, s, i, part, l))
		where := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", l))
		if i == 0 || f.own || s.along != alongTile && len(s.axes) > 1 {
			t := e.operandTile(s, e.to(b64, "cvt.u64.u32", step), where, step, l, c.bytes()/e.size)
			p, _ := t.address(arg)
			c.from = append(c.from, e.to(b64, "mov.b64", p))
		}
		if f.own {
			c.sizes = append(c.sizes, e.to(b32, "selp.b32", fmt.Sprint(c.bytes()), "0", e.to(pred, "setp.lt.s64", where, s.extent)))
		}
		if s.along == alongGroup {
			c.words = append(c.words, []reg{e.reg(b32), e.reg(b32), e.reg(b32), e.reg(b32)})
		}
	}
	return c
}

// strideTimes is a multiple of the bytes from one element of an argument to the next along
// an axis, "" if that is none.
func (e *tiledEmitter) strideTimes(arg, axis, n int) reg {
	switch a := e.k.Args[arg]; a.Access[axis] {
	case kernel.Unit:
		return e.constant(b64, uint64(n*a.Type.Size()))
	case kernel.Strided:
		return e.to(b64, "mul.lo.s64", e.slotReg(slotStride, arg, axis), fmt.Sprint(n))
	}
	return ""
}

// placeOf is where a copy goes, the i-th of a thread, to a line. Places which differ by a
// constant share a register.
func (c *slabCopies) placeOf(e *tiledEmitter, s *side, i int, part, line reg) slabPlace {
	f := e.form
	if s.along != kept {
		step := c.pitch / e.size
		if i == 0 {
			at := e.to(b32, "mad.lo.u32", c.step, fmt.Sprint(step), line)
			return slabPlace{e.to(b32, "mul.lo.u32", at, fmt.Sprint(e.size)), s.at}
		}
		if s.along != alongTile {
			step = 1
		}
		return slabPlace{c.places[0].base, s.at + i*c.by*step*e.size}
	}
	if i > 0 && c.by/s.vector()%e.turns(s) == 0 { // in the same order
		return slabPlace{c.places[0].base, s.at + i*c.by*f.depth*e.size}
	}
	four := e.to(b32, "xor.b32", part, e.turnOf(s, line))
	at := e.to(b32, "mad.lo.u32", line, fmt.Sprint(f.depth), e.to(b32, "shl.b32", four, "2"))
	return slabPlace{e.to(b32, "mul.lo.u32", at, fmt.Sprint(e.size)), s.at}
}

// load begins to copy the next slab, at which so many steps are left of the group.
func (c *slabCopies) load(e *tiledEmitter, left, buffer reg) {
	there := c.thereFor(e, left)
	to := map[reg]reg{}
	from := c.from[0]
	for i, place := range c.places {
		switch {
		case i > 0 && len(c.from) > 1:
			from = c.from[i]
		case i > 0 && c.apart != "":
			from = e.to(b64, "add.s64", from, c.apart)
		}
		bytes, yes := there(i)
		if c.along == alongGroup {
			for _, r := range c.words[i] {
				e.op("mov.b32", r, "0")
			}
			e.opIf(yes(), "ld.global.v4.b32", group(c.words[i]), mem(from, 0))
		} else {
			if to[place.base] == "" {
				to[place.base] = e.to(b32, "add.u32", buffer, place.base)
			}
			op := "cp.async.cg.shared.global"
			if c.along == single {
				op = "cp.async.ca.shared.global"
			}
			e.op(op, mem(to[place.base], int64(place.off)), mem(from, 0), fmt.Sprint(c.bytes()), bytes())
		}
		if len(c.from) > 1 && c.stride != "" {
			e.op("add.s64", from, from, c.stride)
		}
	}
	if len(c.from) == 1 && c.stride != "" {
		e.op("add.s64", c.from[0], c.from[0], c.stride)
	}
}

// thereFor says of each copy what it brings for the next slab: how many bytes, and whether
// any.
func (c *slabCopies) thereFor(e *tiledEmitter, left reg) func(i int) (bytes, yes func() reg) {
	var first reg // whether there is the step of all copies, or their line
	if c.along != alongTile {
		first = e.to(pred, "setp.lt.s32", c.step, left)
	} else if !e.form.own {
		first = e.to(pred, "setp.gt.s32", c.room, "0")
	}
	return func(i int) (bytes, yes func() reg) {
		inside := first
		if c.along == alongTile {
			inside = e.to(pred, "setp.lt.s32", e.to(b32, "add.u32", c.step, fmt.Sprint(i*c.by)), left)
		}
		if e.form.own {
			bytes = func() reg { return e.to(b32, "selp.b32", c.sizes[i], "0", inside) }
			return bytes, func() reg { return e.to(pred, "setp.ne.u32", bytes(), "0") }
		}
		other := first
		if c.along != alongTile {
			other = e.to(pred, "setp.gt.s32", c.room, fmt.Sprint(i*c.by))
		}
		inside = e.to(pred, "and.pred", inside, other)
		return func() reg { return e.to(b32, "selp.b32", fmt.Sprint(c.bytes()), "0", inside) }, func() reg { return inside }
	}
}

// put writes to the buffer what passes the registers.
func (c *slabCopies) put(e *tiledEmitter, buffer reg) {
	if c.along != alongGroup {
		return
	}
	to := e.to(b32, "add.u32", buffer, c.places[0].base)
	for i, place := range c.places {
		for q, r := range c.words[i] {
			e.op("st.shared.b32", mem(to, int64(place.off+q*c.pitch)), r)
		}
	}
}
