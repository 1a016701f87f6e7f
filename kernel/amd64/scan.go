package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Scans run with lanes along a kept axis, each lane along a group of its own. The
// result of an element is the fold of the chunks before it, joined with the fold
// of its chunk so far. The first carry is the identity, which joined with a fold
// that began from the identity gives that fold.

// scanState is the memory of a scan in one pass.
type scanState struct {
	part  asm.Mem // fold of the chunk so far
	carry asm.Mem // fold of the chunks before
	left  asm.Mem // word: elements that the chunk still takes
}

// scanCopies calls f for every scan of the pass and the copies that differ.
func (c *columnPass) scanCopies(f func(in *kernel.Instr, s *scanState)) {
	for _, r := range c.scans {
		if !c.own[r] {
			f(&c.k.Body[r], c.scanOf(mkVal(r, shared)))
			continue
		}
		for copy := range c.copies {
			f(&c.k.Body[r], c.scanOf(mkVal(r, copy)))
		}
	}
}

// scanOf returns the memory of a scan.
func (g *gen) scanOf(v val) *scanState {
	s, ok := g.scanning[v]
	if !ok {
		s = &scanState{g.slot(), g.slot(), g.slot()}
		g.scanning[v] = s
	}
	return s
}

// beginScans readies the scans of a pass.
func (c *columnPass) beginScans() {
	a := c.a
	c.scanCopies(func(in *kernel.Instr, s *scanState) {
		x := c.tmp()
		c.fill(in, x)
		a.MR(asm.VMOVUPSST, c.length(in.Type), asm.M(s.part), x)
		a.MR(asm.VMOVUPSST, c.length(in.Type), asm.M(s.carry), x)
		a.MovImm(rTmp, int64(c.k.Reductions[in.Imm].Tree.Chunk))
		a.Store(s.left, rTmp)
		c.done()
	})
}

// scanStep computes the result of the next element.
func (g *gen) scanStep(in *kernel.Instr, x, dst val) {
	a, l, op := g.a, g.length(in.Type), g.combineOp(in)
	st := g.scanOf(dst)
	v := g.reg(x)
	part := g.tmp()
	a.RM(asm.VMOVUPS, l, part, asm.M(st.part))
	g.arith(op, in.Type, part, asm.V(v), func() asm.Vec { return part })
	a.MR(asm.VMOVUPSST, l, asm.M(st.part), part)
	g.arith(op, in.Type, part, asm.M(st.carry), func() asm.Vec {
		g.release(x)
		return g.define(dst)
	})
}

// stepScans closes the chunks that are complete.
func (c *columnPass) stepScans() {
	a := c.a
	if len(c.scans) > 0 {
		c.begin(nil)
	}
	c.scanCopies(func(in *kernel.Instr, s *scanState) {
		l, inside := c.length(in.Type), a.NewLabel()
		a.MemAluImm(asm.SUB, s.left, 1)
		a.Jcc(asm.NotEq, inside)
		x := c.tmp()
		a.RM(asm.VMOVUPS, l, x, asm.M(s.carry))
		c.arith(c.combineOp(in), in.Type, x, asm.M(s.part), func() asm.Vec { return x })
		a.MR(asm.VMOVUPSST, l, asm.M(s.carry), x)
		c.fill(in, x)
		a.MR(asm.VMOVUPSST, l, asm.M(s.part), x)
		a.MovImm(rTmp, int64(c.k.Reductions[in.Imm].Tree.Chunk))
		a.Store(s.left, rTmp)
		c.done()
		a.Bind(inside)
	})
}
