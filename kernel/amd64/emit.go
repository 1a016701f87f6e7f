package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// run emits a straight-line program.
func (g *gen) run(prog []step) {
	g.begin(prog)
	for i := 0; i < len(prog); {
		if n := g.rareRun(prog[i:]); n > 0 {
			g.rare(prog[i : i+n])
			i += n
			continue
		}
		g.step(prog[i])
		i++
	}
}

// step emits one step of a program.
func (g *gen) step(s step) {
	v := g.value(s.ref, s.copy)
	switch s.kind {
	case keep:
		m := g.alloc.mem[v]
		delete(g.alloc.mem, v) // not valid before this store
		r := g.reg(v)
		g.alloc.mem[v] = m
		g.a.MR(asm.VMOVUPSST, g.length(g.typeOf(v)), asm.M(m), r)
	case save:
		r := g.reg(v)
		g.a.MR(asm.VMOVUPSST, g.length(g.typeOf(v)), asm.M(g.rowBuffer(s)), r)
	case restore:
		m := g.rowBuffer(s)
		g.a.RM(asm.VMOVUPS, g.length(g.typeOf(v)), g.define(v), asm.M(m))
	default:
		g.instr(s)
	}
	g.done()
}

// instr emits one instruction for one copy.
func (g *gen) instr(s step) {
	in := &g.k.Body[s.ref]
	var ops []val
	in.Operands(func(r kernel.Ref) { ops = append(ops, g.value(r, s.copy)) })
	switch in.Op {
	case kernel.OpLoad:
		g.load(int(in.Imm), s.copy, g.define(g.value(s.ref, s.copy)))
		return
	case kernel.OpGather:
		g.gather(int(in.Imm), s.copy, g.reg(ops[0]), g.own[s.ref])
		g.release(ops...)
		g.loadVector(in.Type, g.lane, g.define(g.value(s.ref, s.copy)), false)
		return
	case kernel.OpIndex:
		g.index(int(in.Imm), s.copy, g.define(g.value(s.ref, s.copy)))
		return
	case kernel.OpStore:
		if g.storeFirst(in) {
			return
		}
		g.store(int(in.Imm), s.copy, g.reg(ops[0]), g.own[s.ref])
		return
	case kernel.OpReduce:
		g.accumulate(s, in, ops)
		return
	case kernel.OpScan:
		if g.byRows {
			g.a.MR(asm.VMOVUPSST, g.length(in.Type), asm.M(g.rowBuffer(s)), g.reg(ops[0]))
			return
		}
		g.scanStep(in, ops[0], g.value(s.ref, s.copy))
		return
	}
	dst := g.value(s.ref, s.copy)
	if g.faulty(in) {
		g.divide64(in.Op, in.Type, g.reg(ops[0]), g.reg(ops[1]), g.own[s.ref])
		g.release(ops...)
		g.a.RM(asm.VMOVUPS, g.length(in.Type), g.define(dst), asm.M(g.lane))
		return
	}
	switch in.Op {
	case kernel.OpFma:
		g.fma(in.Type, dst, ops, pick(in.Type, asm.VFMADD231PS, asm.VFMADD231PD), pick(in.Type, asm.VFMADD213PS, asm.VFMADD213PD))
	case opFnma:
		g.fma(in.Type, dst, ops, pick(in.Type, asm.VFNMADD231PS, asm.VFNMADD231PD), pick(in.Type, asm.VFNMADD213PS, asm.VFNMADD213PD))
	case opLogic:
		g.logic(in, dst, ops)
	case opAtLeast0:
		x, zero, l := g.reg(ops[0]), g.tmp(), g.length(in.Type)
		g.a.RVM(asm.VPXOR, l, zero, zero, asm.V(zero))
		greater := g.tmp()
		g.release(ops...)
		g.a.RVM(pick(in.Type, asm.VMAXPS, asm.VMAXPD), l, greater, zero, asm.V(x)) // NaN and -0 stay
		g.a.RVM(pick(in.Type, asm.VADDPS, asm.VADDPD), l, g.define(dst), greater, asm.V(zero))
	case kernel.OpCvt:
		x := g.reg(ops[0])
		g.convert(g.k.Body[in.A].Type, in.Type, x, func() asm.Vec {
			g.release(ops...)
			return g.define(dst)
		})
	case kernel.OpSelect:
		out := func() asm.Vec {
			g.release(ops...)
			return g.define(dst)
		}
		if k, ok := g.preds[ops[0]]; ok {
			c, b := g.reg(ops[2]), g.arg(ops[1])
			g.a.BlendM(pick(in.Type, asm.VPBLENDMD, asm.VPBLENDMQ), g.length(in.Type), out(), k, c, b)
			return
		}
		m, c := g.reg(ops[0]), g.reg(ops[2])
		g.choose(in.Type, m, g.arg(ops[1]), c, out)
	default:
		x := g.reg(ops[0])
		y := asm.V(x)
		if len(ops) == 2 {
			y = g.arg(ops[1])
		}
		if in.Type == ir.Bool && g.masks[dst] && g.comparePred(in.Op, g.k.Body[in.A].Type, x, y, dst) {
			return
		}
		g.arith(in.Op, g.k.Body[in.A].Type, x, y, func() asm.Vec {
			g.release(ops...)
			return g.define(dst)
		})
	}
}

