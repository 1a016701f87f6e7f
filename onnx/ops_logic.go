package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
)

func equalInts(x, y int64) bool { return x == y }

var _ = register(
	opDef{name: "Equal", in: two, out: one, run: func(c *Call) error {
		if c.Elem(0) == String && c.Elem(1) == String {
			return equalStrings(c)
		}
		c.Set(0, c.In(0).Eq(c.In(1)))
		return nil
	}, host: hostCompare(equalInts, func(x, y float64) bool { return x == y })}.narrowly(),
	pointwise2("Less", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Lt(y) }).
		with(hostCompare(func(x, y int64) bool { return x < y }, func(x, y float64) bool { return x < y })),
	pointwise2("LessOrEqual", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Le(y) }).from(12).
		with(hostCompare(func(x, y int64) bool { return x <= y }, func(x, y float64) bool { return x <= y })),
	pointwise2("Greater", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Gt(y) }).
		with(hostCompare(func(x, y int64) bool { return x > y }, func(x, y float64) bool { return x > y })),
	pointwise2("GreaterOrEqual", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Ge(y) }).from(12).
		with(hostCompare(func(x, y int64) bool { return x >= y }, func(x, y float64) bool { return x >= y })),
	pointwise2("And", func(x, y *sinter.Tensor) *sinter.Tensor { return x.And(y) }).with(hostBools(func(x, y bool) bool { return x && y })),
	pointwise2("Or", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Or(y) }).with(hostBools(func(x, y bool) bool { return x || y })),
	pointwise2("Xor", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Xor(y) }).with(hostBools(func(x, y bool) bool { return x != y })),
	pointwise1("Not", (*sinter.Tensor).Not).with(hostNot),
	pointwise2("BitwiseAnd", func(x, y *sinter.Tensor) *sinter.Tensor { return x.And(y) }).from(18),
	pointwise2("BitwiseOr", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Or(y) }).from(18),
	pointwise2("BitwiseXor", func(x, y *sinter.Tensor) *sinter.Tensor { return x.Xor(y) }).from(18),
	pointwise1("BitwiseNot", (*sinter.Tensor).Not).from(18),
	opDef{name: "BitShift", since: 11, in: two, out: one, attrs: []attrSpec{need("direction", AttrString)}, run: func(c *Call) error {
		switch x, y := c.In(0), c.In(1); c.Str("direction") {
		case "LEFT":
			c.Set(0, x.Shl(y))
		case "RIGHT":
			c.Set(0, x.Shr(y))
		default:
			return fmt.Errorf("the direction is %q, expected LEFT or RIGHT", c.Str("direction"))
		}
		return nil
	}},
	opDef{name: "Where", since: 9, in: three, out: one, narrow: true, run: whereOp, host: hostWhere},
)

// narrowly lets an operator take types without arithmetic.
func (d opDef) narrowly() opDef {
	d.narrow = true
	return d
}

// hostBools computes a function of bools on the host.
func hostBools(f func(x, y bool) bool) func(*Call) error {
	return func(c *Call) error {
		if c.in[0].Elem != Bool {
			return errNotHost
		}
		return hostCompare(func(x, y int64) bool { return f(x != 0, y != 0) }, nil)(c)
	}
}

func hostNot(c *Call) error {
	h := c.in[0].host
	if h.Elem != Bool {
		return errNotHost
	}
	out := &Host{Elem: Bool, Shape: h.Shape}
	for _, v := range h.Ints {
		out.Ints = append(out.Ints, 1-v)
	}
	c.SetHost(0, out)
	return nil
}

func equalStrings(c *Call) error {
	x, y := c.in[0].host, c.in[1].host
	shape, err := broadcast(x.Shape, y.Shape)
	if err != nil {
		return err
	}
	out := &Host{Elem: Bool, Shape: shape, Ints: []int64{}}
	walk(shape, [][]int{strides(x.Shape, len(shape)), strides(y.Shape, len(shape))}, func(at []int) {
		out.Ints = append(out.Ints, flag(x.Strs[at[0]] == y.Strs[at[1]]))
	})
	c.SetHost(0, out)
	return nil
}

func whereOp(c *Call) error {
	if c.Elem(1) != c.Elem(2) {
		return fmt.Errorf("the branches are %s and %s", c.Elem(1), c.Elem(2))
	}
	if c.Elem(1) == String {
		if _, err := c.Host(0); err != nil {
			return err
		}
		return hostWhere(c)
	}
	c.SetElem(0, c.Elem(1), sinter.Where(c.In(0), c.In(1), c.In(2)))
	return nil
}

func hostWhere(c *Call) error {
	cond, err := c.Host(0)
	if err != nil {
		return err
	}
	x, y := c.in[1].host, c.in[2].host
	if cond.Elem != Bool || x.Elem != y.Elem {
		return errNotHost
	}
	shape, err := broadcast(cond.Shape, x.Shape, y.Shape)
	if err != nil || product(shape) > hostLimit {
		return errNotHost
	}
	// Both branches in one list, of which the condition picks.
	both := &Host{Elem: x.Elem, Ints: slices.Concat(x.Ints, y.Ints), Floats: slices.Concat(x.Floats, y.Floats), Strs: slices.Concat(x.Strs, y.Strs)}
	var picks []int
	st := [][]int{strides(cond.Shape, len(shape)), strides(x.Shape, len(shape)), strides(y.Shape, len(shape))}
	walk(shape, st, func(at []int) {
		if cond.Ints[at[0]] != 0 {
			picks = append(picks, at[1])
		} else {
			picks = append(picks, x.Size()+at[2])
		}
	})
	c.SetHost(0, both.pick(shape, picks))
	return nil
}
