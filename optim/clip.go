package optim

import "github.com/sinter-go/sinter"

// ClipByValue moves the elements of gradients into -limit to limit. NaN stays
// NaN, nil gradients stay nil.
func ClipByValue(grads []*sinter.Tensor, limit float64) []*sinter.Tensor {
	out := make([]*sinter.Tensor, len(grads))
	for i, g := range grads {
		if g != nil {
			out[i] = g.Clamp(-limit, limit)
		}
	}
	return out
}

// ClipByNorm scales gradients together so that their length, taken as one vector,
// is at most limit: by limit/(norm + 1e-6) where that is below 1. It returns the
// length before as an f64 scalar, without waiting for it. A length that is NaN or
// infinite makes all gradients NaN or 0; [Scaler] leaves such steps out. Nil
// gradients stay nil.
func ClipByNorm(grads []*sinter.Tensor, limit float64) (clipped []*sinter.Tensor, norm *sinter.Tensor) {
	norm = GlobalNorm(grads)
	clipped = make([]*sinter.Tensor, len(grads))
	var scale *sinter.Tensor
	for i, g := range grads {
		if g == nil {
			continue
		}
		if scale == nil {
			scale = norm.Add(1e-6).Reciprocal().Mul(limit).Minimum(1)
		}
		clipped[i] = g.Mul(scale.Cast(g.DType()))
	}
	return clipped, norm
}

// GlobalNorm is the length of gradients taken as one vector, as an f64 scalar; of
// none it is 0. Squares are added in f32 at least.
func GlobalNorm(grads []*sinter.Tensor) *sinter.Tensor {
	var sum *sinter.Tensor
	for _, g := range grads {
		if g == nil {
			continue
		}
		s := wide(g).SumSquares().Cast(sinter.F64)
		if sum != nil {
			s = sum.Add(s)
		}
		sum = s
	}
	if sum == nil {
		return sinter.Zeros(sinter.F64)
	}
	return sum.Sqrt()
}
