package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// entry emits the whole routine: uniform values, then the loop over rows.
func (g *gen) entry() {
	a := g.a
	if list := g.segment(uniform, -1); len(list) > 0 {
		g.straight(list, 1)
	}
	a.Align(16)
	rows := a.Here()
	if g.byRows {
		g.rowBody()
	} else {
		g.straight(g.segment(scalar, -1), 1)
		g.columnBody()
	}
	for arg := range g.k.Args {
		switch g.along(arg, g.p.uAxis) {
		case kernel.Broadcast:
		default:
			a.Load(rTmp, g.argWord(arg, argRow))
			a.MemAlu(asm.ADD, g.argWord(arg, argPtr), rTmp)
		}
	}
	if g.p.uAxis >= 0 {
		a.MemAluImm(asm.ADD, g.word(wIndex+8*int32(g.p.uAxis)), 1)
	}
	a.MemAluImm(asm.SUB, g.word(wRows), 1)
	a.Jcc(asm.NotEq, rows)
	if g.stream {
		a.Sfence()
	}
	a.VZeroUpper()
	a.Ret()
}

// straight emits a segment that runs once where it stands.
func (g *gen) straight(list []kernel.Ref, copies int) {
	if len(list) == 0 {
		return
	}
	prog := g.program(list, copies, -1)
	g.unpin()
	g.loadPointers(prog, false)
	g.run(prog)
}

// mainEnd notes where whole groups of n lanes end along the vector axis.
func (g *gen) mainEnd(n int) {
	g.a.Load(rTmp, g.word(wLanes))
	g.a.AluImm(asm.AND, rTmp, int32(-n))
	g.a.Store(g.word(wMainEnd), rTmp)
}

// sweep runs a list over the vector axis, or the current block of it: unrolled,
// then masked. number is that of the pass, or -1.
func (g *gen) sweep(list []kernel.Ref, number int) {
	a, u := g.a, g.p.unroll
	main, rest := g.program(list, u, number), g.program(list, 1, number)
	g.unpin()
	g.loadPointers(main, false)
	g.pinInvariants(main)
	tail, end := a.NewLabel(), int32(wLanes)
	switch {
	case g.stream && g.p.block == 0:
		a.MovImm(rIdx, 0)
		g.head(len(rest), func() { g.run(rest) })
		a.Load(rTmp, g.word(wLanes))
		a.Alu(asm.SUB, rTmp, rIdx)
		a.AluImm(asm.AND, rTmp, int32(-u*g.n))
		a.Alu(asm.ADD, rTmp, rIdx)
		a.Store(g.word(wMainEnd), rTmp)
	case g.p.block == 0:
		g.mainEnd(u * g.n)
		a.MovImm(rIdx, 0)
	default:
		end = wChunkEnd
		a.Load(rTmp, g.word(wChunkEnd))
		a.Load(rIdx, g.word(wChunkFrom))
		a.Alu(asm.SUB, rTmp, rIdx)
		a.AluImm(asm.AND, rTmp, int32(-u*g.n))
		a.Alu(asm.ADD, rTmp, rIdx)
		a.Store(g.word(wMainEnd), rTmp)
	}
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.GreatEq, tail)
	a.Align(16)
	top := a.Here()
	g.run(main)
	a.AluImm(asm.ADD, rIdx, int32(u*g.n))
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.Less, top)
	a.Bind(tail)
	g.remainder(end, len(rest), func() { g.run(rest) })
}

// remainder runs a body for one vector after the other from CX up to the word
// end, the last one masked if it is not whole. Where masks cost little, or a
// second body would be long, all are masked.
func (g *gen) remainder(end int32, steps int, body func()) {
	a := g.a
	done, last := a.NewLabel(), a.NewLabel()
	again := a.Here()
	if !g.wide && steps <= 64 {
		a.Lea(rTmp, asm.Ptr(rIdx, int32(g.n)))
		a.AluMem(asm.CMP, rTmp, g.word(end))
		a.Jcc(asm.Greater, last)
		body()
		a.AluImm(asm.ADD, rIdx, int32(g.n))
		a.Jmp(again)
		a.Bind(last)
		again = -1
	}
	a.AluMem(asm.CMP, rIdx, g.word(end))
	a.Jcc(asm.GreatEq, done)
	g.masked = true
	g.setMask(end)
	body()
	g.masked = false
	if again >= 0 {
		a.AluImm(asm.ADD, rIdx, int32(g.n))
		a.Jmp(again)
	}
	a.Bind(done)
}

// columnBody runs one row with lanes along a kept axis.
func (g *gen) columnBody() {
	a := g.a
	if len(g.passes) == 0 {
		if list := g.segment(vector, -1); len(list) > 0 {
			g.sweep(list, -1)
		}
		return
	}
	u := g.p.unroll
	g.mainEnd(u * g.n)
	a.MovImm(rIdx, 0)
	tail, end := a.NewLabel(), a.NewLabel()
	top := a.Here()
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.GreatEq, tail)
	g.block(u)
	a.AluImm(asm.ADD, rIdx, int32(u*g.n))
	a.Jmp(top)
	a.Bind(tail)
	a.AluMem(asm.CMP, rIdx, g.word(wLanes))
	a.Jcc(asm.GreatEq, end)
	g.masked = true
	g.setMask(wLanes)
	g.block(1)
	g.masked = false
	a.AluImm(asm.ADD, rIdx, int32(g.n))
	a.Jmp(tail)
	a.Bind(end)
}