// pick returns the single or double precision, or 32- or 64-bit, form.
func pick(t ir.DType, o32, o64 asm.Op) asm.Op {
	if laneSize(t) == 8 {
		return o64
	}
	return o32
}

// inReg brings an operand into a register.
func (g *gen) inReg(l asm.Len, y asm.Arg) asm.Vec {
	if !y.IsMem() {
		return y.Vec()
	}
	t := g.tmp()
	g.a.RM(asm.VMOVUPS, l, t, y)
	return t
}

// fma emits a fused product and sum in the form that adds to its destination, or in
// the one that multiplies it.
func (g *gen) fma(t ir.DType, dst val, ops []val, adds, multiplies asm.Op) {
	l := g.length(t)
	a, b, c := ops[0], ops[1], ops[2]
	overwrite := func(v val) asm.Vec { // v's register becomes the result
		r := asm.Vec(g.where[v])
		g.forget(int(r))
		g.hold(r, dst)
		return r
	}
	distinct := a != b && b != c && a != c
	switch {
	case g.dies(c) && c != a && c != b:
		x, y := g.reg(a), g.arg(b)
		g.lock[g.where[c]] = true
		g.a.RVM(adds, l, overwrite(c), x, y)
	case g.dies(a) && distinct:
		g.lock[g.where[a]] = true
		x, y := g.reg(b), g.arg(c)
		g.a.RVM(multiplies, l, overwrite(a), x, y)
	case g.dies(b) && distinct:
		g.lock[g.where[b]] = true
		x, y := g.reg(a), g.arg(c)
		g.a.RVM(multiplies, l, overwrite(b), x, y)
	default:
		x, y, z := g.reg(a), g.reg(b), g.arg(c)
		r := g.define(dst)
		g.a.RM(asm.VMOVUPS, l, r, z)
		g.a.RVM(adds, l, r, x, asm.V(y))
	}
}

// logic emits an operation by bits of three operands, which overwrites the first.
func (g *gen) logic(in *kernel.Instr, dst val, ops []val) {
	l := g.length(in.Type)
	x, y, z := g.reg(ops[0]), g.reg(ops[1]), g.arg(ops[2])
	r := x
	if g.dies(ops[0]) && ops[0] != ops[1] && ops[0] != ops[2] {
		g.forget(int(x))
		g.hold(x, dst)
	} else {
		r = g.define(dst)
		g.a.RM(asm.VMOVUPS, l, r, asm.V(x))
	}
	g.a.RVMI(asm.VPTERNLOGD, l, r, y, z, uint8(in.Imm))
}

