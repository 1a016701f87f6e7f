package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var argAttrs = []attrSpec{intAttr("axis", 0), intAttr("keepdims", 1), intAttr("select_last_index", 0)}
var scanAttrs = []attrSpec{intAttr("exclusive", 0), intAttr("reverse", 0)}

var _ = register(
	opDef{name: "ArgMax", in: one, out: one, attrs: argAttrs, run: func(c *Call) error { return argOp(c, (*sinter.Tensor).ArgMax) }},
	opDef{name: "ArgMin", in: one, out: one, attrs: argAttrs, run: func(c *Call) error { return argOp(c, (*sinter.Tensor).ArgMin) }},
	opDef{name: "TopK", in: one, out: two, attrs: []attrSpec{intAttr("axis", -1), need("k", AttrInt)},
		run: func(c *Call) error { return topK(c, c.Int("k"), true) }},
	opDef{name: "TopK", since: 10, in: two, out: two, attrs: []attrSpec{intAttr("axis", -1), intAttr("largest", 1), intAttr("sorted", 1)},
		run: func(c *Call) error {
			k, err := c.HostInt(1)
			if err != nil {
				return err
			}
			return topK(c, k, c.Bool("largest"))
		}},
	opDef{name: "CumSum", since: 11, in: two, out: one, attrs: scanAttrs, run: func(c *Call) error { return runningOp(c, (*sinter.Tensor).CumSum, 0) }},
	opDef{name: "CumProd", since: 26, in: two, out: one, attrs: scanAttrs, run: func(c *Call) error { return runningOp(c, (*sinter.Tensor).CumProd, 1) }},
	opDef{name: "Hardmax", in: one, out: one, attrs: []attrSpec{intAttr("axis", 1)},
		run: func(c *Call) error {
			return flattened(c, func(x *sinter.Tensor, axis int) *sinter.Tensor { return hardmax(x, axis) })
		}},
	opDef{name: "Hardmax", since: 13, in: one, out: one, attrs: []attrSpec{intAttr("axis", -1)},
		run: func(c *Call) error {
			return along(c, func(x *sinter.Tensor, axis int) *sinter.Tensor { return hardmax(x, axis) })
		}},
	opDef{name: "Softmax", in: one, out: one, attrs: []attrSpec{intAttr("axis", 1)}, run: func(c *Call) error { return flattened(c, (*sinter.Tensor).Softmax) }},
	opDef{name: "Softmax", since: 13, in: one, out: one, attrs: []attrSpec{intAttr("axis", -1)}, run: func(c *Call) error { return along(c, (*sinter.Tensor).Softmax) }},
	opDef{name: "LogSoftmax", in: one, out: one, attrs: []attrSpec{intAttr("axis", 1)}, run: func(c *Call) error { return flattened(c, (*sinter.Tensor).LogSoftmax) }},
	opDef{name: "LogSoftmax", since: 13, in: one, out: one, attrs: []attrSpec{intAttr("axis", -1)}, run: func(c *Call) error { return along(c, (*sinter.Tensor).LogSoftmax) }},
)

// argOp finds the index of an extreme element; from behind if the last of equal
// ones counts.
func argOp(c *Call, f func(*sinter.Tensor, int) *sinter.Tensor) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	x := c.In(0)
	var y *sinter.Tensor
	if c.Bool("select_last_index") {
		y = f(x.Flip(axis), axis)
		y = y.Mul(-1).Add(x.Dim(axis) - 1)
	} else {
		y = f(x, axis)
	}
	if c.Bool("keepdims") {
		y = y.Unsqueeze(axis)
	}
	c.Set(0, y)
	return nil
}

func topK(c *Call, k int, largest bool) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	if n := c.Shape(0)[axis]; k < 0 || k > n {
		return fmt.Errorf("the %d greatest of %d elements", k, n)
	}
	values, index := c.In(0).TopK(k, axis, largest)
	c.Set(0, values)
	c.Set(1, index)
	return nil
}

// runningOp accumulates along an axis; an exclusive scan starts with a neutral
// element and leaves out the last.
func runningOp(c *Call, f func(*sinter.Tensor, int) *sinter.Tensor, neutral int) error {
	at, err := c.HostInt(1)
	if err != nil {
		return err
	}
	x := c.In(0)
	axis, err := Axis(at, x.Rank())
	if err != nil {
		return err
	}
	reverse := c.Bool("reverse")
	y := x
	if reverse {
		y = y.Flip(axis)
	}
	if n := x.Dim(axis); c.Bool("exclusive") && n > 0 {
		pads := make([][2]int, x.Rank())
		pads[axis] = [2]int{1, -1}
		y = y.Pad(neutral, pads...)
	}
	y = f(y, axis).Cast(x.DType())
	if reverse {
		y = y.Flip(axis)
	}
	c.Set(0, y)
	return nil
}

// along applies a function to input 0 along the attribute axis.
func along(c *Call, f func(*sinter.Tensor, int) *sinter.Tensor) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	c.Set(0, f(c.In(0), axis))
	return nil
}

// flattened applies a function along all axes from the attribute axis on, as
// old opsets do.
func flattened(c *Call, f func(*sinter.Tensor, int) *sinter.Tensor) error {
	x := c.In(0)
	axis := c.Int("axis")
	if axis != x.Rank() { // there nothing is left
		var err error
		if axis, err = Axis(axis, x.Rank()); err != nil {
			return err
		}
	}
	shape := x.Shape()
	y := f(x.Reshape(product(shape[:axis]), product(shape[axis:])), 1)
	c.Set(0, y.Reshape(shape...))
	return nil
}

// hardmax is 1 at the first of the greatest elements along an axis, else 0.
func hardmax(x *sinter.Tensor, axis int) *sinter.Tensor {
	return x.ArgMax(axis).OneHot(x.Dim(axis), x.DType()).MoveAxis(-1, axis)
}
