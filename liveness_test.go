package sinter_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
)

// chain is 20 operations on a vector, with every intermediate result.
func chain(x *sinter.Tensor) []*sinter.Tensor {
	all := []*sinter.Tensor{x}
	add := func(y *sinter.Tensor) { all = append(all, y) }
	last := func() *sinter.Tensor { return all[len(all)-1] }
	for i := range 5 {
		add(last().Mul(0.5))
		add(last().Add(float64(i)))
		add(last().Tanh())
		add(last().Sub(all[len(all)-3]))
	}
	return all[1:]
}

// Programs that release nothing and have no scopes take hardly more of the device
// than those with scopes: results that were only passed on are not stored, and
// the rest is within the policy of asking for collections.
func TestForgottenPeak(t *testing.T) {
	steps, n := 300, 250_000
	if testing.Short() {
		steps = 40
	}
	host := make([]float32, n)
	peak := func(scoped bool) int64 {
		d := own(t, cpu.Options{})
		for range steps {
			x := sinter.FromSliceOn(sinter.On(d), host)
			if scoped {
				s := sinter.NewScope("step")
				x = s.Own(x)
				defer s.End()
				all := chain(x)
				all[len(all)-1].Sum()
				s.End()
				continue
			}
			all := chain(x)
			all[len(all)-1].Sum()
			d.Stream().Flush()
		}
		return memory(t, d).Peak
	}
	with, without := peak(true), peak(false)
	// Stored, the results would take 20 times the inputs, which are 1 MB each.
	if limit := with + 300<<20; without > limit {
		t.Errorf("peak %d without scopes, %d with, expected at most %d", without, with, limit)
	}
	if limit := with + int64(steps)*4*int64(n)*3/2; without > limit {
		t.Errorf("peak %d without scopes, %d with, expected little more than the inputs: %d", without, with, limit)
	}
	t.Logf("peak %d with scopes, %d without", with, without)
}

// What a step takes, of the device and of Go's heap, does not grow with the
// number of steps.
func TestStepsAreFlat(t *testing.T) {
	steps := 10_000
	if testing.Short() {
		steps = 400
	}
	for _, scoped := range []bool{true, false} {
		t.Run(fmt.Sprint("scoped=", scoped), func(t *testing.T) {
			d := own(t, cpu.Options{})
			w := sinter.FromSliceOn(sinter.On(d), make([]float32, 64))
			step := func() {
				x := w
				if scoped {
					s := sinter.NewScope("step")
					defer s.End()
					x = s.In(w)
				}
				all := chain(x)
				if _, err := sinter.Item[float32](context.Background(), all[len(all)-1].Sum()); err != nil {
					t.Fatal(err)
				}
			}
			// heap is what stays: without the idle memory of the pool, which has a limit
			// of its own, and without what cleanups, which run beside the program, have
			// yet to give back.
			heap := func() uint64 {
				m, ok := backend.As[backend.Memory](d.Backend())
				if !ok {
					t.Fatal("the device has no memory to clean up")
				}
				last := uint64(math.MaxUint64)
				for range 100 {
					runtime.GC()
					if err := d.Sync(context.Background()); err != nil {
						t.Fatal(err)
					}
					m.Cleanup()
					var stats runtime.MemStats
					runtime.ReadMemStats(&stats)
					if stats.HeapAlloc+64<<10 >= last {
						return stats.HeapAlloc
					}
					last = stats.HeapAlloc
					time.Sleep(10 * time.Millisecond)
				}
				return last
			}
			// Half of the steps, since the heap that a collection waits for, and with it
			// the room of the tables of what is to be given back, is that of all tests
			// before this one.
			for range steps / 2 {
				step()
			}
			early, used := heap(), memory(t, d).InUse
			for range steps / 2 {
				step()
			}
			late := heap()
			t.Logf("heap %d then %d", early, late)
			if late > early+2<<20 {
				t.Errorf("the heap grew from %d to %d bytes", early, late)
			}
			if u := memory(t, d); u.InUse > used+1<<20 || u.Peak > 300<<20 {
				t.Errorf("the device holds %d bytes after %d, peak %d", u.InUse, used, u.Peak)
			}
		})
	}
}

// Goroutines record on shared tensors of one stream, read and release what they
// made, and get what one goroutine gets.
func TestGoroutinesShareTensors(t *testing.T) {
	ctx := context.Background()
	d := own(t, cpu.Options{})
	a := sinter.FromSliceOn(sinter.On(d), []float32{1, 2, 3, 4})
	b := a.Add(1)
	wants := make([][]float32, 4)
	for k := range wants {
		y := b
		for range k + 3 {
			y = y.Mul(a).Tanh()
		}
		v, err := sinter.Data[float32](ctx, y.Sum().Add(y))
		if err != nil {
			t.Fatal(err)
		}
		wants[k] = v
	}
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for r := range rounds {
				k := (g + r) % len(wants)
				s := sinter.NewScope("goroutine")
				x, y := s.In(a), b
				for range k + 3 {
					y = y.Mul(x).Tanh()
				}
				z := y.Sum().Add(y)
				if r%3 == 1 {
					y.Release()
				}
				got, err := sinter.Data[float32](ctx, z)
				s.End()
				if err != nil || fmt.Sprint(got) != fmt.Sprint(wants[k]) {
					t.Errorf("goroutine %d: %v, %v, expected %v", g, got, err, wants[k])
				}
			}
		})
	}
	wg.Wait()
}

