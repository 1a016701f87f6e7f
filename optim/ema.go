package optim

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// EMA keeps exponential moving averages of parameters, which often predict better
// than the parameters themselves:
//
//	a = decay·a + (1-decay)·p
type EMA struct {
	Decay float64 // 0.999, say
	// Warmup lets the decay of update t, counted from 0, be at most
	// (1+t)/(10+t), so that the first values are soon forgotten.
	Warmup bool

	memory
	average []*sinter.Var
	swapped bool
}

// NewEMA makes averages that begin at the present values.
func NewEMA(params []nn.Named, decay float64) *EMA {
	e := &EMA{Decay: decay, memory: newMemory(params)}
	for _, p := range e.params {
		e.average = append(e.average, e.remember("ema", p, p.Var.Value().Mul(1)))
	}
	return e
}

// Update takes the present values into the averages; call it after each step. On
// an error nothing has changed.
func (e *EMA) Update() error {
	if e.swapped {
		return fmt.Errorf("optim: the averages are swapped with the parameters")
	}
	s := sinter.NewScope("ema")
	defer s.End()
	decay := e.Decay
	if t := float64(e.steps); e.Warmup {
		decay = min(decay, (1+t)/(10+t))
	}
	next := make([]*sinter.Tensor, len(e.params))
	for i, p := range e.params {
		next[i] = average(e.average[i].In(s), p.Var.In(s).Detach(), decay)
		if err := next[i].Err(); err != nil {
			return fmt.Errorf("optim: average of parameter %s: %w", p.Name, err)
		}
	}
	for i, v := range e.average {
		if err := v.Set(next[i]); err != nil {
			return fmt.Errorf("optim: %w", err)
		}
	}
	e.steps++
	return nil
}

// Swap exchanges parameters and averages: call it before an evaluation or before
// the model is saved, and again after it. Nothing is copied.
func (e *EMA) Swap() error {
	for i, p := range e.params {
		a, b := p.Var.Value(), e.average[i].Value()
		if err := p.Var.Set(b); err != nil {
			return fmt.Errorf("optim: parameter %s: %w", p.Name, err)
		}
		if err := e.average[i].Set(a); err != nil {
			return fmt.Errorf("optim: average of parameter %s: %w", p.Name, err)
		}
		p.Var.Value() // others may hold what was exchanged: the collector returns it
		e.average[i].Value()
	}
	e.swapped = !e.swapped
	return nil
}
