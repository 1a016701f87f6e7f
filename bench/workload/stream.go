package workload

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/nn/fn"
	"github.com/sinter-go/sinter/optim"
)

// Workloads that read their operands once, in order.

var vectors = in(ir.F32, []int{1 << 20}, []int{1 << 12}, []int{256 << 10}, []int{16 << 20})

// onGPU is vectors that are far larger than a GPU's cache, and one that takes as long
// as it takes to launch a kernel.
var onGPU = append(both([]int{1 << 28}), variant{t: ir.F32, sizes: []int{1 << 20}})

// moves is the cost of n tensors of the elements, read or written.
func moves(n int) func([]int, ir.DType) Cost {
	return func(sizes []int, t ir.DType) Cost {
		return Cost{Bytes: int64(n) * int64(product(sizes)) * int64(t.Size()), Moves: limit.Copy}
	}
}

func product(sizes []int) int {
	n := 1
	for _, s := range sizes {
		n *= s
	}
	return n
}

// tensors is inputs of one shape.
func tensors(n int) func([]int, ir.DType) []input {
	return func(sizes []int, t ir.DType) []input {
		out := make([]input, n)
		for i := range out {
			out[i] = input{t: t, shape: sizes}
		}
		return out
	}
}

type list = []*sinter.Tensor

func mulAdd(in list) *sinter.Tensor { return in[0].Mul(in[1]).Add(in[2]) }

var elementwise = []op{
	{group: "elementwise", name: "relu_mul_add", cases: vectors, gpu: onGPU, inputs: tensors(3), cost: moves(4),
		call: func(_ []int, in list) list { return list{mulAdd(in).Relu()} }},
	{group: "elementwise", name: "gelu_erf_mul", cases: vectors, gpu: onGPU, inputs: tensors(3), cost: moves(4),
		call: func(_ []int, in list) list { return list{mulAdd(in).Gelu().Mul(in[0])} }},
	{group: "elementwise", name: "gelu_tanh_mul", cases: vectors, inputs: tensors(3), cost: moves(4),
		call: func(_ []int, in list) list { return list{mulAdd(in).GeluTanh().Mul(in[0])} }},
	{group: "elementwise", name: "sigmoid", cases: vectors, inputs: tensors(1), cost: moves(2),
		call: func(_ []int, in list) list { return list{in[0].Sigmoid()} }},
	{group: "elementwise", name: "adam", cases: vectors, gpu: in(ir.F32, []int{1 << 24}), cost: moves(7), state: adam},
	{group: "elementwise", name: "chain10", cases: in(ir.F32, []int{1 << 20}), gpu: in(ir.F32, []int{1 << 24}), inputs: tensors(3), cost: moves(4),
		call: func(_ []int, in list) list {
			return list{mulAdd(in).Relu().Mul(0.5).Sub(in[1]).Abs().Add(1).Maximum(in[2]).Mul(in[0]).Neg()}
		}},
}

// copying is no workload but what others are compared with: a kernel that reads and
// writes, and computes next to nothing.
var copying = op{group: "elementwise", name: "copy", inputs: tensors(1), cost: moves(2),
	call: func(_ []int, in list) list { return list{in[0].Neg()} }}

// Copy is a kernel that reads and writes so many bytes in all, half of them each.
func Copy(bytes int64) *Workload {
	return copying.workload(variant{t: ir.F32, sizes: []int{int(max(bytes/8, 1))}})
}

// adam steps one parameter with the same gradient.
func adam(sizes []int, t ir.DType, d *sinter.Device) stateStep {
	on := sinter.On(d)
	p := nn.Named{Name: "p", Var: sinter.NewVar(input{t: t, shape: sizes}.make(on, 1))}
	grad := input{t: t, shape: sizes}.make(on, 2)
	rule := optim.NewAdam([]nn.Named{p}, optim.Constant(1e-4))
	return func(s *sinter.Scope) ([]*sinter.Tensor, error) { return nil, rule.Step(list{s.In(grad)}) }
}

var (
	matrices      = [][]int{{1024, 1024, 1}, {4096, 768, 1}, {64, 50257, 1}, {1024, 1024, 0}}
	matricesOnGPU = both([]int{16384, 4096, 1}, []int{4096, 768, 1}, []int{64, 50257, 1})
)

// matrix is inputs of rows and columns, the first of which has vectors along the
// axis as company.
func matrix(companions int) func([]int, ir.DType) []input {
	return func(sizes []int, t ir.DType) []input {
		out := []input{{t: t, shape: sizes[:2]}}
		for range companions {
			out = append(out, input{t: t, shape: []int{sizes[sizes[2]]}, constant: true})
		}
		return out
	}
}

