package nn

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// Conv is a convolution (cross-correlation) over one to three axes of space: x
// [n, in, space...] gives [n, out, space...]. Weight has shape
// [out, in/groups, kernel...], as files of PyTorch models have it, Bias [out]; Bias
// is nil in a layer without one.
type Conv struct {
	Weight *sinter.Var
	Bias   *sinter.Var

	Options fn.ConvOptions `nn:"-"`
}

// NewConv1d makes a convolution over one axis, for x [n, in, length].
func NewConv1d(g *sinter.Generator, in, out, kernel int, opts ...Option) *Conv {
	return newConv(g, 1, in, out, kernel, opts)
}

// NewConv2d makes a convolution over two axes, for x [n, in, height, width]. The
// kernel has the same extent on both; see [Kernel] for others.
func NewConv2d(g *sinter.Generator, in, out, kernel int, opts ...Option) *Conv {
	return newConv(g, 2, in, out, kernel, opts)
}

// NewConv3d makes a convolution over three axes; see [NewConv2d].
func NewConv3d(g *sinter.Generator, in, out, kernel int, opts ...Option) *Conv {
	return newConv(g, 3, in, out, kernel, opts)
}

// kernels gives the kernel's extents and their product.
func (o options) kernels(axes, kernel int) ([]int, int) {
	k := slices.Repeat([]int{kernel}, axes)
	if o.kernel != nil {
		k = o.kernel
	}
	n := 1
	for _, d := range k {
		n *= d
	}
	return k, n
}

func (o options) convolution() fn.ConvOptions {
	return fn.ConvOptions{Stride: o.stride, Dilation: o.dilation, Pad: o.pad, Groups: o.groups, Extra: o.extra}
}

// over is n/d; -1, which no shape has, if that is no number of channels.
func over(n, d int) int {
	if d < 1 || n%d != 0 {
		return -1
	}
	return n / d
}

func newConv(g *sinter.Generator, axes, in, out, kernel int, opts []Option) *Conv {
	o := makeOptions(opts)
	k, size := o.kernels(axes, kernel)
	c := &Conv{Options: o.convolution()}
	per := over(in, o.groups)
	if over(out, o.groups) < 0 {
		per = -1
	}
	c.Weight = o.weight(g, HeUniform, Fan{In: per * size, Out: out / max(o.groups, 1) * size}, append([]int{out, per}, k...)...)
	if o.bias {
		c.Bias = o.vector(0, out)
	}
	if o.same {
		before, after := []int{}, []int{}
		for i, d := range k {
			step := 1
			switch {
			case len(o.dilation) == 1:
				step = o.dilation[0]
			case i < len(o.dilation):
				step = o.dilation[i]
			}
			total := step * (d - 1)
			before, after = append(before, total/2), append(after, total-total/2)
		}
		c.Options.Pad = append(before, after...)
	}
	return c
}

// Forward convolves x, in the dtype of the weights, which must be that of x.
func (c *Conv) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.Conv(x, Use(c.Weight, x), optional(c.Bias, x), c.Options)
}

// String describes the layer: Conv(3 → 8, kernel 3 3, stride 2).
func (c *Conv) String() string {
	return describeConv("Conv", c.Weight, c.Options, func(s []int, groups int) (in, out int) { return s[1] * groups, s[0] })
}

// ConvTranspose is the transpose of [Conv] as a linear map of its input. Weight has
// shape [in, out/groups, kernel...], as files of PyTorch models have it.
type ConvTranspose struct {
	Weight *sinter.Var
	Bias   *sinter.Var

	Options fn.ConvOptions `nn:"-"`
}

// NewConvTranspose1d makes a transposed convolution over one axis.
func NewConvTranspose1d(g *sinter.Generator, in, out, kernel int, opts ...Option) *ConvTranspose {
	return newConvTranspose(g, 1, in, out, kernel, opts)
}

// NewConvTranspose2d makes a transposed convolution over two axes.
func NewConvTranspose2d(g *sinter.Generator, in, out, kernel int, opts ...Option) *ConvTranspose {
	return newConvTranspose(g, 2, in, out, kernel, opts)
}

// NewConvTranspose3d makes a transposed convolution over three axes.
func NewConvTranspose3d(g *sinter.Generator, in, out, kernel int, opts ...Option) *ConvTranspose {
	return newConvTranspose(g, 3, in, out, kernel, opts)
}

func newConvTranspose(g *sinter.Generator, axes, in, out, kernel int, opts []Option) *ConvTranspose {
	o := makeOptions(opts)
	k, size := o.kernels(axes, kernel)
	per := over(out, o.groups)
	if over(in, o.groups) < 0 {
		per = -1
	}
	c := &ConvTranspose{Options: o.convolution()}
	// An output element meets in/groups channels under every stride-th kernel
	// element; the fan takes the whole kernel, as other libraries do.
	c.Weight = o.weight(g, HeUniform, Fan{In: per * size, Out: in / max(o.groups, 1) * size}, append([]int{in, per}, k...)...)
	if o.bias {
		c.Bias = o.vector(0, out)
	}
	return c
}

// Forward applies the layer, in the dtype of the weights, which must be that of x.
func (c *ConvTranspose) Forward(x *sinter.Tensor) *sinter.Tensor {
	return fn.ConvTranspose(x, Use(c.Weight, x), optional(c.Bias, x), c.Options)
}

// String describes the layer.
func (c *ConvTranspose) String() string {
	return describeConv("ConvTranspose", c.Weight, c.Options, func(s []int, groups int) (in, out int) { return s[0], s[1] * groups })
}

func describeConv(name string, v *sinter.Var, o fn.ConvOptions, channels func(s []int, groups int) (in, out int)) string {
	if v == nil {
		return name + "(empty)"
	}
	w := v.Borrow()
	if err := w.Err(); err != nil {
		return name + "(" + err.Error() + ")"
	}
	in, out := channels(w.Shape(), max(o.Groups, 1))
	text := fmt.Sprintf("%s(%d → %d, kernel %s", name, in, out, plain(w.Shape()[2:]))
	for _, p := range []struct {
		name string
		list []int
	}{{"stride", o.Stride}, {"pad", o.Pad}, {"dilation", o.Dilation}, {"extra", o.Extra}} {
		if len(p.list) > 0 {
			text += fmt.Sprintf(", %s %s", p.name, plain(p.list))
		}
	}
	if o.Groups > 1 {
		text += fmt.Sprintf(", groups %d", o.Groups)
	}
	return text + ")"
}

// plain writes numbers without brackets.
func plain(list []int) string {
	s := fmt.Sprint(list)
	return s[1 : len(s)-1]
}
