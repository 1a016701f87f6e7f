package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/fn"
)

var _ = registerMicrosoft(
	opDef{name: "QuantizeLinear", in: arity{2, 3}, out: one, narrow: true, run: quantizeOp, attrs: []attrSpec{intAttr("axis", 1),
		intAttr("block_size", 0), intAttr("output_dtype", 0), intAttr("precision", 0), intAttr("saturate", 1)}},
	opDef{name: "DequantizeLinear", in: arity{2, 3}, out: one, narrow: true, run: dequantizeOp,
		attrs: []attrSpec{intAttr("axis", 1), intAttr("block_size", 0), intAttr("output_dtype", 0)}},
	opDef{name: "QLinearAdd", in: arity{7, 8}, optional: []int{2, 5}, out: one, run: func(c *Call) error {
		return c.requantize(6, 7, c.dequantized(0, 1, 2).Add(c.dequantized(3, 4, 5)))
	}},
	opDef{name: "QLinearMul", in: arity{7, 8}, optional: []int{2, 5}, out: one, run: func(c *Call) error {
		return c.requantize(6, 7, c.dequantized(0, 1, 2).Mul(c.dequantized(3, 4, 5)))
	}},
	opDef{name: "QLinearSigmoid", in: arity{4, 5}, optional: []int{2}, out: one, run: func(c *Call) error {
		return c.requantize(3, 4, c.dequantized(0, 1, 2).Sigmoid())
	}},
	opDef{name: "QLinearLeakyRelu", in: arity{4, 5}, optional: []int{2}, out: one, attrs: []attrSpec{floatAttr("alpha", 0.01)}, run: func(c *Call) error {
		return c.requantize(3, 4, c.dequantized(0, 1, 2).LeakyRelu(c.Float("alpha")))
	}},
	opDef{name: "QLinearSoftmax", in: arity{5, 5}, optional: []int{2}, out: one, attrs: []attrSpec{intAttr("axis", -1), need("opset", AttrInt)}, run: func(c *Call) error {
		x := c.dequantized(0, 1, 2)
		axis, err := c.AxisAttr(0)
		if err != nil {
			return err
		}
		if c.Int("opset") >= 13 {
			return c.requantize(3, 4, x.Softmax(axis))
		}
		s := c.Shape(0) // of all axes from this one on
		return c.requantize(3, 4, x.Reshape(product(s[:axis]), product(s[axis:])).Softmax(1).Reshape(s...))
	}},
	opDef{name: "QLinearReduceMean", in: arity{4, 5}, optional: []int{2}, out: one, attrs: []attrSpec{need("axes", AttrInts), intAttr("keepdims", 1)}, run: func(c *Call) error {
		over := sinter.Over(c.Ints("axes")...)
		if c.Bool("keepdims") {
			over = over.KeepDims()
		}
		return c.requantize(3, 4, c.dequantized(0, 1, 2).Mean(over))
	}},
	opDef{name: "QLinearAveragePool", in: arity{4, 5}, optional: []int{2}, out: one, run: qLinearAveragePoolOp,
		attrs: windowAttrs(intAttr("ceil_mode", 0), intAttr("count_include_pad", 0), intAttr("channels_last", 0))},
	opDef{name: "QLinearGlobalAveragePool", in: arity{5, 5}, optional: []int{2}, out: one, attrs: []attrSpec{intAttr("channels_last", 0)}, run: func(c *Call) error {
		first := 2
		if c.Bool("channels_last") {
			first = 1
		}
		var axes []int
		for i := range max(len(c.Shape(0))-2, 0) {
			axes = append(axes, first+i)
		}
		if len(axes) == 0 {
			return fmt.Errorf("the input has shape %v, expected axes of space", c.Shape(0))
		}
		return c.requantize(3, 4, c.dequantized(0, 1, 2).Mean(sinter.Over(axes...).KeepDims()))
	}},
	opDef{name: "QLinearConcat", in: arity{5, -1}, out: one, attrs: []attrSpec{need("axis", AttrInt)}, run: func(c *Call) error {
		if (c.NumIn()-2)%3 != 0 {
			return fmt.Errorf("%d inputs: expected a scale and a zero point, then threes of a tensor, its scale and its zero point", c.NumIn())
		}
		var ts []*sinter.Tensor
		for i := 2; i < c.NumIn(); i += 3 {
			ts = append(ts, c.dequantized(i, i+1, i+2))
		}
		return c.requantize(0, 1, sinter.Concat(c.Int("axis"), ts...))
	}},
	opDef{name: "QLinearWhere", in: arity{9, 9}, out: one, run: func(c *Call) error {
		return c.requantize(7, 8, sinter.Where(c.In(0), c.dequantized(1, 2, 3), c.dequantized(4, 5, 6)))
	}},
	opDef{name: "QGemm", in: arity{6, 9}, optional: []int{2, 5}, out: one, run: qGemmOp, attrs: []attrSpec{floatAttr("alpha", 1), intAttr("transA", 0), intAttr("transB", 0)}},
	opDef{name: "MatMulIntegerToFloat", in: arity{4, 7}, out: one, run: func(c *Call) error {
		y, err := c.matMulInteger(0, 1, 4, 5)
		if err != nil {
			return err
		}
		scale := onRows(c.In(2)).Mul(onColumns(c.In(3)))
		c.Set(0, addOpt(y.Cast(scale.DType()).Mul(scale), c.InOpt(6)))
		return nil
	}},
	opDef{name: "DynamicQuantizeMatMul", in: arity{3, 5}, out: one, run: func(c *Call) error {
		x := c.In(0)
		if x.Size() == 0 {
			return fmt.Errorf("the input is empty")
		}
		scale, zero := dynamicRange(x)
		q, err := c.quantized(x, scale, zero, Uint8, true)
		if err != nil {
			return err
		}
		w := c.In(1).Cast(sinter.I32)
		if c.Has(3) {
			w = w.Sub(onColumns(c.In(3)).Cast(sinter.I32))
		}
		y := q.Cast(sinter.I32).Sub(zero.Cast(sinter.I32)).MatMul(w)
		c.Set(0, addOpt(y.Cast(sinter.F32).Mul(scale.Mul(onColumns(c.In(2)))), c.InOpt(4)))
		return nil
	}},
	opDef{name: "MatMulNBits", in: arity{3, 6}, out: one, run: matMulNBitsOp, attrs: []attrSpec{need("K", AttrInt), need("N", AttrInt), intAttr("accuracy_level", 0),
		intAttr("bits", 4), need("block_size", AttrInt), intAttr("weight_prepacked", 0)}},
	opDef{name: "GatherBlockQuantized", in: arity{3, 4}, out: one, narrow: true, run: gatherBlocksOp, attrs: []attrSpec{intAttr("bits", 4), intAttr("block_size", 128),
		intAttr("gather_axis", 0), intAttr("quantize_axis", 1)}},
)

