package ptxtest

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Skinny lists products of m×k by k×n in the forms that matter where m or n is small:
// types, layouts, batches, what goes before and follows them, and sums of -0.
func Skinny(m, k, n int64) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, axes, x, z, y string, order []int, pad int64, text string, more ...Arg) {
		extents := []int64{m, k, n}
		if len(axes) == 4 {
			extents = []int64{2, m, k, n}
		}
		in := []Arg{{Name: "x", Type: t, Axes: x, Fill: Normal}, {Name: "z", Type: t, Axes: z, Order: order, Pad: pad, Fill: Normal}}
		out = append(out, Spec{
			Name: fmt.Sprintf("skinny product %s %s %dx%dx%d", what, t, m, k, n), Kernel: fmt.Sprintf("skinny product %s %s", what, t), Class: "skinny",
			Axes: axes, Extents: extents, Compute: t.Compute(), In: append(in, more...), Out: []Arg{{Name: "y", Type: t.Compute(), Axes: y}}, Text: text,
		})
	}
	plain, turned := "y = reduce_dot(x, z)", []int{0, 2, 1}
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.I64, ir.F16} {
		add("plain", t, "prp", "sub", "bsu", "sbu", nil, 0, plain)
	}
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.F16} {
		add("transposed", t, "prp", "sub", "bus", "sbu", turned, 0, plain)
	}
	add("transposed and padded", ir.F32, "prp", "sub", "bus", "sbu", turned, 1, plain)
	add("both transposed", ir.F32, "prp", "usb", "bus", "sbu", turned, 0, plain)
	out[len(out)-1].In[0].Order = []int{1, 0, 2}
	add("backwards", ir.F32, "prp", "srb", "bsu", "sbu", nil, 0, plain)
	add("of one row repeated", ir.F32, "prp", "bub", "bsu", "sbu", nil, 0, plain)
	bias := Arg{Name: "b", Type: ir.F32, Axes: "bbu", Fill: Normal}
	add("with bias and relu", ir.F32, "prp", "sub", "bsu", "sbu", nil, 0, "y = max(reduce_dot(x, z) + b, 0)", bias)
	add("of maps", ir.F32, "prp", "sub", "bsu", "sbu", nil, 0, "y = reduce_dot(x * 2 + 1, z * s) * 0.5", Arg{Name: "s", Type: ir.F32, Axes: "bsb", Fill: Normal})
	add("of maps of the transposed", ir.F32, "prp", "sub", "bus", "sbu", turned, 0, "y = reduce_dot(x * a, z * s + b)",
		Arg{Name: "a", Type: ir.F32, Axes: "bub", Fill: Normal}, Arg{Name: "s", Type: ir.F32, Axes: "bub", Fill: Normal}, bias)
	add("of infinities outside", ir.F32, "prp", "sub", "bsu", "sbu", nil, 0, "y = reduce_dot(1 / x, 1 / z)")
	add("of -0", ir.F32, "prp", "sub", "bsu", "sbu", nil, 0, "y = reduce_dot(x * x * -1e-30, z * z * 1e-30)")
	add("of indices", ir.F32, "prp", "sub", "bus", "sbu", turned, 0, "")
	out[len(out)-1].Raw = func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
		sum := func(r kernel.Ref, axes ...int) kernel.Ref {
			for _, a := range axes {
				r = b.Op(kernel.OpAdd, ir.F32, r, b.Convert(b.Index(a), ir.F32))
			}
			return r
		}
		return []kernel.Ref{sum(b.Reduce(kernel.Dot, kernel.DotTree, sum(in[0], 0, 1), sum(in[1], 1, 2)), 0, 2)}
	}
	add("in batches", ir.F32, "pprp", "ssub", "sbsu", "ssbu", nil, 0, plain)
	add("in batches of one matrix", ir.F32, "pprp", "ssub", "sbus", "ssbu", []int{0, 1, 3, 2}, 0, plain)
	add("of two axes of rows", ir.F32, "pprp", "ssub", "bbsu", "ssbu", nil, 0, plain)
	return out
}

