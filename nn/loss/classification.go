package loss

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Options configure the losses of classification.
type Options struct {
	Smoothing float64        // of CrossEntropy: the share of the target spread over all classes
	Weights   *sinter.Tensor // [classes]; the mean divides by the sum of the labels' weights
	Ignore    *int64         // a label whose rows count as if they were not there
	Axis      int            // of the classes; 0 means the last, as batches come first
	Reduction Reduction
}

func (o Options) axis(x *sinter.Tensor) int {
	if o.Axis == 0 {
		return x.Rank() - 1
	}
	if o.Axis < 0 {
		return o.Axis + x.Rank()
	}
	return o.Axis
}

// checked returns the labels with the ignored ones as class 0, which of them
// count (nil: all), and their weights (nil: 1 each). A label that is no class
// makes the results errors.
func (o Options) checked(x, labels *sinter.Tensor, classes int) (safe, counts, weights *sinter.Tensor) {
	safe = labels
	if o.Ignore != nil {
		counts = labels.Ne(*o.Ignore)
		safe = sinter.Where(counts, labels, 0)
	}
	// The gather checks them; it would count negative ones from the end.
	safe = arange(labels, classes).Gather(0, sinter.Where(safe.Lt(0), classes, safe))
	if o.Weights != nil {
		weights = o.Weights.Gather(0, safe)
	}
	if counts != nil {
		if weights == nil {
			weights = counts.Cast(x.DType())
		} else {
			weights = sinter.Where(counts, weights, 0)
		}
	}
	return safe, counts, weights
}

// finish applies weights to the values, drops those that do not count, and reduces.
func (o Options) finish(values, counts, weights *sinter.Tensor) *sinter.Tensor {
	if weights == nil {
		return o.Reduction.of(values)
	}
	if o.Weights != nil {
		values = values.Mul(weights)
	}
	if counts != nil {
		values = sinter.Where(counts, values, 0)
	}
	return o.Reduction.over(values, weights)
}

// CrossEntropy is -log softmax(logits)[label], for logits with an axis of classes
// and i64 labels of the shape without it. Ignored rows add nothing, and the mean
// is over the others: NaN if there are none. A label that is no class makes the
// loss an error when it is read. Class weights scale the values of the labels'
// rows; with smoothing, the smoothed part has the weights of its own classes, as
// in PyTorch.
func CrossEntropy(logits, labels *sinter.Tensor, o Options) *sinter.Tensor {
	if err := logits.Err(); err != nil {
		return sinter.Failed(err)
	}
	axis := o.axis(logits)
	if axis < 0 || axis >= logits.Rank() || o.Smoothing < 0 || o.Smoothing > 1 {
		return failed("cross_entropy", []*sinter.Tensor{logits, labels}, "axis %d of %v, smoothing %v: expected one of the axes, and 0 to 1",
			o.Axis, logits.Shape(), o.Smoothing)
	}
	classes := logits.Dim(axis)
	safe, counts, weights := o.checked(logits, labels, classes)
	list := make([]int, logits.Rank()-axis)
	for i := range list {
		list[i] = 1
	}
	list[0] = classes
	if o.Weights == nil || o.Smoothing == 0 {
		r := sinter.Apply("cross_entropy", []*sinter.Tensor{logits, safe.Unsqueeze(axis), arange(labels, classes).Reshape(list...)}, ir.A("axis", axis)...)
		y := r[0]
		if o.Smoothing != 0 { // the mean of -log_softmax is the logarithm of the sum of the exponentials less the mean
			mean := r[1].Add(r[2]).Cast(logits.DType()).Sub(logits.Mean(sinter.Over(axis)))
			y = y.Mul(1 - o.Smoothing).Add(mean.Mul(o.Smoothing))
		}
		return o.finish(y, counts, weights)
	}
	y := logits.LogSoftmax(axis).Neg()
	hit := safe.Unsqueeze(axis).Eq(arange(labels, classes).Reshape(list...))
	nll := sinter.Where(hit, y, 0).Sum(sinter.Over(axis)).Mul(weights)
	smooth := y.Mul(o.Weights.Reshape(list...)).Mean(sinter.Over(axis))
	y = nll.Mul(1 - o.Smoothing).Add(smooth.Mul(o.Smoothing))
	if counts != nil {
		y = sinter.Where(counts, y, 0)
	}
	return o.Reduction.over(y, weights)
}

// NLL is -x[label] for x of log-probabilities; else it is as CrossEntropy without
// smoothing.
func NLL(x, labels *sinter.Tensor, o Options) *sinter.Tensor {
	if err := x.Err(); err != nil {
		return sinter.Failed(err)
	}
	axis := o.axis(x)
	if axis < 0 || axis >= x.Rank() {
		return failed("nll", []*sinter.Tensor{x, labels}, "axis %d of %v is none", o.Axis, x.Shape())
	}
	classes := x.Dim(axis)
	safe, counts, weights := o.checked(x, labels, classes)
	list := make([]int, x.Rank()-axis)
	for i := range list {
		list[i] = 1
	}
	list[0] = classes
	hit := safe.Unsqueeze(axis).Eq(arange(labels, classes).Reshape(list...))
	return o.finish(sinter.Where(hit, x, 0).Sum(sinter.Over(axis)).Neg(), counts, weights)
}

// BCELogits is the cross entropy of the probabilities sigmoid(x) and targets from
// 0 to 1. posWeight, nil or broadcast to x, scales the part of positive targets.
func BCELogits(x, targets, posWeight *sinter.Tensor, r Reduction) *sinter.Tensor {
	x = same("bce_logits", x, targets)
	if posWeight == nil {
		return r.of(one("bce_logits", []*sinter.Tensor{x, targets}))
	}
	// w·z·softplus(-x) + (1-z)·softplus(x): the row at targets 1 and 0.
	positive := one("bce_logits", []*sinter.Tensor{x, constant(x, 1)}).Mul(targets).Mul(posWeight)
	negative := one("bce_logits", []*sinter.Tensor{x, constant(x, 0)}).Mul(targets.Neg().Add(1))
	return r.of(positive.Add(negative))
}

// BCE is the cross entropy of probabilities x and targets, both from 0 to 1.
// Logarithms are at least -100, so that 0 and 1 give a finite loss.
func BCE(x, targets *sinter.Tensor, r Reduction) *sinter.Tensor {
	x = same("bce", x, targets)
	log := func(p *sinter.Tensor) *sinter.Tensor { return p.Log().Maximum(-100) }
	return r.of(targets.Mul(log(x)).Add(targets.Neg().Add(1).Mul(log(x.Neg().Add(1)))).Neg())
}
