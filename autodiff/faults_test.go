package autodiff_test

import (
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
)

// The cases below are faults that users of other systems met in gradients, with
// the right answers; the names say what went wrong there.

// A gradient that was not summed over broadcast axes (burn#181).
func TestFaultBroadcastBackward(t *testing.T) {
	x := sinter.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3).Track()
	w, b := sinter.Ones(sinter.F64, 3, 1).Track(), sinter.Zeros(sinter.F64, 1, 3).Track()
	y := x.MatMul(w).Add(b)
	loss := y.Mul(y).Sum()
	if got := data(t, loss); got[0] != 783 {
		t.Errorf("the loss is %v, expected 783", got)
	}
	g := grad(t, loss, b, w)
	if got := data(t, g[0]); !same(got, []float64{42, 42, 42}) {
		t.Errorf("db is %v", got)
	}
	if got := data(t, g[1]); !same(got, []float64{396, 522, 648}) {
		t.Errorf("dw is %v", got)
	}
	v := sinter.Scalar(3.0).Track()
	if got := data(t, grad(t, sinter.Ones(sinter.F64, 2).Mul(v).Sum(), v)[0]); !same(got, []float64{2}) {
		t.Errorf("dv is %v", got)
	}
}

// A scatter-add whose gradient assumed equal shapes (burn#4063).
func TestFaultScatterAdd(t *testing.T) {
	x, v := vec(10, 20, 30, 40), vec(1, 2)
	y := x.ScatterAdd(0, sinter.FromSlice([]int64{3, 0}), v)
	if got := data(t, y); !same(got, []float64{12, 20, 30, 41}) {
		t.Errorf("y is %v", got)
	}
	u := sinter.FromSlice([]float64{1, 2, 3, 4})
	g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{u}, []*sinter.Tensor{v, x})
	if err != nil {
		t.Fatal(err)
	}
	if dv, dx := data(t, g[0]), data(t, g[1]); !same(dv, []float64{4, 1}) || !same(dx, []float64{1, 2, 3, 4}) {
		t.Errorf("dv is %v, dx is %v", dv, dx)
	}
}

// A softmax whose fast path cut the graph (candle#3569).
func TestFaultSoftmaxPaths(t *testing.T) {
	for _, d := range []sinter.DType{sinter.F32, sinter.F64} {
		u := sinter.FromSlice([]float64{1, 3}).Cast(d)
		for name, leaf := range map[string]func() (x, row *sinter.Tensor){
			"contiguous": func() (x, row *sinter.Tensor) { x = sinter.Zeros(d, 2).Track(); return x, x },
			"strided": func() (x, row *sinter.Tensor) {
				x = sinter.Zeros(d, 4).Track()
				return x, x.Slice(sinter.All().By(2))
			},
			"reversed": func() (x, row *sinter.Tensor) { x = sinter.Zeros(d, 2).Track(); return x, x.Slice(sinter.All().By(-1)) },
			"permuted": func() (x, row *sinter.Tensor) {
				x = sinter.Zeros(d, 2, 1).Track()
				return x, x.Permute(1, 0).Reshape(2)
			},
		} {
			x, row := leaf()
			got := data(t, grad(t, row.Softmax(0).Mul(u).Sum(), x)[0])
			want := []float64{-.5, .5}
			if name == "strided" {
				want = []float64{-.5, 0, .5, 0}
			} else if name == "reversed" {
				want = []float64{.5, -.5}
			}
			if !near(got, want, 1e-7) {
				t.Errorf("%s, %s: the gradient is %v, expected %v", d, name, got, want)
			}
		}
	}
}

// One tensor that reaches an operation by two routes (neon#169, pytorch#107007).
func TestFaultTwoRoutes(t *testing.T) {
	x := sinter.FromSlice([]float64{1, 2}, 1, 2).Track()
	if got := data(t, grad(t, x.MatMul(x.Transpose()), x)[0]); !same(got, []float64{2, 4}) {
		t.Errorf("d(x·xᵀ) is %v", got)
	}
	v := vec(1, 5, -2, 7)
	if got := data(t, grad(t, v.Sub(v.Mean()).Sum(), v)[0]); !same(got, []float64{0, 0, 0, 0}) {
		t.Errorf("d sum(x - mean x) is %v", got)
	}
}

// Gradients at kinks (jax#37821, mlx#3668, pytorch#2421): relu and norm have 0 at
// 0, and the branch that maximum does not take is never NaN.
func TestFaultKinks(t *testing.T) {
	x, y := sinter.Scalar(0.0).Track(), sinter.Scalar(0.0).Track()
	norm := x.Mul(x).Add(y.Mul(y)).Sqrt()
	for name, loss := range map[string]*sinter.Tensor{
		"relu": x.Add(y).Relu(), "norm": norm, "maximum of norm": norm.Maximum(1e-10), "constant first": sinter.Full(1e-10, sinter.F64).Maximum(norm)} {
		g := grad(t, loss, x, y)
		if a, b := data(t, g[0]), data(t, g[1]); a[0] != 0 || b[0] != 0 {
			t.Errorf("%s: the gradients are %v and %v, expected 0", name, a, b)
		}
	}
}

// A value made inside one fused block and used by a later one (burn#3987).
func TestFaultResponseNorm(t *testing.T) {
	x := sinter.FromSlice([]float64{3, 4, 6, 8}, 1, 2, 2).Track()
	gamma, beta := sinter.Zeros(sinter.F64, 1, 2, 1).Track(), sinter.Zeros(sinter.F64, 1, 2, 1).Track()
	gn := x.Mul(x).Sum(sinter.Over(2).KeepDims()).Add(1e-5).Sqrt()
	n := gn.Div(gn.Mean(sinter.Over(1).KeepDims()))
	y := x.Mul(n).Mul(gamma).Add(beta).Add(x)
	if got := data(t, y); !same(got, []float64{3, 4, 6, 8}) {
		t.Errorf("y is %v", got)
	}
	g := grad(t, y.Sum(), gamma, beta, x)
	if got := data(t, g[0]); !near(got, []float64{14. / 3, 56. / 3}, 1e-6) {
		t.Errorf("dgamma is %v", got)
	}
	if got := data(t, g[1]); !same(got, []float64{2, 2}) {
		t.Errorf("dbeta is %v", got)
	}
	if got := data(t, g[2]); !same(got, []float64{1, 1, 1, 1}) {
		t.Errorf("dx is %v", got)
	}
}

// A scalar that broadcasts against many elements, once and never twice
// (pytorch#13669).
func TestFaultScalarBroadcast(t *testing.T) {
	z := sinter.Scalar(1.0).Track()
	f := z.Exp().Sub(0).Add(z.Exp().Sub(sinter.Zeros(sinter.F64, 1000)).Sum())
	const want = 2721.0001101985
	if got := data(t, f); !near(got, []float64{want}, 1e-9) {
		t.Errorf("f is %v", got)
	}
	if got := data(t, grad(t, f, z)[0]); !near(got, []float64{want}, 1e-9) {
		t.Errorf("df/dz is %v", got)
	}
}
