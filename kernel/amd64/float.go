package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Predicates of vcmpps that raise no exception for quiet NaNs.
const (
	cmpEq    = 0x00
	cmpLt    = 0x11
	cmpLe    = 0x12
	cmpUnord = 0x03
	cmpNe    = 0x04
	cmpOrd   = 0x07
	cmpGe    = 0x1d
)

// floatOp emits an instruction on floats; it reports false where integers use
// the same code.
func (g *gen) floatOp(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, out func() asm.Vec) bool {
	a, l := g.a, g.length(t)
	rvm := func(s, d asm.Op) { a.RVM(pick(t, s, d), l, out(), x, y) }
	round := func(mode uint8) { a.RMI(pick(t, asm.VROUNDPS, asm.VROUNDPD), l, out(), asm.V(x), mode|8) }
	sign := uint64(1) << (8*laneSize(t) - 1)
	switch op {
	case kernel.OpAdd:
		rvm(asm.VADDPS, asm.VADDPD)
	case kernel.OpSub:
		rvm(asm.VSUBPS, asm.VSUBPD)
	case kernel.OpMul:
		rvm(asm.VMULPS, asm.VMULPD)
	case kernel.OpDiv:
		rvm(asm.VDIVPS, asm.VDIVPD)
	case kernel.OpSqrt:
		a.RM(pick(t, asm.VSQRTPS, asm.VSQRTPD), l, out(), asm.V(x))
	case kernel.OpNeg:
		a.RVM(asm.VPXOR, l, out(), x, asm.M(g.bits(laneSize(t), sign)))
	case kernel.OpAbs:
		a.RVM(asm.VPAND, l, out(), x, asm.M(g.bits(laneSize(t), sign-1)))
	case kernel.OpRint:
		round(0)
	case kernel.OpFloor:
		round(1)
	case kernel.OpCeil:
		round(2)
	case kernel.OpTrunc:
		round(3)
	case opLesser:
		rvm(asm.VMINPS, asm.VMINPD)
	case opGreater:
		rvm(asm.VMAXPS, asm.VMAXPD)
	case opScale:
		rvm(asm.VSCALEFPS, asm.VSCALEFPD)
	case kernel.OpMin, kernel.OpMax:
		g.minMaxFloat(op, t, x, g.inReg(l, y), out)
	case kernel.OpEq:
		g.compareFloat(t, x, y, cmpEq, out)
	case kernel.OpNe:
		g.compareFloat(t, x, y, cmpNe, out)
	case kernel.OpLt:
		g.compareFloat(t, x, y, cmpLt, out)
	case kernel.OpLe:
		g.compareFloat(t, x, y, cmpLe, out)
	default:
		return false
	}
	return true
}

// minMaxFloat makes up for what vmaxps and vminps do: they return the second
// operand for zeros of either sign and where one is NaN. Both orders together
// hold the answer. For min, the OR of the two keeps -0 and keeps a NaN (all
// ones in the exponent survive, as does a nonzero fraction). For max, the AND
// keeps +0, and a NaN is put back. AVX-512 has vrangeps, which tells zeros apart
// and only lacks the NaN.
func (g *gen) minMaxFloat(op kernel.Op, t ir.DType, x, y asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.length(t)
	u, v := g.tmp(), g.tmp()
	if op == kernel.OpMin {
		o := pick(t, asm.VMINPS, asm.VMINPD)
		a.RVM(o, l, u, x, asm.V(y))
		a.RVM(o, l, v, y, asm.V(x))
		a.RVM(asm.VPOR, l, out(), u, asm.V(v))
		return
	}
	if g.wide {
		const greatestBySign = 1 | 1<<2
		a.RVMI(pick(t, asm.VRANGEPS, asm.VRANGEPD), l, u, x, asm.V(y), greatestBySign)
		a.KVM(pick(t, asm.VCMPPSK, asm.VCMPPDK), l, 1, x, asm.V(y), cmpUnord)
		a.BlendM(pick(t, asm.VPBLENDMD, asm.VPBLENDMQ), l, out(), 1, u, asm.M(g.ones(t)))
		return
	}
	o := pick(t, asm.VMAXPS, asm.VMAXPD)
	a.RVM(o, l, u, x, asm.V(y))
	a.RVM(o, l, v, y, asm.V(x))
	a.RVM(asm.VPAND, l, u, u, asm.V(v))
	a.RVMI(pick(t, asm.VCMPPS, asm.VCMPPD), l, v, x, asm.V(y), cmpUnord)
	a.RVM(asm.VPOR, l, out(), u, asm.V(v))
}

func (g *gen) compareFloat(t ir.DType, x asm.Vec, y asm.Arg, pred uint8, out func() asm.Vec) {
	l := g.length(t)
	if g.wide {
		g.a.KVM(pick(t, asm.VCMPPSK, asm.VCMPPDK), l, 1, x, y, int(pred))
		g.fromK(1, out)
		return
	}
	if laneSize(t) == 4 {
		g.a.RVMI(asm.VCMPPS, l, out(), x, y, pred)
		return
	}
	m := g.tmp()
	g.a.RVMI(asm.VCMPPD, l, m, x, y, pred)
	g.fromWide(m, out)
}
