package sinter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// An operand of another stream may be released as soon as its use is recorded,
// before either stream was submitted.
func TestCrossStreamRelease(t *testing.T) {
	ctx := context.Background()
	d := sinter.DefaultDevice()
	other := d.NewStream(ctx)
	for range 100 {
		x := sinter.FromSlice([]float32{1, 2}).Add(1)
		y := sinter.FromSliceOn(sinter.OnStreamOf(other), []float32{10, 20})
		z := y.Add(x)
		x.Release()
		sinter.FromSlice([]float32{0}).Add(1).Release()
		d.Stream().Flush()
		got, err := sinter.Data[float32](ctx, z)
		if err != nil || got[0] != 12 || got[1] != 23 {
			t.Fatalf("got %v, %v", got, err)
		}
	}
}

// What a cancelled stream could not submit is an error, passed on unchanged to
// everything computed from it, on its own stream and on others.
func TestCancelledStreamPassesFirstError(t *testing.T) {
	block := make(chan struct{})
	b, err := cpu.New(cpu.Options{QueueOps: 1, Routines: map[string]cpu.Routine{
		"nonzero": func(*cpu.Call) error { <-block; return nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	defer d.Close()
	ctx, cancel := context.WithCancel(context.Background())
	s := d.NewStream(ctx)
	x := sinter.FromSliceOn(sinter.OnStreamOf(s), []float32{1, 2})
	coords, _ := sinter.FromSliceOn(sinter.On(d), []bool{true}).NonZeroMax(1)
	d.Stream().Flush() // it holds the only place in the queue
	y := x.Add(1)
	cancel()
	s.Flush() // no room, and nobody waits any more
	z := y.Mul(2)
	close(block)
	_, errY := sinter.Data[float32](context.Background(), y)
	_, errZ := sinter.Data[float32](context.Background(), z)
	if !errors.Is(errY, sinter.ErrCancelled) || !errors.Is(errZ, sinter.ErrCancelled) {
		t.Fatalf("got %v and %v, expected cancelled", errY, errZ)
	}
	if errY != errZ {
		t.Errorf("the error changed on the way: %v became %v", errY, errZ)
	}
	other := sinter.FromSliceOn(sinter.On(d), []float32{1, 1}).Add(y)
	if _, err := sinter.Data[float32](context.Background(), other); err != errY {
		t.Errorf("another stream got %v, expected %v", err, errY)
	}
	if err := coords.Err(); err != nil {
		t.Error(err)
	}
	if v, err := sinter.Data[float32](context.Background(), x); err != nil || v[0] != 1 {
		t.Errorf("x: %v, %v", v, err)
	}
}
