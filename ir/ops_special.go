package ir

import "math"

// More mathematical functions: their programs are in math_special.go, those of
// the primitives they use in math_f32.go and math_f64.go.

func init() {
	special := func(name string, number uint16, method, doc string, d Domain, tol float64, f64, f32, grad string, ref func(float64) float64) *Row {
		r := &Row{Name: name, Number: number, Version: 1, Method: method, Access: Elementwise, Doc: doc,
			Operands: oneOperand(FloatClass, d), Infer: inferSame, Tol: Tolerance{F32: 0.501, F64: tol},
			Body: Body{F32: viaF64(name, "x"), F64: f64}, Grad: map[string]string{"x": grad},
			Ref: func(x ...float64) float64 { return ref(x[0]) }}
		if f32 != "" {
			r.Body.F32 = f32
		}
		return r
	}
	scaled := func(name string, number uint16, method, doc, factor string, ref float64) *Row {
		return &Row{Name: name, Number: number, Version: 1, Method: method, Access: Elementwise, Doc: doc,
			Operands: oneOperand(FloatClass, AnyValue), Infer: inferSame, Tol: Tolerance{F32: 1, F64: 1},
			Body: Body{Any: "x * " + factor}, Grad: map[string]string{"x": "dy * " + factor},
			Ref: func(x ...float64) float64 { return x[0] * ref }}
	}
	normal := special("normal_cdf", 163, "NormalCDF", "y = the distribution function of the standard normal distribution at x.",
		Moderate, 4, normalF64+normalCDF, normalF32+normalCDF, "mul0(dy, exp(square(x) * -0.5) * 0.3989422804014327)", refNormalCDF)
	normal.Tol.F32 = 6
	tan := special("tan", 152, "Tan", "y = the tangent of x radians, with exact reduction of any x.", Moderate, 2.5,
		tanF64, tanF32, "mul0(dy, square(y) + 1)", refTan)
	tan.Tol.F32 = 0.55
	register(
		special("exp10", 150, "Exp10", "y = 10 to the power x, exactly where the result is exact.", Moderate, 1,
			exp10F64, "", "mul0(dy, y * 2.302585092994046)", refExp10),
		special("log10", 151, "Log10", "y = the logarithm of x to base 10, exact at powers of 10; -inf at 0, NaN below.", Positive, 1.5,
			log10F64, "", "div0(dy * 0.4342944819032518, x)", refLog10),
		tan,
		special("asin", 153, "Asin", "y = the arc sine of x, in radians; NaN beyond 1; the gradient there and at 1 is infinite.", Unit, 1.5,
			asinF64, "", "div0(dy, sqrt((1 - x) * (x + 1)))", refAsin),
		special("acos", 154, "Acos", "y = the arc cosine of x, in radians; NaN beyond 1.", Unit, 1.5,
			acosF64, "", "-div0(dy, sqrt((1 - x) * (x + 1)))", refAcos),
		special("sinh", 155, "Sinh", "y = the hyperbolic sine of x.", Moderate, 3,
			sinhF64, "", "mul0(dy, cosh(x))", math.Sinh),
		special("cosh", 156, "Cosh", "y = the hyperbolic cosine of x.", Moderate, 2,
			coshF64, "", "mul0(dy, sinh(x))", math.Cosh),
		special("asinh", 157, "Asinh", "y = the inverse hyperbolic sine of x.", AnyValue, 3,
			asinhF64, "", "div0(dy, hypot(x, 1))", math.Asinh),
		special("acosh", 158, "Acosh", "y = the inverse hyperbolic cosine of x; NaN below 1.", AboveOne, 3,
			acoshF64, "", "div0(dy, sqrt(x - 1) * sqrt(x + 1))", math.Acosh),
		special("atanh", 159, "Atanh", "y = the inverse hyperbolic tangent of x; NaN beyond 1.", Unit, 3,
			atanhF64, "", "div0(dy, (1 - x) * (x + 1))", math.Atanh),
		special("erfc", 160, "Erfc", "y = 1 less the error function of x, without cancellation.", Moderate, 3.5,
			erfcF64, "", "mul0(dy, exp(-square(x)) * -1.1283791670955126)", math.Erfc),
		special("erfinv", 161, "Erfinv", "y = the number whose error function is x; NaN beyond 1.", Unit, 4,
			erfinvF64, "", "mul0(dy, exp(square(y)) * 0.886226925452758)", math.Erfinv),
		special("cbrt", 162, "Cbrt", "y = the cube root of x; the gradient at 0 is infinite.", AnyValue, 1,
			cbrtF64, "", "div0(dy, square(y) * 3)", math.Cbrt),
		normal,
		special("sinc", 164, "Sinc", "y = sin(πx)/(πx), 1 at 0 and 0 at other integers; NaN for infinite x.", Moderate, 4,
			sincF64, "", "select(abs(x) < 0.01, mul0(dy, x * (square(x) * (3.2469697011334147 - square(x) * 1.1445109447325051) - 3.289868133696453)), "+
				"mul0(dy, (cos(x * 3.141592653589793) - y) / x))", refSinc),
		special("logit", 165, "Logit", "y = log(x/(1-x)), the inverse of sigmoid; NaN outside of 0 to 1.", Fraction, 3,
			logitF64, "", "div0(dy, x * (1 - x))", refLogit),
		scaled("deg2rad", 166, "Deg2Rad", "y = x degrees in radians.", "0.017453292519943295", math.Pi/180),
		scaled("rad2deg", 167, "Rad2Deg", "y = x radians in degrees.", "57.29577951308232", 180/math.Pi),

		&Row{Name: "hypot", Number: 146, Version: 1, Method: "Hypot", Access: Elementwise,
			Doc:      "y = the square root of x² + z², without overflow between; inf if either is infinite; the gradient at the origin is 0.",
			Operands: twoOperands(FloatClass, AnyValue), Infer: inferSame, Tol: Tolerance{F32: 0.501, F64: 1.1},
			Body: Body{F32: "a = f64(x); b = f64(z); y = f32(sqrt(a * a + b * b)); y = select((abs(x) == inf) || (abs(z) == inf), inf, y)", F64: hypotF64},
			Grad: map[string]string{
				"x": "select(y == 0, 0, mul0(dy, x / y))",
				"z": "select(y == 0, 0, mul0(dy, z / y))"},
			Ref: func(x ...float64) float64 { return math.Hypot(x[0], x[1]) }},
		&Row{Name: "atan2", Number: 147, Version: 1, Method: "Atan2", Access: Elementwise,
			Doc:      "y = the angle in radians of the point with ordinate x and abscissa z, from -π to π, by the signs of zeros too; the gradient at the origin is 0.",
			Operands: twoOperands(FloatClass, AnyValue), Infer: inferSame, Tol: Tolerance{F32: 0.501, F64: 2.5},
			Body: Body{F32: viaF64("atan2", "x", "z"), F64: atan2F64},
			Grad: map[string]string{
				"x": "r = hypot(x, z); select(r == 0, 0, div0(mul0(dy, z / r), r))",
				"z": "r = hypot(x, z); select(r == 0, 0, -div0(mul0(dy, x / r), r))"},
			Ref: func(x ...float64) float64 { return math.Copysign(math.Atan2(math.Abs(x[0]), x[1]), x[0]) }},
		&Row{Name: "logaddexp", Number: 148, Version: 1, Method: "LogAddExp", Access: Elementwise,
			Doc: "y = log(e^x + e^z), stable; the tolerance is in units of the greater of |y| and 1; " +
				"of two equal infinities that infinity, with gradients 1/2.",
			Operands: twoOperands(FloatClass, AnyValue), Infer: inferSame, Tol: Tolerance{F32: 1, F64: 4},
			Body: Body{F32: viaF64("logaddexp", "x", "z"), F64: logAddExpF64},
			Grad: map[string]string{
				"x": "mul0(dy, sigmoid(select(abs(x) == inf, select(x == z, 0, x - z), x - z)))",
				"z": "mul0(dy, sigmoid(select(abs(x) == inf, select(x == z, 0, z - x), z - x)))"}},
		&Row{Name: "xlogy", Number: 149, Version: 1, Method: "XLogY", Access: Elementwise,
			Doc:      "y = x · log(z), and 0 where x is 0 unless z is NaN; the gradients there are 0 too where z is not above 0.",
			Operands: []Operand{{"x", FloatClass, AnyValue}, {"z", FloatClass, Positive}}, Infer: inferSame, Tol: Tolerance{F32: 1.6, F64: 2.5},
			Body: Body{Any: "select((x == 0) && (z == z), 0, x * log(z))"},
			Grad: map[string]string{
				"x": "select((x == 0) && (z <= 0), 0, mul0(dy, log(z)))",
				"z": "div0(mul0(dy, x), z)"},
			Ref: func(x ...float64) float64 {
				if x[0] == 0 && x[1] == x[1] {
					return 0
				}
				return x[0] * refLog(x[1])
			}},
	)
}

