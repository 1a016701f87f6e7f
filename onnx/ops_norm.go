package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/fn"
)

var _ = register(
	opDef{name: "BatchNormalization", in: arity{5, 5}, out: arity{1, 5}, run: batchNormOp,
		attrs: []attrSpec{floatAttr("epsilon", 1e-5), floatAttr("momentum", 0.9), intAttr("training_mode", 0), intAttr("spatial", 1)}},
	opDef{name: "InstanceNormalization", in: three, out: one, attrs: []attrSpec{floatAttr("epsilon", 1e-5)}, run: func(c *Call) error {
		if len(c.Shape(0)) < 3 {
			return fmt.Errorf("the input has shape %v, expected axes of space after batch and channels", c.Shape(0))
		}
		c.Set(0, fn.InstanceNorm(c.In(0), c.In(1), c.In(2), c.Float("epsilon")))
		return nil
	}},
	opDef{name: "GroupNormalization", since: 18, in: three, out: one, run: groupNormOp,
		attrs: []attrSpec{floatAttr("epsilon", 1e-5), need("num_groups", AttrInt), intAttr("stash_type", 1)}},
	opDef{name: "LayerNormalization", since: 1, in: arity{2, 3}, out: arity{1, 3}, run: layerNormOp,
		attrs: []attrSpec{intAttr("axis", -1), floatAttr("epsilon", 1e-5), intAttr("stash_type", 1)}},
	opDef{name: "RMSNormalization", since: 23, in: two, out: one, run: rmsNormOp,
		attrs: []attrSpec{intAttr("axis", -1), floatAttr("epsilon", 1e-5), intAttr("stash_type", 1)}},
	// ONNX Runtime writes these two into the default domain.
	opDef{name: "SimplifiedLayerNormalization", in: two, out: oneTwo, run: rmsNormOp,
		attrs: []attrSpec{intAttr("axis", -1), floatAttr("epsilon", 1e-5), intAttr("stash_type", 1)}},
	opDef{name: "LpNormalization", in: one, out: one, attrs: []attrSpec{intAttr("axis", -1), intAttr("p", 2)}, run: func(c *Call) error {
		axis, err := c.AxisAttr(0)
		if err != nil {
			return err
		}
		p, err := c.power()
		if err != nil {
			return err
		}
		x := c.In(0)
		norm := root(powers(x, p).Sum(sinter.Over(axis).KeepDims()), p)
		c.Set(0, x.Div(sinter.Where(norm.Eq(0), 1, norm))) // of zeros there is no direction
		return nil
	}},
	opDef{name: "LRN", in: one, out: one, run: lrnOp,
		attrs: []attrSpec{floatAttr("alpha", 1e-4), floatAttr("beta", 0.75), floatAttr("bias", 1), need("size", AttrInt)}},
	opDef{name: "MeanVarianceNormalization", since: 9, in: one, out: one, attrs: []attrSpec{intsAttr("axes", 0, 2, 3)}, run: func(c *Call) error {
		x := c.In(0)
		over := sinter.Over(c.Ints("axes")...).KeepDims()
		d := x.Sub(x.Mean(over))
		c.Set(0, d.Div(d.Square().Mean(over).Sqrt().Add(1e-9)))
		return nil
	}},
)

// wider returns the tensors in one dtype: that of the first, or f32 if they
// differ. It is how operators with mixed types compute.
func wider(ts ...*sinter.Tensor) []*sinter.Tensor {
	out := append([]*sinter.Tensor{}, ts...)
	for _, t := range ts {
		if t != nil && t.DType() != ts[0].DType() {
			for i, t := range ts {
				if t != nil {
					out[i] = t.Cast(sinter.F32)
				}
			}
			return out
		}
	}
	return out
}

