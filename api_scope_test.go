package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
)

// own opens a device that no other test uses.
func own(t *testing.T, opt cpu.Options) *sinter.Device {
	t.Helper()
	b, err := cpu.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func memory(t *testing.T, d *sinter.Device) backend.MemoryUsage {
	t.Helper()
	if err := d.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	m, ok := backend.As[backend.Memory](d.Backend())
	if !ok {
		t.Fatal("the device does not tell its memory")
	}
	u, err := m.MemoryUsage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestScopes: a result belongs to the deepest scope among its operands.
func TestScopes(t *testing.T) {
	x := sinter.Ones(sinter.F32, 2)
	outer := sinter.NewScope("outer")
	inner := outer.Sub("inner")
	a, b := outer.In(x).Add(1), inner.In(x).Mul(5)
	c := a.Add(b)
	if outer.Live() == 0 || inner.Live() == 0 {
		t.Errorf("outer owns %d, inner %d", outer.Live(), inner.Live())
	}
	kept := inner.Keep(c)
	before := outer.Live()
	inner.End()
	inner.End()
	if b.Err() == nil || !errors.Is(b.Err(), sinter.ErrClosed) || a.Err() != nil || x.Err() != nil {
		t.Errorf("after the end of inner: b %v, a %v, x %v", b.Err(), a.Err(), x.Err())
	}
	if got := read(t, kept); fmt.Sprint(got) != "[7 7]" {
		t.Errorf("got %v", got)
	}
	if outer.Live() != before {
		t.Errorf("outer owns %d, before %d", outer.Live(), before)
	}
	out := outer.Keep(kept)
	outer.End()
	if got := read(t, out); fmt.Sprint(got) != "[7 7]" {
		t.Errorf("kept beyond all scopes: %v", got)
	}
	p, q := sinter.NewScope("left"), sinter.NewScope("right")
	err := p.In(x).Add(q.In(x)).Err()
	if !errors.Is(err, sinter.ErrArgument) || !strings.Contains(err.Error(), "left") || !strings.Contains(err.Error(), "right") {
		t.Errorf("unrelated scopes meet: %v", err)
	}
	if s := p.Sub("deep").Name(); s != "left/deep" {
		t.Errorf("got name %q", s)
	}
}

// TestScopesStayFlat: 10,000 steps in scopes leave nothing behind.
func TestScopesStayFlat(t *testing.T) {
	d := own(t, cpu.Options{Threads: 1})
	on := sinter.On(d)
	w := on.Ones(sinter.F32, 16)
	var first backend.MemoryUsage
	for i := range 10000 {
		s := sinter.NewScope("step")
		y := s.In(w).Mul(0.5).Add(1)
		if y = y.Sub(y.Mul(0.1)); i%500 == 0 {
			read(t, y)
		}
		next := s.Keep(y)
		w.Release()
		w = next
		s.End()
		if s.Live() != 0 {
			t.Fatalf("an ended scope owns %d", s.Live())
		}
		if i == 1000 {
			first = memory(t, d)
		}
	}
	if last := memory(t, d); last.Tensors > first.Tensors || last.InUse > first.InUse || last.Peak > 4<<20 {
		t.Errorf("after 1,000 steps %+v, after 10,000 %+v", first, last)
	}
}

// TestCollector: without scopes, the garbage collector returns memory.
func TestCollector(t *testing.T) {
	d := own(t, cpu.Options{Threads: 1})
	on := sinter.On(d)
	x := on.Ones(sinter.F32, 1024)
	for range 20 {
		for range 100 {
			x.Add(1).Mul(2)
		}
		runtime.GC()
	}
	var u backend.MemoryUsage
	for range 50 { // cleanups run on a goroutine of their own
		runtime.GC()
		x.Add(1)
		if u = memory(t, d); u.Tensors < 400 {
			break
		}
	}
	if u.Tensors >= 400 {
		t.Errorf("%+v after collections", u)
	}
	runtime.KeepAlive(x)
}

// TestMemoryLimit: what does not fit is an error of the tensor alone.
func TestMemoryLimit(t *testing.T) {
	d := own(t, cpu.Options{Memory: 1 << 20})
	big := sinter.On(d).Zeros(sinter.F32, 1<<20)
	if _, err := sinter.Read(context.Background(), big.Add(1)); !errors.Is(err, sinter.ErrMemory) {
		t.Errorf("got %v", err)
	}
	if got := read(t, sinter.On(d).Ones(sinter.F32, 2).Add(1)); fmt.Sprint(got) != "[2 2]" {
		t.Errorf("got %v", got)
	}
}

// TestSharedByGoroutines: 32 goroutines compute from the same tensors, some of
// which they release, print and read.
func TestSharedByGoroutines(t *testing.T) {
	x := sinter.Arange(64, sinter.F32).Reshape(8, 8)
	w := sinter.Ones(sinter.F32, 8, 8).Add(1)
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			s := sinter.NewScope("worker")
			defer s.End()
			for i := range 10 {
				y := s.In(x).Mul(g).Add(w).MatMul(w.Transpose())
				z := y.Sum()
				if i%3 == 0 {
					_ = y.String()
				}
				got, err := sinter.Item[float32](context.Background(), z)
				if want := float32(2 * 8 * (2016*g + 128)); err != nil || got != want {
					t.Errorf("goroutine %d: got %v, %v, want %v", g, got, err, want)
					return
				}
				y.Release()
			}
		})
	}
	wg.Wait()
}

