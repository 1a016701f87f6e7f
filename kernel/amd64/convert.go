package amd64

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// isHalf reports whether a type is stored in 16 bits and computed as f32.
func isHalf(t ir.DType) bool { return t == ir.F16 || t == ir.BF16 }

// convert emits a conversion by value that changes the lanes.
func (g *gen) convert(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	switch {
	case from == ir.Bool:
		g.fromBool(to, x, out)
	case to == ir.Bool:
		g.toBool(from, x, out)
	case from.IsInt() && to.IsInt():
		g.intToInt(from, to, x, out)
	case from.IsInt():
		g.intToFloat(from, to, x, out)
	case to.IsInt():
		g.floatToInt(from, to, x, out)
	default:
		g.floatToFloat(from, to, x, out)
	}
}

func (g *gen) fromBool(to ir.DType, x asm.Vec, out func() asm.Vec) {
	one := uint64(1)
	switch to {
	case ir.F32, ir.F16, ir.BF16:
		one = 0x3f800000
	case ir.F64:
		one = 0x3ff0000000000000
	}
	l := g.length(to)
	if laneSize(to) == 8 {
		q := g.tmp()
		g.a.RM(asm.VPMOVSXDQ, l, q, asm.V(x))
		x = q
	}
	g.a.RVM(asm.VPAND, l, out(), x, asm.M(g.bits(laneSize(to), one)))
}

func (g *gen) toBool(from ir.DType, x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.length(from)
	z := g.tmp()
	a.RVM(asm.VPXOR, l, z, z, asm.V(z))
	if from.IsFloat() {
		g.compareFloat(from, x, asm.V(z), cmpNe, out)
		return
	}
	if g.wide {
		a.KVM(pick(from, asm.VPTESTMD, asm.VPTESTMQ), l, 1, x, asm.V(x), -1)
		g.fromK(1, out)
		return
	}
	a.RVM(pick(from, asm.VPCMPEQD, asm.VPCMPEQQ), l, z, z, asm.V(x))
	a.RVM(asm.VPXOR, l, z, z, asm.M(g.ones(from)))
	g.narrowMask(from, z, out)
}

func (g *gen) intToInt(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	a := g.a
	switch {
	case laneSize(to) == 8:
		o := asm.VPMOVZXDQ
		if from.Kind() == ir.KindInt {
			o = asm.VPMOVSXDQ
		}
		a.RM(o, g.length(to), out(), asm.V(x))
		return
	case laneSize(from) == 8:
		if to.Size() == 4 {
			g.low32(x, out)
			return
		}
		u := g.tmp()
		g.low32(x, func() asm.Vec { return u })
		x = u
	}
	l := g.lengthOf(4)
	drop := uint8(32 - to.Bits())
	if to.Kind() == ir.KindUint {
		a.RVM(asm.VPAND, l, out(), x, asm.M(g.bits(4, 1<<to.Bits()-1)))
		return
	}
	u := g.tmp()
	a.VMI(asm.VPSLLD, l, u, x, drop)
	a.VMI(asm.VPSRAD, l, out(), u, drop)
}

// low32 keeps the low halves of 64-bit lanes.
func (g *gen) low32(x asm.Vec, out func() asm.Vec) {
	if g.wide {
		g.a.MR(asm.VPMOVQD, asm.L512, asm.V(out()), x)
		return
	}
	g.fromWide(x, out)
}

