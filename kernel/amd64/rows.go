package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// rowBody runs one row with lanes along the reduced axis.
func (g *gen) rowBody() {
	if g.p.block > 0 {
		g.blocks()
		return
	}
	for s := range g.last + 1 {
		g.straight(g.segment(scalar, s), 1)
		from, to := g.stagePasses(s)
		for i := from; i < to; i++ {
			switch {
			case g.passes[i].first:
				g.firstPass(i)
			case len(g.passes[i].reduces) == 0:
				g.sweep(g.passes[i].list, i)
			default:
				g.rowPass(i)
			}
			for _, r := range g.passes[i].scans {
				g.beginScan(&g.k.Body[r], g.scanOf(mkVal(r, shared)))
				g.scanRow(r)
			}
		}
	}
}

// shortPass is the number of instructions up to which a pass has registers for
// eight accumulators of one reduction.
const shortPass = 12

// rowPass runs a pass over the row and leaves the reductions' results, in all
// lanes, in their slots.
func (g *gen) rowPass(number int) {
	a, p := g.a, &g.passes[number]
	tree, reduces := p.tree, p.reduces
	for _, r := range reduces {
		g.bufs[[2]int{int(r), 0}] = asm.Ptr(asm.DI, g.reserve(int32(tree.Lanes*8)))
		at, size := g.reserve(64), 8
		if g.deviations(r) {
			size = momentSize
			word := g.reserve(64)
			g.p.buffers = append(g.p.buffers, word)
			g.kept[r] = asm.Ptr(asm.DI, word)
		}
		g.p.arrays = append(g.p.arrays, array{word: at, size: size, chunk: tree.Chunk})
		g.bufs[[2]int{int(r), 1}] = asm.Ptr(asm.DI, at)
	}
	place := func(r kernel.Ref) asm.Mem { return g.bufs[[2]int{int(r), 1}] }

	a.Load(rTmp, g.word(wLanes))
	a.Store(g.word(wLimit), rTmp)
	unroll := min(g.p.unroll, tree.Lanes/g.n)
	if len(reduces) == 1 && len(p.list) <= shortPass && g.attempt == 0 {
		unroll = min(8, tree.Lanes/g.n)
	} else {
		for unroll > 1 && unroll*len(reduces) > g.accumulators() {
			unroll /= 2
		}
	}
	main, rest := g.program(p.list, unroll, number), g.program(p.list, 1, number)
	g.unpin()
	g.loadPointers(main, false)
	g.trackNaN(reduces)
	g.stripes(tree, reduces, unroll, main, func() { g.run(main) }, func() { g.run(rest) }, func() {
		for _, r := range reduces {
			slot := g.alloc.mem[g.value(r, 0)]
			if g.deviations(r) {
				g.chunkMoments(r, tree, place(r), slot)
			} else {
				g.finishChunk(r, tree, place(r), slot)
			}
		}
	})

	g.tracked = nil

	// More than one chunk: the results are reduced in the same way, until one is left.
	single := a.NewLabel()
	a.MemAluImm(asm.CMP, g.word(wChunks), 1)
	a.Jcc(asm.Eq, single)
	for i, r := range reduces {
		in := &g.k.Body[r]
		done := a.NewLabel()
		if i > 0 { // every fold ends with a count of one
			a.Load(rTmp, g.word(wLanes))
			g.countChunks(tree.Chunk)
			a.Store(g.word(wChunks), rTmp)
		}
		if g.deviations(r) {
			g.foldTree(tree, place(r), momentSize, func(p, q asm.Reg) { g.joinMoments(in.Type, p, q, 0) })
			a.Load(asm.SI, place(r))
			g.copyVector(in.Type, g.alloc.mem[g.value(r, 0)], asm.Ptr(asm.SI, momentM2))
			continue
		}
		again := a.Here()
		a.Load(rTmp, g.word(wChunks))
		a.AluImm(asm.CMP, rTmp, 1)
		a.Jcc(asm.Eq, done)
		a.Store(g.word(wLimit), rTmp)
		a.Load(ptrRegs[0], place(r))
		g.unpin()
		size := laneSize(in.Type)
		u := min(4, tree.Lanes/g.n)
		body := func(copies int) func() {
			return func() {
				g.begin(nil)
				for c := range copies {
					x := g.tmp()
					m := asm.Idx(ptrRegs[0], rIdx, uint8(size), g.first(c)*int32(size))
					// Beyond the limit lies room of the array: read, then masked.
					a.RM(asm.VMOVUPS, g.length(in.Type), x, asm.M(m))
					g.fold(in, r, c, x)
					g.done()
				}
			}
		}
		g.stripes(tree, []kernel.Ref{r}, u, nil, body(u), body(1), func() {
			g.finishChunk(r, tree, place(r), g.alloc.mem[g.value(r, 0)])
		})
		a.Jmp(again)
		a.Bind(done)
	}
	a.Bind(single)
}

