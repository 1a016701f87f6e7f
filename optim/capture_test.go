package optim_test

import (
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// captured makes steps of an optimizer as a captured step does, with gradients as its
// inputs.
func captured(o optim.Optimizer) *sinter.Step {
	return sinter.Capture(sinter.DefaultDevice(), func(_ *sinter.Scope, grads []*sinter.Tensor) ([]*sinter.Tensor, error) {
		return nil, o.Step(grads)
	})
}

// TestCapturedSteps: steps that are replayed have the bits of steps that are recorded,
// with rates and corrections that change, also after the count was set from outside,
// and the optimizer counts them.
func TestCapturedSteps(t *testing.T) {
	for name, build := range all() {
		p, q := makeParams(), makeParams()
		replayed, recorded := build(p), build(q)
		step := captured(replayed)
		for at := 1; at <= 16; at++ {
			if at == 12 {
				replayed.SetSteps(3)
				recorded.SetSteps(3)
			}
			grads, _ := makeGradients(at)
			if _, err := step.Run(t.Context(), grads...); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if grads, _ = makeGradients(at); recorded.Step(grads) != nil {
				t.Fatalf("%s: the recorded step failed", name)
			}
			if replayed.Steps() != recorded.Steps() {
				t.Fatalf("%s: %d steps, recorded %d", name, replayed.Steps(), recorded.Steps())
			}
			for i := range p {
				if got, want := read[float64](t, p[i].Var), read[float64](t, q[i].Var); !slices.Equal(got, want) {
					t.Fatalf("%s: step %d: %s is %v, recorded %v", name, at, p[i].Name, got, want)
				}
			}
		}
		if st := step.Stats(); st.Replayed < 12 {
			t.Errorf("%s: %d of 16 steps replayed: %+v", name, st.Replayed, st)
		}
		for i, v := range replayed.State() {
			if got, want := read[float64](t, v.Var), read[float64](t, recorded.State()[i].Var); !slices.Equal(got, want) {
				t.Errorf("%s: %s is %v, recorded %v", name, v.Name, got, want)
			}
		}
		step.Release()
	}
}

// TestCapturedRate: a rate that no dtype holds is an error of the round, and the next
// ones go on.
func TestCapturedRate(t *testing.T) {
	x := sinter.NewVar(sinter.FromSlice([]float32{8}))
	rate := 0.5
	o := optim.NewSGD([]nn.Named{{Name: "x", Var: x}}, func(int64) float64 { return rate })
	step := captured(o)
	one := sinter.FromSlice([]float32{1})
	for at := range 8 {
		if rate = 0.5; at == 6 {
			rate = math.MaxFloat64
		}
		if _, err := step.Run(t.Context(), one); (err != nil) != (at == 6) {
			t.Fatalf("round %d: %v, %+v", at, err, step.Stats())
		}
	}
	if got := read[float32](t, x); got[0] != 8-7*0.5 || o.Steps() != 7 {
		t.Errorf("%v after %d steps, want 4.5 after 7", got, o.Steps())
	}
}