func (g *gen) intToFloat(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	a := g.a
	if isHalf(to) {
		if from.Size() > 2 {
			g.intToHalf(from, to, x, out)
			return
		}
		u := g.tmp()
		a.RM(asm.VCVTDQ2PS, g.lengthOf(4), u, asm.V(x))
		g.roundHalf(to, u, out)
		return
	}
	l := g.length(to)
	switch {
	case laneSize(from) == 8 && !g.wide:
		g.int64ToFloat(from, to, x, out)
	case laneSize(from) == 8:
		var o asm.Op
		switch {
		case from == ir.I64 && to == ir.F64:
			o = asm.VCVTQQ2PD
		case from == ir.U64 && to == ir.F64:
			o = asm.VCVTUQQ2PD
		case from == ir.I64:
			o = asm.VCVTQQ2PS
		default:
			o = asm.VCVTUQQ2PS
		}
		a.RM(o, g.lengthOf(8), out(), asm.V(x))
	case from != ir.U32: // all narrower ones fit into i32
		a.RM(pick(to, asm.VCVTDQ2PS, asm.VCVTDQ2PD), l, out(), asm.V(x))
	case g.wide:
		a.RM(pick(to, asm.VCVTUDQ2PS, asm.VCVTUDQ2PD), l, out(), asm.V(x))
	case to == ir.F64: // as the low bits of 2^52, exact
		u, magic := g.tmp(), asm.M(g.bits(8, 0x4330000000000000))
		a.RM(asm.VPMOVZXDQ, l, u, asm.V(x))
		a.RVM(asm.VPOR, l, u, u, magic)
		a.RVM(asm.VSUBPD, l, out(), u, magic)
	default: // both halves are exact, their sum rounds once
		u, v := g.tmp(), g.tmp()
		a.VMI(asm.VPSRLD, l, u, x, 16)
		a.RM(asm.VCVTDQ2PS, l, u, asm.V(u))
		a.RVM(asm.VMULPS, l, u, u, asm.M(g.bits(4, uint64(math.Float32bits(65536)))))
		a.RVM(asm.VPAND, l, v, x, asm.M(g.bits(4, 0xffff)))
		a.RM(asm.VCVTDQ2PS, l, v, asm.V(v))
		a.RVM(asm.VADDPS, l, out(), u, asm.V(v))
	}
}

func (g *gen) floatToFloat(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	switch {
	case from == ir.F64 && to == ir.F32:
		g.a.RM(asm.VCVTPD2PS, g.lengthOf(8), out(), asm.V(x))
	case from == ir.F64:
		g.roundHalf(to, g.roundOdd(x), out)
	case to == ir.F64:
		g.a.RM(asm.VCVTPS2PD, g.lengthOf(8), out(), asm.V(x))
	default:
		g.roundHalf(to, x, out)
	}
}

// roundOdd rounds f64 lanes to f32 so that a further rounding to a narrower type
// gives what one rounding would: towards zero, with the last bit set where
// anything was lost.
func (g *gen) roundOdd(x asm.Vec) asm.Vec {
	a, l, li := g.a, g.lengthOf(8), g.lengthOf(4)
	mark := len(g.temps)
	t, back, mag, m := g.tmp(), g.tmp(), g.tmp(), g.tmp()
	in := func() asm.Vec { return m }
	abs := asm.M(g.bits(8, 1<<63-1))
	a.RM(asm.VCVTPD2PS, l, t, asm.V(x))
	a.RM(asm.VCVTPS2PD, l, back, asm.V(t))
	a.RVM(asm.VPAND, l, mag, x, abs)
	a.RVM(asm.VPAND, l, m, back, abs)
	g.compareFloat(ir.F64, mag, asm.V(m), cmpLt, in)
	a.RVM(asm.VPADDD, li, t, t, asm.V(m)) // it grew: one step back
	g.drop(mark, t, back, m)
	g.compareFloat(ir.F64, x, asm.V(back), cmpNe, in)
	a.VMI(asm.VPSRLD, li, m, m, 31)
	a.RVM(asm.VPOR, li, t, t, asm.V(m))
	g.drop(mark, t)
	return t
}

// intToHalf rounds once from integers that f32 cannot hold.
func (g *gen) intToHalf(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	mark := len(g.temps)
	switch {
	case from.Size() == 8: // exact in f64, apart from a sticky bit
		u := g.sticky(from, x, 53, 11)
		v := g.tmp()
		g.intToFloat(from, ir.F64, u, func() asm.Vec { return v })
		g.drop(mark, v)
		v = g.roundOdd(v)
		g.drop(mark, v)
		g.roundHalf(to, v, out)
	case to == ir.F16: // all beyond 65520 is infinite
		u := g.tmp()
		in := func() asm.Vec { return u }
		g.arith(kernel.OpMin, from, x, asm.M(g.bits(4, 1<<17)), in)
		if from == ir.I32 {
			g.arith(kernel.OpMax, from, u, asm.M(g.bits(4, 1<<32-1<<17)), in)
		}
		g.a.RM(asm.VCVTDQ2PS, g.lengthOf(4), u, asm.V(u))
		g.roundHalf(to, u, out)
	default: // exact in f32, apart from a sticky bit
		u := g.sticky(from, x, 24, 8)
		v := g.tmp()
		g.intToFloat(from, ir.F32, u, func() asm.Vec { return v })
		g.drop(mark, v)
		g.roundHalf(to, v, out)
	}
}

