package nn_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
	"github.com/sinter-go/sinter/nn"
)

// array is a row-major array of the references, which compute in plain loops.
type array struct {
	shape []int
	v     []float64
}

func zeros(shape ...int) array {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return array{shape, make([]float64, n)}
}

// at is the place of an element; nil if it is outside of the array.
func (a array) at(index ...int) *float64 {
	k := 0
	for i, d := range a.shape {
		if index[i] < 0 || index[i] >= d {
			return nil
		}
		k = k*d + index[i]
	}
	return &a.v[k]
}

// each calls f with the indices of all elements.
func (a array) each(f func(index []int, v *float64)) {
	index := make([]int, len(a.shape))
	for k := range a.v {
		r := k
		for i := len(a.shape) - 1; i >= 0; i-- {
			index[i], r = r%a.shape[i], r/a.shape[i]
		}
		f(index, &a.v[k])
	}
}

// wave is a tensor of f64 with no two equal elements, from -1.5 to 1.5.
func wave(seed int, shape ...int) *sinter.Tensor {
	a := zeros(shape...)
	for i := range a.v {
		a.v[i] = 1.5 * math.Sin(float64(i*i)*0.37+float64(i)*1.7+float64(seed)*2.3)
	}
	return sinter.FromSlice(a.v, shape...)
}

func arrayOf(t *testing.T, x *sinter.Tensor) array {
	t.Helper()
	return array{x.Shape(), data[float64](t, x)}
}

func varOf(t *testing.T, v *sinter.Var) array { return arrayOf(t, v.Borrow()) }

func same(t *testing.T, name string, got *sinter.Tensor, want array) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	g := arrayOf(t, got)
	if !slices.Equal(g.shape, want.shape) {
		t.Errorf("%s: shape %v, want %v", name, g.shape, want.shape)
		return
	}
	for i := range g.v {
		if math.Abs(g.v[i]-want.v[i]) > 1e-11*(1+math.Abs(want.v[i])) {
			t.Errorf("%s: element %d is %v, want %v", name, i, g.v[i], want.v[i])
			return
		}
	}
}

// stir gives the parameters of a model values of their own.
func stir(t *testing.T, model any) {
	t.Helper()
	for k, p := range nn.Params(model) {
		if b := p.Var.Borrow(); b.DType() == sinter.F64 {
			v := wave(100+k, b.Shape()...)
			if p.Buffer {
				v = v.Abs().Add(0.25) // variances are above 0
			}
			if err := p.Var.Set(v); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// gradients compares the gradients of f by x and by the parameters of a model
// with differences.
func gradients(t *testing.T, name string, model any, f func(x *sinter.Tensor) *sinter.Tensor, x *sinter.Tensor) {
	t.Helper()
	if x.DType() == sinter.F64 {
		err := gradcheck.Check(context.Background(), func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in[0])} }, x)
		if err != nil {
			t.Errorf("%s: by x: %v", name, err)
		}
	}
	loss := func() *sinter.Tensor {
		y := f(x)
		return y.Mul(wave(7, y.Shape()...)).Sum()
	}
	vars := nn.Vars(model)
	if len(vars) == 0 {
		return
	}
	grads, err := autodiff.Gradients(loss(), vars...)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for k, v := range vars {
		keep := varOf(t, v)
		got := data[float64](t, grads[k])
		for i := 0; i < len(keep.v); i += 1 + len(keep.v)/12 {
			at := func(d float64) float64 {
				moved := slices.Clone(keep.v)
				moved[i] += d
				if err := v.Set(sinter.FromSlice(moved, keep.shape...)); err != nil {
					t.Fatal(err)
				}
				return data[float64](t, loss())[0]
			}
			const h = 1e-5
			if want := (at(h) - at(-h)) / (2 * h); math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: parameter %d, element %d: gradient %v, difference %v", name, k, i, got[i], want)
			}
		}
		if err := v.Set(sinter.FromSlice(keep.v, keep.shape...)); err != nil {
			t.Fatal(err)
		}
	}
}

func names(model any) []string {
	var out []string
	for _, p := range nn.Params(model) {
		out = append(out, p.Name)
	}
	return out
}

var f64 = nn.DType(sinter.F64)

func refLinear(x, w, b array) array {
	in, out := w.shape[1], w.shape[0]
	n := len(x.v) / in
	y := zeros(append(slices.Clone(x.shape[:len(x.shape)-1]), out)...)
	for i := range n {
		for o := range out {
			s := b.v[o]
			for k := range in {
				s += x.v[i*in+k] * w.v[o*in+k]
			}
			y.v[i*out+o] = s
		}
	}
	return y
}

func refLayerNorm(x, w, b array, eps float64) array {
	d := len(w.v)
	y := zeros(x.shape...)
	for r := 0; r < len(x.v); r += d {
		mean, variance := 0.0, 0.0
		for _, v := range x.v[r : r+d] {
			mean += v / float64(d)
		}
		for _, v := range x.v[r : r+d] {
			variance += (v - mean) * (v - mean) / float64(d)
		}
		for i := range d {
			y.v[r+i] = (x.v[r+i]-mean)/math.Sqrt(variance+eps)*w.v[i] + b.v[i]
		}
	}
	return y
}

func add(a, b array) array {
	c := zeros(a.shape...)
	for i := range c.v {
		c.v[i] = a.v[i] + b.v[i]
	}
	return c
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func gelu(x float64) float64    { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }

func apply(f func(float64) float64, a array) array {
	c := zeros(a.shape...)
	for i := range c.v {
		c.v[i] = f(a.v[i])
	}
	return c
}
