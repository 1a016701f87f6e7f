package sinter_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// mlp is a network with dropout and the state of Adam, all of it in variables:
// the running powers of the decay rates too.
type mlp struct {
	dev          *sinter.Device
	g            *sinter.Generator
	params, m, v []*sinter.Var
	p1, p2       *sinter.Var
}

func newMLP(d *sinter.Device) *mlp {
	n := &mlp{dev: d, g: sinter.NewGenerator(7)}
	on := sinter.On(d)
	for _, s := range [][]int{{8, 16}, {16}, {16, 3}, {3}} {
		n.params = append(n.params, sinter.NewVar(n.g.Normal(on, sinter.F32, s...).Mul(0.3)))
		n.m = append(n.m, sinter.NewVar(on.Zeros(sinter.F32, s...)))
		n.v = append(n.v, sinter.NewVar(on.Zeros(sinter.F32, s...)))
	}
	n.p1, n.p2 = sinter.NewVar(on.Ones(sinter.F32)), sinter.NewVar(on.Ones(sinter.F32))
	return n
}

// step is one step of Adam; it returns the loss.
func (n *mlp) step(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
	h := in[0].MatMul(n.params[0].In(s)).Add(n.params[1].In(s)).Relu()
	h = n.g.Dropout(h, 0.25)
	y := h.MatMul(n.params[2].In(s)).Add(n.params[3].In(s))
	loss := y.Sub(in[1]).Square().Mean()
	grads, err := autodiff.Gradients(loss, n.params...)
	if err != nil {
		return nil, err
	}
	p1, p2 := n.p1.In(s).Mul(0.9).Detach(), n.p2.In(s).Mul(0.999).Detach()
	var set []*sinter.Tensor
	for i, g := range grads {
		m := n.m[i].In(s).Mul(0.9).Add(g.Mul(0.1)).Detach()
		v := n.v[i].In(s).Mul(0.999).Add(g.Square().Mul(0.001)).Detach()
		d := v.Div(p2.Neg().Add(1)).Sqrt().Add(1e-8)
		p := n.params[i].In(s).Detach().Sub(m.Div(p1.Neg().Add(1)).Div(d).Mul(0.01))
		set = append(set, m, v, p)
	}
	vars := []*sinter.Var{n.p1, n.p2}
	for i := range grads {
		vars = append(vars, n.m[i], n.v[i], n.params[i])
	}
	for i, t := range append([]*sinter.Tensor{p1, p2}, set...) {
		if err := vars[i].Set(t); err != nil {
			return nil, err
		}
	}
	return []*sinter.Tensor{loss}, nil
}

// plain does what a step does, by hand.
func (n *mlp) plain(in ...*sinter.Tensor) (*sinter.Tensor, error) {
	s := sinter.NewScope("plain")
	defer s.End()
	inside := make([]*sinter.Tensor, len(in))
	for i, t := range in {
		inside[i] = s.In(t)
	}
	out, err := n.step(s, inside)
	if err != nil {
		return nil, err
	}
	return s.Keep(out[0]).Detach(), nil
}

func (n *mlp) batch(round, size int) (x, y *sinter.Tensor) {
	xs, ys := make([]float32, size*8), make([]float32, size*3)
	for i := range xs {
		xs[i] = float32(math.Sin(float64(i*7 + round*13)))
	}
	for i := range ys {
		ys[i] = float32(math.Cos(float64(i*3 + round)))
	}
	on := sinter.On(n.dev)
	return sinter.FromSliceOn(on, xs, size, 8), sinter.FromSliceOn(on, ys, size, 3)
}

