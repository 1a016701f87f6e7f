package sinter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// normal is a tensor of draws from a normal distribution.
func normal(seed uint64, shape ...int) *sinter.Tensor {
	rng := rand.New(rand.NewPCG(seed, 77))
	v := make([]float64, ir.Shape(shape).Size())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return sinter.FromSlice(v, len(v)).Reshape(shape...)
}

// apart is the greatest difference of two tensors in proportion to the greatest
// element, which fails the test if it is above a tolerance.
func apart(t *testing.T, what string, got, want *sinter.Tensor, tol float64) {
	t.Helper()
	ctx := context.Background()
	g, err := sinter.Data[float64](ctx, got.Cast(sinter.F64))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	w, err := sinter.Data[float64](ctx, want.Cast(sinter.F64))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if !ir.Shape(got.Shape()).Equal(want.Shape()) || got.DType() != want.DType() {
		t.Errorf("%s: %v %v, want %v %v", what, got.DType(), got.Shape(), want.DType(), want.Shape())
		return
	}
	size, off := 1.0, 0.0
	for i := range g {
		size = max(size, math.Abs(w[i]))
		off = max(off, math.Abs(g[i]-w[i]))
		if math.IsNaN(g[i]) != math.IsNaN(w[i]) {
			off = math.Inf(1)
		}
	}
	if !(off <= tol*size) {
		t.Errorf("%s: off by %g in %g", what, off, size)
	}
}

func mT(t *sinter.Tensor) *sinter.Tensor { return t.SwapAxes(-1, -2) }

func eyes(t *sinter.Tensor) *sinter.Tensor {
	n := t.Dim(-1)
	return sinter.Eye(n, t.DType()).Expand(t.Shape()...)
}

// TestFactorisations: products of the factors are the matrices, for many shapes
// and both dtypes, contiguous and not.
func TestFactorisations(t *testing.T) {
	for i, shape := range [][]int{{1, 1}, {3, 3}, {5, 2}, {2, 5}, {2, 3, 4}, {2, 1, 4, 4}, {3, 1}, {1, 3}, {0, 3, 3}, {2, 0, 0}, {2, 0, 3}, {2, 3, 0}, {70, 40}, {40, 70}} {
		for _, d := range []sinter.DType{sinter.F64, sinter.F32} {
			x := normal(uint64(i), shape...).Cast(d)
			tol := map[sinter.DType]float64{sinter.F64: 1e-13, sinter.F32: 3e-6}[d] * math.Sqrt(float64(x.Size()+1))
			name := fmt.Sprint(d, shape)
			for layout, x := range map[string]*sinter.Tensor{"": x, " transposed": mT(x), " reversed": x.Flip()} {
				name := name + layout
				q, r := x.QR()
				apart(t, name+" qr", q.MatMul(r), x, tol)
				apart(t, name+" q", mT(q).MatMul(q), eyes(mT(q).MatMul(q)), tol)
				apart(t, name+" r", r.Triu(0), r, 0)
				u, s, vh := x.SVD()
				apart(t, name+" svd", u.Mul(s.Unsqueeze(-2)).MatMul(vh), x, tol)
				apart(t, name+" u", mT(u).MatMul(u), eyes(mT(u).MatMul(u)), tol)
				apart(t, name+" v", vh.MatMul(mT(vh)), eyes(vh.MatMul(mT(vh))), tol)
				p := x.PInv(-1)
				apart(t, name+" pinv", x.MatMul(p).MatMul(x), x, 30*tol)
				if x.Dim(-1) != x.Dim(-2) {
					continue
				}
				positive := x.MatMul(mT(x)).Add(eyes(x))
				for _, upper := range []bool{false, true} {
					l := positive.Cholesky(upper)
					if upper {
						apart(t, name+" upper", l.Triu(0), l, 0)
						l = mT(l)
					}
					apart(t, name+" cholesky", l.MatMul(mT(l)), positive, tol)
				}
				w, v := positive.Eigh()
				apart(t, name+" eigh", v.Mul(w.Unsqueeze(-2)).MatMul(mT(v)), positive, tol)
				apart(t, name+" inverse", positive.Inverse().MatMul(positive), eyes(x), 30*tol)
				apart(t, name+" solve", positive.MatMul(positive.Solve(x)), x, 30*tol)
				sign, log := x.SLogDet()
				apart(t, name+" slogdet", sign.Mul(log.Exp()), x.Det(), 30*tol)
			}
		}
	}
}

