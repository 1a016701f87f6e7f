package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// RMSProp divides gradients by a running root of their squares (Tieleman and
// Hinton, lecture 6.5 of Neural Networks for Machine Learning, 2012); centred, by
// their deviation (Graves, Generating Sequences With Recurrent Neural Networks,
// 2013, equations 38 to 41):
//
//	v = α·v + (1-α)·g²
//	a = α·a + (1-α)·g           centred only, else 0
//	d = g / (√(v - a²) + ε)
//	u = μ·u + d                 with momentum, else d
//	p = p - rate·u
type RMSProp struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Alpha       float64 // 0.99
	Epsilon     float64 // 1e-8
	Momentum    float64
	WeightDecay float64 // times the parameter is added to its gradient

	base
	v, a, u []*sinter.Var // a, u: nil if there are none
}

// NewRMSProp makes an optimizer with the usual settings.
func NewRMSProp(params []nn.Named, rate Schedule, momentum float64, centred bool) *RMSProp {
	r := &RMSProp{Rate: rate, Alpha: 0.99, Epsilon: 1e-8, Momentum: momentum, base: newBase(params)}
	r.v = r.zeros("v")
	if centred {
		r.a = r.zeros("a")
	}
	if momentum != 0 {
		r.u = r.zeros("u")
	}
	return r
}

// Step gives every parameter its next value; see [Optimizer].
func (r *RMSProp) Step(grads []*sinter.Tensor) error {
	return r.apply(grads, func(i int, g *sinter.Tensor) []update {
		p := value(r.params[i].Var, g)
		g = r.decayed(i, r.WeightDecay, p, g)
		v := average(value(r.v[i], g), g.Mul(g), r.Alpha)
		out := []update{{r.v[i], v}}
		if r.a != nil {
			a := average(value(r.a[i], g), g, r.Alpha)
			out = append(out, update{r.a[i], a})
			v = v.Sub(a.Mul(a)).Maximum(0) // rounding may take it below
		}
		d := g.Div(v.Sqrt().Add(r.Epsilon))
		if r.u != nil {
			d = value(r.u[i], g).Mul(r.Momentum).Add(d)
			out = append(out, update{r.u[i], d})
		}
		return append(out, update{r.params[i].Var, p.Sub(d.Mul(r.rate(i, r.Rate, p)))})
	})
}
