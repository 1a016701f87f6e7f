package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// SGD is stochastic gradient descent. With momentum μ it keeps v = μ·v + g and
// steps along v, or along g + μ·v if Nesterov is set; without, along g.
type SGD struct {
	// The rate of each step; set them before the first, or between steps.
	Rate        Schedule
	Momentum    float64
	Nesterov    bool
	WeightDecay float64 // times the parameter is added to its gradient

	base
	velocity []*sinter.Var
}

// NewSGD makes an optimizer without momentum.
func NewSGD(params []nn.Named, rate Schedule) *SGD {
	return &SGD{Rate: rate, base: newBase(params)}
}

// NewMomentum makes an optimizer with momentum.
func NewMomentum(params []nn.Named, rate Schedule, momentum float64, nesterov bool) *SGD {
	s := &SGD{Rate: rate, Momentum: momentum, Nesterov: nesterov, base: newBase(params)}
	s.velocity = s.zeros("velocity")
	return s
}

// Step gives every parameter its next value; see [Optimizer].
func (s *SGD) Step(grads []*sinter.Tensor) error {
	return s.apply(grads, func(i int, g *sinter.Tensor) []update {
		p := value(s.params[i].Var, g)
		g = s.decayed(i, s.WeightDecay, p, g)
		var out []update
		if s.velocity != nil {
			v := value(s.velocity[i], g).Mul(s.Momentum).Add(g)
			out = append(out, update{s.velocity[i], v})
			if s.Nesterov {
				g = g.Add(v.Mul(s.Momentum))
			} else {
				g = v
			}
		}
		return append(out, update{s.params[i].Var, p.Sub(g.Mul(s.rate(i, s.Rate, p)))})
	})
}
