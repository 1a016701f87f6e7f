package sinter

import "github.com/sinter-go/sinter/ir"

// Axes names what a reduction runs over.
type Axes struct {
	axes []int
	keep bool
}

// Over names the axes of a reduction; negative ones count from the end.
func Over(axes ...int) Axes { return Axes{axes: axes} }

// KeepDims keeps reduced axes with extent 1.
func (a Axes) KeepDims() Axes {
	a.keep = true
	return a
}

// The rows of reductions.
var (
	rowSum        = row("sum", "axes", "keepdims")
	rowMean       = row("mean", "axes", "keepdims")
	rowMax        = row("max", "axes", "keepdims")
	rowMin        = row("min", "axes", "keepdims")
	rowVariance   = row("variance", "axes", "keepdims", "correction")
	rowArgMax     = row("argmax", "axis", "keepdims")
	rowArgMin     = row("argmin", "axis", "keepdims")
	rowSoftmax    = row("softmax", "axis")
	rowLogSoftmax = row("log_softmax", "axis")
	rowCumSum     = row("cumsum", "axis")
)

func (t *Tensor) reduce(b *builtin, over []Axes) *Tensor {
	var room intList
	axes, keep := room.over(over)
	return b.with(axes, keep).unary(t)
}

func (t *Tensor) reduceWith(b *builtin, over []Axes, last ir.Attr) *Tensor {
	var room intList
	axes, keep := room.over(over)
	return b.with(axes, keep, last).unary(t)
}

// over makes the attributes axes and keepdims.
func (l *intList) over(over []Axes) (axes, keep ir.Attr) {
	list, kept := l[:0], false
	for _, o := range over {
		for _, a := range o.axes {
			list = append(list, int64(a))
		}
		kept = kept || o.keep
	}
	return ir.Attr{Kind: ir.AttrInts, List: list}, boolAttr(kept)
}

// Sum adds the elements over the given axes, or all: y.Sum(), y.Sum(Over(-1).KeepDims()).
// Integers and bools give 64 bits; f16 and bf16 accumulate in f32.
func (t *Tensor) Sum(over ...Axes) *Tensor { return t.reduce(rowSum, over) }

// Mean averages over the given axes, or all; integers give f64.
func (t *Tensor) Mean(over ...Axes) *Tensor { return t.reduce(rowMean, over) }

// Variance is the mean squared deviation over the given axes, or all, with the
// number of elements less correction as divisor: 0 for a whole population, 1 for
// a sample. NaN if that is not above 0.
func (t *Tensor) Variance(correction int, over ...Axes) *Tensor {
	return t.reduceWith(rowVariance, over, intAttr(correction))
}

// Max is the greatest element over the given axes, or all; NaN if there is one.
func (t *Tensor) Max(over ...Axes) *Tensor { return t.reduce(rowMax, over) }

// Min is the least element over the given axes, or all; NaN if there is one.
func (t *Tensor) Min(over ...Axes) *Tensor { return t.reduce(rowMin, over) }

// ArgMax is the i64 index of the greatest element along an axis, the lowest at ties.
func (t *Tensor) ArgMax(axis int) *Tensor {
	return rowArgMax.with(intAttr(axis), boolAttr(false)).unary(t)
}

// ArgMin is the i64 index of the least element along an axis, the lowest at ties.
func (t *Tensor) ArgMin(axis int) *Tensor {
	return rowArgMin.with(intAttr(axis), boolAttr(false)).unary(t)
}

// Softmax is exp(x - max x) over its sum along an axis.
func (t *Tensor) Softmax(axis int) *Tensor {
	return rowSoftmax.with(intAttr(axis)).unary(t)
}

// LogSoftmax is the logarithm of Softmax, without its overflow.
func (t *Tensor) LogSoftmax(axis int) *Tensor {
	return rowLogSoftmax.with(intAttr(axis)).unary(t)
}

// CumSum is the running sum along an axis.
func (t *Tensor) CumSum(axis int) *Tensor {
	return rowCumSum.with(intAttr(axis)).unary(t)
}