// passes is the cost of reading a matrix, or of reading and writing it.
func passes(n int, kind limit.Kind) func([]int, ir.DType) Cost {
	return func(sizes []int, t ir.DType) Cost {
		return Cost{Bytes: int64(n) * int64(sizes[0]) * int64(sizes[1]) * int64(t.Size()), Moves: kind}
	}
}

// axisLabel is "1024x1024", with the axis unless it is the last one.
func axisLabel(sizes []int) string {
	if len(sizes) < 3 {
		return times(sizes...)
	}
	if sizes[2] == 1 {
		return times(sizes[:2]...)
	}
	return fmt.Sprintf("%s/axis%d", times(sizes[:2]...), sizes[2])
}

const epsilon = 1e-5

var rows = []op{
	{group: "rows", name: "softmax", label: axisLabel, cases: in(ir.F32, matrices...), gpu: matricesOnGPU, inputs: matrix(0), cost: passes(2, limit.Copy),
		call: func(s []int, in list) list { return list{in[0].Softmax(s[2])} }},
	{group: "rows", name: "log_softmax", label: axisLabel, cases: in(ir.F32, matrices...), inputs: matrix(0), cost: passes(2, limit.Copy),
		call: func(s []int, in list) list { return list{in[0].LogSoftmax(s[2])} }},
	{group: "rows", name: "layer_norm", label: axisLabel, cases: in(ir.F32, matrices[:3]...), gpu: matricesOnGPU, inputs: matrix(2), cost: passes(2, limit.Copy),
		call: func(_ []int, in list) list { return list{fn.LayerNorm(in[0], in[1], in[2], epsilon)} }},
	{group: "rows", name: "rms_norm", label: axisLabel, cases: in(ir.F32, matrices[:3]...), gpu: matricesOnGPU, inputs: matrix(1), cost: passes(2, limit.Copy),
		call: func(_ []int, in list) list { return list{fn.RMSNorm(in[0], in[1], epsilon)} }},
	{group: "rows", name: "cross_entropy", cases: in(ir.F32, []int{1024, 1024}, []int{4096, 768}, []int{64, 50257}),
		gpu: both([]int{16384, 4096}, []int{4096, 768}, []int{64, 50257}), cost: passes(1, limit.Read),
		inputs: func(s []int, t ir.DType) []input {
			return []input{{t: t, shape: s}, {t: ir.I64, shape: s[:1], below: s[1]}}
		},
		call: func(_ []int, in list) list { return list{nn.CrossEntropy(in[0], in[1])} }},
}

var reduced = in(ir.F32, []int{1 << 20}, []int{16 << 20}, []int{1024, 1024, 1}, []int{1024, 1024, 0})

var wide = []int{16384, 4096, 1}

func reducible(sizes []int, t ir.DType) []input {
	return []input{{t: t, shape: sizes[:min(len(sizes), 2)]}}
}

func reading(sizes []int, t ir.DType) Cost {
	return Cost{Bytes: int64(product(sizes[:min(len(sizes), 2)])) * int64(t.Size()), Moves: limit.Read}
}

// over makes a reduction of all elements, or along the axis that sizes name.
func over(f func(x *sinter.Tensor, over ...sinter.Axes) *sinter.Tensor) func([]int, list) list {
	return func(sizes []int, in list) list {
		if len(sizes) < 3 {
			return list{f(in[0])}
		}
		return list{f(in[0], sinter.Over(sizes[2]))}
	}
}

var reductions = []op{
	{group: "reductions", name: "sum", label: axisLabel, cases: reduced, gpu: both(wide, []int{16384, 4096, 0}), inputs: reducible, cost: reading, call: over((*sinter.Tensor).Sum)},
	{group: "reductions", name: "mean", label: axisLabel, cases: reduced, gpu: in(ir.F32, wide), inputs: reducible, cost: reading, call: over((*sinter.Tensor).Mean)},
	{group: "reductions", name: "max", label: axisLabel, cases: reduced, gpu: in(ir.F32, wide), inputs: reducible, cost: reading, call: over((*sinter.Tensor).Max)},
	{group: "reductions", name: "argmax", label: axisLabel, cases: reduced, inputs: reducible, cost: reading,
		call: func(s []int, in list) list {
			if len(s) < 3 {
				return list{in[0].ArgMax(0)}
			}
			return list{in[0].ArgMax(s[2])}
		}},
}
