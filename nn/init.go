package nn

import (
	"math"

	"github.com/sinter-go/sinter"
)

// Fan is how many inputs and outputs an element of a weight connects.
type Fan struct{ In, Out int }

// Init draws the initial value of a weight: a tensor of the given float dtype and
// shape. Equal generators, drawn from in the same order, give equal bits on every
// device.
type Init func(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor

// HeUniform draws from ±√(6/in), which keeps the variance through layers that
// ReLU follows (He and others, 2015).
func HeUniform(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return uniform(g, o, d, 6, fan.In, shape)
}

// HeNormal draws from the normal distribution of deviation √(2/in).
func HeNormal(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return normal(g, o, d, 2, fan.In, shape)
}

// GlorotUniform draws from ±√(6/(in+out)), for layers followed by tanh or nothing
// (Glorot and Bengio, 2010).
func GlorotUniform(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return uniform(g, o, d, 6, fan.In+fan.Out, shape)
}

// GlorotNormal draws from the normal distribution of deviation √(2/(in+out)).
func GlorotNormal(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return normal(g, o, d, 2, fan.In+fan.Out, shape)
}

// drawn returns the dtype to draw in: small floats are drawn as f32 and cast.
func drawn(d sinter.DType) sinter.DType {
	if d == sinter.F16 || d == sinter.BF16 {
		return sinter.F32
	}
	return d
}

// The square roots below are correctly rounded on every machine, and rounded to
// the dtype before they meet a tensor.

func uniform(g *sinter.Generator, o sinter.Of, d sinter.DType, gain float64, n int, shape []int) *sinter.Tensor {
	u := g.Uniform(o, drawn(d), shape...)
	return u.Mul(2).Sub(1).Mul(math.Sqrt(gain / float64(n))).Cast(d)
}

func normal(g *sinter.Generator, o sinter.Of, d sinter.DType, gain float64, n int, shape []int) *sinter.Tensor {
	return g.Normal(o, drawn(d), shape...).Mul(math.Sqrt(gain / float64(n))).Cast(d)
}
