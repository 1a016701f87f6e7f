package ptx

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// The exponential function of f32 scales by 2^n in two steps, as n may be greater than any
// exponent, and clamps its operand on both sides. Most exponentials are of what is not
// above 0: of a number minus the greatest of its row, of a negated square or magnitude.
// Of those the upper clamp does nothing, and 2^(n+100) is a number, which takes one
// addition to the bits of n; the product with 2^-100 is the one that rounds then, as the
// second step was.

const (
	// expMagic, added to n, leaves n+254 in the lowest bits.
	expMagic = 0x1.8001fcp+23
	// expLift moves the exponent field from n+254 to n+227, that of 2^(n+100); a carry
	// leaves the word.
	expLift = uint32(1<<9-27) << 23
	expDrop = 0x1p-100
)

// scaling is where a body multiplies p by 2^n: its refs are those of the parts.
type scaling struct {
	p, t    kernel.Ref // t = n + expMagic
	shifted kernel.Ref // the bits of t, shifted left by 23
	upper   kernel.Ref // the value clamped from above
	operand kernel.Ref // and as it was before; not above 0, or NaN
}

// shortenExp returns the kernel with the scaling of exponentials of what is not above 0 in
// its short form, and k itself if there is none. The bits are the same, but for those of NaN.
func shortenExp(k *kernel.Kernel) *kernel.Kernel {
	found := map[kernel.Ref]scaling{}
	clamped := map[kernel.Ref]kernel.Ref{}
	for i := range k.Body {
		if s, ok := scalingAt(k, kernel.Ref(i)); ok {
			found[kernel.Ref(i)] = s
			clamped[s.upper] = s.operand
		}
	}
	if len(found) == 0 {
		return k
	}
	out := *k
	out.Body, out.Rares = nil, slices.Clone(k.Rares)
	emit := func(op kernel.Op, t ir.DType, imm uint64, args ...kernel.Ref) kernel.Ref {
		args = append(args, kernel.None, kernel.None, kernel.None)
		out.Body = append(out.Body, kernel.Instr{Op: op, Type: t, Imm: imm, A: args[0], B: args[1], C: args[2]})
		return kernel.Ref(len(out.Body) - 1)
	}
	at := make([]kernel.Ref, len(k.Body)+1)
	for i, in := range k.Body {
		if s, ok := found[kernel.Ref(i)]; ok {
			bits := emit(kernel.OpAdd, ir.I32, 0, at[s.shifted], emit(kernel.OpConst, ir.I32, uint64(expLift)))
			p := emit(kernel.OpMul, ir.F32, 0, at[s.p], emit(kernel.OpBitcast, ir.F32, 0, bits))
			at[i] = emit(kernel.OpMul, ir.F32, 0, p, emit(kernel.OpConst, ir.F32, uint64(math.Float32bits(expDrop))))
			continue
		}
		if x, ok := clamped[kernel.Ref(i)]; ok {
			at[i] = at[x]
			continue
		}
		for _, r := range []*kernel.Ref{&in.A, &in.B, &in.C} {
			if *r != kernel.None {
				*r = at[*r]
			}
		}
		at[i] = kernel.Ref(len(out.Body))
		out.Body = append(out.Body, in)
	}
	at[len(k.Body)] = kernel.Ref(len(out.Body))
	for i := range out.Rares {
		r := &out.Rares[i]
		r.Mask, r.From, r.To = at[r.Mask], at[r.From], at[r.To]
	}
	return &out
}

// scalingAt reads the scaling that ends at r, as the op table has it:
//
//	t = fma(v, c, magic); i = bits(t); half = i << 22 & 0xff800000; y = p * float(half) * float((i << 23) - half)
//
// where v is what is not above 0, clamped from above and then at -104 from below.
func scalingAt(k *kernel.Kernel, r kernel.Ref) (s scaling, ok bool) {
	is := func(r kernel.Ref, op kernel.Op, t ir.DType) *kernel.Instr {
		if ok = ok && r != kernel.None && k.Body[r].Op == op && k.Body[r].Type == t; ok {
			return &k.Body[r]
		}
		return &kernel.Instr{A: kernel.None, B: kernel.None, C: kernel.None}
	}
	constant := func(r kernel.Ref, t ir.DType, bits uint32) {
		c := is(r, kernel.OpConst, t)
		ok = ok && uint32(c.Imm) == bits
	}
	ok = true
	y := is(r, kernel.OpMul, ir.F32)
	first := is(y.A, kernel.OpMul, ir.F32)
	rest := is(is(y.B, kernel.OpBitcast, ir.F32).A, kernel.OpSub, ir.I32)
	s.p, s.shifted = first.A, rest.A
	half := is(first.B, kernel.OpBitcast, ir.F32).A
	ok = ok && half == rest.B
	masked := is(half, kernel.OpAnd, ir.I32)
	constant(masked.B, ir.I32, 0xff800000)
	shift22, shift23 := is(masked.A, kernel.OpShl, ir.I32), is(s.shifted, kernel.OpShl, ir.I32)
	constant(shift22.B, ir.I32, 22)
	constant(shift23.B, ir.I32, 23)
	ok = ok && shift22.A == shift23.A
	s.t = is(shift22.A, kernel.OpBitcast, ir.I32).A
	t := is(s.t, kernel.OpFma, ir.F32)
	constant(t.C, ir.F32, math.Float32bits(expMagic))
	constant(t.B, ir.F32, math.Float32bits(math.Log2E))
	if !ok {
		return s, false
	}
	low, upper, lowOK := clamp(k, t.A)
	if !lowOK || low != -104 {
		return s, false
	}
	high, x, highOK := clamp(k, upper)
	s.upper, s.operand = upper, x
	return s, highOK && high > 0 && notAbove0(k, x)
}

// clamp reads select(x < c, c, x), which is at least c, and select(c < x, c, x).
func clamp(k *kernel.Kernel, r kernel.Ref) (c float32, x kernel.Ref, ok bool) {
	in := &k.Body[r]
	if in.Op != kernel.OpSelect || in.Type != ir.F32 || k.Body[in.B].Op != kernel.OpConst || k.Body[in.A].Op != kernel.OpLt {
		return 0, kernel.None, false
	}
	less := &k.Body[in.A]
	ok = less.A == in.C && less.B == in.B || less.A == in.B && less.B == in.C
	return math.Float32frombits(uint32(k.Body[in.B].Imm)), in.C, ok
}

// notAbove0 reports whether a value is at most 0 or NaN, whatever its operands.
func notAbove0(k *kernel.Kernel, r kernel.Ref) bool {
	in := &k.Body[r]
	switch in.Op {
	case kernel.OpSub: // the greatest of all is not below one of them
		m := &k.Body[in.B]
		return m.Op == kernel.OpReduce && k.Reductions[m.Imm].Kind == kernel.Max && m.A == in.A
	case kernel.OpNeg:
		return k.Body[in.A].Op == kernel.OpAbs || square(k, in.A)
	case kernel.OpMul:
		c := &k.Body[in.B]
		return c.Op == kernel.OpConst && c.Type == ir.F32 && math.Float32frombits(uint32(c.Imm)) < 0 && (square(k, in.A) || k.Body[in.A].Op == kernel.OpAbs)
	}
	return false
}

func square(k *kernel.Kernel, r kernel.Ref) bool {
	return k.Body[r].Op == kernel.OpMul && k.Body[r].Type.IsFloat() && k.Body[r].A == k.Body[r].B
}
