package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// The rows of reductions that are not in reduce.go.
var (
	rowAll          = row("all", "axes", "keepdims")
	rowAny          = row("any", "axes", "keepdims")
	rowCountNonzero = row("count_nonzero", "axes", "keepdims")
	rowInfNorm      = row("inf_norm", "axes", "keepdims")
	rowL1Norm       = row("l1_norm", "axes", "keepdims")
	rowL2Norm       = row("l2_norm", "axes", "keepdims")
	rowLogsumexp    = row("logsumexp", "axes", "keepdims")
	rowNanmax       = row("nanmax", "axes", "keepdims")
	rowNanmean      = row("nanmean", "axes", "keepdims")
	rowNanmin       = row("nanmin", "axes", "keepdims")
	rowNanprod      = row("nanprod", "axes", "keepdims")
	rowNanstd       = row("nanstd", "axes", "keepdims", "correction")
	rowNansum       = row("nansum", "axes", "keepdims")
	rowNanvar       = row("nanvar", "axes", "keepdims", "correction")
	rowPNorm        = row("p_norm", "axes", "keepdims", "p")
	rowProd         = row("prod", "axes", "keepdims")
	rowStd          = row("std", "axes", "keepdims", "correction")
	rowSumSquares   = row("sum_squares", "axes", "keepdims")
)

// Prod multiplies the elements over the given axes, or all; of nothing it is 1.
// Integers and bools give 64 bits. Its gradient is right where elements are 0.
func (t *Tensor) Prod(over ...Axes) *Tensor { return t.reduce(rowProd, over) }

// Any tells whether some element over the given axes, or all, is not 0; of nothing
// it is false. NaN is not 0.
func (t *Tensor) Any(over ...Axes) *Tensor { return t.reduce(rowAny, over) }

// All tells whether no element over the given axes, or all, is 0; of nothing it is
// true. NaN is not 0.
func (t *Tensor) All(over ...Axes) *Tensor { return t.reduce(rowAll, over) }

// CountNonZero counts the elements that are not 0, as i64.
func (t *Tensor) CountNonZero(over ...Axes) *Tensor { return t.reduce(rowCountNonzero, over) }

// Std is the square root of [Tensor.Variance]; where it is 0, its gradient is 0.
func (t *Tensor) Std(correction int, over ...Axes) *Tensor {
	return t.reduceWith(rowStd, over, intAttr(correction))
}

// Norm is the p-norm over the given axes, or all: the sum of magnitudes for 1, the
// Euclidean length for 2, the greatest magnitude for infinity; p is above 0. Of
// nothing it is 0. Its gradient at the origin is 0.
func (t *Tensor) Norm(p float64, over ...Axes) *Tensor {
	switch {
	case p == 1:
		return t.reduce(rowL1Norm, over)
	case p == 2:
		return t.reduce(rowL2Norm, over)
	case math.IsInf(p, 1):
		return t.reduce(rowInfNorm, over)
	case p > 0:
		return t.reduceWith(rowPNorm, over, floatAttr(p))
	}
	return t.raise("p_norm", ir.Errorf(ir.ErrArgument, "a norm needs p above 0, got %v", p))
}

// SumSquares adds the squares of the elements over the given axes, or all.
func (t *Tensor) SumSquares(over ...Axes) *Tensor { return t.reduce(rowSumSquares, over) }

// LogSumExp is the logarithm of the sum of e to the elements, without overflow; of
// nothing it is minus infinity.
func (t *Tensor) LogSumExp(over ...Axes) *Tensor { return t.reduce(rowLogsumexp, over) }

// NaNSum is Sum without NaN.
func (t *Tensor) NaNSum(over ...Axes) *Tensor { return t.reduce(rowNansum, over) }

// NaNMean is Mean without NaN; where there is nothing else, it is NaN.
func (t *Tensor) NaNMean(over ...Axes) *Tensor { return t.reduce(rowNanmean, over) }

// NaNMax is Max without NaN; where there is nothing else, it is NaN.
func (t *Tensor) NaNMax(over ...Axes) *Tensor { return t.reduce(rowNanmax, over) }

// NaNMin is Min without NaN; where there is nothing else, it is NaN.
func (t *Tensor) NaNMin(over ...Axes) *Tensor { return t.reduce(rowNanmin, over) }

// NaNProd is Prod without NaN.
func (t *Tensor) NaNProd(over ...Axes) *Tensor { return t.reduce(rowNanprod, over) }

// NaNVariance is Variance without NaN; NaN if the divisor is not above 0.
func (t *Tensor) NaNVariance(correction int, over ...Axes) *Tensor {
	return t.reduceWith(rowNanvar, over, intAttr(correction))
}

// NaNStd is the square root of [Tensor.NaNVariance].
func (t *Tensor) NaNStd(correction int, over ...Axes) *Tensor {
	return t.reduceWith(rowNanstd, over, intAttr(correction))
}

// CumProd is the running product along an axis.
func (t *Tensor) CumProd(axis int) *Tensor { return t.with("cumprod", "axis", axis) }

// CumMax is the greatest element so far along an axis; NaN from the first NaN on.
func (t *Tensor) CumMax(axis int) *Tensor { return t.with("cummax", "axis", axis) }

// CumMin is the least element so far along an axis; NaN from the first NaN on.
func (t *Tensor) CumMin(axis int) *Tensor { return t.with("cummin", "axis", axis) }

// LogCumSumExp is the logarithm of the running sum of e to the elements along an
// axis, without overflow.
func (t *Tensor) LogCumSumExp(axis int) *Tensor { return t.with("logcumsumexp", "axis", axis) }
