package amd64

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var benchRows = flag.Int("rows", 4096, "rows of 1024 elements in BenchmarkComposed")

// composed builds the kernel of a text of rows that are fused: names of the text
// that begin with w vary along the last axis only, those in outs are stored.
func composed(t testing.TB, name, text string, axes []kernel.AxisKind, ins, outs []string) *kernel.Kernel {
	t.Helper()
	block, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b := kernel.NewBuilder(name, axes)
	full := rowIn[2-len(axes):]
	env := kernel.Env{T: ir.F32, Tree: kernel.StripedTree, Names: map[string]kernel.Ref{}}
	for _, n := range ins {
		access := slices.Clone(full)
		if n[0] == 'w' {
			access[0] = kernel.Broadcast
		}
		env.Names[n] = b.Load(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.In, Access: access}))
	}
	names, err := b.Expand(block, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range outs {
		b.Store(b.AddArg(kernel.Arg{Type: ir.F32, Dir: kernel.Out, Access: full}), names[n])
	}
	return b.K
}

// composedKernels are the kernels that users wait for.
func composedKernels(t testing.TB) map[string]*kernel.Kernel {
	one := []string{"x"}
	y := []string{"y"}
	return map[string]*kernel.Kernel{
		"softmax":    composed(t, "softmax", "m = reduce_max(x)\ns = x - m\ne = exp(s)\nt = reduce_sum(e)\ny = e * (1 / t)", rowAxes, one, y),
		"logsoftmax": composed(t, "logsoftmax", "m = reduce_max(x)\ns = x - m\ne = exp(s)\nt = reduce_sum(e)\nl = log(t)\ny = s - l", rowAxes, one, y),
		"layernorm": composed(t, "layernorm", "m = reduce_sum(x) / count()\nd = x - m\nq = d * d\nv = reduce_sum(q) / count()\nr = sqrt(v + 0.00001)\nn = d * (1 / r)\ny = fma(n, w, w2)",
			rowAxes, []string{"x", "w", "w2"}, y),
		"rmsnorm": composed(t, "rmsnorm", "q = x * x\nv = reduce_sum(q) / count()\nr = sqrt(v + 0.00001)\nn = x * (1 / r)\ny = n * w", rowAxes, []string{"x", "w"}, y),
		"chain20": composed(t, "chain20", "a = x * 1.5\nb = a + 2\nc = b * b\nd = c - x\ne = max(d, 0)\nf = e * 0.25\ng = f + a\nh = g * g\ni = h - b\nj = min(i, 9)\nk = j * 0.5\nl = k + c\nm = l * 0.125\nn = m - d\no = abs(n)\np = o + 1\nq = p * 0.75\nr = q - k\ns = r * 1.25\ny = s + 3",
			par1, one, y),
		"gelu": composed(t, "gelu", "y = gelu(x)", par1, one, y),
		"exp":  composed(t, "exp", "y = exp(x)", par1, one, y),
		"relu": composed(t, "relu", "y = max(x, 0)", par1, one, y),
	}
}

// BenchmarkComposed measures kernels against a Go copy that moves as many bytes,
// both in turn in one run: the share of the copy's speed, by medians and at best.
func BenchmarkComposed(b *testing.B) {
	for name, k := range composedKernels(b) {
		extents := []int64{int64(*benchRows), 1024}
		if len(k.Axes) == 1 {
			extents = []int64{int64(*benchRows) * 1024}
		}
		l, bytes := dense(k, extents...)
		x, y := touched(int(bytes/2)), aligned(int(bytes/2))
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(k, level)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(name+"/"+level.String(), func(b *testing.B) {
				var run, cp []time.Duration
				for b.Loop() {
					t0 := time.Now()
					code.Run(l)
					t1 := time.Now()
					copy(y, x)
					run, cp = append(run, t1.Sub(t0)), append(cp, time.Since(t1))
				}
				slices.Sort(run)
				slices.Sort(cp)
				b.ReportMetric(float64(cp[len(cp)/2])/float64(run[len(run)/2]), "of-copy")
				b.ReportMetric(float64(cp[0])/float64(run[0]), "of-copy-best")
				b.ReportMetric(float64(run[0].Microseconds()), "µs-best")
			})
		}
	}
}
