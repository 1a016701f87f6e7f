package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var scatterAttrs = []attrSpec{intAttr("axis", 0), strAttr("reduction", "none")}

var _ = register(
	opDef{name: "Gather", in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("axis", 0)}, run: gatherOp, host: hostGather},
	opDef{name: "GatherElements", since: 11, in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("axis", 0)}, run: gatherElementsOp},
	opDef{name: "GatherND", since: 11, in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("batch_dims", 0)}, run: gatherNDOp},
	opDef{name: "Scatter", since: 9, until: 10, in: three, out: one, attrs: []attrSpec{intAttr("axis", 0)}, run: scatterElementsOp},
	opDef{name: "ScatterElements", since: 11, in: three, out: one, attrs: scatterAttrs, run: scatterElementsOp},
	opDef{name: "ScatterND", since: 11, in: three, out: one, attrs: []attrSpec{strAttr("reduction", "none")}, run: scatterNDOp},
	opDef{name: "TensorScatter", since: 24, in: arity{2, 3}, out: one, attrs: []attrSpec{intAttr("axis", -2), strAttr("mode", "linear")}, run: tensorScatterOp},
	opDef{name: "ReverseSequence", since: 10, in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("batch_axis", 1), intAttr("time_axis", 0)}, run: reverseSequenceOp},
)

// index returns input i as indices.
func (c *Call) index(i int) *sinter.Tensor { return c.In(i).Cast(sinter.I64) }

func gatherOp(c *Call) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	// An index known on the host is a slice, which copies nothing.
	if h, ok := c.Known(1); ok && len(h.Shape) == 0 && !h.IsFloat() {
		c.Set(0, c.In(0).At(axis, int(h.Ints[0])))
		return nil
	}
	c.Set(0, c.In(0).Gather(axis, c.index(1)))
	return nil
}

// hostGather takes elements of a list.
func hostGather(c *Call) error {
	x, index := c.in[0].host, c.in[1].host
	if len(x.Shape) != 1 || index.IsFloat() || c.Int("axis") != 0 && c.Int("axis") != -1 || index.Size() > hostLimit {
		return errNotHost
	}
	picks := make([]int, index.Size())
	for i, k := range index.Ints {
		if k < 0 {
			k += int64(x.Shape[0])
		}
		if k < 0 || k >= int64(x.Shape[0]) {
			return fmt.Errorf("the index %d of %d elements", index.Ints[i], x.Shape[0])
		}
		picks[i] = int(k)
	}
	c.SetHost(0, x.pick(index.Shape, picks))
	return nil
}

// within cuts a tensor down to the extents that indices have, but for one axis.
func within(x *sinter.Tensor, index []int, axis int) (*sinter.Tensor, []sinter.Range, error) {
	if len(index) != x.Rank() {
		return nil, nil, fmt.Errorf("the indices have %d axes, the data %d", len(index), x.Rank())
	}
	ranges := make([]sinter.Range, len(index))
	whole := true
	for a, n := range index {
		ranges[a] = sinter.All()
		if a == axis || n == x.Dim(a) {
			continue
		}
		if n > x.Dim(a) {
			return nil, nil, fmt.Errorf("indices of shape %v for data of shape %v", index, x.Shape())
		}
		ranges[a] = sinter.Until(n)
		whole = false
	}
	if whole {
		return x, nil, nil
	}
	return x.Slice(ranges...), ranges, nil
}

func gatherElementsOp(c *Call) error {
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	x, _, err := within(c.In(0), c.Shape(1), axis)
	if err != nil {
		return err
	}
	c.Set(0, x.TakeAlong(axis, c.index(1)))
	return nil
}

func gatherNDOp(c *Call) error {
	x, index := c.In(0), c.index(1)
	b := c.Int("batch_dims")
	if b == 0 {
		c.Set(0, x.GatherND(index))
		return nil
	}
	if b < 0 || b >= index.Rank() || b >= x.Rank() {
		return fmt.Errorf("batch_dims %d of %d and %d axes", b, x.Rank(), index.Rank())
	}
	xs, is := x.Shape(), index.Shape()
	n := product(xs[:b])
	if product(is[:b]) != n {
		return fmt.Errorf("batches of %v and %v", xs[:b], is[:b])
	}
	// One axis of batches, whose number is the first coordinate.
	last := is[len(is)-1]
	rows := product(is[b : len(is)-1])
	batch := c.Arange(n, sinter.I64).Reshape(n, 1, 1).Expand(n, rows, 1)
	index = sinter.Concat(2, batch, index.Reshape(n, rows, last))
	y := x.Reshape(append([]int{n}, xs[b:]...)...).GatherND(index)
	shape := append([]int{}, is[:len(is)-1]...)
	if b+last > len(xs) {
		return fmt.Errorf("%d coordinates and %d axes of batches for %d axes", last, b, len(xs))
	}
	c.Set(0, y.Reshape(append(shape, xs[b+last:]...)...))
	return nil
}

