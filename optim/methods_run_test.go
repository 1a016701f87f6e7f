package optim_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// shapes of the parameters that methods are tested on.
var shapes = [][]int{{3}, {2, 4}, {4, 2}, {3, 2, 1}}

func makeParams() []nn.Named {
	var out []nn.Named
	for k, s := range shapes {
		n := 1
		for _, d := range s {
			n *= d
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = math.Sin(float64(3*i+k+1)) * 2
		}
		out = append(out, nn.Named{Name: fmt.Sprint("p", k), Var: sinter.NewVar(sinter.FromSlice(v, s...))})
	}
	return out
}

func makeGradients(t int) (grads []*sinter.Tensor, values [][]float64) {
	for k, p := range makeParams() {
		v := make([]float64, p.Var.Borrow().Size())
		for i := range v {
			v[i] = math.Cos(float64(t*t+5*i+k)) * float64(i%3)
		}
		grads, values = append(grads, sinter.FromSlice(v, p.Var.Borrow().Shape()...)), append(values, v)
	}
	return grads, values
}

func TestMethods(t *testing.T) {
	for name, m := range methods {
		p := makeParams()
		o := m.make(p)
		want := make([][]float64, len(p))
		next := make([]func(int, []float64, []float64, int, int), len(p))
		for i := range p {
			want[i], next[i] = read[float64](t, p[i].Var), m.next()
		}
		for step := 1; step <= 8; step++ {
			grads, g := makeGradients(step)
			if err := o.Step(grads); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i := range p {
				rows, columns := shapes[i][0], 0
				if len(shapes[i]) > 1 {
					columns = len(want[i]) / rows
				}
				next[i](step, want[i], g[i], rows, columns)
				for j, v := range read[float64](t, p[i].Var) {
					if math.Abs(v-want[i][j]) > 1e-11*(1+math.Abs(want[i][j])) {
						t.Errorf("%s: step %d, %s[%d] is %v, want %v", name, step, p[i].Name, j, v, want[i][j])
					}
				}
			}
		}
	}
}

// all are the optimizers of all tests by name.
func all() map[string]func(p []nn.Named) optim.Optimizer {
	out := map[string]func(p []nn.Named) optim.Optimizer{}
	for name, m := range methods {
		out[name] = m.make
	}
	for name, r := range rules {
		out[name] = r.make
	}
	return out
}