// choose emits m ? b : c.
func (g *gen) choose(t ir.DType, m asm.Vec, b asm.Arg, c asm.Vec, out func() asm.Vec) {
	l := g.length(t)
	if g.wide {
		g.a.KR(asm.VPMOVD2M, g.lengthOf(4), 1, m)
		g.a.BlendM(pick(t, asm.VPBLENDMD, asm.VPBLENDMQ), l, out(), 1, c, b)
		return
	}
	if laneSize(t) == 8 {
		q := g.tmp()
		g.a.RM(asm.VPMOVSXDQ, l, q, asm.V(m))
		m = q
	}
	g.a.RVMR(pick(t, asm.VBLENDVPS, asm.VBLENDVPD), l, out(), c, b, m)
}

// arith emits an arithmetic instruction or comparison on operands of type t.
// out names the result's register; it is called when the operands are about to
// be read for the last time.
func (g *gen) arith(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, out func() asm.Vec) {
	a, l := g.a, g.length(t)
	if t.IsFloat() && g.floatOp(op, t, x, y, out) {
		return
	}
	rvm := func(o asm.Op) { a.RVM(o, l, out(), x, y) }
	wide := laneSize(t) == 8
	signed := t.Kind() == ir.KindInt
	switch op {
	case kernel.OpAdd:
		rvm(pick(t, asm.VPADDD, asm.VPADDQ))
	case kernel.OpSub:
		rvm(pick(t, asm.VPSUBD, asm.VPSUBQ))
	case kernel.OpMul:
		if !wide {
			rvm(asm.VPMULLD)
		} else if g.wide {
			rvm(asm.VPMULLQ)
		} else {
			g.mul64(x, g.inReg(l, y), out)
		}
	case kernel.OpMulHi:
		yr := g.inReg(l, y)
		u, w, v := g.tmp(), g.tmp(), g.tmp()
		a.RVM(asm.VPMULUDQ, l, u, x, asm.V(yr))
		a.VMI(asm.VPSRLQ, l, u, u, 32)
		a.VMI(asm.VPSRLQ, l, w, x, 32)
		a.VMI(asm.VPSRLQ, l, v, yr, 32)
		a.RVM(asm.VPMULUDQ, l, w, w, asm.V(v))
		a.RVM(asm.VPAND, l, w, w, asm.M(g.evenOdd()))
		a.RVM(asm.VPOR, l, out(), u, asm.V(w))
	case kernel.OpNeg:
		z := g.tmp()
		a.RVM(asm.VPXOR, l, z, z, asm.V(z))
		a.RVM(pick(t, asm.VPSUBD, asm.VPSUBQ), l, out(), z, asm.V(x))
	case kernel.OpAbs:
		switch {
		case !signed:
			a.RM(asm.VMOVUPS, l, out(), asm.V(x))
		case !wide:
			a.RM(asm.VPABSD, l, out(), asm.V(x))
		case g.wide:
			a.RM(asm.VPABSQ, l, out(), asm.V(x))
		default:
			s, z := g.sign64(x), g.tmp()
			a.RVM(asm.VPXOR, l, z, x, asm.V(s))
			a.RVM(asm.VPSUBQ, l, out(), z, asm.V(s))
		}
	case kernel.OpMin, kernel.OpMax:
		g.minMaxInt(op, t, x, y, out)
	case kernel.OpAnd:
		rvm(asm.VPAND)
	case kernel.OpOr:
		rvm(asm.VPOR)
	case kernel.OpXor:
		rvm(asm.VPXOR)
	case kernel.OpNot:
		a.RVM(asm.VPXOR, l, out(), x, asm.M(g.ones(t)))
	case kernel.OpShl:
		rvm(pick(t, asm.VPSLLVD, asm.VPSLLVQ))
	case kernel.OpShr:
		switch {
		case !signed:
			rvm(pick(t, asm.VPSRLVD, asm.VPSRLVQ))
		case !wide:
			rvm(asm.VPSRAVD)
		case g.wide:
			rvm(asm.VPSRAVQ)
		default: // flip negative values, shift in zeros, flip back
			s, z := g.sign64(x), g.tmp()
			a.RVM(asm.VPXOR, l, z, x, asm.V(s))
			a.RVM(asm.VPSRLVQ, l, z, z, y)
			a.RVM(asm.VPXOR, l, out(), z, asm.V(s))
		}
	case kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe:
		if t == ir.Bool {
			g.compareBool(op, x, y, out)
		} else {
			g.compareInt(op, t, x, y, out)
		}
	default:
		refuse("instruction %s on %s", op, t)
	}
}

