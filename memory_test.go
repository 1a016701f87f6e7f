package sinter_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
)

// A release that races with a use takes effect before it, and the use is an
// error of kind ErrClosed, or after it: never between.
func TestReleaseRaces(t *testing.T) {
	ctx := context.Background()
	d := sinter.DefaultDevice()
	n := 3000
	if testing.Short() {
		n = 300
	}
	for range n {
		x := sinter.FromSlice([]float32{1, 2}).Add(1)
		var wg sync.WaitGroup
		wg.Go(func() {
			x.Release()
			d.Stream().Flush()
		})
		y := x.Add(1)
		early := y.Err()
		v, err := sinter.Data[float32](ctx, y)
		wg.Wait()
		switch {
		case early != nil && !errors.Is(early, sinter.ErrClosed):
			t.Fatalf("recording gives %v", early)
		case early == nil && (err != nil || v[0] != 3):
			t.Fatalf("recorded, then %v, %v", v, err)
		}
	}
}

// Tensors that nobody releases do not fill a device: the collector is asked for
// help before the memory runs out.
func TestForgottenTensorsFit(t *testing.T) {
	ctx := context.Background()
	b, err := cpu.New(cpu.Options{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.NewRuntime().Adopt(b)
	defer d.Close()
	host := make([]float32, 250_000) // 1 MB: some 500 times what fits
	n := 1500
	if testing.Short() {
		n = 300
	}
	for i := range n {
		v, err := sinter.Item[float32](ctx, sinter.FromSliceOn(sinter.On(d), host).Add(1).Sum())
		if err != nil || v != 250_000 {
			t.Fatalf("step %d: %v, %v", i, v, err)
		}
	}
	u, err := b.MemoryUsage(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak %d of %d bytes", u.Peak, u.Limit)
}
