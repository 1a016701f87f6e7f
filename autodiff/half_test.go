package autodiff_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// TestHalfGradients: gradients in bf16 and f16 that are a row are those of f64 for the same
// operands, rounded once.
func TestHalfGradients(t *testing.T) {
	const rows, width = 4, 64
	wave := func(seed, scale float64) *sinter.Tensor {
		v := make([]float64, rows*width)
		for i := range v {
			v[i] = scale * math.Sin(seed+1.7*float64(i)+float64(i%7))
		}
		return sinter.FromSlice(v, len(v)).Reshape(rows, width)
	}
	x, z, dy := wave(1, 3), wave(2, 1), wave(3, 1)
	row := func(name string, attrs ...any) func(in []*sinter.Tensor) *sinter.Tensor {
		return func(in []*sinter.Tensor) *sinter.Tensor { return sinter.Apply(name, in, ir.A(attrs...)...)[0] }
	}
	one := x.Slice(sinter.Until(1)).Reshape(width)
	for _, c := range []struct {
		name string
		in   []*sinter.Tensor
		f    func(in []*sinter.Tensor) *sinter.Tensor
	}{
		{"gelu_tanh", []*sinter.Tensor{x}, row("gelu_tanh")},
		{"gelu", []*sinter.Tensor{x}, row("gelu")},
		{"silu", []*sinter.Tensor{x}, row("silu")},
		{"layer_norm", []*sinter.Tensor{x, z.Slice(sinter.Until(1)), one}, row("layer_norm")},
		{"layer_norm of large means", []*sinter.Tensor{x.Add(64), one, one}, row("layer_norm")},
		{"rms_norm", []*sinter.Tensor{x, z}, row("rms_norm")},
		{"cross_entropy", []*sinter.Tensor{x}, func(in []*sinter.Tensor) *sinter.Tensor {
			classes := sinter.Arange(width, sinter.I64)
			return sinter.Apply("cross_entropy", []*sinter.Tensor{in[0], sinter.Zeros(sinter.I64, rows, 1), classes})[0]
		}},
	} {
		for d, eps := range map[sinter.DType]float64{sinter.BF16: 0x1p-8, sinter.F16: 0x1p-11} {
			grads := func(o autodiff.Options, d, through sinter.DType) [][]float64 {
				in := make([]*sinter.Tensor, len(c.in))
				for i := range in {
					in[i] = c.in[i].Cast(through).Cast(d).Track()
				}
				y := c.f(in)
				u := dy
				if len(y.Shape()) < 2 {
					u = dy.Slice(sinter.All(), sinter.Until(1)).Reshape(rows)
				}
				g, err := o.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{u.Cast(through).Cast(d)}, in)
				if err != nil {
					t.Fatal(err)
				}
				var out [][]float64
				for _, t2 := range g {
					out = append(out, data(t, t2.Cast(sinter.F64)))
				}
				return out
			}
			// To the second order gradients are composed, and checked by differences.
			got, want := grads(autodiff.Options{}, d, d), grads(autodiff.Options{Track: true}, sinter.F64, d)
			for i := range got {
				size, worst := 0.0, 0.0
				for _, v := range want[i] {
					size = math.Max(size, math.Abs(v))
				}
				for j, v := range want[i] {
					// Summed operands have the roundings of what is summed.
					slack := 0x1p-18 * size
					if len(want[i]) < rows*width {
						slack = 2 * eps * rows * size
					}
					worst = math.Max(worst, (math.Abs(got[i][j]-v)-slack)/(eps*math.Max(math.Abs(v), 0x1p-14)))
				}
				if worst > 1 {
					t.Errorf("%s in %s: the gradient of operand %d is %.3g roundings away", c.name, d, i, worst)
				}
			}
		}
	}
}
