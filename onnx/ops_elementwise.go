package onnx

import "github.com/sinter-go/sinter"

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

var _ = register(
	pointwise1("Abs", (*sinter.Tensor).Abs),
	pointwise1("Relu", (*sinter.Tensor).Relu),
	pointwise1("Exp", (*sinter.Tensor).Exp),
	pointwise1("Sqrt", (*sinter.Tensor).Sqrt),
	pointwise1("Tanh", (*sinter.Tensor).Tanh),
	pointwise1("Sigmoid", (*sinter.Tensor).Sigmoid),
	pointwise1("Neg", (*sinter.Tensor).Neg),
	pointwise2("Add", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Add(y) }),
	pointwise2("Sub", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Sub(y) }),
	pointwise2("Mul", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Mul(y) }),
	pointwise2("MatMul", func(x, y *sinter.Tensor) *sinter.Tensor { return x.MatMul(y) }),
)
