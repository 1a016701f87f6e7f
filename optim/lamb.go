package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// LAMB is Adam with a rate for each parameter, so that steps are in proportion to
// the parameter's length; for large batches (You and others, Large Batch
// Optimization for Deep Learning, 2020, algorithm 2 with φ(x) = x):
//
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	u = (m/(1-β₁ᵗ)) / (√v/√(1-β₂ᵗ) + ε) + decay·p
//	p = p - rate·(|p|/|u|)·u
//
// Where a length is 0, the quotient of the two counts as 1.
type LAMB struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Epsilon     float64 // 1e-6
	WeightDecay float64

	base
	m, v []*sinter.Var
}

// NewLAMB makes an optimizer with the usual settings.
func NewLAMB(params []nn.Named, rate Schedule, decay float64) *LAMB {
	l := &LAMB{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-6, WeightDecay: decay, base: newBase(params)}
	l.m, l.v = l.zeros("m"), l.zeros("v")
	return l
}

// Step gives every parameter its next value; see [Optimizer].
func (l *LAMB) Step(grads []*sinter.Tensor) error {
	scale := func() float64 { return 1 / (1 - power(l.Beta1, l.steps+1)) }
	return l.apply(grads, func(i int, g *sinter.Tensor) []update {
		p := value(l.params[i].Var, g)
		m := average(value(l.m[i], g), g, l.Beta1)
		v := average(value(l.v[i], g), g.Mul(g), l.Beta2)
		u := m.Mul(sinter.Fed(p, scale)).Div(v.Sqrt().Div(l.root(l.Beta2, p)).Add(l.Epsilon))
		u = l.decayed(i, l.WeightDecay, p, u)
		lp, lu := length(p), length(u)
		both := lp.Gt(0).And(lu.Gt(0))
		ratio := sinter.Where(both, lp.Div(sinter.Where(both, lu, 1)), 1)
		ratio = ratio.Mul(l.rate(i, l.Rate, ratio))
		return []update{{l.m[i], m}, {l.v[i], v}, {l.params[i].Var, p.Sub(u.Mul(ratio.Cast(p.DType())))}}
	})
}

// length is the Euclidean length of all elements, in f32 at least.
func length(t *sinter.Tensor) *sinter.Tensor { return wide(t).Norm(2) }

// wide casts small floats to f32, whose squares do not overflow.
func wide(t *sinter.Tensor) *sinter.Tensor {
	if d := t.DType(); d == sinter.F16 || d == sinter.BF16 {
		return t.Cast(sinter.F32)
	}
	return t
}
