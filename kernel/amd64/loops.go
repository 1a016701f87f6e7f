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

// sweep runs a list over the vector axis: unrolled, then masked.
func (g *gen) sweep(list []kernel.Ref, stage int) {
	a, u := g.a, g.p.unroll
	main, rest := g.program(list, u, stage), g.program(list, 1, stage)
	g.unpin()
	g.loadPointers(main, false)
	g.pinInvariants(main)
	g.mainEnd(u * g.n)
	tail := a.NewLabel()
	a.MovImm(rIdx, 0)
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.GreatEq, tail)
	a.Align(16)
	top := a.Here()
	g.run(main)
	a.AluImm(asm.ADD, rIdx, int32(u*g.n))
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.Less, top)
	a.Bind(tail)
	g.remainder(wLanes, func() { g.run(rest) })
}

// remainder runs a body for one vector after the other from CX up to the word
// end, the last one masked if it is not whole.
func (g *gen) remainder(end int32, body func()) {
	a := g.a
	done, last := a.NewLabel(), a.NewLabel()
	again := a.Here()
	a.Lea(rTmp, asm.Ptr(rIdx, int32(g.n)))
	a.AluMem(asm.CMP, rTmp, g.word(end))
	a.Jcc(asm.Greater, last)
	body()
	a.AluImm(asm.ADD, rIdx, int32(g.n))
	a.Jmp(again)
	a.Bind(last)
	a.AluMem(asm.CMP, rIdx, g.word(end))
	a.Jcc(asm.GreatEq, done)
	g.masked = true
	g.setMask(end)
	body()
	g.masked = false
	a.Bind(done)
}

