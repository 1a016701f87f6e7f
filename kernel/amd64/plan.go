package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// plan decides the unrolling and gives every value that outlives its segment a
// place in the context block.
func (g *gen) plan() {
	g.ctx = wArgs + argSize*int32(len(g.k.Args))
	g.ctx = (g.ctx + 63) &^ 63
	g.initAlloc()
	g.lane, g.laneB, g.maskD, g.maskQ = g.slot(), g.slot(), g.slot(), g.slot()
	g.makePasses()
	g.chooseBlocks()
	g.setUnroll()

	needed, outlives := g.needed(), g.outlive()
	for i := range g.k.Body {
		in := &g.k.Body[i]
		r := kernel.Ref(i)
		if !needed[i] || g.alias[i] != r || in.Op == kernel.OpStore {
			continue
		}
		switch in.Op {
		case kernel.OpConst:
			g.alloc.mem[mkVal(r, shared)] = g.constant(in.Type, in.Imm)
			continue
		case kernel.OpParam, kernel.OpExtent:
			m := g.slot()
			g.p.slots = append(g.p.slots, paramSlot{m.Disp, in.Type, int(in.Imm), in.Op == kernel.OpExtent, g.launchExtent[r]})
			g.alloc.mem[mkVal(r, shared)] = m
			continue
		}
		if g.class[i] == element || !outlives[r] {
			continue
		}
		for copy := range g.p.unroll {
			if v := g.value(r, copy); g.alloc.mem[v] == (asm.Mem{}) {
				g.alloc.mem[v] = g.slot()
			}
		}
	}
}

// needed says which instructions contribute to a store, or to a fault.
func (g *gen) needed() []bool {
	if g.need != nil {
		return g.need
	}
	n := make([]bool, len(g.k.Body))
	for i := len(g.k.Body) - 1; i >= 0; i-- {
		in := &g.k.Body[i]
		if in.Op == kernel.OpStore || g.faulty(in) {
			n[i] = true
		}
		if n[i] {
			in.Operands(func(r kernel.Ref) { n[r] = true })
		}
	}
	g.need = n
	return n
}

// outlive says which values below element level are used outside the segment
// that computes them.
func (g *gen) outlive() []bool {
	out := make([]bool, len(g.k.Body))
	for i := range g.k.Body {
		in := &g.k.Body[i]
		out[i] = out[i] || in.Op == kernel.OpReduce || g.class[i] == uniform
		if g.alias[i] != kernel.Ref(i) {
			continue
		}
		for _, r := range [...]kernel.Ref{in.A, in.B, in.C} {
			if r == kernel.None {
				continue
			}
			r = g.alias[r]
			out[r] = out[r] || g.class[i] != g.class[r] || g.stage[i] != g.stage[r] || in.Op == kernel.OpReduce
		}
	}
	return out
}

func (g *gen) setUnroll() {
	size, slow, reduces := 0, 0, 0
	for arg := range g.k.Args {
		if g.along(arg, g.p.vAxis) == kernel.Strided {
			slow += 8
		}
	}
	for i := range g.k.Body {
		if g.faulty(&g.k.Body[i]) {
			slow += 16
		}
		if op := g.k.Body[i].Op; op == kernel.OpConst || op == kernel.OpParam {
			continue
		}
		if g.class[i] == element || g.class[i] == vector {
			size++
		}
	}
	for i := range g.passes {
		reduces = max(reduces, len(g.passes[i].reduces))
	}
	u := 4
	switch {
	case size > 120 || g.attempt > 1:
		u = 1
	case size > 40:
		u = 2
	}
	if !g.byRows && reduces == 1 && size <= shortPass {
		u = 8
	} else if !g.byRows { // rows choose for every pass
		for u > 1 && u*reduces > g.accumulators() {
			u /= 2
		}
	}
	g.p.unroll = u
	g.p.cost = size + slow + 1
}

// segment lists the instructions of a class and stage that are needed.
func (g *gen) segment(c class, stage int) (list []kernel.Ref) {
	needed := g.needed()
	for i := range g.k.Body {
		in := &g.k.Body[i]
		if !needed[i] || g.class[i] != c || stage >= 0 && g.stage[i] != stage || g.alias[i] != kernel.Ref(i) {
			continue
		}
		switch in.Op {
		case kernel.OpConst, kernel.OpParam, kernel.OpExtent, kernel.OpReduce:
			continue
		}
		list = append(list, kernel.Ref(i))
	}
	return list
}

