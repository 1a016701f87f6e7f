package sinter

import "github.com/sinter-go/sinter/ir"

// PutMode says how elements that are put meet those that are there.
type PutMode int

// The modes of [Tensor.PutAlong] and [Tensor.ScatterND]. Elements that go to one
// place meet it one after the other, in ascending source order.
const (
	PutReplace PutMode = ir.PutReplace // the last one stays
	PutAdd     PutMode = ir.PutAdd
	PutMul     PutMode = ir.PutMul
	PutMax     PutMode = ir.PutMax // NaN wins
	PutMin     PutMode = ir.PutMin
)

// TakeAlong takes, at each position, the element whose index along an axis is
// that of the i64 tensor index: y[i,j] = t[index[i,j],j] for axis 0. t and index
// have one rank and broadcast on the other axes; the result of [Tensor.ArgSort]
// fits. Negative indices count from the end; one out of range makes the result an
// error when it is read.
func (t *Tensor) TakeAlong(axis int, index *Tensor) *Tensor {
	return apply1("take_along", []*Tensor{t, index}, ir.A("axis", axis)...)
}

// PutAlong returns t with each element of src put where index says along an
// axis, the inverse of TakeAlong: y[index[i,j],j] = src[i,j] for axis 0. src is a
// tensor, whose other extents are those of t, or a Go constant; index broadcasts
// to src.
func (t *Tensor) PutAlong(axis int, index *Tensor, src any, mode PutMode) *Tensor {
	return apply1("scatter_along", []*Tensor{t, index, t.source(src, axis, index.shape())}, ir.A("axis", axis, "mode", int(mode))...)
}

// source makes a tensor of a Go constant, with the extents of t but for the axis,
// where it has that of the index, and returns tensors as they are.
func (t *Tensor) source(src any, axis int, index ir.Shape) *Tensor {
	if x, ok := src.(*Tensor); ok {
		return x
	}
	shape := t.shape().Clone()
	if a, err := ir.Axis(axis, len(shape)); err == nil && len(index) == len(shape) {
		shape[a] = index[a]
	}
	return t.constant(src, shape)
}

// Scatter returns t with slice i of src put into slice index[i] along an axis.
// index has one axis; src has the shape of t but for that axis.
func (t *Tensor) Scatter(axis int, index, src *Tensor, mode PutMode) *Tensor {
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("scatter", err)
	}
	if index.failure() == nil && index.Rank() != 1 {
		return t.argument("scatter", "index has shape %v, expected one axis", index.shape())
	}
	axes := upTo(t.Rank())
	return t.PutAlong(a, index.Unsqueeze(append(axes[:a], axes[a+1:]...)...), src, mode)
}

// GatherND takes the slices of t at coordinates: the last axis of the i64 tensor
// index names positions on the first axes of t, and its other axes stand in their
// place. Negative ones count from the end; one out of range makes the result an
// error when it is read.
func (t *Tensor) GatherND(index *Tensor) *Tensor {
	return apply1("gather_nd", []*Tensor{t, index})
}

// ScatterND returns t with the slices of src put where GatherND takes them with
// the same index.
func (t *Tensor) ScatterND(index, src *Tensor, mode PutMode) *Tensor {
	return apply1("scatter_nd", []*Tensor{t, index, src}, ir.A("mode", int(mode))...)
}

// OneHot makes rows of n elements of a dtype along a new last axis: 1 (true) at
// the index that t holds, 0 elsewhere, and everywhere if t is not in 0 to n-1.
func (t *Tensor) OneHot(n int, d DType) *Tensor {
	if t.failure() == nil && !t.typ().DType.IsInt() {
		return t.raise("one_hot", ir.Errorf(ir.ErrDType, "the indices are %s, expected integers", t.typ().DType))
	}
	hit := t.Cast(I64).Unsqueeze(-1).Eq(t.iota(I64, n))
	return hit.Cast(d)
}
