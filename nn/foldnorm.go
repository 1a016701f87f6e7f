package nn

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// FoldBatchNorm returns a convolution for inference that does what c and then b do:
// the running statistics, factors and biases of b are multiplied into new weights
// and a new bias, once. Its results differ from theirs by rounding. Both layers stay
// as they are; what they learn later does not reach the new one.
func FoldBatchNorm(c *Conv, b *BatchNorm) (*Conv, error) {
	if c == nil || c.Weight == nil || b == nil || b.RunningMean == nil || b.RunningVar == nil {
		return nil, ir.Errorf(ir.ErrArgument, "a layer without weights or statistics")
	}
	w := c.Weight.Borrow()
	mean, variance := b.RunningMean.Borrow(), b.RunningVar.Borrow()
	if err := w.Err(); err != nil {
		return nil, err
	}
	if w.Dim(0) != mean.Size() {
		return nil, ir.Errorf(ir.ErrShape, "a convolution to %d channels before batch normalisation of %d", w.Dim(0), mean.Size())
	}
	d := w.DType()
	scale := variance.Add(b.Eps).Rsqrt()
	if b.Weight != nil {
		scale = scale.Mul(b.Weight.Borrow())
	}
	bias := mean.Neg()
	if c.Bias != nil {
		bias = bias.Add(c.Bias.Borrow().Cast(mean.DType()))
	}
	bias = bias.Mul(scale)
	if b.Bias != nil {
		bias = bias.Add(b.Bias.Borrow())
	}
	shape := make([]int, w.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	w = w.Cast(scale.DType()).Mul(scale.Reshape(shape...)).Cast(d)
	bias = bias.Cast(d)
	for _, t := range []*sinter.Tensor{w, bias} {
		if err := t.Err(); err != nil {
			return nil, err
		}
	}
	return &Conv{Weight: sinter.NewVar(w), Bias: sinter.NewVar(bias), Options: c.Options}, nil
}

// FoldBatchNorms returns a model for inference in which each convolution that a
// batch normalisation follows in a [Sequential], at any depth of them, is one
// convolution; see [FoldBatchNorm]. All other layers are those of the model.
func FoldBatchNorms(l Layer) (Layer, error) {
	s, ok := l.(Sequential)
	if !ok {
		return l, nil
	}
	var out Sequential
	for i := 0; i < len(s); i++ {
		if c, ok := s[i].(*Conv); ok && i+1 < len(s) {
			if b, ok := s[i+1].(*BatchNorm); ok {
				folded, err := FoldBatchNorm(c, b)
				if err != nil {
					return nil, err
				}
				out = append(out, folded)
				i++
				continue
			}
		}
		inner, err := FoldBatchNorms(s[i])
		if err != nil {
			return nil, err
		}
		out = append(out, inner)
	}
	return out, nil
}
