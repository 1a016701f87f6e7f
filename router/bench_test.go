package router_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// sink is a backend that takes everything and does nothing, so that what is
// measured over it is the router.
type sink struct{ backend.Backend }

func (sink) Submit(context.Context, []ir.Node) error { return nil }
func (sink) Free(...ir.ID)                           {}

// BenchmarkOverhead is the cost of one operation and the freeing of its operand,
// in submissions of 256, with and without a router.
func BenchmarkOverhead(b *testing.B) {
	inner := sink{open(b, "cpu")}
	r := owned(b, router.Options{}, named("a", inner))
	c := device(b, r, "a")
	typ := ir.Type{DType: ir.F32, Shape: ir.Shape{16}}
	const batch = 256
	run := func(x backend.Backend) func(*testing.B) {
		return func(b *testing.B) {
			first := ir.Tensor{ID: 1 << 30, Type: typ}
			if err := x.Upload(first, make([]byte, 64)); err != nil {
				b.Fatal(err)
			}
			last := ir.ID(1)
			add := ir.Lookup("add")
			ids := make([]ir.ID, batch)
			lists := make([][3]ir.Tensor, batch)
			for i := 0; i < b.N; i += batch {
				nodes := make([]ir.Node, batch)
				for k := range nodes {
					in := first
					if k > 0 {
						in = lists[k-1][2]
					}
					last++
					ids[k] = last
					lists[k] = [3]ir.Tensor{in, first, {ID: last, Type: typ}}
					nodes[k] = ir.Node{Row: add, In: lists[k][:2], Out: lists[k][2:]}
				}
				if err := x.Submit(context.Background(), nodes); err != nil {
					b.Fatal(err)
				}
				x.Free(ids...)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/node")
		}
	}
	b.Run("without", run(inner))
	b.Run("router", run(c))
}

// BenchmarkBridges is the time of a move of 64 MiB, beside a copy of as much.
func BenchmarkBridges(b *testing.B) {
	const n = 64 << 20
	typ := ir.Type{DType: ir.U8, Shape: ir.Shape{n}}
	b.Run("copy", func(b *testing.B) {
		src, dst := make([]byte, n), make([]byte, n)
		b.SetBytes(n)
		for b.Loop() {
			copy(dst, src)
		}
	})
	for _, w := range []struct {
		name   string
		script string
	}{{"shared", ""}, {"pieces", "drop HostMemory"}, {"whole", "drop HostMemory Streams"}} {
		b.Run(w.name, func(b *testing.B) {
			r := owned(b, router.Options{}, named("a", scripted(b, w.script)), named("b", open(b, "cpu")))
			src, dst := use(b, device(b, r, "a")), use(b, device(b, r, "b"))
			x := src.name(typ)
			if err := src.Upload(x, make([]byte, n)); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(n)
			for b.Loop() {
				y := dst.from(src.Client, x)
				if err := dst.sync(); err != nil {
					b.Fatal(err)
				}
				dst.Free(y.ID)
			}
		})
	}
}
