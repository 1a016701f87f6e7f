package amd64

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// reducing is a kernel of one reduction over rows.
func reducing(kind kernel.ReduceKind, t ir.DType) *kernel.Kernel {
	b := kernel.NewBuilder("reduce", rowAxes)
	x := b.Reduce(kind, kernel.StripedTree, b.Load(b.AddArg(arg(t, kernel.In, rowIn...))))
	b.Store(b.AddArg(arg(b.Type(x), kernel.Out, rowOut...)), x)
	return b.K
}

// BenchmarkTexts measures what kernels cost on data in the first-level cache:
// nanoseconds per 16 elements, at best. A copy takes 0.7 on a processor of 3.7 GHz
// whose stores are half a vector of AVX-512 each cycle.
func BenchmarkTexts(b *testing.B) {
	type workload struct {
		name string
		k    *kernel.Kernel
	}
	var list []workload
	for _, c := range [][2]string{
		{"relu(x*w+b)", "y = max(x * 1.5 + 2, 0)"},
		{"exp", "y = exp(x)"}, {"exp2", "y = exp2(x)"}, {"log", "y = log(x)"}, {"tanh", "y = tanh(x)"}, {"sigmoid", "y = sigmoid(x)"},
		{"erf", "y = erf(x)"}, {"sin", "y = sin(x)"}, {"gelu", "y = gelu(x)"}, {"gelu_tanh", "y = gelu_tanh(x)"}, {"silu", "y = silu(x)"},
		{"div", "y = 1.5 / x"}, {"sqrt", "y = sqrt(x)"},
	} {
		list = append(list, workload{c[0], composed(b, c[0], c[1], par1, []string{"x"}, []string{"y"})})
	}
	all := composedKernels(b)
	for _, name := range []string{"softmax", "logsoftmax", "layernorm", "rmsnorm"} {
		list = append(list, workload{name, all[name]})
	}
	list = append(list, workload{"sum", reducing(kernel.Sum, ir.F32)}, workload{"max", reducing(kernel.Max, ir.F32)},
		workload{"argmax", reducing(kernel.ArgMax, ir.F32)}, workload{"m2", reducing(kernel.M2, ir.F32)})
	for _, c := range list {
		extents := []int64{4096}
		if len(c.k.Axes) == 2 {
			extents = []int64{4, 1024}
		}
		l, _ := dense(c.k, extents...)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(c.k, level)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%s", c.name, level), func(b *testing.B) {
				best := time.Duration(1 << 40)
				for b.Loop() {
					from := time.Now()
					for range 16 {
						code.Run(l)
					}
					best = min(best, time.Since(from)/16)
				}
				b.ReportMetric(float64(best)/256, "ns/16")
				b.ReportMetric(float64(code.Size()), "bytes")
			})
		}
	}
}