// TestStateInFile saves parameters and state in the middle, loads them in a fresh
// optimizer, and expects the bits of a run that was not interrupted.
func TestStateInFile(t *testing.T) {
	for name, build := range all() {
		run := func(o optim.Optimizer, from, to int) {
			for step := from; step < to; step++ {
				grads, _ := makeGradients(step)
				if err := o.Step(grads); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		bits := func(p []nn.Named) (out []float64) {
			for _, p := range p {
				out = append(out, read[float64](t, p.Var)...)
			}
			return out
		}
		p := makeParams()
		run(build(p), 1, 8)
		want := bits(p)

		path := filepath.Join(t.TempDir(), "state")
		p = makeParams()
		o := build(p)
		run(o, 1, 4)
		if err := nn.SaveParams(context.Background(), path, append(p, o.State()...), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p2 := makeParams()
		o2 := build(p2)
		if _, err := nn.LoadParams(path, append(p2, o2.State()...)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o2.SetSteps(o.Steps())
		run(o2, 4, 8)
		if got := bits(p2); !slices.Equal(got, want) {
			t.Errorf("%s: other bits after a restore", name)
		}
	}
}

// TestConverges fits a small linear regression with every optimizer.
func TestConverges(t *testing.T) {
	g := sinter.NewGenerator(4)
	x := g.Normal(sinter.Of{}, sinter.F32, 64, 4)
	y := x.MatMul(sinter.FromSlice([]float32{1, -2, 0.5, 3, 2, 0, -1, 1}, 4, 2)).Add(0.5)
	rates := map[string]func(p []nn.Named) optim.Optimizer{
		"sgd":      func(p []nn.Named) optim.Optimizer { return optim.NewSGD(p, optim.Constant(0.3)) },
		"lion":     func(p []nn.Named) optim.Optimizer { return optim.NewLion(p, optim.Linear(0.2, 0, 120), 0) },
		"rmsprop":  func(p []nn.Named) optim.Optimizer { return optim.NewRMSProp(p, optim.Linear(0.1, 0, 120), 0, false) },
		"centred":  func(p []nn.Named) optim.Optimizer { return optim.NewRMSProp(p, optim.Linear(0.05, 0, 120), 0.5, true) },
		"adagrad":  func(p []nn.Named) optim.Optimizer { return optim.NewAdagrad(p, optim.Constant(0.8), 0) },
		"adadelta": func(p []nn.Named) optim.Optimizer { return optim.NewAdadelta(p, optim.Linear(30, 0, 120)) },
		"adam":     func(p []nn.Named) optim.Optimizer { return optim.NewAdam(p, optim.Constant(0.2)) },
		"nadam":    func(p []nn.Named) optim.Optimizer { return optim.NewNAdam(p, optim.Constant(0.2)) },
		"lamb":     func(p []nn.Named) optim.Optimizer { return optim.NewLAMB(p, optim.Linear(0.2, 0, 120), 0) },
		"muon": func(p []nn.Named) optim.Optimizer {
			return optim.NewMuon(p, optim.Linear(0.4, 0, 120), optim.Linear(0.2, 0, 120), 0, nil)
		},
	}
	for name, build := range rates {
		m := nn.NewLinear(sinter.NewGenerator(1), 4, 2)
		o := build(nn.Params(m))
		var loss float32
		for step := range 120 {
			s := sinter.NewScope("step")
			d := m.Forward(s.In(x)).Sub(y)
			l := d.Mul(d).Mean()
			grads, err := autodiff.Gradients(l, nn.Vars(m)...)
			if err == nil {
				err = o.Step(grads)
			}
			if err == nil && step == 119 {
				loss, err = sinter.Item[float32](context.Background(), l)
			}
			s.End()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if !(loss < 1e-3) {
			t.Errorf("%s: the loss is %v after 120 steps", name, loss)
		}
	}
}

func TestGroups(t *testing.T) {
	p := makeParams()
	o := optim.NewSGD(p, optim.Constant(0.5))
	o.WeightDecay = 0.1
	o.SetGroups(
		optim.Group{Match: optim.NamePrefix("p3"), Rate: optim.Constant(0.25), WeightDecay: 0.2},
		optim.Group{Match: optim.Vectors, NoDecay: true},
	)
	grads, g := makeGradients(1)
	want := make([][]float64, len(p))
	for i := range p {
		rate, decay := 0.5, 0.1
		switch i {
		case 0:
			decay = 0
		case 3:
			rate, decay = 0.25, 0.2
		}
		for j, v := range read[float64](t, p[i].Var) {
			want[i] = append(want[i], v-rate*(g[i][j]+decay*v))
		}
	}
	if err := o.Step(grads); err != nil {
		t.Fatal(err)
	}
	for i := range p {
		for j, v := range read[float64](t, p[i].Var) {
			if math.Abs(v-want[i][j]) > 1e-14 {
				t.Errorf("%s[%d] is %v, want %v", p[i].Name, j, v, want[i][j])
			}
		}
	}
}

func TestBuffersAreLeftAlone(t *testing.T) {
	p := makeParams()
	p[1].Buffer = true
	o := optim.NewAdam(p, optim.Constant(1))
	if len(o.Params()) != 3 || len(o.State()) != 6 {
		t.Errorf("%d parameters, %d in the state", len(o.Params()), len(o.State()))
	}
	for _, s := range o.State() {
		if strings.HasSuffix(s.Name, "p1") {
			t.Errorf("a state of the buffer: %s", s.Name)
		}
	}
}
