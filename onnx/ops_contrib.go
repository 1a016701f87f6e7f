package onnx

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// microsoft is the domain of ONNX Runtime's own operators, which its optimizer
// and exporters of transformers write. Their definitions are those of its
// document of contrib operators.
const microsoft = "com.microsoft"

// registerMicrosoft registers operators of the domain.
func registerMicrosoft(defs ...opDef) struct{} {
	for i := range defs {
		defs[i].domain = microsoft
	}
	return register(defs...)
}

var normEpsilon = floatAttr("epsilon", 1e-12)

var _ = registerMicrosoft(
	opDef{name: "Gelu", in: one, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).Gelu())
		return nil
	}},
	opDef{name: "FastGelu", in: oneTwo, out: one, run: func(c *Call) error {
		c.Set(0, addOpt(c.In(0), c.InOpt(1)).GeluTanh())
		return nil
	}},
	opDef{name: "BiasGelu", in: two, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).Add(c.In(1)).Gelu())
		return nil
	}},
	opDef{name: "QuickGelu", in: one, out: one, attrs: []attrSpec{floatAttr("alpha", 1.702)}, run: func(c *Call) error {
		c.Set(0, swish(c.In(0), c.Float("alpha")))
		return nil
	}},
	opDef{name: "BiasAdd", in: three, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).Add(c.In(1)).Add(c.In(2)))
		return nil
	}},
	opDef{name: "BiasSplitGelu", in: two, out: one, run: func(c *Call) error {
		x := c.In(0).Add(c.In(1))
		if x.Err() != nil || x.Dim(-1)%2 != 0 {
			return firstError(fmt.Errorf("the last extent of %v is odd", x.Shape()), x)
		}
		half := x.Chunk(-1, 2)
		c.Set(0, half[0].Mul(half[1].Gelu()))
		return nil
	}},
	opDef{name: "FusedMatMul", in: two, out: one, run: fusedMatMulOp, attrs: []attrSpec{floatAttr("alpha", 1), intAttr("transA", 0), intAttr("transB", 0),
		intAttr("transBatchA", 0), intAttr("transBatchB", 0)}},
	opDef{name: "TransposeMatMul", in: two, out: one, run: fusedMatMulOp, attrs: []attrSpec{floatAttr("alpha", 1), intAttr("transA", 0), intAttr("transB", 0)}},
	opDef{name: "FusedGemm", in: arity{2, 3}, out: one, run: fusedGemmOp, attrs: []attrSpec{floatAttr("alpha", 1), floatAttr("beta", 1), intAttr("transA", 0),
		intAttr("transB", 0), strAttr("activation", ""), floatAttr("activation_alpha", 0), floatAttr("activation_beta", 0), floatAttr("activation_gamma", 0)}},
	opDef{name: "FusedConv", in: arity{2, 4}, out: one, run: fusedConvOp,
		attrs: windowAttrs(intAttr("group", 1), strAttr("activation", ""), plainAttr("activation_params", AttrFloats))},
	opDef{name: "NhwcConv", in: arity{2, 3}, out: one, attrs: windowAttrs(intAttr("group", 1)), run: func(c *Call) error {
		y, err := c.conv(c.In(0).MoveAxis(-1, 1), c.In(1))
		if err == nil {
			c.Set(0, addChannels(y, c.InOpt(2)).MoveAxis(1, -1))
		}
		return err
	}},
	opDef{name: "SkipLayerNormalization", in: arity{3, 5}, out: arity{1, 4}, attrs: []attrSpec{normEpsilon}, run: func(c *Call) error {
		return c.skipNorm("layer_norm", c.InOpt(4))
	}},
	opDef{name: "SkipSimplifiedLayerNormalization", in: arity{3, 4}, out: arity{1, 4}, attrs: []attrSpec{normEpsilon}, run: func(c *Call) error {
		return c.skipNorm("rms_norm", c.InOpt(3))
	}},
	opDef{name: "SimplifiedLayerNormalization", in: two, out: oneTwo, run: rmsNormOp,
		attrs: []attrSpec{intAttr("axis", -1), floatAttr("epsilon", 1e-5), intAttr("stash_type", 1)}},
	opDef{name: "EmbedLayerNormalization", in: arity{7, 9}, optional: []int{1, 4}, out: arity{1, 3}, run: embedNormOp, attrs: []attrSpec{normEpsilon, intAttr("mask_index_type", 0)}},
	opDef{name: "GroupNorm", in: three, out: one, run: func(c *Call) error {
		x, err := c.groupNormNHWC(c.In(0))
		if err == nil {
			c.Set(0, x)
		}
		return err
	}, attrs: []attrSpec{need("activation", AttrInt), intAttr("channels_last", 1), floatAttr("epsilon", 1e-5), need("groups", AttrInt)}},
	opDef{name: "BiasSoftmax", in: two, out: one, run: biasSoftmaxOp, attrs: []attrSpec{intAttr("axis", 1), need("is_inner_broadcast", AttrInt)}},
	opDef{name: "Inverse", in: one, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).Inverse())
		return nil
	}},
	opDef{name: "Trilu", in: oneTwo, out: one, attrs: []attrSpec{intAttr("upper", 1)}, run: triluOp},
	opDef{name: "ExpandDims", in: two, out: one, keeps: true, run: func(c *Call) error {
		axis, err := c.HostInt(1)
		if err == nil {
			c.Set(0, c.In(0).Unsqueeze(axis))
		}
		return err
	}},
	opDef{name: "GatherND", in: two, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).GatherND(c.In(1).Cast(sinter.I64)))
		return nil
	}},
	opDef{name: "GridSample", in: two, out: one, run: gridSampleOp,
		attrs: []attrSpec{intAttr("align_corners", 0), strAttr("mode", "bilinear"), strAttr("padding_mode", "zeros")}},
	opDef{name: "CDist", in: two, out: one, attrs: []attrSpec{strAttr("metric", "sqeuclidean")}, run: func(c *Call) error {
		d := c.In(0).Unsqueeze(1).Sub(c.In(1).Unsqueeze(0)).SumSquares(sinter.Over(-1))
		switch m := c.Str("metric"); m {
		case "sqeuclidean":
		case "euclidean":
			d = d.Sqrt()
		default:
			return fmt.Errorf("the attribute metric is %q", m)
		}
		c.Set(0, d)
		return nil
	}},
	opDef{name: "ComplexMul", in: two, out: one, run: func(c *Call) error {
		c.Set(0, c.In(0).ComplexMul(c.In(1)))
		return nil
	}},
)

