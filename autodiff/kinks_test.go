package autodiff_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

// data reads a tensor of f64 or f32.
func data(t *testing.T, x *sinter.Tensor) []float64 {
	t.Helper()
	v, err := sinter.Data[float64](context.Background(), x.Cast(sinter.F64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// same reports whether values are equal, NaN equal to NaN.
func same(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

func near(a, b []float64, tol float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= tol*math.Max(1, math.Abs(b[i]))) {
			return false
		}
	}
	return true
}

func vec(v ...float64) *sinter.Tensor { return sinter.FromSlice(v).Track() }

// TestKinks checks the gradients that rows document where there is no derivative.
func TestKinks(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name string
		f    func(x *sinter.Tensor) *sinter.Tensor
		x    []float64
		want []float64
	}{
		{"relu", (*sinter.Tensor).Relu, []float64{-1, 0, math.Copysign(0, -1), 1}, []float64{0, 0, 0, 1}},
		{"abs", (*sinter.Tensor).Abs, []float64{-2, 0, math.Copysign(0, -1), 2}, []float64{-1, 0, 0, 1}},
		{"sqrt", (*sinter.Tensor).Sqrt, []float64{0, 4}, []float64{0, 0.25}},
		{"floor", (*sinter.Tensor).Floor, []float64{1, 1.5, inf}, []float64{0, 0, 0}},
		{"maximum with a constant", func(x *sinter.Tensor) *sinter.Tensor { return x.Maximum(0) }, []float64{-1, 0, 1}, []float64{0, 1, 1}},
		{"constant maximum", func(x *sinter.Tensor) *sinter.Tensor { return sinter.Zeros(sinter.F64).Maximum(x) }, []float64{-1, 0, 1}, []float64{0, 0, 1}},
		{"minimum with a constant", func(x *sinter.Tensor) *sinter.Tensor { return x.Minimum(0) }, []float64{-1, 0, 1}, []float64{1, 1, 0}},
		{"maximum with itself", func(x *sinter.Tensor) *sinter.Tensor { return x.Maximum(x) }, []float64{3}, []float64{1}},
		{"max, shared", func(x *sinter.Tensor) *sinter.Tensor { return x.Max() }, []float64{5, 1, 5, 5, 2}, []float64{1. / 3, 0, 1. / 3, 1. / 3, 0}},
		{"min, shared", func(x *sinter.Tensor) *sinter.Tensor { return x.Min() }, []float64{5, 1, 1, 5, 2}, []float64{0, .5, .5, 0, 0}},
		{"max of zeros of both signs", func(x *sinter.Tensor) *sinter.Tensor { return x.Max() }, []float64{0, math.Copysign(0, -1)}, []float64{.5, .5}},
		{"norm at 0", func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Sum().Sqrt() }, []float64{0, 0}, []float64{0, 0}},
		{"where, division not taken", func(x *sinter.Tensor) *sinter.Tensor {
			return sinter.Where(x.Ne(0), sinter.Ones(sinter.F64).Div(x), 0)
		}, []float64{0, 2}, []float64{0, -0.25}},
		{"where, root not taken", func(x *sinter.Tensor) *sinter.Tensor { return sinter.Where(x.Gt(0), x.Sqrt(), x) }, []float64{-1, 0, 4}, []float64{1, 1, .25}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := sinter.FromSlice(c.x).Track()
			g, err := autodiff.VJP([]*sinter.Tensor{c.f(x)}, nil, []*sinter.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			if got := data(t, g[0]); !same(got, c.want) {
				t.Errorf("gradient at %v is %v, expected %v", c.x, got, c.want)
			}
		})
	}
}

// TestNothingArrives checks that no elementwise row makes NaN of an arriving 0,
// whatever finite values its operands have: the branch that a select does not
// take contributes nothing.
func TestNothingArrives(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -3, 100, -800, 800, 3e38, -3e38, 1e-45, -1e-45}
	for _, r := range ir.Rows() {
		if r.Access != ir.Elementwise || !r.Differentiable() || r.Name == "cast" {
			continue
		}
		for _, d := range []sinter.DType{sinter.F32, sinter.F64} {
			t.Run(fmt.Sprint(r.Name, "/", d), func(t *testing.T) {
				in := make([]*sinter.Tensor, len(r.Operands))
				var wrt []*sinter.Tensor
				for i, o := range r.Operands { // all combinations, by broadcasting
					shape := make([]int, len(in))
					for j := range shape {
						shape[j] = 1
					}
					shape[i] = len(special)
					x := sinter.FromSlice(special).Cast(d)
					if o.Class == ir.BoolClass {
						x = x.Gt(0)
					}
					if o.Class == ir.Ints {
						x = x.Cast(sinter.I32)
					}
					if in[i] = x.Reshape(shape...); x.DType().IsFloat() {
						in[i] = in[i].Track()
						wrt = append(wrt, in[i])
					}
				}
				y := sinter.Apply(r.Name, in)[0]
				g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{sinter.Zeros(y.DType(), y.Shape()...)}, wrt)
				if err != nil {
					t.Fatal(err)
				}
				for i := range g {
					for j, v := range data(t, g[i]) {
						if v != 0 {
							t.Errorf("operand %d, value %v: the gradient is %v", i, special[j], v)
						}
					}
				}
			})
		}
	}
}
