package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "Constant", out: one, run: constantOp, host: constantOp, attrs: []attrSpec{
		plainAttr("value", AttrTensor), plainAttr("sparse_value", AttrSparse),
		plainAttr("value_float", AttrFloat), plainAttr("value_floats", AttrFloats),
		plainAttr("value_int", AttrInt), plainAttr("value_ints", AttrInts),
		plainAttr("value_string", AttrString), plainAttr("value_strings", AttrStrings),
	}},
	opDef{name: "ConstantOfShape", since: 9, in: one, out: one, attrs: []attrSpec{plainAttr("value", AttrTensor)}, run: constantOfShapeOp, host: constantOfShapeOp},
	opDef{name: "EyeLike", since: 9, in: one, out: one, attrs: []attrSpec{plainAttr("dtype", AttrInt), intAttr("k", 0)}, run: eyeLikeOp},
	opDef{name: "Range", since: 11, in: three, out: one, run: rangeOp, host: rangeOp},
	opDef{name: "OneHot", since: 9, in: three, out: one, attrs: []attrSpec{intAttr("axis", -1)}, run: oneHotOp},
)

func constantOp(c *Call) error {
	if len(c.step.attrs) != 1 {
		return fmt.Errorf("a constant has one value, this one has %d", len(c.step.attrs))
	}
	for name, a := range c.step.attrs {
		v, err := constantOf(name, a)
		if err != nil {
			return err
		}
		c.SetValue(0, v)
	}
	return nil
}

// constantOf returns the value of one attribute of Constant.
func constantOf(name string, a *Attr) (*Value, error) {
	switch name {
	case "value":
		return a.Tensor.Value()
	case "sparse_value":
		if a.Sparse == nil {
			return nil, fmt.Errorf("the attribute %s is empty", name)
		}
		return a.Sparse.dense()
	case "value_float":
		return HostValue(&Host{Elem: Float, Shape: []int{}, Floats: []float64{float64(a.Float)}}), nil
	case "value_floats":
		h := &Host{Elem: Float, Shape: []int{len(a.Floats)}, Floats: make([]float64, len(a.Floats))}
		for i, v := range a.Floats {
			h.Floats[i] = float64(v)
		}
		return HostValue(h), nil
	case "value_int":
		return HostValue(&Host{Elem: Int64, Shape: []int{}, Ints: []int64{a.Int}}), nil
	case "value_ints":
		return HostValue(&Host{Elem: Int64, Shape: []int{len(a.Ints)}, Ints: a.Ints}), nil
	case "value_string":
		return HostValue(&Host{Elem: String, Shape: []int{}, Strs: []string{a.Str}}), nil
	}
	return HostValue(&Host{Elem: String, Shape: []int{len(a.Strs)}, Strs: a.Strs}), nil
}

func constantOfShapeOp(c *Call) error {
	shape, err := c.HostInts(0)
	if err != nil {
		return err
	}
	value := &Host{Elem: Float, Shape: []int{1}, Floats: []float64{0}}
	if a := c.Attr("value"); a != nil {
		v, err := a.Tensor.Value()
		if err != nil {
			return err
		}
		if value = v.host; value == nil || value.Size() != 1 {
			return fmt.Errorf("the value has %d elements, expected 1", v.Size())
		}
	}
	dims := make([]int64, len(shape))
	for i, d := range shape {
		dims[i] = int64(d)
	}
	_, size, err := shapeOf(dims)
	if err != nil {
		return err
	}
	if size <= hostLimit {
		c.SetHost(0, value.pick(shape, make([]int, size)))
		return nil
	}
	if c.scope == nil {
		return errNotHost
	}
	if value.Elem == String {
		return fmt.Errorf("%d strings are too many", size)
	}
	if value.IsFloat() {
		c.SetElem(0, value.Elem, c.Full(value.Floats[0], value.Elem.DType(), shape...))
	} else {
		c.SetElem(0, value.Elem, c.Own(c.HostTensor(value).Reshape().Expand(shape...)))
	}
	return nil
}