// evenOdd selects the upper half of every pair of 32-bit lanes.
func (g *gen) evenOdd() asm.Mem {
	b := make([]byte, g.n*4)
	for i := range b {
		if i%8 >= 4 {
			b[i] = 0xff
		}
	}
	return g.a.Const(b)
}

// sign64 returns all ones in negative 64-bit lanes.
func (g *gen) sign64(x asm.Vec) asm.Vec {
	s := g.tmp()
	g.a.RVM(asm.VPXOR, asm.L256, s, s, asm.V(s))
	g.a.RVM(asm.VPCMPGTQ, asm.L256, s, s, asm.V(x))
	return s
}

// mul64 multiplies 64-bit lanes by 32-bit products.
func (g *gen) mul64(x, y asm.Vec, out func() asm.Vec) {
	a, l := g.a, asm.L256
	u, v := g.tmp(), g.tmp()
	a.VMI(asm.VPSRLQ, l, u, x, 32)
	a.RVM(asm.VPMULUDQ, l, u, u, asm.V(y))
	a.VMI(asm.VPSRLQ, l, v, y, 32)
	a.RVM(asm.VPMULUDQ, l, v, v, asm.V(x))
	a.RVM(asm.VPADDQ, l, u, u, asm.V(v))
	a.VMI(asm.VPSLLQ, l, u, u, 32)
	a.RVM(asm.VPMULUDQ, l, v, x, asm.V(y))
	a.RVM(asm.VPADDQ, l, out(), u, asm.V(v))
}