// sticky replaces integers beyond the given number of bits by neighbours that are
// multiples of 2^low: the odd one of the two where anything is lost, so that a
// further rounding gives what one rounding would.
func (g *gen) sticky(t ir.DType, x asm.Vec, exact, low int) asm.Vec {
	mark := len(g.temps)
	size := laneSize(t)
	c := func(v uint64) asm.Arg { return asm.M(g.bits(size, v)) }
	u, m := g.tmp(), g.tmp()
	op := func(o kernel.Op, t ir.DType, dst, x asm.Vec, y asm.Arg) {
		g.arith(o, t, x, y, func() asm.Vec { return dst })
	}
	y := g.tmp()
	op(kernel.OpAnd, t, u, x, c(1<<low-1))
	op(kernel.OpEq, t, m, u, c(0))
	op(kernel.OpAnd, t, y, x, c(^uint64(1<<low-1)))
	op(kernel.OpOr, t, u, y, c(1<<low))
	g.choose(t, m, asm.V(y), u, func() asm.Vec { return y })
	g.drop(mark, u, m, y)
	unsigned, bits := ir.U32, exact
	if size == 8 {
		unsigned = ir.U64
	}
	if t.Kind() == ir.KindInt {
		op(kernel.OpAdd, t, u, x, c(1<<exact))
		bits++
	} else {
		g.a.RM(asm.VMOVUPS, g.length(t), u, asm.V(x))
	}
	op(kernel.OpShr, unsigned, u, u, c(uint64(bits)))
	op(kernel.OpEq, t, m, u, c(0))
	g.choose(t, m, asm.V(x), y, func() asm.Vec { return y })
	g.drop(mark, y)
	return y
}

// roundHalf rounds f32 lanes to values that a 16-bit type holds.
func (g *gen) roundHalf(to ir.DType, x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.lengthOf(4)
	u := g.tmp()
	if to == ir.F16 {
		a.MRI(asm.VCVTPS2PH, l, asm.V(u), x, 0)
		a.RM(asm.VCVTPH2PS, l, out(), asm.V(u))
		return
	}
	// Add half of the last place, or a little less to an even value; a NaN must
	// not carry into infinity.
	v := g.tmp()
	a.VMI(asm.VPSRLD, l, u, x, 16)
	a.RVM(asm.VPAND, l, u, u, asm.M(g.bits(4, 1)))
	a.RVM(asm.VPADDD, l, u, u, asm.M(g.bits(4, 0x7fff)))
	a.RVM(asm.VPADDD, l, u, u, asm.V(x))
	a.RVM(asm.VPAND, l, u, u, asm.M(g.bits(4, 0xffff0000)))
	nan := asm.M(g.bits(4, 0x7fc00000))
	if g.wide {
		a.KVM(asm.VCMPPSK, l, 1, x, asm.V(x), cmpUnord)
		a.BlendM(asm.VPBLENDMD, l, out(), 1, u, nan)
		return
	}
	a.RVMI(asm.VCMPPS, l, v, x, asm.V(x), cmpUnord)
	a.RVMR(asm.VBLENDVPS, l, out(), u, nan, v)
}

// floatToInt saturates; NaN gives 0.
func (g *gen) floatToInt(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	switch {
	case to.Size() == 8:
		g.toInt64(from, to, x, out)
	case laneSize(from) == 8:
		g.clampToInt(from, to, x, out)
	case to.Size() < 4:
		g.clampToInt(ir.F32, to, x, out)
	case to == ir.I32:
		g.f32ToI32(x, out)
	default:
		g.f32ToU32(x, out)
	}
}

// zeroNaN returns x with +0 in place of NaN.
func (g *gen) zeroNaN(t ir.DType, x asm.Vec) asm.Vec {
	l, u := g.length(t), g.tmp()
	if g.wide {
		g.a.KVM(pick(t, asm.VCMPPSK, asm.VCMPPDK), l, 1, x, asm.V(x), cmpOrd)
		g.a.Masked(1, true).RVM(pick(t, asm.VPOR, asm.VPORQ), l, u, x, asm.V(x))
		return u
	}
	g.a.RVMI(pick(t, asm.VCMPPS, asm.VCMPPD), l, u, x, asm.V(x), cmpOrd)
	g.a.RVM(asm.VPAND, l, u, u, asm.V(x))
	return u
}

