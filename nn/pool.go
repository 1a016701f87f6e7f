package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// MaxPool is [fn.MaxPool] as a layer, for x [n, channels, space...] of one to
// three axes: nn.MaxPool{Kernel: []int{2}}.
type MaxPool fn.PoolOptions

// Forward pools x.
func (p MaxPool) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.MaxPool(x, fn.PoolOptions(p))
}

// String describes the layer: MaxPool(2).
func (p MaxPool) String() string { return "MaxPool(" + describePool(fn.PoolOptions(p)) + ")" }

// AvgPool is [fn.AvgPool] as a layer; see [MaxPool].
type AvgPool fn.PoolOptions

// Forward pools x.
func (p AvgPool) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.AvgPool(x, fn.PoolOptions(p))
}

// String describes the layer: AvgPool(2).
func (p AvgPool) String() string { return "AvgPool(" + describePool(fn.PoolOptions(p)) + ")" }

// AdaptiveAvgPool averages so that the axes of space get the given extents, one
// for each or one for all.
type AdaptiveAvgPool []int

// Forward pools x.
func (p AdaptiveAvgPool) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.AdaptiveAvgPool(x, p...)
}

// String describes the layer.
func (p AdaptiveAvgPool) String() string { return "AdaptiveAvgPool(" + plain(p) + ")" }

// AdaptiveMaxPool takes maxima so that the axes of space get the given extents.
type AdaptiveMaxPool []int

// Forward pools x.
func (p AdaptiveMaxPool) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.AdaptiveMaxPool(x, p...)
}

// String describes the layer.
func (p AdaptiveMaxPool) String() string { return "AdaptiveMaxPool(" + plain(p) + ")" }

// Pooling over all of space, which leaves [n, channels].
var (
	GlobalAvgPool Layer = activation{"GlobalAvgPool", func(x *sinter.Tensor) *sinter.Tensor { return whole(x, fn.GlobalAvgPool) }}
	GlobalMaxPool Layer = activation{"GlobalMaxPool", func(x *sinter.Tensor) *sinter.Tensor { return whole(x, fn.GlobalMaxPool) }}
)

func whole(x *sinter.Tensor, pool func(*sinter.Tensor) *sinter.Tensor) *sinter.Tensor {
	if x.Rank() < 3 {
		return failed("global_pool", []*sinter.Tensor{x}, "%v has no axes of space behind batch and channels", x.Shape())
	}
	return pool(x).Reshape(x.Dim(0), x.Dim(1))
}

func describePool(o fn.PoolOptions) string {
	text := plain(o.Kernel)
	for _, p := range []struct {
		name string
		list []int
	}{{"stride", o.Stride}, {"pad", o.Pad}, {"dilation", o.Dilation}} {
		if len(p.list) > 0 {
			text += fmt.Sprintf(", %s %s", p.name, plain(p.list))
		}
	}
	return text
}

// Upsample resizes the axes of space of x [n, channels, space...] by Factor, by
// linear interpolation, or by taking the nearest element.
type Upsample struct {
	Factor  int
	Nearest bool
}

// Forward resizes x.
func (u Upsample) Forward(x *sinter.Tensor) *sinter.Tensor {
	if u.Factor < 1 || x.Rank() < 3 {
		return failed("upsample", []*sinter.Tensor{x}, "%v by a factor of %d: expected axes of space, and at least 1", x.Shape(), u.Factor)
	}
	sizes := x.Shape()[2:]
	for i := range sizes {
		sizes[i] *= u.Factor
	}
	if u.Nearest {
		return fn.Nearest(x, fn.HalfPixel, sizes...)
	}
	return fn.Linear(x, fn.HalfPixel, sizes...)
}
