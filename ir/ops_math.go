package ir

import "math"

// The mathematical functions. Their programs are in math_f32.go and math_f64.go.
// f16 and bf16 use the f32 program and round once.

func init() {
	float1 := func(d Domain) []Operand { return oneOperand(FloatClass, d) }
	register(
		&Row{Name: "exp", Number: 100, Version: 1, Method: "Exp", Access: Elementwise,
			Doc:      "y = e to the power x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.9, F64: 1.5},
			Body: Body{F32: expF32, F64: expF64}, Grad: map[string]string{"x": "dy * y"},
			Ref: func(x ...float64) float64 { return math.Exp(x[0]) }},
		&Row{Name: "exp2", Number: 101, Version: 1, Method: "Exp2", Access: Elementwise,
			Doc:      "y = 2 to the power x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.9, F64: 1.5},
			Body: Body{F32: exp2F32, F64: exp2F64}, Grad: map[string]string{"x": "dy * y * 0.6931471805599453"},
			Ref: func(x ...float64) float64 { return math.Exp2(x[0]) }},
		&Row{Name: "expm1", Number: 102, Version: 1, Method: "Expm1", Access: Elementwise,
			Doc:      "y = e to the power x, less 1, without cancellation near 0.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 1.01, F64: 2},
			Body: Body{F32: expm1F32, F64: expm1F64}, Grad: map[string]string{"x": "dy * (y + 1)"},
			Ref: func(x ...float64) float64 { return math.Expm1(x[0]) }},
		&Row{Name: "log", Number: 103, Version: 1, Method: "Log", Access: Elementwise,
			Doc:      "y = the natural logarithm of x; -inf at 0, NaN below.",
			Operands: float1(Positive), Infer: inferSame, Tol: Tolerance{F32: 0.94, F64: 1.5},
			Body: Body{F32: logF32, F64: logF64}, Grad: map[string]string{"x": "dy / x"},
			Ref: func(x ...float64) float64 { return math.Log(x[0]) }},
		&Row{Name: "log2", Number: 104, Version: 1, Method: "Log2", Access: Elementwise,
			Doc:      "y = the logarithm of x to base 2; -inf at 0, NaN below.",
			Operands: float1(Positive), Infer: inferSame, Tol: Tolerance{F32: 0.96, F64: 2},
			Body: Body{F32: log2F32, F64: log2F64}, Grad: map[string]string{"x": "dy * 1.4426950408889634 / x"},
			Ref: func(x ...float64) float64 {
				if x[0] > 0.5 && x[0] < 2 { // where math.Log2 cancels
					return math.Log1p(x[0]-1) * math.Log2E
				}
				return math.Log2(x[0])
			}},
		&Row{Name: "log1p", Number: 105, Version: 1, Method: "Log1p", Access: Elementwise,
			Doc:      "y = the natural logarithm of 1 + x, without cancellation near 0.",
			Operands: float1(Positive), Infer: inferSame, Tol: Tolerance{F32: 1.13, F64: 2},
			Body: Body{F32: log1pF32, F64: log1pF64}, Grad: map[string]string{"x": "dy / (x + 1)"},
			Ref: func(x ...float64) float64 { return math.Log1p(x[0]) }},
		&Row{Name: "tanh", Number: 106, Version: 1, Method: "Tanh", Access: Elementwise,
			Doc:      "y = the hyperbolic tangent of x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.94, F64: 2},
			Body: Body{F32: tanhF32, F64: tanhF64}, Grad: map[string]string{"x": "dy * (1 - y * y)"},
			Ref: func(x ...float64) float64 { return math.Tanh(x[0]) }},
		&Row{Name: "erf", Number: 107, Version: 1, Method: "Erf", Access: Elementwise,
			Doc:      "y = the error function of x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 1.01, F64: 2},
			Body: Body{F32: erfF32, F64: erfF64}, Grad: map[string]string{"x": "dy * 1.1283791670955126 * exp(-(x * x))"},
			Ref: func(x ...float64) float64 { return math.Erf(x[0]) }},
		&Row{Name: "sin", Number: 108, Version: 1, Method: "Sin", Access: Elementwise,
			Doc:      "y = the sine of x radians, with exact reduction of any x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.88, F64: 2},
			Body: Body{F32: sinF32, F64: sinF64}, Grad: map[string]string{"x": "dy * cos(x)"},
			Ref: func(x ...float64) float64 { return math.Sin(x[0]) }},
		&Row{Name: "cos", Number: 109, Version: 1, Method: "Cos", Access: Elementwise,
			Doc:      "y = the cosine of x radians, with exact reduction of any x.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.88, F64: 2},
			Body: Body{F32: cosF32, F64: cosF64}, Grad: map[string]string{"x": "-(dy * sin(x))"},
			Ref: func(x ...float64) float64 { return math.Cos(x[0]) }},
		&Row{Name: "sigmoid", Number: 110, Version: 1, Method: "Sigmoid", Access: Elementwise,
			Doc:      "y = 1 / (1 + e to the power -x).",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 0.97, F64: 2},
			Body: Body{F32: sigmoidF32, F64: sigmoidF64}, Grad: map[string]string{"x": "dy * y * (1 - y)"},
			Ref: func(x ...float64) float64 { return 1 / (1 + math.Exp(-x[0])) }},
		&Row{Name: "atan", Number: 111, Version: 1, Method: "Atan", Access: Elementwise,
			Doc:      "y = the arc tangent of x, in radians.",
			Operands: float1(Moderate), Infer: inferSame, Tol: Tolerance{F32: 1.21, F64: 2},
			Body: Body{F32: atanF32, F64: atanF64}, Grad: map[string]string{"x": "dy / (x * x + 1)"},
			Ref: func(x ...float64) float64 { return math.Atan(x[0]) }},
		&Row{Name: "pow", Number: 112, Version: 1, Method: "Pow", Access: Elementwise,
			Doc:      "y = x to the power z; 1 if z is 0 or x is 1, NaN for negative x unless z is integral.",
			Operands: []Operand{{"x", FloatClass, Positive}, {"z", FloatClass, Moderate}},
			Infer:    inferSame, Tol: Tolerance{F32: 0.6, F64: 2},
			Body: Body{F32: powF32, F64: powF64},
			Grad: map[string]string{
				"x": "select(z == 0, 0, dy * (z * pow(x, z - 1)))",
				"z": "select(x == 0, 0, dy * (y * log(x)))"},
			Ref: func(x ...float64) float64 { return math.Pow(x[0], x[1]) }},
	)
}
