package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "Identity", in: one, out: one, keeps: true, run: identityOp, host: identityOp},
	opDef{name: "Shape", in: one, out: one, narrow: true, run: shapeOp, host: shapeOp, attrs: []attrSpec{intAttr("start", 0), plainAttr("end", AttrInt)}},
	opDef{name: "Size", in: one, out: one, narrow: true, run: sizeOp, host: sizeOp},
	opDef{name: "Reshape", since: 5, in: two, out: one, keeps: true, attrs: []attrSpec{intAttr("allowzero", 0)}, run: reshapeOp, host: reshapeOp},
	opDef{name: "Flatten", in: one, out: one, keeps: true, attrs: []attrSpec{intAttr("axis", 1)}, run: func(c *Call) error {
		shape, axis := c.Shape(0), c.Int("axis")
		if axis < -len(shape) || axis > len(shape) {
			return fmt.Errorf("axis %d of a tensor with %d axes", axis, len(shape))
		}
		if axis < 0 {
			axis += len(shape)
		}
		c.Set(0, c.In(0).Reshape(product(shape[:axis]), product(shape[axis:])))
		return nil
	}},
	opDef{name: "Squeeze", in: one, out: one, keeps: true, attrs: []attrSpec{plainAttr("axes", AttrInts)}, run: squeezeOp, host: squeezeOp},
	opDef{name: "Squeeze", since: 13, in: oneTwo, out: one, keeps: true, run: squeezeOp, host: squeezeOp},
	opDef{name: "Unsqueeze", in: one, out: one, keeps: true, attrs: []attrSpec{need("axes", AttrInts)}, run: unsqueezeOp, host: unsqueezeOp},
	opDef{name: "Unsqueeze", since: 13, in: two, out: one, keeps: true, run: unsqueezeOp, host: unsqueezeOp},
	opDef{name: "Transpose", in: one, out: one, keeps: true, attrs: []attrSpec{intsAttr("perm")}, run: transposeOp},
	opDef{name: "Expand", since: 8, in: two, out: one, keeps: true, run: expandOp, host: hostExpand},
	opDef{name: "Tile", since: 6, in: two, out: one, keeps: true, run: func(c *Call) error {
		counts, err := c.HostInts(1)
		if err != nil {
			return err
		}
		if len(counts) != len(c.Shape(0)) {
			return fmt.Errorf("%d counts for %d axes", len(counts), len(c.Shape(0)))
		}
		c.Set(0, c.In(0).Tile(counts...))
		return nil
	}},
	opDef{name: "DepthToSpace", in: one, out: one, keeps: true, attrs: []attrSpec{need("blocksize", AttrInt), strAttr("mode", "DCR")}, run: depthToSpaceOp},
	opDef{name: "SpaceToDepth", in: one, out: one, keeps: true, attrs: []attrSpec{need("blocksize", AttrInt), strAttr("mode", "DCR")}, run: spaceToDepthOp},
	opDef{name: "Trilu", since: 14, in: oneTwo, out: one, keeps: true, attrs: []attrSpec{intAttr("upper", 1)}, run: triluOp},
)

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

// setReshaped makes input 0 in another shape the output, on the host if it is
// there.
func setReshaped(c *Call, shape []int) error {
	if h, ok := c.Known(0); ok && c.in[0].tensor == nil {
		if product(shape) != h.Size() || slices.Min(append([]int{0}, shape...)) < 0 {
			return fmt.Errorf("%d elements in the shape %v", h.Size(), shape)
		}
		c.SetHost(0, h.as(shape))
		return nil
	}
	if c.scope == nil {
		return errNotHost
	}
	c.Set(0, c.In(0).Reshape(shape...))
	return nil
}

func reshapeOp(c *Call) error {
	want, err := c.HostInts(1)
	if err != nil {
		return err
	}
	shape, err := reshaped(c.Shape(0), want, c.Bool("allowzero"))
	if err != nil {
		return err
	}
	return setReshaped(c, shape)
}

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

// axesOf returns the axes of an attribute or of input 1, and whether there are
// any.
func axesOf(c *Call) ([]int, bool, error) {
	if c.HasAttr("axes") {
		return c.Ints("axes"), true, nil
	}
	if !c.Has(1) {
		return nil, false, nil
	}
	axes, err := c.HostInts(1)
	return axes, true, err
}

