package amd64

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// batchNorm normalises over the batch and the pixels of every channel: the
// channel is kept, and the two reduced axes cannot be walked as one.
func batchNorm(d ir.DType) *kernel.Kernel {
	c := d.Compute()
	b := kernel.NewBuilder("batchnorm."+d.String(), []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Reduced})
	all := []kernel.Access{kernel.Strided, kernel.Strided, kernel.Unit}
	channel := []kernel.Access{kernel.Unit, kernel.Broadcast, kernel.Broadcast}
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, all...))), c)
	w := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, channel...))), c)
	count := b.Convert(b.Op(kernel.OpMul, ir.I64, b.Extent(1), b.Extent(2)), c)
	mean := b.Op(kernel.OpDiv, c, b.Reduce(kernel.Sum, kernel.StripedTree, x), count)
	v := b.Op(kernel.OpDiv, c, b.Reduce(kernel.M2, kernel.StripedTree, x), count)
	y := b.Op(kernel.OpMul, c, b.Op(kernel.OpDiv, c, b.Op(kernel.OpSub, c, x, mean), b.Op(kernel.OpSqrt, c, v)), w)
	b.Store(b.AddArg(arg(d, kernel.Out, all...)), b.Convert(y, d))
	b.Store(b.AddArg(arg(d, kernel.Out, channel...)), b.Convert(mean, d))
	b.Store(b.AddArg(arg(ir.I64, kernel.Out, channel...)), b.Reduce(kernel.ArgMax, kernel.StripedTree, x))
	return b.K
}

// TestNest checks that long groups of several axes run as rows, and short ones
// and those side by side in memory do not.
func TestNest(t *testing.T) {
	r := rand.New(rand.NewSource(50))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.BF16} {
		k := batchNorm(d)
		codes, in := prepare(t, k, true)
		for _, extents := range [][]int64{{3, 5, 60}, {2, 3, 7}, {1, 16, 16}, {9, 40, 33}, {2, 2, 1500}} {
			for _, fill := range []filler{plainBits, randomBits} {
				agree(t, r, k, codes, in, extents, fill)
			}
			l := launch(r, k, extents, plainBits)
			long := extents[1]*extents[2] >= nestMin
			for _, c := range codes {
				if rows := c.nested(l) != nil; rows != long {
					t.Errorf("extents %v: as rows %v, want %v", extents, rows, long)
				}
			}
		}
	}
}

// BenchmarkNest compares groups of two axes as rows with lanes along the kept
// axis, in turn: the metric is the share of the time that rows take.
func BenchmarkNest(b *testing.B) {
	k := batchNorm(ir.F32)
	for _, level := range levels {
		if !Available(level) {
			continue
		}
		code, err := Compile(k, level)
		if err != nil {
			b.Fatal(err)
		}
		l, _ := dense(k, 32, 8, 14*14)
		rows, err := kernel.NewInterpreter(k)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(level.String(), func(b *testing.B) {
			var took [3][]time.Duration
			for b.Loop() {
				for i, f := range []func(){func() { code.Run(l) }, func() { code.run(l) }, func() { rows.Run(l) }} {
					from := time.Now()
					f()
					took[i] = append(took[i], time.Since(from))
				}
			}
			best := func(i int) float64 { return float64(slices.Min(took[i])) }
			b.ReportMetric(best(0)/best(1), "of-lanes")
			b.ReportMetric(best(0)/best(2), "of-interpreter")
			b.ReportMetric(best(0)/(32*8*14*14), "ns/element")
		})
	}
}
