package gradcheck_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
)

// TestZeros: products and scans are differentiable where elements are 0, to any
// order; so are the others here, away from their kinks.
func TestZeros(t *testing.T) {
	values := [][]float64{{2, 0, 3, 4, 0.5}, {0, 0, 3, 1, 2}, {0}, {0, 0}, {0, 0, 0}, {1.5, -2, 0.5, 3, -1, 0, 2}}
	for name, f := range map[string]func(x *sinter.Tensor) *sinter.Tensor{
		"prod":         func(x *sinter.Tensor) *sinter.Tensor { return x.Prod() },
		"cumprod":      func(x *sinter.Tensor) *sinter.Tensor { return x.CumProd(0) },
		"logcumsumexp": func(x *sinter.Tensor) *sinter.Tensor { return x.LogCumSumExp(0) },
		"logsumexp":    func(x *sinter.Tensor) *sinter.Tensor { return x.LogSumExp() },
		"sum_squares":  func(x *sinter.Tensor) *sinter.Tensor { return x.SumSquares() },
		"sinc":         (*sinter.Tensor).Sinc,
		"gelu":         (*sinter.Tensor).Gelu,
		"square":       (*sinter.Tensor).Square,
		"logaddexp":    func(x *sinter.Tensor) *sinter.Tensor { return x.LogAddExp(x.Mul(2)) },
		"columns":      func(x *sinter.Tensor) *sinter.Tensor { return x.Reshape(1, -1, 1).Prod(sinter.Over(1, 2)) },
	} {
		for _, v := range values {
			x := sinter.FromSlice(v)
			if err := gradcheck.Check(context.Background(), func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in[0])} }, x); err != nil {
				t.Errorf("%s at %v: %v", name, v, err)
			}
		}
	}
}
