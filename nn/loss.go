package nn

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/loss"
)

// CrossEntropy is the mean over rows of -log softmax(logits)[label]: a scalar of
// the logits' float dtype, for logits of shape [..., classes] and i64 labels of
// shape [...]. A label outside 0 to classes-1, negative ones included, makes the
// loss an error when it is read. It is NaN if there are no rows.
func CrossEntropy(logits, labels *sinter.Tensor) *sinter.Tensor {
	return loss.CrossEntropy(logits, labels, loss.Options{})
}

// Accuracy is the share of rows whose greatest logit (the first, at ties) is that
// of the label: an f64 scalar, for operands as [CrossEntropy] takes them.
func Accuracy(logits, labels *sinter.Tensor) *sinter.Tensor {
	return logits.ArgMax(-1).Eq(labels).Cast(sinter.F64).Mean()
}

// deviceOf returns where a tensor lives; the default device stands in for one
// that carries an error.
func deviceOf(t *sinter.Tensor) *sinter.Device {
	if d := t.Device(); d != nil {
		return d
	}
	return sinter.DefaultDevice()
}
