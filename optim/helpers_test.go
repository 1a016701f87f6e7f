package optim_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func values(t *testing.T, x *sinter.Tensor) []float64 {
	t.Helper()
	v, err := sinter.Data[float64](context.Background(), x.Cast(sinter.F64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestClip(t *testing.T) {
	grads := []*sinter.Tensor{sinter.FromSlice([]float32{3, -4}), nil, sinter.FromSlice([]float64{12})}
	c := optim.ClipByValue(grads, 3.5)
	if a := values(t, c[0]); !slices.Equal(a, []float64{3, -3.5}) || c[1] != nil || values(t, c[2])[0] != 3.5 {
		t.Errorf("by value: %v %v %v", c[0], c[1], c[2])
	}
	c, norm := optim.ClipByNorm(grads, 6.5)
	if n := values(t, norm)[0]; n != 13 || c[1] != nil || c[0].DType() != sinter.F32 {
		t.Errorf("the norm is %v", n)
	}
	for i, want := range map[int][]float64{0: {1.5, -2}, 2: {6}} {
		for j, v := range values(t, c[i]) {
			if math.Abs(v-want[j]) > 1e-6 {
				t.Errorf("clipped %d: %v, want %v", i, v, want[j])
			}
		}
	}
	if c, _ := optim.ClipByNorm(grads, 20); values(t, c[0])[0] != 3 || values(t, c[2])[0] != 12 {
		t.Error("gradients below the limit were changed")
	}
	// The squares of an f16 gradient overflow f16.
	if n := values(t, optim.GlobalNorm([]*sinter.Tensor{sinter.Full(300, sinter.F16, 4)}))[0]; n != 600 {
		t.Errorf("norm of f16: %v", n)
	}
	if n := values(t, optim.GlobalNorm(nil))[0]; n != 0 {
		t.Errorf("norm of nothing: %v", n)
	}
	s := sinter.NewScope("test")
	if _, n := optim.ClipByNorm([]*sinter.Tensor{s.In(grads[0])}, 1); n.Scope() != s {
		t.Error("the norm is not of the gradients' scope")
	}
	s.End()
}

func TestEMA(t *testing.T) {
	for _, warm := range []bool{false, true} {
		p := params()
		e := optim.NewEMA(p, 0.9)
		e.Warmup = warm
		want := read[float64](t, p[0].Var)
		now := slices.Clone(want)
		for step := range 5 {
			for j := range now {
				now[j] += float64(j + step)
			}
			if err := p[0].Var.Set(sinter.FromSlice(now)); err != nil {
				t.Fatal(err)
			}
			if err := e.Update(); err != nil {
				t.Fatal(err)
			}
			d := 0.9
			if warm {
				d = min(d, (1+float64(step))/(10+float64(step)))
			}
			for j := range want {
				want[j] = d*want[j] + (1-d)*now[j]
			}
		}
		near := func(got, want []float64) bool {
			return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-14 })
		}
		if got := read[float64](t, e.State()[0].Var); !near(got, want) {
			t.Errorf("averages %v, want %v", got, want)
		}
		held := p[0].Var.Value()
		if err := e.Swap(); err != nil {
			t.Fatal(err)
		}
		if !near(read[float64](t, p[0].Var), want) || !slices.Equal(read[float64](t, e.State()[0].Var), now) || !p[0].Var.Borrow().Tracked() {
			t.Error("values were not swapped")
		}
		if e.Update() == nil {
			t.Error("an update of swapped averages")
		}
		if err := e.Swap(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read[float64](t, p[0].Var), now) || e.Update() != nil || held.Err() != nil {
			t.Errorf("after swapping twice: %v", held.Err())
		}
		if e.Steps() != 6 || e.State()[0].Name != "ema.a" || len(e.State()) != 2 {
			t.Errorf("%d updates, %v", e.Steps(), e.State()[0].Name)
		}
	}
}

func TestAccumulator(t *testing.T) {
	p := params()
	a := optim.NewAccumulator(p)
	if _, err := a.Mean(nil); err == nil {
		t.Error("the mean of nothing")
	}
	for range 2 { // the second time from zeros again
		for step := 1; step <= 4; step++ {
			s := sinter.NewScope("small")
			g, _ := gradients(step, s)
			if step == 2 {
				g[1] = nil
			}
			if err := a.Add(g); err != nil {
				t.Fatal(err)
			}
			s.End()
		}
		s := sinter.NewScope("large")
		mean, err := a.Mean(s)
		if err != nil {
			t.Fatal(err)
		}
		if v := values(t, mean[0]); math.Abs(v[0]-0.25) > 1e-15 || math.Abs(v[1]+0.2) > 1e-15 || v[2] != 3 || mean[0].Scope() != s {
			t.Errorf("mean %v", v)
		}
		want := (math.Sin(1) + math.Sin(3) + math.Sin(4)) / 4
		if v := values(t, mean[1]); math.Abs(v[0]-want) > 1e-15 || v[1] != 0 {
			t.Errorf("mean %v, want %v", v, want)
		}
		s.End()
	}
	if err := a.Add([]*sinter.Tensor{nil}); err == nil || a.Steps() != 0 {
		t.Error("a wrong number of gradients")
	}
	if a.State()[0].Name != "sum.a" {
		t.Errorf("state %v", a.State()[0].Name)
	}
}

func TestScaler(t *testing.T) {
	ctx := context.Background()
	p := params()
	o := optim.NewMomentum(p, optim.Constant(0.5), 0.9, false)
	s := optim.NewScaler(nil, 1024)
	s.Interval = 2
	if v := values(t, s.Scale(sinter.Scalar[float32](3)))[0]; v != 3072 {
		t.Errorf("scaled: %v", v)
	}
	scaled := func(a, b float64) []*sinter.Tensor {
		return []*sinter.Tensor{sinter.FromSlice([]float64{a, 0, 0}), sinter.FromSlice([]float64{b, 0}, 2, 1)}
	}
	for i, c := range []struct {
		g     float64
		done  bool
		scale float64
	}{{1024, true, 1024}, {math.Inf(1), false, 512}, {math.NaN(), false, 256}, {512, true, 256}, {256, true, 512}, {512, true, 512},
		{math.Inf(-1), false, 256}, {0, true, 256}} {
		before, steps := read[float64](t, p[0].Var), o.Steps()
		done, err := s.Step(ctx, o, scaled(1, c.g))
		if err != nil || done != c.done {
			t.Fatalf("step %d: done %v, %v", i, done, err)
		}
		if v := values(t, s.State()[0].Var.Borrow())[0]; v != c.scale {
			t.Errorf("step %d: the factor is %v, want %v", i, v, c.scale)
		}
		after := read[float64](t, p[0].Var)
		if slices.Equal(before, after) == c.done || (o.Steps() == steps) == c.done {
			t.Errorf("step %d: parameters %v, before %v; %d steps", i, after, before, o.Steps())
		}
	}
	path := filepath.Join(t.TempDir(), "scaler")
	if err := nn.SaveParams(ctx, path, s.State(), nil); err != nil {
		t.Fatal(err)
	}
	s2 := optim.NewScaler(sinter.DefaultDevice(), 1)
	s2.Interval = 2
	if _, err := nn.LoadParams(path, s2.State()); err != nil {
		t.Fatal(err)
	}
	if done, err := s2.Step(ctx, o, scaled(0, 0)); !done || err != nil {
		t.Fatal(done, err)
	}
	if v := values(t, s2.State()[0].Var.Borrow())[0]; v != 512 { // the second good step in a row
		t.Errorf("after a restore the factor is %v, want 512", v)
	}
	if done, err := s.Step(ctx, o, []*sinter.Tensor{nil, nil}); !done || err != nil {
		t.Error(done, err)
	}
	if _, err := s.Step(ctx, o, scaled(0, 0)[:1]); err == nil {
		t.Error("a wrong number of gradients")
	}
	half := s2.Unscale([]*sinter.Tensor{sinter.Full(1024, sinter.F16, 1)})[0]
	if half.DType() != sinter.F16 || values(t, half)[0] != 2 {
		t.Errorf("unscaled f16: %v", half)
	}
}

func TestPlateau(t *testing.T) {
	p := optim.NewPlateau(optim.Constant(0.1), 0.5, 1)
	tell := func(p *optim.Plateau, metric, want float64) {
		t.Helper()
		if err := p.Observe(metric); err != nil {
			t.Fatal(err)
		}
		if r := p.Rate(7); math.Abs(r-want) > 1e-15 {
			t.Errorf("after %v the rate is %v, want %v", metric, r, want)
		}
	}
	tell(p, 1, 0.1)
	tell(p, 0.5, 0.1)
	tell(p, 0.49999, 0.1) // within the threshold: not better
	path := filepath.Join(t.TempDir(), "plateau")
	if err := nn.SaveParams(context.Background(), path, p.State(), nil); err != nil {
		t.Fatal(err)
	}
	tell(p, math.NaN(), 0.05)
	q := optim.NewPlateau(optim.Constant(0.1), 0.5, 1)
	if _, err := nn.LoadParams(path, q.State()); err != nil {
		t.Fatal(err)
	}
	tell(q, 0.6, 0.05)
	tell(q, 0.4, 0.05)
	q.Floor = 0.4
	tell(q, 0.4, 0.05)
	tell(q, 0.4, 0.04)
	up := optim.NewPlateau(optim.Constant(1), 0.1, 0)
	up.Rise = true
	tell(up, 0.5, 1)
	tell(up, 0.6, 1)
	tell(up, 0.6, 0.1)
}
