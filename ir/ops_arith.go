package ir

import "math"

// Arithmetic, selection and bits: elementwise rows whose bodies are one or two
// instructions.

func oneOperand(class Class, d Domain) []Operand { return []Operand{{"x", class, d}} }
func twoOperands(class Class, d Domain) []Operand {
	return []Operand{{"x", class, d}, {"z", class, d}}
}

// orNaN returns v, or NaN if one of x is: math.Max and math.Min prefer infinities.
func orNaN(v float64, x []float64) float64 {
	for _, a := range x {
		if a != a {
			return a
		}
	}
	return v
}

func init() {
	register(
		&Row{Name: "add", Number: 1, Version: 1, Method: "Add", Access: Elementwise,
			Doc:      "y = x + z; integers wrap.",
			Operands: twoOperands(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "x + z"}, Grad: map[string]string{"x": "dy", "z": "dy"},
			Ref: func(x ...float64) float64 { return x[0] + x[1] }},
		&Row{Name: "sub", Number: 2, Version: 1, Method: "Sub", Access: Elementwise,
			Doc:      "y = x - z; integers wrap.",
			Operands: twoOperands(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "x - z"}, Grad: map[string]string{"x": "dy", "z": "-dy"},
			Ref: func(x ...float64) float64 { return x[0] - x[1] }},
		&Row{Name: "mul", Number: 3, Version: 1, Method: "Mul", Access: Elementwise,
			Doc:      "y = x · z; integers wrap.",
			Operands: twoOperands(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "x * z"}, Grad: map[string]string{"x": "dy * z", "z": "dy * x"},
			Ref: func(x ...float64) float64 { return x[0] * x[1] }},
		&Row{Name: "div", Number: 4, Version: 1, Method: "Div", Access: Elementwise,
			Doc:      "y = x / z on floats; integers divide with floor_div, or are cast first.",
			Operands: []Operand{{"x", FloatClass, AnyValue}, {"z", FloatClass, NonZero}}, Infer: inferSame,
			Body: Body{Any: "x / z"}, Grad: map[string]string{"x": "div0(dy, z)", "z": "-div0(mul0(dy, y), z)"},
			Ref: func(x ...float64) float64 { return x[0] / x[1] }},
		&Row{Name: "floor_div", Number: 5, Version: 1, Method: "FloorDiv", Access: Elementwise, Effects: EffectFault,
			Doc: "y = the greatest integer not above x / z; an integer z of 0 gives 0 and makes the result an error, " +
				"a float one gives x / z; the gradient is 0.",
			Operands: []Operand{{"x", Numbers, AnyValue}, {"z", Numbers, NonZero}}, Infer: inferSame, Tol: Tolerance{F32: 0.5, F64: 1},
			Body: Body{Int: "q = quo(x, z); y = select((rem(x, z) != 0) && ((x < 0) != (z < 0)), q - 1, q)",
				F32: floorDivText(F32), F64: floorDivText(F64)},
			Grad: map[string]string{"x": "0", "z": "0"}, Ref: refFloorDiv},
		&Row{Name: "mod", Number: 6, Version: 1, Method: "Mod", Access: Elementwise, Effects: EffectFault,
			Doc: "y = x - z·floor_div(x, z), the sign of z: exactly, but where a float result is rounded to z. " +
				"NaN for infinite x or zero z; an integer z of 0 gives 0 and makes the result an error.",
			Operands: []Operand{{"x", Numbers, AnyValue}, {"z", Numbers, NonZero}}, Infer: inferSame,
			Body: Body{Int: "r = rem(x, z); y = select((r != 0) && ((r < 0) != (z < 0)), r + z, r)",
				F32: modText(F32), F64: modText(F64)},
			Grad: map[string]string{"x": "dy", "z": "-mul0(dy, floor_div(x, z))"}, Ref: refMod},
		&Row{Name: "maximum", Number: 7, Version: 1, Method: "Maximum", Access: Elementwise,
			Doc:      "y = the greater of x and z; NaN if either is NaN, -0 below +0; the gradient goes to x at ties.",
			Operands: twoOperands(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "max(x, z)"},
			Grad: map[string]string{"x": "select(z > x, 0, dy)", "z": "select(z > x, dy, 0)"},
			Ref:  func(x ...float64) float64 { return orNaN(math.Max(x[0], x[1]), x) }},
		&Row{Name: "minimum", Number: 8, Version: 1, Method: "Minimum", Access: Elementwise,
			Doc:      "y = the lesser of x and z; NaN if either is NaN, -0 below +0; the gradient goes to x at ties.",
			Operands: twoOperands(Numbers, AnyValue), Infer: inferSame,
			Body: Body{Any: "min(x, z)"},
			Grad: map[string]string{"x": "select(z < x, 0, dy)", "z": "select(z < x, dy, 0)"},
			Ref:  func(x ...float64) float64 { return orNaN(math.Min(x[0], x[1]), x) }},
		&Row{Name: "neg", Number: 9, Version: 1, Method: "Neg", Access: Elementwise,
			Doc:      "y = -x; integers wrap.",
			Operands: oneOperand(IntClass|FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "-x"}, Grad: map[string]string{"x": "-dy"},
			Ref: func(x ...float64) float64 { return -x[0] }},
		&Row{Name: "abs", Number: 10, Version: 1, Method: "Abs", Access: Elementwise,
			Doc:      "y = |x|; the least integer stays itself; the gradient at 0 is 0.",
			Operands: oneOperand(IntClass|FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "abs(x)"}, Grad: map[string]string{"x": "select(x > 0, dy, select(x < 0, -dy, 0))"},
			Ref: func(x ...float64) float64 { return math.Abs(x[0]) }},
		&Row{Name: "sqrt", Number: 11, Version: 1, Method: "Sqrt", Access: Elementwise,
			Doc:      "y = the square root of x, correctly rounded; NaN below 0; the gradient at 0 is 0, so that a norm has gradient 0 there.",
			Operands: oneOperand(FloatClass, Positive), Infer: inferSame,
			Body: Body{Any: "sqrt(x)"}, Grad: map[string]string{"x": "select(y == 0, 0, div0(dy * 0.5, y))"},
			Ref: func(x ...float64) float64 { return math.Sqrt(x[0]) }},
		&Row{Name: "relu", Number: 12, Version: 1, Method: "Relu", Access: Elementwise,
			Doc:      "y = max(x, 0); NaN stays NaN, the gradient at 0 is 0.",
			Operands: oneOperand(IntClass|FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "max(x, 0)"}, Grad: map[string]string{"x": "select(x > 0, dy, 0)"},
			Ref: func(x ...float64) float64 { return math.Max(x[0], 0) }},
		&Row{Name: "floor", Number: 13, Version: 1, Method: "Floor", Access: Elementwise,
			Doc:      "y = the greatest integral value not above x; the gradient is 0.",
			Operands: oneOperand(FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "floor(x)"}, Grad: map[string]string{"x": "0"},
			Ref: func(x ...float64) float64 { return math.Floor(x[0]) }},

		// The two rows below are what gradients are written with where a derivative
		// may be infinite: no gradient arriving means none going on, never 0·inf = NaN.
		&Row{Name: "mul0", Number: 37, Version: 1, Access: Elementwise,
			Doc:      "y = x · z, and 0 where x is 0, even if z is infinite or NaN: the product by which gradients go on.",
			Operands: twoOperands(FloatClass, AnyValue), Infer: inferSame,
			Body: Body{Any: "select(x == 0, 0, x * z)"}, Grad: map[string]string{"x": "mul0(dy, z)", "z": "mul0(dy, x)"},
			Ref: func(x ...float64) float64 {
				if x[0] == 0 {
					return 0
				}
				return x[0] * x[1]
			}},
		&Row{Name: "div0", Number: 38, Version: 1, Access: Elementwise,
			Doc:      "y = x / z, and 0 where x is 0, even if z is 0 or NaN: the quotient by which gradients go on.",
			Operands: []Operand{{"x", FloatClass, AnyValue}, {"z", FloatClass, NonZero}}, Infer: inferSame,
			Body: Body{Any: "select(x == 0, 0, x / z)"}, Grad: map[string]string{"x": "div0(dy, z)", "z": "-div0(mul0(dy, y), z)"},
			Ref: func(x ...float64) float64 {
				if x[0] == 0 {
					return 0
				}
				return x[0] / x[1]
			}},

		&Row{Name: "eq", Number: 20, Version: 1, Method: "Eq", Access: Elementwise,
			Doc: "y = x equals z.", Operands: twoOperands(AnyType, AnyValue), Infer: inferCompare, Body: Body{Any: "x == z"}},
		&Row{Name: "ne", Number: 21, Version: 1, Method: "Ne", Access: Elementwise,
			Doc: "y = x differs from z; true for NaN.", Operands: twoOperands(AnyType, AnyValue), Infer: inferCompare, Body: Body{Any: "x != z"}},
		&Row{Name: "lt", Number: 22, Version: 1, Method: "Lt", Access: Elementwise,
			Doc: "y = x is below z.", Operands: twoOperands(Numbers, AnyValue), Infer: inferCompare, Body: Body{Any: "x < z"}},
		&Row{Name: "le", Number: 23, Version: 1, Method: "Le", Access: Elementwise,
			Doc: "y = x is not above z, and neither is NaN.", Operands: twoOperands(Numbers, AnyValue), Infer: inferCompare, Body: Body{Any: "x <= z"}},
		&Row{Name: "gt", Number: 24, Version: 1, Method: "Gt", Access: Elementwise,
			Doc: "y = x is above z.", Operands: twoOperands(Numbers, AnyValue), Infer: inferCompare, Body: Body{Any: "x > z"}},
		&Row{Name: "ge", Number: 25, Version: 1, Method: "Ge", Access: Elementwise,
			Doc: "y = x is not below z, and neither is NaN.", Operands: twoOperands(Numbers, AnyValue), Infer: inferCompare, Body: Body{Any: "x >= z"}},

		&Row{Name: "and", Number: 30, Version: 1, Method: "And", Access: Elementwise,
			Doc: "y = x and z, bit by bit on integers.", Operands: twoOperands(BoolClass|Ints, AnyValue), Infer: inferSame, Body: Body{Any: "x & z"}},
		&Row{Name: "or", Number: 31, Version: 1, Method: "Or", Access: Elementwise,
			Doc: "y = x or z, bit by bit on integers.", Operands: twoOperands(BoolClass|Ints, AnyValue), Infer: inferSame, Body: Body{Any: "x | z"}},
		&Row{Name: "not", Number: 32, Version: 1, Method: "Not", Access: Elementwise,
			Doc: "y = not x, bit by bit on integers.", Operands: oneOperand(BoolClass|Ints, AnyValue), Infer: inferSame, Body: Body{Any: "!x"}},

		&Row{Name: "where", Number: 35, Version: 1, Access: Elementwise,
			Doc:      "y = x where c is true, else z; the branch not taken has gradient 0.",
			Operands: []Operand{{"c", BoolClass, AnyValue}, {"x", AnyType, AnyValue}, {"z", AnyType, AnyValue}},
			Infer:    inferSame, Body: Body{Any: "select(c, x, z)"},
			Grad: map[string]string{"x": "select(c, dy, 0)", "z": "select(c, 0, dy)"}},
		&Row{Name: "cast", Number: 36, Version: 1, Access: Elementwise,
			Doc:      "y = x converted by value to dtype: floats round to nearest even, float to integer truncates and saturates (NaN gives 0), integers wrap, bool is nonzero.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{{Name: "dtype", Kind: AttrDType}},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				return []Type{{r.Attr(a, "dtype").DType(), in[0].Shape}}, nil
			},
			Body: Body{Any: "x"},
			GradFunc: func(g *GradContext) []Value {
				from := g.Type(g.In[0]).DType
				if !from.IsFloat() || !g.Attrs[0].DType().IsFloat() {
					return []Value{nil}
				}
				return []Value{g.Do("cast", []Value{g.DOut[0]}, "dtype", from)}
			}},
	)
}
