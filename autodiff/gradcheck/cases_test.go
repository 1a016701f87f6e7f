package gradcheck_test

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

func one(shape ir.Shape, attrs ...any) call {
	return call{shapes: []ir.Shape{shape}, attrs: ir.A(attrs...)}
}
func two(x, z ir.Shape, attrs ...any) call {
	return call{shapes: []ir.Shape{x, z}, attrs: ir.A(attrs...)}
}

func reductions(more ...any) []call {
	var out []call
	for _, c := range []struct {
		shape ir.Shape
		axes  []int
	}{{ir.Shape{}, nil}, {ir.Shape{1}, nil}, {ir.Shape{4}, []int{-1}}, {ir.Shape{2, 3}, nil}, {ir.Shape{2, 1, 3}, []int{1}},
		{ir.Shape{3, 2, 2}, []int{-1, 0}}, {ir.Shape{0, 3}, []int{1}}} {
		out = append(out, one(c.shape, append([]any{"axes", c.axes, "keepdims", false}, more...)...),
			one(c.shape, append([]any{"axes", c.axes, "keepdims", true}, more...)...))
	}
	return out
}

// along are the calls of rows over one axis.
func along() []call {
	return []call{one(ir.Shape{1}, "axis", 0), one(ir.Shape{4}, "axis", -1), one(ir.Shape{2, 3, 2}, "axis", 1),
		one(ir.Shape{2, 1}, "axis", 1), one(ir.Shape{0, 3}, "axis", 1), one(ir.Shape{3, 0}, "axis", 1)}
}