func stepDevice(t testing.TB, opts ...sinter.RuntimeOption) *sinter.Device {
	t.Helper()
	d, err := sinter.NewRuntime(opts...).Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func memoryOf(d *sinter.Device) (backend.MemoryUsage, error) {
	m, ok := backend.As[backend.Memory](d.Backend())
	if !ok {
		return backend.MemoryUsage{}, errors.New("the device does not count its memory")
	}
	return m.MemoryUsage(context.Background())
}

func bitsOf(t testing.TB, x *sinter.Tensor) []uint32 {
	t.Helper()
	data, err := sinter.Data[float32](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, len(data))
	for i, v := range data {
		out[i] = math.Float32bits(v)
	}
	return out
}

func equalToRecorded(t testing.TB, what string, a, b *sinter.Tensor) {
	t.Helper()
	x, y := bitsOf(t, a), bitsOf(t, b)
	for i := range x {
		if x[i] != y[i] {
			t.Fatalf("%s: element %d is %#x, recorded %#x", what, i, x[i], y[i])
		}
	}
}

// TestCaptureTraining: fifty steps of training, captured and recorded, have equal
// bits: losses, parameters, moments, and draws; through batches of another size, a
// variable that is set from outside, and an input that was released.
func TestCaptureTraining(t *testing.T) {
	ctx := context.Background()
	captured, recorded := newMLP(stepDevice(t)), newMLP(stepDevice(t))
	step := sinter.Capture(captured.dev, captured.step)
	defer step.Release()
	for round := range 50 {
		size := 32
		if round >= 20 && round < 23 {
			size = 20
		}
		if round == 30 {
			for _, n := range []*mlp{captured, recorded} {
				if err := n.params[2].Set(n.params[2].Borrow().Detach().Mul(0.5)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if round == 40 {
			x, y := captured.batch(round, size)
			x.Release()
			if out, err := step.Run(ctx, x, y); err == nil && out[0].Err() == nil {
				t.Error("a released input went unnoticed")
			}
			// The function drew before it failed, or did not: the other follows.
			recorded.g.SetDraws(captured.g.Draws())
		}
		x, y := captured.batch(round, size)
		got, err := step.Run(ctx, x, y)
		if err != nil {
			t.Fatal(err)
		}
		x, y = recorded.batch(round, size)
		want, err := recorded.plain(x, y)
		if err != nil {
			t.Fatal(err)
		}
		equalToRecorded(t, "loss", got[0], want)
		if captured.g.Draws() != recorded.g.Draws() {
			t.Fatalf("round %d: %d draws, recorded %d", round, captured.g.Draws(), recorded.g.Draws())
		}
		if st := step.Stats(); round == 10 && !st.Captured {
			t.Errorf("not captured after ten rounds: %+v", st)
		} else if round == 31 && !st.Captured {
			t.Errorf("a variable set from outside: %+v", st)
		}
	}
	for i := range captured.params {
		equalToRecorded(t, "parameter", captured.params[i].Borrow(), recorded.params[i].Borrow())
		equalToRecorded(t, "moment", captured.v[i].Borrow(), recorded.v[i].Borrow())
	}
	st := step.Stats()
	t.Logf("%+v", st)
	if st.Replayed < 30 {
		t.Errorf("%d of 50 rounds replayed: %+v", st.Replayed, st)
	}
}

// TestCaptureMemory: captured rounds leave nothing behind.
func TestCaptureMemory(t *testing.T) {
	ctx := context.Background()
	n := newMLP(stepDevice(t))
	step := sinter.Capture(n.dev, n.step)
	used := func() (int, int64) {
		u, err := memoryOf(n.dev)
		if err != nil {
			t.Fatal(err)
		}
		return u.Tensors, u.InUse
	}
	x, y := n.batch(0, 16)
	var tensors int
	var bytes int64
	for round := range 200 {
		out, err := step.Run(ctx, x, y)
		if err != nil {
			t.Fatal(err)
		}
		out[0].Release()
		if round == 60 {
			tensors, bytes = used()
		}
	}
	if a, b := used(); a > tensors+2 || b > bytes+1<<12 {
		t.Errorf("%d tensors in %d bytes after 200 rounds, %d in %d after 60", a, b, tensors, bytes)
	}
	st := step.Stats()
	if st.Replayed < 150 || st.Reasons[sinter.CaptureCheck] == 0 {
		t.Errorf("%+v", st)
	}
	step.Release()
}

// TestCaptureRefusals: why functions are not captured.
func TestCaptureRefusals(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	on := sinter.On(d)
	x := sinter.FromSliceOn(on, []float32{1, 2, 3})
	v := sinter.NewVar(sinter.FromSliceOn(on, []float32{1, 1, 1}))
	n := 0
	for _, c := range []struct {
		name string
		f    sinter.StepFunc
		want fusion.CaptureReason
		text string
	}{
		{"read", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			y := in[0].Exp()
			if _, err := sinter.Data[float32](ctx, y); err != nil {
				return nil, err
			}
			return []*sinter.Tensor{y.Add(1)}, nil
		}, fusion.CaptureRead, "read"},
		{"number", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			n++
			return []*sinter.Tensor{in[0].Add(n)}, nil
		}, fusion.CaptureUnlike, "capture_test.go"},
		{"slice", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return []*sinter.Tensor{in[0].Add(sinter.FromSliceOn(on, []float32{1, 2, 3}))}, nil
		}, fusion.CaptureUnlike, "from outside"},
		{"failure", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return nil, errors.New("no")
		}, sinter.CaptureFailed, "no"},
		{"wrong shape", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			return []*sinter.Tensor{in[0].Reshape(2)}, nil
		}, sinter.CaptureFailed, "output 0"},
		{"branches", func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			if n++; n%2 == 0 {
				return []*sinter.Tensor{in[0].Mul(v.In(s))}, nil
			}
			return []*sinter.Tensor{in[0].Sub(in[0])}, nil
		}, fusion.CaptureUnlike, ""},
	} {
		step := sinter.Capture(d, c.f)
		for range 6 {
			out, err := step.Run(ctx, x)
			if err == nil && len(out) != 1 {
				t.Errorf("%s: %d outputs", c.name, len(out))
			}
		}
		st := step.Stats()
		if st.Replayed != 0 || st.Reasons[c.want] == 0 || !strings.Contains(st.Reason, c.text) {
			t.Errorf("%s: %+v", c.name, st)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) { return in, nil })
	if _, err := step.Run(ended, x); !errors.Is(err, ir.ErrCancelled) {
		t.Error(err)
	}
	for range 5 { // an input that is passed on
		out, err := step.Run(ctx, x)
		if err != nil || bitsOf(t, out[0])[2] != math.Float32bits(3) {
			t.Fatal(out, err)
		}
	}
}

