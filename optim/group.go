package optim

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Group gives some parameters settings of their own. What its fields leave at
// zero is as the optimizer has it.
type Group struct {
	Match       func(p nn.Named) bool // which parameters belong to it
	Rate        Schedule
	WeightDecay float64
	NoDecay     bool // no weight decay, whatever the optimizer's
}

// SetGroups divides the parameters: each belongs to the first group that matches
// it, or to none. Weight decay for matrices only, and a head that learns faster:
//
//	opt.SetGroups(
//		optim.Group{Match: optim.NamePrefix("head."), Rate: optim.Constant(1e-2)},
//		optim.Group{Match: optim.Vectors, NoDecay: true},
//	)
//
// Groups are settings, not state: set them again before a training is resumed.
func (b *base) SetGroups(groups ...Group) {
	b.groups = make([]*Group, len(b.params))
	for i, p := range b.params {
		for k := range groups {
			if groups[k].Match != nil && groups[k].Match(p) {
				b.groups[i] = &groups[k]
				break
			}
		}
	}
}

// NamePrefix matches parameters by the beginning of their names.
func NamePrefix(prefix string) func(nn.Named) bool {
	return func(p nn.Named) bool { return len(p.Name) >= len(prefix) && p.Name[:len(prefix)] == prefix }
}

// Vectors matches parameters of fewer than two axes: biases, and the factors of
// normalisations.
func Vectors(p nn.Named) bool { return p.Var.Borrow().Rank() < 2 }

func (b *base) group(i int) *Group {
	if i < len(b.groups) {
		return b.groups[i]
	}
	return nil
}

// rateOf is the learning rate of a parameter at the step that is made when it is
// called, which may be a replay.
func (b *base) rateOf(i int, s Schedule) func() float64 {
	if g := b.group(i); g != nil && g.Rate != nil {
		s = g.Rate
	}
	return func() float64 { return s(b.steps) }
}

// rate is the learning rate of a parameter at this step, for use with p.
func (b *base) rate(i int, s Schedule, p *sinter.Tensor) *sinter.Tensor {
	return sinter.Fed(p, b.rateOf(i, s))
}

// decay is the weight decay of a parameter.
func (b *base) decay(i int, decay float64) float64 {
	switch g := b.group(i); {
	case g == nil:
		return decay
	case g.NoDecay:
		return 0
	case g.WeightDecay != 0:
		return g.WeightDecay
	}
	return decay
}

// decayed adds decay times the parameter to its gradient.
func (b *base) decayed(i int, decay float64, p, g *sinter.Tensor) *sinter.Tensor {
	if decay = b.decay(i, decay); decay == 0 {
		return g
	}
	return g.Add(p.Mul(decay))
}