// TestOrder: singular values descend, eigenvalues ascend, signs are as documented.
func TestOrder(t *testing.T) {
	x := normal(5, 3, 6, 4)
	u, s, vh := x.SVD()
	_, r := x.QR()
	w, v := x.MatMul(mT(x)).Eigh()
	for name, c := range map[string]*sinter.Tensor{
		"s":           s.Slice(sinter.All(), sinter.Until(3)).Ge(s.Slice(sinter.All(), sinter.From(1))).All(),
		"w":           w.Slice(sinter.All(), sinter.Until(5)).Le(w.Slice(sinter.All(), sinter.From(1))).All(),
		"r":           r.Diagonal(0, -1, -2).Ge(0).All(),
		"sign of u":   u.Max(sinter.Over(-2)).Eq(u.Abs().Max(sinter.Over(-2))).All(),
		"sign of v":   v.Max(sinter.Over(-2)).Eq(v.Abs().Max(sinter.Over(-2))).All(),
		"finite vh":   vh.IsFinite().All(),
		"rank":        x.MatrixRank(-1).Eq(4).All(),
		"low rank":    x.Slice(sinter.All(), sinter.All(), sinter.Until(2)).MatMul(normal(6, 2, 5)).MatrixRank(-1).Eq(2).All(),
		"rank 0":      x.Mul(0).MatrixRank(-1).Eq(0).All(),
		"rank of f32": x.Cast(sinter.F32).MatrixRank(-1).Eq(4).All(),
		"rank empty":  sinter.Zeros(sinter.F64, 2, 0, 3).MatrixRank(-1).Eq(0).All(),
	} {
		if ok, err := sinter.Item[bool](context.Background(), c); err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// TestSystems: triangular systems in every form, vectors, batches that broadcast,
// least squares.
func TestSystems(t *testing.T) {
	a := normal(1, 4, 4).Add(sinter.Eye(4, sinter.F64).Mul(4))
	for bits := 0; bits < 16; bits++ {
		form := sinter.Triangle{Upper: bits&1 != 0, Transpose: bits&2 != 0, Unit: bits&4 != 0, Right: bits&8 != 0}
		m := a.Tril(0)
		if form.Upper {
			m = a.Triu(0)
		}
		if form.Unit {
			m = m.Sub(m.Diagonal(0, 0, 1).Diag(0)).Add(sinter.Eye(4, sinter.F64))
		}
		if form.Transpose {
			m = mT(m)
		}
		z := normal(2, 2, 4, 4)
		y := a.SolveTriangular(z, form)
		got := m.MatMul(y)
		if form.Right {
			got = y.MatMul(m)
		}
		apart(t, fmt.Sprintf("%+v", form), got, z, 1e-13)
	}
	unread := sinter.FromSlice([]float64{2, math.NaN(), 1, 4}).Reshape(2, 2)
	near(t, "unread", unread.SolveTriangular(sinter.FromSlice([]float64{2, 9}).Reshape(2, 1), sinter.Triangle{}), array{[]int{2, 1}, []float64{1, 2}}, 0)
	batch := a.Expand(3, 1, 4, 4).Add(normal(3, 3, 1, 4, 4).Mul(0.1))
	z := normal(4, 2, 4, 3)
	apart(t, "broadcast", batch.MatMul(batch.Solve(z)), z.Expand(3, 2, 4, 3), 1e-13)
	v := normal(5, 4)
	apart(t, "vector", a.MatMul(a.Solve(v)), v, 1e-13)
	tall, wide := normal(6, 6, 3), normal(7, 3, 6)
	y := tall.LstSq(normal(8, 6, 2), -1)
	apart(t, "normal equations", mT(tall).MatMul(tall.MatMul(y)), mT(tall).MatMul(normal(8, 6, 2)), 1e-12)
	apart(t, "under-determined", wide.MatMul(wide.LstSq(v.Slice(sinter.Until(3)), -1)), v.Slice(sinter.Until(3)), 1e-12)
	apart(t, "f32", tall.Cast(sinter.F32).LstSq(normal(8, 6, 2).Cast(sinter.F32), -1), y.Cast(sinter.F32), 1e-6)
	x := normal(9, 2, 3, 3).Mul(0.5)
	apart(t, "expm", x.Expm().MatMul(x.Neg().Expm()), eyes(x), 1e-12)
	turn := sinter.FromSlice([]float64{0, -1, 1, 0}).Reshape(2, 2)
	near(t, "rotation", turn.Expm(), array{[]int{2, 2}, []float64{math.Cos(1), -math.Sin(1), math.Sin(1), math.Cos(1)}}, 1e-15)
	near(t, "det", sinter.FromSlice([]float64{2, 1, 7, 5}).Reshape(2, 2).Det(), array{nil, []float64{3}}, 1e-14)
	near(t, "det of nothing", sinter.Zeros(sinter.F64, 2, 0, 0).Det(), array{[]int{2}, []float64{1, 1}}, 0)
	singular := sinter.FromSlice([]float64{1, 2, 2, 4}).Reshape(2, 2)
	sign, log := singular.SLogDet()
	near(t, "singular det", sinter.Stack(0, singular.Det(), sign, log), array{[]int{3}, []float64{0, 0, math.Inf(-1)}}, 0)
	m := sinter.FromSlice([]float64{3, -4, 0, 0, 0, 5}).Reshape(3, 2)
	for kind, want := range []float64{math.Sqrt(50), 0, 0, 0, 9, 7} {
		if want > 0 {
			near(t, "norm", m.MatrixNorm(sinter.MatrixNormKind(kind)), array{nil, []float64{want}}, 1e-14)
		}
	}
	_, s, _ := m.SVD()
	near(t, "nuclear", m.MatrixNorm(sinter.Nuclear).Sub(s.Sum()), array{nil, []float64{0}}, 1e-14)
	near(t, "spectral", m.MatrixNorm(sinter.Spectral).Add(m.MatrixNorm(sinter.LeastSingular)).Sub(s.Sum()), array{nil, []float64{0}}, 1e-14)
}

// TestLinalgErrors: what has no result names matrix and pivot; NaN stays NaN;
// hostile shapes and dtypes are refused while recording.
func TestLinalgErrors(t *testing.T) {
	ctx := context.Background()
	bad := sinter.FromSlice([]float64{2, 0, 0, 2, 1, 2, 2, 1}).Reshape(2, 1, 2, 2)
	singular := sinter.FromSlice([]float64{1, 0, 0, 1, 1, 2, 2, 4}).Reshape(2, 2, 2)
	zero := sinter.Zeros(sinter.F32, 2, 2)
	for _, c := range []struct {
		t    *sinter.Tensor
		want string
	}{
		{bad.Cholesky(false), "cholesky: matrix [1 0] of the batch is not positive definite: pivot 1"},
		{bad.Cholesky(true), "cholesky: matrix [1 0] of the batch is not positive definite: pivot 1"},
		{zero.Cholesky(false), "cholesky: the matrix is not positive definite: pivot 0"},
		{singular.Inverse(), "inverse: matrix [1] of the batch is singular: pivot 1 is 0"},
		{singular.Solve(sinter.Ones(sinter.F64, 2, 1)), "solve: matrix [1] of the batch is singular: pivot 1 is 0"},
		{zero.SolveTriangular(zero, sinter.Triangle{}), "triangular_solve: the matrix is singular: element 0 of its diagonal is 0"},
		{zero.Inverse().Add(1), "inverse: the matrix is singular"},
	} {
		_, err := sinter.Read(ctx, c.t)
		if !errors.Is(err, ir.ErrData) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "linalg_test.go") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	nan := sinter.FromSlice([]float64{1, math.NaN(), 0, 1, 4, 0, 0, 9}).Reshape(2, 2, 2)
	inf := sinter.FromSlice([]float64{1, 0, 0, math.Inf(1), 4, 0, 0, 9}).Reshape(2, 2, 2)
	for name, x := range map[string]*sinter.Tensor{"NaN": nan, "infinity": inf} {
		q, r := x.QR()
		u, s, vh := x.SVD()
		w, v := x.Eigh()
		sign, log := x.SLogDet()
		for i, y := range []*sinter.Tensor{x.Cholesky(false), x.Inverse(), x.Det(), x.PInv(-1), x.Expm(), q, r, u, s, vh, w, v, sign, log} {
			ok := sinter.Stack(0, y.At(0, 0).IsNaN().Any(), y.At(0, 1).IsFinite().All())
			if got, err := sinter.Data[bool](ctx, ok); err != nil || !got[0] || !got[1] {
				t.Errorf("%s, result %d: %v, %v", name, i, got, err)
			}
		}
	}
	v, m, h := sinter.Ones(sinter.F64, 3), sinter.Ones(sinter.F64, 2, 3), sinter.Ones(sinter.F16, 2, 2)
	for i, y := range []*sinter.Tensor{v.Inverse(), m.Inverse(), m.Det(), m.Cholesky(false), m.Expm(), m.Solve(v), m.MatrixPower(-1), v.MatrixRank(-1),
		bad.Solve(v), bad.SolveTriangular(m, sinter.Triangle{Right: true}), v.MatrixNorm(sinter.Frobenius), m.MatrixNorm(99), zero.Solve(m), v.PInv(-1), v.LstSq(v, -1)} {
		if err := y.Err(); !errors.Is(err, ir.ErrShape) && !errors.Is(err, ir.ErrDType) && !errors.Is(err, ir.ErrArgument) {
			t.Errorf("case %d: got %v", i, err)
		}
	}
	if _, _, vh := h.SVD(); !errors.Is(vh.Err(), ir.ErrDType) {
		t.Errorf("f16: %v", vh.Err())
	}
	if _, log := v.Cast(sinter.I32).SLogDet(); !errors.Is(log.Err(), ir.ErrDType) {
		t.Errorf("i32: %v", log.Err())
	}
}
