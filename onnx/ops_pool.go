package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

var _ = register(
	opDef{name: "AveragePool", in: one, out: one, attrs: windowAttrs(intAttr("ceil_mode", 0), intAttr("count_include_pad", 0)), run: func(c *Call) error {
		o, err := c.pool()
		if err != nil {
			return err
		}
		o.IncludePad = c.Bool("count_include_pad")
		c.Set(0, fn.AvgPool(c.In(0), o))
		return nil
	}},
	opDef{name: "MaxPool", in: one, out: oneTwo, attrs: windowAttrs(intAttr("ceil_mode", 0), intAttr("storage_order", 0)), run: maxPoolOp},
	opDef{name: "LpPool", in: one, out: one, attrs: windowAttrs(intAttr("ceil_mode", 0), intAttr("p", 2)), run: func(c *Call) error {
		o, err := c.pool()
		if err != nil {
			return err
		}
		o.Divisor = 1
		p, err := c.power()
		if err != nil {
			return err
		}
		c.Set(0, root(fn.AvgPool(powers(c.In(0), p), o), p))
		return nil
	}},
	opDef{name: "GlobalAveragePool", in: one, out: one, run: func(c *Call) error {
		over, err := c.overSpace()
		if err != nil {
			return err
		}
		c.Set(0, c.In(0).Mean(over))
		return nil
	}},
	opDef{name: "GlobalMaxPool", in: one, out: one, run: func(c *Call) error {
		over, err := c.overSpace()
		if err != nil {
			return err
		}
		c.Set(0, c.In(0).Max(over))
		return nil
	}},
	opDef{name: "GlobalLpPool", in: one, out: one, attrs: []attrSpec{intAttr("p", 2)}, run: func(c *Call) error {
		over, err := c.overSpace()
		if err != nil {
			return err
		}
		p, err := c.power()
		if err != nil {
			return err
		}
		c.Set(0, root(powers(c.In(0), p).Sum(over), p))
		return nil
	}},
	opDef{name: "MaxUnpool", since: 9, in: arity{2, 3}, out: one, run: maxUnpoolOp,
		attrs: []attrSpec{need("kernel_shape", AttrInts), plainAttr("pads", AttrInts), plainAttr("strides", AttrInts)}},
	opDef{name: "MaxRoiPool", in: two, out: one, run: maxRoiPoolOp,
		attrs: []attrSpec{need("pooled_shape", AttrInts), floatAttr("spatial_scale", 1)}},
)

// pool reads the attributes of pooling input 0.
func (c *Call) pool() (fn.PoolOptions, error) {
	s := c.Shape(0)
	if len(s) < 3 {
		return fn.PoolOptions{}, fmt.Errorf("the input has shape %v, expected axes of space after batch and channels", s)
	}
	w, err := c.windows(s[2:], nil)
	return fn.PoolOptions{Kernel: w.kernel, Stride: w.stride, Dilation: w.dilation, Pad: w.pad, Ceil: c.Bool("ceil_mode")}, err
}

// overSpace are the axes after batch and channels, to be kept with extent 1.
func (c *Call) overSpace() (sinter.Axes, error) {
	axes := []int{}
	for i := 2; i < len(c.Shape(0)); i++ {
		axes = append(axes, i)
	}
	if len(axes) == 0 {
		return sinter.Axes{}, fmt.Errorf("the input has shape %v, expected axes of space after batch and channels", c.Shape(0))
	}
	return sinter.Over(axes...).KeepDims(), nil
}

// power reads the exponent of a norm.
func (c *Call) power() (int, error) {
	p := c.Int("p")
	if p < 1 {
		return 0, fmt.Errorf("the attribute p is %d, expected at least 1", p)
	}
	return p, nil
}

// powers is |x| to the power p.
func powers(x *sinter.Tensor, p int) *sinter.Tensor {
	switch p {
	case 1:
		return x.Abs()
	case 2:
		return x.Square()
	}
	return x.Abs().Pow(p)
}

// root is the inverse of powers.
func root(x *sinter.Tensor, p int) *sinter.Tensor {
	switch p {
	case 1:
		return x
	case 2:
		return x.Sqrt()
	}
	return x.Pow(1 / float64(p))
}

