package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// classOf is the register class that holds a value of type t. Narrow integers
// stand extended to 32 bits by their signedness; bool is a predicate.
func classOf(t ir.DType) class {
	switch t {
	case ir.Bool:
		return pred
	case ir.F16, ir.BF16:
		return b16
	case ir.I64, ir.U64, ir.F64:
		return b64
	default:
		return b32
	}
}

// suffix is the PTX type of arithmetic on a compute type.
func suffix(t ir.DType) string {
	switch t {
	case ir.F32:
		return ".f32"
	case ir.F64:
		return ".f64"
	case ir.I64:
		return ".s64"
	case ir.U64:
		return ".u64"
	case ir.U8, ir.U16, ir.U32:
		return ".u32"
	default:
		return ".s32"
	}
}

func bitType(t ir.DType) string { return classType[classOf(t)] }

// arith emits a binary operation on a compute type.
func (a *asm) arith(op kernel.Op, t ir.DType, x, y reg) (reg, error) {
	c, s := classOf(t), suffix(t)
	float := t.IsFloat()
	rn := ""
	if float {
		rn = ".rn"
	}
	switch op {
	case kernel.OpAdd:
		return a.to(c, "add"+rn+s, x, y), nil
	case kernel.OpSub:
		return a.to(c, "sub"+rn+s, x, y), nil
	case kernel.OpMul:
		if float {
			return a.to(c, "mul.rn"+s, x, y), nil
		}
		return a.to(c, "mul.lo"+s, x, y), nil
	case kernel.OpMulHi:
		return a.to(c, "mul.hi"+s, x, y), nil
	case kernel.OpMin, kernel.OpMax:
		return a.minmax(op == kernel.OpMax, t, x, y), nil
	case kernel.OpAnd, kernel.OpOr, kernel.OpXor:
		return a.to(c, op.String()+bitType(t), x, y), nil
	case kernel.OpShl, kernel.OpShr:
		return a.shift(op, t, x, y), nil
	case kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe:
		return reg(""), fmt.Errorf("comparison in arith")
	}
	return "", fmt.Errorf("%s on %s", op, t)
}

// minmax propagates NaN and orders -0 below +0. The f32 instruction does both
// with .NaN; there is none for f64, where equal operands differ at most in the
// sign of zero, which one bit operation settles.
func (a *asm) minmax(greatest bool, t ir.DType, x, y reg) reg {
	name, cmp, bitop := "min", "lt", "or"
	if greatest {
		name, cmp, bitop = "max", "gt", "and"
	}
	switch t {
	case ir.Bool:
		return a.to(pred, bitopFor(greatest)+".pred", x, y)
	case ir.F32:
		return a.to(b32, name+".NaN.f32", x, y)
	case ir.F64:
		p := a.to(pred, "setp."+cmp+".f64", x, y)
		r := a.to(b64, "selp.b64", x, y, p)
		same := a.to(pred, "setp.eq.f64", x, y)
		r = a.to(b64, "selp.b64", a.to(b64, bitop+".b64", x, y), r, same)
		nan := a.to(pred, "setp.nan.f64", x, y)
		return a.to(b64, "selp.b64", a.constant(b64, 0x7ff8000000000000), r, nan)
	default:
		return a.to(classOf(t), name+suffix(t), x, y)
	}
}

func bitopFor(greatest bool) string {
	if greatest {
		return "or"
	}
	return "and"
}

// shift relies on PTX clamping counts at the width. Its count is 32 bits wide,
// so 64-bit counts are clamped first.
func (a *asm) shift(op kernel.Op, t ir.DType, x, count reg) reg {
	if classOf(t) == b64 {
		count = a.to(b32, "cvt.u32.u64", a.to(b64, "min.u64", count, "64"))
	}
	if op == kernel.OpShl {
		return a.to(classOf(t), "shl"+bitType(t), x, count)
	}
	return a.to(classOf(t), "shr"+suffix(t), x, count)
}

