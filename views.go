package sinter

import (
	"math"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// The rows of views.
var (
	rowReshape  = row("reshape", "shape")
	rowPermute  = row("permute", "axes")
	rowExpand   = row("expand", "shape")
	rowSlice    = row("slice", "starts", "sizes", "steps")
	rowSetSlice = row("set_slice", "starts", "sizes", "steps")
	rowCast     = row("cast", "dtype")
)

// Reshape returns the elements in another shape of the same size; one extent may
// be -1 and is then worked out. Without arguments it makes a scalar.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	var room intList
	return rowReshape.with(room.of(shape)).unary(t)
}

// Flatten returns the elements along one axis, in row-major order.
func (t *Tensor) Flatten() *Tensor { return t.Reshape(-1) }

// Permute reorders the axes: axis i of the result is axis axes[i] of t.
func (t *Tensor) Permute(axes ...int) *Tensor {
	var room intList
	return rowPermute.with(room.of(axes)).unary(t)
}

// Transpose swaps the last two axes.
func (t *Tensor) Transpose() *Tensor {
	n := t.Rank()
	if n < 2 {
		return t.argument("transpose", "%v has no two axes to swap", t.shape())
	}
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	axes[n-2], axes[n-1] = n-1, n-2
	return t.Permute(axes...)
}

// Expand repeats axes of extent 1, and adds axes in front, up to shape; -1 keeps
// an extent.
func (t *Tensor) Expand(shape ...int) *Tensor {
	var room intList
	return rowExpand.with(room.of(shape)).unary(t)
}

// Unsqueeze inserts axes of extent 1 so that they are the given axes of the
// result; negative ones count from its end.
func (t *Tensor) Unsqueeze(axes ...int) *Tensor {
	rank := t.Rank() + len(axes)
	added, err := axisSet(axes, rank)
	if err != nil {
		return t.raise("unsqueeze", err)
	}
	out, rest := make([]int, rank), t.shape()
	for i := range out {
		if added[i] {
			out[i] = 1
			continue
		}
		out[i], rest = rest[0], rest[1:]
	}
	return t.Reshape(out...)
}

// Squeeze drops the given axes, whose extent must be 1, and no others; without
// arguments it drops all axes of extent 1.
func (t *Tensor) Squeeze(axes ...int) *Tensor {
	s := t.shape()
	dropped, err := axisSet(axes, len(s))
	if err != nil {
		return t.raise("squeeze", err)
	}
	out := make([]int, 0, len(s))
	for i, d := range s {
		switch {
		case dropped[i] && d != 1:
			return t.argument("squeeze", "axis %d of %v has extent %d, expected 1", i, s, d)
		case !dropped[i] && (len(axes) > 0 || d != 1):
			out = append(out, d)
		}
	}
	return t.Reshape(out...)
}

// axisSet marks the named axes; none may be named twice.
func axisSet(axes []int, rank int) ([]bool, error) {
	set := make([]bool, rank)
	for _, x := range axes {
		a, err := ir.Axis(x, rank)
		if err != nil {
			return nil, err
		}
		if set[a] {
			return nil, ir.Errorf(ir.ErrShape, "axis %d is named twice in %v", a, axes)
		}
		set[a] = true
	}
	return set, nil
}

// Range selects elements of one axis, as Python's slices do: from Start up to,
// not including, Stop, in steps of Step. Negative bounds count from the end,
// bounds beyond the axis are moved into it.
type Range struct {
	Start, Stop, Step int
	open              byte // bit 0: no start, bit 1: no stop, bit 2: backwards
}

// All takes a whole axis.
func All() Range { return Range{Step: 1, open: 3} }

// From takes an axis from start to its end.
func From(start int) Range { return Range{Start: start, Step: 1, open: 2} }

// Until takes an axis from its beginning up to, not including, stop.
func Until(stop int) Range { return Range{Stop: stop, Step: 1, open: 1} }

// Span takes an axis from start up to, not including, stop.
func Span(start, stop int) Range { return Range{Start: start, Stop: stop, Step: 1} }

// By takes every step-th element of the range; a negative step walks backwards,
// and All().By(-1) reverses an axis.
func (r Range) By(step int) Range {
	r.Step, r.open = step, r.open&3
	return r
}

// Back takes the elements of the range in reverse, every step-th from the last:
// Span(0, 5).Back(1) is 4, 3, 2, 1, 0, where Span(0, 5).By(-1), as in Python, is
// empty.
func (r Range) Back(step int) Range {
	r.Step, r.open = step, r.open|4
	return r
}

