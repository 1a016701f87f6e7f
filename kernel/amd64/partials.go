package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Partials and buffers of a pass with lanes along a kept axis. Both hold one
// vector per copy for every partial or element; wStripe and wElement are the
// distances in bytes to the current one.

// stripeMask computes the bytes of as many partials as the group needs, a power
// of two, less one.
func (c *columnPass) stripeMask() {
	a := c.a
	lanes := 1
	if c.tree.Kind == kernel.Striped {
		lanes = c.tree.Lanes
	}
	a.MovImm(rTmp, 1)
	done, again := a.NewLabel(), a.Here()
	a.AluImm(asm.CMP, rTmp, int32(lanes))
	a.Jcc(asm.GreatEq, done)
	a.AluMem(asm.CMP, rTmp, c.word(wReduced))
	a.Jcc(asm.GreatEq, done)
	a.Lea(rTmp, asm.Idx(rTmp, rTmp, 1, 0))
	a.Jmp(again)
	a.Bind(done)
	a.ImulImm(rTmp, rTmp, int32(64*c.copies))
	a.Dec(rTmp)
	a.Store(c.word(wStripeMask), rTmp)
}

// nextStripe steps to the next partial.
func (c *columnPass) nextStripe() {
	a := c.a
	if c.tree.Kind != kernel.Striped {
		return
	}
	a.Load(rTmp, c.word(wStripe))
	a.AluImm(asm.ADD, rTmp, int32(64*c.copies))
	a.AluMem(asm.AND, rTmp, c.word(wStripeMask))
	a.Store(c.word(wStripe), rTmp)
}

// partial is the vector of a copy at a distance in bytes.
func (c *columnPass) partial(r kernel.Ref, copy int, off asm.Reg) asm.Mem {
	return asm.Idx(asm.DI, off, 1, c.bufs[[2]int{int(r), 0}].Disp+int32(64*copy))
}

// clearPartials fills the partials of all copies with the identity.
func (c *columnPass) clearPartials(r kernel.Ref) {
	a := c.a
	in := &c.k.Body[r]
	x := c.tmp()
	c.fill(in, x)
	a.MovImm(rTmp, 0)
	again := a.Here()
	a.MR(asm.VMOVUPSST, c.length(in.Type), asm.M(c.partial(r, 0, rTmp)), x)
	a.AluImm(asm.ADD, rTmp, 64)
	a.AluMem(asm.CMP, rTmp, c.word(wStripeMask))
	a.Jcc(asm.LessEq, again)
	c.done()
}

// foldPartials folds the partials of all copies by halves; those of the copies
// from up to to give the values of their slots.
func (c *columnPass) foldPartials(r kernel.Ref, from, to int) {
	a := c.a
	in := &c.k.Body[r]
	l, op := c.length(in.Type), c.combineOp(in)
	half, at := rTmp, rTmp2
	a.Load(half, c.word(wStripeMask))
	a.AluImm(asm.ADD, half, 1)
	done, level := a.NewLabel(), a.Here()
	a.ShiftImm(asm.SHR, half, 1)
	a.AluImm(asm.CMP, half, int32(64*c.copies))
	a.Jcc(asm.Less, done)
	a.Mov(at, half)
	pair := a.Here()
	a.AluImm(asm.SUB, at, 64)
	x := c.tmp()
	m := c.partial(r, 0, at)
	a.RM(asm.VMOVUPS, l, x, asm.M(m))
	a.Lea(rAddr, asm.Idx(at, half, 1, 0))
	c.arith(op, in.Type, x, asm.M(c.partial(r, 0, rAddr)), func() asm.Vec { return x })
	a.MR(asm.VMOVUPSST, l, asm.M(m), x)
	c.done()
	a.AluImm(asm.CMP, at, 0)
	a.Jcc(asm.Greater, pair)
	a.Jmp(level)
	a.Bind(done)
	for copy := from; copy < to; copy++ {
		first := c.bufs[[2]int{int(r), 0}]
		first.Disp += int32(64 * copy)
		c.copyVector(in.Type, c.slotOf(r, copy), first)
	}
}

// means is where a chunk's mean waits for its record.
func (c *columnPass) means(r kernel.Ref, copy int) asm.Mem {
	key := [2]int{int(r), 2 + copy}
	if _, ok := c.bufs[key]; !ok {
		c.bufs[key] = c.slot()
	}
	return c.bufs[key]
}

