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
	return a.apply(grads, func(i int, g *sinter.Tensor) []update {
		return a.adam(i, g, moments{a.m[i], a.v[i], a.Beta1, a.Beta2, a.Epsilon, a.rateOf(i, a.Rate), a.decay(i, a.WeightDecay)})
	})
}

// moments are what a parameter's step by Adam is made of.
type moments struct {
	m, v                  *sinter.Var
	beta1, beta2, epsilon float64
	rate                  func() float64
	decay                 float64
}

// adam is the rule of [Adam] for one parameter.
func (b *base) adam(i int, g *sinter.Tensor, s moments) []update {
	p := value(b.params[i].Var, g)
	m := average(value(s.m, g), g, s.beta1)
	v := average(value(s.v, g), g.Mul(g), s.beta2)
	d := v.Sqrt().Div(b.root(s.beta2, p)).Add(s.epsilon)
	rate := sinter.Fed(p, func() float64 { return s.rate() / (1 - power(s.beta1, b.steps+1)) })
	next := shrunk(p, s.rate, s.decay).Sub(m.Div(d).Mul(rate))
	return []update{{s.m, m}, {s.v, v}, {b.params[i].Var, next}}
}

// root is √(1-β₂ᵗ) of this step, for use with p.
func (b *base) root(beta2 float64, p *sinter.Tensor) *sinter.Tensor {
	return sinter.Fed(p, func() float64 { return math.Sqrt(1 - power(beta2, b.steps+1)) })
}

// average is the running average a·keep + g·(1 - keep).
func average(a, g *sinter.Tensor, keep float64) *sinter.Tensor {
	return a.Mul(keep).Add(g.Mul(1 - keep))
}

// shrunk is p·(1 - rate·decay): weight decay apart from the gradient.
func shrunk(p *sinter.Tensor, rate func() float64, decay float64) *sinter.Tensor {
	if decay == 0 {
		return p
	}
	return p.Mul(sinter.Fed(p, func() float64 { return 1 - float64(rate()*decay) })) // rounded twice, on every processor
}
