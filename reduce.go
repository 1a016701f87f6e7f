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

func (t *Tensor) reduce(row string, over []Axes, more ...any) *Tensor {
	a := Axes{}
	for _, o := range over {
		a.axes = append(a.axes, o.axes...)
		a.keep = a.keep || o.keep
	}
	return apply1(row, []*Tensor{t}, ir.A(append([]any{"axes", a.axes, "keepdims", a.keep}, more...)...)...)
}

// Sum adds the elements over the given axes, or all: y.Sum(), y.Sum(Over(-1).KeepDims()).
// Integers and bools give 64 bits; f16 and bf16 accumulate in f32.
func (t *Tensor) Sum(over ...Axes) *Tensor { return t.reduce("sum", over) }

// Mean averages over the given axes, or all; integers give f64.
func (t *Tensor) Mean(over ...Axes) *Tensor { return t.reduce("mean", over) }

// Variance is the mean squared deviation over the given axes, or all, with the
// number of elements less correction as divisor: 0 for a whole population, 1 for
// a sample. NaN if that is not above 0.
func (t *Tensor) Variance(correction int, over ...Axes) *Tensor {
	return t.reduce("variance", over, "correction", correction)
}

// Max is the greatest element over the given axes, or all; NaN if there is one.
func (t *Tensor) Max(over ...Axes) *Tensor { return t.reduce("max", over) }

// Min is the least element over the given axes, or all; NaN if there is one.
func (t *Tensor) Min(over ...Axes) *Tensor { return t.reduce("min", over) }

// ArgMax is the i64 index of the greatest element along an axis, the lowest at ties.
func (t *Tensor) ArgMax(axis int) *Tensor {
	return apply1("argmax", []*Tensor{t}, ir.A("axis", axis)...)
}

// ArgMin is the i64 index of the least element along an axis, the lowest at ties.
func (t *Tensor) ArgMin(axis int) *Tensor {
	return apply1("argmin", []*Tensor{t}, ir.A("axis", axis)...)
}

// Softmax is exp(x - max x) over its sum along an axis.
func (t *Tensor) Softmax(axis int) *Tensor {
	return apply1("softmax", []*Tensor{t}, ir.A("axis", axis)...)
}

// LogSoftmax is the logarithm of Softmax, without its overflow.
func (t *Tensor) LogSoftmax(axis int) *Tensor {
	return apply1("log_softmax", []*Tensor{t}, ir.A("axis", axis)...)
}

// CumSum is the running sum along an axis.
func (t *Tensor) CumSum(axis int) *Tensor {
	return apply1("cumsum", []*Tensor{t}, ir.A("axis", axis)...)
}