func batchNormOp(c *Call) error {
	x := c.In(0)
	if len(c.Shape(0)) < 2 {
		return fmt.Errorf("the input has shape %v, expected an axis of channels", c.Shape(0))
	}
	if !c.Bool("spatial") {
		return fmt.Errorf("the attribute spatial is 0; statistics are per channel only")
	}
	t := wider(x, c.In(1), c.In(2), c.In(3), c.In(4))
	eps := c.Float("epsilon")
	if !c.Bool("training_mode") {
		if c.Opset() < 14 && (c.Wants(1) || c.Wants(2)) {
			return fmt.Errorf("the node trains (it has outputs of statistics), which opset %d has no attribute for", c.Opset())
		}
		c.Set(0, fn.BatchNormWith(t[0], t[3], t[4], t[1], t[2], eps).Cast(x.DType()))
		return nil
	}
	y, mean, variance := fn.BatchNorm(t[0], t[1], t[2], eps)
	c.Set(0, y.Cast(x.DType()))
	m := c.Float("momentum")
	for i, v := range []*sinter.Tensor{mean, variance} {
		old := c.In(3 + i)
		c.Set(1+i, old.Mul(m).Add(v.Cast(old.DType()).Mul(1-m)))
	}
	return nil
}

func groupNormOp(c *Call) error {
	x := c.In(0)
	s := c.Shape(0)
	groups := c.Int("num_groups")
	if len(s) < 2 || groups < 1 || s[1]%groups != 0 {
		return fmt.Errorf("the input has shape %v, its channels are not a multiple of %d groups", s, groups)
	}
	gamma, beta := c.In(1), c.In(2)
	if c.Opset() < 21 { // one number per group
		gamma, beta = gamma.Repeat(0, s[1]/groups), beta.Repeat(0, s[1]/groups)
	}
	c.Set(0, fn.GroupNorm(x, groups, gamma, beta, c.Float("epsilon")))
	return nil
}

// axesFromAttr returns the axes from the attribute axis on.
func axesFromAttr(c *Call) ([]int, error) {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return nil, err
	}
	axes := []int{}
	for i := axis; i < len(c.Shape(0)); i++ {
		axes = append(axes, i)
	}
	return axes, nil
}

// normRow applies a row of normalisation.
func normRow(row string, axes []int, eps float64, in ...*sinter.Tensor) *sinter.Tensor {
	return sinter.Apply(row, in, ir.A("axes", axes, "eps", eps)...)[0]
}

func layerNormOp(c *Call) error {
	axes, err := axesFromAttr(c)
	if err != nil {
		return err
	}
	x := c.In(0)
	t := wider(x, c.In(1), c.InOpt(2))
	if t[2] == nil {
		t[2] = c.Full(0, t[0].DType())
	}
	eps := c.Float("epsilon")
	c.Set(0, normRow("layer_norm", axes, eps, t...).Cast(x.DType()))
	stash := x
	if d := Elem(c.Int("stash_type")).DType(); d.IsFloat() {
		stash = x.Cast(d)
	}
	over := sinter.Over(axes...).KeepDims()
	if c.Wants(1) {
		c.Set(1, stash.Mean(over))
	}
	if c.Wants(2) {
		c.Set(2, stash.Variance(0, over).Add(eps).Sqrt().Reciprocal())
	}
	return nil
}

func rmsNormOp(c *Call) error {
	axes, err := axesFromAttr(c)
	if err != nil {
		return err
	}
	x := c.In(0)
	t := wider(x, c.In(1))
	eps := c.Float("epsilon")
	c.Set(0, normRow("rms_norm", axes, eps, t...).Cast(x.DType()))
	if c.Wants(1) {
		c.Set(1, x.Cast(sinter.F32).Square().Mean(sinter.Over(axes...).KeepDims()).Add(eps).Rsqrt())
	}
	return nil
}

// lrnOp divides by a power of the sum of squares over neighbouring channels.
func lrnOp(c *Call) error {
	x := c.In(0)
	size := c.Int("size")
	s := c.Shape(0)
	if len(s) < 2 || size < 1 || size > 1<<20 {
		return fmt.Errorf("a window of %d channels over shape %v", size, s)
	}
	pads := make([][2]int, len(s)-1)
	pads[0] = [2]int{(size - 1) / 2, size / 2}
	sum := x.Square().Pad(0, pads...).Unfold(1, size, 1, 1).Sum(sinter.Over(-1))
	c.Set(0, x.Div(sum.Mul(c.Float("alpha")/float64(size)).Add(c.Float("bias")).Pow(c.Float("beta"))))
	return nil
}
