package fn_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/nn/fn"
)

// TestAttentionMemory: what attention and its gradients take grows with the length,
// and not with its square; heads of a packed projection are not copied.
func TestAttentionMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("the heap is not what it is under the race detector, which short runs are for")
	}
	const heads, width = 2, 8
	run := func(length int, backward bool) (device, host int64) {
		b, err := cpu.New(cpu.Options{Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		d := sinter.NewRuntime().Adopt(b)
		defer d.Close()
		x := sinter.NewGenerator(1).Normal(sinter.On(d), sinter.F32, 1, length, 3*heads*width)
		if err := d.Sync(context.Background()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := sinter.NewScope("attention")
		in := s.In(x)
		if backward {
			in = in.Track()
		}
		heads := in.Reshape(1, length, 3, heads, width).Permute(2, 0, 3, 1, 4)
		y := fn.Attention(heads.At(0, 0), heads.At(0, 1), heads.At(0, 2), fn.AttentionOptions{Causal: true})
		if backward {
			g, err := autodiff.Grad(y.Mul(y).Sum(), in)
			if err != nil {
				t.Fatal(err)
			}
			y = g[0]
		}
		if _, err := sinter.Item[float32](context.Background(), y.Sum()); err != nil {
			t.Fatal(err)
		}
		s.End()
		runtime.ReadMemStats(&after)
		u, err := b.MemoryUsage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return u.Peak, int64(after.TotalAlloc - before.TotalAlloc)
	}
	for _, backward := range []bool{false, true} {
		one, host := run(1024, backward)
		four, more := run(4096, backward)
		packed := int64(4 * 4096 * 3 * heads * width)
		t.Logf("backward %v: %d bytes at 1024, %d at 4096, packed operands %d; of the heap %d and %d", backward, one, four, packed, host, more)
		if four > 5*one || !backward && four > 2*packed || more > host+16<<20 {
			t.Errorf("backward %v: the peak is %d bytes at length 1024 and %d at 4096, on the heap %d and %d", backward, one, four, host, more)
		}
	}
}
