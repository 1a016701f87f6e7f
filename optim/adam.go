package optim

import (
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Adam is the method of Kingma and Ba (2015) with decoupled weight decay
// (Loshchilov and Hutter, 2019: AdamW):
//
//	m = β₁·m + (1-β₁)·g
//	v = β₂·v + (1-β₂)·g²
//	p = p - rate·decay·p - (rate / (1-β₁ᵗ)) · m / (√v/√(1-β₂ᵗ) + ε)
//
// The moments have the dtype of the parameter. ε must be representable in it:
// 1e-8 is 0 in f16.
type Adam struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Epsilon     float64 // 1e-8
	WeightDecay float64 // 0

	base
	m, v []*sinter.Var
}

// NewAdam makes an optimizer with the usual settings.
func NewAdam(params []nn.Named, rate Schedule) *Adam {
	a := &Adam{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, base: base{params: params}}
	a.m, a.v = a.zeros("m"), a.zeros("v")
	return a
}

// NewAdamW makes an Adam with weight decay.
func NewAdamW(params []nn.Named, rate Schedule, decay float64) *Adam {
	a := NewAdam(params, rate)
	a.WeightDecay = decay
	return a
}

// Step gives every parameter its next value; see [Optimizer].
func (a *Adam) Step(grads []*sinter.Tensor) error {
	rate := a.Rate(a.steps)
	t := a.steps + 1
	size := rate / (1 - power(a.Beta1, t))
	root := math.Sqrt(1 - power(a.Beta2, t))
	keep := 1 - float64(rate*a.WeightDecay) // rounded twice, on every processor
	return a.apply(grads, func(i int, g *sinter.Tensor, c *constants) []update {
		p := value(a.params[i].Var, g)
		m := value(a.m[i], g).Mul(c.of(a.Beta1, p)).Add(g.Mul(c.of(1-a.Beta1, p)))
		v := value(a.v[i], g).Mul(c.of(a.Beta2, p)).Add(g.Mul(g).Mul(c.of(1-a.Beta2, p)))
		d := v.Sqrt().Div(c.of(root, p)).Add(c.of(a.Epsilon, p))
		next := p
		if a.WeightDecay != 0 {
			next = p.Mul(c.of(keep, p))
		}
		next = next.Sub(m.Div(d).Mul(c.of(size, p)))
		return []update{{a.m[i], m}, {a.v[i], v}, {a.params[i].Var, next}}
	})
}
