package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Adagrad divides gradients by the root of the sum of all their squares (Duchi,
// Hazan and Singer, Adaptive Subgradient Methods, 2011):
//
//	s = s + g²
//	p = p - rate·g / (√s + ε)
type Adagrad struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Epsilon     float64 // 1e-10
	WeightDecay float64 // times the parameter is added to its gradient

	base
	s []*sinter.Var
}

// NewAdagrad makes an optimizer whose sums of squares begin at initial, usually 0.
func NewAdagrad(params []nn.Named, rate Schedule, initial float64) *Adagrad {
	a := &Adagrad{Rate: rate, Epsilon: 1e-10, base: newBase(params)}
	for _, p := range a.params {
		t := p.Var.Borrow()
		a.s = append(a.s, a.remember("s", p, of(t).Full(initial, t.DType(), t.Shape()...)))
	}
	return a
}

// Step gives every parameter its next value; see [Optimizer].
func (a *Adagrad) Step(grads []*sinter.Tensor) error {
	return a.apply(grads, func(i int, g *sinter.Tensor) []update {
		p := value(a.params[i].Var, g)
		g = a.decayed(i, a.WeightDecay, p, g)
		s := value(a.s[i], g).Add(g.Mul(g))
		step := g.Div(s.Sqrt().Add(a.Epsilon)).Mul(a.rate(i, a.Rate, p))
		return []update{{a.s[i], s}, {a.params[i].Var, p.Sub(step)}}
	})
}

// Adadelta gives steps the unit of the parameters, by a running average of their
// own squares (Zeiler, Adadelta: An Adaptive Learning Rate Method, 2012,
// algorithm 1):
//
//	s = ρ·s + (1-ρ)·g²
//	d = g · √(u + ε) / √(s + ε)
//	u = ρ·u + (1-ρ)·d²
//	p = p - rate·d
type Adadelta struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule // the paper's is 1
	Rho         float64  // 0.9
	Epsilon     float64  // 1e-6
	WeightDecay float64  // times the parameter is added to its gradient

	base
	s, u []*sinter.Var
}

// NewAdadelta makes an optimizer with the usual settings.
func NewAdadelta(params []nn.Named, rate Schedule) *Adadelta {
	a := &Adadelta{Rate: rate, Rho: 0.9, Epsilon: 1e-6, base: newBase(params)}
	a.s, a.u = a.zeros("s"), a.zeros("u")
	return a
}

// Step gives every parameter its next value; see [Optimizer].
func (a *Adadelta) Step(grads []*sinter.Tensor) error {
	return a.apply(grads, func(i int, g *sinter.Tensor) []update {
		p, u := value(a.params[i].Var, g), value(a.u[i], g)
		g = a.decayed(i, a.WeightDecay, p, g)
		s := average(value(a.s[i], g), g.Mul(g), a.Rho)
		d := g.Mul(u.Add(a.Epsilon).Sqrt()).Div(s.Add(a.Epsilon).Sqrt())
		next := p.Sub(d.Mul(a.rate(i, a.Rate, p)))
		return []update{{a.s[i], s}, {a.u[i], average(u, d.Mul(d), a.Rho)}, {a.params[i].Var, next}}
	})
}
