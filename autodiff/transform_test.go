package autodiff_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
)

func TestJVP(t *testing.T) {
	v := sinter.FromSlice([]float64{10, 100})
	for _, c := range []struct {
		name  string
		f     autodiff.Func
		y, dy []float64
	}{
		{"square", func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x) }, []float64{4, 9}, []float64{40, 600}},
		{"sum of cubes", func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Mul(x).Sum() }, []float64{35}, []float64{12*10 + 27*100}},
		{"linear", func(x *sinter.Tensor) *sinter.Tensor { return x.Slice(sinter.All().By(-1)).Mul(2) }, []float64{6, 4}, []float64{200, 20}},
		{"constant", func(x *sinter.Tensor) *sinter.Tensor { return sinter.Ones(sinter.F64, 3) }, []float64{1, 1, 1}, []float64{0, 0, 0}},
		{"without derivative", func(x *sinter.Tensor) *sinter.Tensor { return x.Gt(2).Cast(sinter.F64) }, []float64{0, 1}, []float64{0, 0}},
		{"floor", (*sinter.Tensor).Floor, []float64{2, 3}, []float64{0, 0}},
		{"other leaf", func(x *sinter.Tensor) *sinter.Tensor { return vec(7).Mul(2) }, []float64{14}, []float64{0}},
		{"identity", func(x *sinter.Tensor) *sinter.Tensor { return x }, []float64{2, 3}, []float64{10, 100}},
		{"quotient with zero cotangents inside", func(x *sinter.Tensor) *sinter.Tensor { return sinter.Ones(sinter.F64).Div(x) }, []float64{1. / 2, 1. / 3}, []float64{-2.5, -100. / 9}},
	} {
		y, dy, err := autodiff.JVP(c.f, sinter.FromSlice([]float64{2, 3}), v)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := data(t, y); !near(got, c.y, 1e-15) {
			t.Errorf("%s: y is %v, expected %v", c.name, got, c.y)
		}
		if got := data(t, dy); !near(got, c.dy, 1e-14) || !ir.Shape(dy.Shape()).Equal(y.Shape()) {
			t.Errorf("%s: dy is %v, expected %v", c.name, got, c.dy)
		}
		if y.Tracked() || dy.Tracked() {
			t.Errorf("%s: results are tracked", c.name)
		}
	}
}

func TestHVP(t *testing.T) {
	a := sinter.FromSlice([]float64{2, 1, 0, 1, 3, -1, 0, -1, 5}, 3, 3)
	v := sinter.FromSlice([]float64{1, -2, 4})
	quadratic := func(x *sinter.Tensor) *sinter.Tensor { return x.MatMul(a).MatMul(x).Mul(0.5) }
	for _, c := range []struct {
		name string
		f    autodiff.Func
		want []float64
	}{
		{"quadratic form", quadratic, []float64{0, -9, 22}},
		{"sum of cubes", func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Mul(x).Sum() }, []float64{6, -24, 72}},
		{"linear", func(x *sinter.Tensor) *sinter.Tensor { return x.Mean() }, []float64{0, 0, 0}},
		{"constant", func(x *sinter.Tensor) *sinter.Tensor { return sinter.Ones(sinter.F64) }, []float64{0, 0, 0}},
		// Inner gradients that are 0 have derivatives: d²(x0·log x1)/dx0 dx1 is 1/x1.
		{"zero factor", func(x *sinter.Tensor) *sinter.Tensor { return x.At(0, 0).Sub(1).Mul(x.At(0, 1).Log()) }, []float64{-1, 0.5, 0}},
	} {
		h, err := autodiff.HVP(c.f, sinter.FromSlice([]float64{1, 2, 3}), v)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := data(t, h); !near(got, c.want, 1e-14) {
			t.Errorf("%s: got %v, expected %v", c.name, got, c.want)
		}
	}
}

func TestJacobian(t *testing.T) {
	x := sinter.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	y, j, err := autodiff.Jacobian(func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Sum(sinter.Over(1)) }, x)
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, y); !same(got, []float64{14, 77}) {
		t.Errorf("y is %v", got)
	}
	if got := data(t, j); !same(got, []float64{2, 4, 6, 0, 0, 0, 0, 0, 0, 8, 10, 12}) || !ir.Shape(j.Shape()).Equal(ir.Shape{2, 2, 3}) {
		t.Errorf("the Jacobian is %v of shape %v", got, j.Shape())
	}
	_, j, err = autodiff.Jacobian(func(x *sinter.Tensor) *sinter.Tensor { return x.Slice(sinter.Until(0)) }, x)
	if err != nil || !ir.Shape(j.Shape()).Equal(ir.Shape{0, 3, 2, 3}) {
		t.Errorf("no results: %v, %v", j, err)
	}
	_, j, err = autodiff.Jacobian(func(x *sinter.Tensor) *sinter.Tensor { return x.Sum() }, sinter.Scalar(2.0))
	if err != nil || len(j.Shape()) != 0 || data(t, j)[0] != 1 {
		t.Errorf("a scalar of a scalar: %v, %v", j, err)
	}
}

// TestComposition differentiates through each transform.
func TestComposition(t *testing.T) {
	tracked := autodiff.Options{Track: true}
	cube := func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Mul(x) }
	x, v := vec(2, 3), sinter.FromSlice([]float64{1, 10})
	_, dy, err := tracked.JVP(cube, x, v) // 3x²v
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, grad(t, dy.Sum(), x)[0]); !same(got, []float64{12, 180}) {
		t.Errorf("through JVP: %v", got)
	}
	h, err := tracked.HVP(func(x *sinter.Tensor) *sinter.Tensor { return cube(x).Sum() }, x, v) // 6xv
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, grad(t, h.Sum(), x)[0]); !same(got, []float64{6, 60}) {
		t.Errorf("through HVP: %v", got)
	}
	_, j, err := tracked.Jacobian(cube, x) // diag 3x²
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, grad(t, j.Sum(), x)[0]); !same(got, []float64{12, 18}) {
		t.Errorf("through the Jacobian: %v", got)
	}
	// Forward over forward over forward of x⁴, nested: 24x.
	fourth := func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(x).Mul(x).Mul(x) }
	along := func(f autodiff.Func) autodiff.Func {
		return func(x *sinter.Tensor) *sinter.Tensor {
			_, d, err := tracked.JVP(f, x, sinter.Ones(sinter.F64, x.Shape()...))
			if err != nil {
				return sinter.Failed(err)
			}
			return d
		}
	}
	if got := data(t, along(along(along(fourth)))(x)); !near(got, []float64{48, 72}, 1e-14) {
		t.Errorf("the third derivative of x⁴ is %v", got)
	}
	// A tensor captured by the function is a constant, even if it is the argument.
	_, d, err := autodiff.JVP(func(y *sinter.Tensor) *sinter.Tensor { return y.Mul(x) }, x, v)
	if got := data(t, d); err != nil || !same(got, []float64{2, 30}) {
		t.Errorf("a captured argument: %v, %v", got, err)
	}
}

// TestSoftplus checks a function whose naive form overflows in the branch that is
// not taken.
func TestSoftplus(t *testing.T) {
	x := vec(-800, 0, 1, 800)
	y := sinter.Where(x.Lt(30), x.Exp().Log1p(), x)
	got := data(t, grad(t, y.Sum(), x)[0])
	want := []float64{0, 0.5, 1 / (1 + math.Exp(-1)), 1}
	if !near(got, want, 1e-14) {
		t.Errorf("got %v, expected %v", got, want)
	}
}
