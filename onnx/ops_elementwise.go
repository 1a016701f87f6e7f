package onnx

import (
	"math"

	"github.com/sinter-go/sinter"
)

// pointwise1 is an operator of one tensor without attributes.
func pointwise1(name string, f func(*sinter.Tensor) *sinter.Tensor) opDef {
	return opDef{name: name, in: one, out: one, run: func(c *Call) error {
		c.Set(0, f(c.In(0)))
		return nil
	}}
}

// pointwise2 is an operator of two tensors that broadcast.
func pointwise2(name string, f func(x, y *sinter.Tensor) *sinter.Tensor) opDef {
	return opDef{name: name, in: two, out: one, run: func(c *Call) error {
		c.Set(0, f(c.In(0), c.In(1)))
		return nil
	}}
}

// pointwiseN folds a function over any number of tensors that broadcast.
func pointwiseN(name string, f func(x, y *sinter.Tensor) *sinter.Tensor) opDef {
	return opDef{name: name, in: some, out: one, run: func(c *Call) error {
		y := c.In(0)
		for i := 1; i < c.NumIn(); i++ {
			y = f(y, c.In(i))
		}
		c.Set(0, y)
		return nil
	}}
}

// from gives an operator the opset that has brought it.
func (d opDef) from(version int) opDef {
	d.since = version
	return d
}

// with adds computation on the host to an operator.
func (d opDef) with(host func(*Call) error) opDef {
	d.host = host
	return d
}

func sure(f func(x, y int64) int64) func(x, y int64) (int64, bool) {
	return func(x, y int64) (int64, bool) { return f(x, y), true }
}

// onlyFloats applies a function of floats to floats and leaves other numbers as
// they are: Ceil and its like of integers.
func onlyFloats(f func(*sinter.Tensor) *sinter.Tensor) func(*sinter.Tensor) *sinter.Tensor {
	return func(t *sinter.Tensor) *sinter.Tensor {
		if t.DType().IsInt() {
			return t
		}
		return f(t)
	}
}

var _ = register(
	pointwise1("Abs", func(x *sinter.Tensor) *sinter.Tensor {
		if unsigned(x.DType()) {
			return x
		}
		return x.Abs()
	}).with(hostUnary(func(x int64) int64 { return max(x, -x) }, math.Abs)),
	pointwise1("Neg", (*sinter.Tensor).Neg).with(hostUnary(func(x int64) int64 { return -x }, func(x float64) float64 { return -x })),
	pointwise1("Exp", (*sinter.Tensor).Exp),
	pointwise1("Log", (*sinter.Tensor).Log),
	pointwise1("Sqrt", (*sinter.Tensor).Sqrt).with(hostUnary(nil, math.Sqrt)),
	pointwise1("Reciprocal", (*sinter.Tensor).Reciprocal).with(hostUnary(nil, func(x float64) float64 { return 1 / x })),
	pointwise1("Sin", (*sinter.Tensor).Sin).from(7),
	pointwise1("Cos", (*sinter.Tensor).Cos).from(7),
	pointwise1("Tan", (*sinter.Tensor).Tan).from(7),
	pointwise1("Asin", (*sinter.Tensor).Asin).from(7),
	pointwise1("Acos", (*sinter.Tensor).Acos).from(7),
	pointwise1("Atan", (*sinter.Tensor).Atan).from(7),
	pointwise1("Sinh", (*sinter.Tensor).Sinh).from(9),
	pointwise1("Cosh", (*sinter.Tensor).Cosh).from(9),
	pointwise1("Asinh", (*sinter.Tensor).Asinh).from(9),
	pointwise1("Acosh", (*sinter.Tensor).Acosh).from(9),
	pointwise1("Atanh", (*sinter.Tensor).Atanh).from(9),
	pointwise1("Erf", (*sinter.Tensor).Erf).from(9),
	pointwise1("Ceil", onlyFloats((*sinter.Tensor).Ceil)).with(hostUnary(nil, math.Ceil)),
	pointwise1("Floor", onlyFloats((*sinter.Tensor).Floor)).with(hostUnary(nil, math.Floor)),
	pointwise1("Round", onlyFloats((*sinter.Tensor).Round)).from(11).with(hostUnary(nil, math.RoundToEven)),
	pointwise1("Sign", func(x *sinter.Tensor) *sinter.Tensor {
		if unsigned(x.DType()) {
			return x.Minimum(1)
		}
		return x.Sign()
	}).from(9),
	pointwise1("IsNaN", (*sinter.Tensor).IsNaN).from(9),
	pointwise2("Add", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Add(y) }).
		with(hostBinary(sure(func(x, y int64) int64 { return x + y }), func(x, y float64) float64 { return x + y })),
	pointwise2("Sub", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Sub(y) }).
		with(hostBinary(sure(func(x, y int64) int64 { return x - y }), func(x, y float64) float64 { return x - y })),
	pointwise2("Mul", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Mul(y) }).
		with(hostBinary(sure(func(x, y int64) int64 { return x * y }), func(x, y float64) float64 { return x * y })),
	pointwise2("Div", divide).with(hostBinary(truncDiv, func(x, y float64) float64 { return x / y })),
	pointwiseN("Sum", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Add(y) }),
	pointwiseN("Max", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Maximum(y) }).with(hostExtreme(1)),
	pointwiseN("Min", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Minimum(y) }).with(hostExtreme(-1)),
	opDef{name: "Mean", in: some, out: one, run: func(c *Call) error {
		y := c.In(0)
		for i := 1; i < c.NumIn(); i++ {
			y = y.Add(c.In(i))
		}
		c.Set(0, y.Div(c.NumIn()))
		return nil
	}},
	opDef{name: "Pow", in: two, out: one, run: powOp},
	opDef{name: "Mod", since: 10, in: two, out: one, attrs: []attrSpec{intAttr("fmod", 0)}, run: modOp, host: hostMod},
	opDef{name: "IsInf", since: 10, in: one, out: one, attrs: []attrSpec{intAttr("detect_negative", 1), intAttr("detect_positive", 1)}, run: isInfOp},
	opDef{name: "Clip", in: one, out: one, attrs: []attrSpec{plainAttr("min", AttrFloat), plainAttr("max", AttrFloat)}, run: func(c *Call) error {
		y := c.In(0)
		if c.HasAttr("min") {
			y = y.Maximum(c.Float("min"))
		}
		if c.HasAttr("max") {
			y = y.Minimum(c.Float("max"))
		}
		c.Set(0, y)
		return nil
	}},
	opDef{name: "Clip", since: 11, in: arity{1, 3}, out: one, run: func(c *Call) error {
		y := c.In(0)
		if c.Has(1) {
			y = y.Maximum(c.In(1))
		}
		if c.Has(2) {
			y = y.Minimum(c.In(2))
		}
		c.Set(0, y)
		return nil
	}},
)

