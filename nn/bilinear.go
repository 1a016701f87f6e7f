package nn

import "github.com/sinter-go/sinter"

// Bilinear is y[o] = x·Weight[o]·z + Bias[o]. Weight has shape [out, in1, in2], as
// files of PyTorch models have it; Bias is nil in a layer without one.
type Bilinear struct {
	Weight *sinter.Var
	Bias   *sinter.Var
}

// NewBilinear makes a layer of in1 and in2 features. Weights are drawn by
// [LeCunUniform] for a fan of in1.
func NewBilinear(g *sinter.Generator, in1, in2, out int, opts ...Option) *Bilinear {
	o := makeOptions(opts)
	b := &Bilinear{Weight: o.weight(g, LeCunUniform, Fan{In: in1, Out: out}, out, in1, in2)}
	if o.bias {
		b.Bias = o.vector(0, out)
	}
	return b
}

// Pair gives [n, out] for x [n, in1] and z [n, in2].
func (b *Bilinear) Pair(x, z *sinter.Tensor) *sinter.Tensor {
	w := Use(b.Weight, x)
	out, in1, in2 := w.Dim(0), w.Dim(1), w.Dim(2)
	if x.Rank() != 2 || z.Rank() != 2 || x.Dim(1) != in1 || z.Dim(1) != in2 || x.Dim(0) != z.Dim(0) {
		return failed("bilinear", []*sinter.Tensor{x, z, w}, "x has shape %v and z %v, expected [n, %d] and [n, %d]", x.Shape(), z.Shape(), in1, in2)
	}
	y := x.MatMul(w.Permute(1, 0, 2).Reshape(in1, out*in2)).Reshape(x.Dim(0), out, in2).Mul(z.Unsqueeze(1)).Sum(sinter.Over(-1))
	if b.Bias != nil {
		y = y.Add(Use(b.Bias, x))
	}
	return y
}
