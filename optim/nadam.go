package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// NAdam is Adam with Nesterov's momentum (Dozat, Incorporating Nesterov Momentum
// into Adam, 2016, algorithm 2 with a constant μ = β₁), and decoupled decay:
//
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	n = β₁·m/(1-β₁ᵗ⁺¹) + (1-β₁)·g/(1-β₁ᵗ)
//	p = p - rate·decay·p - rate·n / (√v/√(1-β₂ᵗ) + ε)
type NAdam struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Epsilon     float64 // 1e-8
	WeightDecay float64

	base
	m, v []*sinter.Var
}

// NewNAdam makes an optimizer with the usual settings.
func NewNAdam(params []nn.Named, rate Schedule) *NAdam {
	n := &NAdam{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, base: newBase(params)}
	n.m, n.v = n.zeros("m"), n.zeros("v")
	return n
}

// Step gives every parameter its next value; see [Optimizer].
func (n *NAdam) Step(grads []*sinter.Tensor) error {
	ahead := func() float64 { return n.Beta1 / (1 - power(n.Beta1, n.steps+2)) }
	now := func() float64 { return (1 - n.Beta1) / (1 - power(n.Beta1, n.steps+1)) }
	return n.apply(grads, func(i int, g *sinter.Tensor) []update {
		p := value(n.params[i].Var, g)
		m := average(value(n.m[i], g), g, n.Beta1)
		v := average(value(n.v[i], g), g.Mul(g), n.Beta2)
		step := m.Mul(sinter.Fed(p, ahead)).Add(g.Mul(sinter.Fed(p, now))).Div(v.Sqrt().Div(n.root(n.Beta2, p)).Add(n.Epsilon))
		next := shrunk(p, n.rateOf(i, n.Rate), n.decay(i, n.WeightDecay)).Sub(step.Mul(n.rate(i, n.Rate, p)))
		return []update{{n.m[i], m}, {n.v[i], v}, {n.params[i].Var, next}}
	})
}
