package sinter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter"
)

// BenchmarkQuantizedLinear measures one row of x times weights of 4096 by 4096, with
// the result read: the least time of the rounds, as the rate of bytes of codes, scales
// and zero points. Weights of f32 are beside, by their own bytes. Package cpu measures
// what is inside of dynamic products, against the bandwidth.
func BenchmarkQuantizedLinear(b *testing.B) {
	const size = 4096
	_, w := noise(1, size, size)
	_, x := noise(2, 1, size)
	round := func(b *testing.B, bytes int64, f func(x *sinter.Tensor) *sinter.Tensor) {
		least := time.Hour
		for range max(b.N, 30) {
			s := sinter.NewScope("round")
			start := time.Now()
			if _, err := sinter.Data[float32](ctx0, f(s.In(x))); err != nil {
				b.Fatal(err)
			}
			least = min(least, time.Since(start))
			s.End()
		}
		b.ReportMetric(float64(bytes)/float64(least.Nanoseconds()), "GB/s")
		b.ReportMetric(float64(least.Microseconds()), "µs")
		b.ReportMetric(0, "ns/op")
	}
	dense := w.Unfused()
	b.Run("f32", func(b *testing.B) {
		round(b, 4*size*size, func(x *sinter.Tensor) *sinter.Tensor { return x.MatMul(dense.Transpose()) })
	})
	for _, s := range []sinter.Scheme{
		{Per: sinter.PerAxis}, {Per: sinter.PerBlock, Block: 32, Scale: sinter.F16},
		{Bits: 4, Per: sinter.PerBlock, Block: 32, Scale: sinter.F16}, {Bits: 4, Affine: true, Per: sinter.PerBlock, Block: 32, Scale: sinter.F16},
	} {
		q := w.Quantize(s)
		b.Run(fmt.Sprintf("%v/float", s), func(b *testing.B) { round(b, q.Bytes(), q.Linear) })
		b.Run(fmt.Sprintf("%v/dynamic", s), func(b *testing.B) { round(b, q.Bytes(), q.LinearDynamic) })
	}
}