func maxPoolOp(c *Call) error {
	o, err := c.pool()
	if err != nil {
		return err
	}
	x := c.In(0)
	if !c.Wants(1) {
		c.Set(0, fn.MaxPool(x, o))
		return nil
	}
	y, index := fn.MaxPoolIndices(x, o)
	c.Set(0, y)
	if y.Err() != nil {
		return y.Err()
	}
	s := x.Shape()
	if c.Bool("storage_order") { // column-major within the axes of space
		sp := s[2:]
		rest, column := index, (*sinter.Tensor)(nil)
		for a := len(sp) - 1; a >= 0; a-- {
			at := rest.Mod(sp[a])
			rest = rest.FloorDiv(sp[a])
			if column == nil {
				column = at
			} else {
				column = column.Mul(sp[a]).Add(at)
			}
		}
		index = column
	}
	// ONNX counts from the first element of the whole tensor.
	planes := c.Arange(s[0]*s[1], sinter.I64).Mul(product(s[2:]))
	ones := make([]int, len(s))
	for i := range ones {
		ones[i] = 1
	}
	ones[0], ones[1] = s[0], s[1]
	c.Set(1, index.Add(planes.Reshape(ones...)))
	return nil
}

func maxUnpoolOp(c *Call) error {
	x := c.In(0)
	s := c.Shape(0)
	if len(s) < 3 || fmt.Sprint(s) != fmt.Sprint(c.Shape(1)) {
		return fmt.Errorf("elements of shape %v at indices of shape %v", s, c.Shape(1))
	}
	w, err := c.windows(s[2:], nil)
	if err != nil {
		return err
	}
	n := len(s) - 2
	full := append([]int{}, s[:2]...)
	for i, d := range s[2:] {
		full = append(full, (d-1)*w.stride[i]+w.kernel[i]-w.pad[i]-w.pad[n+i])
	}
	for _, d := range full {
		if d < 0 {
			return fmt.Errorf("the result would have shape %v", full)
		}
	}
	flat := c.Full(0, x.DType(), product(full))
	y := flat.PutAlong(0, c.In(1).Cast(sinter.I64).Flatten(), x.Flatten(), sinter.PutReplace).Reshape(full...)
	if c.Has(2) {
		want, err := c.HostInts(2)
		if err != nil {
			return err
		}
		if len(want) != len(full) {
			return fmt.Errorf("the output shape is %v, expected %d extents", want, len(full))
		}
		pads := make([][2]int, len(want))
		for i, d := range want {
			pads[i][1] = d - full[i]
		}
		y = y.Pad(0, pads...)
	}
	c.Set(0, y)
	return nil
}

// maxRoiPoolOp takes the greatest elements of the cells of regions. A cell is a
// range of rows and one of columns, so the greatest is taken along one axis after
// the other, of what lies within the ranges.
func maxRoiPoolOp(c *Call) error {
	s, r := c.Shape(0), c.Shape(1)
	pooled := c.Ints("pooled_shape")
	if len(s) != 4 || len(r) != 2 || r[1] != 5 || len(pooled) != 2 || pooled[0] < 1 || pooled[1] < 1 {
		return fmt.Errorf("regions of shape %v of an image of shape %v, pooled to %v", r, s, pooled)
	}
	rois, err := c.HostFloats(1)
	if err != nil {
		return err
	}
	scale := c.Float("spatial_scale")
	n := r[0]
	if err := hostRoom(n, pooled[0], s[2]); err != nil {
		return err
	}
	if err := hostRoom(n, pooled[1], s[3]); err != nil {
		return err
	}
	images := make([]int64, n)
	for i := range n {
		images[i] = int64(rois[5*i])
		if images[i] < 0 || int(images[i]) >= s[0] {
			return fmt.Errorf("region %d is of image %v of %d", i, rois[5*i], s[0])
		}
	}
	y := c.In(0).Gather(0, c.HostTensor(&Host{Elem: Int64, Shape: []int{n}, Ints: images}))
	low := math.Inf(-1)
	for a := range 2 { // rows are y: columns 2 and 4 of the regions
		extent, cells := s[2+a], pooled[a]
		mask := make([]int64, n*cells*extent)
		for i := range n {
			from := int(math.Round(rois[5*i+2-a] * scale))
			to := int(math.Round(rois[5*i+4-a] * scale))
			bin := float64(max(to-from+1, 1)) / float64(cells)
			for k := range cells {
				lo := min(max(int(math.Floor(float64(k)*bin))+from, 0), extent)
				hi := min(max(int(math.Ceil(float64(k+1)*bin))+from, 0), extent)
				for j := lo; j < hi; j++ {
					mask[(i*cells+k)*extent+j] = 1
				}
			}
		}
		shape, axis := []int{n, 1, cells, extent, 1}, 3
		y = y.Unsqueeze(2 + a)
		if a == 1 {
			shape, axis = []int{n, 1, 1, cells, extent}, 4
		}
		m := c.HostTensor(&Host{Elem: Bool, Shape: []int{len(mask)}, Ints: mask}).Reshape(shape...)
		y = sinter.Where(m, y, low).Max(sinter.Over(axis))
	}
	c.Set(0, sinter.Where(y.Eq(low), 0, y)) // an empty cell
	return nil
}
