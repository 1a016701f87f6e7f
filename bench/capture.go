package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
)

// idle is a processor that takes work and does none of it: what is measured on it
// is the host's part.
type idle struct{ *cpu.Device }

func (idle) Submit(context.Context, []ir.Node) error           { return nil }
func (idle) Launch(context.Context, []backend.Launch) error    { return nil }
func (idle) Upload(ir.Tensor, []byte) error                    { return nil }
func (idle) Free(...ir.ID)                                     {}
func (idle) Sync(context.Context) error                        { return nil }
func (idle) Lend(context.Context, ir.ID) (backend.Lent, error) { return backend.Lent{}, nil }

// learner is a network whose training step is measured: momentum, no dropout.
type learner struct {
	x, y   *sinter.Tensor
	params []*sinter.Var
	speed  []*sinter.Var
}

func newLearner(d *sinter.Device, width int) *learner {
	on, g := sinter.On(d), sinter.NewGenerator(1)
	l := &learner{x: g.Normal(on, sinter.F32, 32, width), y: g.Normal(on, sinter.F32, 32, width)}
	for range 4 {
		for _, s := range [][]int{{width, width}, {width}} {
			l.params = append(l.params, sinter.NewVar(g.Normal(on, sinter.F32, s...).Mul(0.1)))
			l.speed = append(l.speed, sinter.NewVar(on.Zeros(sinter.F32, s...)))
		}
	}
	return l
}

func (l *learner) step(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
	h := in[0]
	for i := 0; i < len(l.params); i += 2 {
		h = h.MatMul(l.params[i].In(s)).Add(l.params[i+1].In(s)).Tanh()
	}
	loss := h.Sub(in[1]).Square().Mean()
	grads, err := autodiff.Gradients(loss, l.params...)
	if err != nil {
		return nil, err
	}
	next := make([]*sinter.Tensor, 0, 2*len(grads))
	for i, g := range grads {
		v := l.speed[i].In(s).Detach().Mul(0.9).Add(g)
		next = append(next, v, l.params[i].In(s).Detach().Sub(v.Mul(0.001)))
	}
	for i := range grads {
		if err := l.speed[i].Set(next[2*i]); err != nil {
			return nil, err
		}
		if err := l.params[i].Set(next[2*i+1]); err != nil {
			return nil, err
		}
	}
	return []*sinter.Tensor{loss}, nil
}

// recorded does what a captured step does, by recording it.
func (l *learner) recorded() error {
	s := sinter.NewScope("step")
	defer s.End()
	_, err := l.step(s, []*sinter.Tensor{s.In(l.x), s.In(l.y)})
	return err
}

// fastest is the shortest time: steps are short, and whoever shares the machine
// only adds to them.
func (v *variant) fastest() float64 { return float64(slices.Min(v.took)) }

// captureTable compares captured training steps with recorded ones that hit their
// plans: the host's part alone, and with the work of the processor.
func captureTable(rounds int) error {
	fmt.Print("Time of a captured training step over that of a recorded one that finds its plan, in the same rounds; the fastest of each.\n\n")
	fmt.Print("| step | host's part | with the work |\n| --- | ---: | ---: |\n")
	ctx := context.Background()
	for _, width := range []int{16, 64, 256} {
		fmt.Printf("| 4 layers of width %d, batch 32, momentum |", width)
		for _, works := range []bool{false, true} {
			dev, err := cpu.New(cpu.Options{})
			if err != nil {
				return err
			}
			var b backend.Backend = dev
			if !works {
				b = idle{dev}
			}
			d := sinter.NewRuntime().Adopt(b)
			one, other := newLearner(d, width), newLearner(d, width)
			captured := sinter.Capture(d, one.step)
			var failed error
			note := func(err error) {
				if err != nil && failed == nil {
					failed = err
				}
			}
			vs := []*variant{{name: "captured", run: func() {
				out, err := captured.Run(ctx, one.x, one.y)
				note(err)
				if err == nil {
					out[0].Release()
				}
				note(d.Sync(ctx))
			}}, {name: "recorded", run: func() {
				note(other.recorded())
				note(d.Sync(ctx))
			}}}
			for range 8 { // until it is captured
				vs[0].run()
				vs[1].run()
			}
			if st := captured.Stats(); !st.Captured {
				return fmt.Errorf("the step is not captured: %+v", st)
			}
			measure(4*rounds, vs)
			fmt.Printf(" %.2f |", vs[0].fastest()/vs[1].fastest())
			if err := d.Close(); err != nil {
				return err
			}
			if failed != nil {
				return failed
			}
		}
		fmt.Println()
	}
	return nil
}
