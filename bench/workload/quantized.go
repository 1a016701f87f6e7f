package workload

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/ir"
)

// Products with quantized weights, which are bound by the bytes of codes and scales.

// quantizedMatrices are multiplied in turn, so that their bytes come from memory, as
// those of the layers of a model do.
const quantizedMatrices = 8

// quantizedScheme is 8 bits with a scale to each row of weights, or blocks with
// scales in f16.
func quantizedScheme(s []int) sinter.Scheme {
	if s[4] == 0 {
		return sinter.Scheme{Bits: s[3], Per: sinter.PerAxis}
	}
	return sinter.Scheme{Bits: s[3], Per: sinter.PerBlock, Block: s[4], Scale: sinter.F16}
}

func quantizedCost(s []int, _ ir.DType) Cost {
	scales := 4 * s[1]
	if s[4] > 0 {
		scales = 2 * s[1] * (s[2] / s[4])
	}
	return Cost{Bytes: int64(s[1]*s[2]*s[3]/8 + scales), Moves: limit.Read}
}

func quantizedLabel(s []int) string {
	label := fmt.Sprintf("%dx%dx%d/%dbits", s[0], s[1], s[2], s[3])
	if s[4] > 0 {
		label += fmt.Sprintf("/block%d", s[4])
	}
	return label
}

// quantizedOperands makes x and the matrices.
func quantizedOperands(s []int, t ir.DType, d *sinter.Device) (x *sinter.Tensor, weights []*sinter.Quantized) {
	on := sinter.On(d)
	x = input{t: t, shape: []int{s[0], s[2]}}.make(on, 1)
	for i := range quantizedMatrices {
		w := input{t: t, shape: []int{s[1], s[2]}}.make(on, uint64(2+i))
		weights = append(weights, w.Quantize(quantizedScheme(s)))
		w.Release()
	}
	return x, weights
}

// multiplyDynamic multiplies x with one matrix after the other.
func multiplyDynamic(s []int, t ir.DType, d *sinter.Device) stateStep {
	x, weights := quantizedOperands(s, t, d)
	next := 0
	return func(s *sinter.Scope) ([]*sinter.Tensor, error) {
		q := weights[next]
		next = (next + 1) % len(weights)
		return list{q.In(s).LinearDynamic(s.In(x))}, nil
	}
}

// multiplyCodes multiplies x with all matrices, which are decoded on the way.
func multiplyCodes(s []int, t ir.DType, d *sinter.Device) stateStep {
	x, weights := quantizedOperands(s, t, d)
	return func(s *sinter.Scope) ([]*sinter.Tensor, error) {
		var out list
		for _, q := range weights {
			out = append(out, q.In(s).Linear(s.In(x)))
		}
		return out, nil
	}
}

// Sizes are rows of x, outputs, inputs, bits, and the block or 0.
var quantizedProducts = []op{
	{group: "products", name: "linear_dynamic", label: quantizedLabel, cost: quantizedCost, state: multiplyDynamic,
		cases: in(ir.F32, []int{1, 4096, 4096, 4, 32}, []int{1, 4096, 4096, 8, 0}, []int{1, 4096, 4096, 8, 32}, []int{1, 4096, 4096, 4, 128}, []int{4, 4096, 4096, 4, 32})},
	{group: "products", name: "linear_codes", label: quantizedLabel, state: multiplyCodes, tiny: []int{2, 32, 64, 4, 32},
		gpu: in(ir.BF16, []int{1, 4096, 4096, 4, 32}, []int{1, 4096, 4096, 8, 0}, []int{1, 14336, 4096, 4, 128}, []int{16, 4096, 4096, 4, 32}),
		cost: func(s []int, t ir.DType) Cost {
			c := quantizedCost(s, t)
			c.Bytes *= quantizedMatrices
			return c
		}},
}
