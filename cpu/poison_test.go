package cpu

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// stray is code that writes one byte at a distance from its last argument.
type stray struct{ at int64 }

func (s stray) Run(l *kernel.Launch) {
	o := &l.Args[len(l.Args)-1]
	*(*byte)(unsafe.Add(o.Base, s.at)) ^= 0x55
}

// TestPoisonGuards: what is written around a buffer is an internal error of the
// next Sync once it is freed, or of Close; a device without faults has none.
func TestPoisonGuards(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		at   int64
		want string // "" for inside
	}{{0, ""}, {11, ""}, {-1, "before"}, {-64, "before"}, {12, "behind"}, {64, "behind"}, {127, "behind"}} {
		b := newBench(t, Options{Poison: true})
		k := &compiledKernel{d: b.d, ready: newReady(addKernel(), stray{c.at}, false)}
		x, y := b.floats(1, 2, 3), b.name(3)
		b.launch(backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3}, Args: []backend.LaunchArg{whole(x), whole(x), whole(y)}}}})
		if err := b.d.Sync(ctx); err != nil {
			t.Errorf("byte %d: %v before the buffer is freed", c.at, err)
		}
		b.d.Free(y.ID)
		err := b.d.Sync(ctx)
		if c.want == "" {
			if err != nil {
				t.Errorf("byte %d: %v", c.at, err)
			}
			continue
		}
		if !errors.Is(err, ir.ErrInternal) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d: %v, want an internal error that says %q", c.at, err, c.want)
		}
		if err := b.d.Sync(ctx); err != nil {
			t.Errorf("byte %d: Sync again: %v", c.at, err)
		}
		// Close tells what no Sync has.
		z := b.name(3)
		b.launch(backend.Launch{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{3}, Args: []backend.LaunchArg{whole(x), whole(x), whole(z)}}}})
		if err := b.d.Close(); !errors.Is(err, ir.ErrInternal) {
			t.Errorf("byte %d: Close: %v, want an internal error", c.at, err)
		}
	}
}

// TestPoisonFreed: memory that was freed holds signalling values and must not be
// written to; fresh memory holds them too.
func TestPoisonFreed(t *testing.T) {
	b := newBench(t, Options{Poison: true})
	ctx := context.Background()
	x := b.floats(1, 2, 3)
	m, err := b.d.Lend(ctx, x.ID)
	if err != nil {
		t.Fatal(err)
	}
	late := m.Bytes
	m.Release()
	b.d.Free(x.ID)
	if err := b.d.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	for i, v := range view[float32](late) {
		if v == v {
			t.Errorf("element %d of freed memory is %v", i, v)
		}
	}
	if v := view[float64](late[:8])[0]; !math.IsNaN(v) || math.Float64bits(v)>>51&1 != 0 {
		t.Errorf("freed memory is %v as float64, want a signalling NaN", v)
	}
	late[5] ^= 1
	y := b.floats(4, 5, 6) // takes the buffer
	if err := b.d.Sync(ctx); !errors.Is(err, ir.ErrInternal) || !strings.Contains(err.Error(), "freed") {
		t.Errorf("Sync after a write to freed memory: %v", err)
	}
	b.expect(y, 4, 5, 6)
	w, err := b.d.OpenWrite(ctx, b.name(100))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range view[float32](w.(*writer).e.buf.data) {
		if v == v {
			t.Fatalf("element %d of fresh memory is %v", i, v)
		}
	}
	w.Abort()
	b.d.Cleanup()
	if err := b.d.Sync(ctx); err != nil {
		t.Errorf("Sync: %v", err)
	}
}
