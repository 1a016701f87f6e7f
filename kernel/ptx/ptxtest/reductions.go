package ptxtest

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func kernelName(what string, t kernel.Tree) string { return what + " " + t.String() }

// softmaxText is a softmax over a stand-in for exp, so that the shape of the
// kernel does not depend on which rows the op table has.
const softmaxText = `m = reduce_max(x)
d = x - m
e = 1 / (1 + d * d)
s = reduce_sum(e)
y = e / s`

// trueSoftmax is the softmax of the op table, where exp is in it.
const trueSoftmax = `m = reduce_max(x)
e = exp(x - m)
s = reduce_sum(e)
y = e / s`

// Softmax is the text of a softmax with exp if the op table has it.
func Softmax() string {
	if ir.Lookup("exp") != nil {
		return trueSoftmax
	}
	return softmaxText
}

// LayerNorm is the text of a layer norm of x with scale g and shift b.
func LayerNorm() string { return layerNormText }

// layerNormText normalises with scale and shift.
const layerNormText = `n = count()
m = reduce_sum(x) / n
d = x - m
v = reduce_sum(d * d) / n
y = d / sqrt(v + 0x1p-10) * g + b`

// reduceAll has a prologue, an epilogue, and two reductions in one pass.
const reduceAll = `s = reduce_sum(x * 2 + 1)
y = s * 0.5
z = reduce_max(x)`

// LastAxis lists reductions over the last axis of rows×n.
func LastAxis(rows, n int64, tree kernel.Tree) []Spec {
	class := "last axis"
	name := func(what string, t ir.DType) string {
		return fmt.Sprintf("%s %s %dx%d %s", what, t, rows, n, tree)
	}
	x := func(t ir.DType, f Fill) []Arg { return []Arg{{Name: "x", Type: t, Axes: "su", Fill: f}} }
	y := func(t ir.DType, n ...string) []Arg {
		var out []Arg
		for _, n := range n {
			out = append(out, Arg{Name: n, Type: t, Axes: "ub"})
		}
		return out
	}
	return []Spec{{
		Name: name("sum", ir.F32), Kernel: kernelName("row sum f32", tree), Class: class, Axes: "pr", Extents: []int64{rows, n}, Compute: ir.F32, Tree: tree,
		In: x(ir.F32, Normal), Out: y(ir.F32, "y", "z"), Text: reduceAll,
	}, {
		Name: name("softmax", ir.F32), Kernel: kernelName("row softmax f32", tree), Class: "row program", Axes: "pr", Extents: []int64{rows, n}, Compute: ir.F32, Tree: tree,
		In: x(ir.F32, Normal), Out: []Arg{{Name: "y", Type: ir.F32, Axes: "su"}}, Text: softmaxText,
	}}
}

// LastAxisTypes covers kinds and types over a few shapes.
func LastAxisTypes(rows, n int64, tree kernel.Tree) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, f Fill, text string, o ir.DType) {
		out = append(out, Spec{
			Name: fmt.Sprintf("%s %s %dx%d %s", what, t, rows, n, tree), Kernel: kernelName("row "+what+" "+t.String(), tree), Class: "last axis", Axes: "pr", Extents: []int64{rows, n},
			Compute: t.Compute(), Tree: tree, In: []Arg{{Name: "x", Type: t, Axes: "su", Fill: f}},
			Out: []Arg{{Name: "y", Type: o, Axes: "ub"}}, Text: text,
		})
	}
	for _, t := range []ir.DType{ir.F16, ir.BF16, ir.F64, ir.I32, ir.I64, ir.U32, ir.U64, ir.I8} {
		add("sum", t, Normal, "reduce_sum(x)", t.Compute())
		add("max", t, Patterns, "reduce_max(x)", t.Compute())
	}
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U64} {
		add("prod", t, Normal, "reduce_prod(x)", t)
		add("min", t, Small, "reduce_min(x)", t)
		add("argmax", t, Small, "reduce_argmax(x)", ir.I64)
		add("argmin", t, Small, "reduce_argmin(x)", ir.I64)
	}
	for _, t := range []ir.DType{ir.F32, ir.F64} {
		add("m2", t, Normal, "reduce_m2(x)", t)
	}
	add("sum of specials", ir.F32, Patterns, "reduce_sum(x)", ir.F32)
	any := func(kind kernel.ReduceKind) func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
		return func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Reduce(kind, tree, in[0])}
		}
	}
	for _, k := range []kernel.ReduceKind{kernel.Max, kernel.Min} {
		out = append(out, Spec{
			Name: fmt.Sprintf("%s bool %dx%d", k, rows, n), Kernel: kernelName("row bool "+k.String(), tree), Class: "last axis", Axes: "pr", Extents: []int64{rows, n},
			In: []Arg{{Type: ir.Bool, Axes: "su"}}, Out: []Arg{{Type: ir.Bool, Axes: "ub"}}, Raw: any(k),
		})
	}
	for _, t := range []ir.DType{ir.F32, ir.BF16, ir.F64} {
		out = append(out, Spec{
			Name: fmt.Sprintf("layer norm %s %dx%d %s", t, rows, n, tree), Kernel: kernelName("row layer norm "+t.String(), tree), Class: "row program", Axes: "pr", Extents: []int64{rows, n},
			Compute: t.Compute(), Tree: tree,
			In:  []Arg{{Name: "x", Type: t, Axes: "su", Fill: Normal}, {Name: "g", Type: t, Axes: "bu", Fill: Normal}, {Name: "b", Type: t, Axes: "bu", Fill: Normal}},
			Out: []Arg{{Name: "y", Type: t, Axes: "su"}}, Text: layerNormText,
		})
	}
	return out
}

