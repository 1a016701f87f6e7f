package optim_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func read[T sinter.Element](t *testing.T, v *sinter.Var) []T {
	t.Helper()
	x, err := sinter.Data[T](context.Background(), v.Borrow())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// rules are optimizers, and the same in float64 for one element: next returns the
// parameter after a step (from 1) with gradient g.
var rules = map[string]struct {
	make func(p []nn.Named) optim.Optimizer
	next func() func(t int, p, g float64) float64
}{
	"sgd": {
		func(p []nn.Named) optim.Optimizer { return optim.NewSGD(p, optim.Constant(0.1)) },
		func() func(int, float64, float64) float64 {
			return func(_ int, p, g float64) float64 { return p - 0.1*g }
		},
	},
	"momentum, decay": {
		func(p []nn.Named) optim.Optimizer {
			o := optim.NewMomentum(p, optim.Constant(0.1), 0.9, false)
			o.WeightDecay = 0.01
			return o
		},
		func() func(int, float64, float64) float64 {
			v := 0.0
			return func(_ int, p, g float64) float64 {
				v = 0.9*v + g + 0.01*p
				return p - 0.1*v
			}
		},
	},
	"nesterov": {
		func(p []nn.Named) optim.Optimizer { return optim.NewMomentum(p, optim.Constant(0.1), 0.9, true) },
		func() func(int, float64, float64) float64 {
			v := 0.0
			return func(_ int, p, g float64) float64 {
				v = 0.9*v + g
				return p - 0.1*(g+0.9*v)
			}
		},
	},
	"adam": {
		func(p []nn.Named) optim.Optimizer { return optim.NewAdam(p, optim.Cosine(0.1, 0.01, 8)) },
		func() func(int, float64, float64) float64 { return adam(0) },
	},
	"adamw": {
		func(p []nn.Named) optim.Optimizer { return optim.NewAdamW(p, optim.Cosine(0.1, 0.01, 8), 0.3) },
		func() func(int, float64, float64) float64 { return adam(0.3) },
	},
}

func adam(decay float64) func(int, float64, float64) float64 {
	m, v := 0.0, 0.0
	return func(t int, p, g float64) float64 {
		rate := 0.01 + 0.09*(1+math.Cos(math.Pi*float64(min(t-1, 8))/8))/2
		m = 0.9*m + 0.1*g
		v = 0.999*v + 0.001*g*g
		p -= rate * decay * p
		return p - rate*(m/(1-math.Pow(0.9, float64(t))))/(math.Sqrt(v/(1-math.Pow(0.999, float64(t))))+1e-8)
	}
}

// params makes parameters of two shapes.
func params() []nn.Named {
	return []nn.Named{
		{Name: "a", Var: sinter.NewVar(sinter.FromSlice([]float64{1, -2, 3}))},
		{Name: "b", Var: sinter.NewVar(sinter.FromSlice([]float64{0.5, -0.25}, 2, 1))},
	}
}

func gradients(step int, s *sinter.Scope) ([]*sinter.Tensor, [][]float64) {
	f := float64(step)
	g := [][]float64{{0.1 * f, -0.2, 3}, {math.Sin(f), 0}}
	a, b := sinter.FromSlice(g[0]), sinter.FromSlice(g[1], 2, 1)
	if s != nil {
		a, b = s.In(a), s.In(b)
	}
	return []*sinter.Tensor{a, b}, g
}

func TestRules(t *testing.T) {
	for name, r := range rules {
		p := params()
		o := r.make(p)
		var want [][]float64
		var next [][]func(int, float64, float64) float64
		for i := range p {
			want = append(want, read[float64](t, p[i].Var))
			next = append(next, nil)
			for range want[i] {
				next[i] = append(next[i], r.next())
			}
		}
		for step := 1; step <= 10; step++ {
			s := sinter.NewScope("step")
			grads, g := gradients(step, s)
			if err := o.Step(grads); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			s.End()
			for i := range p {
				got := read[float64](t, p[i].Var)
				for j := range got {
					want[i][j] = next[i][j](step, want[i][j], g[i][j])
					if math.Abs(got[j]-want[i][j]) > 1e-13 {
						t.Errorf("%s: step %d, %s[%d] is %v, want %v", name, step, p[i].Name, j, got[j], want[i][j])
					}
				}
			}
		}
		if o.Steps() != 10 || len(o.Params()) != 2 {
			t.Errorf("%s: %d steps of %d parameters", name, o.Steps(), len(o.Params()))
		}
	}
}

// TestRestore moves the state to a fresh optimizer in the middle: the bits go on.
func TestRestore(t *testing.T) {
	for name, r := range rules {
		p := params()
		o := r.make(p)
		run := func(from, to int) {
			for step := from; step < to; step++ {
				grads, _ := gradients(step, nil)
				if err := o.Step(grads); err != nil {
					t.Fatal(err)
				}
			}
		}
		run(1, 9)
		want := read[float64](t, p[0].Var)
		p = params()
		o = r.make(p)
		run(1, 4)
		p2 := params()
		o2 := r.make(p2)
		for i, v := range append(p, o.State()...) {
			if err := append(p2, o2.State()...)[i].Var.Set(v.Var.Value()); err != nil {
				t.Fatal(err)
			}
		}
		o2.SetSteps(o.Steps())
		p, o = p2, o2
		run(4, 9)
		if got := read[float64](t, p[0].Var); !slices.Equal(got, want) {
			t.Errorf("%s: %v after a restore, %v without", name, got, want)
		}
	}
}

func TestStateNames(t *testing.T) {
	var names []string
	for _, s := range optim.NewAdam(params(), optim.Constant(1)).State() {
		names = append(names, s.Name)
		if s.Var.Borrow().Tracked() {
			t.Errorf("%s is tracked", s.Name)
		}
	}
	if want := []string{"m.a", "m.b", "v.a", "v.b"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
}

func TestStepRefuses(t *testing.T) {
	p := params()
	o := optim.NewAdam(p, optim.Constant(0.1))
	good := sinter.FromSlice([]float64{1, 1, 1})
	for name, grads := range map[string][]*sinter.Tensor{
		"1 gradients for 2": {good},
		"parameter b":       {good, sinter.Ones(sinter.F64, 3, 3)},
		"f32":               {good, sinter.Ones(sinter.F32, 2, 1)},
	} {
		if err := o.Step(grads); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	// A gradient that broadcasts against the parameter has not its shape.
	if err := o.Step([]*sinter.Tensor{sinter.Ones(sinter.F64), sinter.Ones(sinter.F64)}); err == nil {
		t.Error("scalar gradients were taken")
	}
	if o.Steps() != 0 || p[0].Var.Version() != 0 || o.State()[0].Var.Version() != 0 {
		t.Errorf("something changed: %d steps, versions %d, %d", o.Steps(), p[0].Var.Version(), o.State()[0].Var.Version())
	}
	if err := o.Step([]*sinter.Tensor{nil, sinter.Ones(sinter.F64, 2, 1)}); err != nil || p[0].Var.Version() != 0 || p[1].Var.Version() != 1 {
		t.Errorf("a nil gradient: %v, versions %d, %d", err, p[0].Var.Version(), p[1].Var.Version())
	}
}

func TestStepReleasesOldValues(t *testing.T) {
	p := params()
	o := optim.NewAdam(p, optim.Constant(0.1))
	old := []*sinter.Tensor{p[0].Var.Borrow(), o.State()[0].Var.Borrow()}
	s := sinter.NewScope("step")
	grads, _ := gradients(1, s)
	if err := o.Step(grads); err != nil {
		t.Fatal(err)
	}
	s.End()
	for _, x := range old {
		if x.Err() == nil {
			t.Error("an old value lives")
		}
	}
	read[float64](t, p[0].Var)
}