func unsigned(d sinter.DType) bool {
	return d == sinter.U8 || d == sinter.U16 || d == sinter.U32 || d == sinter.U64
}

// divide divides floats, and integers towards 0: less the remainder, which has
// the sign of x, the quotient is exact.
func divide(x, y *sinter.Tensor) *sinter.Tensor {
	switch {
	case !x.DType().IsInt():
		return x.Div(y)
	case unsigned(x.DType()):
		return x.FloorDiv(y)
	}
	return x.Sub(x.FMod(y)).FloorDiv(y)
}

// hostExtreme is Max for sign 1 and Min for -1.
func hostExtreme(sign int) func(*Call) error {
	return func(c *Call) error {
		if len(c.in) == 1 {
			c.SetValue(0, c.in[0])
			return nil
		}
		if len(c.in) != 2 || c.in[0].host.IsFloat() {
			return errNotHost
		}
		return hostBinary(sure(func(x, y int64) int64 {
			if sign > 0 {
				return max(x, y)
			}
			return min(x, y)
		}), nil)(c)
	}
}

// powOp has the type of the base, whatever that of the exponent is. Powers of
// integers are computed in f64, which has those below 2^53.
func powOp(c *Call) error {
	x, y := c.In(0), c.In(1)
	d := x.DType()
	switch {
	case d == y.DType() && d.IsFloat():
		c.Set(0, x.Pow(y))
	case d.IsFloat() && (y.DType().IsInt() || d == sinter.F64):
		c.Set(0, x.Pow(y.Cast(d)))
	case y.DType().IsInt():
		c.Set(0, x.Cast(sinter.F64).Pow(y.Cast(sinter.F64)).Round().Cast(d))
	default:
		c.Set(0, x.Cast(sinter.F64).Pow(y.Cast(sinter.F64)).Cast(d))
	}
	return nil
}

func modOp(c *Call) error {
	x, y := c.In(0), c.In(1)
	if c.Bool("fmod") {
		c.Set(0, x.FMod(y))
		return nil
	}
	z := x.Mod(y)
	if x.DType().IsFloat() { // of a finite x and an infinite y: x, or y if the signs differ
		whole := y.IsInf().And(x.IsFinite())
		apart := x.Lt(0).And(y.Gt(0)).Or(x.Gt(0).And(y.Lt(0)))
		z = sinter.Where(whole, sinter.Where(apart, y, x), z)
	}
	c.Set(0, z)
	return nil
}

func hostMod(c *Call) error {
	if c.Bool("fmod") {
		return errNotHost
	}
	return hostBinary(func(x, y int64) (int64, bool) {
		if y == 0 || y == -1 {
			return 0, y != 0
		}
		m := x % y
		if m != 0 && (m < 0) != (y < 0) {
			m += y
		}
		return m, true
	}, nil)(c)
}

func isInfOp(c *Call) error {
	x := c.In(0)
	y := x.IsInf()
	neg, pos := c.Bool("detect_negative"), c.Bool("detect_positive")
	switch {
	case !neg && !pos:
		y = y.ZerosLike()
	case !neg:
		y = y.And(x.Gt(0))
	case !pos:
		y = y.And(x.Lt(0))
	}
	c.Set(0, y)
	return nil
}
