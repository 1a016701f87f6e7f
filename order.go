package sinter

import (
	"context"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Sort orders the elements along an axis and says where they were. Equal elements
// keep their order, descending or not; -0 equals +0. NaN is greater than all
// numbers: it comes last, or first if descending.
func (t *Tensor) Sort(axis int, descending bool) (values, index *Tensor) {
	return two(apply(ir.Lookup("sort"), nil, []*Tensor{t}, ir.A("axis", axis, "descending", descending)))
}

func two(ts []*Tensor) (_, _ *Tensor) { return ts[0], ts[1] }

// ArgSort is the i64 indices in which Sort puts the elements; see TakeAlong.
func (t *Tensor) ArgSort(axis int, descending bool) *Tensor {
	_, index := t.Sort(axis, descending)
	return index
}

// TopK takes the k greatest elements along an axis, or the k least, in order, and
// their i64 indices: the first k of Sort.
func (t *Tensor) TopK(k, axis int, largest bool) (values, index *Tensor) {
	return two(apply(ir.Lookup("topk"), nil, []*Tensor{t}, ir.A("k", k, "axis", axis, "largest", largest)))
}

// KthValue takes the element that Sort puts at position k along an axis, counted
// from 0, and its i64 index; the axis goes.
func (t *Tensor) KthValue(k, axis int) (value, index *Tensor) {
	if t.failure() == nil && k >= 0 {
		if a, err := ir.Axis(axis, t.Rank()); err == nil && k < t.shape()[a]/8 { // fewer are kept than sorted
			value, index = t.TopK(k+1, axis, false)
			return value.At(axis, k), index.At(axis, k)
		}
	}
	value, index = t.Sort(axis, false)
	return value.At(axis, k), index.At(axis, k)
}

// Median is the middle element over the given axes, or all; of an even number
// the mean of the two in the middle, as numpy's is; NaN if there is one. Integers
// give f64.
func (t *Tensor) Median(over ...Axes) *Tensor { return t.quantile("median", 0.5, over) }

// Quantile is the element at q of the way through the sorted elements over the
// given axes, or all, linearly interpolated between neighbours; NaN if there is
// one. q is from 0 to 1. Integers give f64.
func (t *Tensor) Quantile(q float64, over ...Axes) *Tensor { return t.quantile("quantile", q, over) }

func (t *Tensor) quantile(op string, q float64, over []Axes) *Tensor {
	if !(q >= 0 && q <= 1) {
		return t.raise(op, ir.Errorf(ir.ErrArgument, "q is %v, expected 0 to 1", q))
	}
	if t.failure() == nil && !t.typ().DType.IsFloat() {
		return t.Cast(F64).quantile(op, q, over)
	}
	flat, shape, err := t.lanes(over)
	if err != nil {
		return t.raise(op, err)
	}
	n := flat.Dim(-1)
	if n == 0 {
		return t.argument(op, "there is no %s of nothing: the axes of %v have no elements", op, t.shape())
	}
	sorted, _ := flat.Sort(-1, false)
	place := q * float64(n-1)
	low := int(math.Floor(place))
	part := place - float64(low)
	y, last := sorted.At(-1, low), sorted.At(-1, n-1)
	if part > 0 {
		next := sorted.At(-1, low+1)
		y = Where(y.Eq(next), y, y.Add(next.Sub(y).Mul(part))) // equal infinities stay
	}
	return Where(last.Ne(last), last, y).Reshape(shape...)
}

// lanes puts the axes that are reduced together, last and flat. It returns the
// shape of the result too.
func (t *Tensor) lanes(over []Axes) (flat *Tensor, shape ir.Shape, err error) {
	var named []int
	keep := false
	for _, o := range over {
		named, keep = append(named, o.axes...), keep || o.keep
	}
	s := t.shape()
	reduced, err := axisSet(named, len(s))
	if err != nil {
		return nil, nil, err
	}
	n := 1
	var first, last []int
	shape, kept := ir.Shape{}, ir.Shape{}
	for i, d := range s {
		if reduced[i] || len(named) == 0 {
			last, n = append(last, i), n*d
			if keep {
				shape = append(shape, 1)
			}
			continue
		}
		first, shape, kept = append(first, i), append(shape, d), append(kept, d)
	}
	return t.Permute(append(first, last...)...).Reshape(append(kept, n)...), shape, nil
}

// SearchSorted says where elements would go among those of t, which is sorted
// along its last axis: how many lie before each, or, with right, how many do not
// lie after it. t has one axis, or all axes of values but the last are its own;
// a Go constant is one value.
func (t *Tensor) SearchSorted(values any, right bool) *Tensor {
	return apply1("searchsorted", []*Tensor{t, t.operand(values)}, ir.A("right", right)...)
}

// UniqueMax returns the distinct elements in order, padded with 0 to max; the
// i64 position of each element of t among them, even beyond max; how often each
// occurs; and how many there are, even beyond max. Its shapes do not depend on
// data, so it neither waits nor cuts a segment. NaN equals NaN here.
func (t *Tensor) UniqueMax(max int) (values, inverse, counts, count *Tensor) {
	out := apply(ir.Lookup("unique"), nil, []*Tensor{t}, ir.A("max", max))
	return out[0], out[1], out[2], out[3]
}

// Unique returns the distinct elements in order, the i64 position of each element
// of t among them, and how often each occurs. The shape depends on data, so it
// waits for the count.
func (t *Tensor) Unique(ctx context.Context) (values, inverse, counts *Tensor, err error) {
	values, inverse, counts, count := t.UniqueMax(t.Size())
	n, err := Item[int64](ctx, count)
	if err != nil {
		return nil, nil, nil, err
	}
	return values.Slice(Until(int(n))), inverse, counts.Slice(Until(int(n))), nil
}

// BinCount counts how often each of 0 to n-1 occurs among integers, as i64, or
// adds up the weights of each, a tensor of the shape of t, if there are any. A
// number outside makes the result an error when it is read.
func (t *Tensor) BinCount(n int, weights *Tensor) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	if !t.typ().DType.IsInt() || n < 0 {
		return t.raise("bin_count", ir.Errorf(ir.ErrArgument, "%d bins of %s, expected at least 0 bins of integers", n, t.typ().DType))
	}
	index := t.Cast(I64).Flatten()
	if weights == nil {
		weights = index.constant(1, index.shape())
	} else if weights.failure() == nil && !weights.shape().Equal(t.shape()) {
		return t.argument("bin_count", "weights have shape %v, expected %v", weights.shape(), t.shape())
	}
	weights = weights.Flatten()
	if n == 0 && t.Size() > 0 {
		return t.argument("bin_count", "%d elements have no bin to go to", t.Size())
	}
	index = Where(index.Lt(0), n, index) // here a negative number is no index from the end
	return weights.constant(0, []int{n}).ScatterAdd(0, index, weights)
}

// Histogram counts the elements between neighbours of edges, which has one axis
// and is sorted, as i64: from each edge up to, not including, the next; the last
// bin includes both. Elements outside and NaN are not counted.
func (t *Tensor) Histogram(edges *Tensor) *Tensor {
	if edges.failure() == nil && (edges.Rank() != 1 || edges.Size() < 2) {
		return t.argument("histogram", "edges have shape %v, expected one axis of at least 2", edges.shape())
	}
	n := edges.Size() - 1
	x := t.Flatten()
	bin := edges.SearchSorted(x, true) // 0 before the first edge, n+1 from the last one on
	if n > 0 {
		bin = Where(x.Eq(edges.At(0, n)), n, bin)
	}
	ones := bin.constant(1, bin.shape())
	return bin.constant(0, []int{n + 2}).ScatterAdd(0, bin, ones).Slice(Span(1, n+1))
}