// resolve returns first index, count and step for an axis of extent n.
func (r Range) resolve(n int) (start, count, step int, err error) {
	if r.Step == 0 || r.Step == math.MinInt {
		return 0, 0, 0, ir.Errorf(ir.ErrArgument, "the step of a range is %d", r.Step)
	}
	if r.open&4 != 0 {
		if r.Step < 0 {
			return 0, 0, 0, ir.Errorf(ir.ErrArgument, "the step of a range that goes back is %d, expected at least 1", r.Step)
		}
		start, count, _, err = Range{r.Start, r.Stop, 1, r.open & 3}.resolve(n)
		if count > 0 {
			start, count = start+count-1, (count-1)/r.Step+1
		}
		return start, count, -r.Step, err
	}
	low, high := 0, n // bounds that a start or stop is moved into
	if r.Step < 0 {
		low, high = -1, n-1
	}
	bound := func(v int) int {
		if v < 0 {
			v += n
			return max(v, low)
		}
		return min(v, high)
	}
	start, stop := bound(r.Start), bound(r.Stop)
	if r.open&1 != 0 {
		start = low
		if r.Step < 0 {
			start = high
		}
	}
	if r.open&2 != 0 {
		stop = high
		if r.Step < 0 {
			stop = low
		}
	}
	switch {
	case r.Step > 0 && stop > start:
		count = (stop-start-1)/r.Step + 1
	case r.Step < 0 && start > stop:
		count = (start-stop-1)/-r.Step + 1
	}
	return start, count, r.Step, nil
}

// bounds resolves a range of each of the first axes and all of the others.
func (t *Tensor) bounds(ranges []Range) (starts, sizes, steps []int, err error) {
	s := t.shape()
	if len(ranges) > len(s) {
		return nil, nil, nil, ir.Errorf(ir.ErrShape, "%d ranges for shape %v, which has %d axes", len(ranges), s, len(s))
	}
	starts, sizes, steps = make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
	for i, n := range s {
		r := All()
		if i < len(ranges) {
			r = ranges[i]
		}
		if starts[i], sizes[i], steps[i], err = r.resolve(n); err != nil {
			return nil, nil, nil, err
		}
		starts[i] = max(starts[i], 0)
	}
	return starts, sizes, steps, nil
}

// Slice takes a range of each of the first axes and all of the others.
func (t *Tensor) Slice(ranges ...Range) *Tensor {
	starts, sizes, steps, err := t.bounds(ranges)
	if err != nil {
		return t.raise("slice", err)
	}
	var a, b, c intList
	return rowSlice.with(a.of(starts), b.of(sizes), c.of(steps)).unary(t)
}

// SetSlice returns t with src in place of the elements that Slice takes with the
// same ranges; t itself does not change. src is a tensor of the same dtype that
// broadcasts to the slice, or a Go constant.
func (t *Tensor) SetSlice(ranges []Range, src any) *Tensor {
	starts, sizes, steps, err := t.bounds(ranges)
	if err != nil {
		return t.raise("set_slice", err)
	}
	part := t.operand(src)
	if !ir.Shape(sizes).Equal(part.shape()) {
		part = part.Expand(sizes...)
	}
	var a, b, c intList
	return rowSetSlice.with(a.of(starts), b.of(sizes), c.of(steps)).binary(t, part)
}

// At takes the element at an index of an axis and drops the axis; negative
// indices count from the end, an index out of range is an error.
func (t *Tensor) At(axis, index int) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("at", err)
	}
	n := t.typ().Shape[a]
	if index < -n || index >= n {
		return t.argument("at", "index %d is out of range for axis %d of %v", index, a, t.shape())
	}
	if index < 0 {
		index += n
	}
	ranges := make([]Range, a+1)
	for i := range ranges {
		ranges[i] = All()
	}
	ranges[a] = Span(index, index+1)
	return t.Slice(ranges...).Squeeze(a)
}

// Cast converts the elements by value; see the row for the rules. A cast to the
// tensor's own dtype returns it unchanged.
func (t *Tensor) Cast(d DType) *Tensor {
	if t.failure() == nil && t.typ().DType == d {
		return t
	}
	return rowCast.with(dtypeAttr(d)).unary(t)
}

func (t *Tensor) shape() ir.Shape {
	if t == nil {
		return nil
	}
	return t.typ().Shape
}

// argument returns a tensor with an argument error, unless t carries an error
// already, which is passed on.
func (t *Tensor) argument(op, format string, args ...any) *Tensor {
	return t.raise(op, ir.Errorf(ir.ErrShape, format, args...))
}

func (t *Tensor) raise(op string, err error) *Tensor {
	if f := t.failure(); f != nil {
		return errored(f)
	}
	e := *ir.AsError(err)
	e.Op, e.Site, e.Operands = op, callsite.Find(), []ir.Type{t.typ()}
	return errored(&e)
}
