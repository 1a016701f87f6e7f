package ir

import "math"

// Activations: compositions of the functions above, each one kernel with one
// rounding. Products whose one factor vanishes at an infinity use mul0, so that the
// limit is the result and not NaN.

// Of the tanh form of gelu: x/(1 + 2^g) with g = x·(A + B·x²), both times log2 e, as
// v + l: A in two parts, of which the first, h, has few digits, so that h - s is exact
// and e the rounding error of s. 1 + 2^g is b·(a·p + 1/b) with a·b = 2^n, p = 2^(g-n)
// by degree 6, as in exp2. Beyond ±12 the result is 0 or x.
const geluTanhF32 = `
m = select(x < -12, 0, x)
c = select(m > 12, 12, m)
w = c * c
s = fma(w, -0x1.a5a7dp-4, -0x1.26ap1)
e = fma(w, -0x1.a5a7dp-4, -0x1.26ap1 - s)
e = e + fma(w, 0x1.151aaep-29, -0x1.d8437ap-12)
e = fma(fma(c, c, -w), -0x1.a5a7dp-4, e)
v = c * s
l = fma(c, e, fma(c, s, -v))
t = v + 0x1.8001fcp23
r = (v - (t - 0x1.8001fcp23)) + l
p = fma(0x1.416b6p-13, r, 0x1.5f082ep-10)
p = fma(p, r, 0x1.3b2dep-7)
p = fma(p, r, 0x1.c6af7cp-5)
p = fma(p, r, 0x1.ebfbdcp-3)
p = fma(p, r, 0x1.62e43p-1)
p = fma(p, r, 1)
k = bits(t)
a = (k << 22) & -0x800000
b = (k << 23) - a
i = float(0x7f000000 - b)
y = m / fma(p, float(a), i) * i
`

// In f64 the argument has a low part by exact products and sums.
const geluTanhF64 = `
w = x * x
u = w * 0x1.2444f2a4d8b4bp-4
t = u + 0x1.9884533d43651p0
v = x * t
l = ((0x1.9884533d43651p0 - t) + u) + fma(w, 0x1.2444f2a4d8b4bp-4, -u)
l = l + fma(fma(x, x, -w), 0x1.2444f2a4d8b4bp-4, fma(w, -0x1.6c843a29d1c70p-61, -0x1.cbc0d30ebfd15p-54))
l = fma(x, t, -v) + x * l
l = select(abs(v) < 700, l, 0)
s = sigmoid(v)
s = fma(s * (1 - s), l, s)
y = mul0(s, x)
`

// softplusOf is log(1 + e^z) of an expression, stable.
func softplusOf(z string) string { return "max(" + z + ", 0) + log1p(exp(-abs(" + z + ")))" }

func attr(name string, value float64) AttrSpec {
	return AttrSpec{Name: name, Kind: AttrFloat, Default: value, Binding: true}
}

func refSigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func refSoftplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func refShrink(x, z float64) float64 {
	switch {
	case math.Abs(x) <= z:
		return 0
	case x > 0:
		return x - z
	}
	return x + z
}

// refTanhShrink is x·t/(1+t) with tanh(x) = x/(1+t), Lambert's continued fraction.
func refTanhShrink(x float64) float64 {
	if math.Abs(x) > 2 {
		return x - math.Tanh(x)
	}
	w, t := x*x, 0.0
	for k := 41.0; k > 1; k -= 2 {
		t = w / (k + t)
	}
	return x * (t / (1 + t))
}

// refGeluTanh is the factor of x in the tanh form, with a correction for the rounding
// of the argument, which its tail magnifies.
func refGeluTanh(x float64) float64 {
	const a, b = 0x1.9884533d43651p+0, 0x1.2444f2a4d8b4bp-4
	w := x * x
	u := w * b
	t := a + u
	v := x * t
	s := refSigmoid(v)
	if math.Abs(v) > 700 {
		return s
	}
	low := (a - t) + u + math.FMA(w, b, -u) + math.FMA(x, x, -w)*b + w*-0x1.6c843a29d1c70p-61 + -0x1.cbc0d30ebfd15p-54
	return s + s*(1-s)*(math.FMA(x, t, -v)+x*low)
}

// fading is the limit 0 of x·f(x) at -inf.
func fading(f func(float64) float64) func(x ...float64) float64 {
	return func(x ...float64) float64 {
		if math.IsInf(x[0], -1) {
			return 0
		}
		return x[0] * f(x[0])
	}
}