// ReduceLayouts reduces several axes, strided ones, and all there are.
func ReduceLayouts(n int64) []Spec {
	tree := kernel.StripedTree
	return []Spec{{
		Name: fmt.Sprintf("two reduced axes 5x%dx13", n), Class: "last axis", Axes: "prr", Extents: []int64{5, n, 13}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "ssu", Order: []int{1, 0, 2}, Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "ubb"}}, Text: "reduce_sum(x * x)",
	}, {
		Name: fmt.Sprintf("reduced axis outside %dx3", n), Class: "last axis", Axes: "rp", Extents: []int64{n, 3}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "su", Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "bu"}}, Text: "reduce_sum(x)",
	}, {
		Name: fmt.Sprintf("everything %d", n), Class: "last axis", Axes: "r", Extents: []int64{n}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "u", Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "b"}}, Text: "reduce_sum(x)",
	}, {
		Name: fmt.Sprintf("misaligned softmax 4x%d", n), Class: "row program", Axes: "pr", Extents: []int64{4, n}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "su", Pad: 3, Offset: 1, Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "su", Pad: 2}}, Text: softmaxText,
	}, {
		Name: fmt.Sprintf("softmax of columns of a transposed 4x%d", n), Class: "row program", Axes: "pr", Extents: []int64{4, n}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "ss", Order: []int{1, 0}, Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "ss", Order: []int{1, 0}}}, Text: softmaxText,
	}, {
		Name: fmt.Sprintf("map and sum in one 3x%d", n), Class: "row program", Axes: "pr", Extents: []int64{3, n}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "su", Fill: Normal}}, Out: []Arg{{Name: "a", Type: ir.F32, Axes: "su"}, {Name: "y", Type: ir.F32, Axes: "ub"}}, Text: "a = x * x; y = reduce_sum(a)",
	}, {
		Name: fmt.Sprintf("positions 2x%dx3", n), Class: "last axis", Axes: "prr", Extents: []int64{2, n, 3}, Tree: tree,
		In: []Arg{{Type: ir.I64, Axes: "ssu", Fill: Normal}}, Out: []Arg{{Type: ir.I64, Axes: "ubb"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			v := b.Op(kernel.OpMul, ir.I64, in[0], b.Op(kernel.OpAdd, ir.I64, b.Op(kernel.OpMul, ir.I64, b.Index(1), b.Extent(2)), b.Index(2)))
			return []kernel.Ref{b.Reduce(kernel.Sum, tree, b.Op(kernel.OpAdd, ir.I64, v, b.Index(0)))}
		},
	}}
}

// FirstAxis lists reductions over the first axis of n×cols.
func FirstAxis(n, cols int64, tree kernel.Tree) []Spec {
	name := func(what string) string { return fmt.Sprintf("%s f32 %dx%d %s", what, n, cols, tree) }
	x := []Arg{{Name: "x", Type: ir.F32, Axes: "su", Fill: Normal}}
	return []Spec{{
		Name: name("sum"), Kernel: kernelName("column sum f32", tree), Class: "first axis", Axes: "rp", Extents: []int64{n, cols}, Compute: ir.F32, Tree: tree,
		In: x, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "bu"}, {Name: "z", Type: ir.F32, Axes: "bu"}}, Text: reduceAll,
	}, {
		Name: name("softmax"), Kernel: kernelName("column softmax f32", tree), Class: "column program", Axes: "rp", Extents: []int64{n, cols}, Compute: ir.F32, Tree: tree,
		In: x, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "su"}}, Text: softmaxText,
	}}
}

// FirstAxisTypes covers kinds, types and a middle axis.
func FirstAxisTypes(n, cols int64, tree kernel.Tree) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, f Fill, text string, o ir.DType) {
		out = append(out, Spec{
			Name: fmt.Sprintf("%s %s %dx%d %s", what, t, n, cols, tree), Kernel: kernelName("column "+what+" "+t.String(), tree), Class: "first axis", Axes: "rp", Extents: []int64{n, cols},
			Compute: t.Compute(), Tree: tree, In: []Arg{{Name: "x", Type: t, Axes: "su", Fill: f}},
			Out: []Arg{{Name: "y", Type: o, Axes: "bu"}}, Text: text,
		})
	}
	for _, t := range []ir.DType{ir.BF16, ir.F16, ir.F64, ir.I32, ir.U64} {
		add("sum", t, Normal, "reduce_sum(x)", t.Compute())
		add("min", t, Patterns, "reduce_min(x)", t.Compute())
	}
	for _, t := range []ir.DType{ir.F32, ir.F64} {
		add("m2", t, Normal, "reduce_m2(x)", t)
		add("argmax", t, Small, "reduce_argmax(x)", ir.I64)
		add("prod", t, Normal, "reduce_prod(x)", t)
	}
	return append(out, Spec{
		Name: fmt.Sprintf("sum middle 3x%dx%d", n, cols), Class: "first axis", Axes: "prp", Extents: []int64{3, n, cols}, Compute: ir.F32, Tree: tree,
		In: []Arg{{Name: "x", Type: ir.F32, Axes: "ssu", Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}, Text: "reduce_sum(x * x) * 0.5",
	}, Spec{
		Name: fmt.Sprintf("layer norm of columns bf16 %dx%d", n, cols), Class: "column program", Axes: "rp", Extents: []int64{n, cols}, Compute: ir.F32, Tree: tree,
		In:  []Arg{{Name: "x", Type: ir.BF16, Axes: "su", Fill: Normal}, {Name: "g", Type: ir.F32, Axes: "bu", Fill: Normal}, {Name: "b", Type: ir.F32, Axes: "bu", Fill: Normal}},
		Out: []Arg{{Name: "y", Type: ir.BF16, Axes: "su"}}, Text: layerNormText,
	})
}
