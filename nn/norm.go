package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// BatchNorm normalises x [n, channels, space...] for each channel. While training
// it uses mean and variance of the batch, through which gradients flow, and moves
// the running statistics by Momentum towards them; at inference it uses the running
// statistics, and results of one sample do not depend on others. Names and shapes
// are those of PyTorch.
//
// Running statistics are buffers: saved with the model, not trained. A training
// step updates them when Forward is recorded, so a step that is left out later
// ([github.com/sinter-go/sinter/optim.Scaler]) has moved them all the same, and a
// function that is recorded twice moves them twice.
type BatchNorm struct {
	Weight            *sinter.Var // [channels], nil with [NoAffine]
	Bias              *sinter.Var
	RunningMean       *sinter.Var `nn:"running_mean,buffer"`
	RunningVar        *sinter.Var `nn:"running_var,buffer"` // of a sample: divided by count - 1
	NumBatchesTracked *sinter.Var `nn:"num_batches_tracked,buffer"`

	Momentum float64 // 0.1
	Eps      float64 // 1e-5
}

// NewBatchNorm makes a layer with factors 1, biases 0, and running statistics 0
// and 1.
func NewBatchNorm(channels int, opts ...Option) *BatchNorm {
	o := makeOptions(opts)
	b := &BatchNorm{Momentum: 0.1, Eps: o.epsilon(1e-5)}
	b.Weight, b.Bias = o.pair(channels)
	b.RunningMean, b.RunningVar = o.buffer(0, o.dtype, channels), o.buffer(1, o.dtype, channels)
	b.NumBatchesTracked = o.buffer(0, sinter.I64)
	return b
}

// pair makes factors and biases, nil if there are none.
func (o options) pair(shape ...int) (weight, bias *sinter.Var) {
	if !o.affine {
		return nil, nil
	}
	if weight = o.vector(1, shape...); o.bias {
		bias = o.vector(0, shape...)
	}
	return weight, bias
}

// Forward normalises by the running statistics.
func (b *BatchNorm) Forward(x *sinter.Tensor) *sinter.Tensor { return b.ForwardMode(Mode{}, x) }

// ForwardMode normalises by the statistics of the batch if the mode is that of
// training, which takes at least two elements a channel. A batch of none changes
// nothing.
func (b *BatchNorm) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	if d := x.DType(); half(d) && b.RunningMean.Borrow().DType() == sinter.F32 {
		return b.ForwardMode(m, x.Cast(sinter.F32)).Cast(d) // statistics are no matter for half precision
	}
	mean, variance := Use(b.RunningMean, x), Use(b.RunningVar, x)
	if err := x.Err(); err == nil && (x.Rank() < 2 || x.Dim(1) != mean.Dim(0)) {
		return failed("batch_norm", []*sinter.Tensor{mean}, "x has shape %v, expected [n, %d, ...]", x.Shape(), mean.Dim(0))
	}
	weight, bias := optional(b.Weight, x), optional(b.Bias, x)
	if !m.Train || x.Size() == 0 {
		return fn.BatchNormWith(x, mean, variance, weight, bias, b.Eps)
	}
	count := x.Size() / x.Dim(1)
	if count == 1 {
		return failed("batch_norm", []*sinter.Tensor{x}, "%v has one element a channel, of which there is no variance to train with", x.Shape())
	}
	y, batchMean, batchVariance := fn.BatchNorm(x, weight, bias, b.Eps)
	if y.Err() != nil {
		return y
	}
	mean, variance = fn.RunningStats(mean, variance, batchMean, batchVariance, count, b.Momentum)
	for _, u := range []struct {
		v *sinter.Var
		t *sinter.Tensor
	}{{b.RunningMean, mean}, {b.RunningVar, variance}, {b.NumBatchesTracked, Use(b.NumBatchesTracked, x).Add(1)}} {
		if err := u.v.Set(u.t); err != nil {
			return sinter.Failed(err)
		}
	}
	return y
}

