package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Extremes of floats along rows, AVX-512. vrangeps orders zeros as OpMin and OpMax
// do and passes over NaN, so a comparison that clears predicate bits on the way
// is all that one needs to know of NaN: it wins wherever in the row it was. Two
// predicates take turns, or one would be a chain of latencies.

// trackNaN gives predicates to the extremes among a pass's reductions, as far as
// there are any.
func (g *gen) trackNaN(reduces []kernel.Ref) {
	g.tracked = nil
	if !g.wide {
		return
	}
	masks := []asm.Mask{6, 5, 4, 3} // the last one stays for selects
	for _, r := range reduces {
		in := &g.k.Body[r]
		kind := g.k.Reductions[in.Imm].Kind
		if !in.Type.IsFloat() || kind != kernel.Max && kind != kernel.Min || len(masks) == 0 {
			continue
		}
		if g.tracked == nil {
			g.tracked = map[kernel.Ref][]asm.Mask{}
		}
		g.tracked[r], masks = masks[:2:2], masks[2:]
	}
}

// extreme leaves the greater or lesser of x and y in x, which is y where x is NaN.
func (g *gen) extreme(in *kernel.Instr, x, y asm.Vec) {
	bySign := uint8(1 << 2)
	if g.combineOp(in) == kernel.OpMax {
		bySign |= 1
	}
	g.a.RVMI(pick(in.Type, asm.VRANGEPS, asm.VRANGEPD), g.length(in.Type), x, x, asm.V(y), bySign)
}

// foldTracked folds x of a copy into an accumulator.
func (g *gen) foldTracked(in *kernel.Instr, r kernel.Ref, copy int, acc, x asm.Vec) {
	g.extreme(in, acc, x)
	k := g.tracked[r][copy%2]
	g.a.Masked(k, false).KVM(pick(in.Type, asm.VCMPPSK, asm.VCMPPDK), g.length(in.Type), k, x, asm.V(x), cmpOrd)
}

// beginTracked readies the predicates of a chunk.
func (g *gen) beginTracked(r kernel.Ref) {
	for _, k := range g.tracked[r] {
		g.a.K(asm.KXNOR, k, k, k)
	}
}

// endTracked makes all lanes of a chunk's result NaN if there was one.
func (g *gen) endTracked(r kernel.Ref, x asm.Vec) {
	masks := g.tracked[r]
	if masks == nil {
		return
	}
	a, clean := g.a, g.a.NewLabel()
	a.K(asm.KAND, masks[0], masks[0], masks[1])
	a.KGet(rTmp, masks[0])
	a.AluImm(asm.XOR, rTmp, -1)
	a.ShiftImm(asm.SHL, rTmp, uint8(64-g.n))
	a.Jcc(asm.Eq, clean)
	a.RM(asm.VMOVUPS, g.length(g.k.Body[r].Type), x, asm.M(g.ones(g.k.Body[r].Type)))
	a.Bind(clean)
}