// program unrolls a list of instructions: first what all copies share, then one
// copy after the other. Values that outlive the segment are kept.
// number is that of the pass, or -1.
func (g *gen) program(list []kernel.Ref, copies, number int) (prog []step) {
	isElement := false
	for _, r := range list {
		isElement = isElement || g.class[r] == element || g.k.Body[r].Op == kernel.OpReduce
	}
	add := func(r kernel.Ref, copy int) {
		if v, ok := g.saved[r]; ok && number > v.pass {
			prog = append(prog, step{r, copy, restore})
			return
		} else if ok && number == v.pass && g.k.Body[r].Op != kernel.OpScan {
			prog = append(prog, step{r, copy, plain}, step{r, copy, save})
			return
		}
		prog = append(prog, step{r, copy, plain})
		if isElement || g.k.Body[r].Op == kernel.OpStore {
			return
		}
		if _, ok := g.alloc.mem[g.value(r, copy)]; ok {
			prog = append(prog, step{r, copy, keep})
		}
	}
	own := func(r kernel.Ref) bool { return g.own[r] || g.k.Body[r].Op == kernel.OpReduce }
	for _, r := range list {
		if !own(r) {
			add(r, shared)
		}
	}
	for copy := range copies {
		for _, r := range list {
			if own(r) {
				add(r, copy)
			}
		}
	}
	return prog
}

// identity returns the neutral lanes of a reduction.
func (g *gen) identity(in *kernel.Instr) asm.Mem {
	return g.constant(in.Type, g.k.Reductions[in.Imm].Kind.Identity(in.Type))
}

// combineOp returns the instruction that joins two partial results.
func (g *gen) combineOp(in *kernel.Instr) kernel.Op {
	switch g.k.Reductions[in.Imm].Kind {
	case kernel.Prod:
		return kernel.OpMul
	case kernel.Max:
		return kernel.OpMax
	case kernel.Min:
		return kernel.OpMin
	}
	return kernel.OpAdd
}

// accumulate folds a value into its accumulator in a register or, in masked
// steps of a striped reduction, into the partial results in memory.
func (g *gen) accumulate(s step, in *kernel.Instr, ops []val) {
	l := g.length(in.Type)
	if g.k.Reductions[in.Imm].Kind == firstHit {
		g.noteHits(in, g.reg(ops[0]), g.arg(ops[1]))
		return
	}
	if g.inMemory(s, in, ops) {
		return
	}
	acc, ok := g.accs[[2]int{int(s.ref), s.copy}]
	if _, twice := g.kept[s.ref]; twice {
		x := g.reg(ops[0])
		g.a.MR(asm.VMOVUPSST, l, asm.M(g.rowBuffer(s)), x)
	}
	x := g.reg(ops[0])
	if len(ops) == 2 {
		if in.Type.IsFloat() {
			g.a.RVM(pick(in.Type, asm.VFMADD231PS, asm.VFMADD231PD), l, acc, x, g.arg(ops[1]))
			return
		}
		u := g.tmp()
		g.arith(kernel.OpMul, in.Type, x, g.arg(ops[1]), func() asm.Vec { return u })
		x = u
	}
	switch {
	case !ok:
		g.memoryFold(in, s.ref, x)
	case g.tracked[s.ref] != nil:
		g.foldTracked(in, s.ref, s.copy, acc, x)
	default:
		g.arith(g.combineOp(in), in.Type, acc, asm.V(x), func() asm.Vec { return acc })
	}
}

// memoryFold adds x, or its lanes in use in a masked step, to the partials in
// memory.
func (g *gen) memoryFold(in *kernel.Instr, r kernel.Ref, x asm.Vec) {
	l, op := g.length(in.Type), g.combineOp(in)
	u := g.tmp()
	if !g.masked {
		g.a.RM(asm.VMOVUPS, l, u, asm.V(x))
	} else if g.wide {
		g.a.RM(asm.VMOVUPS, l, u, asm.M(g.identity(in)))
		g.a.BlendM(pick(in.Type, asm.VPBLENDMD, asm.VPBLENDMQ), l, u, kTail, u, asm.V(x))
	} else {
		m := g.tmp()
		g.a.RM(asm.VMOVUPS, l, m, asm.M(g.laneMask(in.Type)))
		g.a.RM(asm.VMOVUPS, l, u, asm.M(g.identity(in)))
		g.a.RVMR(pick(in.Type, asm.VBLENDVPS, asm.VBLENDVPD), l, u, u, asm.V(x), m)
	}
	// The partial belongs to the lanes that begin at CX.
	g.a.Mov(rTmp, rIdx)
	g.a.AluMem(asm.SUB, rTmp, g.word(wStripeEnd))
	buf := g.bufs[[2]int{int(r), 0}]
	m := asm.Idx(asm.DI, rTmp, uint8(laneSize(in.Type)), buf.Disp)
	if g.tracked[r] != nil {
		v := g.tmp()
		g.a.RM(asm.VMOVUPS, l, v, asm.M(m))
		g.foldTracked(in, r, 0, v, u)
		u = v
	} else {
		g.arith(op, in.Type, u, asm.M(m), func() asm.Vec { return u })
	}
	g.a.MR(asm.VMOVUPSST, l, asm.M(m), u)
}

// fill loads the identity of a reduction.
func (g *gen) fill(in *kernel.Instr, r asm.Vec) {
	if b := g.k.Reductions[in.Imm].Kind.Identity(in.Type); b == 0 {
		g.a.RVM(asm.VPXOR, g.length(in.Type), r, r, asm.V(r))
		return
	}
	g.a.RM(asm.VMOVUPS, g.length(in.Type), r, asm.M(g.identity(in)))
}
