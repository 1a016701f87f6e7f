package fn

import "github.com/sinter-go/sinter"

// LayerNorm normalises x over its last axes, as many as gamma has (the last one
// if gamma is nil): (x - mean) / sqrt(variance + eps) · gamma + beta. gamma and
// beta may be nil.
func LayerNorm(x, gamma, beta *sinter.Tensor, eps float64) *sinter.Tensor {
	n := 1
	if gamma != nil {
		n = gamma.Rank()
	}
	axes := make([]int, max(n, 1))
	for i := range axes {
		axes[i] = i - len(axes)
	}
	return norm(x, gamma, beta, axes, eps)
}

// norm is the row; operands that are nil are its neutral ones.
func norm(x, gamma, beta *sinter.Tensor, axes []int, eps float64) *sinter.Tensor {
	if gamma == nil {
		gamma = like(x, 1)
	}
	if beta == nil {
		beta = like(x, 0)
	}
	return one("layer_norm", []*sinter.Tensor{x, gamma, beta}, "axes", axes, "eps", eps)
}

// RMSNorm is x / sqrt(mean(x²) + eps) · gamma over the last axes, as many as
// gamma has (the last one if gamma is nil).
func RMSNorm(x, gamma *sinter.Tensor, eps float64) *sinter.Tensor {
	n := 1
	if gamma == nil {
		gamma = like(x, 1)
	} else {
		n = max(gamma.Rank(), 1)
	}
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i - n
	}
	return one("rms_norm", []*sinter.Tensor{x, gamma}, "axes", axes, "eps", eps)
}

// GroupNorm normalises x [n, channels, space...] over space and the channels of
// each of the groups; gamma and beta [channels] may be nil.
func GroupNorm(x *sinter.Tensor, groups int, gamma, beta *sinter.Tensor, eps float64) *sinter.Tensor {
	s := x.Shape()
	if len(s) < 2 || groups < 1 || s[1]%groups != 0 {
		return failed("group_norm", []*sinter.Tensor{x}, "%v in %d groups: the channels are a multiple of groups", s, groups)
	}
	per := s[1] / groups
	split := append([]int{s[0], groups, per}, s[2:]...)
	affine := make([]int, len(split)-1)
	for i := range affine {
		affine[i] = 1
	}
	affine[0], affine[1] = groups, per
	for _, p := range []**sinter.Tensor{&gamma, &beta} {
		if *p != nil {
			*p = (*p).Reshape(affine...)
		}
	}
	axes := []int{}
	for i := 2; i < len(split); i++ {
		axes = append(axes, i)
	}
	return norm(x.Reshape(split...), gamma, beta, axes, eps).Reshape(s...)
}

// InstanceNorm normalises x [n, channels, space...] over space; gamma and beta
// [channels] may be nil.
func InstanceNorm(x, gamma, beta *sinter.Tensor, eps float64) *sinter.Tensor {
	return GroupNorm(x, x.Dim(1), gamma, beta, eps)
}

// BatchNorm normalises x [n, channels, space...] over batch and space, for
// training. It returns mean and variance (of the population) per channel too, for
// [RunningStats]; gradients do not flow through these. gamma and beta [channels]
// may be nil.
func BatchNorm(x, gamma, beta *sinter.Tensor, eps float64) (y, mean, variance *sinter.Tensor) {
	if x.Rank() < 2 {
		e := failed("batch_norm", []*sinter.Tensor{x}, "%v has no axis of channels", x.Shape())
		return e, e, e
	}
	s := x.Shape()
	for _, p := range []**sinter.Tensor{&gamma, &beta} {
		if *p != nil {
			*p = (*p).Unsqueeze(-1)
		}
	}
	// One row per channel: the elements of a channel lie apart.
	axes := make([]int, len(s))
	for i := range axes {
		axes[i] = i
	}
	axes[0], axes[1] = 1, 0
	rows := x.Permute(axes...).Reshape(s[1], size(s)/max(s[1], 1))
	d := rows.Detach()
	s[0], s[1] = s[1], s[0]
	y = norm(rows, gamma, beta, []int{1}, eps).Reshape(s...).Permute(axes...)
	return y, d.Mean(sinter.Over(1)), d.Variance(0, sinter.Over(1))
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// RunningStats moves running statistics by momentum (0.1, say) towards those of a
// batch of count elements per channel. The running variance is that of a sample:
// count/(count-1) times the batch's.
func RunningStats(mean, variance, batchMean, batchVariance *sinter.Tensor, count int, momentum float64) (newMean, newVariance *sinter.Tensor) {
	if count > 1 {
		batchVariance = batchVariance.Mul(float64(count) / float64(count-1))
	}
	move := func(old, to *sinter.Tensor) *sinter.Tensor { return old.Mul(1 - momentum).Add(to.Mul(momentum)) }
	return move(mean, batchMean), move(variance, batchVariance)
}

// BatchNormWith normalises x [n, channels, space...] by given statistics, for
// inference: (x - mean) · (gamma / sqrt(variance + eps)) + beta, all [channels];
// gamma and beta may be nil.
func BatchNormWith(x, mean, variance, gamma, beta *sinter.Tensor, eps float64) *sinter.Tensor {
	if gamma == nil {
		gamma = like(variance, 1)
	}
	scale := gamma.Div(variance.Add(eps).Sqrt())
	return channelBias(x.Sub(perChannel(x, mean)).Mul(perChannel(x, scale)), beta)
}