// VectorProducts lists products of vectors of k elements by matrices and vectors.
func VectorProducts(k, n int64) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, axes string, extents []int64, x, z, y string) {
		out = append(out, Spec{
			Name: fmt.Sprintf("%s %s %dx%d", what, t, k, n), Kernel: fmt.Sprintf("%s %s", what, t), Class: "skinny", Axes: axes, Extents: extents, Compute: t.Compute(),
			In:  []Arg{{Name: "x", Type: t, Axes: x, Fill: Normal}, {Name: "z", Type: t, Axes: z, Fill: Normal}},
			Out: []Arg{{Name: "y", Type: t.Compute(), Axes: y}}, Text: "y = reduce_dot(x, z)",
		})
	}
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.F16} {
		add("vector by matrix", t, "rp", []int64{k, n}, "ub", "su", "bu")
		add("matrix by vector", t, "pr", []int64{n, k}, "su", "bu", "ub")
	}
	add("vector by vector", ir.F32, "r", []int64{k}, "u", "u", "b")
	add("vectors by vectors", ir.F32, "pr", []int64{n, k}, "su", "su", "ub")
	return out
}

// BlockProducts lists products of m rows of x with n rows of codes of 4 bits, decoded in the
// kernel: blocks of two halves, which lie in the low and the high bits of size bytes, a
// scale for each block, and zero points or a row's own factor. Their group has three axes.
func BlockProducts(m, blocks, size, n int64) []Spec {
	var out []Spec
	add := func(what string, z Arg, more Arg, value func(b *kernel.Builder, code, scale, more kernel.Ref) kernel.Ref) {
		out = append(out, Spec{
			Name: fmt.Sprintf("codes by blocks %s %dx%dx%dx%d", what, m, blocks, size, n), Kernel: "codes by blocks " + what, Class: "skinny",
			Axes: "prrrp", Extents: []int64{m, blocks, 2, size, n}, Compute: ir.F32,
			In: []Arg{{Name: "x", Type: ir.F32, Axes: "sssub", Fill: Normal}, z, {Name: "s", Type: ir.U8, Axes: "bbubb"},
				{Name: "scale", Type: ir.F32, Axes: "bubbs", Order: []int{0, 4, 2, 3, 1}, Fill: Normal}, more},
			Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbbbu"}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				shift := b.Op(kernel.OpAnd, ir.U32, b.Convert(in[2], ir.U32), b.Const(ir.U32, 4))
				code := b.Op(kernel.OpAnd, ir.U32, b.Op(kernel.OpShr, ir.U32, b.Convert(in[1], ir.U32), shift), b.Const(ir.U32, 15))
				w := value(b, b.Convert(code, ir.F32), in[3], in[4])
				return []kernel.Ref{b.Reduce(kernel.Dot, kernel.DotTree, in[0], w)}
			},
		})
	}
	codes := Arg{Name: "z", Type: ir.U8, Axes: "bsbus", Order: []int{0, 4, 1, 2, 3}}
	affine := func(b *kernel.Builder, code, scale, zero kernel.Ref) kernel.Ref {
		return b.Op(kernel.OpMul, ir.F32, b.Op(kernel.OpSub, ir.F32, code, b.Convert(zero, ir.F32)), scale)
	}
	zero := Arg{Name: "zero", Type: ir.U8, Axes: "bubbs", Order: []int{0, 4, 2, 3, 1}}
	add("affine", codes, zero, affine)
	apart := codes
	apart.Offset = 3
	add("affine, not aligned", apart, zero, affine)
	add("by columns", Arg{Name: "z", Type: ir.U8, Axes: "bsbsu"}, zero, affine)
	add("of a row's factor", codes, Arg{Name: "factor", Type: ir.F32, Axes: "bbbbu", Fill: Normal}, func(b *kernel.Builder, code, scale, factor kernel.Ref) kernel.Ref {
		return b.Op(kernel.OpMul, ir.F32, b.Op(kernel.OpMul, ir.F32, code, scale), factor)
	})
	add("of infinite scales", codes, zero, func(b *kernel.Builder, code, scale, zero kernel.Ref) kernel.Ref {
		return b.Op(kernel.OpDiv, ir.F32, code, b.Op(kernel.OpSub, ir.F32, scale, scale))
	})
	return out
}
