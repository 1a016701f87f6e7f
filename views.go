package sinter

import (
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Reshape returns the elements in another shape of the same size; one extent may
// be -1 and is then worked out. Without arguments it makes a scalar.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	return apply1("reshape", []*Tensor{t}, ir.A("shape", shape)...)
}

// Flatten returns the elements along one axis, in row-major order.
func (t *Tensor) Flatten() *Tensor { return t.Reshape(-1) }

// Permute reorders the axes: axis i of the result is axis axes[i] of t.
func (t *Tensor) Permute(axes ...int) *Tensor {
	return apply1("permute", []*Tensor{t}, ir.A("axes", axes)...)
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
	return apply1("expand", []*Tensor{t}, ir.A("shape", shape)...)
}

// Unsqueeze inserts an axis of extent 1 before the given axis of the result.
func (t *Tensor) Unsqueeze(axis int) *Tensor {
	a, err := ir.Axis(axis, t.Rank()+1)
	if err != nil {
		return t.raise("unsqueeze", err)
	}
	s := t.shape()
	return t.Reshape(append(append(append([]int{}, s[:a]...), 1), s[a:]...)...)
}

// Squeeze drops an axis of extent 1.
func (t *Tensor) Squeeze(axis int) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("squeeze", err)
	}
	s := t.shape()
	if s[a] != 1 {
		return t.argument("squeeze", "axis %d of %v has extent %d, expected 1", a, s, s[a])
	}
	return t.Reshape(append(append([]int{}, s[:a]...), s[a+1:]...)...)
}

// Range selects elements of one axis, as Python's slices do: from Start up to,
// not including, Stop, in steps of Step. Negative bounds count from the end,
// bounds beyond the axis are moved into it.
type Range struct {
	Start, Stop, Step int
	open              byte // bit 0: no start, bit 1: no stop
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
	r.Step = step
	return r
}

// resolve returns first index, count and step for an axis of extent n.
func (r Range) resolve(n int) (start, count int, err error) {
	if r.Step == 0 {
		return 0, 0, ir.Errorf(ir.ErrArgument, "the step of a range is 0")
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
	return start, count, nil
}

// Slice takes a range of each of the first axes and all of the others.
func (t *Tensor) Slice(ranges ...Range) *Tensor {
	s := t.shape()
	if len(ranges) > len(s) {
		return t.argument("slice", "%d ranges for shape %v, which has %d axes", len(ranges), s, len(s))
	}
	starts, sizes, steps := make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
	for i, n := range s {
		r := All()
		if i < len(ranges) {
			r = ranges[i]
		}
		start, count, err := r.resolve(n)
		if err != nil {
			return t.raise("slice", err)
		}
		starts[i], sizes[i], steps[i] = max(start, 0), count, r.Step
	}
	return apply1("slice", []*Tensor{t}, ir.A("starts", starts, "sizes", sizes, "steps", steps)...)
}

// At takes the element at an index of an axis and drops the axis; negative
// indices count from the end, an index out of range is an error.
func (t *Tensor) At(axis, index int) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("at", err)
	}
	n := t.typ.Shape[a]
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
	if t.failure() == nil && t.typ.DType == d {
		return t
	}
	return apply1("cast", []*Tensor{t}, ir.A("dtype", d)...)
}

func (t *Tensor) shape() ir.Shape {
	if t == nil {
		return nil
	}
	return t.typ.Shape
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
	e.Op, e.Site, e.Operands = op, callsite.Find(), []ir.Type{t.typ}
	return errored(&e)
}