// dequantized returns a quantized input in f32, by one scale and one zero point.
func (c *Call) dequantized(x, scale, zero int) *sinter.Tensor {
	t := c.In(x).Cast(sinter.I32)
	if c.Has(zero) {
		t = t.Sub(c.In(zero).Cast(sinter.I32).Reshape())
	}
	return t.Cast(sinter.F32).Mul(c.In(scale).Reshape())
}

// requantize makes a tensor of f32 the output, by one scale and one zero point;
// without one its type is that of the first quantized input.
func (c *Call) requantize(scale, zero int, y *sinter.Tensor) error {
	to := c.Elem(zero)
	var z *sinter.Tensor
	if c.Has(zero) {
		z = c.In(zero).Reshape()
	} else {
		to = c.Elem(0)
	}
	q, err := c.quantized(y, c.In(scale).Reshape(), z, to, true)
	if err == nil {
		c.SetElem(0, to, q)
	}
	return err
}

func qLinearAveragePoolOp(c *Call) error {
	last := c.Bool("channels_last")
	x := c.dequantized(0, 1, 2)
	if x.Err() != nil || x.Rank() < 3 {
		return firstError(fmt.Errorf("the input has shape %v, expected axes of space after batch and channels", x.Shape()), x)
	}
	if last {
		x = x.MoveAxis(-1, 1)
	}
	w, err := c.windows(space(x), nil)
	if err != nil {
		return err
	}
	y := fn.AvgPool(x, fn.PoolOptions{Kernel: w.kernel, Stride: w.stride, Dilation: w.dilation, Pad: w.pad,
		Ceil: c.Bool("ceil_mode"), IncludePad: c.Bool("count_include_pad")})
	if last {
		y = y.MoveAxis(1, -1)
	}
	return c.requantize(3, 4, y)
}

// qGemmOp is a product of quantized matrices, whose result is quantized too if it
// has a scale.
func qGemmOp(c *Call) error {
	a, b := c.In(0).Cast(sinter.I32), c.In(3).Cast(sinter.I32)
	if c.Has(2) {
		a = a.Sub(c.In(2).Cast(sinter.I32).Reshape())
	}
	if c.Bool("transA") {
		a = a.Transpose()
	}
	if c.Bool("transB") {
		b = b.Transpose()
	}
	if c.Has(5) { // one, or one per column
		b = b.Sub(onColumns(c.In(5)).Cast(sinter.I32))
	}
	y := a.MatMul(b)
	if c.Has(6) {
		y = y.Add(c.In(6))
	}
	f := y.Cast(sinter.F32).Mul(c.In(1).Reshape().Mul(onColumns(c.In(4))).Mul(c.Float("alpha")))
	if !c.Has(7) {
		c.Set(0, f)
		return nil
	}
	return c.requantize(7, 8, f)
}

