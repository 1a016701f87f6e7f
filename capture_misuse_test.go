package sinter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
)

// TestStepMisuse: what a step cannot do is an error of Run, not a panic or a wait without
// end.
func TestStepMisuse(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	x := sinter.On(d).Ones(sinter.F32, 2)
	double := func(_ *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		return []*sinter.Tensor{in[0].Add(in[0])}, nil
	}
	argument := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, sinter.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, st := range map[string]*sinter.Step{"nil": nil, "zero": {}, "no device": sinter.Capture(nil, double), "no function": sinter.Capture(d, nil)} {
		_, err := st.Run(ctx, x)
		argument(what, err)
	}
	st := sinter.Capture(d, double)
	_, err := st.Run(ctx, nil)
	argument("a nil input", err)

	inner := sinter.Capture(d, double)
	outer := sinter.Capture(d, func(_ *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		return inner.Run(ctx, in...)
	})
	_, err = outer.Run(ctx, x)
	argument("a step inside of another", err)
	var own *sinter.Step
	own = sinter.Capture(d, func(_ *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		own.Stats() // does not wait
		return nil, nil
	})
	if _, err := own.Run(ctx, x); err != nil {
		t.Error(err)
	}

	// Waiting for one's turn ends with the context.
	begun, wait := make(chan bool), make(chan bool)
	slow := sinter.Capture(d, func(*sinter.Scope, []*sinter.Tensor) ([]*sinter.Tensor, error) {
		close(begun)
		<-wait
		return nil, nil
	})
	done := make(chan error)
	go func() {
		_, err := slow.Run(ctx)
		done <- err
	}()
	<-begun
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := st.Run(short, x); !errors.Is(err, sinter.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait for another step: %v", err)
	}
	close(wait)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := st.Run(ctx, x); err != nil {
		t.Error(err)
	}

	argument("fed by nil", sinter.Fed(x, nil).Err())
	counted := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		s.OnReplay(nil)
		return []*sinter.Tensor{in[0].Mul(2)}, nil
	})
	for range 6 {
		if _, err := counted.Run(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	if !counted.Stats().Captured {
		t.Error("OnReplay of nil keeps a step from being captured")
	}
	_, err = d.Profile(ctx, nil)
	argument("a profile of nil", err)
	_, err = (*sinter.Device)(nil).Profile(ctx, func() error { return nil })
	argument("a profile of no device", err)
	_, err = d.Explain(nil)
	argument("an explanation of nil", err)
}

// TestStepBesideVars: variables are used on other goroutines while rounds are recorded.
func TestStepBesideVars(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	var vars []*sinter.Var
	for range 8 {
		vars = append(vars, sinter.NewVar(sinter.On(d).Ones(sinter.F32, 2)))
	}
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, v := range vars {
					v.Borrow()
				}
			}
		})
	}
	done := make(chan error)
	go func() {
		for range 50 {
			// A step of its own each time: all rounds are recorded.
			step := sinter.Capture(d, func(s *sinter.Scope, _ []*sinter.Tensor) ([]*sinter.Tensor, error) {
				for _, v := range vars {
					if err := v.Set(v.In(s).Detach().Add(1)); err != nil {
						return nil, err
					}
				}
				return nil, nil
			})
			if _, err := step.Run(ctx); err != nil {
				done <- err
				return
			}
			step.Release()
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("rounds and uses of variables wait for each other")
	}
	close(stop)
	wg.Wait()
}

// TestPanickingFed: a panic in a function that feeds a replay holds no tensor.
func TestPanickingFed(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	usage := func() int {
		m, ok := backend.As[backend.Memory](d.Backend())
		if !ok {
			t.Fatal("no memory")
		}
		u, err := m.MemoryUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return u.Tensors
	}
	panics := false
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		k := sinter.Fed(in[0], func() float64 {
			if panics {
				panic("of the function")
			}
			return 2
		})
		return []*sinter.Tensor{in[0].Mul(k)}, nil
	})
	run := func(x *sinter.Tensor) {
		defer func() { _ = recover() }()
		out, err := step.Run(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		out[0].Release()
	}
	x := sinter.FromSliceOn(sinter.On(d), []float32{1, 2, 3})
	for range 6 {
		run(x)
	}
	before := usage()
	y := sinter.FromSliceOn(sinter.On(d), []float32{4, 5, 6})
	panics = true
	for range 5 {
		run(y)
	}
	y.Release()
	if n := usage(); n != before {
		t.Errorf("%d tensors, before %d", n, before)
	}
	panics = false
	run(x)
	if !step.Stats().Captured {
		t.Error("the step is no longer replayed")
	}
}

// TestPanickingProfile: a function that panics leaves no window open.
func TestPanickingProfile(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	counting, ok := backend.As[backend.Counting](d.Backend())
	if !ok {
		t.Fatal("no counters")
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = d.Profile(ctx, func() error { panic("of the function") })
	}()
	before := counting.Counters().KernelTime
	if _, err := sinter.Data[float32](ctx, sinter.On(d).Ones(sinter.F32, 1000).Exp()); err != nil {
		t.Fatal(err)
	}
	if after := counting.Counters().KernelTime; after != before {
		t.Errorf("kernels are still timed: %v", after-before)
	}
}