// bufferMoments computes the mean of the elements in a buffer, and the sum of
// squared deviations from it, which goes to the slot.
func (c *columnPass) bufferMoments(r kernel.Ref, copy int) {
	a := c.a
	in := &c.k.Body[r]
	t, l := in.Type, c.length(in.Type)
	c.sumBuffer(r, copy, false)
	mean, count := c.tmp(), c.tmp()
	c.elements(rTmp)
	c.spread32(count, rTmp)
	a.RM(pick(t, asm.VCVTDQ2PS, asm.VCVTDQ2PD), l, count, asm.V(count))
	a.RM(asm.VMOVUPS, l, mean, asm.M(c.slotOf(r, copy)))
	a.RVM(pick(t, asm.VDIVPS, asm.VDIVPD), l, mean, mean, asm.V(count))
	a.MR(asm.VMOVUPSST, l, asm.M(c.means(r, copy)), mean)
	c.done()
	c.sumBuffer(r, copy, true)
}

// sumBuffer adds the elements in a buffer, or the squares of their deviations,
// along the tree, into the slot.
func (c *columnPass) sumBuffer(r kernel.Ref, copy int, squares bool) {
	a := c.a
	in := &c.k.Body[r]
	t, l := in.Type, c.length(in.Type)
	step := int32(64 * c.copies)
	striped := c.tree.Kind == kernel.Striped
	at, off := rTmp, rTmp2
	if striped {
		c.clearPartials(r)
	}
	sum, mean := c.tmp(), c.tmp()
	a.RVM(asm.VPXOR, l, sum, sum, asm.V(sum))
	if squares {
		a.RM(asm.VMOVUPS, l, mean, asm.M(c.means(r, copy)))
	}
	a.MovImm(at, 0)
	a.Load(rAddr, c.kept[r])
	x := c.tmp()
	again := a.Here()
	a.RM(asm.VMOVUPS, l, x, asm.M(asm.Idx(rAddr, at, 1, int32(64*copy))))
	if squares {
		a.RVM(pick(t, asm.VSUBPS, asm.VSUBPD), l, x, x, asm.V(mean))
		a.RVM(pick(t, asm.VMULPS, asm.VMULPD), l, x, x, asm.V(x))
	}
	add := pick(t, asm.VADDPS, asm.VADDPD)
	if striped {
		a.Mov(off, at)
		a.AluMem(asm.AND, off, c.word(wStripeMask))
		m := c.partial(r, copy, off)
		a.RVM(add, l, x, x, asm.M(m))
		a.MR(asm.VMOVUPSST, l, asm.M(m), x)
	} else {
		a.RVM(add, l, sum, sum, asm.V(x))
	}
	a.AluImm(asm.ADD, at, step)
	a.AluMem(asm.CMP, at, c.word(wElement))
	a.Jcc(asm.Less, again)
	if !striped {
		a.MR(asm.VMOVUPSST, l, asm.M(c.slotOf(r, copy)), sum)
	}
	c.done()
	if striped {
		c.foldPartials(r, copy, copy+1)
	}
}

// inMemory folds the element of a step whose reduction lives in partials or in a
// buffer. It reports false for the others.
func (g *gen) inMemory(s step, in *kernel.Instr, ops []val) bool {
	if g.byRows {
		return false
	}
	l := g.length(in.Type)
	switch g.home(s.ref) {
	case inPartials:
		x := g.reg(ops[0])
		u := g.tmp()
		g.a.Load(rTmp, g.word(wStripe))
		m := asm.Idx(asm.DI, rTmp, 1, g.bufs[[2]int{int(s.ref), 0}].Disp+int32(64*s.copy))
		g.a.RM(asm.VMOVUPS, l, u, asm.M(m))
		if len(ops) == 2 {
			g.a.RVM(pick(in.Type, asm.VFMADD231PS, asm.VFMADD231PD), l, u, x, g.arg(ops[1]))
		} else {
			g.arith(g.combineOp(in), in.Type, u, asm.V(x), func() asm.Vec { return u })
		}
		g.a.MR(asm.VMOVUPSST, l, asm.M(m), u)
	case inBuffer:
		x := g.reg(ops[0])
		g.a.Load(rTmp, g.word(wElement))
		g.a.AluMem(asm.ADD, rTmp, g.kept[s.ref])
		g.a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(rTmp, int32(64*s.copy))), x)
	default:
		return false
	}
	return true
}
