package loss

import "github.com/sinter-go/sinter"

// MSE is (x - y)².
func MSE(x, y *sinter.Tensor, r Reduction) *sinter.Tensor {
	d := same("mse", x, y).Sub(y)
	return r.of(d.Mul(d))
}

// L1 is |x - y|.
func L1(x, y *sinter.Tensor, r Reduction) *sinter.Tensor {
	return r.of(same("l1", x, y).Sub(y).Abs())
}

// Huber is d²/2 where d = |x - y| is at most delta, else delta·(d - delta/2).
func Huber(x, y *sinter.Tensor, delta float64, r Reduction) *sinter.Tensor {
	if !(delta > 0) {
		return failed("huber", []*sinter.Tensor{x, y}, "delta is %v, expected a number above 0", delta)
	}
	d := same("huber", x, y).Sub(y)
	return r.of(one("huber", []*sinter.Tensor{d, constant(d, delta)}))
}

// SmoothL1 is d²/(2·beta) where d = |x - y| is at most beta, else d - beta/2; L1 if
// beta is 0.
func SmoothL1(x, y *sinter.Tensor, beta float64, r Reduction) *sinter.Tensor {
	if beta == 0 {
		return L1(x, y, r)
	}
	return Huber(x, y, beta, r).Div(beta)
}

// KLOptions configure KL.
type KLOptions struct {
	LogTarget bool // the target holds logarithms too
	// Batch divides the sum by the extent of the first axis, which is the mean
	// divergence; Reduction is then not looked at.
	Batch     bool
	Reduction Reduction
}

// KL is the divergence of the distribution x, given by logarithms, from the
// target: target·(log target - x), 0 where the target is 0.
func KL(x, target *sinter.Tensor, o KLOptions) *sinter.Tensor {
	x = same("kl", x, target)
	var y *sinter.Tensor
	if o.LogTarget {
		y = one("mul0", []*sinter.Tensor{target.Exp(), target.Sub(x)}) // where both are -inf, too
	} else {
		positive := target.Gt(0)
		safe := sinter.Where(positive, target, 1)
		y = sinter.Where(positive, safe.Mul(safe.Log().Sub(x)), 0)
	}
	if o.Batch {
		return y.Sum().Div(max(x.Dim(0), 1))
	}
	return o.Reduction.of(y)
}

// Hinge is max(0, 1 - x·y) for y of -1 and 1.
func Hinge(x, y *sinter.Tensor, r Reduction) *sinter.Tensor {
	return r.of(same("hinge", x, y).Mul(y).Neg().Add(1).Relu())
}

// CosineSimilarity is x·y / (|x|·|y|) along an axis, whose lengths are at least eps.
func CosineSimilarity(x, y *sinter.Tensor, axis int, eps float64) *sinter.Tensor {
	over := sinter.Over(axis)
	length := func(t *sinter.Tensor) *sinter.Tensor { return t.Mul(t).Sum(over).Sqrt().Maximum(eps) }
	return x.Mul(y).Sum(over).Div(length(x).Mul(length(y)))
}

// CosineEmbedding is 1 - cos(x1, x2) where y is 1, and max(0, cos(x1, x2) - margin)
// where y is -1, for x1 and x2 of shape [..., width] and y of shape [...].
func CosineEmbedding(x1, x2, y *sinter.Tensor, margin float64, r Reduction) *sinter.Tensor {
	c := CosineSimilarity(same("cosine_embedding", x1, x2), x2, -1, 1e-8)
	c = same("cosine_embedding", c, y)
	return r.of(sinter.Where(y.Gt(0), c.Neg().Add(1), c.Sub(margin).Relu()))
}

// TripletMargin is max(0, |anchor - positive| - |anchor - negative| + margin), with
// Euclidean distances along the last axis.
func TripletMargin(anchor, positive, negative *sinter.Tensor, margin float64, r Reduction) *sinter.Tensor {
	distance := func(x, y *sinter.Tensor) *sinter.Tensor {
		d := x.Sub(y)
		return d.Mul(d).Sum(sinter.Over(-1)).Sqrt()
	}
	anchor = same("triplet_margin", same("triplet_margin", anchor, positive), negative)
	return r.of(distance(anchor, positive).Sub(distance(anchor, negative)).Add(margin).Relu())
}
