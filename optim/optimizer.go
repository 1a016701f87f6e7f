package optim

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// Optimizer changes parameters by their gradients.
type Optimizer interface {
	// Params returns the parameters, in the order in which Step takes gradients:
	// those that the optimizer was made with, without buffers.
	Params() []nn.Named

	// Step gives every parameter its next value. There is one gradient for each
	// parameter, of its shape and dtype; a nil one leaves the parameter and its
	// state alone. On an error (a wrong number of gradients, or one that carries
	// an error) no parameter has changed.
	Step(grads []*sinter.Tensor) error

	// Steps returns how many steps were made, and SetSteps continues from one.
	Steps() int64
	SetSteps(n int64)

	// State returns what the optimizer remembers beside the step count, named
	// after the parameters: "m.layers.0.weight". Save and restore it with the
	// functions of package nn.
	State() []nn.Named
}

// base is what optimizers have in common.
type base struct {
	memory
	groups []*Group // of each parameter, nil if it is in none
}

func newBase(params []nn.Named) base { return base{memory: newMemory(params)} }

// memory is what is remembered of parameters, and for how many steps.
type memory struct {
	params []nn.Named
	steps  int64
	state  []nn.Named
}

// newMemory takes the parameters that are trained: buffers are not.
func newMemory(params []nn.Named) memory {
	var m memory
	for _, p := range params {
		if !p.Buffer {
			m.params = append(m.params, p)
		}
	}
	return m
}

// Params returns the parameters, without buffers.
func (b *memory) Params() []nn.Named { return b.params }

// Steps returns how many steps were made.
func (b *memory) Steps() int64 { return b.steps }

// SetSteps continues from a number of steps.
func (b *memory) SetSteps(n int64) { b.steps = n }

// State returns what is remembered beside the step count, named after the parameters.
func (b *memory) State() []nn.Named { return b.state }

// zeros makes a variable of zeros for each parameter and adds them to the state.
func (b *memory) zeros(kind string) []*sinter.Var {
	out := make([]*sinter.Var, len(b.params))
	for i, p := range b.params {
		t := p.Var.Borrow()
		out[i] = b.remember(kind, p, of(t).Zeros(t.DType(), t.Shape()...))
	}
	return out
}

// remember makes a variable of the state that belongs to a parameter.
func (b *memory) remember(kind string, p nn.Named, t *sinter.Tensor) *sinter.Var {
	v := sinter.NewVar(t)
	v.Freeze()
	b.state = append(b.state, nn.Named{Name: kind + "." + p.Name, Var: v})
	return v
}

// update is a new value for a variable.
type update struct {
	v *sinter.Var
	t *sinter.Tensor
}

// apply makes a step: rule returns the new values that a gradient leads to, and
// all are set once all are known to be good.
func (b *memory) apply(grads []*sinter.Tensor, rule func(i int, g *sinter.Tensor) []update) error {
	if len(grads) != len(b.params) {
		return fmt.Errorf("optim: %d gradients for %d parameters", len(grads), len(b.params))
	}
	var updates []update
	for i, g := range grads {
		if g == nil {
			continue
		}
		if err := fits(b.params[i], g); err != nil {
			return err
		}
		for _, u := range rule(i, g.Detach()) {
			if err := u.t.Err(); err != nil {
				return fmt.Errorf("optim: parameter %s: %w", b.params[i].Name, err)
			}
			updates = append(updates, u)
		}
	}
	for _, u := range updates {
		if err := u.v.Set(u.t); err != nil {
			return fmt.Errorf("optim: %w", err)
		}
	}
	b.steps++
	for _, g := range grads {
		if g != nil {
			g.Scope().OnReplay(func() { b.steps++ })
			break
		}
	}
	return nil
}

// fits checks that a gradient has the type of its parameter: broadcasting would
// hide that it has not.
func fits(p nn.Named, g *sinter.Tensor) error {
	v := p.Var.Borrow()
	switch {
	case g.Err() != nil:
		return fmt.Errorf("optim: gradient of %s: %w", p.Name, g.Err())
	case v.Err() != nil:
		return fmt.Errorf("optim: parameter %s: %w", p.Name, v.Err())
	case v.DType() != g.DType() || !slices.Equal(v.Shape(), g.Shape()):
		return fmt.Errorf("optim: the gradient of parameter %s is %s%v, expected %s%v", p.Name, g.DType(), g.Shape(), v.DType(), v.Shape())
	}
	return nil
}

// value returns the value of a variable, untracked, in the scope of the gradient.
func value(v *sinter.Var, g *sinter.Tensor) *sinter.Tensor { return nn.Use(v, g).Detach() }

// of is where a tensor lives.
func of(t *sinter.Tensor) sinter.Of {
	if d := t.Device(); d != nil {
		return sinter.On(d)
	}
	return sinter.Of{}
}
