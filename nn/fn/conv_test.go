package fn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn/fn"
)

// axis returns entry i of a list of options as the package reads it.
func axis(list []int, i, def int) int {
	switch {
	case len(list) == 0:
		return def
	case len(list) == 1:
		return list[0]
	}
	return list[i]
}

func before(list []int, i int) int { return axis(list, i, 0) }

func after(list []int, i, d int) int {
	if len(list) == 2*d {
		return list[d+i]
	}
	return axis(list, i, 0)
}

// convModel is convolution by its definition.
func convModel(x, w host, o fn.ConvOptions) host {
	d := len(x.shape) - 2
	groups := max(o.Groups, 1)
	y := []int{x.shape[0], w.shape[0]}
	for i := range d {
		span := axis(o.Dilation, i, 1)*(w.shape[2+i]-1) + 1
		y = append(y, (x.shape[2+i]+before(o.Pad, i)+after(o.Pad, i, d)-span)/axis(o.Stride, i, 1)+1)
	}
	out := blank(y...)
	per := w.shape[0] / groups
	each(y, func(p []int) {
		sum := 0.0
		each(w.shape[1:], func(k []int) {
			at := []int{p[0], p[1]/per*w.shape[1] + k[0]}
			for i := range d {
				j := p[2+i]*axis(o.Stride, i, 1) + k[1+i]*axis(o.Dilation, i, 1) - before(o.Pad, i)
				if j < 0 || j >= x.shape[2+i] {
					return
				}
				at = append(at, j)
			}
			sum += x.at(at...) * w.at(append([]int{p[1]}, k...)...)
		})
		out.v[out.index(p)] = sum
	})
	return out
}

var convCases = []struct {
	x, w []int
	o    fn.ConvOptions
}{
	{[]int{2, 3, 7}, []int{4, 3, 3}, fn.ConvOptions{}},
	{[]int{1, 4, 8}, []int{6, 2, 3}, fn.ConvOptions{Stride: []int{2}, Pad: []int{2, 0}, Groups: 2}},
	{[]int{2, 2, 5, 6}, []int{3, 2, 3, 2}, fn.ConvOptions{Pad: []int{1}, Dilation: []int{2, 1}}},
	{[]int{1, 4, 6, 5}, []int{4, 1, 2, 3}, fn.ConvOptions{Stride: []int{2, 3}, Pad: []int{1, 0, 2, 1}, Groups: 4}},
	{[]int{1, 4, 3, 4, 4}, []int{2, 2, 2, 1, 3}, fn.ConvOptions{Stride: []int{1, 2, 1}, Pad: []int{1}, Groups: 2}},
	{[]int{0, 2, 5}, []int{3, 2, 2}, fn.ConvOptions{}},
}

func TestConv(t *testing.T) {
	for i, c := range convCases {
		name := fmt.Sprintf("case %d", i)
		x, w, bias := random(uint64(i), c.x...), random(uint64(i+50), c.w...), random(uint64(i+90), c.w[0])
		want := convModel(x, w, c.o)
		both(t, name, func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Conv(in[0], in[1], nil, c.o) }, want, x, w)
		for j := range want.v {
			n := 1
			for _, d := range want.shape[2:] {
				n *= d
			}
			want.v[j] += bias.v[j/n%c.w[0]]
		}
		both(t, name+" with bias", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Conv(in[0], in[1], in[2], c.o) }, want, x, w, bias)
	}
}

// TestConvTranspose: the transpose of a linear map A has <A x, y> = <x, Aᵀ y>, for
// all basis vectors.
func TestConvTranspose(t *testing.T) {
	for i, c := range convCases[:5] {
		w := random(uint64(i+50), c.w...)
		x := random(uint64(i), c.x...)
		y := convModel(x, w, c.o)
		z := random(uint64(i+7), y.shape...)
		o := c.o
		for j := range y.shape[2:] {
			span := axis(o.Dilation, j, 1)*(w.shape[2+j]-1) + 1
			d := len(y.shape) - 2
			o.Extra = append(o.Extra, c.x[2+j]-((y.shape[2+j]-1)*axis(o.Stride, j, 1)+span-before(o.Pad, j)-after(o.Pad, j, d)))
		}
		want := blank(c.x...)
		for j := range want.v {
			unit := blank(c.x...)
			unit.v[j] = 1
			for k, v := range convModel(unit, w, c.o).v {
				want.v[j] += v * z.v[k]
			}
		}
		both(t, fmt.Sprint("case ", i), func(in ...*sinter.Tensor) *sinter.Tensor { return fn.ConvTranspose(in[0], in[1], nil, o) }, want, z, w)
	}
}

