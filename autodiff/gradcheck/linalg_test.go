package gradcheck_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
	"github.com/sinter-go/sinter/ir"
)

// conditioned is a stack of matrices with distinct, large elements on the main
// diagonal: far from singular ones and from equal eigenvalues.
func conditioned(seed uint64, shape ...int) *sinter.Tensor {
	x := random(shape, seed).Mul(0.25)
	m, n := shape[len(shape)-2], shape[len(shape)-1]
	eye := sinter.On(x.Device()).Eye(m, n, sinter.F64)
	return x.Add(eye.Mul(sinter.Arange(n, sinter.F64).Mul(1.3).Add(2.5)))
}

// matrices is a call on one conditioned stack.
func matrices(seed uint64, shape []int, row string, attrs ...any) call {
	return call{in: func() []*sinter.Tensor { return []*sinter.Tensor{conditioned(seed, shape...)} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor { return sinter.Apply(row, in, ir.A(attrs...)...) }}
}

func squareCalls(row string, attrs ...any) []call {
	return []call{matrices(1, []int{1, 1}, row, attrs...), matrices(2, []int{3, 3}, row, attrs...), matrices(3, []int{2, 2, 2}, row, attrs...),
		matrices(4, []int{0, 2, 2}, row, attrs...), matrices(5, []int{2, 0, 0}, row, attrs...)}
}

func oblongCalls(row string, attrs ...any) []call {
	return append(squareCalls(row, attrs...), matrices(6, []int{4, 2}, row, attrs...), matrices(7, []int{2, 4}, row, attrs...),
		matrices(8, []int{2, 3, 2}, row, attrs...), matrices(9, []int{3, 1}, row, attrs...))
}

func system(x, z []int, row string, attrs ...any) call {
	return call{in: func() []*sinter.Tensor { return []*sinter.Tensor{conditioned(10, x...), random(z, 11)} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor { return sinter.Apply(row, in, ir.A(attrs...)...) }}
}

func triangular() []call {
	var out []call
	for bits := 0; bits < 16; bits++ {
		z := []int{3, 2}
		if bits&1 == 0 {
			z = []int{2, 3}
		}
		out = append(out, system([]int{3, 3}, z, "triangular_solve",
			"left", bits&1 != 0, "upper", bits&2 != 0, "transpose", bits&4 != 0, "unit", bits&8 != 0))
	}
	return append(out, system([]int{2, 1, 2, 2}, []int{3, 2, 1}, "triangular_solve"), system([]int{0, 0}, []int{0, 2}, "triangular_solve"))
}

// linear are the calls of rows that random operands do not suit; they replace
// the samples.
var linear = map[string][]call{
	"cholesky":         append(squareCalls("cholesky"), squareCalls("cholesky", "upper", true)...),
	"inverse":          squareCalls("inverse"),
	"det":              squareCalls("det"),
	"slogdet":          squareCalls("slogdet"),
	"eigh":             squareCalls("eigh"),
	"expm":             {matrices(1, []int{1, 1}, "expm"), shrunk([]int{3, 3}), shrunk([]int{2, 2, 2}), matrices(5, []int{2, 0, 0}, "expm")},
	"qr":               oblongCalls("qr"),
	"svd":              oblongCalls("svd"),
	"pinv":             oblongCalls("pinv"),
	"triangular_solve": triangular(),
	"solve": {system([]int{3, 3}, []int{3, 2}, "solve"), system([]int{1, 1}, []int{1, 1}, "solve"),
		system([]int{2, 1, 2, 2}, []int{3, 2, 1}, "solve"), system([]int{0, 0}, []int{0, 2}, "solve"), system([]int{2, 2}, []int{2, 0}, "solve")},
}

// shrunk are exponentials of small matrices.
func shrunk(shape []int) call {
	return call{in: func() []*sinter.Tensor { return []*sinter.Tensor{random(shape, 12)} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor {
			return sinter.Apply("expm", []*sinter.Tensor{in[0].Mul(0.2)})
		}}
}

// TestComposites checks functions that are made of the rows.
func TestComposites(t *testing.T) {
	one := func(f func(in []*sinter.Tensor) *sinter.Tensor) gradcheck.Func {
		return func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in)} }
	}
	x, y, z := conditioned(1, 4, 3), random(ir.Shape{4, 2}, 2), random(ir.Shape{3, 2}, 3)
	square := conditioned(4, 3, 3)
	for name, c := range map[string]struct {
		f  gradcheck.Func
		in []*sinter.Tensor
	}{
		"einsum": {one(func(in []*sinter.Tensor) *sinter.Tensor { return sinter.Einsum("ij,ik,jk->k", in...) }), []*sinter.Tensor{x, y, z}},
		"einsum of diagonals": {one(func(in []*sinter.Tensor) *sinter.Tensor { return sinter.Einsum("ii,ik->k", in...) }),
			[]*sinter.Tensor{square, z}},
		"lstsq":         {one(func(in []*sinter.Tensor) *sinter.Tensor { return in[0].LstSq(in[1], -1) }), []*sinter.Tensor{x, y}},
		"nuclear norm":  {one(func(in []*sinter.Tensor) *sinter.Tensor { return in[0].MatrixNorm(sinter.Nuclear) }), []*sinter.Tensor{x}},
		"spectral norm": {one(func(in []*sinter.Tensor) *sinter.Tensor { return in[0].MatrixNorm(sinter.Spectral) }), []*sinter.Tensor{x}},
		"matrix power":  {one(func(in []*sinter.Tensor) *sinter.Tensor { return in[0].MatrixPower(-3) }), []*sinter.Tensor{square}},
		"r alone": {one(func(in []*sinter.Tensor) *sinter.Tensor {
			_, r := in[0].QR()
			return r
		}), []*sinter.Tensor{x}},
		"v alone": {one(func(in []*sinter.Tensor) *sinter.Tensor {
			_, _, vh := in[0].SVD()
			return vh
		}), []*sinter.Tensor{x}},
		"vectors alone": {one(func(in []*sinter.Tensor) *sinter.Tensor {
			_, v := in[0].Eigh()
			return v
		}), []*sinter.Tensor{square}},
		"convolution": {one(func(in []*sinter.Tensor) *sinter.Tensor {
			f := in[0].RFFT(0).ComplexMul(in[0].Mul(2).Add(1).RFFT(0))
			return f.IRFFT(4, 0)
		}), []*sinter.Tensor{x}},
		"kron": {one(func(in []*sinter.Tensor) *sinter.Tensor { return in[0].Kron(in[1]) }), []*sinter.Tensor{y, z}},
	} {
		if err := gradcheck.Check(context.Background(), c.f, c.in...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDegenerate: where eigenvalues or singular values are equal, or 0, gradients
// are numbers.
func TestDegenerate(t *testing.T) {
	for name, x := range map[string]*sinter.Tensor{"identity": sinter.Eye(3, sinter.F64), "zeros": sinter.Zeros(sinter.F64, 3, 3),
		"ones": sinter.Ones(sinter.F64, 3, 3), "tall": sinter.Ones(sinter.F64, 4, 3)} {
		x := x.Track()
		u, s, vh := x.SVD()
		y := u.Sum().Add(s.Sum()).Add(vh.Sum()).Add(x.PInv(-1).Sum())
		if name != "tall" {
			w, v := x.Eigh()
			y = y.Add(w.Sum()).Add(v.Sum())
		}
		g, err := autodiff.Grad(y, x)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ok, err := sinter.Item[bool](context.Background(), g[0].IsFinite().All()); err != nil || !ok {
			t.Errorf("%s: a gradient is no number (%v)", name, err)
		}
	}
}
