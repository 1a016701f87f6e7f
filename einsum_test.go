package sinter_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// array is a tensor on the host, for definitions.
type array struct {
	shape []int
	v     []float64
}

func (a array) at(index []int) float64 {
	p := 0
	for i, d := range a.shape {
		p = p*d + index[i]
	}
	return a.v[p]
}

func (a array) tensor() *sinter.Tensor { return sinter.FromSlice(a.v, len(a.v)).Reshape(a.shape...) }

// whole is an array of small whole numbers, on which sums of products are exact.
func whole(rng *rand.Rand, shape ...int) array {
	a := array{shape, make([]float64, ir.Shape(shape).Size())}
	for i := range a.v {
		a.v[i] = float64(rng.IntN(7) - 3)
	}
	return a
}

// summed is the definition of einsum for specs without "...": a loop over all
// letters.
func summed(spec string, in ...array) array {
	left, right, _ := strings.Cut(spec, "->")
	groups := strings.Split(left, ",")
	extent := map[byte]int{}
	var letters []byte
	for i, g := range groups {
		for j := range g {
			if _, ok := extent[g[j]]; !ok {
				letters = append(letters, g[j])
			}
			extent[g[j]] = in[i].shape[j]
		}
	}
	out := array{}
	for i := range right {
		out.shape = append(out.shape, extent[right[i]])
	}
	out.v = make([]float64, ir.Shape(out.shape).Size())
	at := map[byte]int{}
	var loop func(k int)
	loop = func(k int) {
		if k < len(letters) {
			for i := 0; i < extent[letters[k]]; i++ {
				at[letters[k]] = i
				loop(k + 1)
			}
			return
		}
		product := 1.0
		for i, g := range groups {
			index := make([]int, len(g))
			for j := range g {
				index[j] = at[g[j]]
			}
			product *= in[i].at(index)
		}
		p := 0
		for i := range right {
			p = p*out.shape[i] + at[right[i]]
		}
		out.v[p] += product
	}
	loop(0)
	return out
}

// near compares a tensor with an array, NaN with NaN.
func near(t *testing.T, what string, got *sinter.Tensor, want array, tol float64) {
	t.Helper()
	v, err := sinter.Data[float64](context.Background(), got)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if !ir.Shape(got.Shape()).Equal(want.shape) {
		t.Errorf("%s: shape %v, want %v", what, got.Shape(), want.shape)
		return
	}
	for i := range v {
		if d := v[i] - want.v[i]; !(d <= tol && d >= -tol) && !(v[i] != v[i] && want.v[i] != want.v[i]) && v[i] != want.v[i] {
			t.Errorf("%s: element %d is %v, want %v", what, i, v[i], want.v[i])
			return
		}
	}
}

func TestEinsum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	extent := map[byte]int{'a': 2, 'b': 3, 'i': 2, 'j': 3, 'k': 4, 'l': 5, 'Z': 2, 'o': 1, 'n': 0}
	for _, spec := range []string{
		"i->i", "i->", "ij->ji", "ij->j", "ii->i", "ii->", "iij->j", "iji->ij", "iijj->ij", "iii->i", "ijij->", "->",
		"i,i->", "i,j->ij", "i,j->ji", "i,j->", "ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ki", "ij,ij->", "ij,ij->ij", "ij,ji->ij", "ij,ji->",
		"bij,bjk->bik", "bij,jk->bik", "ij,bjk->bik", "bij,kbj->bik", "abij,abjk->abik", "ab,b->a", "abj,bja->", "ajb,akb->abjk",
		"ijk,jkl->il", "ijk,ljk->il", "ijk,kl->ijl", "ik,jk,kl->ijl", "i,ij,j->", "ij,jk,kl,la->ia", "i,i,i->i", ",ij->ij", "ij,->ij", ",->",
		"iij,jk->ik", "ij,kk->ij", "ij,kl->j", "Zj,jk->Zk", "oi,oj->ij", "in,nj->ij", "ni,ni->", "nij,njk->nik", "ijkl,klab->ijab", "abk,kjl->aljb",
	} {
		var in []array
		var ts []*sinter.Tensor
		for _, g := range strings.Split(spec[:strings.Index(spec, "->")], ",") {
			var shape []int
			for i := range g {
				shape = append(shape, extent[g[i]])
			}
			a := whole(rng, shape...)
			in, ts = append(in, a), append(ts, a.tensor())
		}
		near(t, spec, sinter.Einsum(spec, ts...), summed(spec, in...), 0)
	}
}

func TestEinsumForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	a, b, c := whole(rng, 2, 3, 4), whole(rng, 2, 4, 5), whole(rng, 4, 5)
	one := whole(rng, 1, 4, 5)
	for _, f := range []struct {
		spec, same string
		in         []array
	}{
		{"ij,jk", "ij,jk->ik", []array{whole(rng, 2, 3), whole(rng, 3, 4)}},
		{"ba", "ba->ab", []array{whole(rng, 2, 3)}},
		{"ii", "ii->", []array{whole(rng, 3, 3)}},
		{" i j , j k -> i k ", "ij,jk->ik", []array{whole(rng, 2, 3), whole(rng, 3, 4)}},
		{"...ij,...jk", "bij,bjk->bik", []array{a, b}},
		{"...ij,...jk->...ik", "bij,jk->bik", []array{a, c}},
		{"...ij,...jk->ik...", "bij,bjk->ikb", []array{a, b}},
		{"i...,i...->...", "ijk,ijk->jk", []array{a, a}},
		{"...", "abc->abc", []array{a}},
		{"...j->...", "abj->ab", []array{a}},
		{"i...i", "iji->j", []array{whole(rng, 3, 2, 3)}},
	} {
		var ts []*sinter.Tensor
		for _, x := range f.in {
			ts = append(ts, x.tensor())
		}
		near(t, f.spec, sinter.Einsum(f.spec, ts...), summed(f.same, f.in...), 0)
	}
	near(t, "broadcast", sinter.Einsum("...ij,...jk->...ik", a.tensor(), one.tensor()),
		summed("bij,jk->bik", a, array{[]int{4, 5}, one.v}), 0)
	ints := sinter.FromSlice([]int32{1, 2, 3, 4}).Reshape(2, 2)
	for _, spec := range []string{"ij->i", "ij,jk->ik", "ij,ij->"} {
		ts := []*sinter.Tensor{ints, ints}[:1+strings.Count(spec, ",")]
		if d := sinter.Einsum(spec, ts...).DType(); d != sinter.I32 {
			t.Errorf("%s of i32 is %s", spec, d)
		}
	}
}

func TestEinsumErrors(t *testing.T) {
	x, z := sinter.Ones(sinter.F32, 2, 3), sinter.Ones(sinter.F32, 4, 5)
	for _, c := range []struct {
		spec string
		ts   []*sinter.Tensor
		kind error
		want string
	}{
		{"ij,jk->ik", []*sinter.Tensor{x, z}, ir.ErrShape, `spec "ij,jk->ik": index j has extent 3, but 4 in operand 1`},
		{"ii->i", []*sinter.Tensor{x}, ir.ErrShape, "index i has extent 2, but 3 in operand 0"},
		{"...j,...k", []*sinter.Tensor{x, z}, ir.ErrShape, `axis 1 from the end of "..." has extent 2, but 4`},
		{"ijk->i", []*sinter.Tensor{x}, ir.ErrShape, "shape [2,3]"},
		{"i->i", []*sinter.Tensor{x}, ir.ErrShape, `group "i" has 1 letters`},
		{"ij->k", []*sinter.Tensor{x}, ir.ErrArgument, "index k of the result is in no operand"},
		{"ij->ii", []*sinter.Tensor{x}, ir.ErrArgument, "index i is in the result twice"},
		{"ij,jk", []*sinter.Tensor{x}, ir.ErrArgument, "2 groups for 1 operands"},
		{"ij", nil, ir.ErrArgument, "1 groups for 0 operands"},
		{"i.j->i", []*sinter.Tensor{x}, ir.ErrArgument, "'.'"},
		{"...i...->i", []*sinter.Tensor{x}, ir.ErrArgument, "neither a letter nor one"},
		{"i1->i", []*sinter.Tensor{x}, ir.ErrArgument, "'1'"},
		{"ij->i->j", []*sinter.Tensor{x}, ir.ErrArgument, "'-'"},
		{"...j->j", []*sinter.Tensor{x}, ir.ErrArgument, `lacks the "..."`},
		{"ij,jk->ik", []*sinter.Tensor{x, nil}, nil, ""},
		{"ij->i", []*sinter.Tensor{x.Gt(0)}, ir.ErrDType, "bool elements are not summed"},
		{"ij,ij->ij", []*sinter.Tensor{x, x.Cast(sinter.F64)}, ir.ErrDType, "cast"},
	} {
		err := sinter.Einsum(c.spec, c.ts...).Err()
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %v with %q", c.spec, err, c.kind, c.want)
		} else if c.kind == ir.ErrShape && !strings.Contains(err.Error(), "einsum_test.go") {
			t.Errorf("%q: no line in %v", c.spec, err)
		}
	}
}