// Random transposed convolutions in one and two axes are the transposes of
// convolutions: strides beyond the kernel, strides with dilations, results of one
// element and fewer than the stride.
func TestConvTransposeRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range 60 {
		d, groups := 1+i%2, 1+rng.IntN(2)
		zs, ws, xs := []int{1 + rng.IntN(2), 2 * groups}, []int{2 * groups, 1 + rng.IntN(2)}, []int{0, 0}
		o := fn.ConvOptions{Groups: groups, Pad: make([]int, 2*d)}
		for j := range d {
			n, k, stride, dilation := 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(2)
			extra := rng.IntN(stride)
			whole := (n-1)*stride + dilation*(k-1) + 1 + extra
			o.Pad[j] = rng.IntN(whole)
			o.Pad[d+j] = rng.IntN(whole - o.Pad[j])
			o.Stride, o.Dilation, o.Extra = append(o.Stride, stride), append(o.Dilation, dilation), append(o.Extra, extra)
			zs, ws, xs = append(zs, n), append(ws, k), append(xs, whole-o.Pad[j]-o.Pad[d+j])
		}
		xs[0], xs[1] = zs[0], ws[1]*groups
		z, w := random(uint64(i), zs...), random(uint64(i+50), ws...)
		want := blank(xs...)
		for j := range want.v {
			unit := blank(xs...)
			unit.v[j] = 1
			for k, v := range convModel(unit, w, o).v {
				want.v[j] += v * z.v[k]
			}
		}
		both(t, fmt.Sprintf("%v by %v, %+v", zs, ws, o), func(in ...*sinter.Tensor) *sinter.Tensor { return fn.ConvTranspose(in[0], in[1], nil, o) }, want, z, w)
	}
}

// TestConvOnesided: padding on one side, in value and gradients.
func TestConvOnesided(t *testing.T) {
	x := vector(1, 2, 3, 4, 5).as(1, 1, 5).tensor().Track()
	w := vector(10, 1).as(1, 1, 2).tensor().Track()
	y := fn.Conv(x, w, nil, fn.ConvOptions{Stride: []int{2}, Pad: []int{1, 0}})
	equal(t, "y", y, vector(1, 23, 45).as(1, 1, 3), 0)
	s := y.Sum()
	g, err := autodiff.VJP([]*sinter.Tensor{s}, []*sinter.Tensor{sinter.Ones(sinter.F64)}, []*sinter.Tensor{x, w})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "dx", g[0], vector(1, 10, 1, 10, 1).as(1, 1, 5), 0)
	equal(t, "dw", g[1], vector(6, 9).as(1, 1, 2), 0)
}

func TestConvGradients(t *testing.T) {
	for i, c := range []struct {
		x, w []int
		o    fn.ConvOptions
	}{
		{[]int{2, 1, 5}, []int{2, 1, 2}, fn.ConvOptions{Stride: []int{2}, Pad: []int{0, 1}}},
		{[]int{1, 2, 3, 4}, []int{2, 1, 2, 2}, fn.ConvOptions{Pad: []int{1}, Dilation: []int{1, 2}, Groups: 2}},
		{[]int{1, 1, 2, 2, 3}, []int{1, 1, 2, 1, 2}, fn.ConvOptions{Stride: []int{1, 2, 2}, Pad: []int{1, 0, 0, 0, 0, 1}}},
	} {
		gradients(t, fmt.Sprint("conv ", i), func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Conv(in[0], in[1], nil, c.o) },
			random(1, c.x...), random(2, c.w...))
	}
	gradients(t, "transpose", func(in ...*sinter.Tensor) *sinter.Tensor {
		return fn.ConvTranspose(in[0], in[1], in[2], fn.ConvOptions{Stride: []int{2}, Pad: []int{1, 0}, Extra: []int{1}})
	}, random(1, 1, 2, 3), random(2, 2, 2, 2), random(3, 2))
}

// TestConvErrors: what does not fit is an error, and errors pass on.
func TestConvErrors(t *testing.T) {
	x := random(1, 1, 4, 6).tensor()
	for i, y := range []*sinter.Tensor{
		fn.Conv(x, random(1, 2, 3, 2).tensor(), nil, fn.ConvOptions{}),
		fn.Conv(x, random(1, 2, 4, 9).tensor(), nil, fn.ConvOptions{}),
		fn.Conv(x, random(1, 3, 2, 2).tensor(), nil, fn.ConvOptions{Groups: 2}),
		fn.Conv(x, random(1, 2, 4).tensor(), nil, fn.ConvOptions{}),
		fn.Conv(x, random(1, 2, 4, 2).tensor(), nil, fn.ConvOptions{Stride: []int{0}}),
		fn.Conv(x, random(1, 2, 4, 2).tensor(), nil, fn.ConvOptions{Pad: []int{1, 2, 3}}),
		fn.Conv(x, random(1, 2, 4, 2).tensor().Cast(sinter.F32), nil, fn.ConvOptions{}),
		fn.Conv(x.Reshape(24), random(1, 2, 4, 2).tensor(), nil, fn.ConvOptions{}),
		fn.ConvTranspose(x, random(1, 4, 2, 2).tensor(), nil, fn.ConvOptions{Extra: []int{1}}),
		fn.ConvTranspose(x, random(1, 3, 2, 2).tensor(), nil, fn.ConvOptions{}),
		fn.Conv(sinter.Failed(ctx.Err()), x, nil, fn.ConvOptions{}),
	} {
		if y.Err() == nil {
			t.Errorf("case %d: no error but shape %v", i, y.Shape())
		}
	}
}
