package sinter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
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
