package fn

import (
	"math"

	"github.com/sinter-go/sinter"
)

// RoPEOptions configure RoPE.
type RoPEOptions struct {
	Base float64 // 10000
	// Interleaved pairs neighbours 2i and 2i+1 (the original paper, GPT-J); else
	// element i is paired with i + d/2 (GPT-NeoX, Llama).
	Interleaved bool
}

// RoPE turns pairs of the elements of x [..., l, d], d even, by position times
// Base^(-2i/d), for pair i. Positions are i64, and broadcast to [..., l]; nil means
// 0, 1, ..., l-1.
func RoPE(x, positions *sinter.Tensor, o RoPEOptions) *sinter.Tensor {
	if x.Rank() < 2 || x.Dim(-1)%2 != 0 {
		return failed("rope", []*sinter.Tensor{x}, "%v: the last of at least two axes has an even extent", x.Shape())
	}
	if positions == nil {
		positions = arange(x, x.Dim(-2), sinter.I64)
	}
	return NewRotation(positions, x.Dim(-1), x.DType(), o).Turn(x)
}

// Rotation is what [RoPE] turns by, made once for all that is at the same positions,
// such as queries and keys of every layer: cosines and sines [..., l, d/2].
type Rotation struct {
	Cos, Sin    *sinter.Tensor
	Interleaved bool
}

// NewRotation is the rotation at i64 positions [..., l], for x of width d and a dtype.
func NewRotation(positions *sinter.Tensor, d int, t sinter.DType, o RoPEOptions) Rotation {
	if o.Base == 0 {
		o.Base = 10000
	}
	// Angles in f64: positions are large where frequencies are not.
	frequency := arange(positions, d/2, sinter.F64).Mul(-2 / float64(max(d, 1)) * math.Log2(o.Base)).Exp2()
	angle := positions.Cast(sinter.F64).Unsqueeze(-1).Mul(frequency)
	return Rotation{angle.Cos().Cast(t), angle.Sin().Cast(t), o.Interleaved}
}

// Until is the rotation of the first n positions.
func (r Rotation) Until(n int) Rotation {
	if l := r.Cos.Dim(-2); n < l {
		r.Cos, r.Sin = r.Cos.Split(-2, n, l-n)[0], r.Sin.Split(-2, n, l-n)[0]
	}
	return r
}

// Turn turns the pairs of x [..., l, d].
func (r Rotation) Turn(x *sinter.Tensor) *sinter.Tensor {
	n, d := x.Rank(), x.Dim(-1)
	if n < 2 || d%2 != 0 {
		return failed("rope", []*sinter.Tensor{x}, "%v: the last of at least two axes has an even extent", x.Shape())
	}
	turn := func(a, b *sinter.Tensor) (p, q *sinter.Tensor) {
		return a.Mul(r.Cos).Sub(b.Mul(r.Sin)), b.Mul(r.Cos).Add(a.Mul(r.Sin))
	}
	if r.Interleaved {
		s := x.Shape()
		pairs := x.Reshape(append(s[:n-1:n-1], d/2, 2)...)
		a, b := turn(pairs.At(-1, 0), pairs.At(-1, 1))
		return sinter.Stack(-1, a, b).Reshape(s...)
	}
	halves := x.Split(-1, d/2, d/2)
	a, b := turn(halves[0], halves[1])
	return sinter.Concat(-1, a, b)
}
