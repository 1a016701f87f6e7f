package amd64

import (
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
)

// TestStreamingHeads runs the variant for large launches on rows that begin
// anywhere in a line.
func TestStreamingHeads(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	both := composed(t, "both", "y = x * 2; z = y + x", par1, []string{"x"}, []string{"y", "z"})
	for _, k := range []*kernel.Kernel{bias(), unary(), both} {
		codes, in := prepare(t, k, true)
		for range 12 {
			n := 1024 + r.Int63n(1200)
			extents := []int64{3, n}
			if len(k.Axes) == 1 {
				extents = extents[1:]
			}
			l, _ := dense(k, extents...)
			shift := r.Int63n(16)
			for i, a := range k.Args {
				if o := &l.Args[i]; a.Dir == kernel.Out {
					buf := aligned(int(o.Size) + 256)
					o.Base, o.Size, o.Offset = ptrAt(buf, 0), int64(len(buf)), shift
				}
			}
			run := func(x kernel.Executable) (out [][]byte) {
				for i, a := range k.Args {
					if a.Dir == kernel.Out {
						b := bytesOf(&l.Args[i])
						for j := range b {
							b[j] = 0xa5
						}
						out = append(out, b)
					}
				}
				x.Run(l)
				for i := range out {
					out[i] = append(make([]byte, guard), out[i]...)
				}
				return out
			}
			want := run(in)
			for _, c := range codes {
				if !c.streamable(l) {
					t.Fatalf("%s of %d is not streamable", k.Name, n)
				}
				got := run(c.streaming())
				if err := equalOutputs(k, want, got); err != nil {
					t.Fatalf("%s of %d at %d: %v", k.Name, n, shift, err)
				}
			}
		}
	}
}

func bytesOf(o *kernel.Operand) []byte { return unsafe.Slice((*byte)(o.Base), o.Size) }

func TestCacheBytes(t *testing.T) {
	if n := cacheBytes(); n < leastCache || n > mostCache {
		t.Errorf("got %d bytes", n)
	} else {
		t.Logf("%d KiB", n>>10)
	}
}