// narrow casts to a narrower dtype and back; the step is such that differences
// of the rounded values are exact enough.
func narrow(d sinter.DType) call {
	return call{step: 0x1p-4, in: func() []*sinter.Tensor { return []*sinter.Tensor{sinter.FromSlice([]float64{0.25, -1.5, 3})} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor {
			return []*sinter.Tensor{in[0].Cast(d), in[0].Cast(d).Mul(2).Cast(sinter.F64)}
		}}
}

func indices(shape []int, v ...int64) *sinter.Tensor {
	return sinter.FromSlice(v, len(v)).Reshape(shape...)
}

func apply(row string, attrs ...any) func(x ...*sinter.Tensor) *sinter.Tensor {
	return func(x ...*sinter.Tensor) *sinter.Tensor { return sinter.Apply(row, x, ir.A(attrs...)...)[0] }
}

// gathered is a call of gather with given indices.
func gathered(shape ir.Shape, axis int, index func() *sinter.Tensor) call {
	return call{in: func() []*sinter.Tensor { return []*sinter.Tensor{random(shape, 3), index()} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor {
			return []*sinter.Tensor{apply("gather", "axis", axis)(in...)}
		}}
}

func scattered(shape ir.Shape, axis int, index func() *sinter.Tensor) call {
	return call{in: func() []*sinter.Tensor {
		i := index()
		src := shape.Clone()
		a, _ := ir.Axis(axis, len(shape))
		src[a] = i.Size()
		return []*sinter.Tensor{random(shape, 5), i, random(src, 6)}
	}, f: func(in []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{apply("scatter_add", "axis", axis)(in...)}
	}}
}

func random(shape ir.Shape, seed uint64) *sinter.Tensor {
	s := sampler{state: seed}
	return s.tensor(ir.Operand{Class: ir.FloatClass}, shape, 0)
}

// coded are the calls of rows whose first operand holds integer codes: what is
// differentiated is their scale.
var coded = map[string][]call{
	"dequantize": {decoded([]int{3, 5}, 3, 1), decoded([]int{2, 3, 4}, 3, 1), decoded([]int{4}), decoded([]int{0, 3}, 3)},
}

func decoded(shape []int, scale ...int) call {
	return call{in: func() []*sinter.Tensor { return []*sinter.Tensor{random(scale, 9)} },
		f: func(in []*sinter.Tensor) []*sinter.Tensor {
			n := ir.Shape(shape).Size()
			x, zero := make([]int8, n), sinter.FromSlice([]int8{3}, 1)
			for i := range x {
				x[i] = int8(37*i%256 - 128)
			}
			return []*sinter.Tensor{apply("dequantize", "dtype", sinter.F64)(sinter.FromSlice(x, n).Reshape(shape...), in[0], zero)}
		}}
}

// own are the calls checked beside the samples of a row.
var own = map[string][]call{
	"sum":         reductions(),
	"mean":        reductions(),
	"max":         reductions(),
	"min":         reductions(),
	"variance":    append(spread(reductions("correction", 0)), wide(reductions("correction", 1))...),
	"softmax":     along(),
	"log_softmax": along(),
	"cumsum":      along(),
	"prod":        reductions(), "sum_squares": reductions(), "l1_norm": reductions(), "inf_norm": spread(reductions()),
	"l2_norm": spread(reductions()), "p_norm": spread(reductions("p", 3.0)), "logsumexp": reductions(),
	"nansum": reductions(), "nanmean": spread(reductions()), "nanmax": spread(reductions()), "nanmin": spread(reductions()),
	"nanprod": reductions(), "nanvar": wide(reductions("correction", 1)), "nanstd": wide(reductions("correction", 1)),
	"std":     wide(reductions("correction", 1)),
	"cumprod": along(), "cummax": along(), "cummin": along(), "logcumsumexp": along(),
	"matmul": {
		two(ir.Shape{3}, ir.Shape{3}), two(ir.Shape{3}, ir.Shape{3, 2}), two(ir.Shape{2, 3}, ir.Shape{3}),
		two(ir.Shape{2, 3}, ir.Shape{3, 2}), two(ir.Shape{1, 3}, ir.Shape{3, 1}), two(ir.Shape{2, 1}, ir.Shape{1, 2}),
		two(ir.Shape{2, 2, 3}, ir.Shape{2, 3, 2}), two(ir.Shape{2, 1, 3}, ir.Shape{3, 2}), two(ir.Shape{2, 3}, ir.Shape{2, 3, 2}),
		two(ir.Shape{2, 1, 2, 3}, ir.Shape{3, 3, 2}), two(ir.Shape{1, 2, 3}, ir.Shape{2, 3, 2}), two(ir.Shape{2, 2, 3}, ir.Shape{1, 3, 1}),
		two(ir.Shape{3}, ir.Shape{2, 3, 2}), two(ir.Shape{2, 2, 3}, ir.Shape{3}), two(ir.Shape{3}, ir.Shape{2, 1, 3, 2}),
		two(ir.Shape{0, 3}, ir.Shape{3, 2}), two(ir.Shape{2, 0}, ir.Shape{0, 2}), two(ir.Shape{0, 2, 3}, ir.Shape{1, 3, 2}), two(ir.Shape{0}, ir.Shape{0}),
	},
	"reshape": {one(ir.Shape{2, 3}, "shape", []int{-1}), one(ir.Shape{1}, "shape", []int{}), one(ir.Shape{}, "shape", []int{1, 1}), one(ir.Shape{0, 3}, "shape", []int{3, 0})},
	"permute": {one(ir.Shape{2, 3}, "axes", []int{-1, 0}), one(ir.Shape{}, "axes", []int{}), one(ir.Shape{2, 1, 0}, "axes", []int{1, 2, 0})},
	"expand": {one(ir.Shape{}, "shape", []int{2, 2}), one(ir.Shape{1}, "shape", []int{3}), one(ir.Shape{2, 1}, "shape", []int{2, 3}), one(ir.Shape{1, 3}, "shape", []int{2, 0, 3}),
		one(ir.Shape{2, 3}, "shape", []int{2, 3}), one(ir.Shape{1, 1}, "shape", []int{1, 1, 1}), one(ir.Shape{0, 1}, "shape", []int{0, 2})},
	"slice": {
		one(ir.Shape{5}, "starts", []int{4}, "sizes", []int{5}, "steps", []int{-1}),
		one(ir.Shape{5}, "starts", []int{4}, "sizes", []int{2}, "steps", []int{-3}),
		one(ir.Shape{4, 3}, "starts", []int{1, 0}, "sizes", []int{2, 3}, "steps", []int{2, 1}),
		one(ir.Shape{3, 4, 2}, "starts", []int{2, 0, 1}, "sizes", []int{2, 2, 1}, "steps", []int{-2, 3, 1}),
		one(ir.Shape{3, 2}, "starts", []int{0, 0}, "sizes", []int{0, 2}, "steps", []int{1, 1}),
		one(ir.Shape{0, 2}, "starts", []int{0, 1}, "sizes", []int{0, 1}, "steps", []int{1, 1}),
		one(ir.Shape{}, "starts", []int{}, "sizes", []int{}, "steps", []int{}),
	},
	"concat": {
		one(ir.Shape{3}), {shapes: []ir.Shape{{2, 1}, {2, 2}}, attrs: ir.A("axis", -1)},
		{shapes: []ir.Shape{{1, 2}, {0, 2}, {2, 2}, {1, 2}}, attrs: ir.A("axis", 0)},
		{in: func() []*sinter.Tensor { return []*sinter.Tensor{random(ir.Shape{2, 2}, 1)} }, // the same tensor twice
			f: func(in []*sinter.Tensor) []*sinter.Tensor {
				return []*sinter.Tensor{sinter.Concat(1, in[0], in[0].Mul(in[0]), in[0])}
			}},
	},
	"gather": {
		gathered(ir.Shape{4}, 0, func() *sinter.Tensor { return indices([]int{5}, 1, 1, -3, 0, 1) }),
		gathered(ir.Shape{2, 3}, -1, func() *sinter.Tensor { return indices([]int{2, 2}, 2, -1, 2, 0) }),
		gathered(ir.Shape{3, 2}, 0, func() *sinter.Tensor { return indices(nil, -1) }),
		gathered(ir.Shape{3, 2}, 0, func() *sinter.Tensor { return indices([]int{0}) }),
		gathered(ir.Shape{0, 2}, 1, func() *sinter.Tensor { return indices([]int{3}, 0, 1, 0) }),
	},
	"scatter_add": {
		scattered(ir.Shape{4}, 0, func() *sinter.Tensor { return indices([]int{5}, 1, 1, -3, 0, 1) }),
		scattered(ir.Shape{2, 3}, -1, func() *sinter.Tensor { return indices([]int{2}, 2, -1) }),
		scattered(ir.Shape{3, 2}, 0, func() *sinter.Tensor { return indices([]int{0}) }),
		scattered(ir.Shape{0, 2}, 1, func() *sinter.Tensor { return indices([]int{1}, 1) }),
	},
	"cast": {one(ir.Shape{2, 2}, "dtype", sinter.F64), one(ir.Shape{}, "dtype", sinter.F64), narrow(sinter.F32), narrow(sinter.F16), narrow(sinter.BF16)},
}

// spread leaves out variances of nothing.
func spread(in []call) []call {
	var out []call
	for _, c := range in {
		if c.shapes[0].Size() > 0 {
			out = append(out, c)
		}
	}
	return out
}

// wide leaves out variances over one element, which are NaN with correction 1.
func wide(in []call) []call {
	var out []call
	for _, c := range in {
		if c.shapes[0].Size() > 1 && !ir.Shape(c.shapes[0]).Equal(ir.Shape{2, 1, 3}) {
			out = append(out, c)
		}
	}
	return out
}
