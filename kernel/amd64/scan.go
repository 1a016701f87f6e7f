package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Scans run with lanes along a kept axis, each lane along a group of its own, or
// element by element over the buffer of a row. The
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
	c.scanCopies(c.beginScan)
}

func (g *gen) beginScan(in *kernel.Instr, s *scanState) {
	a := g.a
	x := g.tmp()
	g.fill(in, x)
	a.MR(asm.VMOVUPSST, g.length(in.Type), asm.M(s.part), x)
	a.MR(asm.VMOVUPSST, g.length(in.Type), asm.M(s.carry), x)
	a.MovImm(rTmp, int64(g.k.Reductions[in.Imm].Tree.Chunk))
	a.Store(s.left, rTmp)
	g.done()
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

// scanRow scans the buffer of a row, or of the current block of it, in place.
func (g *gen) scanRow(r kernel.Ref) {
	a := g.a
	in := &g.k.Body[r]
	st := g.scanOf(mkVal(r, shared))
	op, l, size := g.combineOp(in), g.length(in.Type), laneSize(in.Type)
	p, left, n := asm.SI, asm.R8, rLoop
	g.unpin()
	part, carry := g.pin(), g.pin()
	a.Load(p, g.saved[r].word)
	if g.p.block == 0 {
		a.Load(left, g.word(wLanes))
	} else {
		a.Load(rTmp, g.word(wChunkFrom))
		a.Load(left, g.word(wChunkEnd))
		a.Alu(asm.SUB, left, rTmp)
		a.Lea(p, asm.Idx(p, rTmp, uint8(size), 0))
	}
	a.RM(asm.VMOVUPS, l, part, asm.M(st.part))
	a.RM(asm.VMOVUPS, l, carry, asm.M(st.carry))
	chunks, open := a.Here(), a.NewLabel()
	a.Mov(n, left)
	a.Load(rTmp, st.left)
	a.Alu(asm.CMP, n, rTmp)
	a.Cmov(asm.Greater, n, rTmp)
	a.Alu(asm.SUB, left, n)
	a.MemAlu(asm.SUB, st.left, n)
	a.Align(16)
	again := a.Here()
	x := g.tmp()
	a.RM(pick(in.Type, asm.VMOVSS, asm.VMOVSD), asm.L128, x, asm.M(asm.Ptr(p, 0)))
	g.arith(op, in.Type, part, asm.V(x), func() asm.Vec { return part })
	g.arith(op, in.Type, carry, asm.V(part), func() asm.Vec { return x })
	a.MR(pick(in.Type, asm.VMOVSSST, asm.VMOVSDST), asm.L128, asm.M(asm.Ptr(p, 0)), x)
	g.done()
	a.AluImm(asm.ADD, p, int32(size))
	a.Dec(n)
	a.Jcc(asm.NotEq, again)
	a.MemAluImm(asm.CMP, st.left, 0)
	a.Jcc(asm.NotEq, open)
	g.arith(op, in.Type, carry, asm.V(part), func() asm.Vec { return carry })
	g.done()
	g.fill(in, part)
	a.MovImm(rTmp, int64(g.k.Reductions[in.Imm].Tree.Chunk))
	a.Store(st.left, rTmp)
	a.Bind(open)
	a.AluImm(asm.CMP, left, 0)
	a.Jcc(asm.Greater, chunks)
	if g.p.block > 0 {
		a.MR(asm.VMOVUPSST, l, asm.M(st.part), part)
		a.MR(asm.VMOVUPSST, l, asm.M(st.carry), carry)
	}
}

// scanBlock is the number of elements that a kernel of scans without reductions
// takes through all its stages at once. What lies before a block of the row is
// all that its scans depend on.
const scanBlock = 1024

// chooseBlocks decides whether the row runs in blocks.
func (g *gen) chooseBlocks() {
	if !g.byRows {
		return
	}
	scans := 0
	for i := range g.passes {
		if len(g.passes[i].reduces) > 0 {
			return
		}
		scans += len(g.passes[i].scans)
	}
	if scans > 0 {
		g.p.block = scanBlock
	}
}

// blocks runs one row block by block. The words with the places of row buffers
// move back by a block each time, so that positions in the row address them; the
// place of the first block is in the word after.
func (g *gen) blocks() {
	a := g.a
	for s := range g.last + 1 {
		g.straight(g.segment(scalar, s), 1)
	}
	buffers := make([]kernel.Ref, 0, len(g.saved))
	for r := range g.k.Body {
		if v, ok := g.saved[kernel.Ref(r)]; ok {
			buffers = append(buffers, kernel.Ref(r))
			first := v.word
			first.Disp += 8
			a.Load(rTmp, first)
			a.Store(v.word, rTmp)
		}
	}
	for i := range g.passes {
		for _, r := range g.passes[i].scans {
			g.beginScan(&g.k.Body[r], g.scanOf(mkVal(r, shared)))
		}
	}
	a.MovImm(rIdx, 0)
	top := a.Here()
	a.Store(g.word(wChunkFrom), rIdx)
	a.AluImm(asm.ADD, rIdx, scanBlock)
	a.Load(rTmp, g.word(wLanes))
	a.Alu(asm.CMP, rIdx, rTmp)
	a.Cmov(asm.Greater, rIdx, rTmp)
	a.Store(g.word(wChunkEnd), rIdx)
	for i := range g.passes {
		g.sweep(g.passes[i].list, i)
		for _, r := range g.passes[i].scans {
			g.scanRow(r)
		}
	}
	for _, r := range buffers {
		a.MemAluImm(asm.SUB, g.saved[r].word, int32(scanBlock*laneSize(g.k.Body[r].Type)))
	}
	a.Load(rIdx, g.word(wChunkEnd))
	a.AluMem(asm.CMP, rIdx, g.word(wLanes))
	a.Jcc(asm.Less, top)
}
