package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Lion steps along the signs of an interpolated momentum (Chen and others,
// Symbolic Discovery of Optimization Algorithms, 2023, algorithm 2):
//
//	c = β₁·m + (1-β₁)·g
//	p = p - rate·decay·p - rate·sign(c)
//	m = β₂·m + (1-β₂)·g
//
// Rates are 3 to 10 times below those of AdamW, decays as many times above.
type Lion struct {
	// Settings; change them before the first step, or between steps.
	Rate        Schedule
	Beta1       float64 // 0.9
	Beta2       float64 // 0.99
	WeightDecay float64

	base
	m []*sinter.Var
}

// NewLion makes an optimizer with the usual settings.
func NewLion(params []nn.Named, rate Schedule, decay float64) *Lion {
	l := &Lion{Rate: rate, Beta1: 0.9, Beta2: 0.99, WeightDecay: decay, base: newBase(params)}
	l.m = l.zeros("m")
	return l
}

// Step gives every parameter its next value; see [Optimizer].
func (l *Lion) Step(grads []*sinter.Tensor) error {
	return l.apply(grads, func(i int, g *sinter.Tensor) []update {
		p, m := value(l.params[i].Var, g), value(l.m[i], g)
		step := average(m, g, l.Beta1).Sign().Mul(l.rate(i, l.Rate, p))
		next := shrunk(p, l.rateOf(i, l.Rate), l.decay(i, l.WeightDecay)).Sub(step)
		return []update{{l.m[i], average(m, g, l.Beta2)}, {l.params[i].Var, next}}
	})
}
