package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// convert emits a conversion by value. Integers wrap; floats saturate on the
// way to integers, NaN becoming 0; bool is "not zero" one way, 0 or 1 the other.
func (a *asm) convert(from, to ir.DType, x reg) (reg, error) {
	switch {
	case from == to:
		return x, nil
	case to == ir.Bool:
		return a.toBool(from, x)
	case from == ir.Bool:
		if classOf(to) == b64 && !to.IsFloat() {
			return a.to(b64, "selp.b64", "1", "0", x), nil
		}
		if to.IsInt() {
			return a.to(b32, "selp.b32", "1", "0", x), nil
		}
		return a.to(classOf(to), "selp"+bitType(to), one(to), "0", x), nil
	case from.IsFloat() && to.IsFloat():
		return a.floatToFloat(from, to, x)
	case from.IsFloat():
		return a.floatToInt(from, to, x)
	case to.IsFloat():
		return a.intToFloat(from, to, x)
	default:
		return a.intToInt(from, to, x), nil
	}
}

// one is the bit pattern of 1 in a float type.
func one(t ir.DType) string {
	switch t {
	case ir.F16:
		return "0x3c00"
	case ir.BF16:
		return "0x3f80"
	case ir.F64:
		return "0x3ff0000000000000"
	default:
		return "0x3f800000"
	}
}

func (a *asm) toBool(from ir.DType, x reg) (reg, error) {
	switch from {
	case ir.F16, ir.BF16:
		w, err := a.floatToFloat(from, ir.F32, x)
		if err != nil {
			return "", err
		}
		return a.to(pred, "setp.neu.f32", w, a.constant(b32, 0)), nil
	case ir.F32, ir.F64:
		return a.to(pred, "setp.neu"+suffix(from), x, a.constant(classOf(from), 0)), nil
	default:
		return a.to(pred, "setp.ne"+suffix(from), x, a.constant(classOf(from), 0)), nil
	}
}

func (a *asm) floatToFloat(from, to ir.DType, x reg) (reg, error) {
	switch {
	case from == to:
		return x, nil
	case from == ir.F32 && to == ir.F64:
		return a.to(b64, "cvt.f64.f32", x), nil
	case from == ir.F64 && to == ir.F32:
		return a.to(b32, "cvt.rn.f32.f64", x), nil
	case from == ir.F32 && to == ir.F16:
		return a.to(b16, "cvt.rn.f16.f32", x), nil
	case from == ir.F32 && to == ir.BF16:
		return a.to(b16, "cvt.rn.bf16.f32", x), nil
	case from == ir.F16 && to == ir.F32:
		return a.to(b32, "cvt.f32.f16", x), nil
	case from == ir.BF16 && to == ir.F32:
		return a.to(b32, "shl.b32", a.to(b32, "cvt.u32.u16", x), "16"), nil
	case from == ir.F64 && (to == ir.F16 || to == ir.BF16):
		return a.floatToFloat(ir.F32, to, a.roundToOdd(x))
	}
	// Half to half and half to f64: f32 holds every half value exactly.
	w, err := a.floatToFloat(from, ir.F32, x)
	if err != nil {
		return "", err
	}
	return a.floatToFloat(ir.F32, to, w)
}

// roundToOdd narrows f64 to f32 so that a second rounding to a type at least
// two bits shorter equals a single one: truncate, then set the last bit if
// anything was lost. NaN and infinity pass through unharmed.
func (a *asm) roundToOdd(x reg) reg {
	t := a.to(b32, "cvt.rz.f32.f64", x)
	back := a.to(b64, "cvt.f64.f32", t)
	lost := a.to(pred, "setp.ne.f64", back, x)
	return a.to(b32, "selp.b32", a.to(b32, "or.b32", t, "1"), t, lost)
}

