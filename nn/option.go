package nn

import "github.com/sinter-go/sinter"

// Option configures a layer that is being made. All layers take all options, so
// that a model can hand its own options on; those that a layer has no use for do
// nothing.
type Option func(*options)

type options struct {
	of    sinter.Of
	dtype sinter.DType
	init  Init
	bias  bool
}

func makeOptions(opts []Option) options {
	o := options{dtype: sinter.F32, init: HeUniform, bias: true}
	for _, f := range opts {
		f(&o)
	}
	return o
}

// On puts parameters on a device; without it they are on the default device.
func On(d *sinter.Device) Option {
	return func(o *options) { o.of = sinter.On(d) }
}

// DType makes parameters of a float dtype; without it they are f32.
func DType(d sinter.DType) Option { return func(o *options) { o.dtype = d } }

// InitWith draws weights by another initialiser than [HeUniform].
func InitWith(f Init) Option { return func(o *options) { o.init = f } }

// NoBias leaves the bias out.
func NoBias() Option { return func(o *options) { o.bias = false } }