func eyeLikeOp(c *Call) error {
	shape := c.Shape(0)
	if len(shape) != 2 {
		return fmt.Errorf("input 0 has %d axes, expected 2", len(shape))
	}
	e := c.Elem(0)
	if c.HasAttr("dtype") {
		e = Elem(c.Int("dtype"))
	}
	if !e.DType().Valid() || e.Narrow() {
		return fmt.Errorf("a matrix of %s is not supported", e)
	}
	rows := c.Arange(shape[0], sinter.I64).Reshape(shape[0], 1)
	y := c.Arange(shape[1], sinter.I64).Eq(rows.Add(c.Int("k")))
	c.Set(0, y.Cast(e.DType()))
	return nil
}

// rangeOp makes start, start+delta, ... before limit.
func rangeOp(c *Call) error {
	e := c.Elem(0)
	if c.Elem(1) != e || c.Elem(2) != e {
		return fmt.Errorf("start, limit and delta are of types %s, %s and %s", e, c.Elem(1), c.Elem(2))
	}
	var v [3]*Host
	for i := range v {
		h, err := c.Host(i)
		if err != nil {
			return err
		}
		if h.Size() != 1 {
			return fmt.Errorf("input %d has %d elements, expected 1", i, h.Size())
		}
		v[i] = h
	}
	if v[0].IsFloat() {
		return floatRange(c, e, v[0].Floats[0], v[1].Floats[0], v[2].Floats[0])
	}
	start, limit, delta := v[0].Ints[0], v[1].Ints[0], v[2].Ints[0]
	n := uint64(0)
	switch {
	case delta == 0:
		return fmt.Errorf("the step is 0")
	case delta > 0 && limit > start:
		n = (uint64(limit)-uint64(start)-1)/uint64(delta) + 1
	case delta < 0 && limit < start:
		n = (uint64(start)-uint64(limit)-1)/-uint64(delta) + 1
	}
	if n > hostLimit {
		if c.scope == nil {
			return errNotHost
		}
		c.Set(0, c.Own(c.Of().Arange(int(start), int(limit), int(delta), e.DType())))
		return nil
	}
	h := &Host{Elem: e, Shape: []int{int(n)}, Ints: make([]int64, n)}
	for i := range h.Ints {
		h.Ints[i] = wrap(e, start+int64(i)*delta)
	}
	c.SetHost(0, h)
	return nil
}

func floatRange(c *Call, e Elem, start, limit, delta float64) error {
	if delta == 0 || math.IsNaN(start+limit+delta) || math.IsInf(start+limit, 0) {
		return fmt.Errorf("from %v to %v in steps of %v", start, limit, delta)
	}
	n := max(math.Ceil((limit-start)/delta), 0)
	if n <= hostLimit {
		h := &Host{Elem: e, Shape: []int{int(n)}, Floats: make([]float64, int(n))}
		for i := range h.Floats {
			h.Floats[i] = round(e, start+float64(i)*delta)
		}
		c.SetHost(0, h)
		return nil
	}
	if c.scope == nil {
		return errNotHost
	}
	c.Set(0, c.Own(c.Of().ArangeFloat(start, limit, delta, e.DType())))
	return nil
}

func oneHotOp(c *Call) error {
	depth, err := c.HostFloat(1)
	if err != nil {
		return err
	}
	n := int(depth)
	if n < 0 || float64(n) != depth {
		return fmt.Errorf("the depth is %v", depth)
	}
	values := c.In(2)
	if values.Rank() != 1 || values.Dim(0) != 2 {
		return fmt.Errorf("the values have the shape %v, expected [2]", values.Shape())
	}
	x := c.In(0).Cast(sinter.I64)
	axis, err := Axis(c.Int("axis"), x.Rank()+1)
	if err != nil {
		return err
	}
	x = sinter.Where(x.Lt(0), x.Add(n), x)
	hot := x.OneHot(n, sinter.Bool)
	c.Set(0, sinter.Where(hot, values.At(0, 1), values.At(0, 0)).MoveAxis(-1, axis))
	return nil
}