func (g *gen) minMaxInt(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, out func() asm.Vec) {
	a, l := g.a, g.length(t)
	signed := t.Kind() == ir.KindInt
	least := op == kernel.OpMin
	if laneSize(t) == 4 || g.wide {
		o := [2][2][2]asm.Op{
			{{asm.VPMAXUD, asm.VPMAXSD}, {asm.VPMINUD, asm.VPMINSD}},
			{{asm.VPMAXUQ, asm.VPMAXSQ}, {asm.VPMINUQ, asm.VPMINSQ}},
		}[b2i(laneSize(t) == 8)][b2i(least)][b2i(signed)]
		a.RVM(o, l, out(), x, y)
		return
	}
	yr := g.inReg(l, y)
	m := g.greater64(x, yr, signed)
	if least {
		a.RVMR(asm.VBLENDVPD, l, out(), x, asm.V(yr), m)
	} else {
		a.RVMR(asm.VBLENDVPD, l, out(), yr, asm.V(x), m)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// greater64 compares 64-bit lanes without EVEX.
func (g *gen) greater64(x, y asm.Vec, signed bool) asm.Vec {
	a, l, m := g.a, asm.L256, g.tmp()
	if signed {
		a.RVM(asm.VPCMPGTQ, l, m, x, asm.V(y))
		return m
	}
	u, top := g.tmp(), asm.M(g.bits(8, 1<<63))
	a.RVM(asm.VPXOR, l, m, x, top)
	a.RVM(asm.VPXOR, l, u, y, top)
	a.RVM(asm.VPCMPGTQ, l, m, m, asm.V(u))
	return m
}

// fromK turns a predicate into the lanes of a bool.
func (g *gen) fromK(k asm.Mask, out func() asm.Vec) {
	g.a.RK(asm.VPMOVM2D, g.lengthOf(4), out(), k)
}

// fromWide narrows a mask of 64-bit lanes to one of 32-bit lanes, AVX2 only.
func (g *gen) fromWide(m asm.Vec, out func() asm.Vec) {
	u := g.tmp()
	g.a.MRI(asm.VEXTRACTF128, asm.L256, asm.V(u), m, 1)
	g.a.RVMI(asm.VSHUFPS, asm.L128, out(), m, asm.V(u), 0x88)
}

func (g *gen) compareBool(op kernel.Op, x asm.Vec, y asm.Arg, out func() asm.Vec) {
	a, l := g.a, g.lengthOf(4)
	ones := asm.M(g.bits(4, 0xffffffff))
	u := g.tmp()
	switch op {
	case kernel.OpNe:
		a.RVM(asm.VPXOR, l, out(), x, y)
	case kernel.OpEq:
		a.RVM(asm.VPXOR, l, u, x, y)
		a.RVM(asm.VPXOR, l, out(), u, ones)
	case kernel.OpLt:
		a.RVM(asm.VPANDN, l, out(), x, y)
	default:
		a.RVM(asm.VPXOR, l, u, x, ones)
		a.RVM(asm.VPOR, l, out(), u, y)
	}
}

// comparePred compares into a predicate register that the result lives in.
func (g *gen) comparePred(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, dst val) bool {
	if t == ir.Bool || op < kernel.OpEq || op > kernel.OpLe {
		return false
	}
	k, ok := g.predicate(dst)
	if !ok {
		return false
	}
	g.compareK(op, t, x, y, k)
	return true
}

// compareK compares into a predicate.
func (g *gen) compareK(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, k asm.Mask) {
	o, imm := asm.Op(0), 0
	switch {
	case t.IsFloat():
		o = pick(t, asm.VCMPPSK, asm.VCMPPDK)
		imm = [...]int{cmpEq, cmpNe, cmpLt, cmpLe}[op-kernel.OpEq]
	default:
		o = pick(t, asm.VPCMPUDK, asm.VPCMPUQK)
		if t.Kind() == ir.KindInt {
			o = pick(t, asm.VPCMPDK, asm.VPCMPQK)
		}
		imm = [...]int{0, 4, 1, 2}[op-kernel.OpEq]
	}
	g.a.KVM(o, g.length(t), k, x, y, imm)
}

func (g *gen) compareInt(op kernel.Op, t ir.DType, x asm.Vec, y asm.Arg, out func() asm.Vec) {
	a, l := g.a, g.length(t)
	signed := t.Kind() == ir.KindInt
	if g.wide {
		g.compareK(op, t, x, y, 1)
		g.fromK(1, out)
		return
	}
	yr := g.inReg(l, y)
	m := asm.Vec(0)
	invert := op == kernel.OpNe || op == kernel.OpLe
	switch {
	case op == kernel.OpEq || op == kernel.OpNe:
		m = g.tmp()
		a.RVM(pick(t, asm.VPCMPEQD, asm.VPCMPEQQ), l, m, x, asm.V(yr))
	case op == kernel.OpLt: // y > x
		x, yr = yr, x
		fallthrough
	default: // x <= y: not x > y
		if laneSize(t) == 8 {
			m = g.greater64(x, yr, signed)
			break
		}
		m = g.tmp()
		if signed {
			a.RVM(asm.VPCMPGTD, l, m, x, asm.V(yr))
			break
		}
		u, top := g.tmp(), asm.M(g.bits(4, 1<<31))
		a.RVM(asm.VPXOR, l, m, x, top)
		a.RVM(asm.VPXOR, l, u, yr, top)
		a.RVM(asm.VPCMPGTD, l, m, m, asm.V(u))
	}
	if invert {
		a.RVM(asm.VPXOR, l, m, m, asm.M(g.ones(t)))
	}
	g.narrowMask(t, m, out)
}

// narrowMask gives a comparison mask of AVX2 the lanes of a bool.
func (g *gen) narrowMask(t ir.DType, m asm.Vec, out func() asm.Vec) {
	if laneSize(t) == 8 {
		g.fromWide(m, out)
	} else {
		g.a.RM(asm.VMOVUPS, g.lengthOf(4), out(), asm.V(m))
	}
}
