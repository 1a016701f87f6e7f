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
	a := &Adam{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, base: newBase(params)}
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
	return a.apply(grads, func(i int, g *sinter.Tensor, c *constants) []update {
		return a.adam(i, g, c, moments{a.m[i], a.v[i], a.Beta1, a.Beta2, a.Epsilon, a.rate(i, a.Rate), a.decay(i, a.WeightDecay)})
	})
}

// moments are what a parameter's step by Adam is made of.
type moments struct {
	m, v                  *sinter.Var
	beta1, beta2, epsilon float64
	rate, decay           float64
}

// adam is the rule of [Adam] for one parameter.
func (b *base) adam(i int, g *sinter.Tensor, c *constants, s moments) []update {
	t := b.steps + 1
	p := value(b.params[i].Var, g)
	m := average(value(s.m, g), g, s.beta1, c)
	v := average(value(s.v, g), g.Mul(g), s.beta2, c)
	d := v.Sqrt().Div(c.of(math.Sqrt(1-power(s.beta2, t)), p)).Add(c.of(s.epsilon, p))
	next := shrunk(p, s.rate, s.decay, c).Sub(m.Div(d).Mul(c.of(s.rate/(1-power(s.beta1, t)), p)))
	return []update{{s.m, m}, {s.v, v}, {b.params[i].Var, next}}
}

// average is the running average a·keep + g·(1 - keep).
func average(a, g *sinter.Tensor, keep float64, c *constants) *sinter.Tensor {
	return a.Mul(c.of(keep, a)).Add(g.Mul(c.of(1-keep, a)))
}

// shrunk is p·(1 - rate·decay): weight decay apart from the gradient.
func shrunk(p *sinter.Tensor, rate, decay float64, c *constants) *sinter.Tensor {
	if decay == 0 {
		return p
	}
	return p.Mul(c.of(1-float64(rate*decay), p)) // rounded twice, on every processor
}
