package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

var lossAttrs = []attrSpec{plainAttr("ignore_index", AttrInt), strAttr("reduction", "mean")}

var _ = register(
	opDef{name: "NegativeLogLikelihoodLoss", since: 12, in: arity{2, 3}, out: one, attrs: lossAttrs, run: func(c *Call) error {
		return nllLoss(c, c.In(0))
	}},
	opDef{name: "SoftmaxCrossEntropyLoss", since: 12, in: arity{2, 3}, out: oneTwo, attrs: lossAttrs, run: func(c *Call) error {
		logs := c.In(0).LogSoftmax(1)
		if c.Wants(1) {
			c.Set(1, logs)
		}
		return nllLoss(c, logs)
	}},
)

// nllLoss is the negative of the logarithms of probabilities, logs [n, classes,
// ...], at the class that input 1 [n, ...] names, weighted by class (input 2).
// Elements of the class ignore_index do not count.
func nllLoss(c *Call, logs *sinter.Tensor) error {
	target := c.index(1)
	if logs.Rank() < 2 || target.Rank() != logs.Rank()-1 {
		return fmt.Errorf("scores of shape %v for labels of shape %v", logs.Shape(), target.Shape())
	}
	var counted *sinter.Tensor // 1 where an element counts
	if c.HasAttr("ignore_index") {
		ignored := target.Eq(c.Int("ignore_index"))
		target = target.MaskedFill(ignored, 0)
		counted = ignored.Not().Cast(logs.DType())
	}
	loss := logs.TakeAlong(1, target.Unsqueeze(1)).Squeeze(1).Neg()
	weight := counted
	if c.Has(2) {
		weight = c.In(2).Gather(0, target)
		if counted != nil {
			weight = weight.Mul(counted)
		}
	}
	if weight != nil {
		loss = loss.Mul(weight)
	}
	switch r := c.Str("reduction"); {
	case r == "none":
	case r == "sum":
		loss = loss.Sum()
	case r == "mean" && weight == nil:
		loss = loss.Mean()
	case r == "mean":
		loss = loss.Sum().Div(weight.Sum())
	default:
		return fmt.Errorf("the reduction %q, expected none, sum or mean", r)
	}
	c.Set(0, loss)
	return nil
}
