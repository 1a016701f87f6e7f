package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var _ = register(
	pointwise1("Relu", (*sinter.Tensor).Relu),
	pointwise1("Tanh", (*sinter.Tensor).Tanh),
	pointwise1("Sigmoid", (*sinter.Tensor).Sigmoid),
	pointwise1("Softsign", (*sinter.Tensor).Softsign),
	pointwise1("Softplus", func(x *sinter.Tensor) *sinter.Tensor { return x.Softplus(1) }),
	pointwise1("Mish", (*sinter.Tensor).Mish).from(18),
	pointwise1("HardSwish", (*sinter.Tensor).HardSwish).from(14),
	pointwise2("PRelu", func(x, slope *sinter.Tensor) *sinter.Tensor { return x.PRelu(slope) }),
	opDef{name: "LeakyRelu", in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 0.01)}, run: func(c *Call) error {
		c.Set(0, c.In(0).LeakyRelu(c.Float("alpha")))
		return nil
	}},
	opDef{name: "Elu", in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1)}, run: func(c *Call) error {
		c.Set(0, c.In(0).Elu(c.Float("alpha")))
		return nil
	}},
	opDef{name: "Celu", since: 12, in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1)}, run: func(c *Call) error {
		c.Set(0, c.In(0).Celu(c.Float("alpha")))
		return nil
	}},
	opDef{name: "Selu", in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1.67326319217681884765625), floatAttr("gamma", 1.05070102214813232421875)},
		run: func(c *Call) error {
			c.Set(0, c.In(0).Elu(c.Float("alpha")).Mul(c.Float("gamma")))
			return nil
		}},
	opDef{name: "HardSigmoid", in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 0.2), floatAttr("beta", 0.5)}, run: func(c *Call) error {
		c.Set(0, c.In(0).Mul(c.Float("alpha")).Add(c.Float("beta")).Clamp(0, 1))
		return nil
	}},
	opDef{name: "ThresholdedRelu", since: 10, in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1)}, run: func(c *Call) error {
		c.Set(0, c.In(0).Threshold(c.Float("alpha"), 0))
		return nil
	}},
	opDef{name: "Shrink", since: 9, in: one, out: one, attrs: []attrSpec{floatAttr("bias", 0), floatAttr("lambd", 0.5)}, run: func(c *Call) error {
		x, bias, bound := c.In(0), c.Float("bias"), c.Float("lambd")
		d := x.DType()
		if d.IsInt() { // its attributes are floats all the same
			x = x.Cast(sinter.F64)
		}
		y := sinter.Where(x.Lt(-bound), x.Add(bias), sinter.Where(x.Gt(bound), x.Sub(bias), x.ZerosLike()))
		c.Set(0, y.Cast(d))
		return nil
	}},
	opDef{name: "Gelu", since: 20, in: one, out: one, attrs: []attrSpec{strAttr("approximate", "none")}, run: func(c *Call) error {
		switch how := c.Str("approximate"); how {
		case "none":
			c.Set(0, c.In(0).Gelu())
		case "tanh":
			c.Set(0, c.In(0).GeluTanh())
		default:
			return fmt.Errorf("the approximation %q, expected none or tanh", how)
		}
		return nil
	}},
	opDef{name: "SwiGLU", since: 28, in: two, out: one, attrs: []attrSpec{floatAttr("alpha", 1)}, run: func(c *Call) error {
		c.Set(0, swish(c.In(0), c.Float("alpha")).Mul(c.In(1)))
		return nil
	}},
	opDef{name: "Swish", since: 24, in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1)}, run: func(c *Call) error {
		c.Set(0, swish(c.In(0), c.Float("alpha")))
		return nil
	}},
)

// swish is x·sigmoid(alpha·x).
func swish(x *sinter.Tensor, alpha float64) *sinter.Tensor {
	if alpha == 1 {
		return x.Silu()
	}
	return x.Mul(x.Mul(alpha).Sigmoid())
}