func init() {
	// plain is a row of one operand; its Ref takes the attributes too.
	plain := func(name string, number uint16, method, doc string, tol Tolerance, body, grad string, ref func(x ...float64) float64, attrs ...AttrSpec) *Row {
		return &Row{Name: name, Number: number, Version: 1, Method: method, Access: Elementwise, Doc: doc,
			Operands: oneOperand(FloatClass, Moderate), Attrs: attrs, Infer: inferSame, Tol: tol,
			Body: Body{Any: body}, Grad: map[string]string{"x": grad}, Ref: ref}
	}
	one := func(f func(float64) float64) func(x ...float64) float64 {
		return func(x ...float64) float64 { return f(x[0]) }
	}
	exact := Tolerance{}
	gelu := plain("gelu", 170, "Gelu", "y = x · the normal distribution function at x: the exact form.", Tolerance{F32: 5.5, F64: 4},
		"",
		"mul0(dy, normal_cdf(x) + mul0(exp(square(x) * -0.5) * 0.3989422804014327, x))", fading(refNormalCDF))
	gelu.Body = Body{F32: normalF32 + geluTail, F64: normalF64 + geluTail}
	geluTanh := plain("gelu_tanh", 171, "GeluTanh", "y = x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))): the approximate form of gelu.",
		Tolerance{F32: 2.5, F64: 3}, "",
		"w = square(x); s = sigmoid(x * (w * 0.0713548162726002 + 1.5957691216057308)); "+
			"mul0(dy, s + mul0(s * (1 - s), x * (w * 0.2140644488178007 + 1.5957691216057308)))",
		fading(refGeluTanh))
	geluTanh.Version = 2 // f32 without f64
	silu := plain("silu", 172, "Silu", "y = x · sigmoid(x), also called swish.", Tolerance{F32: 1.75, F64: 2},
		"mul0(sigmoid(x), x)", "s = sigmoid(x); mul0(dy, s + mul0(s * (1 - s), x))", fading(refSigmoid))
	// slope makes the gradient of a row a row of its own.
	slope := func(of *Row, number uint16) *Row {
		name := of.Name + "_grad"
		of.GradFunc = byRow(name)
		return &Row{Name: name, Number: number, Version: 1, Access: Elementwise, Doc: "dx = the gradient of x of " + of.Name + ", for the gradient dy of y.",
			Operands: []Operand{{"x", FloatClass, Moderate}, {"dy", FloatClass, Moderate}}, Infer: inferSame, Body: Body{Any: of.Grad["x"]}, Tol: Tolerance{F32: 16, F64: 16}}
	}
	geluTanh.Body = Body{F32: geluTanhF32, F64: geluTanhF64}
	shrink := plain("tanh_shrink", 189, "TanhShrink", "y = x - tanh(x), without cancellation.", Tolerance{F32: 0.501, F64: 6},
		"", "mul0(dy, square(tanh(x)))", one(refTanhShrink))
	shrink.Body = Body{F32: viaF64("tanh_shrink", "x"), F64: tanhShrinkF64}
	register(
		gelu, geluTanh, silu, shrink,
		slope(gelu, 190), slope(geluTanh, 191), slope(silu, 192),
		plain("mish", 173, "Mish", "y = x · tanh(softplus(x)).", Tolerance{F32: 4.5, F64: 4},
			"e = exp(select(x > 20, 20, x)); n = e * (e + 2); y = mul0(n / (n + 2), x)",
			"s = sigmoid(x); t = tanh(softplus(x)); mul0(dy, t + mul0(s * (1 - square(t)), x))",
			fading(func(x float64) float64 { return math.Tanh(refSoftplus(x)) })),
		plain("softplus", 174, "", "y = log(1 + e^(beta·x))/beta, stable; the tolerance is that of beta 1.", Tolerance{F32: 2.6, F64: 3},
			"("+softplusOf("x * beta")+") / beta", "mul0(dy, sigmoid(x * beta))",
			func(x ...float64) float64 { return refSoftplus(x[0]*x[1]) / x[1] }, attr("beta", 1)),
		plain("log_sigmoid", 175, "LogSigmoid", "y = log(sigmoid(x)), stable.", Tolerance{F32: 2.6, F64: 3},
			"-("+softplusOf("-x")+")", "mul0(dy, sigmoid(-x))",
			func(x ...float64) float64 { return -refSoftplus(-x[0]) }),
		plain("softsign", 176, "Softsign", "y = x/(1 + |x|).", Tolerance{F32: 1.6, F64: 1.6},
			"c = select(x > 1e30, 1e30, x); c = select(c < -1e30, -1e30, c); y = c / (abs(c) + 1)",
			"div0(dy, square(abs(x) + 1))",
			func(x ...float64) float64 {
				if math.IsInf(x[0], 0) {
					return math.Copysign(1, x[0])
				}
				return x[0] / (1 + math.Abs(x[0]))
			}),
		plain("elu", 177, "", "y = x where x is above 0, else alpha·(e^x - 1).", Tolerance{F32: 1.6, F64: 2.5},
			"select(x > 0, x, expm1(x) * alpha)", "select(x > 0, dy, mul0(dy, exp(minimum(x, 0)) * alpha))",
			func(x ...float64) float64 {
				if x[0] > 0 {
					return x[0]
				}
				return x[1] * math.Expm1(x[0])
			}, attr("alpha", 1)),
		plain("selu", 178, "Selu", "y = 1.0507…·elu(x, alpha 1.6732…), which keeps mean 0 and variance 1.", Tolerance{F32: 2.1, F64: 3},
			"select(x > 0, x * 1.0507009873554804934193349852946, expm1(x) * 1.7580993408473768599402175208123)",
			"select(x > 0, dy * 1.0507009873554805, mul0(dy, exp(minimum(x, 0)) * 1.7580993408473769))",
			func(x ...float64) float64 {
				if x[0] > 0 {
					return x[0] * 1.0507009873554805
				}
				return math.Expm1(x[0]) * 1.7580993408473769
			}),
		plain("celu", 179, "", "y = x where x is above 0, else alpha·(e^(x/alpha) - 1).", Tolerance{F32: 2.5, F64: 3},
			"select(x > 0, x, expm1(x / alpha) * alpha)", "select(x > 0, dy, mul0(dy, exp(minimum(x, 0) / alpha)))",
			func(x ...float64) float64 {
				if x[0] > 0 {
					return x[0]
				}
				return x[1] * math.Expm1(x[0]/x[1])
			}, attr("alpha", 1)),
		plain("leaky_relu", 180, "", "y = x where x is above 0, else slope·x; the gradient at 0 is slope.", Tolerance{F32: 1, F64: 0},
			"select(x > 0, x, x * slope)", "select(x > 0, dy, dy * slope)",
			func(x ...float64) float64 {
				if x[0] > 0 {
					return x[0]
				}
				return x[1] * x[0]
			}, attr("slope", 0.01)),
		&Row{Name: "prelu", Number: 181, Version: 1, Method: "PRelu", Access: Elementwise,
			Doc:      "y = x where x is above 0, else z·x: leaky_relu with slopes that are learned; the gradient at 0 is z.",
			Operands: twoOperands(FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "select(x > 0, x, z * x)"},
			Grad: map[string]string{"x": "select(x > 0, dy, mul0(dy, z))", "z": "select(x > 0, 0, mul0(dy, x))"},
			Ref: func(x ...float64) float64 {
				if x[0] > 0 {
					return x[0]
				}
				return x[1] * x[0]
			}},
		plain("relu6", 182, "Relu6", "y = min(max(x, 0), 6); the gradient at 0 and 6 is 0.", exact,
			"min(max(x, 0), 6)", "select((x > 0) && (x < 6), dy, 0)",
			func(x ...float64) float64 { return math.Min(math.Max(x[0], 0), 6) }),
		plain("hard_sigmoid", 183, "HardSigmoid", "y = min(max(x + 3, 0), 6)/6; the gradient at -3 and 3 is 0.", Tolerance{F32: 1.6, F64: 1.6},
			"min(max(x + 3, 0), 6) / 6", "select((x > -3) && (x < 3), dy / 6, 0)",
			func(x ...float64) float64 { return math.Min(math.Max(x[0]+3, 0), 6) / 6 }),
		plain("hard_swish", 184, "HardSwish", "y = x · hard_sigmoid(x); the gradient at -3 is 0, at 3 it is 1.", Tolerance{F32: 2.2, F64: 2.2},
			"mul0(hard_sigmoid(x), x)", "select(x <= -3, 0, select(x < 3, mul0(dy, x / 3 + 0.5), dy))",
			func(x ...float64) float64 {
				if x[0] <= -3 {
					return 0
				}
				return x[0] * (math.Min(x[0]+3, 6) / 6)
			}),
		plain("hard_tanh", 185, "HardTanh", "y = min(max(x, -1), 1); the gradient at -1 and 1 is 0.", exact,
			"min(max(x, -1), 1)", "select((x > -1) && (x < 1), dy, 0)",
			func(x ...float64) float64 { return math.Min(math.Max(x[0], -1), 1) }),
		plain("threshold", 186, "", "y = x where x is above threshold or NaN, else value; the gradient at threshold is 0.", Tolerance{F32: 1},
			"select(x <= threshold, value, x)", "select(x <= threshold, 0, dy)",
			func(x ...float64) float64 {
				if x[0] <= x[1] {
					return x[2]
				}
				return x[0]
			}, attr("threshold", 0), attr("value", 0)),
		plain("hard_shrink", 187, "", "y = x where |x| is above bound or NaN, else 0; the gradient at the bounds is 0.", exact,
			"select(abs(x) <= bound, 0, x)", "select(abs(x) <= bound, 0, dy)",
			func(x ...float64) float64 {
				if math.Abs(x[0]) <= x[1] {
					return 0
				}
				return x[0]
			}, attr("bound", 0.5)),
		plain("soft_shrink", 188, "", "y = x moved towards 0 by bound, and 0 within it; the gradient at the bounds is 0.", exact,
			"select(abs(x) <= bound, 0, select(x > 0, x - bound, x + bound))", "select(abs(x) <= bound, 0, dy)",
			func(x ...float64) float64 { return refShrink(x[0], x[1]) }, attr("bound", 0.5)),
	)
}
