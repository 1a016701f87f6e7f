package sinter_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// A device that was closed opens anew.
func TestReopen(t *testing.T) {
	rt := sinter.NewRuntime()
	d, err := rt.Device("cpu")
	if err != nil {
		t.Fatal(err)
	}
	x := sinter.Scalar(1.5)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := rt.Device("cpu")
	if err != nil || again == d {
		t.Fatalf("got %v, %v: expected a new device", again, err)
	}
	defer again.Close()
	if v, err := sinter.Item[float64](context.Background(), sinter.On(again).Full(2.5, sinter.F64)); err != nil || v != 2.5 {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := sinter.Item[float64](context.Background(), x); err != nil || v != 1.5 {
		t.Errorf("a tensor of another device: %v, %v", v, err)
	}
}

// What was not submitted when the stream's context ended is an error.
func TestCancelledStreamSubmitsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := sinter.DefaultDevice().NewStream(ctx)
	x := sinter.OnStreamOf(s).Ones(sinter.F32, 3).Add(1)
	cancel()
	if _, err := sinter.Data[float32](context.Background(), x); !errors.Is(err, sinter.ErrCancelled) {
		t.Errorf("got %v, expected cancelled", err)
	}
}

// Ranges whose ends are further apart than an int holds have the right length.
func TestArangeWide(t *testing.T) {
	for _, c := range []struct {
		start, stop, step int
		want              []int64
	}{
		{-9e18, 9e18, 4e18, []int64{-9e18, -5e18, -1e18, 3e18, 7e18}},
		{math.MaxInt, math.MinInt, math.MinInt, []int64{math.MaxInt, -1}},
		{0, 7, 3, []int64{0, 3, 6}},
		{7, 0, -3, []int64{7, 4, 1}},
		{3, 3, 1, []int64{}},
	} {
		got, err := sinter.Data[int64](context.Background(), sinter.Of{}.Arange(c.start, c.stop, c.step, sinter.I64))
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%d to %d by %d: %v, %v", c.start, c.stop, c.step, got, err)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%d to %d by %d: %v, expected %v", c.start, c.stop, c.step, got, c.want)
				break
			}
		}
	}
	if err := (sinter.Of{}).Arange(math.MinInt, math.MaxInt, 1, sinter.I64).Err(); !errors.Is(err, sinter.ErrShape) {
		t.Errorf("got %v, expected a shape error", err)
	}
}

// Arrays made by hand are checked, not trusted.
func TestArrayByHand(t *testing.T) {
	short := sinter.Array{DType: sinter.F32, Shape: []int{5}, Bytes: []byte{1}}
	if v, err := sinter.Values[float32](short); err == nil {
		t.Errorf("five elements of one byte: %v", v)
	}
	for _, a := range []sinter.Array{{}, short} {
		if s := a.String(); len(s) < 6 || s[:6] != "error(" {
			t.Errorf("printed %q", s)
		}
	}
}

// TestNoCUDA: a program without the package is told what is missing.
func TestNoCUDA(t *testing.T) {
	_, err := sinter.NewRuntime().Device("cuda:0")
	if err == nil || ir.AsError(err).Kind != ir.ErrDevice || !strings.Contains(err.Error(), "sinter-go/sinter/cuda") {
		t.Errorf("error %v", err)
	}
}
