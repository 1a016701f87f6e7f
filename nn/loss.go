package nn

import "github.com/sinter-go/sinter"

// CrossEntropy is the mean over rows of -log softmax(logits)[label]: a scalar of
// the logits' float dtype, for logits of shape [..., classes] and i64 labels of
// shape [...]. A label outside 0 to classes-1, negative ones included, makes the
// loss an error when it is read. It is NaN if there are no rows.
func CrossEntropy(logits, labels *sinter.Tensor) *sinter.Tensor {
	y := logits.LogSoftmax(-1)
	if y.Err() != nil {
		return y // before what follows finds fault with its shape
	}
	classes := y.Dim(-1)
	// Picking labels from the list of classes checks them, on the device; the
	// comparison then marks one element of each row. Gradients flow through the
	// selection only, so that the row program of the loss has no scatter.
	list := arange(y, classes)
	wrapped := sinter.Where(labels.Lt(0), classes, labels) // Gather counts those from the end
	hit := list.Gather(0, wrapped).Unsqueeze(-1).Eq(list)
	return sinter.Where(hit, y, 0).Sum(sinter.Over(-1)).Mean().Neg()
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
