package cpu

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// TestInOrder: what is asked of an idle device is answered at once on the caller's
// goroutine, and of a busy one behind everything queued.
func TestInOrder(t *testing.T) {
	b := newBench(t, Options{})
	ctx := context.Background()
	x := b.floats(make([]float32, 1000)...)
	if u, err := b.d.MemoryUsage(ctx); err != nil || u.Tensors != 1 || u.InUse < 4000 {
		t.Errorf("%+v, %v", u, err)
	}
	hold, held := make(chan struct{}), make(chan struct{})
	if err := b.d.q.add(task{run: func() { close(held); <-hold }}); err != nil {
		t.Fatal(err)
	}
	<-held
	b.d.Free(x.ID)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if u, err := b.d.MemoryUsage(short); !errors.Is(err, ir.ErrCancelled) {
		t.Errorf("of a busy device: %+v, %v", u, err)
	}
	close(hold)
	if u, err := b.d.MemoryUsage(ctx); err != nil || u.Tensors != 0 || u.InUse != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	// From many goroutines, while the device works: the race detector looks on.
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				if _, err := b.d.MemoryUsage(ctx); err != nil {
					t.Error(err)
				}
				if err := b.d.Sync(ctx); err != nil {
					t.Error(err)
				}
				b.d.Counters()
			}
		}()
	}
	for range 200 {
		b.d.Free(b.floats(1, 2, 3).ID)
	}
	wg.Wait()
	if u, err := b.d.MemoryUsage(ctx); err != nil || u.Tensors != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if err := b.d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.d.MemoryUsage(ctx); !errors.Is(err, ir.ErrClosed) {
		t.Errorf("of a closed device: %v", err)
	}
}
