package fn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// poolModel visits each window's elements: f gets them, how many positions lie in
// the padding, and their indices.
func poolModel(x host, o fn.PoolOptions, f func(v []float64, padding int, at []int) float64) host {
	d := len(x.shape) - 2
	y := x.shape[:2:2]
	for i := range d {
		k := axis(o.Kernel, i, 1)
		s, span := axis(o.Stride, i, k), axis(o.Dilation, i, 1)*(k-1)+1
		free := x.shape[2+i] + before(o.Pad, i) + after(o.Pad, i, d) - span
		n := free/s + 1
		if o.Ceil && free%s != 0 && n*s < x.shape[2+i]+before(o.Pad, i) {
			n++
		}
		y = append(y, n)
	}
	kernel := make([]int, d)
	for i := range d {
		kernel[i] = axis(o.Kernel, i, 1)
	}
	out := blank(y...)
	each(y, func(p []int) {
		var v []float64
		var at []int
		padding := 0
		each(kernel, func(k []int) {
			i, flat, inside := p[:2:2], 0, true
			for a := range d {
				j := p[2+a]*axis(o.Stride, a, kernel[a]) + k[a]*axis(o.Dilation, a, 1) - before(o.Pad, a)
				if j >= x.shape[2+a]+after(o.Pad, a, d) {
					return // overhang
				}
				inside = inside && j >= 0 && j < x.shape[2+a]
				i, flat = append(i, j), flat*x.shape[2+a]+j
			}
			if !inside {
				padding++
				return
			}
			v, at = append(v, x.at(i...)), append(at, flat)
		})
		out.v[out.index(p)] = f(v, padding, at)
	})
	return out
}

func average(include bool) func(v []float64, padding int, at []int) float64 {
	return func(v []float64, padding int, _ []int) float64 {
		sum := 0.0
		for _, a := range v {
			sum += a
		}
		if !include {
			padding = 0
		}
		return sum / float64(len(v)+padding)
	}
}

func greatest(v []float64) (at int) {
	for i, a := range v {
		if a > v[at] || math.IsNaN(a) && !math.IsNaN(v[at]) {
			at = i
		}
	}
	return at
}

func TestPool(t *testing.T) {
	for i, c := range []struct {
		x []int
		o fn.PoolOptions
	}{
		{[]int{2, 2, 7}, fn.PoolOptions{Kernel: []int{3}, Stride: []int{2}, Pad: []int{1, 0}}},
		{[]int{1, 2, 6}, fn.PoolOptions{Kernel: []int{2}, Stride: []int{3}, Pad: []int{1}, Ceil: true}},
		{[]int{1, 1, 7, 7}, fn.PoolOptions{Kernel: []int{2}, Stride: []int{3}, Ceil: true}},
		{[]int{1, 2, 5, 6}, fn.PoolOptions{Kernel: []int{3, 2}, Stride: []int{2, 1}, Pad: []int{1, 0, 2, 1}, Ceil: true}},
		{[]int{1, 1, 6, 7}, fn.PoolOptions{Kernel: []int{2, 3}, Stride: []int{1}, Dilation: []int{2}, Pad: []int{1}}},
		{[]int{1, 2, 4, 4, 4}, fn.PoolOptions{Kernel: []int{2}}},
		{[]int{1, 1, 3, 5, 4}, fn.PoolOptions{Kernel: []int{2}, Stride: []int{2}, Pad: []int{1}, Ceil: true}},
	} {
		x := random(uint64(i), c.x...)
		x.v[0], x.v[len(x.v)-1] = x.v[1], x.v[len(x.v)-2] // ties
		name := fmt.Sprint("case ", i)
		both(t, name+" max", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.MaxPool(in[0], c.o) },
			poolModel(x, c.o, func(v []float64, _ int, _ []int) float64 { return v[greatest(v)] }), x)
		_, index := fn.MaxPoolIndices(x.tensor(), c.o)
		equal(t, name+" index", index, poolModel(x, c.o, func(v []float64, _ int, at []int) float64 { return float64(at[greatest(v)]) }), 0)
		both(t, name+" exclude", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AvgPool(in[0], c.o) }, poolModel(x, c.o, average(false)), x)
		o := c.o
		o.IncludePad = true
		both(t, name+" include", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AvgPool(in[0], o) }, poolModel(x, o, average(true)), x)
		o.Divisor = 3
		both(t, name+" divisor", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AvgPool(in[0], o) },
			poolModel(x, o, func(v []float64, n int, at []int) float64 { return average(false)(v, n, at) * float64(len(v)) / 3 }), x)
	}
}