// copyVector copies one vector of a type through a register.
func (g *gen) copyVector(t ir.DType, to, from asm.Mem) {
	x := g.tmp()
	g.a.RM(asm.VMOVUPS, g.length(t), x, asm.M(from))
	g.a.MR(asm.VMOVUPSST, g.length(t), asm.M(to), x)
	g.done()
}

// countChunks computes AX = ceil(AX / n).
func (g *gen) countChunks(n int) {
	a := g.a
	a.MovImm(rTmp2, 0)
	a.Mov(rAddr, rTmp)
	a.MovImm(rTmp, 0)
	top, end := a.Here(), a.NewLabel()
	a.AluImm(asm.CMP, rAddr, 0)
	a.Jcc(asm.LessEq, end)
	a.AluImm(asm.ADD, rTmp, 1)
	a.AluImm(asm.SUB, rAddr, int32(n))
	a.Jmp(top)
	a.Bind(end)
}

// stripes emits the loop over the chunks of wLimit elements. Inside a chunk,
// groups of u vectors of partials are accumulated in registers, one group after
// the other, over the whole stripes; what is left of the last stripe is added
// to the partials in memory.
func (g *gen) stripes(tree kernel.Tree, reduces []kernel.Ref, u int, pins []step, main, rest, chunk func()) {
	a := g.a
	for _, r := range reduces {
		for c := range u {
			g.accs[[2]int{int(r), c}] = g.pin()
		}
	}
	accs := g.accs
	if pins != nil {
		g.pinInvariants(pins)
	}
	a.MovImm(rIdx, 0)
	a.Store(g.word(wChunks), rIdx)
	chunks := a.Here()
	a.Store(g.word(wChunkFrom), rIdx)
	a.Load(rTmp2, g.word(wLimit))
	a.Lea(rTmp, asm.Ptr(rIdx, int32(tree.Chunk)))
	a.Alu(asm.CMP, rTmp, rTmp2)
	a.Cmov(asm.Greater, rTmp, rTmp2)
	a.Store(g.word(wChunkEnd), rTmp)
	a.Alu(asm.SUB, rTmp, rIdx)
	a.AluImm(asm.AND, rTmp, int32(-tree.Lanes))
	a.Alu(asm.ADD, rTmp, rIdx)
	a.Store(g.word(wStripeEnd), rTmp)
	g.oneChunk(tree, reduces, u, len(pins)/u, main, rest)
	g.begin(nil)
	for _, r := range accs { // their values are in memory now
		g.state[r] = free
	}
	chunk()
	for _, r := range accs {
		g.state[r] = pinned
	}
	a.MemAluImm(asm.ADD, g.word(wChunks), 1)
	a.Load(rIdx, g.word(wChunkEnd))
	a.AluMem(asm.CMP, rIdx, g.word(wLimit))
	a.Jcc(asm.Less, chunks)
}

// oneChunk accumulates the current chunk into the partials in memory. rest has
// about as many steps as given.
func (g *gen) oneChunk(tree kernel.Tree, reduces []kernel.Ref, u, steps int, main, rest func()) {
	a, accs := g.a, g.accs
	for _, r := range reduces {
		g.beginTracked(r)
	}
	a.MovImm(rIdx, 0)
	groups := a.Here() // CX is the first partial of the group
	a.Store(g.word(wGroup), rIdx)
	for _, r := range reduces {
		for c := range u {
			g.fill(&g.k.Body[r], accs[[2]int{int(r), c}])
		}
	}
	skip := a.NewLabel()
	a.AluMem(asm.ADD, rIdx, g.word(wChunkFrom))
	a.AluMem(asm.CMP, rIdx, g.word(wStripeEnd))
	a.Jcc(asm.GreatEq, skip)
	a.Align(16)
	top := a.Here()
	main()
	a.AluImm(asm.ADD, rIdx, int32(tree.Lanes))
	a.AluMem(asm.CMP, rIdx, g.word(wStripeEnd))
	a.Jcc(asm.Less, top)
	a.Bind(skip)
	a.Load(rIdx, g.word(wGroup))
	for _, r := range reduces {
		size := laneSize(g.k.Body[r].Type)
		buf := g.bufs[[2]int{int(r), 0}]
		for c := range u {
			m := asm.Idx(asm.DI, rIdx, uint8(size), buf.Disp+int32(c*g.n*size))
			a.MR(asm.VMOVUPSST, g.length(g.k.Body[r].Type), asm.M(m), accs[[2]int{int(r), c}])
		}
	}
	a.AluImm(asm.ADD, rIdx, int32(u*g.n))
	a.AluImm(asm.CMP, rIdx, int32(tree.Lanes))
	a.Jcc(asm.Less, groups)
	a.Load(rIdx, g.word(wStripeEnd))
	g.accs = map[[2]int]asm.Vec{}
	g.remainder(wChunkEnd, steps, rest)
	g.accs = accs
}

