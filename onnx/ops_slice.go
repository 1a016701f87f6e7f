package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
)

var _ = register(
	opDef{name: "Slice", in: one, out: one, keeps: true,
		attrs: []attrSpec{need("starts", AttrInts), need("ends", AttrInts), plainAttr("axes", AttrInts)},
		run:   func(c *Call) error { return sliceOp(c, c.Ints("starts"), c.Ints("ends"), c.Ints("axes"), nil) },
		host:  func(c *Call) error { return sliceOp(c, c.Ints("starts"), c.Ints("ends"), c.Ints("axes"), nil) }},
	opDef{name: "Slice", since: 10, in: arity{3, 5}, out: one, keeps: true, run: sliceInputs, host: sliceInputs},
	opDef{name: "Concat", in: some, out: one, keeps: true, attrs: []attrSpec{need("axis", AttrInt)}, run: concatOp, host: hostConcat},
	opDef{name: "Split", in: one, out: some, keeps: true, attrs: []attrSpec{intAttr("axis", 0), plainAttr("split", AttrInts)}, run: splitOp, host: hostSplit},
	opDef{name: "Split", since: 13, in: oneTwo, out: some, keeps: true, attrs: []attrSpec{intAttr("axis", 0), plainAttr("num_outputs", AttrInt)}, run: splitOp, host: hostSplit},
	opDef{name: "Pad", in: one, out: one, attrs: []attrSpec{strAttr("mode", "constant"), need("pads", AttrInts), floatAttr("value", 0)},
		run: func(c *Call) error { return padOp(c, c.Ints("pads"), nil, c.Float("value")) }},
	opDef{name: "Pad", since: 11, in: arity{2, 4}, out: one, keeps: true, attrs: []attrSpec{strAttr("mode", "constant")}, run: padInputs},
	opDef{name: "CenterCropPad", since: 18, in: two, out: one, attrs: []attrSpec{plainAttr("axes", AttrInts)}, run: centerCropPadOp},
)

// span is a slice of one axis: count elements from start in steps.
type span struct{ start, count, step int }

// spanOf works out a slice as numpy does.
func spanOf(start, end, step, extent int) (span, error) {
	if step == 0 {
		return span{}, fmt.Errorf("the step of a slice is 0")
	}
	clamp := func(v, lo, hi int) int {
		if v < 0 {
			if v += extent; v < 0 { // also below the least
				v = min(v, -1)
			}
		}
		return min(max(v, lo), hi)
	}
	if step > 0 {
		start, end = clamp(start, 0, extent), clamp(end, 0, extent)
		if end <= start {
			return span{0, 0, 1}, nil
		}
		return span{start, (end-start-1)/step + 1, step}, nil
	}
	start, end = clamp(start, -1, extent-1), clamp(end, -1, extent-1)
	if start <= end {
		return span{0, 0, 1}, nil
	}
	return span{start, (start-end-1)/-max(step, -extent-1) + 1, max(step, -extent-1)}, nil
}

func (s span) rangeOf() sinter.Range {
	switch {
	case s.count == 0:
		return sinter.Span(0, 0)
	case s.step > 0:
		return sinter.Span(s.start, s.start+(s.count-1)*s.step+1).By(s.step)
	}
	return sinter.Span(s.start+(s.count-1)*s.step, s.start+1).Back(-s.step)
}

func sliceInputs(c *Call) error {
	starts, err := c.HostInts(1)
	if err != nil {
		return err
	}
	ends, err := c.HostInts(2)
	if err != nil {
		return err
	}
	var axes, steps []int
	if c.Has(3) {
		if axes, err = c.HostInts(3); err != nil {
			return err
		}
	}
	if c.Has(4) {
		if steps, err = c.HostInts(4); err != nil {
			return err
		}
	}
	return sliceOp(c, starts, ends, axes, steps)
}

