package fn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
)

var ctx = context.Background()

// host is a tensor in float64 for the models that tests compare with.
type host struct {
	shape []int
	v     []float64
}

func (h host) at(i ...int) float64 { return h.v[h.index(i)] }

func (h host) index(i []int) int {
	p := 0
	for j, n := range h.shape {
		p = p*n + i[j]
	}
	return p
}

func (h host) tensor() *sinter.Tensor { return sinter.FromSlice(h.v, len(h.v)).Reshape(h.shape...) }

func blank(shape ...int) host {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return host{shape, make([]float64, n)}
}

// random holds numbers whose differences are no halves, away from kinks.
func random(seed uint64, shape ...int) host {
	r := rand.New(rand.NewPCG(seed, 1))
	h := blank(shape...)
	for i := range h.v {
		h.v[i] = math.Floor(r.Float64()*6) - 3 + 0.1 + 0.3*r.Float64()
	}
	return h
}

// each calls f for every index of a shape.
func each(shape []int, f func(i []int)) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	at := make([]int, len(shape))
	for range n {
		f(append([]int(nil), at...))
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; at[j] < shape[j] {
				break
			}
			at[j] = 0
		}
	}
}

func data(t *testing.T, x *sinter.Tensor) []float64 {
	t.Helper()
	v, err := sinter.Data[float64](ctx, x.Cast(sinter.F64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// equal compares a tensor with what it should be.
func equal(t *testing.T, what string, got *sinter.Tensor, want host, tol float64) {
	t.Helper()
	v := data(t, got)
	if len(v) != len(want.v) || len(got.Shape()) != len(want.shape) {
		t.Fatalf("%s: shape %v, expected %v", what, got.Shape(), want.shape)
	}
	for i, d := range got.Shape() {
		if d != want.shape[i] {
			t.Fatalf("%s: shape %v, expected %v", what, got.Shape(), want.shape)
		}
	}
	for i := range v {
		if !(math.Abs(v[i]-want.v[i]) <= tol*math.Max(1, math.Abs(want.v[i]))) && !(math.IsNaN(v[i]) && math.IsNaN(want.v[i])) && v[i] != want.v[i] {
			t.Fatalf("%s: element %d of %v is %v, expected %v", what, i, want.shape, v[i], want.v[i])
		}
	}
}

// both compares in f64 and in f32.
func both(t *testing.T, what string, f func(in ...*sinter.Tensor) *sinter.Tensor, want host, in ...host) {
	t.Helper()
	for _, d := range []sinter.DType{sinter.F64, sinter.F32} {
		ts := make([]*sinter.Tensor, len(in))
		for i, h := range in {
			ts[i] = h.tensor().Cast(d)
		}
		tol := 1e-13
		if d == sinter.F32 {
			tol = 3e-5
		}
		equal(t, what+" "+d.String(), f(ts...), want, tol)
	}
}

func gradients(t *testing.T, what string, f func(in ...*sinter.Tensor) *sinter.Tensor, in ...host) {
	t.Helper()
	ts := make([]*sinter.Tensor, len(in))
	for i, h := range in {
		ts[i] = h.tensor()
	}
	g := func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in...)} }
	if err := gradcheck.Check(ctx, g, ts...); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func vector(v ...float64) host { return host{[]int{len(v)}, v} }

func (h host) as(shape ...int) host { return host{shape, h.v} }