// columnBody runs one row with lanes along a kept axis.
func (g *gen) columnBody() {
	a := g.a
	if !g.overElements() {
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

// block runs all stages for some vectors of kept elements.
func (g *gen) block(copies int) {
	for s := 0; s <= g.last; s++ {
		g.straight(g.segment(vector, s), copies)
		if list, reduces := g.pass(s); len(list) > 0 {
			g.columnPass(list, reduces, copies)
		}
	}
}

// columnPass runs a list over the reduced axis, lanes along a kept one. The
// results of a Columns tree's chunks go to memory and are folded there;
// otherwise the result's slot collects them in order.
func (g *gen) columnPass(list, reduces []kernel.Ref, copies int) {
	a := g.a
	tree := g.chunk(reduces)
	prog := g.program(list, copies, -1)
	g.unpin()
	g.loadPointers(prog, true)
	for _, r := range reduces {
		for c := range copies {
			g.accs[[2]int{int(r), c}] = g.pin()
		}
	}
	g.pinInvariants(prog)
	a.Load(rTmp, g.word(wReduced))
	a.Store(g.word(wLeft), rTmp)
	a.MovImm(rTmp, 0)
	a.Store(g.word(wChunks), rTmp)
	chunks := a.Here()
	for _, r := range reduces {
		for c := range copies {
			g.fill(&g.k.Body[r], g.accs[[2]int{int(r), c}])
		}
	}
	a.Load(rLoop, g.word(wLeft))
	a.MovImm(rTmp, int64(tree.Chunk))
	a.Alu(asm.CMP, rLoop, rTmp)
	a.Cmov(asm.Greater, rLoop, rTmp)
	a.MemAlu(asm.SUB, g.word(wLeft), rLoop)
	a.Align(16)
	inner := a.Here()
	g.run(prog)
	indexed := g.advance(prog)
	a.Dec(rLoop)
	a.Jcc(asm.NotEq, inner)

	inArrays := func(r kernel.Ref) bool { return tree.Kind == kernel.Columns && !g.anyOrder(&g.k.Body[r]) }
	arrays := 0
	first := a.NewLabel()
	for _, r := range reduces {
		if inArrays(r) {
			arrays += copies
		}
	}
	if arrays > 0 {
		g.p.columns = max(g.p.columns, arrays)
		g.needChunk(tree)
		a.Load(rTmp, g.word(wChunks))
		a.ImulImm(rTmp, rTmp, int32(64*arrays))
		a.AluMem(asm.ADD, rTmp, g.word(wScratch))
		i := int32(0)
		for _, r := range reduces {
			for c := range copies {
				if inArrays(r) {
					a.MR(asm.VMOVUPSST, g.length(g.k.Body[r].Type), asm.M(asm.Ptr(rTmp, 64*i)), g.accs[[2]int{int(r), c}])
					i++
				}
			}
		}
	}
	a.MemAluImm(asm.CMP, g.word(wChunks), 0)
	a.Jcc(asm.Eq, first)
	g.begin(nil)
	for _, r := range reduces {
		for c := range copies {
			if in := &g.k.Body[r]; !inArrays(r) {
				acc := g.accs[[2]int{int(r), c}]
				u := g.tmp()
				g.a.RM(asm.VMOVUPS, g.length(in.Type), u, asm.M(g.alloc.mem[g.value(r, c)]))
				g.arith(g.combineOp(in), in.Type, u, asm.V(acc), func() asm.Vec { return acc })
				g.done()
			}
		}
	}
	a.Bind(first)
	for _, r := range reduces {
		for c := range copies {
			g.a.MR(asm.VMOVUPSST, g.length(g.k.Body[r].Type), asm.M(g.alloc.mem[g.value(r, c)]), g.accs[[2]int{int(r), c}])
		}
	}
	a.MemAluImm(asm.ADD, g.word(wChunks), 1)
	a.MemAluImm(asm.CMP, g.word(wLeft), 0)
	a.Jcc(asm.Greater, chunks)
	if indexed { // inner axes have come round; the outermost one goes back
		a.Load(rTmp, g.word(wExtent+8*int32(g.p.rFrom)))
		a.MemAlu(asm.SUB, g.word(wIndex+8*int32(g.p.rFrom)), rTmp)
	}
	if arrays > 0 {
		g.foldColumns(reduces, copies, arrays, inArrays)
	}
}

// foldColumns folds the records of chunk results by halves: with w the largest
// power of two below their number, record i+w is added to record i.
func (g *gen) foldColumns(reduces []kernel.Ref, copies, arrays int, inArrays func(kernel.Ref) bool) {
	a := g.a
	w, n, i, p, q, size := rTmp, rLoop, rTmp2, asm.SI, asm.R8, int32(64*arrays)
	done, grown := a.NewLabel(), a.NewLabel()
	a.Load(n, g.word(wChunks))
	a.AluImm(asm.CMP, n, 1)
	a.Jcc(asm.Eq, done)
	a.MovImm(w, 1)
	grow := a.Here()
	a.Lea(i, asm.Idx(w, w, 1, 0))
	a.Alu(asm.CMP, i, n)
	a.Jcc(asm.GreatEq, grown)
	a.Mov(w, i)
	a.Jmp(grow)
	a.Bind(grown)
	level := a.Here()
	a.Load(p, g.word(wScratch))
	a.ImulImm(q, w, size)
	a.Alu(asm.ADD, q, p)
	a.Mov(i, n) // pairs: n-w, which never exceeds w
	a.Alu(asm.SUB, i, w)
	g.unpin()
	each := func(f func(in *kernel.Instr, r kernel.Ref, c int, at int32)) {
		at := int32(0)
		for _, r := range reduces {
			for c := range copies {
				if inArrays(r) {
					f(&g.k.Body[r], r, c, at)
					at += 64
				}
			}
		}
	}
	pair := a.Here()
	each(func(in *kernel.Instr, _ kernel.Ref, _ int, at int32) {
		u := g.tmp()
		l := g.length(in.Type)
		a.RM(asm.VMOVUPS, l, u, asm.M(asm.Ptr(p, at)))
		g.arith(g.combineOp(in), in.Type, u, asm.M(asm.Ptr(q, at)), func() asm.Vec { return u })
		a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(p, at)), u)
		g.done()
	})
	a.AluImm(asm.ADD, p, size)
	a.AluImm(asm.ADD, q, size)
	a.Dec(i)
	a.Jcc(asm.NotEq, pair)
	a.Mov(n, w)
	a.ShiftImm(asm.SHR, w, 1)
	a.Jcc(asm.NotEq, level)
	a.Load(p, g.word(wScratch))
	each(func(in *kernel.Instr, r kernel.Ref, c int, at int32) {
		u := g.tmp()
		l := g.length(in.Type)
		a.RM(asm.VMOVUPS, l, u, asm.M(asm.Ptr(p, at)))
		a.MR(asm.VMOVUPSST, l, asm.M(g.alloc.mem[g.value(r, c)]), u)
		g.done()
	})
	a.Bind(done)
}
