package optim

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Accumulator adds the gradients of small batches up to those of a large one:
//
//	acc.Add(grads)               // of each small batch
//	grads, err := acc.Mean(s)    // after the last, for the optimizer
type Accumulator struct {
	memory
	sum []*sinter.Var
}

// NewAccumulator makes sums of zeros, in the dtypes of the parameters.
func NewAccumulator(params []nn.Named) *Accumulator {
	a := &Accumulator{memory: newMemory(params)}
	a.sum = a.zeros("sum")
	return a
}

// Add adds gradients, one a parameter; nil ones add nothing. Steps counts the
// calls since the last Mean. On an error nothing has changed.
func (a *Accumulator) Add(grads []*sinter.Tensor) error {
	return a.apply(grads, func(i int, g *sinter.Tensor) []update {
		return []update{{a.sum[i], value(a.sum[i], g).Add(g)}}
	})
}

// Mean returns the sums over the number of calls of Add, as members of a scope (or
// of none, if s is nil), and starts from zeros.
func (a *Accumulator) Mean(s *sinter.Scope) ([]*sinter.Tensor, error) {
	if a.steps == 0 {
		return nil, fmt.Errorf("optim: nothing was accumulated")
	}
	out := make([]*sinter.Tensor, len(a.sum))
	for i, v := range a.sum {
		t := v.Value()
		if s != nil {
			t = v.In(s)
		}
		out[i] = t.Div(sinter.Fed(t, func() float64 { return float64(a.steps) }))
		if err := out[i].Err(); err != nil {
			return nil, fmt.Errorf("optim: sum of parameter %s: %w", a.params[i].Name, err)
		}
	}
	for i, v := range a.sum {
		t := v.Borrow()
		if err := v.Set(of(t).Zeros(t.DType(), t.Shape()...)); err != nil {
			return nil, fmt.Errorf("optim: sum of parameter %s: %w", a.params[i].Name, err)
		}
	}
	a.steps = 0
	s.OnReplay(func() { a.steps = 0 })
	return out, nil
}
