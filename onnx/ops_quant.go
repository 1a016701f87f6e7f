package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

var _ = register(
	opDef{name: "QuantizeLinear", since: 10, in: arity{2, 3}, out: one, narrow: true, run: quantizeOp, attrs: []attrSpec{intAttr("axis", 1),
		intAttr("block_size", 0), intAttr("output_dtype", 0), intAttr("precision", 0), intAttr("saturate", 1)}},
	opDef{name: "DequantizeLinear", since: 10, in: arity{2, 3}, out: one, narrow: true, run: dequantizeOp,
		attrs: []attrSpec{intAttr("axis", 1), intAttr("block_size", 0), intAttr("output_dtype", 0)}},
	opDef{name: "DynamicQuantizeLinear", since: 11, in: one, out: arity{1, 3}, run: dynamicQuantizeOp},
	opDef{name: "MatMulInteger", since: 10, in: arity{2, 4}, out: one, run: func(c *Call) error {
		y, err := c.matMulInteger(0, 1, 2, 3)
		if err == nil {
			c.Set(0, y)
		}
		return err
	}},
	opDef{name: "QLinearMatMul", since: 10, in: arity{8, 8}, out: one, run: qLinearMatMulOp},
	opDef{name: "QLinearConv", since: 10, in: arity{8, 9}, out: one, run: qLinearConvOp, attrs: windowAttrs(intAttr("group", 1))},
)

// wholeRange returns the least and greatest value of an integer type.
func wholeRange(e Elem) (low, high int, ok bool) {
	if bits, signed, narrow := wholeBits(e); narrow {
		if signed {
			return -1 << (bits - 1), 1<<(bits-1) - 1, true
		}
		return 0, 1<<bits - 1, true
	}
	switch e {
	case Uint8:
		return 0, 255, true
	case Int8:
		return -128, 127, true
	case Uint16:
		return 0, 65535, true
	case Int16:
		return -32768, 32767, true
	}
	return 0, 0, false
}

// quantized is x / scale (nil: 1) rounded, shifted by the zero point (nil: 0) and
// limited to an element type. x and scale are f32, or f64.
func (c *Call) quantized(x, scale, zero *sinter.Tensor, to Elem, saturate bool) (*sinter.Tensor, error) {
	if to.Narrow() && to.DType() == sinter.F32 {
		if scale != nil {
			x = x.Div(scale)
		}
		if zero != nil {
			x = x.Add(zero.Cast(x.DType()))
		}
		return toNarrow(x.Cast(sinter.F32), to, rounding{saturate: saturate, mode: "up"})
	}
	low, high, ok := wholeRange(to)
	if !ok {
		return nil, fmt.Errorf("quantization to %s is not supported", to)
	}
	if scale == nil {
		scale = c.Full(1, sinter.F32)
	}
	if zero == nil {
		zero = c.Full(0, to.DType())
	}
	return sinter.Apply("quantize", []*sinter.Tensor{x, scale, zero}, ir.A("dtype", to.DType(), "low", low, "high", high)...)[0], nil
}

// perBlock shapes a scale or zero point to broadcast to a shape: one number, one
// for each position of an axis, or one for each block of block positions of it.
func perBlock(t *sinter.Tensor, shape []int, axis, block int) (*sinter.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	switch {
	case block == 0 && t.Size() == 1:
		return t.Reshape(), nil
	case block == 0 && t.Rank() == 1:
		a, err := Axis(axis, len(shape))
		if err != nil {
			return nil, err
		}
		if t.Dim(0) != shape[a] {
			return nil, fmt.Errorf("%d scales or zero points for axis %d of %v", t.Dim(0), a, shape)
		}
		return alongAxis(t, a, len(shape)), nil
	}
	a, err := Axis(axis, len(shape))
	if err != nil {
		return nil, err
	}
	s := t.Shape()
	if len(s) != len(shape) || block < 0 {
		return nil, fmt.Errorf("scales or zero points of shape %v for the shape %v", s, shape)
	}
	for i, d := range s {
		if i != a && d != shape[i] {
			return nil, fmt.Errorf("scales or zero points of shape %v for the shape %v in blocks along axis %d", s, shape, a)
		}
	}
	if block == 0 { // of equal blocks
		block = (shape[a] + s[a] - 1) / max(s[a], 1)
	}
	if t = t.Repeat(a, block); s[a]*block < shape[a] || (s[a]-1)*block >= shape[a] && shape[a] > 0 {
		return nil, fmt.Errorf("scales or zero points of shape %v for the shape %v in blocks of %d on axis %d", s, shape, block, a)
	}
	ranges := make([]sinter.Range, a+1)
	for i := range ranges {
		ranges[i] = sinter.All()
	}
	ranges[a] = sinter.Until(shape[a])
	return t.Slice(ranges...), nil
}

func quantizeOp(c *Call) error {
	if c.Elem(0).Narrow() || c.Elem(1).Narrow() {
		return fmt.Errorf("quantization of %s by %s is not supported", c.Elem(0), c.Elem(1))
	}
	to := Uint8
	if e := Elem(c.Int("output_dtype")); e != Undefined {
		to = e
	}
	if c.Has(2) {
		to = c.Elem(2)
	}
	shape := c.Shape(0)
	scale, err := perBlock(c.In(1), shape, c.Int("axis"), c.Int("block_size"))
	if err != nil {
		return err
	}
	zero, err := perBlock(c.InOpt(2), shape, c.Int("axis"), c.Int("block_size"))
	if err != nil {
		return err
	}
	in := c.Elem(1).DType() // in which it is divided
	if p := Elem(c.Int("precision")); p != Undefined {
		if in = p.DType(); !in.IsFloat() {
			return fmt.Errorf("the attribute precision is %s", p)
		}
	}
	if !in.IsFloat() {
		return fmt.Errorf("a scale of type %s", c.Elem(1))
	}
	x, scale := c.In(0).Cast(in), scale.Cast(in)
	if in != sinter.F32 && in != sinter.F64 { // the quotient is rounded to it
		x, scale = x.Div(scale).Cast(sinter.F32), nil
	}
	y, err := c.quantized(x, scale, zero, to, c.Bool("saturate"))
	if err != nil {
		return err
	}
	c.SetElem(0, to, y)
	return nil
}