// addOpt is x + bias, and x without one.
func addOpt(x, bias *sinter.Tensor) *sinter.Tensor {
	if bias == nil {
		return x
	}
	return x.Add(bias)
}

// transposed swaps the last two axes, or with batch moves the first axis before
// the last one, and both if both are asked for.
func transposed(x *sinter.Tensor, last, batch bool) *sinter.Tensor {
	n := x.Rank()
	if n < 2 || !last && !batch {
		return x
	}
	if batch && n > 2 { // [m, ..., k] as [..., m, k]; or [k, ..., m] as [..., m, k]
		x = x.MoveAxis(0, n-2)
	}
	if last {
		x = x.Transpose()
	}
	return x
}

func fusedMatMulOp(c *Call) error {
	x := transposed(c.In(0), c.Bool("transA"), c.Bool("transBatchA"))
	z := transposed(c.In(1), c.Bool("transB"), c.Bool("transBatchB"))
	y := x.MatMul(z)
	if a := c.Float("alpha"); a != 1 {
		y = y.Mul(a)
	}
	c.Set(0, y)
	return nil
}

// fusedActivation applies the activation that a fused operator names.
func fusedActivation(y *sinter.Tensor, name string, params []float64) (*sinter.Tensor, error) {
	param := func(i int, otherwise float64) float64 {
		if i < len(params) {
			return params[i]
		}
		return otherwise
	}
	switch strings.ToLower(name) {
	case "":
		return y, nil
	case "relu":
		return y.Relu(), nil
	case "tanh":
		return y.Tanh(), nil
	case "sigmoid":
		return y.Sigmoid(), nil
	case "gelu":
		return y.Gelu(), nil
	case "leakyrelu":
		return y.LeakyRelu(param(0, 0.01)), nil
	case "clip":
		return y.Clamp(param(0, -3.4028234663852886e38), param(1, 3.4028234663852886e38)), nil
	case "hardsigmoid":
		return y.Mul(param(0, 0.2)).Add(param(1, 0.5)).Clamp(0, 1), nil
	case "hardswish":
		return y.HardSwish(), nil
	}
	return nil, fmt.Errorf("the activation %q is not supported", name)
}

func fusedGemmOp(c *Call) error {
	x, z := c.In(0), c.In(1)
	if c.Bool("transA") {
		x = x.Transpose()
	}
	if c.Bool("transB") {
		z = z.Transpose()
	}
	y := x.MatMul(z)
	if a := c.Float("alpha"); a != 1 {
		y = y.Mul(a)
	}
	if c.Has(2) {
		b := c.In(2)
		if f := c.Float("beta"); f != 1 {
			b = b.Mul(f)
		}
		y = y.Add(b)
	}
	var params []float64
	for _, name := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if !c.HasAttr(name) {
			break
		}
		params = append(params, c.Float(name))
	}
	y, err := fusedActivation(y, c.Str("activation"), params)
	if err == nil {
		c.Set(0, y)
	}
	return err
}