func sliceOp(c *Call, starts, ends, axes, steps []int) error {
	shape := c.Shape(0)
	n := len(starts)
	if len(ends) != n || len(axes) != n && axes != nil && len(axes) > 0 || len(steps) != n && len(steps) > 0 || n > len(shape) {
		return fmt.Errorf("%d starts, %d ends, %d axes and %d steps for %d axes", n, len(ends), len(axes), len(steps), len(shape))
	}
	spans := make([]span, len(shape))
	for i, d := range shape {
		spans[i] = span{0, d, 1}
	}
	seen := make([]bool, len(shape))
	for i := range n {
		a, step := i, 1
		var err error
		if len(axes) > 0 {
			if a, err = Axis(axes[i], len(shape)); err != nil {
				return err
			}
		}
		if seen[a] {
			return fmt.Errorf("the axes %v name one twice", axes)
		}
		seen[a] = true
		if len(steps) > 0 {
			step = steps[i]
		}
		if spans[a], err = spanOf(starts[i], ends[i], step, shape[a]); err != nil {
			return err
		}
	}
	if h, ok := c.Known(0); ok && c.scope == nil {
		return hostSlice(c, h, spans)
	}
	if len(spans) == 0 {
		c.SetValue(0, c.Value(0))
		return nil
	}
	ranges := make([]sinter.Range, len(spans))
	for i, s := range spans {
		ranges[i] = s.rangeOf()
	}
	c.Set(0, c.In(0).Slice(ranges...))
	return nil
}

func hostSlice(c *Call, h *Host, spans []span) error {
	shape, st := make([]int, len(spans)), make([]int, len(spans))
	from, step := 0, 1
	for a := len(spans) - 1; a >= 0; a-- {
		s := spans[a]
		shape[a], st[a] = s.count, s.step*step
		from += s.start * step
		step *= h.Shape[a]
	}
	var picks []int
	walk(shape, [][]int{st}, func(at []int) { picks = append(picks, from+at[0]) })
	c.SetHost(0, h.pick(shape, picks))
	return nil
}

func concatOp(c *Call) error {
	ts := c.Ins()
	axis, err := c.AxisAttr(0)
	if err != nil {
		return err
	}
	if len(ts) == 1 {
		c.SetValue(0, c.Value(0))
		return nil
	}
	c.Set(0, sinter.Concat(axis, ts...))
	return nil
}

// hostConcat joins lists, which shapes are.
func hostConcat(c *Call) error {
	if slices.Contains(c.in, nil) {
		return errNotHost
	}
	out := &Host{Elem: c.in[0].Elem}
	for _, v := range c.in {
		h := v.host
		if len(h.Shape) != 1 || h.Elem != out.Elem || c.Int("axis") != 0 && c.Int("axis") != -1 {
			return errNotHost
		}
		out.Ints, out.Floats, out.Strs = append(out.Ints, h.Ints...), append(out.Floats, h.Floats...), append(out.Strs, h.Strs...)
	}
	n := len(out.Ints) + len(out.Floats) + len(out.Strs)
	if n > hostLimit {
		return errNotHost
	}
	out.Shape = []int{n}
	c.SetHost(0, out)
	return nil
}

// splitSizes returns the axis of a Split and the extents of its pieces.
func splitSizes(c *Call) (int, []int, error) {
	shape := c.Shape(0)
	axis, err := c.AxisAttr(0)
	if err != nil {
		return 0, nil, err
	}
	var sizes []int
	switch n := c.NumOut(); {
	case c.HasAttr("split"):
		sizes = c.Ints("split")
	case c.Has(1):
		if sizes, err = c.HostInts(1); err != nil {
			return 0, nil, err
		}
	default:
		if c.HasAttr("num_outputs") && c.Int("num_outputs") != n {
			return 0, nil, fmt.Errorf("num_outputs is %d, the node has %d outputs", c.Int("num_outputs"), n)
		}
		size := (shape[axis] + n - 1) / n
		for i := range n { // the last ones are shorter
			sizes = append(sizes, min(size, max(shape[axis]-i*size, 0)))
		}
	}
	total := 0
	for _, s := range sizes {
		if s < 0 || s > shape[axis] {
			return 0, nil, fmt.Errorf("pieces of %v along an axis of %d", sizes, shape[axis])
		}
		total += s
	}
	if total != shape[axis] || len(sizes) != c.NumOut() {
		return 0, nil, fmt.Errorf("pieces of %v for %d outputs along an axis of %d", sizes, c.NumOut(), shape[axis])
	}
	return axis, sizes, nil
}

