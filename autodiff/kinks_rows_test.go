package autodiff_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
)

// TestRowKinks: gradients where functions have none, saturate or are infinite, as
// their rows document.
func TestRowKinks(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	sum := func(f func(*sinter.Tensor, ...sinter.Axes) *sinter.Tensor) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return f(x) }
	}
	along := func(f func(*sinter.Tensor, int) *sinter.Tensor) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return f(x, 0) }
	}
	norm := func(p float64) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return x.Norm(p) }
	}
	std := func(c int) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return x.Std(c) }
	}
	zero := func(name string, other float64) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor {
			return sinter.Apply(name, []*sinter.Tensor{x, sinter.FromSlice([]float64{other})})[0]
		}
	}
	for _, c := range []struct {
		name    string
		f       func(x *sinter.Tensor) *sinter.Tensor
		x, want []float64
	}{
		{"softplus", func(x *sinter.Tensor) *sinter.Tensor { return x.Softplus(1) }, []float64{100, -100, 800, -800, 0}, []float64{1, math.Exp(-100), 1, 0, 0.5}},
		{"softplus 5", func(x *sinter.Tensor) *sinter.Tensor { return x.Softplus(5) }, []float64{100, -1000}, []float64{1, 0}},
		{"sigmoid", (*sinter.Tensor).Sigmoid, []float64{-800, 100}, []float64{0, 0}},
		{"log sigmoid", (*sinter.Tensor).LogSigmoid, []float64{-800, 800}, []float64{1, 0}},
		{"silu", (*sinter.Tensor).Silu, []float64{-inf, inf, 0}, []float64{0, 1, 0.5}},
		{"gelu", (*sinter.Tensor).Gelu, []float64{-inf, inf, 0}, []float64{0, 1, 0.5}},
		{"gelu tanh", (*sinter.Tensor).GeluTanh, []float64{-100, 100, 0}, []float64{0, 1, 0.5}},
		{"mish", (*sinter.Tensor).Mish, []float64{-inf, 800}, []float64{0, 1}},
		{"relu6", (*sinter.Tensor).Relu6, []float64{0, 3, 6}, []float64{0, 1, 0}},
		{"hard tanh", (*sinter.Tensor).HardTanh, []float64{-1, 0, 1}, []float64{0, 1, 0}},
		{"hard sigmoid", (*sinter.Tensor).HardSigmoid, []float64{-3, 3}, []float64{0, 0}},
		{"hard swish", (*sinter.Tensor).HardSwish, []float64{-3, 3}, []float64{0, 1}},
		{"elu", func(x *sinter.Tensor) *sinter.Tensor { return x.Elu(2) }, []float64{0, 800, -800}, []float64{2, 1, 0}},
		{"leaky relu", func(x *sinter.Tensor) *sinter.Tensor { return x.LeakyRelu(0.25) }, []float64{0, 1, -1}, []float64{0.25, 1, 0.25}},
		{"shrink", func(x *sinter.Tensor) *sinter.Tensor { return x.SoftShrink(0.5) }, []float64{0.5, -0.5, 1}, []float64{0, 0, 1}},
		{"clamp on its bounds", func(x *sinter.Tensor) *sinter.Tensor { return x.Clamp(0, 1) }, []float64{-1, 0, 0.5, 1, 2}, []float64{0, 1, 1, 1, 0}},
		{"sign", (*sinter.Tensor).Sign, []float64{0, 2}, []float64{0, 0}},
		{"round", (*sinter.Tensor).Round, []float64{0.5, inf}, []float64{0, 0}},
		{"sinc", (*sinter.Tensor).Sinc, []float64{0, 1}, []float64{0, -1}},
		{"hypot at the origin", zero("hypot", 0), []float64{0}, []float64{0}},
		{"atan2 at the origin", zero("atan2", 0), []float64{0}, []float64{0}},
		{"xlogy", zero("xlogy", 0), []float64{0}, []float64{0}},
		{"logaddexp of infinities", zero("logaddexp", -inf), []float64{-inf, 1}, []float64{0.5, 1}},
		{"fmax of NaN", zero("fmax", nan), []float64{1, nan}, []float64{1, 1}},
		{"fmax", zero("fmax", 1), []float64{0, 1, 2, nan}, []float64{0, 1, 1, 0}},
		{"norm 1", norm(1), []float64{0, 2, -3}, []float64{0, 1, -1}},
		{"norm 2 at 0", norm(2), []float64{0, 0}, []float64{0, 0}},
		{"norm 2", norm(2), []float64{3, -4}, []float64{0.6, -0.8}},
		{"norm 3 at 0", norm(3), []float64{0, 0}, []float64{0, 0}},
		{"norm 3", norm(3), []float64{0, 2}, []float64{0, 1}},
		{"norm inf", norm(inf), []float64{3, -3, 1}, []float64{0.5, -0.5, 0}},
		{"root of a sum of squares below a bound", func(x *sinter.Tensor) *sinter.Tensor {
			return x.SumSquares().Sqrt().Maximum(1e-10)
		}, []float64{0, 0}, []float64{0, 0}},
		{"std of equal elements", std(0), []float64{2, 2}, []float64{0, 0}},
		{"std of one", std(1), []float64{5}, []float64{nan}},
		{"prod", sum((*sinter.Tensor).Prod), []float64{2, 0, 3, 4}, []float64{0, 24, 0, 0}},
		{"prod", sum((*sinter.Tensor).Prod), []float64{0, 0, 3}, []float64{0, 0, 0}},
		{"prod", sum((*sinter.Tensor).Prod), []float64{0}, []float64{1}},
		{"prod", sum((*sinter.Tensor).Prod), []float64{0, inf}, []float64{inf, 0}},
		{"logsumexp", sum((*sinter.Tensor).LogSumExp), []float64{inf, 2}, []float64{1, 0}},
		{"logsumexp", sum((*sinter.Tensor).LogSumExp), []float64{-inf, -inf}, []float64{0, 0}},
		{"logsumexp", sum((*sinter.Tensor).LogSumExp), []float64{-inf, 7}, []float64{0, 1}},
		{"nansum", sum((*sinter.Tensor).NaNSum), []float64{nan, 2}, []float64{0, 1}},
		{"nanmean", sum((*sinter.Tensor).NaNMean), []float64{nan, 2, 4}, []float64{0, 0.5, 0.5}},
		{"nanmax", sum((*sinter.Tensor).NaNMax), []float64{nan, 2, 4}, []float64{0, 0, 1}},
		{"nanmax", sum((*sinter.Tensor).NaNMax), []float64{nan, nan}, []float64{0, 0}},
		{"cumprod", along((*sinter.Tensor).CumProd), []float64{2, 0, 3}, []float64{1, 8, 0}},
		{"cummax", along((*sinter.Tensor).CumMax), []float64{1, 3, 3, 2, 5}, []float64{1, 3, 0, 0, 1}},
		{"cummin", along((*sinter.Tensor).CumMin), []float64{1, 3, 1, -2}, []float64{3, 0, 0, 1}},
		{"cummax of NaN", along((*sinter.Tensor).CumMax), []float64{1, nan, 3, nan}, []float64{1, 3, 0, 0}},
		{"logcumsumexp", along((*sinter.Tensor).LogCumSumExp), []float64{-inf, 0}, []float64{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := sinter.FromSlice(c.x).Track()
			y := c.f(x)
			g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{sinter.Ones(sinter.F64, y.Shape()...)}, []*sinter.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			got := data(t, g[0])
			for i := range got {
				if !near(got[i:i+1], c.want[i:i+1], 1e-15) && !same(got[i:i+1], c.want[i:i+1]) {
					t.Errorf("gradient at %v is %v, expected %v", c.x, got, c.want)
					break
				}
			}
		})
	}
}
