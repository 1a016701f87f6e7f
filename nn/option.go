package nn

import "github.com/sinter-go/sinter"

// Option configures a layer that is being made. All layers take all options, so
// that a model can hand its own options on; those that a layer has no use for do
// nothing.
type Option func(*options)

type options struct {
	of     sinter.Of
	device *sinter.Device
	dtype  sinter.DType
	init   Init // nil: the layer's own choice
	bias   bool
	affine bool
	eps    float64 // 0: the layer's own choice

	kernel, stride, pad, dilation, extra []int
	groups                               int
	same                                 bool

	window                            int
	causal, gated, rms, bidirectional bool
	packed                            bool
	activation                        Layer // nil: the layer's own choice
	kvHeads, layers                   int
	rotary, dropout                   float64
}

func makeOptions(opts []Option) options {
	o := options{dtype: sinter.F32, bias: true, affine: true, groups: 1, layers: 1}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// weight draws a weight by the initialiser of the options, or by usual.
func (o options) weight(g *sinter.Generator, usual Init, fan Fan, shape ...int) *sinter.Var {
	if o.init != nil {
		usual = o.init
	}
	return sinter.NewVar(usual(g, o.of, o.dtype, fan, shape...))
}

// vector makes a parameter of equal elements.
func (o options) vector(v float64, shape ...int) *sinter.Var {
	return sinter.NewVar(o.of.Full(v, o.dtype, shape...))
}

// buffer makes a variable that is not trained.
func (o options) buffer(v float64, d sinter.DType, shape ...int) *sinter.Var {
	b := sinter.NewVar(o.of.Full(v, d, shape...))
	b.Freeze()
	return b
}

func (o options) epsilon(usual float64) float64 {
	if o.eps != 0 {
		return o.eps
	}
	return usual
}

// On puts parameters on a device; without it they are on the default device.
func On(d *sinter.Device) Option {
	return func(o *options) { o.of, o.device = sinter.On(d), d }
}

// DType makes parameters of a float dtype; without it they are f32.
func DType(d sinter.DType) Option { return func(o *options) { o.dtype = d } }

// InitWith draws weights by another initialiser than the layer's own choice,
// which is [HeUniform] if its documentation says nothing else.
func InitWith(f Init) Option { return func(o *options) { o.init = f } }

// NoBias leaves the bias out.
func NoBias() Option { return func(o *options) { o.bias = false } }

// NoAffine leaves the factors and biases of a normalisation out.
func NoAffine() Option { return func(o *options) { o.affine = false } }

// Epsilon is what a normalisation adds to variances: 1e-5 without it.
func Epsilon(eps float64) Option { return func(o *options) { o.eps = eps } }

// Kernel gives a convolution's kernel an extent for each axis.
func Kernel(extents ...int) Option { return func(o *options) { o.kernel = extents } }

// Stride is the step of a convolution's windows: one number for all axes, or one
// for each; 1 without it.
func Stride(n ...int) Option { return func(o *options) { o.stride = n } }

// Pad puts zeros around a convolution's input: one number for all axes, one for
// each, or those before the axes and then those after; 0 without it.
func Pad(n ...int) Option { return func(o *options) { o.pad = n } }

// PadSame pads a convolution of stride 1 so that extents stay; an odd zero goes
// to the end.
func PadSame() Option { return func(o *options) { o.same = true } }

// Dilation is the distance of a kernel's elements, as [Stride]; 1 without it.
func Dilation(n ...int) Option { return func(o *options) { o.dilation = n } }

// Extra is added to the end of a transposed convolution's result, below the stride.
func Extra(n ...int) Option { return func(o *options) { o.extra = n } }

// Groups divides the channels of a convolution; 1 without it.
func Groups(n int) Option { return func(o *options) { o.groups = n } }

// Causal makes attention look at earlier positions only.
func Causal() Option { return func(o *options) { o.causal = true } }

// Window makes attention look at the last n positions only, the query's own being
// the last of them if it is causal.
func Window(n int) Option { return func(o *options) { o.window = n } }

// Packed makes attention project queries, keys and values by one product.
func Packed() Option { return func(o *options) { o.packed = true } }

// Activation is what the feed-forward part of a transformer block applies, instead of
// its own choice.
func Activation(l Layer) Option { return func(o *options) { o.activation = l } }

// KVHeads is the number of heads of keys and values, of which the heads of queries
// are a multiple; as many without it.
func KVHeads(n int) Option { return func(o *options) { o.kvHeads = n } }

// Rotary turns queries and keys by their positions ([fn.RoPE]) with a base, 10000
// usually.
func Rotary(base float64) Option { return func(o *options) { o.rotary = base } }

// DropoutRate is the probability of dropout inside of a layer; 0 without it.
func DropoutRate(p float64) Option { return func(o *options) { o.dropout = p } }

// SwiGLU makes the feed-forward part of a transformer block gated, with SiLU.
func SwiGLU() Option { return func(o *options) { o.gated = true } }

// RMS makes a transformer block normalise by [RMSNorm] instead of [LayerNorm].
func RMS() Option { return func(o *options) { o.rms = true } }

// Layers is the number of layers of a recurrent network; 1 without it.
func Layers(n int) Option { return func(o *options) { o.layers = n } }

// Bidirectional makes a recurrent network run in both directions.
func Bidirectional() Option { return func(o *options) { o.bidirectional = true } }
