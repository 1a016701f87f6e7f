package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// activation is a layer that applies one function.
type activation struct {
	name string
	f    func(*sinter.Tensor) *sinter.Tensor
}

func (a activation) Forward(x *sinter.Tensor) *sinter.Tensor { return a.f(x) }

func (a activation) String() string { return a.name }

// Activations as layers: each applies the method of the same name of
// [sinter.Tensor] to each element, for any shape. In code of your own call the
// method.
var (
	ReLU        Layer = activation{"ReLU", (*sinter.Tensor).Relu}
	ReLU6       Layer = activation{"ReLU6", (*sinter.Tensor).Relu6}
	GELU        Layer = activation{"GELU", (*sinter.Tensor).Gelu}
	GELUTanh    Layer = activation{"GELUTanh", (*sinter.Tensor).GeluTanh}
	SiLU        Layer = activation{"SiLU", (*sinter.Tensor).Silu}
	Mish        Layer = activation{"Mish", (*sinter.Tensor).Mish}
	SELU        Layer = activation{"SELU", (*sinter.Tensor).Selu}
	Tanh        Layer = activation{"Tanh", (*sinter.Tensor).Tanh}
	Sigmoid     Layer = activation{"Sigmoid", (*sinter.Tensor).Sigmoid}
	LogSigmoid  Layer = activation{"LogSigmoid", (*sinter.Tensor).LogSigmoid}
	HardSigmoid Layer = activation{"HardSigmoid", (*sinter.Tensor).HardSigmoid}
	HardSwish   Layer = activation{"HardSwish", (*sinter.Tensor).HardSwish}
	HardTanh    Layer = activation{"HardTanh", (*sinter.Tensor).HardTanh}
	Softsign    Layer = activation{"Softsign", (*sinter.Tensor).Softsign}
)

// Softplus is log(1 + e^(beta·x))/beta as a layer.
func Softplus(beta float64) Layer {
	return activation{fmt.Sprintf("Softplus(%g)", beta), func(x *sinter.Tensor) *sinter.Tensor { return x.Softplus(beta) }}
}

// ELU is x where that is above 0, else alpha·(e^x - 1), as a layer.
func ELU(alpha float64) Layer {
	return activation{fmt.Sprintf("ELU(%g)", alpha), func(x *sinter.Tensor) *sinter.Tensor { return x.Elu(alpha) }}
}

// LeakyReLU is x where that is above 0, else slope·x, as a layer.
func LeakyReLU(slope float64) Layer {
	return activation{fmt.Sprintf("LeakyReLU(%g)", slope), func(x *sinter.Tensor) *sinter.Tensor { return x.LeakyRelu(slope) }}
}

// Softmax is [sinter.Tensor.Softmax] along an axis as a layer.
func Softmax(axis int) Layer {
	return activation{fmt.Sprintf("Softmax(%d)", axis), func(x *sinter.Tensor) *sinter.Tensor { return x.Softmax(axis) }}
}

// LogSoftmax is [sinter.Tensor.LogSoftmax] along an axis as a layer.
func LogSoftmax(axis int) Layer {
	return activation{fmt.Sprintf("LogSoftmax(%d)", axis), func(x *sinter.Tensor) *sinter.Tensor { return x.LogSoftmax(axis) }}
}

// GLU is the first half of the last axis times the sigmoid of the second.
var GLU Layer = activation{"GLU", func(x *sinter.Tensor) *sinter.Tensor {
	if x.Rank() == 0 || x.Dim(-1)%2 != 0 {
		return failed("glu", []*sinter.Tensor{x}, "the last axis of %v is not even", x.Shape())
	}
	halves := x.Chunk(-1, 2)
	return halves[0].Mul(halves[1].Sigmoid())
}}

// PReLU is x where that is above 0, else Weight·x, with one factor for all
// elements (Weight [1]) or one for each channel of x [n, channels, ...].
type PReLU struct{ Weight *sinter.Var }

// NewPReLU makes a layer of n factors, 1 or as many as channels, that begin at 0.25.
func NewPReLU(n int, opts ...Option) *PReLU {
	return &PReLU{makeOptions(opts).vector(0.25, n)}
}

// Forward applies the layer.
func (p *PReLU) Forward(x *sinter.Tensor) *sinter.Tensor {
	w := Use(p.Weight, x)
	if w.Size() != 1 {
		w = channels(x, w)
	} else {
		w = w.Reshape()
	}
	return x.PRelu(w)
}

// channels shapes [channels] to broadcast along axis 1 of x.
func channels(x, c *sinter.Tensor) *sinter.Tensor {
	shape := make([]int, max(x.Rank()-1, 1))
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = c.Size()
	return c.Reshape(shape...)
}