func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	v, w := whole(rng, 3), whole(rng, 4)
	a, b, c := whole(rng, 2, 3), whole(rng, 3, 4), whole(rng, 2, 3, 4)
	near(t, "outer", v.tensor().Outer(w.tensor()), summed("i,j->ij", v, w), 0)
	near(t, "inner", b.tensor().Inner(c.tensor()), summed("ij,klj->ikl", b, c), 0)
	near(t, "inner of vectors", v.tensor().Inner(v.tensor()), summed("i,i->", v, v), 0)
	near(t, "dot", a.tensor().Dot(b.tensor()), summed("ij,jk->ik", a, b), 0)
	near(t, "dot of more axes", a.tensor().Dot(c.tensor()), summed("ij,ljk->ilk", a, c), 0)
	near(t, "dot of vectors", v.tensor().Dot(v.tensor()), summed("i,i->", v, v), 0)
	near(t, "vdot", a.tensor().VDot(a.tensor().Mul(2)), array{nil, []float64{2 * summed("ij,ij->", a, a).v[0]}}, 0)
	near(t, "tensordot", c.tensor().TensorDot(b.tensor(), []int{1, -1}, []int{0, 1}), summed("ijk,jk->i", c, b), 0)
	near(t, "tensordot of nothing", v.tensor().TensorDot(w.tensor(), nil, nil), summed("i,j->ij", v, w), 0)
	near(t, "trace", c.tensor().Trace(0, 1, 2), summed("ijj->i", array{[]int{2, 3, 3}, drop(c)}), 0)
	k := summed("ij,kl->ikjl", a, b)
	near(t, "kron", a.tensor().Kron(b.tensor()), array{[]int{6, 12}, k.v}, 0)
	near(t, "kron of a vector", v.tensor().Kron(b.tensor()), array{[]int{3, 12}, summed("j,kl->kjl", v, b).v}, 0)
	x, y := whole(rng, 2, 3), whole(rng, 3)
	cross := array{[]int{2, 3}, make([]float64, 6)}
	for i := 0; i < 2; i++ {
		for j := 0; j < 3; j++ {
			p, q := (j+1)%3, (j+2)%3
			cross.v[3*i+j] = x.v[3*i+p]*y.v[q] - x.v[3*i+q]*y.v[p]
		}
	}
	near(t, "cross", x.tensor().Cross(y.tensor(), -1), cross, 0)
	s := whole(rng, 2, 3, 3)
	power := s
	near(t, "power 1", s.tensor().MatrixPower(1), s, 0)
	for n := 2; n < 6; n++ {
		power = summed("bij,bjk->bik", power, s)
		near(t, "power", s.tensor().MatrixPower(n), power, 0)
	}
	eye := array{[]int{2, 2}, []float64{1, 0, 0, 1}}
	shear := sinter.FromSlice([]float64{1, 1, 0, 1}).Reshape(2, 2)
	near(t, "power 0", shear.MatrixPower(0), eye, 0)
	near(t, "power -3", shear.MatrixPower(-3), array{[]int{2, 2}, []float64{1, -3, 0, 1}}, 0)
	near(t, "chain", sinter.MatMulChain(a.tensor(), b.tensor(), whole(rng, 4, 1).tensor()).MatMul(sinter.Ones(sinter.F64, 1, 1)).Mul(0), array{[]int{2, 1}, make([]float64, 2)}, 0)
	d := whole(rng, 4, 2)
	near(t, "chain of 3", sinter.MatMulChain(a.tensor(), b.tensor(), d.tensor()), summed("ij,jk,kl->il", a, b, d), 0)
	near(t, "chain of 1", sinter.MatMulChain(a.tensor()), a, 0)
	for name, bad := range map[string]*sinter.Tensor{
		"tensordot": a.tensor().TensorDot(b.tensor(), []int{0}, []int{1}), "twice": a.tensor().TensorDot(a.tensor(), []int{0, 0}, []int{0, 0}),
		"counts": a.tensor().TensorDot(b.tensor(), []int{0}, nil), "axis": a.tensor().TensorDot(b.tensor(), []int{5}, []int{0}),
		"cross": a.tensor().Cross(b.tensor(), 0), "power": a.tensor().MatrixPower(2), "chain": sinter.MatMulChain(), "chain of a vector": sinter.MatMulChain(v.tensor()),
		"kron": sinter.Ones(sinter.F64, 1, 1, 1, 1, 1).Kron(v.tensor()), "inner": a.tensor().Inner(b.tensor()), "nil": a.tensor().Outer(nil),
	} {
		if bad.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// drop takes the first 3 of 4 columns.
func drop(c array) []float64 {
	var out []float64
	for i, v := range c.v {
		if i%4 < 3 {
			out = append(out, v)
		}
	}
	return out
}
