package amd64

import (
	"slices"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// firstHit is a reduction of lowered kernels, with lanes along the reduced axis: the
// index of the first element A that equals B, the row's extremum, or is NaN. Its pass
// stops there, in a row that the search for the extremum has brought near. The result,
// 64 bits in its slot, can only be stored: as lanes it would halve all vectors.
const firstHit kernel.ReduceKind = 0x80

// hitMask is the predicate with the lanes that were hit, AVX-512 only.
const hitMask = asm.Mask(6)

// onlyStored reports whether nothing but stores of one element for every row uses a
// value.
func onlyStored(k *kernel.Kernel, r kernel.Ref) bool {
	return !slices.ContainsFunc(k.Body, func(in kernel.Instr) bool {
		return (in.A == r || in.B == r || in.C == r) && (in.Op != kernel.OpStore || k.ArgLevel(int(in.Imm)) == kernel.ElementLevel)
	})
}

// findsFirst reports whether the kernel has such a reduction.
func (g *gen) findsFirst() bool {
	return slices.ContainsFunc(g.k.Reductions, func(r kernel.Reduction) bool { return r.Kind == firstHit })
}

// storeFirst emits a store of such an index; it reports false for all others.
func (g *gen) storeFirst(in *kernel.Instr) bool {
	of := &g.k.Body[in.A]
	if of.Op != kernel.OpReduce || g.k.Reductions[of.Imm].Kind != firstHit {
		return false
	}
	g.a.Load(rTmp, g.alloc.mem[g.value(in.A, 0)])
	g.a.Store(asm.Ptr(g.pointer(int(in.Imm)), 0), rTmp)
	return true
}

// firstPass looks for the first hit in a row: group after group, then vector after
// vector from the group that has one.
func (g *gen) firstPass(number int) {
	a, p := g.a, &g.passes[number]
	r, u := p.reduces[0], g.p.unroll
	main, rest := g.program(p.list, u, number), g.program(p.list, 1, number)
	g.unpin()
	if g.wide {
		g.tracked = map[kernel.Ref][]asm.Mask{r: {hitMask}} // not for selects
	} else {
		g.hits = g.pin()
	}
	g.loadPointers(main, false)
	g.pinInvariants(main)
	one, hit, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	g.mainEnd(u * g.n)
	a.MovImm(rIdx, 0)
	groups := a.Here()
	a.AluMem(asm.CMP, rIdx, g.word(wMainEnd))
	a.Jcc(asm.GreatEq, one)
	g.clearHits()
	g.run(main)
	g.getHits(r)
	a.Jcc(asm.NotEq, one)
	a.AluImm(asm.ADD, rIdx, int32(u*g.n))
	a.Jmp(groups)

	a.Bind(one)
	a.MovImm(rTmp, 0)
	a.AluMem(asm.CMP, rIdx, g.word(wLanes))
	a.Jcc(asm.GreatEq, done)
	g.masked = true
	g.setMask(wLanes)
	g.clearHits()
	g.run(rest)
	g.masked = false
	g.getHits(r)
	a.Jcc(asm.NotEq, hit)
	a.AluImm(asm.ADD, rIdx, int32(g.n))
	a.Jmp(one)
	a.Bind(hit)
	a.Tzcnt(rTmp, rTmp)
	a.Alu(asm.ADD, rTmp, rIdx)
	a.AluMem(asm.ADD, rTmp, g.word(wIndex+8*int32(g.p.vAxis)))
	a.Bind(done)
	a.Store(g.alloc.mem[g.value(r, 0)], rTmp)
	g.tracked = nil
}

func (g *gen) clearHits() {
	if g.wide {
		g.a.K(asm.KXOR, hitMask, hitMask, hitMask)
	} else {
		g.a.RVM(asm.VPXOR, asm.L256, g.hits, g.hits, asm.V(g.hits))
	}
}

// noteHits adds the lanes that are hit: those in use in a masked step.
func (g *gen) noteHits(in *kernel.Instr, x asm.Vec, m asm.Arg) {
	t := g.k.Body[in.A].Type
	l := g.length(t)
	if g.wide {
		note := func(compare func(k asm.Mask)) {
			if g.masked {
				g.a.Masked(kTail, false)
			}
			compare(1)
			g.a.K(asm.KOR, hitMask, hitMask, 1)
		}
		note(func(k asm.Mask) { g.compareK(kernel.OpEq, t, x, m, k) })
		if t.IsFloat() {
			note(func(k asm.Mask) { g.compareK(kernel.OpNe, t, x, asm.V(x), k) })
		}
		return
	}
	u, y := g.tmp(), g.inReg(l, m)
	if t.IsFloat() {
		v := g.tmp()
		g.a.RVMI(pick(t, asm.VCMPPS, asm.VCMPPD), l, u, x, asm.V(y), cmpEq)
		g.a.RVMI(pick(t, asm.VCMPPS, asm.VCMPPD), l, v, x, asm.V(x), cmpUnord)
		g.a.RVM(asm.VPOR, l, u, u, asm.V(v))
	} else {
		g.a.RVM(pick(t, asm.VPCMPEQD, asm.VPCMPEQQ), l, u, x, asm.V(y))
	}
	if g.masked {
		g.a.RVM(asm.VPAND, l, u, u, asm.M(g.laneMask(t)))
	}
	g.a.RVM(asm.VPOR, l, g.hits, g.hits, asm.V(u))
}

// getHits leaves a bit for every lane that was hit in AX, and clears the zero flag if
// there is one.
func (g *gen) getHits(r kernel.Ref) {
	if g.wide {
		g.a.KGet(rTmp, hitMask)
	} else {
		t := g.k.Body[g.k.Body[r].A].Type
		g.a.GM(pick(t, asm.VMOVMSKPS, asm.VMOVMSKPD), g.length(t), rTmp, g.hits)
	}
	g.a.Test(rTmp, rTmp)
}