// putMode returns the mode of the attribute reduction.
func putMode(c *Call) (sinter.PutMode, error) {
	switch r := c.Str("reduction"); r {
	case "", "none":
		return sinter.PutReplace, nil
	case "add":
		return sinter.PutAdd, nil
	case "mul":
		return sinter.PutMul, nil
	case "max":
		return sinter.PutMax, nil
	case "min":
		return sinter.PutMin, nil
	default:
		return 0, fmt.Errorf("the reduction %q, expected none, add, mul, max or min", r)
	}
}

func scatterElementsOp(c *Call) error {
	mode, err := putMode(c)
	if err != nil {
		return err
	}
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	x, index, src := c.In(0), c.index(1), c.In(2)
	if fmt.Sprint(index.Shape()) != fmt.Sprint(src.Shape()) {
		return fmt.Errorf("indices of shape %v, updates of shape %v", index.Shape(), src.Shape())
	}
	part, ranges, err := within(x, index.Shape(), axis)
	if err != nil {
		return err
	}
	y := part.PutAlong(axis, index, src, mode)
	if ranges != nil {
		y = x.SetSlice(ranges, y)
	}
	c.Set(0, y)
	return nil
}

func scatterNDOp(c *Call) error {
	mode, err := putMode(c)
	if err != nil {
		return err
	}
	c.Set(0, c.In(0).ScatterND(c.index(1), c.In(2), mode))
	return nil
}

// tensorScatterOp writes updates into a cache along an axis, from the index of
// each batch on, which is 0 if none are given; a circular cache begins again at
// its end.
func tensorScatterOp(c *Call) error {
	cache, update := c.In(0), c.In(1)
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	if axis == 0 || update.Rank() != cache.Rank() {
		return fmt.Errorf("axis %d of a cache of shape %v and updates of shape %v", axis, cache.Shape(), update.Shape())
	}
	n := update.Dim(axis)
	shape := make([]int, cache.Rank())
	for a := range shape {
		shape[a] = 1
	}
	shape[axis] = n
	at := c.Arange(n, sinter.I64).Reshape(shape...)
	if c.Has(2) {
		shape[axis], shape[0] = 1, cache.Dim(0)
		at = at.Add(c.index(2).Reshape(shape...))
	}
	switch mode := c.Str("mode"); mode {
	case "linear":
	case "circular":
		at = at.Mod(cache.Dim(axis))
	default:
		return fmt.Errorf("the mode %q, expected linear or circular", mode)
	}
	c.Set(0, cache.PutAlong(axis, at.Expand(update.Shape()...), update, sinter.PutReplace))
	return nil
}

// reverseSequenceOp reverses the beginning of each sequence, up to its length.
func reverseSequenceOp(c *Call) error {
	x, lens := c.In(0), c.index(1)
	batch, err := Axis(c.Int("batch_axis"), x.Rank())
	if err != nil {
		return err
	}
	time, err := Axis(c.Int("time_axis"), x.Rank())
	if err != nil {
		return err
	}
	if batch == time || lens.Rank() != 1 || lens.Dim(0) != x.Dim(batch) {
		return fmt.Errorf("lengths of shape %v for batches along axis %d and time along axis %d of %v", lens.Shape(), batch, time, x.Shape())
	}
	shape := make([]int, x.Rank())
	for a := range shape {
		shape[a] = 1
	}
	shape[time] = x.Dim(time)
	t := c.Arange(x.Dim(time), sinter.I64).Reshape(shape...)
	shape[time], shape[batch] = 1, x.Dim(batch)
	n := lens.Reshape(shape...)
	c.Set(0, x.TakeAlong(time, sinter.Where(t.Lt(n), n.Sub(t).Sub(1), t)))
	return nil
}
