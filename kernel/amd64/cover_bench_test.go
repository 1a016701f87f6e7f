package amd64

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// BenchmarkCover compares what was once interpreted with the interpreter, in turn:
// the metric is the share of its time.
func BenchmarkCover(b *testing.B) {
	build := func(axes []kernel.AxisKind, in, out []kernel.Access, f func(b *kernel.Builder, x kernel.Ref) kernel.Ref) *kernel.Kernel {
		k := kernel.NewBuilder("k", axes)
		y := f(k, k.Load(k.AddArg(arg(ir.F32, kernel.In, in...))))
		k.Store(k.AddArg(arg(k.Type(y), kernel.Out, out...)), y)
		return k.K
	}
	scan := func(b *kernel.Builder, x kernel.Ref) kernel.Ref { return b.Scan(kernel.Sum, kernel.ScanTree, x) }
	m2 := func(tree kernel.Tree) func(b *kernel.Builder, x kernel.Ref) kernel.Ref {
		return func(b *kernel.Builder, x kernel.Ref) kernel.Ref { return b.Reduce(kernel.M2, tree, x) }
	}
	sum := func(b *kernel.Builder, x kernel.Ref) kernel.Ref { return b.Reduce(kernel.Sum, kernel.StripedTree, x) }
	mixed := func(b *kernel.Builder, x kernel.Ref) kernel.Ref {
		s, c := b.Reduce(kernel.Sum, kernel.StripedTree, x), b.Reduce(kernel.Sum, kernel.ColumnsTree, x)
		return b.Op(kernel.OpSub, ir.F32, s, b.Op(kernel.OpMul, ir.F32, c, b.Reduce(kernel.Dot, kernel.DotTree, x, x)))
	}
	axes3 := []kernel.AxisKind{kernel.Parallel, kernel.Reduced, kernel.Parallel}
	in3 := []kernel.Access{kernel.Strided, kernel.Strided, kernel.Unit}
	out3 := []kernel.Access{kernel.Strided, kernel.Broadcast, kernel.Unit}
	cases := []struct {
		name    string
		k       *kernel.Kernel
		extents []int64
	}{
		{"scan.rows", build(rowAxes, rowIn, rowIn, scan), []int64{256, 1024}},
		{"scan.columns", build(colAxes, rowIn, rowIn, scan), []int64{256, 1024}},
		{"scan.one", build(rowAxes[1:], rowIn[1:], rowIn[1:], scan), []int64{256 * 1024}},
		{"m2.columns", build(colAxes, rowIn, colOut, m2(kernel.ColumnsTree)), []int64{256, 1024}},
		{"m2.rows", build(rowAxes, rowIn, rowOut, m2(kernel.StripedTree)), []int64{256, 1024}},
		{"sum.inside3", build(axes3, in3, out3, sum), []int64{16, 4096, 3}},
		{"sum.inside12", build(axes3, in3, out3, sum), []int64{16, 1024, 12}},
		{"mixed.rows", build(rowAxes, rowIn, rowOut, mixed), []int64{256, 1024}},
		{"mixed.columns", build(colAxes, rowIn, colOut, mixed), []int64{256, 1024}},
		{"mixed.short", build(colAxes, rowIn, colOut, mixed), []int64{4, 16384}},
	}
	for _, c := range cases {
		in, err := kernel.NewInterpreter(c.k)
		if err != nil {
			b.Fatal(err)
		}
		l, _ := dense(c.k, c.extents...)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(c.k, level)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%s", c.name, level), func(b *testing.B) {
				var took [2][]time.Duration
				for b.Loop() {
					for i, x := range []kernel.Executable{code, in} {
						from := time.Now()
						x.Run(l)
						took[i] = append(took[i], time.Since(from))
					}
				}
				best := func(i int) float64 { return float64(slices.Min(took[i])) }
				b.ReportMetric(best(0)/best(1), "of-interpreter")
				b.ReportMetric(best(0)/float64(product(c.extents)), "ns/element")
			})
		}
	}
}
