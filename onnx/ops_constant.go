package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "Constant", out: one, run: constantOp, host: constantOp, attrs: []attrSpec{
		plainAttr("value", AttrTensor), plainAttr("sparse_value", AttrSparse),
		plainAttr("value_float", AttrFloat), plainAttr("value_floats", AttrFloats),
		plainAttr("value_int", AttrInt), plainAttr("value_ints", AttrInts),
		plainAttr("value_string", AttrString), plainAttr("value_strings", AttrStrings),
	}},
	opDef{name: "Identity", in: one, out: one, keeps: true, run: identityOp, host: identityOp},
	opDef{name: "Shape", in: one, out: one, narrow: true, run: shapeOp, host: shapeOp,
		attrs: []attrSpec{intAttr("start", 0), plainAttr("end", AttrInt)}},
	opDef{name: "Size", in: one, out: one, narrow: true, run: sizeOp, host: sizeOp},
)

func constantOp(c *Call) error {
	for name, a := range c.step.attrs {
		switch name {
		case "value":
			if a.Tensor.Elem == String {
				v, err := stringsValue(a.Tensor)
				if err != nil {
					return err
				}
				c.SetValue(0, v)
				return nil
			}
			arr, err := a.Tensor.Array()
			if err != nil {
				return err
			}
			c.SetValue(0, ArrayValue(a.Tensor.Elem, arr))
		case "sparse_value":
			v, err := a.Sparse.dense()
			if err != nil {
				return err
			}
			c.SetValue(0, v)
		case "value_float":
			c.SetHost(0, &Host{Elem: Float, Shape: []int{}, Floats: []float64{float64(a.Float)}})
		case "value_floats":
			h := &Host{Elem: Float, Shape: []int{len(a.Floats)}}
			for _, v := range a.Floats {
				h.Floats = append(h.Floats, float64(v))
			}
			c.SetHost(0, h)
		case "value_int":
			c.SetHost(0, &Host{Elem: Int64, Shape: []int{}, Ints: []int64{a.Int}})
		case "value_ints":
			c.SetHost(0, &Host{Elem: Int64, Shape: []int{len(a.Ints)}, Ints: a.Ints})
		case "value_string":
			c.SetHost(0, &Host{Elem: String, Shape: []int{}, Strs: []string{a.Str}})
		case "value_strings":
			c.SetHost(0, &Host{Elem: String, Shape: []int{len(a.Strs)}, Strs: a.Strs})
		}
	}
	if len(c.step.attrs) != 1 {
		return fmt.Errorf("a constant has one value, this one has %d", len(c.step.attrs))
	}
	return nil
}

func identityOp(c *Call) error {
	c.SetValue(0, c.Value(0))
	return nil
}

func shapeOp(c *Call) error {
	shape := c.Shape(0)
	rank := len(shape)
	bound := func(v int) int {
		if v < 0 {
			v += rank
		}
		return min(max(v, 0), rank)
	}
	from, to := bound(c.Int("start")), rank
	if c.HasAttr("end") {
		to = bound(c.Int("end"))
	}
	c.SetHost(0, HostInts(shape[from:max(from, to)]...))
	return nil
}

func sizeOp(c *Call) error {
	c.SetHost(0, &Host{Elem: Int64, Shape: []int{}, Ints: []int64{int64(product(c.Shape(0)))}})
	return nil
}

// reshape and its like take shapes that were worked out by ints.
func reshape(t *sinter.Tensor, shape []int) *sinter.Tensor { return t.Reshape(shape...) }

var _ = register(
	opDef{name: "Reshape", since: 5, in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("allowzero", 0)}, run: func(c *Call) error {
		want, err := c.HostInts(1)
		if err != nil {
			return err
		}
		shape, err := reshaped(c.Shape(0), want, c.Bool("allowzero"))
		if err != nil {
			return err
		}
		c.Set(0, reshape(c.In(0), shape))
		return nil
	}},
)

// reshaped works out the shape that Reshape gives: 0 takes the extent of the
// same axis (unless zeros are allowed), -1 what is left.
func reshaped(from, want []int, zeros bool) ([]int, error) {
	shape := append([]int{}, want...)
	rest, known := -1, 1
	for i, d := range shape {
		switch {
		case d == 0 && !zeros:
			if i >= len(from) {
				return nil, fmt.Errorf("the shape %v takes extent %d of a tensor with %d axes", want, i, len(from))
			}
			shape[i] = from[i]
		case d == -1 && rest < 0:
			rest = i
			continue
		case d < 0:
			return nil, fmt.Errorf("the shape %v cannot be worked out", want)
		}
		known *= shape[i]
	}
	if rest >= 0 {
		if known == 0 {
			return nil, fmt.Errorf("the shape %v cannot be worked out for %v", want, from)
		}
		shape[rest] = product(from) / known
	}
	return shape, nil
}