// clampToInt serves ranges whose bounds are exact in the source type.
func (g *gen) clampToInt(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.length(from)
	lo, hi := 0.0, math.Ldexp(1, to.Bits())-1
	if to.Kind() == ir.KindInt {
		lo, hi = -math.Ldexp(1, to.Bits()-1), math.Ldexp(1, to.Bits()-1)-1
	}
	bits := func(f float64) asm.Arg {
		if laneSize(from) == 8 {
			return asm.M(g.bits(8, math.Float64bits(f)))
		}
		return asm.M(g.bits(4, uint64(math.Float32bits(float32(f)))))
	}
	u := g.zeroNaN(from, x)
	a.RVM(pick(from, asm.VMAXPS, asm.VMAXPD), l, u, u, bits(lo))
	a.RVM(pick(from, asm.VMINPS, asm.VMINPD), l, u, u, bits(hi))
	switch {
	case laneSize(from) == 4:
		a.RM(asm.VCVTTPS2DQ, l, out(), asm.V(u))
	case to != ir.U32:
		a.RM(asm.VCVTTPD2DQ, l, out(), asm.V(u))
	case g.wide:
		a.RM(asm.VCVTTPD2UDQ, l, out(), asm.V(u))
	default: // the integer appears in the low bits of 2^52 + u
		a.RMI(asm.VROUNDPD, l, u, asm.V(u), 3|8)
		a.RVM(asm.VADDPD, l, u, u, asm.M(g.bits(8, 0x4330000000000000)))
		g.low32(u, out)
	}
}

func (g *gen) f32ToI32(x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.lengthOf(4)
	u := g.zeroNaN(ir.F32, x)
	v, top := g.tmp(), asm.M(g.bits(4, uint64(math.Float32bits(0x1p31))))
	if g.wide {
		a.KVM(asm.VCMPPSK, l, 1, u, top, cmpGe)
		a.RM(asm.VCVTTPS2DQ, l, u, asm.V(u))
		a.BlendM(asm.VPBLENDMD, l, out(), 1, u, asm.M(g.bits(4, 0x7fffffff)))
		return
	}
	// Out of range gives the least integer; flipped, it is the greatest.
	a.RVMI(asm.VCMPPS, l, v, u, top, cmpGe)
	a.RM(asm.VCVTTPS2DQ, l, u, asm.V(u))
	a.RVM(asm.VPXOR, l, out(), u, asm.V(v))
}

func (g *gen) f32ToU32(x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.lengthOf(4)
	u, z := g.tmp(), g.tmp()
	a.RVM(asm.VPXOR, l, z, z, asm.V(z))
	a.RVM(asm.VMAXPS, l, u, x, asm.V(z)) // NaN and negative values become 0
	if g.wide {
		a.RM(asm.VCVTTPS2UDQ, l, out(), asm.V(u)) // saturates to all ones
		return
	}
	f := func(v float32) asm.Arg { return asm.M(g.bits(4, uint64(math.Float32bits(v)))) }
	big, over := g.tmp(), g.tmp()
	a.RVMI(asm.VCMPPS, l, big, u, f(0x1p31), cmpGe)
	a.RVMI(asm.VCMPPS, l, over, u, f(0x1p32), cmpGe)
	a.RVM(asm.VPAND, l, z, big, f(0x1p31))
	a.RVM(asm.VSUBPS, l, u, u, asm.V(z))
	a.RM(asm.VCVTTPS2DQ, l, u, asm.V(u))
	a.VMI(asm.VPSLLD, l, big, big, 31)
	a.RVM(asm.VPXOR, l, u, u, asm.V(big))
	a.RVM(asm.VPOR, l, out(), u, asm.V(over))
}

