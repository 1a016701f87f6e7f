package ptxtest

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// CodedMatrices lists products of matrices of t whose second operand, or first one, is
// computed from codes: m×k by k×n, with a scale to each line and codes of 8 bits, and with
// scales and zero points to each block of codes of 8 or 4 bits. k is a multiple of the block,
// and the block of 2.
func CodedMatrices(t ir.DType, m, k, n, block int64) []Spec {
	kind := map[ir.DType]kernel.ReduceKind{ir.BF16: kernel.PairDot, ir.F16: kernel.HalfDot}[t]
	// product decodes what follows the first operand of the loads.
	product := func(swap bool, decode func(b *kernel.Builder, in []kernel.Ref) kernel.Ref) func(*kernel.Builder, []kernel.Ref) []kernel.Ref {
		return func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			x, z := in[0], b.Convert(decode(b, in[1:]), t)
			if swap {
				x, z = z, x
			}
			return []kernel.Ref{b.Reduce(kind, kernel.DotTree, x, z)}
		}
	}
	wide := func(b *kernel.Builder, r kernel.Ref) kernel.Ref { return b.Convert(r, ir.F32) }
	times := func(b *kernel.Builder, code, scale kernel.Ref) kernel.Ref { // with numbers around 1
		return b.Op(kernel.OpMul, ir.F32, b.Op(kernel.OpMul, ir.F32, code, wide(b, scale)), b.Const(ir.F32, uint64(math.Float32bits(0x1p-7))))
	}
	scaled := func(b *kernel.Builder, in []kernel.Ref) kernel.Ref {
		return times(b, wide(b, in[0]), in[1])
	}
	affine := func(b *kernel.Builder, in []kernel.Ref) kernel.Ref {
		return times(b, b.Op(kernel.OpSub, ir.F32, wide(b, in[0]), wide(b, in[2])), in[1])
	}
	halves := func(b *kernel.Builder, in []kernel.Ref) kernel.Ref {
		shift := b.Op(kernel.OpMul, ir.U32, b.Convert(in[3], ir.U32), b.Const(ir.U32, 4)) // the second half lies in the high bits
		word := b.Op(kernel.OpShr, ir.U32, b.Convert(in[0], ir.U32), b.Convert(b.Convert(shift, ir.U8), ir.U32))
		code := b.Op(kernel.OpAnd, ir.U32, b.Convert(b.Convert(word, ir.U8), ir.U32), b.Const(ir.U32, 15))
		return affine(b, []kernel.Ref{b.Convert(code, ir.U8), in[1], in[2]})
	}
	out := []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}
	specs := []Spec{{
		Name: "codes of 8 bits", Axes: "prp", Extents: []int64{m, k, n}, Out: out, Raw: product(false, scaled),
		In: []Arg{{Type: t, Axes: "sub", Fill: Normal}, {Type: ir.I8, Axes: "bus", Order: []int{0, 2, 1}}, {Type: ir.F32, Axes: "bbu", Fill: Normal}},
	}, {
		Name: "codes of 8 bits by a matrix", Axes: "prp", Extents: []int64{n, k, m}, Out: out, Raw: product(true, scaled),
		In: []Arg{{Type: t, Axes: "bus", Order: []int{0, 2, 1}, Fill: Normal}, {Type: ir.I8, Axes: "sub"}, {Type: ir.F32, Axes: "ubb", Fill: Normal}},
	}, {
		Name: "batch of codes of 8 bits", Axes: "pprp", Extents: []int64{2, m, k, n}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "ssbu"}}, Raw: product(false, scaled),
		In: []Arg{{Type: t, Axes: "ssub", Fill: Normal}, {Type: ir.I8, Axes: "sbus", Order: []int{0, 1, 3, 2}}, {Type: ir.BF16, Axes: "sbbu", Fill: Normal}},
	}}
	blocks := []int64{m, k / block, block, n}
	at := Arg{Type: ir.F16, Axes: "bubs", Order: []int{0, 2, 3, 1}, Fill: Normal}
	zero := at
	zero.Type, zero.Fill = ir.U8, Patterns
	specs = append(specs, Spec{
		Name: "blocks of codes of 8 bits", Axes: "prrp", Extents: blocks, Out: []Arg{{Name: "y", Type: t, Axes: "sbbu"}}, Raw: product(false, affine),
		In: []Arg{{Type: t, Axes: "ssub", Fill: Normal}, {Type: ir.U8, Axes: "bsus", Order: []int{0, 3, 1, 2}}, at, zero},
	})
	at.Axes, at.Order = "bubbs", []int{0, 2, 3, 4, 1}
	zero.Axes, zero.Order = at.Axes, at.Order
	return finish(append(specs, Spec{
		Name: "blocks of codes of 4 bits", Axes: "prrrp", Extents: []int64{m, k / block, 2, block / 2, n}, Out: []Arg{{Name: "y", Type: t, Axes: "sbbbu"}}, Raw: product(false, halves),
		In: []Arg{{Type: t, Axes: "sssub", Fill: Normal}, {Type: ir.U8, Axes: "bsbus", Order: []int{0, 2, 4, 1, 3}}, at, zero, {Type: ir.U8, Axes: "bbubb", Fill: Counting}},
	}), t, fmt.Sprintf("%dx%dx%d in blocks of %d", m, k, n, block))
}

// finish gives specs the names of their kernels, and their own.
func finish(specs []Spec, t ir.DType, size string) []Spec {
	for i := range specs {
		s := &specs[i]
		s.Kernel, s.Class, s.Compute = fmt.Sprintf("%s %s", s.Name, t), "matrix", ir.F32
		s.Name = s.Kernel + " " + size
	}
	return specs
}
