package autodiff_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// TestScope: gradients belong to the scope of the loss, and nothing else stays.
func TestScope(t *testing.T) {
	v := sinter.NewVar(sinter.FromSlice([]float64{1, 2, 3}))
	s := sinter.NewScope("step")
	x := v.In(s)
	loss := x.Mul(x).Add(x).Mul(3).Sum()
	before := s.Live()
	g, err := autodiff.Gradients(loss, v)
	if err != nil {
		t.Fatal(err)
	}
	if live := s.Live(); live != before+1 {
		t.Errorf("the scope owns %d tensors after the call, %d before, expected one more", live, before)
	}
	kept := s.Keep(g[0].Mul(1))
	s.End()
	if err := g[0].Err(); !errors.Is(err, ir.ErrClosed) {
		t.Errorf("a gradient outlives the scope of its loss: %v", err)
	}
	if got := data(t, kept); !same(got, []float64{9, 15, 21}) {
		t.Errorf("got %v", got)
	}
	if got := data(t, v.Value()); !same(got, []float64{1, 2, 3}) {
		t.Errorf("the variable is %v", got)
	}
}

// TestLayerScopes: results of layers in scopes of their own, which are unrelated
// to each other, meet in one gradient.
func TestLayerScopes(t *testing.T) {
	for _, track := range []bool{false, true} {
		w := []*sinter.Var{sinter.NewVar(sinter.Scalar(2.0)), sinter.NewVar(sinter.Scalar(3.0))}
		s := sinter.NewScope("step")
		h := s.In(sinter.Scalar(5.0))
		var layers []*sinter.Scope
		for _, v := range w {
			l := s.Sub("layer")
			h = l.Keep(l.In(h).Mul(v.In(l)).Add(1).Mul(l.In(h)))
			layers = append(layers, l)
		}
		loss := s.Keep(h) // w1·h1² + h1 with h1 = 25·w0 + 5
		g, err := autodiff.Options{Track: track}.Gradients(loss, w...)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := data(t, g[0]), data(t, g[1]); a[0] != 25*(2*3*55+1) || b[0] != 55*55 {
			t.Errorf("got %v and %v", a, b)
		}
		for _, l := range layers {
			l.End()
		}
		if _, err := autodiff.Gradients(loss, w...); !errors.Is(err, ir.ErrClosed) {
			t.Errorf("after the layers' scopes ended: %v", err)
		}
		s.End()
	}
}

// newDevice opens a device of its own, so that its memory can be counted.
func newDevice(t *testing.T) *sinter.Device {
	t.Helper()
	d, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func usage(t *testing.T, d *sinter.Device) backend.MemoryUsage {
	t.Helper()
	d.Stream().Flush()
	b, ok := backend.As[backend.Memory](d.Backend())
	if !ok {
		t.Fatal("the device does not tell its memory")
	}
	m, err := b.MemoryUsage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// settle collects garbage until the device has at most n tensors.
func settle(t *testing.T, d *sinter.Device, n int) int {
	t.Helper()
	left := 0
	for range 50 {
		runtime.GC()
		if left = usage(t, d).Tensors; left <= n {
			return left
		}
		time.Sleep(5 * time.Millisecond)
	}
	return left
}

// TestForwardOnly: a record that nobody walks goes with its tensors.
func TestForwardOnly(t *testing.T) {
	d := newDevice(t)
	v := sinter.NewVar(sinter.FromSliceOn(sinter.On(d), []float32{1, 2, 3}))
	pass := func() { v.Value().Mul(v.Value()).Relu().Sum() }
	pass()
	base, routines := settle(t, d, 1), runtime.NumGoroutine()
	for range 10000 {
		pass()
	}
	if n := settle(t, d, base); n > base {
		t.Errorf("%d device tensors after 10,000 passes, %d before", n, base)
	}
	if n := runtime.NumGoroutine(); n > routines+2 {
		t.Errorf("%d goroutines after 10,000 passes, %d before", n, routines)
	}
}

// TestReleasedOnTheWay: a walk holds few gradients at a time, and none after it.
func TestReleasedOnTheWay(t *testing.T) {
	d := newDevice(t)
	const ops, size = 4000, 1024
	x := sinter.On(d).Ones(sinter.F64, size).Track()
	chain := make([]*sinter.Tensor, 0, ops)
	y := x
	for range ops {
		y = y.Neg()
		chain = append(chain, y)
	}
	loss := y.Sum()
	before := usage(t, d)
	g := grad(t, loss, x)
	after := usage(t, d)
	if extra := after.Peak - before.InUse; extra > before.InUse/4 {
		t.Errorf("the walk held %d bytes beside %d of the forward pass", extra, before.InUse)
	}
	if n := after.Tensors - before.Tensors; n != 1 {
		t.Errorf("%d more device tensors after the walk, expected 1, the gradient", n)
	}
	for _, alive := range []any{x, chain, loss} { // what was counted before the walk
		runtime.KeepAlive(alive)
	}
	if got := data(t, g[0]); got[0] != 1 {
		t.Errorf("got %v", got[0])
	}
}

// TestDeepChain: 100,000 operations, in a small stack and linear time.
func TestDeepChain(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	n := 100000
	if raceEnabled {
		n = 20000
	}
	mallocs := func(n int) float64 {
		x := vec(1)
		y := x
		for range n {
			y = y.Neg()
		}
		loss := y.Sum()
		var a, b runtime.MemStats
		runtime.ReadMemStats(&a)
		g := grad(t, loss, x)
		runtime.ReadMemStats(&b)
		if got := data(t, g[0]); got[0] != 1 {
			t.Errorf("a chain of %d: the gradient is %v", n, got)
		}
		return float64(b.Mallocs-a.Mallocs) / float64(n)
	}
	if small, large := mallocs(n/10), mallocs(n); large > 1.5*small+10 {
		t.Errorf("%.1f allocations per operation for %d operations, %.1f for %d", small, n/10, large, n)
	}
}

// TestConcurrent: many goroutines differentiate one record.
func TestConcurrent(t *testing.T) {
	x := sinter.NewGenerator(3).Uniform(sinter.Of{}, sinter.F32, 8, 8).Track()
	y := x
	for range 6 {
		y = y.MatMul(x).Mul(0.25).Add(x).Softmax(1)
	}
	loss := y.Mul(x).Sum()
	want := data(t, grad(t, loss, x)[0])
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				g, err := autodiff.Options{Track: i%2 == 1}.Grad(loss, x)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := sinter.Data[float64](context.Background(), g[0].Cast(sinter.F64))
				if err != nil || !same(got, want) {
					t.Errorf("a goroutine got other bits, or %v", err)
				}
			}
		})
	}
	wg.Wait()
}