// TestPoolFaults: faults that other frameworks had.
func TestPoolFaults(t *testing.T) {
	x := vector(2, 4, 6).as(1, 1, 3).tensor()
	o := fn.PoolOptions{Kernel: []int{2}, Stride: []int{1}, Pad: []int{1, 0}}
	equal(t, "exclude", fn.AvgPool(x, o), vector(2, 3, 5).as(1, 1, 3), 0)
	o.IncludePad = true
	equal(t, "include", fn.AvgPool(x, o), vector(1, 3, 5).as(1, 1, 3), 0)
	grid := sinter.Arange(49, sinter.F32).Reshape(1, 1, 7, 7)
	for _, include := range []bool{false, true} {
		y := fn.AvgPool(grid, fn.PoolOptions{Kernel: []int{2}, Stride: []int{3}, Ceil: true, IncludePad: include})
		equal(t, "overhang", y, vector(4, 7, 9.5, 25, 28, 30.5, 42.5, 45.5, 48).as(1, 1, 3, 3), 0)
	}
	inf := math.Inf(-1)
	y, index := fn.MaxPoolIndices(vector(inf, inf, inf, math.NaN()).as(1, 1, 4).tensor(), fn.PoolOptions{Kernel: []int{2}, Pad: []int{1}})
	equal(t, "all -inf", y, vector(inf, inf, math.NaN()).as(1, 1, 3), 0)
	equal(t, "their indices", index, vector(0, 1, 3).as(1, 1, 3), 0)
	ints, index := fn.MaxPoolIndices(sinter.FromSlice([]int8{-128, -5, -7, -128}, 1, 1, 4), fn.PoolOptions{Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}})
	equal(t, "integers", ints, vector(-5, -5).as(1, 1, 2), 0)
	equal(t, "their indices", index, vector(1, 1).as(1, 1, 2), 0)
}

func TestAdaptive(t *testing.T) {
	for i, c := range []struct{ x, sizes []int }{
		{[]int{2, 1, 7}, []int{3}}, {[]int{1, 2, 6}, []int{3}}, {[]int{1, 2, 5, 7}, []int{3, 7}}, {[]int{1, 1, 2, 3}, []int{5, 1}}, {[]int{1, 1, 3, 4, 5}, []int{2, 3, 2}},
	} {
		x := random(uint64(i), c.x...)
		model := func(f func(v []float64) float64) host {
			out := blank(append(c.x[:2:2], c.sizes...)...)
			each(out.shape, func(p []int) {
				extents := make([]int, len(c.sizes))
				begin := func(a, j int) int { return j * c.x[2+a] / c.sizes[a] }
				for a := range extents {
					extents[a] = ((p[2+a]+1)*c.x[2+a]+c.sizes[a]-1)/c.sizes[a] - begin(a, p[2+a])
				}
				var v []float64
				each(extents, func(k []int) {
					at := p[:2:2]
					for a := range k {
						at = append(at, begin(a, p[2+a])+k[a])
					}
					v = append(v, x.at(at...))
				})
				out.v[out.index(p)] = f(v)
			})
			return out
		}
		avg := func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AdaptiveAvgPool(in[0], c.sizes...) }
		top := func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AdaptiveMaxPool(in[0], c.sizes...) }
		both(t, fmt.Sprint("avg ", i), avg, model(func(v []float64) float64 { return average(false)(v, 0, nil) }), x)
		both(t, fmt.Sprint("max ", i), top, model(func(v []float64) float64 { return v[greatest(v)] }), x)
		if i < 3 {
			gradients(t, fmt.Sprint("avg ", i), avg, x)
			gradients(t, fmt.Sprint("max ", i), top, x)
		}
	}
	x := random(3, 2, 3, 4, 5)
	both(t, "global avg", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GlobalAvgPool(in[0]) },
		poolModel(x, fn.PoolOptions{Kernel: []int{4, 5}}, average(false)), x)
	both(t, "global max", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GlobalMaxPool(in[0]) },
		poolModel(x, fn.PoolOptions{Kernel: []int{4, 5}}, func(v []float64, _ int, _ []int) float64 { return v[greatest(v)] }), x)
}

func TestPoolGradients(t *testing.T) {
	for i, o := range []fn.PoolOptions{
		{Kernel: []int{2}}, {Kernel: []int{3, 2}, Stride: []int{1}, Pad: []int{1}}, {Kernel: []int{2}, Stride: []int{2}, Ceil: true, Pad: []int{1, 0, 0, 0}, Dilation: []int{2, 1}},
	} {
		x := random(uint64(i), 1, 2, 4, 3)
		gradients(t, fmt.Sprint("max ", i), func(in ...*sinter.Tensor) *sinter.Tensor { return fn.MaxPool(in[0], o) }, x)
		gradients(t, fmt.Sprint("avg ", i), func(in ...*sinter.Tensor) *sinter.Tensor { return fn.AvgPool(in[0], o) }, x)
	}
}