// TestGenerators: draws depend on seed and number alone, and look like what they
// are drawn from.
func TestGenerators(t *testing.T) {
	interp, err := sinter.OpenDevice("interp")
	if err != nil {
		t.Fatal(err)
	}
	const n = 40000
	for _, d := range []sinter.DType{sinter.F32, sinter.F64} {
		for name, moments := range map[string][2]float64{"uniform": {0.5, 1. / 12}, "normal": {0, 1}} {
			draw := func(g *sinter.Generator, on sinter.Of) []float64 {
				if name == "uniform" {
					return read(t, g.Uniform(on, d, n/100, 100))
				}
				return read(t, g.Normal(on, d, n/100, 100))
			}
			g, h := sinter.NewGenerator(42), sinter.NewGenerator(42)
			a, a2 := draw(g, sinter.Of{}), draw(g, sinter.Of{})
			b, b2 := draw(h, sinter.On(interp)), draw(h, sinter.On(interp))
			if fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a2) != fmt.Sprint(b2) {
				t.Errorf("%s %v: draws of two devices differ", name, d)
			}
			h.SetDraws(1)
			if fmt.Sprint(draw(h, sinter.Of{})) != fmt.Sprint(a2) || h.Draws() != 2 || h.Seed() != 42 {
				t.Errorf("%s %v: SetDraws does not continue", name, d)
			}
			if o := draw(sinter.NewGenerator(43), sinter.Of{}); fmt.Sprint(o) == fmt.Sprint(a) {
				t.Errorf("%s %v: two seeds draw the same", name, d)
			}
			all := append(append([]float64{}, a...), a2...)
			checkMoments(t, fmt.Sprintf("%s %v", name, d), all, moments[0], moments[1], d)
		}
	}
	if err := sinter.NewGenerator(1).Uniform(sinter.Of{}, sinter.I32, 2).Err(); !errors.Is(err, sinter.ErrDType) {
		t.Errorf("uniform integers: %v", err)
	}
}

// checkMoments compares mean, variance and the correlation of neighbours with
// what they should be, within five standard deviations.
func checkMoments(t *testing.T, name string, v []float64, mean, variance float64, d sinter.DType) {
	n := float64(len(v))
	sum, sq, lag := 0.0, 0.0, 0.0
	distinct := map[float64]bool{}
	for i, x := range v {
		sum += x - mean
		sq += (x - mean) * (x - mean)
		if i > 0 {
			lag += (x - mean) * (v[i-1] - mean)
		}
		distinct[x] = true
		if mean == 0.5 && (x < 0 || x >= 1) || math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("%s: drew %v", name, x)
		}
	}
	kurtosis := 3.0 // of the square: its variance is (k-1)σ⁴
	if mean == 0.5 {
		kurtosis = 1.8
	}
	if z := sum / math.Sqrt(n*variance); math.Abs(z) > 5 {
		t.Errorf("%s: the mean is %.1f standard deviations off", name, z)
	}
	if z := (sq - n*variance) / (variance * math.Sqrt(n*(kurtosis-1))); math.Abs(z) > 5 {
		t.Errorf("%s: the variance is %.1f standard deviations off", name, z)
	}
	if z := lag / (variance * math.Sqrt(n)); math.Abs(z) > 5 {
		t.Errorf("%s: neighbours are correlated, by %.1f standard deviations", name, z)
	}
	if least := map[bool]float64{true: 0.999, false: 0.99}[d == sinter.F64]; float64(len(distinct)) < least*n {
		t.Errorf("%s: %d of %v draws are distinct", name, len(distinct), n)
	}
}

// TestStreams: work of several streams meets in order.
func TestStreams(t *testing.T) {
	d := sinter.DefaultDevice()
	s := d.NewStream(context.Background())
	x := sinter.FromSliceOn(sinter.OnStreamOf(s), []float32{1, 2})
	for range 700 { // past the budget of a stream
		x = x.Add(1)
	}
	y := sinter.Ones(sinter.F32, 2).Add(x)
	if got := read(t, y); fmt.Sprint(got) != "[702 703]" {
		t.Errorf("got %v", got)
	}
	if c := s.Cuts(); c[fusion.CutOps] < 1 {
		t.Errorf("cuts %+v, want some for the number of operations", c)
	}
	a, b := sinter.NewGenerator(3), sinter.NewGenerator(3)
	if fmt.Sprint(read(t, a.Uniform(sinter.OnStreamOf(s), sinter.F32, 9))) != fmt.Sprint(read(t, b.Uniform(sinter.Of{}, sinter.F32, 9))) {
		t.Error("draws of two streams differ")
	}
}