// unpacked takes numbers of a few bits out of u8, along the last axis, the low
// bits first.
func unpacked(x *sinter.Tensor, bits int) (*sinter.Tensor, error) {
	if bits == 8 {
		return x, nil
	}
	if bits != 2 && bits != 4 {
		return nil, fmt.Errorf("the attribute bits is %d, expected 2, 4 or 8", bits)
	}
	if x.Err() != nil || x.DType() != sinter.U8 {
		return nil, firstError(fmt.Errorf("packed numbers of type %s, expected u8", x.DType()), x)
	}
	return sinter.Apply("unpack_bits", []*sinter.Tensor{x}, ir.A("bits", bits, "size", x.Dim(-1)*8/bits)...)[0], nil
}

// matMulNBitsOp multiplies by weights of a few bits, [n, blocks, packed block],
// with a scale and a zero point for each block.
func matMulNBitsOp(c *Call) error {
	k, n, block, bits := c.Int("K"), c.Int("N"), c.Int("block_size"), c.Int("bits")
	if k < 1 || n < 1 || block < 1 || k > maxExtent || n > maxExtent || block > maxExtent {
		return fmt.Errorf("weights of %d by %d in blocks of %d", n, k, block)
	}
	if c.Int("weight_prepacked") != 0 {
		return fmt.Errorf("weights that are packed for one kind of device are not supported")
	}
	if c.Has(4) {
		return fmt.Errorf("the input g_idx is not supported")
	}
	blocks := (k + block - 1) / block
	x := c.In(0)
	wide := x.DType()
	w, err := unpacked(c.In(1), bits)
	if err != nil {
		return err
	}
	if w.Size() != n*blocks*block {
		return fmt.Errorf("weights of shape %v hold %d numbers of %d bits, expected %d", c.Shape(1), w.Size(), bits, n*blocks*block)
	}
	scale := c.In(2).Reshape(n, blocks, 1)
	f := w.Reshape(n, blocks, block)
	if c.Has(3) && c.Elem(3) != Uint8 {
		f = f.Cast(wide).Sub(c.In(3).Reshape(n, blocks, 1).Cast(wide)).Mul(scale.Cast(wide))
	} else {
		z := c.Full(1<<(bits-1), sinter.U8)
		if c.Has(3) {
			if z, err = unpacked(c.In(3).Reshape(n, -1), bits); err != nil {
				return err
			}
			z = z.Slice(sinter.All(), sinter.Until(blocks)).Reshape(n, blocks, 1)
		}
		f = sinter.Apply("dequantize", []*sinter.Tensor{f, scale, z}, ir.A("dtype", wide)...)[0]
	}
	f = f.Reshape(n, blocks*block).Slice(sinter.All(), sinter.Until(k))
	c.Set(0, addOpt(x.MatMul(f.Transpose()), c.InOpt(5)))
	return nil
}

// gatherBlocksOp picks slices of data that is quantized in blocks, and
// dequantizes them.
func gatherBlocksOp(c *Call) error {
	data, scale := c.In(0), c.In(2)
	block := c.Int("block_size")
	zero := c.InOpt(3)
	otherwise := 0 // the zero point of those that have none
	var err error
	if c.Elem(0) == Uint8 {
		bits := c.Int("bits")
		if data, err = unpacked(data, bits); err != nil {
			return err
		}
		if zero != nil {
			if zero, err = unpacked(zero, bits); err != nil {
				return err
			}
		}
		otherwise = 1 << (bits - 1)
	}
	if data.Err() != nil {
		return data.Err()
	}
	rank := data.Rank()
	axis, err := Axis(c.Int("gather_axis"), rank)
	if err != nil {
		return err
	}
	along, err := Axis(c.Int("quantize_axis"), rank)
	if err != nil {
		return err
	}
	if along == axis || block < 1 {
		return fmt.Errorf("slices along axis %d of blocks of %d along axis %d", axis, block, along)
	}
	index := c.In(1).Cast(sinter.I64)
	if along > axis { // where the axis is in what is gathered
		along += index.Rank() - 1
	}
	y := data.Gather(axis, index).Cast(sinter.I32)
	shape := y.Shape()
	spread := func(t *sinter.Tensor) (*sinter.Tensor, error) {
		return perBlock(t.Gather(axis, index), shape, along, block)
	}
	if zero != nil {
		if s := scale.Shape(); zero.Rank() == len(s) && zero.Dim(-1) > s[len(s)-1] { // padding of the last byte
			ranges := make([]sinter.Range, len(s))
			for i, d := range s {
				ranges[i] = sinter.Until(d)
			}
			zero = zero.Slice(ranges...)
		}
		z, err := spread(zero)
		if err != nil {
			return err
		}
		y = y.Sub(z.Cast(sinter.I32))
	} else if otherwise != 0 {
		y = y.Sub(otherwise)
	}
	s, err := spread(scale)
	if err != nil {
		return err
	}
	c.Set(0, y.Cast(sinter.F32).Mul(s.Cast(sinter.F32)).Cast(scale.DType()))
	return nil
}