func refTan(x float64) float64 {
	if math.Abs(x) > 0x1p20 {
		return refSin(x, 0) / refSin(x, 1)
	}
	return math.Tan(x)
}

func refAsin(x float64) float64 {
	if x == 0 {
		return x
	}
	return math.Atan2(x, math.Sqrt((1-x)*(1+x)))
}

func refAcos(x float64) float64 { return math.Atan2(math.Sqrt((1-x)*(1+x)), x) }

// refExp10 is 10 to the power x: math.Pow10 takes integers only, and math.Pow
// loses digits with the magnitude of the exponent.
func refExp10(x float64) float64 {
	n := math.Round(x)
	if x != x || math.Abs(n) > 400 {
		return math.Pow(10, x)
	}
	y := math.Exp((x - n) * math.Ln10)
	if n < -300 {
		return math.Pow10(int(n)+100) * y * 1e-100
	}
	if n > 300 {
		return math.Pow10(int(n)-8) * y * 1e8
	}
	return math.Pow10(int(n)) * y
}

// refLog10 is exact at powers of 10, which math.Log10 is not.
func refLog10(x float64) float64 {
	if n := math.Round(math.Log10(x)); math.Abs(n) < 300 && math.Pow10(int(n)) == x {
		return n
	}
	return refLog(x) * (1 / math.Ln10)
}

// refNormalCDF corrects erfc for the rounding of x/√2, which its tail magnifies.
func refNormalCDF(x float64) float64 {
	u := x / math.Sqrt2
	if math.Abs(u) > 30 {
		return 0.5 * math.Erfc(-u)
	}
	d := (math.FMA(-u, math.Sqrt2, x) - u*-0x1.bdd3413b26456p-54) / math.Sqrt2
	return 0.5*math.Erfc(-u) + d*math.Exp(-u*u)/math.SqrtPi
}

func refSinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	n := math.RoundToEven(x)
	y := math.Sin((x-n)*math.Pi) / (x * math.Pi)
	if math.Mod(n, 2) != 0 {
		y = -y
	}
	return y
}

func refLogit(x float64) float64 {
	if 0 < x && x < 1e-300 {
		return refLog(x)
	}
	if x < 0.5 {
		return -math.Log1p((1 - 2*x) / x)
	}
	return math.Log1p((2*x - 1) / (1 - x))
}
