package fn

import "github.com/sinter-go/sinter"

// ConvOptions configure convolutions.
type ConvOptions struct {
	Stride, Dilation []int // 1
	Pad              []int // 0
	Groups           int   // 1
	Extra            []int // ConvTranspose only: added to the end of the result's axes, below the stride
}

func (o ConvOptions) attrs(x *sinter.Tensor) []any {
	if o.Groups == 0 {
		o.Groups = 1
	}
	return []any{"strides", spread(x, o.Stride), "dilations", spread(x, o.Dilation), "pads", pads(x, o.Pad), "groups", o.Groups}
}

// Conv is the convolution (cross-correlation) of x [n, channels, space...] with w
// [out, channels/groups, kernel...], plus bias [out] if that is not nil. Sums run
// over the kernel's axes, then channels; padding takes part as zeros.
func Conv(x, w, bias *sinter.Tensor, o ConvOptions) *sinter.Tensor {
	return channelBias(one("conv", []*sinter.Tensor{x, w}, o.attrs(x)...), bias)
}

// ConvTranspose is the transpose of Conv as a linear map of its input: x
// [n, in, space...] and w [in, out/groups, kernel...] give out channels and extents
// (n-1)·stride + dilation·(kernel-1) + 1 + extra - pads.
func ConvTranspose(x, w, bias *sinter.Tensor, o ConvOptions) *sinter.Tensor {
	attrs := append(o.attrs(x), "extra", spread(x, o.Extra))
	return channelBias(one("conv_transpose", []*sinter.Tensor{x, w}, attrs...), bias)
}

// perChannel shapes [channels] to broadcast along axis 1 of x.
func perChannel(x, c *sinter.Tensor) *sinter.Tensor {
	shape := make([]int, max(x.Rank()-1, 1))
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	return c.Reshape(shape...)
}

func channelBias(y, bias *sinter.Tensor) *sinter.Tensor {
	if bias == nil || y.Err() != nil {
		return y
	}
	return y.Add(perChannel(y, bias))
}