func squeezeOp(c *Call) error {
	axes, given, err := axesOf(c)
	if err != nil {
		return err
	}
	shape := c.Shape(0)
	drop := make([]bool, len(shape))
	for i, d := range shape {
		drop[i] = !given && d == 1
	}
	for _, a := range axes {
		i, err := Axis(a, len(shape))
		if err != nil {
			return err
		}
		if shape[i] != 1 {
			return fmt.Errorf("axis %d of %v has not the extent 1", a, shape)
		}
		drop[i] = true
	}
	out := []int{}
	for i, d := range shape {
		if !drop[i] {
			out = append(out, d)
		}
	}
	return setReshaped(c, out)
}

func unsqueezeOp(c *Call) error {
	axes, _, err := axesOf(c)
	if err != nil {
		return err
	}
	shape := c.Shape(0)
	rank := len(shape) + len(axes)
	out := make([]int, rank)
	for _, a := range axes {
		i, err := Axis(a, rank)
		if err != nil {
			return err
		}
		if out[i] != 0 {
			return fmt.Errorf("the axes %v name one twice", axes)
		}
		out[i] = -1
	}
	k := 0
	for i := range out {
		if out[i] == -1 {
			out[i] = 1
			continue
		}
		out[i] = shape[k]
		k++
	}
	return setReshaped(c, out)
}

func transposeOp(c *Call) error {
	x := c.In(0)
	perm := c.Ints("perm")
	if !c.HasAttr("perm") {
		for a := x.Rank() - 1; a >= 0; a-- {
			perm = append(perm, a)
		}
	}
	if len(perm) == 0 { // a scalar
		c.SetValue(0, c.Value(0))
		return nil
	}
	c.Set(0, x.Permute(perm...))
	return nil
}

func expandOp(c *Call) error {
	want, err := c.HostInts(1)
	if err != nil {
		return err
	}
	shape, err := broadcast(c.Shape(0), want)
	if err != nil {
		return err
	}
	c.Set(0, c.In(0).Expand(shape...))
	return nil
}

func hostExpand(c *Call) error {
	want, err := c.HostInts(1)
	if err != nil {
		return err
	}
	h := c.in[0].host
	shape, err := broadcast(h.Shape, want)
	if err != nil || product(shape) > hostLimit || slices.Min(append([]int{0}, shape...)) < 0 {
		return errNotHost
	}
	var picks []int
	walk(shape, [][]int{strides(h.Shape, len(shape))}, func(at []int) { picks = append(picks, at[0]) })
	c.SetHost(0, h.pick(shape, picks))
	return nil
}

// blocks checks the operand and the attributes of the operators below. The mode
// DCR has the elements of a block in the axis before the channels, CRD after
// them.
func blocks(c *Call) (x *sinter.Tensor, b int, columns bool, err error) {
	x, b = c.In(0), c.Int("blocksize")
	if x.Rank() != 4 {
		return x, b, false, fmt.Errorf("input 0 has %d axes, expected 4", x.Rank())
	}
	mode := c.Str("mode")
	if b < 1 || b > 1<<15 || mode != "DCR" && mode != "CRD" {
		return x, b, false, fmt.Errorf("blocks of %d, mode %q", b, mode)
	}
	return x, b, mode == "CRD", nil
}

func depthToSpaceOp(c *Call) error {
	x, b, crd, err := blocks(c)
	if err != nil {
		return err
	}
	n, ch, h, w := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	if ch%(b*b) != 0 {
		return fmt.Errorf("%d channels in blocks of %d by %d", ch, b, b)
	}
	ch /= b * b
	if crd {
		x = x.Reshape(n, ch, b, b, h, w).Permute(0, 1, 4, 2, 5, 3)
	} else {
		x = x.Reshape(n, b, b, ch, h, w).Permute(0, 3, 4, 1, 5, 2)
	}
	c.Set(0, x.Reshape(n, ch, h*b, w*b))
	return nil
}

func spaceToDepthOp(c *Call) error {
	x, b, crd, err := blocks(c)
	if err != nil {
		return err
	}
	n, ch, h, w := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	if h%b != 0 || w%b != 0 {
		return fmt.Errorf("%d by %d in blocks of %d", h, w, b)
	}
	x = x.Reshape(n, ch, h/b, b, w/b, b)
	if crd {
		x = x.Permute(0, 1, 3, 5, 2, 4)
	} else {
		x = x.Permute(0, 3, 5, 1, 2, 4)
	}
	c.Set(0, x.Reshape(n, ch*b*b, h/b, w/b))
	return nil
}

// triluOp keeps a triangle of matrices, from a diagonal on.
func triluOp(c *Call) error {
	k := 0
	if c.Has(1) {
		var err error
		if k, err = c.HostInt(1); err != nil {
			return err
		}
	}
	if c.Bool("upper") {
		c.Set(0, c.In(0).Triu(k))
	} else {
		c.Set(0, c.In(0).Tril(k))
	}
	return nil
}
