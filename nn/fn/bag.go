package fn

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter"
)

// BagMode says what becomes of the rows of a bag.
type BagMode int

// The modes of [EmbeddingBag].
const (
	BagSum BagMode = iota
	BagMean
	BagMax // NaN wins
)

// BagOptions configure [EmbeddingBag].
type BagOptions struct {
	Mode    BagMode
	Offsets *sinter.Tensor // i64 [bags]: where each bag begins in an index of one axis: ascending, the first is 0
	Weights *sinter.Tensor // a factor for each index, of its shape, in the dtype of w; sums and means only
}

// EmbeddingBag looks rows of w [count, width] up and makes one row of each bag of
// them: their sum, their mean or their greatest elements; of an empty bag zeros.
// index is i64 [bags, size], or with Offsets i64 [n], a bag being what lies from its
// offset to the next one. It gives [bags, width]. An index outside 0 to count-1 makes
// the result an error when it is read.
//
// Bags of one size are one kernel, which sums as Sum does along an axis. Bags by
// offsets are rows that are scattered, added in ascending order.
func EmbeddingBag(w, index *sinter.Tensor, o BagOptions) *sinter.Tensor {
	in := []*sinter.Tensor{w, index}
	for _, t := range []*sinter.Tensor{o.Offsets, o.Weights} {
		if t != nil {
			in = append(in, t)
		}
	}
	bad := func(format string, args ...any) *sinter.Tensor { return failed("embedding_bag", in, format, args...) }
	axes := 2
	if o.Offsets != nil {
		axes = 1
	}
	switch {
	case w.Rank() != 2 || index.Rank() != axes:
		return bad("w has shape %v and index %v, expected [count, width] and %s", w.Shape(), index.Shape(), [3]string{1: "[n], as offsets are given", 2: "[bags, size]"}[axes])
	case !w.DType().IsFloat():
		return bad("the rows are %s, expected floats", w.DType())
	case index.DType() != sinter.I64:
		return bad("the indices are %s, expected i64", index.DType())
	case o.Mode < BagSum || o.Mode > BagMax:
		return bad("mode %d, expected BagSum, BagMean or BagMax", o.Mode)
	case o.Weights != nil && o.Mode == BagMax:
		return bad("factors are for sums and means")
	case o.Weights != nil && !slices.Equal(o.Weights.Shape(), index.Shape()):
		return bad("the factors have shape %v, the indices %v", o.Weights.Shape(), index.Shape())
	case o.Offsets != nil && (o.Offsets.Rank() != 1 || o.Offsets.DType() != sinter.I64):
		return bad("the offsets are %s of shape %v, expected i64 [bags]", o.Offsets.DType(), o.Offsets.Shape())
	}
	rows := w.Gather(0, sinter.Where(index.Lt(0), w.Dim(0), index)) // Gather counts negative ones from the end
	if o.Weights != nil {
		rows = rows.Mul(o.Weights.Unsqueeze(-1))
	}
	if o.Offsets != nil {
		return scattered(rows, o)
	}
	switch {
	case index.Dim(1) == 0:
		return zeros(w, index.Dim(0), w.Dim(1))
	case o.Mode == BagMean:
		return rows.Mean(sinter.Over(1))
	case o.Mode == BagMax:
		return rows.Max(sinter.Over(1))
	}
	return rows.Sum(sinter.Over(1))
}

// scattered combines rows [n, width] of bags of any length.
func scattered(rows *sinter.Tensor, o BagOptions) *sinter.Tensor {
	n, bags := rows.Dim(0), o.Offsets.Dim(0)
	if bags == 0 {
		return zeros(rows, 0, rows.Dim(1))
	}
	// The bag of a place is the last one that does not begin after it.
	bag := o.Offsets.SearchSorted(arange(rows, n, sinter.I64), true).Sub(1)
	bag = sinter.Where(bag.Lt(0), bags, bag) // before the first offset: an error
	if o.Mode == BagSum {
		return zeros(rows, bags, rows.Dim(1)).ScatterAdd(0, bag, rows)
	}
	ends := sinter.Concat(0, o.Offsets.Slice(sinter.From(1)), like(o.Offsets, float64(n)).Reshape(1))
	count := ends.Sub(o.Offsets).Cast(rows.DType()).Unsqueeze(1)
	if o.Mode == BagMax {
		least := like(rows, math.Inf(-1)).Expand(bags, rows.Dim(1))
		return sinter.Where(count.Gt(0), least.Scatter(0, bag, rows, sinter.PutMax), 0)
	}
	return zeros(rows, bags, rows.Dim(1)).ScatterAdd(0, bag, rows).Div(count.Maximum(1))
}
