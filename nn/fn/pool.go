package fn

import "github.com/sinter-go/sinter"

// PoolOptions configure pooling.
type PoolOptions struct {
	Kernel   []int // required
	Stride   []int // the kernel
	Dilation []int // 1
	Pad      []int // 0; below the extent of a window
	// Ceil lets a last window hang over the end, if it begins before it. What
	// hangs over is neither padding nor counted.
	Ceil bool
	// IncludePad makes AvgPool count padding, as zeros.
	IncludePad bool
	// Divisor of AvgPool's sums; 0 means the number of elements of each window.
	Divisor int
}

func (o PoolOptions) attrs(x *sinter.Tensor) []any {
	kernel := spread(x, o.Kernel)
	stride := spread(x, o.Stride)
	if len(stride) == 0 {
		stride = kernel
	}
	return []any{"kernel", kernel, "strides", stride, "dilations", spread(x, o.Dilation), "pads", pads(x, o.Pad), "ceil", o.Ceil}
}

// MaxPool takes the greatest element of each window; NaN wins, padding never
// does. The gradient goes to the first of equal elements.
func MaxPool(x *sinter.Tensor, o PoolOptions) *sinter.Tensor {
	return one("max_pool", []*sinter.Tensor{x}, o.attrs(x)...)
}

// MaxPoolIndices is MaxPool, and where each element was: its row-major index
// within the axes of space, as i64.
func MaxPoolIndices(x *sinter.Tensor, o PoolOptions) (y, index *sinter.Tensor) {
	return MaxPool(x, o), one("max_pool_index", []*sinter.Tensor{x}, o.attrs(x)...)
}

// AvgPool averages each window.
func AvgPool(x *sinter.Tensor, o PoolOptions) *sinter.Tensor {
	return one("avg_pool", []*sinter.Tensor{x}, append(o.attrs(x), "include_pad", o.IncludePad, "divisor", o.Divisor)...)
}

// AdaptiveAvgPool averages ranges so that the axes of space get the given extents.
func AdaptiveAvgPool(x *sinter.Tensor, sizes ...int) *sinter.Tensor {
	return one("adaptive_avg_pool", []*sinter.Tensor{x}, "sizes", spread(x, sizes))
}

// AdaptiveMaxPool takes the greatest elements of the ranges of AdaptiveAvgPool.
func AdaptiveMaxPool(x *sinter.Tensor, sizes ...int) *sinter.Tensor {
	return one("adaptive_max_pool", []*sinter.Tensor{x}, "sizes", spread(x, sizes))
}

// GlobalAvgPool averages over all axes of space, which stay with extent 1.
func GlobalAvgPool(x *sinter.Tensor) *sinter.Tensor { return x.Mean(space(x).KeepDims()) }

// GlobalMaxPool takes the greatest element over all axes of space, which stay
// with extent 1.
func GlobalMaxPool(x *sinter.Tensor) *sinter.Tensor { return x.Max(space(x).KeepDims()) }

// space are the axes after batch and channels; the last axis of what has none, so
// that the error is the row's.
func space(x *sinter.Tensor) sinter.Axes {
	axes := []int{}
	for i := 2; i < x.Rank(); i++ {
		axes = append(axes, i)
	}
	if len(axes) == 0 {
		axes = []int{2}
	}
	return sinter.Over(axes...)
}
