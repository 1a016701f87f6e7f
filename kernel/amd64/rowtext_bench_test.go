package amd64

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter/kernel"
)

// BenchmarkTexts measures elementwise texts of the language on data in the
// first-level cache: nanoseconds per 16 elements, at best, next to a copy's.
func BenchmarkTexts(b *testing.B) {
	texts := []struct{ name, text string }{
		{"relu(x*w+b)", "y = max(x * 1.5 + 2, 0)"},
		{"exp", "y = exp(x)"}, {"exp2", "y = exp2(x)"}, {"log", "y = log(x)"}, {"tanh", "y = tanh(x)"}, {"sigmoid", "y = sigmoid(x)"},
		{"erf", "y = erf(x)"}, {"sin", "y = sin(x)"}, {"gelu", "y = gelu(x)"}, {"gelu_tanh", "y = gelu_tanh(x)"}, {"silu", "y = silu(x)"},
		{"div", "y = 1.5 / x"}, {"sqrt", "y = sqrt(x)"},
	}
	const n = 4096
	for _, c := range texts {
		k := composed(b, c.name, c.text, par1, []string{"x"}, []string{"y"})
		l, _ := dense(k, n)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(k, level)
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
				b.ReportMetric(float64(best)/(n/16), "ns/16")
				b.ReportMetric(float64(code.Size()), "bytes")
			})
		}
	}
}

var _ kernel.Executable = (*Code)(nil)