func (g *gen) toInt64(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	a, l := g.a, g.lengthOf(8)
	f := func(v float64) asm.Arg { return asm.M(g.bits(8, math.Float64bits(v))) }
	u := g.tmp()
	if laneSize(from) == 4 {
		a.RM(asm.VCVTPS2PD, l, u, asm.V(x))
		x = u
	}
	if to == ir.U64 {
		z := g.tmp()
		a.RVM(asm.VPXOR, l, z, z, asm.V(z))
		a.RVM(asm.VMAXPD, l, u, x, asm.V(z)) // NaN and negative values become 0
		if g.wide {
			a.RM(asm.VCVTTPD2UQQ, l, out(), asm.V(u)) // saturates to all ones
			return
		}
		big := g.tmp()
		a.RVMI(asm.VCMPPD, l, big, u, f(0x1p63), cmpGe)
		a.RVM(asm.VPAND, l, z, big, f(0x1p63))
		a.RVMI(asm.VCMPPD, l, big, u, f(0x1p64), cmpGe)
		a.RVM(asm.VSUBPD, l, u, u, asm.V(z))
		g.truncate64(u)
		// Where 2^63 was taken away, z has just the exponent: all that counts is
		// that its top bit becomes that of the result.
		a.RVMI(asm.VCMPPD, l, z, z, f(0x1p63), cmpEq)
		a.VMI(asm.VPSLLQ, l, z, z, 63)
		a.RVM(asm.VPXOR, l, u, u, asm.V(z))
		a.RVM(asm.VPOR, l, out(), u, asm.V(big))
		return
	}
	u = g.zeroNaN(ir.F64, x)
	if g.wide {
		a.KVM(asm.VCMPPDK, l, 1, u, f(0x1p63), cmpGe)
		a.RM(asm.VCVTTPD2QQ, l, u, asm.V(u))
		a.BlendM(asm.VPBLENDMQ, l, out(), 1, u, asm.M(g.bits(8, 1<<63-1)))
		return
	}
	// Out of range gives the least integer; flipped, it is the greatest.
	v := g.tmp()
	a.RVMI(asm.VCMPPD, l, v, u, f(0x1p63), cmpGe)
	g.truncate64(u)
	a.RVM(asm.VPXOR, l, out(), u, asm.V(v))
}

// truncate64 converts f64 lanes to i64 one by one, AVX2 only; what is out of
// range gives the least integer.
func (g *gen) truncate64(u asm.Vec) {
	a := g.a
	s := g.tmp()
	a.MR(asm.VMOVUPSST, asm.L256, asm.M(g.lane), u)
	for i := range int32(g.n) {
		a.RM(asm.VMOVSD, asm.L128, s, asm.M(lane(g.lane, i, 8)))
		a.GM(asm.VCVTTSD2SI, asm.L128, rTmp, s)
		a.Store(lane(g.lane, i, 8), rTmp)
	}
	a.RM(asm.VMOVUPS, asm.L256, u, asm.M(g.lane))
}

// int64ToFloat converts lane by lane, AVX2 only. An unsigned value that exceeds
// the signed range is halved, its lost bit kept sticky, and the result doubled.
func (g *gen) int64ToFloat(from, to ir.DType, x asm.Vec, out func() asm.Vec) {
	a := g.a
	s := g.tmp()
	size := int32(laneSize(to))
	a.MR(asm.VMOVUPSST, asm.L256, asm.M(g.lane), x)
	for i := range int32(g.n) {
		a.Load(rTmp, lane(g.lane, i, 8))
		a.RVM(asm.VPXOR, asm.L128, s, s, asm.V(s))
		convert := func() { a.RVM(pick(to, asm.VCVTSI2SS, asm.VCVTSI2SD), asm.L128, s, s, asm.G(rTmp)) }
		small, done := a.NewLabel(), a.NewLabel()
		if from == ir.U64 {
			a.AluImm(asm.CMP, rTmp, 0)
			a.Jcc(asm.GreatEq, small)
			a.Mov(rTmp2, rTmp)
			a.ShiftImm(asm.SHR, rTmp, 1)
			a.AluImm(asm.AND, rTmp2, 1)
			a.Alu(asm.OR, rTmp, rTmp2)
			convert()
			a.RVM(pick(to, asm.VADDPS, asm.VADDPD), asm.L128, s, s, asm.V(s))
			a.Jmp(done)
		}
		a.Bind(small)
		convert()
		a.Bind(done)
		a.MR(pick(to, asm.VMOVSSST, asm.VMOVSDST), asm.L128, asm.M(lane(g.laneB, i, size)), s)
	}
	a.RM(asm.VMOVUPS, g.length(to), out(), asm.M(g.laneB))
}