func fusedConvOp(c *Call) error {
	y, err := c.conv(c.In(0), c.In(1))
	if err != nil {
		return err
	}
	y = addOpt(addChannels(y, c.InOpt(2)), c.InOpt(3))
	if y, err = fusedActivation(y, c.Str("activation"), c.Floats("activation_params")); err == nil {
		c.Set(0, y)
	}
	return err
}

// skipNorm normalises the sum of the first two inputs and a bias, by a row of
// normalisation over the last axis, with the weights after them.
func (c *Call) skipNorm(row string, bias *sinter.Tensor) error {
	sum := addOpt(c.In(0).Add(c.In(1)), bias)
	in := []*sinter.Tensor{sum, c.In(2)}
	if row == "layer_norm" {
		beta := c.InOpt(3)
		if beta == nil {
			beta = c.Full(0, sum.DType())
		}
		in = append(in, beta)
	}
	eps := c.Float("epsilon")
	c.Set(0, normRow(row, []int{-1}, eps, in...))
	wide, over := sum.Cast(sinter.F32), sinter.Over(-1).KeepDims()
	if c.Wants(1) {
		c.Set(1, wide.Mean(over))
	}
	if c.Wants(2) {
		spread := wide.Square().Mean(over)
		if row == "layer_norm" {
			spread = wide.Variance(0, over)
		}
		c.Set(2, spread.Add(eps).Rsqrt())
	}
	if c.Wants(3) {
		c.Set(3, sum)
	}
	return nil
}

// embedNormOp normalises the sum of the embeddings of words, positions and
// segments.
func embedNormOp(c *Call) error {
	ids := c.Shape(0)
	if len(ids) != 2 {
		return fmt.Errorf("the ids have shape %v, expected 2 axes", ids)
	}
	look := func(table, index *sinter.Tensor) *sinter.Tensor { return table.Gather(0, index.Cast(sinter.I64)) }
	sum := look(c.In(2), c.In(0))
	if c.Has(8) {
		sum = sum.Add(look(c.In(3), c.In(8)))
	} else {
		sum = sum.Add(c.In(3).Slice(sinter.Until(ids[1])))
	}
	if c.Has(1) && c.Has(4) {
		sum = sum.Add(look(c.In(4), c.In(1)))
	}
	c.Set(0, normRow("layer_norm", []int{-1}, c.Float("epsilon"), sum, c.In(5), c.In(6)))
	if c.Wants(1) {
		if c.Has(7) {
			c.Set(1, c.In(7).Eq(1).Cast(sinter.I32).Sum(sinter.Over(1)).Cast(sinter.I32))
		} else {
			c.Set(1, c.Full(0, sinter.I32, ids[0]))
		}
	}
	if c.Wants(2) {
		c.Set(2, sum)
	}
	return nil
}

// groupNormNHWC normalises groups of channels, which are the last axis unless the
// attribute says otherwise.
func (c *Call) groupNormNHWC(x *sinter.Tensor) (*sinter.Tensor, error) {
	last := c.Bool("channels_last")
	if last {
		x = x.MoveAxis(-1, 1)
	}
	t := wider(x, c.In(1), c.In(2))
	y := fn.GroupNorm(t[0], c.Int("groups"), t[1], t[2], c.Float("epsilon")).Cast(x.DType())
	switch a := c.Int("activation"); a {
	case 0:
	case 1:
		y = y.Silu()
	default:
		return nil, fmt.Errorf("the attribute activation is %d", a)
	}
	if last {
		y = y.MoveAxis(1, -1)
	}
	return y, nil
}

// biasSoftmaxOp is softmax over all axes from one on, of a sum. The bias
// broadcasts over axes just before those, or over the first axes.
func biasSoftmaxOp(c *Call) error {
	x, b := c.In(0), c.In(1)
	shape := c.Shape(0)
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	if c.Bool("is_inner_broadcast") { // the bias has the axes of a batch, then those of the softmax
		bs := b.Shape()
		rest := len(shape) - axis
		if lead := len(bs) - rest; lead >= 0 && len(bs) < len(shape) {
			full := append([]int{}, bs[:lead]...)
			for len(full) < axis {
				full = append(full, 1)
			}
			b = b.Reshape(append(full, bs[lead:]...)...)
		}
	}
	y := x.Add(b)
	outer := product(shape[:axis])
	c.Set(0, y.Reshape(outer, product(shape[axis:])).Softmax(1).Reshape(shape...))
	return nil
}
