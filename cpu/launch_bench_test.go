package cpu

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// chainKernel is ten operations over one axis of f32.
func chainKernel() *kernel.Kernel {
	b := kernel.NewBuilder("chain", []kernel.AxisKind{kernel.Parallel})
	unit := []kernel.Access{kernel.Unit}
	for range 2 {
		b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: unit})
	}
	b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: unit})
	x, z := b.Load(0), b.Load(1)
	v := x
	for range 5 {
		v = b.Op(kernel.OpMul, ir.F32, b.Op(kernel.OpAdd, ir.F32, v, z), x)
	}
	b.Store(2, v)
	return b.K
}

// quantiles reports the tenth and the half of the times of single rounds: on a busy
// machine the mean is what others do.
func quantiles(b *testing.B, round func()) {
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		round()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/10]), "ns-p10")
	b.ReportMetric(float64(took[len(took)/2]), "ns-p50")
}

// BenchmarkLaunch is a launch of ten operations from Launch to Sync, on tensors of
// some sizes, beside the kernel alone on the same memory.
func BenchmarkLaunch(b *testing.B) {
	for _, n := range []int{16, 4 << 10, 1 << 20} {
		d, err := New(Options{})
		if err != nil {
			b.Fatal(err)
		}
		k, err := d.Compile(chainKernel())
		if err != nil {
			b.Fatal(err)
		}
		of := func(id ir.ID) ir.Tensor { return ir.Tensor{ID: id, Type: ir.Type{DType: ir.F32, Shape: ir.Shape{n}}} }
		data := make([]byte, 4*n)
		for id := range 2 {
			if err := d.Upload(of(ir.ID(1+id)), data); err != nil {
				b.Fatal(err)
			}
		}
		launch := []backend.Launch{{Pieces: []backend.Piece{{Kernel: k, Extents: []int64{int64(n)}, Args: []backend.LaunchArg{whole(of(1)), whole(of(2)), whole(of(3))}}}}}
		ctx := context.Background()
		name := map[int]string{16: "16", 4 << 10: "4k", 1 << 20: "1M"}[n]
		b.Run(name+"/launch+sync", func(b *testing.B) {
			b.ReportAllocs()
			quantiles(b, func() {
				if d.Launch(ctx, launch) != nil || d.Sync(ctx) != nil {
					b.Fatal("the device failed")
				}
			})
		})
		b.Run(name+"/launches", func(b *testing.B) { // many on their way
			b.ReportAllocs()
			for b.Loop() {
				if d.Launch(ctx, launch) != nil {
					b.Fatal("the device failed")
				}
			}
			if d.Sync(ctx) != nil {
				b.Fatal("the device failed")
			}
		})
		b.Run(name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			quantiles(b, func() {
				if _, _, err := d.Read(ctx, 3); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(name+"/kernel", func(b *testing.B) {
			c := k.(*compiledKernel)
			args := make([]kernel.Operand, 3)
			for i := range args {
				args[i] = operand(d.store[ir.ID(1+i)].buf, 0, []int64{1}, 0, 0)
			}
			l := &kernel.Launch{Extents: []int64{int64(n)}, Args: args}
			parts := []part{{ready: &c.ready, l: l}}
			quantiles(b, func() { d.workers.run(parts) })
		})
		d.Close()
	}
}

// BenchmarkThreads is a launch of ten operations on one thread and on two, taking
// turns, so that both meet the same company on the machine: the half of the single
// times, and of their ratios.
func BenchmarkThreads(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		n    int
	}{{"16k", 16 << 10}, {"256k", 256 << 10}, {"1M", 1 << 20}, {"16M", 16 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			one, launch1 := chained(b, Options{Threads: 1}, c.n)
			two, launch2 := chained(b, Options{Threads: 2}, c.n)
			var took [2][]time.Duration
			var ratio []float64
			for b.Loop() {
				var t [2]time.Duration
				for i, d := range []*Device{one, two} {
					for range 4 { // the last of some, as in a program that computes
						start := time.Now()
						if d.Launch(ctx, [][]backend.Launch{launch1, launch2}[i]) != nil || d.Sync(ctx) != nil {
							b.Fatal("the device failed")
						}
						t[i] = time.Since(start)
					}
					took[i] = append(took[i], t[i])
				}
				ratio = append(ratio, float64(t[0])/float64(t[1]))
			}
			for i := range took {
				slices.Sort(took[i])
			}
			slices.Sort(ratio)
			half := len(ratio) / 2
			b.ReportMetric(float64(took[0][half]), "ns-1T")
			b.ReportMetric(float64(took[1][half]), "ns-2T")
			b.ReportMetric(ratio[half], "1T/2T")
			b.ReportMetric(float64(took[0][half/5])/float64(took[1][half/5]), "1T/2T-p10")
		})
	}
}