func dequantizeOp(c *Call) error {
	to := c.Elem(1)
	if e := Elem(c.Int("output_dtype")); e != Undefined {
		to = e
	}
	if !to.DType().Valid() || !to.DType().IsFloat() || to.Narrow() {
		return fmt.Errorf("dequantization to %s is not supported", to)
	}
	shape := c.Shape(0)
	scale, err := perBlock(c.In(1), shape, c.Int("axis"), c.Int("block_size"))
	if err != nil {
		return err
	}
	zero, err := perBlock(c.InOpt(2), shape, c.Int("axis"), c.Int("block_size"))
	if err != nil {
		return err
	}
	x := c.In(0)
	if d := x.DType(); d.IsInt() && (d.Bits() <= 16 || zero == nil) {
		if zero == nil {
			zero = c.Full(0, d)
		}
		c.Set(0, sinter.Apply("dequantize", []*sinter.Tensor{x, scale, zero}, ir.A("dtype", to.DType())...)[0])
		return nil
	}
	if x.DType().IsFloat() {
		x = x.Cast(sinter.F32)
		if zero != nil {
			x = x.Sub(zero.Cast(sinter.F32))
		}
	} else { // differences of wide codes are exact in their own type
		x = x.Cast(sinter.I32).Sub(zero.Cast(sinter.I32))
	}
	wide := sinter.F32
	if to == Double {
		wide = sinter.F64
	}
	c.Set(0, x.Cast(wide).Mul(scale.Cast(wide)).Cast(to.DType()))
	return nil
}

// dynamicRange is the scale and the zero point that let u8 hold x and 0.
func dynamicRange(x *sinter.Tensor) (scale, zero *sinter.Tensor) {
	high, low := x.Max().Maximum(0), x.Min().Minimum(0)
	scale = high.Sub(low).Div(255)
	scale = sinter.Where(scale.Eq(0), 1, scale) // of zeros
	zero = low.Neg().Div(scale).Clamp(0, 255).Round().Cast(sinter.U8)
	return scale, zero
}

func dynamicQuantizeOp(c *Call) error {
	x := c.In(0)
	if x.Size() == 0 {
		return fmt.Errorf("the input is empty")
	}
	scale, zero := dynamicRange(x)
	y, err := c.quantized(x, scale, zero, Uint8, true)
	if err != nil {
		return err
	}
	c.Set(0, y)
	c.Set(1, scale)
	c.Set(2, zero)
	return nil
}

// matMulInteger is the product of two quantized inputs, each less its zero
// point, in i32. That of a may be one per row, that of b one per column.
func (c *Call) matMulInteger(a, b, zeroA, zeroB int) (*sinter.Tensor, error) {
	x, z := c.In(a).Cast(sinter.I32), c.In(b).Cast(sinter.I32)
	if c.Has(zeroA) {
		x = x.Sub(onRows(c.In(zeroA)).Cast(sinter.I32))
	}
	if c.Has(zeroB) {
		z = z.Sub(onColumns(c.In(zeroB)).Cast(sinter.I32))
	}
	return x.MatMul(z), nil
}

// onRows shapes parameters to broadcast to matrices: one, one per row, or [...,
// rows, 1] as it is.
func onRows(t *sinter.Tensor) *sinter.Tensor {
	switch {
	case t.Size() == 1:
		return t.Reshape()
	case t.Rank() == 1:
		return t.Unsqueeze(1)
	}
	return t
}

// onColumns is onRows for columns.
func onColumns(t *sinter.Tensor) *sinter.Tensor {
	if t.Size() == 1 {
		return t.Reshape()
	}
	return t
}

func qLinearMatMulOp(c *Call) error {
	y, err := c.matMulInteger(0, 3, 2, 5)
	if err != nil {
		return err
	}
	wide := func(i int) *sinter.Tensor { return c.In(i).Cast(sinter.F32) }
	scale := onRows(wide(1)).Mul(onColumns(wide(4))).Div(onRows(wide(6)))
	q, err := c.quantized(y.Cast(sinter.F32).Mul(scale), nil, onRows(c.In(7)), c.Elem(7), true)
	if err != nil {
		return err
	}
	c.SetElem(0, c.Elem(7), q)
	return nil
}

func qLinearConvOp(c *Call) error {
	x, err := centred(c.In(0), c.In(2), -1)
	if err != nil {
		return err
	}
	w, err := centred(c.In(3), c.In(5), 0)
	if err != nil {
		return err
	}
	y, err := c.conv(x, w)
	if err != nil {
		return err
	}
	y = addChannels(y, c.InOpt(8))
	scale := c.In(1).Reshape().Mul(c.In(4)).Div(c.In(6).Reshape()) // one, or one per channel
	if scale.Size() > 1 {
		scale = alongAxis(scale, 1, y.Rank())
	} else {
		scale = scale.Reshape()
	}
	q, err := c.quantized(y.Cast(sinter.F32).Mul(scale), nil, c.In(7).Reshape(), c.Elem(7), true)
	if err != nil {
		return err
	}
	c.SetElem(0, c.Elem(7), q)
	return nil
}