func splitOp(c *Call) error {
	axis, sizes, err := splitSizes(c)
	if err != nil {
		return err
	}
	if len(sizes) == 1 {
		c.SetValue(0, c.Value(0))
		return nil
	}
	for i, t := range c.In(0).Split(axis, sizes...) {
		if c.Wants(i) {
			c.Set(i, t)
		}
	}
	return nil
}

func hostSplit(c *Call) error {
	h := c.in[0].host
	if len(h.Shape) != 1 {
		return errNotHost
	}
	_, sizes, err := splitSizes(c)
	if err != nil {
		return err
	}
	from := 0
	for i, n := range sizes {
		picks := make([]int, n)
		for k := range picks {
			picks[k] = from + k
		}
		c.SetHost(i, h.pick([]int{n}, picks))
		from += n
	}
	return nil
}

func padInputs(c *Call) error {
	pads, err := c.HostInts(1)
	if err != nil {
		return err
	}
	var axes []int
	if c.Has(3) {
		if axes, err = c.HostInts(3); err != nil {
			return err
		}
	}
	var value any = 0
	if c.Elem(0) == Bool {
		value = false
	}
	if c.Has(2) && c.Str("mode") == "constant" {
		h, err := c.Host(2)
		if err != nil {
			return err
		}
		switch {
		case h.Size() != 1 || h.Elem == String:
			return fmt.Errorf("the constant is %s, expected one element", c.in[2].kind())
		case h.IsFloat():
			value = h.Floats[0]
		case h.Elem == Bool:
			value = h.Ints[0] != 0
		case h.Elem == Uint64:
			value = uint64(h.Ints[0])
		default:
			value = h.Ints[0]
		}
	}
	return padOp(c, pads, axes, value)
}

// padOp pads axes, or all: the numbers before each of them, then those after.
func padOp(c *Call, pads, axes []int, value any) error {
	x := c.In(0)
	if axes == nil {
		for a := range x.Rank() {
			axes = append(axes, a)
		}
	}
	if len(pads) != 2*len(axes) {
		return fmt.Errorf("%d pads for %d axes", len(pads), len(axes))
	}
	by := make([][2]int, x.Rank())
	for i, a := range axes {
		a, err := Axis(a, x.Rank())
		if err != nil {
			return err
		}
		by[a] = [2]int{pads[i], pads[len(axes)+i]}
	}
	if len(by) == 0 {
		c.SetValue(0, c.Value(0))
		return nil
	}
	modes := map[string]sinter.PadMode{"reflect": sinter.PadReflect, "edge": sinter.PadEdge, "wrap": sinter.PadWrap}
	mode, ok := modes[c.Str("mode")]
	switch {
	case c.Str("mode") == "constant":
		c.Set(0, x.Pad(value, by...))
	case ok:
		c.Set(0, x.PadWith(mode, by...))
	default:
		return fmt.Errorf("the mode %q, expected constant, reflect, edge or wrap", c.Str("mode"))
	}
	return nil
}

// centerCropPadOp brings axes to given extents, evenly at both ends; where that
// is not possible, one more at the end.
func centerCropPadOp(c *Call) error {
	want, err := c.HostInts(1)
	if err != nil {
		return err
	}
	x := c.In(0)
	axes := c.Ints("axes")
	if !c.HasAttr("axes") {
		for a := range x.Rank() {
			axes = append(axes, a)
		}
	}
	if len(want) != len(axes) {
		return fmt.Errorf("%d extents for %d axes", len(want), len(axes))
	}
	by := make([][2]int, x.Rank())
	for i, a := range axes {
		a, err := Axis(a, x.Rank())
		if err != nil {
			return err
		}
		if want[i] < 0 {
			return fmt.Errorf("the extents %v", want)
		}
		switch more := want[i] - x.Dim(a); {
		case more >= 0:
			by[a] = [2]int{more / 2, more - more/2}
		default:
			by[a] = [2]int{-(-more / 2), more + -more/2}
		}
	}
	if len(by) == 0 {
		c.SetValue(0, c.Value(0))
		return nil
	}
	c.Set(0, x.Pad(0, by...))
	return nil
}