// compare emits a comparison of two values of type t.
func (a *asm) compare(op kernel.Op, t ir.DType, x, y reg) (reg, error) {
	if t == ir.Bool {
		switch op {
		case kernel.OpNe:
			return a.to(pred, "xor.pred", x, y), nil
		case kernel.OpEq:
			return a.to(pred, "not.pred", a.to(pred, "xor.pred", x, y)), nil
		case kernel.OpLt:
			return a.to(pred, "and.pred", a.to(pred, "not.pred", x), y), nil
		default:
			return a.to(pred, "or.pred", a.to(pred, "not.pred", x), y), nil
		}
	}
	if t == ir.F16 || t == ir.BF16 {
		return "", fmt.Errorf("%s on %s", op, t)
	}
	name := op.String()
	if op == kernel.OpNe && t.IsFloat() {
		name = "neu" // true when either is NaN
	}
	return a.to(pred, "setp."+name+suffix(t), x, y), nil
}

// choose emits p ? x : y.
func (a *asm) choose(t ir.DType, p, x, y reg) reg {
	if t == ir.Bool {
		yes := a.to(pred, "and.pred", p, x)
		no := a.to(pred, "and.pred", a.to(pred, "not.pred", p), y)
		return a.to(pred, "or.pred", yes, no)
	}
	return a.to(classOf(t), "selp"+bitType(t), x, y, p)
}

// unary emits the operations of one operand on a compute type.
func (a *asm) unary(op kernel.Op, t ir.DType, x reg) (reg, error) {
	c := classOf(t)
	sign := uint64(1) << 31
	if c == b64 {
		sign = 1 << 63
	}
	switch op {
	case kernel.OpNeg:
		if t.IsFloat() {
			return a.to(c, "xor"+bitType(t), x, a.constant(c, sign)), nil
		}
		return a.to(c, "sub"+suffix(t), a.constant(c, 0), x), nil
	case kernel.OpAbs:
		switch {
		case t.IsFloat():
			return a.to(c, "and"+bitType(t), x, a.constant(c, sign-1)), nil
		case t.Kind() == ir.KindUint:
			return x, nil
		}
		m := a.to(c, "shr"+suffix(t), x, fmt.Sprint(t.Bits()-1))
		return a.to(c, "sub"+suffix(t), a.to(c, "xor"+bitType(t), x, m), m), nil
	case kernel.OpSqrt:
		return a.to(c, "sqrt.rn"+suffix(t), x), nil
	case kernel.OpFloor:
		return a.to(c, "cvt.rmi"+suffix(t)+suffix(t), x), nil
	case kernel.OpCeil:
		return a.to(c, "cvt.rpi"+suffix(t)+suffix(t), x), nil
	case kernel.OpTrunc:
		return a.to(c, "cvt.rzi"+suffix(t)+suffix(t), x), nil
	case kernel.OpRint:
		return a.to(c, "cvt.rni"+suffix(t)+suffix(t), x), nil
	case kernel.OpNot:
		return a.to(c, "not"+bitType(t), x), nil
	}
	return "", fmt.Errorf("%s on %s", op, t)
}

// divide emits integer quotient or remainder with every case defined: zero
// divisors give 0, and the minimum divided by -1 wraps. The hardware's own
// answers to both are not specified, so the divisor is replaced by 1 there.
// It also returns the predicate "divisor is zero".
func (a *asm) divide(op kernel.Op, t ir.DType, x, y reg) (r, zero reg) {
	c, s := classOf(t), suffix(t)
	one, none := a.constant(c, 1), a.constant(c, 0)
	zero = a.to(pred, "setp.eq"+s, y, none)
	d := a.to(c, "selp"+bitType(t), one, y, zero)
	var minus reg
	if t.Kind() == ir.KindInt {
		minus = a.to(pred, "setp.eq"+s, y, "-1")
		d = a.to(c, "selp"+bitType(t), one, d, minus)
	}
	if op == kernel.OpRem {
		return a.to(c, "rem"+s, x, d), zero // x rem 1 is the 0 wanted in both cases
	}
	r = a.to(c, "div"+s, x, d)
	if minus != "" {
		r = a.to(c, "selp"+bitType(t), a.to(c, "sub"+s, none, x), r, minus)
	}
	return a.to(c, "selp"+bitType(t), none, r, zero), zero
}
