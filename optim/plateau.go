package optim

import (
	"context"
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Plateau lowers a rate when a metric no longer falls. Its rate is a function of
// what it was told, not of the step, so it has a state: save and restore it.
//
//	p := optim.NewPlateau(optim.Constant(0.1), 0.5, 3)
//	opt := optim.NewSGD(params, p.Rate)
//	err := p.Observe(validationLoss) // after each epoch
//
// A Plateau is used by one goroutine at a time.
type Plateau struct {
	Base      Schedule
	Factor    float64 // what the rate is multiplied by
	Patience  int     // how many observations in a row need not be better
	Threshold float64 // 1e-4: better is below best - Threshold·|best|
	Rise      bool    // the metric should rise, not fall
	Floor     float64 // the least factor of Base in all; 0

	state   *sinter.Var // factor so far, best (NaN: none), observations since
	version uint64
	now     [3]float64
}

// NewPlateau makes a schedule for a metric that falls.
func NewPlateau(base Schedule, factor float64, patience int) *Plateau {
	p := &Plateau{Base: base, Factor: factor, Patience: patience, Threshold: 1e-4, now: [3]float64{1, math.NaN(), 0}}
	p.state = sinter.NewVar(sinter.FromSlice(p.now[:]))
	p.state.Freeze()
	return p
}

// State returns what the schedule remembers.
func (p *Plateau) State() []nn.Named { return []nn.Named{{Name: "plateau", Var: p.state}} }

// restored takes over a state that was set from outside.
func (p *Plateau) restored() error {
	if p.state.Version() == p.version {
		return nil
	}
	v, err := sinter.Data[float64](context.Background(), p.state.Borrow())
	if err != nil {
		return fmt.Errorf("optim: plateau: %w", err)
	}
	copy(p.now[:], v)
	p.version = p.state.Version()
	return nil
}

// Rate is the [Schedule]. It is NaN if a restored state cannot be read.
func (p *Plateau) Rate(step int64) float64 {
	if p.restored() != nil {
		return math.NaN()
	}
	return p.Base(step) * p.now[0]
}

// Observe tells the schedule a value of the metric. NaN is never better.
func (p *Plateau) Observe(metric float64) error {
	if err := p.restored(); err != nil {
		return err
	}
	v, best := metric, p.now[1]
	if p.Rise {
		v, best = -v, -best
	}
	switch {
	case v == v && (best != best || v < best-float64(p.Threshold*math.Abs(best))):
		p.now[1], p.now[2] = metric, 0
	case p.now[2] >= float64(p.Patience):
		p.now[0], p.now[2] = max(p.now[0]*p.Factor, p.Floor), 0
	default:
		p.now[2]++
	}
	if err := p.state.Set(sinter.FromSlice(p.now[:])); err != nil {
		return fmt.Errorf("optim: plateau: %w", err)
	}
	p.version = p.state.Version()
	return nil
}