// Results that were passed on and not stored are there when they are read late,
// in any order, and have the bits of operations that ran one by one.
func TestReadLate(t *testing.T) {
	host := make([]float32, 40_000) // large enough not to be stored
	r := rand.New(rand.NewPCG(1, 2))
	for i := range host {
		host[i] = r.Float32()*4 - 2
	}
	plain, err := sinter.NewRuntime(sinter.WithFusion(false)).Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	want := chain(sinter.FromSliceOn(sinter.On(plain), host))
	fused := own(t, cpu.Options{})
	for _, order := range []string{"forward", "reverse", "random"} {
		got := chain(sinter.FromSliceOn(sinter.On(fused), host))
		fused.Stream().Flush()
		at := make([]int, len(got))
		for i := range at {
			at[i] = i
			if order == "reverse" {
				at[i] = len(got) - 1 - i
			}
		}
		if order == "random" {
			r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		}
		for n, i := range at {
			if n%4 == 3 { // some are never looked at
				got[i].Release()
				continue
			}
			sameBits(t, fmt.Sprint(order, " ", i), got[i], want[i])
		}
	}
}

// sameBits compares two tensors byte by byte.
func sameBits(t *testing.T, what string, got, want *sinter.Tensor) {
	t.Helper()
	a, err := sinter.Read(context.Background(), got)
	if err != nil {
		t.Fatal(what, err)
	}
	b, err := sinter.Read(context.Background(), want)
	if err != nil {
		t.Fatal(what, err)
	}
	if string(a[0].Bytes) != string(b[0].Bytes) {
		t.Errorf("%s: the bits differ", what)
	}
}

// Operands may be released as soon as their use is recorded, whatever was recorded
// before and is recorded after.
func TestReleaseWhileRecording(t *testing.T) {
	host := make([]float32, 30_000)
	for i := range host {
		host[i] = float32(i%17) / 8
	}
	d := own(t, cpu.Options{})
	want := chain(sinter.FromSliceOn(sinter.On(d), host))
	final := want[len(want)-1].Sum()
	for _, flush := range []bool{false, true} {
		x := sinter.FromSliceOn(sinter.On(d), host)
		var prev []*sinter.Tensor
		y := x
		for i := range 5 {
			a := y.Mul(0.5)
			b := a.Add(float64(i))
			c := b.Tanh()
			z := c.Sub(a)
			for _, p := range append(prev, y, c) {
				p.Release()
				p.Release() // harmless
			}
			if flush && i == 2 {
				d.Stream().Flush()
			}
			prev, y = []*sinter.Tensor{a, b}, z
		}
		sameBits(t, fmt.Sprint("flush=", flush), y.Sum(), final)
		if err := x.Add(1).Err(); err == nil {
			t.Error("a released tensor was used")
		}
	}
}

// Streams that use each other's results, released at once, get them in order.
func TestStreamsCross(t *testing.T) {
	ctx := context.Background()
	d := own(t, cpu.Options{})
	streams := []*sinter.Stream{d.Stream(), d.NewStream(ctx), d.NewStream(ctx)}
	ones := make([]*sinter.Tensor, len(streams))
	for i, s := range streams {
		ones[i] = sinter.OnStreamOf(s).Ones(sinter.F32, 20_000)
	}
	y := ones[0]
	for i := range 60 {
		s := sinter.NewScope("hop", sinter.OnStream(streams[i%len(streams)]))
		next := s.Keep(s.In(y).Add(ones[(i+1)%len(streams)]).Mul(1))
		s.End()
		if i > 0 {
			y.Release()
		}
		y = next
	}
	for _, v := range read(t, y)[:3] {
		if v != 61 {
			t.Fatalf("got %v, expected 61", v)
		}
	}
}

// Fusion is turned off per value, scope and device; the bits do not change.
func TestFusionOff(t *testing.T) {
	host := make([]float32, 20_000)
	for i := range host {
		host[i] = float32(i%23)/4 - 2
	}
	d := own(t, cpu.Options{})
	x := sinter.FromSliceOn(sinter.On(d), host)
	want := chain(x)
	s := sinter.NewScope("plain", sinter.WithoutFusion())
	defer s.End()
	got := chain(s.Sub("inside").In(x))
	plain, err := sinter.NewRuntime(sinter.WithFusion(false)).Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	other := chain(sinter.FromSliceOn(sinter.On(plain), host))
	fenced := x
	for i := range 5 {
		a := fenced.Mul(0.5).Unfused()
		fenced = a.Add(float64(i)).Unfused().Tanh().Sub(a)
	}
	for i := range want {
		sameBits(t, fmt.Sprint("scope ", i), got[i], want[i])
		sameBits(t, fmt.Sprint("device ", i), other[i], want[i])
	}
	sameBits(t, "values", fenced, want[len(want)-1])
}

// Constants of a graph are tensors like others: they can be read, moved and
// released, and the last does nothing.
func TestGraphConstants(t *testing.T) {
	x := sinter.FromSlice([]float32{1, 2})
	g, err := sinter.GraphOf(x)
	if err != nil {
		t.Fatal(err)
	}
	c := g.Scalar(2.5, sinter.F32).(*sinter.Tensor)
	if got := fmt.Sprint(read(t, c)); got != "[2.5]" {
		t.Errorf("read %s", got)
	}
	d := own(t, cpu.Options{})
	if got := fmt.Sprint(read(t, c.To(d).Add(1))); got != "[3.5]" {
		t.Errorf("moved %s", got)
	}
	c.Release()
	if got := fmt.Sprint(read(t, x.Mul(c)), read(t, c.Add(c)), read(t, c.Unfused())); got != "[2.5 5] [5] [2.5]" {
		t.Errorf("used %s", got)
	}
}
