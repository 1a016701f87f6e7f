package ir

import "math"

// Rounding, signs, bits, and selections among numbers: bodies of a few
// instructions, most of them exact.

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// threeOperands declares x, z and w.
func threeOperands(class Class, d Domain) []Operand {
	return []Operand{{"x", class, d}, {"z", class, d}, {"w", class, d}}
}

// inferExactFloat is inferSame for rows whose body needs the storage type's own
// spacing: f16 and bf16 compute in f32.
func inferExactFloat(r *Row, in []Type, a Attrs) ([]Type, error) {
	if d := in[0].DType; d != F32 && d != F64 {
		return nil, Errorf(ErrDType, "%s takes f32 and f64, got %s", r.Name, d)
	}
	return inferSame(r, in, a)
}

func nextAfterText(t DType) string {
	return "i = bits(x)\nn = float(select((z > x) == (x > 0), i + 1, i - 1))\n" +
		"n = select(x == 0, float((bits(z) & " + signBit(t) + ") | 1), n)\n" +
		"y = select(x == z, z, n)\ny = select((x != x) || (z != z), nan, y)"
}

func copySignText(t DType) string {
	return "y = float(bits(abs(x)) | (bits(select(z == z, z, 0)) & " + signBit(t) + "))"
}

func init() {
	signed, floats := oneOperand(IntClass|FloatClass, AnyValue), oneOperand(FloatClass, AnyValue)
	float2 := twoOperands(FloatClass, AnyValue)
	constant := map[string]string{"x": "0"}
	register(
		&Row{Name: "sign", Number: 120, Version: 1, Method: "Sign", Access: Elementwise,
			Doc:      "y = 1 where x is above 0, -1 where it is below, else 0; NaN stays NaN; the gradient is 0.",
			Operands: signed, Infer: inferSame,
			Body: Body{Any: "select(x > 0, 1, select(x < 0, -1, select(x == 0, 0, x)))"}, Grad: constant,
			Ref: func(x ...float64) float64 {
				if x[0] != x[0] {
					return x[0]
				}
				return truth(x[0] > 0) - truth(x[0] < 0)
			}},
		&Row{Name: "ceil", Number: 121, Version: 1, Method: "Ceil", Access: Elementwise,
			Doc:      "y = the least integral value not below x; the gradient is 0.",
			Operands: floats, Infer: inferSame, Body: Body{Any: "ceil(x)"}, Grad: constant,
			Ref: func(x ...float64) float64 { return math.Ceil(x[0]) }},
		&Row{Name: "trunc", Number: 122, Version: 1, Method: "Trunc", Access: Elementwise,
			Doc:      "y = x without its fraction; the gradient is 0.",
			Operands: floats, Infer: inferSame, Body: Body{Any: "trunc(x)"}, Grad: constant,
			Ref: func(x ...float64) float64 { return math.Trunc(x[0]) }},
		&Row{Name: "round", Number: 123, Version: 1, Method: "Round", Access: Elementwise,
			Doc:      "y = the integral value nearest to x, the even one of two; the gradient is 0.",
			Operands: floats, Infer: inferSame, Body: Body{Any: "rint(x)"}, Grad: constant,
			Ref: func(x ...float64) float64 { return math.RoundToEven(x[0]) }},
		&Row{Name: "square", Number: 124, Version: 1, Method: "Square", Access: Elementwise,
			Doc:      "y = x · x; integers wrap.",
			Operands: oneOperand(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "x * x"}, Grad: map[string]string{"x": "mul0(dy, x + x)"},
			Ref: func(x ...float64) float64 { return x[0] * x[0] }},
		&Row{Name: "reciprocal", Number: 125, Version: 1, Method: "Reciprocal", Access: Elementwise,
			Doc:      "y = 1 / x.",
			Operands: oneOperand(FloatClass, NonZero), Infer: inferSame,
			Body: Body{Any: "1 / x"}, Grad: map[string]string{"x": "-mul0(mul0(dy, y), y)"},
			Ref: func(x ...float64) float64 { return 1 / x[0] }},
		&Row{Name: "rsqrt", Number: 126, Version: 1, Method: "Rsqrt", Access: Elementwise,
			Doc:      "y = 1 / the square root of x; inf at 0, NaN below.",
			Operands: oneOperand(FloatClass, Positive), Infer: inferSame, Tol: Tolerance{F32: 1.5, F64: 1.5},
			Body: Body{Any: "1 / sqrt(x)"}, Grad: map[string]string{"x": "mul0(mul0(mul0(dy * -0.5, y), y), y)"},
			Ref: func(x ...float64) float64 { return 1 / math.Sqrt(x[0]) }},
		&Row{Name: "frac", Number: 127, Version: 1, Method: "Frac", Access: Elementwise,
			Doc:      "y = x - trunc(x), with the sign of x.",
			Operands: floats, Infer: inferSame, Body: Body{Any: "x - trunc(x)"}, Grad: map[string]string{"x": "dy"},
			Ref: func(x ...float64) float64 { return x[0] - math.Trunc(x[0]) }},

		&Row{Name: "is_nan", Number: 128, Version: 1, Method: "IsNaN", Access: Elementwise,
			Doc: "y = x is NaN.", Operands: floats, Infer: inferCompare, Body: Body{Any: "x != x"},
			Ref: func(x ...float64) float64 { return truth(x[0] != x[0]) }},
		&Row{Name: "is_inf", Number: 129, Version: 1, Method: "IsInf", Access: Elementwise,
			Doc: "y = x is infinite.", Operands: floats, Infer: inferCompare, Body: Body{Any: "abs(x) == inf"},
			Ref: func(x ...float64) float64 { return truth(math.IsInf(x[0], 0)) }},
		&Row{Name: "is_finite", Number: 130, Version: 1, Method: "IsFinite", Access: Elementwise,
			Doc: "y = x is neither infinite nor NaN.", Operands: floats, Infer: inferCompare, Body: Body{Any: "abs(x) < inf"},
			Ref: func(x ...float64) float64 { return truth(math.Abs(x[0]) <= math.MaxFloat64) }},
		&Row{Name: "signbit", Number: 131, Version: 1, Method: "Signbit", Access: Elementwise,
			Doc: "y = the sign bit of x is set: for -0 too; false for NaN, whose sign no row keeps.", Operands: floats, Infer: inferCompare,
			Body: Body{Any: "(x == x) && (bits(x) < 0)"}},

		&Row{Name: "xor", Number: 132, Version: 1, Method: "Xor", Access: Elementwise,
			Doc:      "y = either x or z but not both, bit by bit on integers.",
			Operands: twoOperands(BoolClass|Ints, AnyValue), Infer: inferSame, Body: Body{Any: "x ^ z"}},
		&Row{Name: "shl", Number: 133, Version: 1, Method: "Shl", Access: Elementwise,
			Doc:      "y = the bits of x moved up by z; 0 if z is negative or not below the width.",
			Operands: twoOperands(Ints, AnyValue), Infer: inferSame, Body: Body{Any: "x << z"}},
		&Row{Name: "shr", Number: 134, Version: 1, Method: "Shr", Access: Elementwise,
			Doc:      "y = the bits of x moved down by z, copies of the sign entering; a negative z is as one not below the width, and leaves only those.",
			Operands: twoOperands(Ints, AnyValue), Infer: inferSame, Body: Body{Any: "x >> z"}},

		&Row{Name: "copysign", Number: 135, Version: 1, Method: "CopySign", Access: Elementwise,
			Doc:      "y = the magnitude of x with the sign of z, which NaN does not have; the gradient at 0 is 0.",
			Operands: float2, Infer: inferSame, Body: Body{F32: copySignText(F32), F64: copySignText(F64)},
			Grad: map[string]string{"x": "select(x == 0, 0, select(signbit(x) == signbit(z), dy, -dy))", "z": "0"},
			Ref: func(x ...float64) float64 {
				if x[1] != x[1] {
					return math.Abs(x[0])
				}
				return math.Copysign(x[0], x[1])
			}},
		&Row{Name: "nextafter", Number: 136, Version: 1, Method: "NextAfter", Access: Elementwise,
			Doc:      "y = the neighbour of x in the direction of z, in f32 and f64; z if they are equal.",
			Operands: float2, Infer: inferExactFloat, Body: Body{F32: nextAfterText(F32), F64: nextAfterText(F64)}},
		&Row{Name: "fmax", Number: 137, Version: 1, Method: "FMax", Access: Elementwise,
			Doc:      "y = the greater of x and z, the other one if one is NaN; -0 below +0; the gradient goes to x at ties.",
			Operands: float2, Infer: inferSame,
			Body: Body{Any: "select(x != x, z, select(z != z, x, max(x, z)))"},
			Grad: map[string]string{
				"x": "select((z != z) || ((x == x) && !(z > x)), dy, 0)",
				"z": "select((z != z) || ((x == x) && !(z > x)), 0, dy)"},
			Ref: func(x ...float64) float64 { return refIgnore(math.Max, x) }},
		&Row{Name: "fmin", Number: 138, Version: 1, Method: "FMin", Access: Elementwise,
			Doc:      "y = the lesser of x and z, the other one if one is NaN; -0 below +0; the gradient goes to x at ties.",
			Operands: float2, Infer: inferSame,
			Body: Body{Any: "select(x != x, z, select(z != z, x, min(x, z)))"},
			Grad: map[string]string{
				"x": "select((z != z) || ((x == x) && !(z < x)), dy, 0)",
				"z": "select((z != z) || ((x == x) && !(z < x)), 0, dy)"},
			Ref: func(x ...float64) float64 { return refIgnore(math.Min, x) }},
		&Row{Name: "heaviside", Number: 139, Version: 1, Method: "Heaviside", Access: Elementwise,
			Doc:      "y = 0 where x is below 0, 1 where it is above, z where it is 0; NaN stays NaN; the gradient of x is 0.",
			Operands: float2, Infer: inferSame,
			Body: Body{Any: "select(x > 0, 1, select(x < 0, 0, select(x == 0, z, x)))"},
			Grad: map[string]string{"x": "0", "z": "select(x == 0, dy, 0)"},
			Ref: func(x ...float64) float64 {
				switch {
				case x[0] == 0:
					return x[1]
				case x[0] != x[0]:
					return x[0]
				}
				return truth(x[0] > 0)
			}},
		&Row{Name: "clamp", Number: 140, Version: 1, Access: Elementwise,
			Doc: "y = min(max(x, lo), hi): hi where the bounds cross; NaN if any of them is NaN; " +
				"the gradient goes to x on a bound, and to the bound beyond it.",
			Operands: []Operand{{"x", Numbers, AnyValue}, {"lo", Numbers, AnyValue}, {"hi", Numbers, AnyValue}}, Infer: inferSame,
			Body: Body{Any: "min(max(x, lo), hi)"},
			Grad: map[string]string{
				"x":  "select((lo > x) || (hi < x), 0, dy)",
				"lo": "select((lo > x) && !(hi < lo), dy, 0)",
				"hi": "select((hi < x) || (hi < lo), dy, 0)"},
			Ref: func(x ...float64) float64 { return orNaN(math.Min(math.Max(x[0], x[1]), x[2]), x) }},
		&Row{Name: "lerp", Number: 141, Version: 1, Access: Elementwise,
			Doc:      "y = x + w·(z - x), by fma from the nearer end: x and z exactly where w is 0 and 1.",
			Operands: threeOperands(FloatClass, Moderate), Infer: inferSame, Tol: Tolerance{F32: 1, F64: 1},
			Body: Body{Any: "d = z - x; y = select(w < 0.5, fma(w, d, x), fma(w - 1, d, z))"},
			Grad: map[string]string{"x": "mul0(dy, 1 - w)", "z": "mul0(dy, w)", "w": "mul0(dy, z - x)"}},
		&Row{Name: "fma", Number: 142, Version: 1, Access: Elementwise,
			Doc:      "y = x · z + w, rounded once.",
			Operands: threeOperands(FloatClass, AnyValue), Infer: inferSame, Tol: Tolerance{F32: 0.5},
			Body: Body{Any: "fma(x, z, w)"},
			Grad: map[string]string{"x": "mul0(dy, z)", "z": "mul0(dy, x)", "w": "dy"},
			Ref:  func(x ...float64) float64 { return math.FMA(x[0], x[1], x[2]) }},
		&Row{Name: "nan_to_num", Number: 143, Version: 1, Access: Elementwise,
			Doc:      "y = x with NaN, inf and -inf replaced by the attributes; the gradient there is 0.",
			Operands: floats, Infer: inferSame,
			Attrs: []AttrSpec{{Name: "replace", Kind: AttrFloat, Default: 0.0, Binding: true},
				{Name: "high", Kind: AttrFloat, Default: math.MaxFloat32, Binding: true}, {Name: "low", Kind: AttrFloat, Default: -math.MaxFloat32, Binding: true}},
			Body: Body{Any: "select(x == inf, high, select(x == -inf, low, select(x != x, replace, x)))"},
			Grad: map[string]string{"x": "select(is_finite(x), dy, 0)"},
			Ref: func(x ...float64) float64 {
				switch {
				case x[0] != x[0]:
					return x[1]
				case math.IsInf(x[0], 1):
					return x[2]
				case math.IsInf(x[0], -1):
					return x[3]
				}
				return x[0]
			}},
		&Row{Name: "is_close", Number: 144, Version: 1, Access: Elementwise,
			Doc: "y = x equals z, or both are finite and |x - z| is at most atol + rtol·|z|; NaN is close to nothing, " +
				"or to NaN if equalnan is not 0.",
			Operands: float2, Infer: inferCompare,
			Attrs: []AttrSpec{{Name: "rtol", Kind: AttrFloat, Default: 1e-5, Binding: true},
				{Name: "atol", Kind: AttrFloat, Default: 1e-8, Binding: true}, {Name: "equalnan", Kind: AttrInt, Default: 0, Binding: true}},
			Body: Body{Any: "f = (abs(x) < inf) && (abs(z) < inf) && (abs(x - z) <= (abs(z) * rtol + atol))\n" +
				"y = (x == z) || f || ((equalnan != 0) && (x != x) && (z != z))"},
			Ref: func(x ...float64) float64 {
				finite := math.Abs(x[0]) <= math.MaxFloat64 && math.Abs(x[1]) <= math.MaxFloat64
				return truth(x[0] == x[1] || finite && math.Abs(x[0]-x[1]) <= x[3]+x[2]*math.Abs(x[1]) ||
					x[4] != 0 && x[0] != x[0] && x[1] != x[1])
			}},
		&Row{Name: "fmod", Number: 145, Version: 1, Method: "FMod", Access: Elementwise, Effects: EffectFault,
			Doc: "y = x - z·trunc(x/z), exactly: the sign of x. NaN for infinite x or zero z, x for infinite z; " +
				"an integer z of 0 gives 0 and makes the result an error.",
			Operands: []Operand{{"x", Numbers, AnyValue}, {"z", Numbers, NonZero}}, Infer: inferSame,
			Body: Body{Int: "rem(x, z)", F32: fmodText(F32), F64: fmodText(F64)},
			Grad: map[string]string{"x": "dy", "z": "-mul0(dy, trunc(div(x, z)))"},
			Ref:  func(x ...float64) float64 { return math.Mod(x[0], x[1]) }},
	)
}

// refIgnore is f, or the operand that is not NaN.
func refIgnore(f func(x, z float64) float64, x []float64) float64 {
	switch {
	case x[0] != x[0]:
		return x[1]
	case x[1] != x[1]:
		return x[0]
	}
	return f(x[0], x[1])
}
