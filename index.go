package sinter

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// The rows of these functions.
var (
	rowWhere      = row("where")
	rowConcat     = row("concat", "axis")
	rowGather     = row("gather", "axis")
	rowScatterAdd = row("scatter_add", "axis")
)

// Where takes x where the bool tensor cond is true, else z; all broadcast. x or
// z may be a Go constant, but not both.
func Where(cond *Tensor, x, z any) *Tensor {
	tx, ok := x.(*Tensor)
	tz, okz := z.(*Tensor)
	switch {
	case ok && !okz:
		tz = tx.scalar(z)
	case okz && !ok:
		tx = tz.scalar(x)
	case !ok:
		return cond.argument("where", "both branches are constants; make one a tensor, so that the dtype is known")
	}
	return rowWhere.bare.ternary(cond, tx, tz)
}

// Concat puts tensors side by side along an axis.
func Concat(axis int, ts ...*Tensor) *Tensor {
	return rowConcat.with(intAttr(axis)).several(ts)
}

// Stack puts tensors of one shape side by side along a new axis.
func Stack(axis int, ts ...*Tensor) *Tensor {
	wide := make([]*Tensor, len(ts))
	for i, t := range ts {
		wide[i] = t.Unsqueeze(axis)
	}
	if axis < 0 && len(ts) > 0 {
		axis += ts[0].Rank() + 1
	}
	return Concat(axis, wide...)
}

// Gather picks slices along an axis: the axes of the i64 tensor index stand in
// its place. Negative indices count from the end; one out of range makes the
// result an error when it is read.
func (t *Tensor) Gather(axis int, index *Tensor) *Tensor {
	return rowGather.with(intAttr(axis)).binary(t, index)
}

// ScatterAdd returns t with slice i of src added to slice index[i] along an
// axis, in ascending i.
func (t *Tensor) ScatterAdd(axis int, index, src *Tensor) *Tensor {
	return rowScatterAdd.with(intAttr(axis)).ternary(t, index, src)
}

// NonZeroMax returns the coordinates of the nonzero elements in row-major order,
// as an i64 tensor of max rows padded with -1, and their true number. Its shapes
// do not depend on data, so it neither waits nor cuts a segment.
func (t *Tensor) NonZeroMax(max int) (coords, count *Tensor) {
	x := t
	if t.failure() == nil && t.typ().DType != Bool {
		x = t.Ne(0)
	}
	out := apply(ir.Lookup("nonzero"), nil, []*Tensor{x}, ir.A("max", max))
	return out[0], out[1]
}

// NonZero returns the coordinates of the nonzero elements, one row each. The
// shape depends on data, so it waits for the count.
func (t *Tensor) NonZero(ctx context.Context) (*Tensor, error) {
	coords, count := t.NonZeroMax(t.Size())
	n, err := Item[int64](ctx, count)
	if err != nil {
		return nil, err
	}
	return coords.Slice(Until(int(n))), nil
}
