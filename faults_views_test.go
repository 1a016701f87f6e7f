package sinter_test

import (
	"math"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// Faults of views, reductions, empty tensors, indexing.
var faultsViews = []fault{
	{58, "sum of a sliced view", func(f *faultRun) {
		f.want(f.arange(4, 4).Slice(sinter.Span(1, 4), sinter.Span(1, 4)).Sum(), []int{}, 90)
	}},
	{59, "extrema of a column", func(f *faultRun) {
		c := mk(f, []float32{1, 100, 2, 100, 3, 100}, 3, 2).At(1, 0)
		f.want(c.Max(), nil, 3)
		f.want(c.Min(), nil, 1)
		f.want(c.ArgMax(0), nil, 2)
		f.want(f.op("prod", ts{c}), nil, 6)
	}},
	{60, "a row and its transpose", func(f *faultRun) {
		r := f.arange(8, 10).At(0, 0)
		f.want(r, []int{10}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		f.want(r.Permute(0), []int{10}, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		if err := r.Transpose().Err(); err == nil {
			f.Error("the transpose of one axis is no error")
		}
	}},
	{61, "max with index of a column", func(f *faultRun) {
		m := mk(f, []float32{9, .2, 9, 9, .9, 9, 9, .1, 9, 9, .5, 9}, 4, 3).At(1, 1)
		f.want(m.Max(), nil, float64(float32(.9)))
		f.want(m.ArgMax(0), nil, 1)
	}},
	{62, "a row view in matmul", func(f *faultRun) {
		a := f.arange(1, 3, 4).Slice(sinter.All(), sinter.Span(2, 3), sinter.All()).Reshape(1, 4)
		eye := mk(f, []float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 4, 4)
		f.want(a.MatMul(eye), []int{1, 4}, 8, 9, 10, 11)
		f.want(f.arange(1, 3, 4).At(1, 2).MatMul(eye), []int{1, 4}, 8, 9, 10, 11)
	}},
	{63, "transposes of int and bool", func(f *faultRun) {
		i := mk(f, []int32{1, 2, 3, 4}, 2, 2).Transpose()
		b := mk(f, []bool{true, false, true, true}, 2, 2).Transpose()
		f.want(i, nil, 1, 3, 2, 4)
		f.want(b, nil, 1, 1, 0, 1)
		f.want(i.Eq(mk(f, []int32{1, 3, 2, 4}, 2, 2)), nil, 1, 1, 1, 1)
		f.want(b.Eq(b), nil, 1, 1, 1, 1)
	}},
	{64, "views of more than 2^31 elements", func(f *faultRun) {
		// The whole sum takes long on an interpreter: shapes, and a part far out.
		x := f.i64(1).Expand(46341, 46341)
		if x.Size() != 2147488281 {
			f.Errorf("size %d", x.Size())
		}
		f.want(x.Slice(sinter.From(-3), sinter.From(-2)).Sum(), nil, 6)
		f.want(x.Slice(sinter.All().By(40000)).Sum(sinter.Over(0)).Max(), nil, 2)
	}},
	{65, "variance of one observation", func(f *faultRun) {
		f.want(f.f32(5).Variance(1), nil, nan)
		f.want(f.f32(5).Variance(0), nil, 0)
		for c := range 2 {
			x := f.leaf(5)
			if g := f.values(f.grad(x.Variance(c), x)); len(g) != 1 || math.IsInf(g[0], 0) {
				f.Errorf("correction %d: the gradient is %v", c, g)
			}
		}
	}},
	{66, "concat with nothing", func(f *faultRun) {
		f.want(sinter.Concat(1, f.on.Ones(sinter.F32, 2, 3), f.on.Ones(sinter.F32, 2, 0)), []int{2, 3}, 1, 1, 1, 1, 1, 1)
	}},
	{68, "reductions of nothing", func(f *faultRun) {
		e := f.on.Zeros(sinter.F32, 0)
		f.want(e.Sum(), nil, 0)
		f.want(e.Mean(), nil, nan)
		f.fails(e.Max(), sinter.ErrShape)
		f.fails(e.ArgMax(0), sinter.ErrShape)
		f.want(f.on.Zeros(sinter.F32, 2, 0).Sum(sinter.Over(1).KeepDims()), []int{2, 1}, 0, 0)
		f.want(f.op("prod", ts{e}), nil, 1)
		f.want(f.op("logsumexp", ts{e}), nil, -inf)
	}},
	{70, "batches of nothing", func(f *faultRun) {
		f.want(f.on.Zeros(sinter.F32, 0, 2, 3).MatMul(f.on.Zeros(sinter.F32, 1, 3, 4)), []int{0, 2, 4})
		f.want(f.on.Zeros(sinter.F32, 3, 0, 0).MatMul(f.on.Zeros(sinter.F32, 0, 0)), []int{3, 0, 0})
	}},
	{71, "nonzero of nothing true", func(f *faultRun) {
		x, err := f.on.Zeros(sinter.Bool, 1000).NonZero(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		f.want(x, []int{0, 1})
	}},
	{72, "squeeze names its axis", func(f *faultRun) {
		f.want(f.on.Ones(sinter.F32, 1, 1).Squeeze(0), []int{1}, 1)
		w := mk(f, []float32{1, 2, 3}, 3, 1)
		f.want(f.f32(1, 1, 1).MatMul(w), []int{1}, 6)
	}},
	{116, "convolution with uneven pads", func(f *faultRun) {
		x := mk(f, []float32{1, 2, 3, 4, 5}, 1, 1, 5).Track()
		w := mk(f, []float32{10, 1}, 1, 1, 2).Track()
		y := fn.Conv(x, w, nil, fn.ConvOptions{Stride: []int{2}, Pad: []int{1, 0}})
		f.want(y, []int{1, 1, 3}, 1, 23, 45)
		g := f.grads(y.Sum(), x, w)
		f.want(g[0], []int{1, 1, 5}, 1, 10, 1, 10, 1)
		f.want(g[1], []int{1, 1, 2}, 6, 9)
	}},
	{118, "padding and the divisor of averages", func(f *faultRun) {
		x := mk(f, []float32{2, 4, 6}, 1, 1, 3)
		o := fn.PoolOptions{Kernel: []int{2}, Stride: []int{1}, Pad: []int{1, 0}}
		f.want(fn.AvgPool(x, o), []int{1, 1, 3}, 2, 3, 5)
		o.IncludePad = true
		f.want(fn.AvgPool(x, o), []int{1, 1, 3}, 1, 3, 5)
	}},
	{119, "averages that hang over", func(f *faultRun) {
		o := fn.PoolOptions{Kernel: []int{2}, Stride: []int{3}, Ceil: true}
		for _, o.IncludePad = range []bool{false, true} {
			f.want(fn.AvgPool(f.arange(1, 1, 7, 7), o), []int{1, 1, 3, 3}, 4, 7, 9.5, 25, 28, 30.5, 42.5, 45.5, 48)
		}
	}},
	{120, "coordinates of interpolation", func(f *faultRun) {
		x := mk(f, []float32{1, 2}, 1, 1, 2)
		f.near(fn.Linear(x, fn.HalfPixel, 4), 1e-6, []int{1, 1, 4}, 1, 1.25, 1.75, 2)
		f.near(fn.Linear(x, fn.AlignCorners, 4), 1e-6, []int{1, 1, 4}, 1, 4./3, 5./3, 2)
		f.want(fn.Linear(x, fn.HalfPixel, 1), []int{1, 1, 1}, 1.5)
		f.want(fn.Linear(x, fn.AlignCorners, 1), []int{1, 1, 1}, 1)
	}},
	{124, "slices with negative steps", func(f *faultRun) {
		x := f.arange(5)
		f.want(x.Slice(sinter.Span(0, 5).By(-1)), []int{0}) // as in Python
		f.want(x.Slice(sinter.All().By(-1)), nil, 4, 3, 2, 1, 0)
		f.want(x.Slice(sinter.Span(3, 0).By(-2)), nil, 3, 1)
	}},
	{125, "assignment to slices with steps", func(f *faultRun) {
		set := func(start, step int) *sinter.Tensor {
			return f.op("set_slice", ts{f.on.Zeros(sinter.F32, 6), f.f32(1, 2, 3)}, "starts", []int{start}, "sizes", []int{3}, "steps", []int{step})
		}
		f.want(set(0, 2), nil, 1, 0, 2, 0, 3, 0)
		f.want(set(5, -2), nil, 0, 3, 0, 2, 0, 1)
	}},
	{126, "scatter at coordinates", func(f *faultRun) {
		index := mk(f, []int64{0, 1, 2, -1}, 2, 2)
		y := f.op("scatter_nd", ts{f.on.Zeros(sinter.F32, 3, 3), index, f.f32(5, 6)})
		f.want(y, nil, 0, 5, 0, 0, 0, 0, 0, 0, 6)
	}},
	{127, "duplicate scatter indices", func(f *faultRun) {
		for range 50 {
			f.want(f.on.Zeros(sinter.F32, 3).ScatterAdd(0, f.i64(1, 1, 1), f.f32(1, 2, 3)), nil, 0, 6, 0)
		}
		n := 5000
		v, at := make([]float32, n), make([]int64, n)
		sum := float32(0)
		for i := range v {
			v[i], at[i] = float32(math.Sin(float64(i)))*1e5, 1
			sum += v[i] // in ascending order
		}
		f.want(f.on.Zeros(sinter.F32, 3).ScatterAdd(0, mk(f, at), mk(f, v)), nil, 0, float64(sum), 0)
	}},
	{128, "scatter reductions", func(f *faultRun) {
		for mode, want := range map[int]float64{2: 6, 3: 3, 4: 1} {
			f.want(f.op("scatter_along", ts{f.f32(1, 1), f.i64(0, 0), f.f32(2, 3)}, "axis", 0, "mode", mode), nil, want, 1)
		}
	}},
	{129, "counts in a shape error", func(f *faultRun) {
		err := mk(f, []float32{1}, 10).Err()
		if err == nil || !strings.Contains(err.Error(), "1 element") || !strings.Contains(err.Error(), "10") {
			f.Errorf("got %v", err)
		}
	}},
	{130, "negative and bad indices", func(f *faultRun) {
		f.want(f.arange(4).Gather(0, f.i64(-1, 0)), nil, 3, 0)
		f.fails(f.arange(4).Gather(0, f.i64(4)), sinter.ErrData)
	}},
	{131, "indices from topk", func(f *faultRun) {
		x := f.f32(3, 1, 2)
		top := f.ops("topk", ts{x}, "k", 2)
		f.want(top[0], nil, 3, 2)
		f.want(top[1], nil, 0, 2)
		f.want(x.Gather(0, top[1].Add(f.i64(0, 0))), nil, 3, 2)
	}},
}