// finishChunk folds the partials by halves, leaves the result in all lanes of
// the slot, and notes it in the array, if there is one, as the current chunk's.
func (g *gen) finishChunk(r kernel.Ref, tree kernel.Tree, array, slot asm.Mem) {
	a := g.a
	in := &g.k.Body[r]
	op, l, size := g.combineOp(in), g.length(in.Type), laneSize(in.Type)
	vectors := tree.Lanes / g.n
	buf := func(i int) asm.Mem {
		m := g.bufs[[2]int{int(r), 0}]
		m.Disp += int32(i * g.n * size)
		return m
	}
	// Partial i after folding down to h vectors is the sum of partials i and
	// i+h before; followed depth first it needs few registers.
	var eval func(i, h int) asm.Vec
	give := func(x asm.Vec) {
		g.state[x], g.lock[x] = free, false
	}
	join := func(x, y asm.Vec) {
		keep := g.temps
		g.temps = nil
		if g.tracked[r] != nil {
			g.extreme(in, x, y)
		} else {
			g.arith(op, in.Type, x, asm.V(y), func() asm.Vec { return x })
		}
		for _, t := range g.temps {
			give(t)
		}
		g.temps = keep
		give(y)
	}
	eval = func(i, h int) asm.Vec {
		if h == vectors {
			x := g.take()
			a.RM(asm.VMOVUPS, l, x, asm.M(buf(i)))
			return x
		}
		x := eval(i, 2*h)
		join(x, eval(i+h, 2*h))
		return x
	}
	x := eval(0, 1)
	for lanes := g.n; lanes > 1; lanes /= 2 {
		y := g.take()
		switch lanes / 2 * size {
		case 32:
			a.MRI(asm.VEXTRACTF64X4, asm.L512, asm.V(y), x, 1)
		case 16:
			a.MRI(asm.VEXTRACTF128, asm.L256, asm.V(y), x, 1)
		case 8:
			a.RMI(asm.VPSHUFD, asm.L128, y, asm.V(x), 0xee)
		case 4:
			a.RMI(asm.VPSHUFD, asm.L128, y, asm.V(x), 0x55)
		}
		join(x, y)
	}
	a.RM(pick(in.Type, asm.VBROADCASTSS, asm.VBROADCASTSD), l, x, asm.V(x))
	g.endTracked(r, x)
	a.MR(asm.VMOVUPSST, l, asm.M(slot), x)
	if array == (asm.Mem{}) {
		give(x)
		return
	}
	// The array has room for the results only where there is more than one.
	alone := a.NewLabel()
	a.MemAluImm(asm.CMP, g.word(wLimit), int32(tree.Chunk))
	a.Jcc(asm.LessEq, alone)
	a.Load(rTmp, array)
	a.Load(rTmp2, g.word(wChunks))
	m := asm.Idx(rTmp, rTmp2, uint8(size), 0)
	a.MR(pick(in.Type, asm.VMOVSSST, asm.VMOVSDST), asm.L128, asm.M(m), x)
	a.Bind(alone)
	give(x)
}

// fold joins a vector of chunk results to the accumulators.
func (g *gen) fold(in *kernel.Instr, r kernel.Ref, copy int, x asm.Vec) {
	if acc, ok := g.accs[[2]int{int(r), copy}]; ok {
		g.arith(g.combineOp(in), in.Type, acc, asm.V(x), func() asm.Vec { return acc })
		return
	}
	g.memoryFold(in, r, x)
}
