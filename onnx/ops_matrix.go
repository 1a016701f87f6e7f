package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var gemmAttrs = []attrSpec{floatAttr("alpha", 1), floatAttr("beta", 1), intAttr("transA", 0), intAttr("transB", 0)}

var _ = register(
	pointwise2("MatMul", func(x, y *sinter.Tensor) *sinter.Tensor { return x.MatMul(y) }),
	opDef{name: "Gemm", in: arity{2, 3}, out: one, attrs: gemmAttrs, run: gemmOp},
	opDef{name: "Einsum", since: 12, in: some, out: one, attrs: []attrSpec{need("equation", AttrString)}, run: func(c *Call) error {
		c.Set(0, sinter.Einsum(c.Str("equation"), c.Ins()...))
		return nil
	}},
	pointwise1("Det", (*sinter.Tensor).Det).from(11),
)

// gemmOp is alpha·A·B + beta·C, where A and B may be transposed.
func gemmOp(c *Call) error {
	a, b := c.In(0), c.In(1)
	if a.Rank() != 2 || b.Rank() != 2 {
		return fmt.Errorf("matrices have 2 axes, these have %d and %d", a.Rank(), b.Rank())
	}
	if c.Bool("transA") {
		a = a.Transpose()
	}
	if c.Bool("transB") {
		b = b.Transpose()
	}
	y := a.MatMul(b)
	d := y.DType()
	scale := func(t *sinter.Tensor, by float64) *sinter.Tensor {
		switch {
		case by == 1:
			return t
		case d.IsInt():
			return t.Cast(sinter.F64).Mul(by).Cast(d)
		}
		return t.Mul(by)
	}
	y = scale(y, c.Float("alpha"))
	if c.Has(2) && c.Float("beta") != 0 {
		bias := scale(c.In(2), c.Float("beta"))
		sum := y.Add(bias)
		if sum.Err() == nil && sum.Size() != y.Size() {
			return fmt.Errorf("input 2 of shape %v does not broadcast to %v", bias.Shape(), y.Shape())
		}
		y = sum
	}
	c.Set(0, y)
	return nil
}