// String describes the layer: BatchNorm(64).
func (b *BatchNorm) String() string {
	if b.RunningMean == nil {
		return "BatchNorm(empty)"
	}
	return fmt.Sprintf("BatchNorm(%d)", b.RunningMean.Borrow().Size())
}

// LayerNorm normalises over the last axes and applies factors and biases of their
// shape.
type LayerNorm struct {
	Weight *sinter.Var // nil with [NoAffine]: the last axis is normalised
	Bias   *sinter.Var // nil with [NoBias]
	Eps    float64     // 1e-5
}

// NewLayerNorm makes a layer for the last axis of an extent, or for the last axes
// of several.
func NewLayerNorm(shape []int, opts ...Option) *LayerNorm {
	o := makeOptions(opts)
	l := &LayerNorm{Eps: o.epsilon(1e-5)}
	l.Weight, l.Bias = o.pair(shape...)
	return l
}

// Forward normalises x.
func (l *LayerNorm) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.LayerNorm(x, optional(l.Weight, x), optional(l.Bias, x), l.Eps)
}

// String describes the layer.
func (l *LayerNorm) String() string { return describeNorm("LayerNorm", l.Weight) }

// RMSNorm divides by the root of the mean square of the last axes.
type RMSNorm struct {
	Weight *sinter.Var
	Eps    float64 // 1e-5
}

// NewRMSNorm makes a layer for the last axes, as [NewLayerNorm].
func NewRMSNorm(shape []int, opts ...Option) *RMSNorm {
	o := makeOptions(opts)
	r := &RMSNorm{Eps: o.epsilon(1e-5)}
	r.Weight, _ = o.pair(shape...)
	return r
}

// Forward normalises x.
func (r *RMSNorm) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.RMSNorm(x, optional(r.Weight, x), r.Eps)
}

// String describes the layer.
func (r *RMSNorm) String() string { return describeNorm("RMSNorm", r.Weight) }

// GroupNorm normalises x [n, channels, space...] over space and the channels of
// each of Groups.
type GroupNorm struct {
	Weight *sinter.Var // [channels], nil with [NoAffine]
	Bias   *sinter.Var
	Groups int
	Eps    float64 // 1e-5
}

// NewGroupNorm makes a layer for channels in groups.
func NewGroupNorm(groups, channels int, opts ...Option) *GroupNorm {
	o := makeOptions(opts)
	n := &GroupNorm{Groups: groups, Eps: o.epsilon(1e-5)}
	n.Weight, n.Bias = o.pair(channels)
	return n
}

// Forward normalises x.
func (n *GroupNorm) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.GroupNorm(x, n.Groups, optional(n.Weight, x), optional(n.Bias, x), n.Eps)
}

// String describes the layer.
func (n *GroupNorm) String() string {
	return describeNorm(fmt.Sprintf("GroupNorm(%d groups)", n.Groups), n.Weight)
}

// InstanceNorm normalises x [n, channels, space...] over space.
type InstanceNorm struct {
	Weight *sinter.Var // [channels], nil with [NoAffine]
	Bias   *sinter.Var
	Eps    float64 // 1e-5
}

// NewInstanceNorm makes a layer for channels.
func NewInstanceNorm(channels int, opts ...Option) *InstanceNorm {
	o := makeOptions(opts)
	n := &InstanceNorm{Eps: o.epsilon(1e-5)}
	n.Weight, n.Bias = o.pair(channels)
	return n
}

// Forward normalises x.
func (n *InstanceNorm) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.InstanceNorm(x, optional(n.Weight, x), optional(n.Bias, x), n.Eps)
}

// String describes the layer.
func (n *InstanceNorm) String() string { return describeNorm("InstanceNorm", n.Weight) }

func describeNorm(name string, w *sinter.Var) string {
	if w == nil {
		return name
	}
	return fmt.Sprintf("%s%v", name, w.Borrow().Shape())
}
