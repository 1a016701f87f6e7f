package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// TestFed: a replay asks for numbers in the order of the round and between what the
// function does beside recording; a constant of the same value is none of them.
func TestFed(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	count, calls := 0, 0
	var order []string
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		calls++
		x := in[0]
		first := sinter.Fed(x, func() float64 { order = append(order, fmt.Sprint("first ", count)); return float64(count) })
		if first.Scope() != s || first.DType() != sinter.F32 || first.Rank() != 0 {
			t.Errorf("%v of scope %v", first, first.Scope())
		}
		count++
		s.Sub("inner").OnReplay(func() { order = append(order, "count"); count++ })
		second := sinter.Fed(x, func() float64 { order = append(order, fmt.Sprint("second ", count)); return float64(count) })
		return []*sinter.Tensor{x.Mul(first).Add(second).Add(1), first.Mul(1)}, nil
	})
	defer step.Release()
	x := sinter.FromSliceOn(sinter.On(d), []float32{10})
	for round := range 8 {
		order = nil
		out, err := step.Run(ctx, x)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := bitsOf(t, out[0])[0], math.Float32bits(float32(10*round+round+1+1)); got != want {
			t.Errorf("round %d: %v", round, out[0])
		}
		if bitsOf(t, out[1])[0] != math.Float32bits(float32(round)) {
			t.Errorf("round %d: %v", round, out[1])
		}
		if want := fmt.Sprintf("[first %d count second %d]", round, round+1); round > 3 && fmt.Sprint(order) != want {
			t.Errorf("round %d: %v, want %s", round, order, want)
		}
	}
	if calls != 3 {
		t.Errorf("%d calls: %+v", calls, step.Stats())
	}
}

// TestFedElsewhere: numbers and functions of other scopes and streams are no part of a
// round.
func TestFedElsewhere(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	x := sinter.FromSliceOn(sinter.On(d), []float32{2})
	asked, done := 0, 0
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		other := sinter.NewScope("other")
		defer other.End()
		other.OnReplay(func() { done++ })
		sinter.Fed(other.In(x), func() float64 { asked++; return 1 })
		sinter.Fed(x, func() float64 { asked++; return 1 })
		return []*sinter.Tensor{in[0].Add(1)}, nil
	})
	for range 6 {
		if _, err := step.Run(ctx, x); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 6 || done != 0 || step.Stats().Replayed != 3 {
		t.Errorf("asked %d times, done %d times: %+v", asked, done, step.Stats())
	}
	(*sinter.Scope)(nil).OnReplay(func() { t.Error("called") })
	if y := sinter.Fed(x, func() float64 { return 0.5 }); bitsOf(t, x.Mul(y))[0] != math.Float32bits(1) || y.Scope() != nil {
		t.Error(y)
	}
	if y := sinter.Fed(x.Cast(sinter.I8), func() float64 { return 200 }); !errors.Is(y.Err(), ir.ErrDType) {
		t.Errorf("200 in i8: %v", y.Err())
	}
	if y := sinter.Fed(nil, func() float64 { return 200 }); y.Err() == nil {
		t.Error("a number for nothing")
	}
}

// TestFedReads: what a number depends on may be read from the device.
func TestFedReads(t *testing.T) {
	ctx := context.Background()
	d := stepDevice(t)
	last := sinter.FromSliceOn(sinter.On(d), []float64{1})
	step := sinter.Capture(d, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		rate := 1.0
		s.OnReplay(func() {
			v, err := sinter.Item[float64](ctx, last)
			if err != nil {
				t.Error(err)
			}
			rate = v
		})
		return []*sinter.Tensor{in[0].Mul(sinter.Fed(in[0], func() float64 { return rate }))}, nil
	})
	for round := range 6 {
		out, err := step.Run(ctx, sinter.FromSliceOn(sinter.On(d), []float64{2}))
		if err != nil {
			t.Fatal(err)
		}
		last = out[0]
		want := math.Ldexp(1, max(round-1, 1))
		if v, err := sinter.Item[float64](ctx, last); err != nil || v != want {
			t.Errorf("round %d: %v, %v, want %v: %+v", round, v, err, want, step.Stats())
		}
	}
}
