package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// Dropout sets elements to 0 with probability P while training, and scales the
// others by 1/(1-P), by draws of the mode's generator. At inference it does
// nothing.
type Dropout struct{ P float64 }

// Forward returns x.
func (d Dropout) Forward(x *sinter.Tensor) *sinter.Tensor { return x }

// ForwardMode drops elements out if the mode is that of training.
func (d Dropout) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	if !m.Train {
		return x
	}
	return fn.Dropout(x, d.P, m.Generator)
}

// String describes the layer: Dropout(0.1).
func (d Dropout) String() string { return fmt.Sprintf("Dropout(%g)", d.P) }

// ChannelDropout is Dropout of whole channels of x [n, channels, space...].
type ChannelDropout struct{ P float64 }

// Forward returns x.
func (d ChannelDropout) Forward(x *sinter.Tensor) *sinter.Tensor { return x }

// ForwardMode drops channels out if the mode is that of training.
func (d ChannelDropout) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	if !m.Train || d.P == 0 {
		return x
	}
	shape := x.Shape()
	if len(shape) < 2 {
		return failed("channel_dropout", []*sinter.Tensor{x}, "%v has no axis of channels", shape)
	}
	for i := 2; i < len(shape); i++ {
		shape[i] = 1
	}
	return x.Mul(fn.Dropout(constant(x, 1).Expand(shape...), d.P, m.Generator))
}

// String describes the layer: ChannelDropout(0.1).
func (d ChannelDropout) String() string { return fmt.Sprintf("ChannelDropout(%g)", d.P) }
