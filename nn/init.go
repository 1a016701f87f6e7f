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

// LeCunUniform draws from ±√(3/in), for layers followed by SELU or nothing (LeCun
// and others, Efficient BackProp, 1998).
func LeCunUniform(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return uniform(g, o, d, 3, fan.In, shape)
}

// LeCunNormal draws from the normal distribution of deviation √(1/in).
func LeCunNormal(g *sinter.Generator, o sinter.Of, d sinter.DType, fan Fan, shape ...int) *sinter.Tensor {
	return normal(g, o, d, 1, fan.In, shape)
}

// Constant gives all elements one value, and draws nothing.
func Constant(v float64) Init {
	return func(_ *sinter.Generator, o sinter.Of, d sinter.DType, _ Fan, shape ...int) *sinter.Tensor {
		return o.Full(v, d, shape...)
	}
}

// Zeros and Ones are [Constant] of 0 and 1.
var (
	Zeros = Constant(0)
	Ones  = Constant(1)
)

// Uniform draws from -bound to bound.
func Uniform(bound float64) Init {
	return func(g *sinter.Generator, o sinter.Of, d sinter.DType, _ Fan, shape ...int) *sinter.Tensor {
		return g.Uniform(o, drawn(d), shape...).Mul(2).Sub(1).Mul(bound).Cast(d)
	}
}

// Normal draws from the normal distribution of a deviation.
func Normal(deviation float64) Init {
	return func(g *sinter.Generator, o sinter.Of, d sinter.DType, _ Fan, shape ...int) *sinter.Tensor {
		return g.Normal(o, drawn(d), shape...).Mul(deviation).Cast(d)
	}
}

// TruncatedNormal draws from the normal distribution of a deviation, without what
// lies beyond low and high deviations: -2 and 2, say.
func TruncatedNormal(deviation, low, high float64) Init {
	return func(g *sinter.Generator, o sinter.Of, d sinter.DType, _ Fan, shape ...int) *sinter.Tensor {
		if !(low < high) {
			return failed("truncated_normal", nil, "from %v to %v deviations: expected the first to be less", low, high)
		}
		// The inverse of the distribution at a uniform draw between its values at
		// the ends, in f64.
		from, to := o.Full(low, sinter.F64).NormalCDF(), o.Full(high, sinter.F64).NormalCDF()
		p := g.Uniform(o, sinter.F64, shape...).Mul(to.Sub(from)).Add(from)
		x := p.Mul(2).Sub(1).Erfinv().Mul(math.Sqrt2)
		return x.Clamp(low, high).Mul(deviation).Cast(d)
	}
}

// Orthogonal draws a matrix with orthonormal rows or columns, whichever are fewer,
// times gain (Saxe and others, Exact solutions to the nonlinear dynamics of
// learning, 2014). A weight of more than two axes is a matrix of rows along its
// first.
func Orthogonal(gain float64) Init {
	return func(g *sinter.Generator, o sinter.Of, d sinter.DType, _ Fan, shape ...int) *sinter.Tensor {
		n := 1
		for _, v := range shape {
			n *= v
		}
		if len(shape) < 2 || n <= 0 {
			return failed("orthogonal", nil, "shape %v is no matrix with elements", shape)
		}
		rows, columns := shape[0], n/shape[0]
		long, short := max(rows, columns), min(rows, columns)
		x := orthonormal(g.Normal(o, sinter.F64, short, long))
		if rows > columns {
			x = x.Transpose()
		}
		return x.Mul(gain).Reshape(shape...).Cast(d)
	}
}

// orthonormal makes the rows of a matrix orthonormal, in their order: each loses
// what it has of those before it, twice, since the first time leaves rounding
// errors of the size of what was lost (Giraud and others, 2005). These are plain
// operations, with the same bits on every processor.
func orthonormal(x *sinter.Tensor) *sinter.Tensor {
	var q *sinter.Tensor
	for i := range x.Dim(0) {
		row := x.Slice(sinter.Span(i, i+1))
		for range 2 {
			if q != nil {
				row = row.Sub(row.MatMul(q.Transpose()).MatMul(q))
			}
			row = row.Div(row.Norm(2))
		}
		if q == nil {
			q = row
		} else {
			q = sinter.Concat(0, q, row)
		}
	}
	return q
}
