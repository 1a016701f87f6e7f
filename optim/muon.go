package optim

import (
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Muon steps matrices along the nearest orthogonal matrix to their momentum
// (Jordan and others, Muon: An optimizer for hidden layers in neural networks,
// 2024), found by five steps of a Newton–Schulz iteration whose singular values end
// near 1, not at it:
//
//	m = μ·m + (1-μ)·g
//	n = μ·m + (1-μ)·g            Nesterov, else m
//	X = n/(|n| + 1e-7); five times: A = X·Xᵀ, X = 3.4445·X + (-4.7750·A + 2.0315·A²)·X
//	p = p - rate·decay·p - rate·√max(1, rows/columns)·X
//
// A weight of more than two axes is a matrix of rows along its first. Parameters
// that are no matrices, or that Matrix refuses (embeddings and the last layer,
// say), take steps of AdamW.
type Muon struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule // of matrices
	Momentum    float64  // 0.95
	Nesterov    bool     // true
	WeightDecay float64  // of all parameters

	AdamRate Schedule // of the others
	Beta1    float64  // 0.9
	Beta2    float64  // 0.95
	Epsilon  float64  // 1e-10

	base
	m, v []*sinter.Var // v: nil for matrices
}

// NewMuon makes an optimizer with the usual settings. matrix chooses among the
// parameters of two axes and more; nil takes all of them.
func NewMuon(params []nn.Named, rate, adamRate Schedule, decay float64, matrix func(p nn.Named) bool) *Muon {
	m := &Muon{Rate: rate, Momentum: 0.95, Nesterov: true, WeightDecay: decay, AdamRate: adamRate, Beta1: 0.9, Beta2: 0.95, Epsilon: 1e-10,
		base: newBase(params)}
	m.m = m.zeros("m")
	for _, p := range m.params {
		var v *sinter.Var
		if t := p.Var.Borrow(); t.Rank() < 2 || matrix != nil && !matrix(p) {
			v = m.remember("v", p, of(t).Zeros(t.DType(), t.Shape()...))
		}
		m.v = append(m.v, v)
	}
	return m
}

// Step gives every parameter its next value; see [Optimizer].
func (u *Muon) Step(grads []*sinter.Tensor) error {
	return u.apply(grads, func(i int, g *sinter.Tensor) []update {
		decay := u.decay(i, u.WeightDecay)
		if u.v[i] != nil {
			return u.adam(i, g, moments{u.m[i], u.v[i], u.Beta1, u.Beta2, u.Epsilon, u.rateOf(i, u.AdamRate), decay})
		}
		p, rate := value(u.params[i].Var, g), u.rateOf(i, u.Rate)
		m := average(value(u.m[i], g), g, u.Momentum)
		n := m
		if u.Nesterov {
			n = average(m, g, u.Momentum)
		}
		x, scale := orthogonal(n)
		next := shrunk(p, rate, decay).Sub(x.Mul(sinter.Fed(p, func() float64 { return float64(rate() * scale) })))
		return []update{{u.m[i], m}, {u.params[i].Var, next}}
	})
}

// orthogonal is X of [Muon] in the shape of n, and √max(1, rows/columns). Small
// floats are worked on in f32.
func orthogonal(n *sinter.Tensor) (x *sinter.Tensor, scale float64) {
	if n.Size() == 0 {
		return n, 1
	}
	rows := n.Dim(0)
	columns := n.Size() / rows
	x = wide(n).Reshape(rows, columns)
	if rows > columns { // the smaller of X·Xᵀ and Xᵀ·X
		x = x.Transpose()
	}
	x = x.Div(x.Norm(2).Add(1e-7))
	for range 5 {
		a := x.MatMul(x.Transpose())
		b := a.Mul(-4.7750).Add(a.MatMul(a).Mul(2.0315))
		x = x.Mul(3.4445).Add(b.MatMul(x))
	}
	if rows > columns {
		x = x.Transpose()
		scale = math.Sqrt(float64(rows) / float64(columns))
	} else {
		scale = 1
	}
	return x.Reshape(n.Shape()...).Cast(n.DType()), scale
}
