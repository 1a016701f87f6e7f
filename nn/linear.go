package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// Linear is y = x·Wᵀ + b. Weight has shape [out, in], as files of PyTorch models
// have it, Bias [out]; Bias is nil in a layer without one. A layer that [Quantize]
// has changed has Quantized instead of Weight.
type Linear struct {
	Weight    *sinter.Var
	Quantized *QuantizedWeight `nn:"weight"`
	Bias      *sinter.Var
}

// NewLinear makes a layer from in to out features. Weights are drawn from g by
// [HeUniform], biases are zero; see the options for other choices. A negative
// extent gives a layer whose results carry an error.
func NewLinear(g *sinter.Generator, in, out int, opts ...Option) *Linear {
	o := makeOptions(opts)
	l := &Linear{Weight: o.weight(g, HeUniform, Fan{In: in, Out: out}, out, in)}
	if o.bias {
		l.Bias = o.vector(0, out)
	}
	return l
}

// Forward returns x·Wᵀ + b: shape [..., out] for x of shape [..., in], in the
// dtype of the weights, which must be that of x.
func (l *Linear) Forward(x *sinter.Tensor) *sinter.Tensor {
	var y *sinter.Tensor
	if l.Quantized != nil {
		y = l.Quantized.linear(x)
	} else {
		y = x.MatMul(Use(l.Weight, x).Transpose())
	}
	if l.Bias != nil {
		y = y.Add(Use(l.Bias, x))
	}
	return y
}

// String describes the layer: Linear(64 → 10).
func (l *Linear) String() string {
	if l == nil || l.Weight == nil && l.Quantized == nil {
		return "Linear(empty)"
	}
	note := ""
	if l.Bias == nil {
		note = ", no bias"
	}
	if l.Quantized != nil {
		t := l.Quantized.Type
		return fmt.Sprintf("Linear(%d → %d, %s%s)", t.Shape[1], t.Shape[0], t.Scheme, note)
	}
	w := l.Weight.Borrow()
	if err := w.Err(); err != nil {
		return "Linear(" + err.Error() + ")"
	}
	return fmt.Sprintf("Linear(%d → %d%s)", w.Dim(1), w.Dim(0), note)
}