// TestCaptureLarge: results and variables that the round itself consumes are stored,
// however large, also if a budget cut the round behind them.
func TestCaptureLarge(t *testing.T) {
	ctx := context.Background()
	for _, ops := range []int{0, 3} {
		d := stepDevice(t, sinter.WithFusionOptions(fusion.Options{MaxOps: ops}))
		on := sinter.On(d)
		const n = 1 << 15 // 128 KB, more than what is stored in any case
		v := sinter.NewVar(on.Zeros(sinter.F32, n))
		step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
			x := v.In(s).Detach().Add(in[0])
			y := x.Mul(2)
			z := y
			for range 6 {
				z = z.Sub(1).Exp().Log().Abs()
			}
			z = z.Sum()
			return []*sinter.Tensor{y, z}, v.Set(x)
		})
		for round := 1; round <= 8; round++ {
			out, err := step.Run(ctx, on.Ones(sinter.F32, 1))
			if err != nil {
				t.Fatal(err)
			}
			if round == 8 && bitsOf(t, out[0])[n-1] != math.Float32bits(16) {
				t.Error(out[0])
			}
			for _, t := range out {
				t.Release()
			}
		}
		if st := step.Stats(); !st.Captured {
			t.Errorf("%d operations a segment: %+v", ops, st)
		}
	}
}

// TestCaptureGuards: a captured step sees a variable frozen, one of another layout,
// and one set by the round before.
func TestCaptureGuards(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	on := sinter.On(d)
	v := sinter.NewVar(sinter.FromSliceOn(on, []float32{1, 2, 3, 4}, 2, 2))
	calls := 0
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		calls++
		next := v.In(s).Detach().Add(in[0])
		return []*sinter.Tensor{next.Sum()}, v.Set(next)
	})
	x := sinter.FromSliceOn(on, []float32{1, 0, 0, 1}, 2, 2)
	want := float32(10)
	run := func(replayed bool) {
		t.Helper()
		before := calls
		out, err := step.Run(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		if want += 2; bitsOf(t, out[0])[0] != math.Float32bits(want) {
			t.Errorf("the sum is not %v", want)
		}
		if (calls == before) != replayed {
			t.Errorf("replayed: %v, want %v: %+v", calls == before, replayed, step.Stats())
		}
	}
	for i := range 8 {
		run(i >= 3)
	}
	v.Freeze()
	run(false)
	v.Unfreeze()
	run(true)
	held := v.Value() // must keep its contents though replays update in place
	old := bitsOf(t, held)
	run(true)
	for i, b := range bitsOf(t, held) {
		if b != old[i] {
			t.Error("a value that was handed out has changed")
		}
	}
	if err := v.Set(v.Borrow().Detach().Permute(1, 0)); err != nil {
		t.Fatal(err)
	}
	run(false)
	run(true)
}