// floatToInt: the hardware clamps but turns NaN into the minimum for some
// widths, so NaN is selected away; targets below 32 bits are clamped after.
func (a *asm) floatToInt(from, to ir.DType, x reg) (reg, error) {
	if from == ir.F16 || from == ir.BF16 {
		w, err := a.floatToFloat(from, ir.F32, x)
		if err != nil {
			return "", err
		}
		from, x = ir.F32, w
	}
	c := classOf(to)
	r := a.to(c, "cvt.rzi"+suffix(to)+suffix(from), x)
	nan := a.to(pred, "setp.nan"+suffix(from), x, x)
	r = a.to(c, "selp"+bitType(to), a.constant(c, 0), r, nan)
	switch to {
	case ir.I8:
		r = a.to(b32, "max.s32", a.to(b32, "min.s32", r, "127"), "-128")
	case ir.I16:
		r = a.to(b32, "max.s32", a.to(b32, "min.s32", r, "32767"), "-32768")
	case ir.U8:
		r = a.to(b32, "min.u32", r, "255")
	case ir.U16:
		r = a.to(b32, "min.u32", r, "65535")
	}
	return r, nil
}

func (a *asm) intToFloat(from, to ir.DType, x reg) (reg, error) {
	if b, ok := a.bytes[x]; ok && from.Size() == 1 && to != ir.F64 { // else its sign is part of a larger number
		return a.floatToFloat(ir.F32, to, a.byteToFloat(b))
	}
	switch to {
	case ir.F32, ir.F64:
		return a.to(classOf(to), "cvt.rn"+suffix(to)+suffix(from), x), nil
	case ir.F16, ir.BF16:
		// By way of f64, exact or rounded to odd, so that one rounding is left.
		if from.Size() <= 2 {
			return a.floatToFloat(ir.F32, to, a.to(b32, "cvt.rn.f32"+suffix(from), x))
		}
		if from.Size() == 4 {
			return a.floatToFloat(ir.F64, to, a.to(b64, "cvt.rn.f64"+suffix(from), x))
		}
		w := a.to(b64, "cvt.rz.f64"+suffix(from), x)
		back := a.to(b64, "cvt.rzi"+suffix(from)+".f64", w)
		lost := a.to(pred, "setp.ne.s64", back, x)
		w = a.to(b64, "selp.b64", a.to(b64, "or.b64", w, "1"), w, lost)
		return a.floatToFloat(ir.F64, to, w)
	}
	return "", fmt.Errorf("conversion from %s to %s", from, to)
}

func (a *asm) intToInt(from, to ir.DType, x reg) reg {
	if classOf(from) == b64 {
		if classOf(to) == b64 {
			return x
		}
		x = a.to(b32, "cvt.u32.u64", x)
	} else if classOf(to) == b64 {
		if from.Kind() == ir.KindInt {
			return a.to(b64, "cvt.s64.s32", x)
		}
		return a.to(b64, "cvt.u64.u32", x)
	}
	return a.narrow(to, x)
}

// narrow wraps a 32-bit register into the container form of an integer type.
func (a *asm) narrow(to ir.DType, x reg) reg {
	switch to {
	case ir.I8, ir.I16:
		n := fmt.Sprint(32 - to.Bits())
		return a.to(b32, "shr.s32", a.to(b32, "shl.b32", x, n), n)
	case ir.U8:
		return a.to(b32, "and.b32", x, "0xff")
	case ir.U16:
		return a.to(b32, "and.b32", x, "0xffff")
	}
	return x
}

// bitcast keeps the bits; only half floats live in a class of their own.
func (a *asm) bitcast(from, to ir.DType, x reg) (reg, error) {
	if from == ir.Bool || to == ir.Bool {
		return "", fmt.Errorf("bitcast from %s to %s", from, to)
	}
	cf, ct := classOf(from), classOf(to)
	switch {
	case cf == b16 && ct == b32:
		return a.narrow(to, a.to(b32, "cvt.u32.u16", x)), nil
	case cf == b32 && ct == b16:
		return a.to(b16, "cvt.u16.u32", x), nil
	case from.Size() < 4 && ct == b32:
		return a.narrow(to, x), nil
	}
	return x, nil
}
