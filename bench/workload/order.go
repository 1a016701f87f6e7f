package workload

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/ir"
)

// Workloads that put elements in an order, or go by indices. The least that they
// do is to read what they read and write what they write.

var million = [][]int{{1 << 20}}

// bytes is a cost of so many for each element of the first size, and so many for
// each of the second.
func bytesEach(first, second int) func([]int, ir.DType) Cost {
	return func(sizes []int, _ ir.DType) Cost {
		n := first * sizes[0]
		if len(sizes) > 1 {
			n += second * sizes[1]
		}
		return Cost{Bytes: int64(n), Moves: limit.Copy}
	}
}

func vector(sizes []int, t ir.DType) []input { return []input{{t: t, shape: sizes[:1]}} }

var orders = []op{
	{group: "order", name: "sort", cases: append(in(ir.F32, million...), variant{t: ir.I64, sizes: million[0]}),
		gpu: append(in(ir.F32, million...), variant{t: ir.I64, sizes: million[0]}), inputs: vector,
		cost: func(s []int, t ir.DType) Cost { return Cost{Bytes: int64(s[0] * (2*t.Size() + 8)), Moves: limit.Copy} },
		call: func(_ []int, in list) list {
			v, i := in[0].Sort(0, false)
			return list{v, i}
		}},
	{group: "order", name: "argsort", cases: in(ir.F32, million...), inputs: vector, cost: bytesEach(12, 0),
		call: func(_ []int, in list) list { return list{in[0].ArgSort(0, false)} }},
	{group: "order", name: "topk", cases: in(ir.F32, []int{1 << 20, 10}, []int{1 << 20, 1000}), gpu: in(ir.F32, []int{1 << 20, 10}), inputs: vector, cost: bytesEach(4, 12),
		call: func(s []int, in list) list {
			v, i := in[0].TopK(s[1], 0, true)
			return list{v, i}
		}},
	{group: "order", name: "sort_rows", gpu: in(ir.F32, []int{4096, 1024}), inputs: matrix(0),
		cost: func(s []int, t ir.DType) Cost {
			return Cost{Bytes: int64(s[0] * s[1] * (2*t.Size() + 8)), Moves: limit.Copy}
		},
		call: func(_ []int, in list) list {
			v, i := in[0].Sort(1, false)
			return list{v, i}
		}},
	{group: "order", name: "topk_rows", gpu: in(ir.F32, []int{64, 50257, 50}),
		inputs: func(s []int, t ir.DType) []input { return []input{{t: t, shape: s[:2]}} },
		cost: func(s []int, t ir.DType) Cost {
			return Cost{Bytes: int64(s[0] * (s[1]*t.Size() + s[2]*(t.Size()+8))), Moves: limit.Copy}
		},
		call: func(s []int, in list) list {
			v, i := in[0].TopK(s[2], 1, true)
			return list{v, i}
		}},
	{group: "order", name: "cumsum", cases: in(ir.F32, million...), inputs: vector, cost: bytesEach(8, 0),
		call: func(_ []int, in list) list { return list{in[0].CumSum(0)} }},
	{group: "order", name: "gather", cases: in(ir.F32, []int{1 << 20, 1 << 20}), cost: bytesEach(8+4, 4),
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s[1:]}, {t: ir.I64, shape: s[:1], below: s[1]}}
		},
		call: func(_ []int, in list) list { return list{in[0].Gather(0, in[1])} }},
	{group: "order", name: "scatter_add", cases: in(ir.F32, []int{1 << 20, 1 << 20}), gpu: in(ir.F32, []int{1 << 20, 1 << 20}), cost: bytesEach(8+4, 8),
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s[1:]}, {t: ir.I64, shape: s[:1], below: s[1]}, {t: t, shape: s[:1]}}
		},
		call: func(_ []int, in list) list { return list{in[0].ScatterAdd(0, in[1], in[2])} }},
	{group: "order", name: "gather_rows", cases: in(ir.F32, []int{16384, 50257, 64}), gpu: both([]int{8192, 50257, 768}),
		cost: func(s []int, t ir.DType) Cost {
			return Cost{Bytes: int64(s[0] * (2*s[2]*t.Size() + 8)), Moves: limit.Copy}
		},
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s[1:]}, {t: ir.I64, shape: s[:1], below: s[1]}}
		},
		call: func(_ []int, in list) list { return list{in[0].Gather(0, in[1])} }},
	{group: "order", name: "scatter_add_rows", cases: in(ir.F32, []int{16384, 50257, 64}), gpu: both([]int{8192, 50257, 768}),
		cost: func(s []int, t ir.DType) Cost {
			return Cost{Bytes: int64(s[0]*(s[2]*t.Size()+8) + 2*s[1]*s[2]*t.Size()), Moves: limit.Copy}
		},
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s[1:]}, {t: ir.I64, shape: s[:1], below: s[1]}, {t: t, shape: []int{s[0], s[2]}}}
		},
		call: func(_ []int, in list) list { return list{in[0].ScatterAdd(0, in[1], in[2])} }},
	{group: "order", name: "searchsorted", cases: []variant{{t: ir.I64, sizes: []int{1 << 20, 1000}}, {t: ir.I64, sizes: []int{1 << 20, 1 << 20}}}, cost: bytesEach(16, 8),
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s[1:], below: s[1]}, {t: t, shape: s[:1], below: s[1]}}
		},
		// What is not sorted takes as many steps, and gives some place.
		call: func(_ []int, in list) list { return list{in[0].SearchSorted(in[1], false)} }},
	{group: "order", name: "unique", cases: []variant{{t: ir.I64, sizes: []int{1 << 20, 1000}}, {t: ir.I64, sizes: []int{1 << 20, 1 << 40}}}, cost: bytesEach(16, 0),
		inputs: func(s []int, t ir.DType) []input { return []input{{t: t, shape: s[:1], below: s[1]}} },
		call: func(s []int, in list) list {
			values, inverse, counts, count := in[0].UniqueMax(min(s[0], s[1]))
			return list{values, inverse, counts, count}
		}},
	{group: "order", name: "logcumsumexp", cases: []variant{{t: ir.F32, sizes: million[0]}}, inputs: vector, cost: bytesEach(8, 0),
		call: func(_ []int, in list) list { return list{in[0].LogCumSumExp(0)} }},
}

var _ = (*sinter.Tensor)(nil)
