package attend

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/internal/cputime"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// native makes an engine with generated code of a level.
func native(level amd64.Level) *Engine {
	e := New(func(k *kernel.Kernel) (kernel.Executable, error) {
		if x, err := amd64.Compile(k, level); err == nil {
			return x, nil
		}
		return kernel.NewInterpreter(k)
	})
	e.UseTiles(level)
	return e
}

// floats is a row-major tensor of f32 with random elements.
func floats(rng *rand.Rand, shape ...int) Tensor {
	s := ir.Shape(shape)
	x := make([]float32, max(16, s.Size()))
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return Tensor{Type: ir.Type{DType: ir.F32, Shape: s}, Operand: kernel.Operand{Base: unsafe.Pointer(&x[0]), Size: int64(4 * len(x)), Strides: s.Strides()}}
}

// BenchmarkAttention runs 12 heads of width 64 on one thread, and reports the
// operations of the products as a share of what micro-kernels reach in the first
// cache, measured by turns; times are the thread's own.
func BenchmarkAttention(b *testing.B) {
	for _, level := range []amd64.Level{amd64.AVX2, amd64.AVX512} {
		if !amd64.Available(level) {
			continue
		}
		for _, l := range []int{128, 1024, 4096} {
			for _, row := range []string{"attention", "attention_grad_q", "attention_grad_kv"} {
				for _, causal := range []bool{false, true} {
					if causal && row != "attention" {
						continue
					}
					b.Run(fmt.Sprintf("%s/%s/%d/causal=%v", level, row, l, causal), func(b *testing.B) { benchmark(b, level, row, l, causal) })
				}
			}
		}
	}
}

func benchmark(b *testing.B, level amd64.Level, row string, l int, causal bool) {
	runtime.LockOSThread() // the clock is the thread's
	defer runtime.UnlockOSThread()
	rng := rand.New(rand.NewPCG(1, 2))
	const heads, width = 12, 64
	in := []Tensor{floats(rng, 1, heads, l, width), floats(rng, 1, heads, l, width), floats(rng, 1, heads, l, width)}
	products := 2
	if row != "attention" {
		in = append(in, floats(rng), floats(rng, 1, heads, l, width), floats(rng, 1, heads, l), floats(rng, 1, heads, l))
		products = 3
		if row == "attention_grad_kv" {
			products = 4
		}
	}
	r := ir.Lookup(row)
	attrs, _ := r.MakeAttrs(ir.A("causal", causal))
	n := &ir.Node{Row: r, Attrs: attrs}
	for _, t := range in {
		n.In = append(n.In, ir.Tensor{Type: t.Type})
	}
	types, err := ir.Infer(r, n.InTypes(), attrs)
	if err != nil {
		b.Fatal(err)
	}
	var out []Tensor
	for _, t := range types {
		x := floats(rng, t.Shape...)
		x.Type = t
		out = append(out, x)
	}
	e := native(level)
	run := func() {
		w, err := e.Work(n, in, out)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range w.Phases {
			for i := range p.Tasks {
				p.Do(i)
			}
		}
	}
	run()
	flops := float64(products) * 2 * heads * float64(l) * float64(l) * width
	if causal {
		flops /= 2
	}
	best, peak := time.Duration(1<<62), 0.0
	for b.Loop() {
		peak = max(peak, tilePeak(level))
		start := cputime.Thread()
		run()
		best = min(best, cputime.Thread()-start)
	}
	rate := flops / best.Seconds()
	b.ReportMetric(best.Seconds()*1e3, "ms/best")
	b.ReportMetric(rate/1e9, "Gflop/s")
	b.ReportMetric(rate/peak, "of-peak")
	b.ReportMetric(0, "ns/op")
}

// tilePeak is the rate of a micro-kernel in the first cache, in operations a second.
func tilePeak(level amd64.Level) float64 {
	t := tilesOf(level, ir.F32)
	s := &scratch{}
	s.reset(64 << 10)
	x, z, y := s.matrix(ir.F32, int64(t.Rows), 64), s.matrix(ir.F32, 64, int64(t.Cols)), s.matrix(ir.F32, int64(t.Rows), int64(t.Cols))
	const calls = 200
	start := cputime.Thread()
	for range calls {
		s.multiply(t, y, x, z, int64(t.Rows), int64(t.Cols), 64, nil)
	}
	return calls * 2 * 64 * float64(t.Rows*t.Cols) / (cputime.Thread() - start).Seconds()
}
