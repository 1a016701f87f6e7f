package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// The record of a chunk of an M2 reduction: three vectors of equal lanes.
const (
	momentMean  = 64 * iota
	momentM2    // sum of squared deviations
	momentCount // 32-bit integers
	momentSize
)

// deviations reports whether a reduction is of kind M2, which reads its elements
// twice: the second time from a row buffer that the first pass fills.
func (g *gen) deviations(r kernel.Ref) bool {
	return g.k.Reductions[g.k.Body[r].Imm].Kind == kernel.M2
}

// chunkMoments turns the sum of a chunk, whose partials are complete, into its
// mean, adds up the squared deviations from it, and notes the record.
func (g *gen) chunkMoments(r kernel.Ref, tree kernel.Tree, array, slot asm.Mem) {
	a := g.a
	in := &g.k.Body[r]
	t, l := in.Type, g.length(in.Type)
	g.finishChunk(r, tree, asm.Mem{}, slot)
	mean, count := g.pin(), g.take()
	a.Load(rTmp, g.word(wChunkEnd))
	a.AluMem(asm.SUB, rTmp, g.word(wChunkFrom))
	g.spread32(count, rTmp)
	a.RM(pick(t, asm.VCVTDQ2PS, asm.VCVTDQ2PD), l, count, asm.V(count))
	a.RM(asm.VMOVUPS, l, mean, asm.M(slot))
	a.RVM(pick(t, asm.VDIVPS, asm.VDIVPD), l, mean, mean, asm.V(count))
	g.state[count], g.lock[count] = free, false

	u := min(4, tree.Lanes/g.n)
	outer := g.accs
	g.accs = map[[2]int]asm.Vec{}
	for c := range u {
		g.accs[[2]int{int(r), c}] = g.pin()
	}
	body := func(copies int) func() {
		return func() {
			for c := range copies {
				x := g.tmp()
				m := g.rowBuffer(step{ref: r, copy: c})
				a.RM(asm.VMOVUPS, l, x, asm.M(m))
				a.RVM(pick(t, asm.VSUBPS, asm.VSUBPD), l, x, x, asm.V(mean))
				a.RVM(pick(t, asm.VMULPS, asm.VMULPD), l, x, x, asm.V(x))
				g.fold(in, r, c, x)
				g.done()
			}
		}
	}
	ptr := g.ptr
	g.ptr = map[int]asm.Reg{}
	g.oneChunk(tree, []kernel.Ref{r}, u, 1, body(u), body(1))
	g.ptr = ptr
	for _, x := range g.accs {
		g.state[x] = free
	}
	g.accs = outer
	g.finishChunk(r, tree, asm.Mem{}, slot)

	alone := a.NewLabel()
	a.MemAluImm(asm.CMP, g.word(wLimit), int32(tree.Chunk))
	a.Jcc(asm.LessEq, alone)
	a.Load(rTmp, g.word(wChunks))
	a.ImulImm(rTmp, rTmp, momentSize)
	a.AluMem(asm.ADD, rTmp, array)
	a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(rTmp, momentMean)), mean)
	a.RM(asm.VMOVUPS, l, mean, asm.M(slot))
	a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(rTmp, momentM2)), mean)
	a.Load(rTmp2, g.word(wChunkEnd))
	a.AluMem(asm.SUB, rTmp2, g.word(wChunkFrom))
	g.spread32(mean, rTmp2)
	a.MR(asm.VMOVUPSST, g.lengthOf(4), asm.M(asm.Ptr(rTmp, momentCount)), mean)
	a.Bind(alone)
	g.state[mean], g.lock[mean] = free, false
}

// spread32 copies a 32-bit integer to all lanes.
func (g *gen) spread32(dst asm.Vec, src asm.Reg) {
	g.a.RM(asm.VMOVD, asm.L128, dst, asm.G(src))
	g.a.RM(asm.VBROADCASTSS, g.lengthOf(4), dst, asm.V(dst))
}

// joinMoments combines the moments at a place of record q into those of record p
// by Chan's formula, every product rounded before it is added.
func (g *gen) joinMoments(t ir.DType, p, q asm.Reg, place int32) {
	a, l := g.a, g.length(t)
	op := func(s, d asm.Op, dst, x, y asm.Vec) { a.RVM(pick(t, s, d), l, dst, x, asm.V(y)) }
	at := func(r asm.Reg, field int32) asm.Arg { return asm.M(asm.Ptr(r, place+field)) }
	na, nb, n, d, u, v := g.tmp(), g.tmp(), g.tmp(), g.tmp(), g.tmp(), g.tmp()
	li := g.lengthOf(4)
	a.RM(asm.VMOVUPS, li, na, at(p, momentCount))
	a.RM(asm.VMOVUPS, li, nb, at(q, momentCount))
	a.RVM(asm.VPADDD, li, n, na, asm.V(nb))
	a.MR(asm.VMOVUPSST, li, at(p, momentCount), n)
	for _, x := range []asm.Vec{na, nb, n} {
		a.RM(pick(t, asm.VCVTDQ2PS, asm.VCVTDQ2PD), l, x, asm.V(x))
	}
	a.RM(asm.VMOVUPS, l, u, at(p, momentMean))
	a.RM(asm.VMOVUPS, l, d, at(q, momentMean))
	op(asm.VSUBPS, asm.VSUBPD, d, d, u)
	op(asm.VDIVPS, asm.VDIVPD, v, nb, n)
	op(asm.VMULPS, asm.VMULPD, v, d, v)
	op(asm.VADDPS, asm.VADDPD, u, u, v)
	a.MR(asm.VMOVUPSST, l, at(p, momentMean), u)
	op(asm.VMULPS, asm.VMULPD, na, na, nb)
	op(asm.VDIVPS, asm.VDIVPD, na, na, n)
	op(asm.VMULPS, asm.VMULPD, d, d, d)
	op(asm.VMULPS, asm.VMULPD, d, d, na)
	a.RM(asm.VMOVUPS, l, u, at(p, momentM2))
	a.RVM(pick(t, asm.VADDPS, asm.VADDPD), l, u, u, at(q, momentM2))
	op(asm.VADDPS, asm.VADDPD, u, u, d)
	a.MR(asm.VMOVUPSST, l, at(p, momentM2), u)
	g.done()
}
