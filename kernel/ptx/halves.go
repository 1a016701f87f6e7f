package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Rows of bf16 and f16 compute in f32 and round once. Where all of a row is one addition,
// subtraction or multiplication of values of the type itself, the instruction of that type
// has the same bits: f32 has more than twice its digits and two, so that rounding to f32
// first changes nothing (24 ≥ 2·11+2), at subnormal numbers neither, where products have at
// most as many digits as f32 keeps there. Two neighbours are computed by one instruction.

// halfOp is a conversion to a half type that needs no f32: an operation on operands of the
// type, which are values of it or constants.
type halfOp struct {
	op   kernel.Op
	a, b kernel.Ref
}

// halvesOf finds the half operations of a kernel. Those of bf16 want sm_90, but for the
// ones that move bits alone.
func halvesOf(k *kernel.Kernel, t Target) map[kernel.Ref]halfOp {
	out := map[kernel.Ref]halfOp{}
	for i := range k.Body {
		in := &k.Body[i]
		if in.Op != kernel.OpCvt || in.Type != ir.BF16 && in.Type != ir.F16 || k.Body[in.A].Type != ir.F32 {
			continue
		}
		f := &k.Body[in.A]
		h := halfOp{op: f.Op, a: narrowed(k, f.A, in.Type), b: kernel.None}
		switch f.Op {
		case kernel.OpAdd, kernel.OpSub, kernel.OpMul:
			if in.Type == ir.BF16 && t.Major < 9 {
				continue
			}
			h.b = narrowed(k, f.B, in.Type)
		case kernel.OpMin, kernel.OpMax:
			h.b = narrowed(k, f.B, in.Type)
		case kernel.OpNeg, kernel.OpAbs:
		default:
			continue
		}
		if h.a != kernel.None && (h.b != kernel.None || f.B == kernel.None) {
			out[kernel.Ref(i)] = h
		}
	}
	return out
}

// narrowed is the value of a half type that an f32 is, or the constant that the type has
// exactly; None of other values.
func narrowed(k *kernel.Kernel, r kernel.Ref, t ir.DType) kernel.Ref {
	if r == kernel.None {
		return r
	}
	switch in := &k.Body[r]; {
	case in.Op == kernel.OpCvt && k.Body[in.A].Type == t:
		return in.A
	case in.Op == kernel.OpConst:
		if x := math.Float32frombits(uint32(in.Imm)); halfValue(t, halfBits(t, x)) == x {
			return r
		}
	}
	return kernel.None
}

func halfBits(t ir.DType, x float32) uint16 {
	if t == ir.F16 {
		return kernel.F16FromF32(x)
	}
	return kernel.BF16FromF32(x)
}

func halfValue(t ir.DType, h uint16) float32 {
	if t == ir.F16 {
		return kernel.F16ToF32(h)
	}
	return kernel.BF16ToF32(h)
}

// operands calls f with what a value of the body is computed from.
func (e *emitter) operands(r kernel.Ref, f func(kernel.Ref)) {
	if e.lookup != nil && r == e.lookup.out {
		f(e.lookup.in)
		return
	}
	h, ok := e.halves[r]
	if !ok {
		e.k.Body[r].Operands(f)
		return
	}
	f(h.a)
	if h.b != kernel.None {
		f(h.b)
	}
}

// evalHalf computes a half operation, or a conversion from f32, for all elements of a tile,
// two at a time if their number is even. It reports false if the instruction is neither.
func (e *emitter) evalHalf(r kernel.Ref, t *tile) bool {
	in := &e.k.Body[r]
	h, direct := e.halves[r]
	pairs := t.n%2 == 0
	narrow := pairs && in.Op == kernel.OpCvt && (in.Type == ir.BF16 || in.Type == ir.F16) && e.k.Body[in.A].Type == ir.F32
	if !direct && !narrow {
		return false
	}
	vals := make([]reg, 0, t.n)
	for len(vals) < t.n {
		l := len(vals)
		switch {
		case !direct:
			// The first operand goes into the upper half.
			p := e.to(b32, "cvt.rn."+halfName(in.Type)+"x2.f32", e.value(in.A, t, l+1), e.value(in.A, t, l))
			vals = append(vals, e.unpack(in.Type, p)...)
		case pairs:
			vals = append(vals, e.unpack(in.Type, e.halfPair(h, in.Type, t, l))...)
		default:
			vals = append(vals, e.halfOne(h, in.Type, t, l))
		}
	}
	t.vals[r] = vals
	return true
}

func halfName(t ir.DType) string {
	if t == ir.F16 {
		return "f16"
	}
	return "bf16"
}

// halfPair computes a half operation on two neighbours in one register.
func (e *emitter) halfPair(h halfOp, typ ir.DType, t *tile, lane int) reg {
	operand := func(r kernel.Ref) reg {
		if in := &e.k.Body[r]; in.Op == kernel.OpConst {
			bits := uint64(halfBits(typ, math.Float32frombits(uint32(in.Imm))))
			return e.constant(b32, bits<<16|bits)
		}
		return e.pack(typ, []reg{e.value(r, t, lane), e.value(r, t, lane+1)})
	}
	return e.half(h, b32, "."+halfName(typ)+"x2", 0x80008000, operand)
}

// halfOne computes a half operation on one element.
func (e *emitter) halfOne(h halfOp, typ ir.DType, t *tile, lane int) reg {
	operand := func(r kernel.Ref) reg {
		if in := &e.k.Body[r]; in.Op == kernel.OpConst {
			return e.constant(b16, uint64(halfBits(typ, math.Float32frombits(uint32(in.Imm)))))
		}
		return e.value(r, t, lane)
	}
	return e.half(h, b16, "."+halfName(typ), 0x8000, operand)
}

func (e *emitter) half(h halfOp, c class, suffix string, signs uint64, operand func(kernel.Ref) reg) reg {
	x := operand(h.a)
	switch h.op {
	case kernel.OpNeg:
		return e.to(c, "xor"+classType[c], x, e.constant(c, signs))
	case kernel.OpAbs:
		return e.to(c, "and"+classType[c], x, e.constant(c, signs-signs>>15))
	case kernel.OpMin, kernel.OpMax:
		return e.to(c, h.op.String()+".NaN"+suffix, x, operand(h.b))
	}
	return e.to(c, h.op.String()+".rn"+suffix, x, operand(h.b))
}

// pairKey names two registers that a word holds.
func pairKey(lo, hi reg) string { return fmt.Sprintf("%s %s", lo, hi) }
