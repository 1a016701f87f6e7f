package ptxtest

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Products lists products of m×k by k×n: layouts, types, prologues and epilogues.
func Products(m, k, n int64) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, x, z string, order []int, text string, more []Arg, outs ...Arg) {
		in := []Arg{{Name: "x", Type: t, Axes: x, Fill: Normal}, {Name: "z", Type: t, Axes: z, Order: order, Fill: Normal}}
		if outs == nil {
			outs = []Arg{{Name: "y", Type: t.Compute(), Axes: "sbu"}}
		}
		out = append(out, Spec{
			Name: fmt.Sprintf("product %s %s %dx%dx%d", what, t, m, k, n), Kernel: fmt.Sprintf("product %s %s", what, t), Class: "product",
			Axes: "prp", Extents: []int64{m, k, n}, Compute: t.Compute(), In: append(in, more...), Out: outs, Text: text,
		})
	}
	plain := "y = reduce_dot(x, z)"
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.F16} {
		add("plain", t, "sub", "bsu", nil, plain, nil)
	}
	add("transposed", ir.F32, "sub", "bus", []int{0, 2, 1}, plain, nil)
	add("backwards", ir.F32, "srb", "bsu", nil, plain, nil)
	add("of one row repeated", ir.F32, "bub", "bsu", nil, plain, nil)
	add("with bias and relu", ir.F32, "sub", "bsu", nil, "y = max(reduce_dot(x, z) + b, 0)", []Arg{{Name: "b", Type: ir.F32, Axes: "bbu", Fill: Normal}})
	add("of maps", ir.F32, "sub", "bsu", nil, "y = reduce_dot(x * 2 + 1, z * s) * 0.5", []Arg{{Name: "s", Type: ir.F32, Axes: "bsb", Fill: Normal}})
	add("of what is not 0", ir.F32, "sub", "bsu", nil, "y = reduce_dot(max(x, 0), select(max(x, 0) == 0, 0, z)) + 0", nil)
	add("with turned results", ir.F32, "sub", "bsu", nil, plain, nil, Arg{Name: "y", Type: ir.F32, Axes: "ubs", Order: []int{2, 1, 0}})
	add("with an operand repeated along the group", ir.F32, "sbb", "bsu", nil, plain, nil)
	add("with the other repeated along the group", ir.F32, "sub", "bbu", nil, plain, nil)
	add("with two results", ir.F32, "sub", "bsu", nil, "y = reduce_dot(x, z)\nw = y * y", nil,
		Arg{Name: "y", Type: ir.F32, Axes: "sbu"}, Arg{Name: "w", Type: ir.F16, Axes: "sbu"})
	return out
}

// Scans lists scans along the last axis and the first.
func Scans(rows, n int64) []Spec {
	var out []Spec
	add := func(what string, t ir.DType, f Fill, text string) {
		for _, first := range []bool{false, true} {
			s := Spec{
				Name: fmt.Sprintf("scan %s %s %dx%d", what, t, rows, n), Kernel: fmt.Sprintf("scan %s %s", what, t), Class: "scan",
				Axes: "pr", Extents: []int64{rows, n}, Compute: t.Compute(), Text: text,
				In: []Arg{{Name: "x", Type: t, Axes: "su", Fill: f}}, Out: []Arg{{Name: "y", Type: t.Compute(), Axes: "su"}},
			}
			if first {
				s.Name, s.Kernel, s.Axes, s.Extents = "first axis: "+s.Name, "first axis "+s.Kernel, "rp", []int64{n, rows}
			}
			out = append(out, s)
		}
	}
	for _, t := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.I64, ir.F16} {
		add("sum", t, Normal, "y = scan_sum(x)")
	}
	add("sum of specials", ir.F32, Patterns, "y = scan_sum(x)")
	add("product", ir.F32, Normal, "y = scan_prod(x)")
	add("max", ir.F32, Patterns, "y = scan_max(x)")
	add("min", ir.I32, Patterns, "y = scan_min(x)")
	add("of a scan", ir.F32, Normal, "a = scan_sum(x * 0.5)\ny = scan_max(a * x) + a")
	add("beside a maximum", ir.F32, Normal, "y = scan_sum(x - reduce_max(x))")
	return out
}

// Matrices lists products of matrices of bf16 and, behind them, of f16: m×k by k×n, in all orders of storage, with
// what goes before and follows them, in batches, and of vectors.
func Matrices(m, k, n int64) []Spec {
	var out []Spec
	for _, t := range []ir.DType{ir.BF16, ir.F16} {
		for _, turn := range []string{"nn", "nt", "tn", "tt"} {
			x := Arg{Name: "x", Type: t, Axes: "sub", Fill: Normal}
			z := Arg{Name: "z", Type: t, Axes: "bsu", Fill: Normal}
			if turn[0] == 't' {
				x.Axes, x.Order = "usb", []int{1, 0, 2}
			}
			if turn[1] == 't' {
				z.Axes, z.Order = "bus", []int{0, 2, 1}
			}
			s := Spec{Name: fmt.Sprintf("matrix %s %s %dx%dx%d", turn, t, m, k, n), Kernel: fmt.Sprintf("matrix %s %s", turn, t), Class: "matrix",
				Axes: "prp", Extents: []int64{m, k, n}, Compute: ir.F32, In: []Arg{x, z}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}, Text: "y = reduce_dot(x, z)"}
			out = append(out, s)
			if turn != "nn" {
				continue
			}
			s.Name, s.Kernel = "rounded "+s.Name, "rounded "+s.Kernel
			s.Out = []Arg{{Name: "y", Type: t, Axes: "sbu"}}
			out = append(out, s)
			s.Name, s.Kernel = "biased "+s.Name, "biased "+s.Kernel
			s.In = append(s.In[:2:2], Arg{Name: "b", Type: t, Axes: "bbu", Fill: Normal})
			s.Text = "y = max(reduce_dot(x, z) + b, 0)"
			out = append(out, s)
			scaled := s
			scaled.Name, scaled.Kernel, scaled.Text = "scaled "+s.Name, "scaled "+s.Kernel, "y = reduce_dot(x * s, z)"
			scaled.In = append(s.In[:2:2], Arg{Name: "s", Type: t, Axes: "bub", Fill: Normal})
			out = append(out, scaled)
			x.Axes, z.Axes = "ssub", "sbsu"
			out = append(out, Spec{Name: fmt.Sprintf("batch of matrices %s %dx%dx%d", t, m, k, n), Kernel: fmt.Sprintf("batch of matrices %s", t), Class: "matrix",
				Axes: "pprp", Extents: []int64{3, m, k, n}, Compute: ir.F32, In: []Arg{x, z}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "ssbu"}}, Text: "y = reduce_dot(x, z)"})
			x.Axes, z.Axes = "bub", "bsu"
			out = append(out, Spec{Name: fmt.Sprintf("row by matrix %s %dx%d", t, k, n), Kernel: fmt.Sprintf("row by matrix %s", t), Class: "matrix",
				Axes: "prp", Extents: []int64{1, k, n}, Compute: ir.F32, In: []Arg{x, z}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}, Text: "y = reduce_dot(x, z)"})
		}
		out = append(out, surroundedMatrices(t, m, k, n)...)
	}
	return out
}

// surroundedMatrices are products with more before and behind them, or along more axes.
func surroundedMatrices(t ir.DType, m, k, n int64) []Spec {
	in := func(name, axes string, order ...int) Arg {
		return Arg{Name: name, Type: t, Axes: axes, Order: order, Fill: Normal}
	}
	x, z, b := in("x", "sub"), in("z", "bsu"), in("b", "bbu")
	out := []Spec{{
		Name: "gelu of a biased matrix", Axes: "prp", Extents: []int64{m, k, n}, In: []Arg{x, z, b}, Out: []Arg{{Name: "y", Type: t, Axes: "sbu"}},
		Text: "v = reduce_dot(x, z) + b\ny = v * 0.5 * (1 + erf(v * 0x1.6a09e6p-1))",
	}, {
		Name: "matrix added to another, in two types", Axes: "prp", Extents: []int64{m, k, n},
		In: []Arg{x, z, {Name: "r", Type: ir.F32, Axes: "sbu", Fill: Normal}}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}, {Name: "w", Type: ir.F16, Axes: "sbu"}},
		Text: "y = reduce_dot(x, z) * 0.5 + r\nw = max(y, 0)",
	}, {
		Name: "matrix with turned results", Axes: "prp", Extents: []int64{m, k, n}, In: []Arg{x, z}, Out: []Arg{{Name: "y", Type: t, Axes: "ubs", Order: []int{2, 1, 0}}},
		Text: "y = reduce_dot(x, z)",
	}, {
		Name: "matrix by one repeated along the group", Axes: "prp", Extents: []int64{m, k, n}, In: []Arg{in("x", "ubb"), z}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}},
		Text: "y = reduce_dot(x, z)",
	}, {
		Name: "matrix backwards", Axes: "prp", Extents: []int64{m, k, n}, In: []Arg{in("x", "rub"), in("z", "bru")}, Out: []Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}},
		Text: "y = reduce_dot(x, z)",
	}, {
		Name: "matrix of rows along two axes", Axes: "pprp", Extents: []int64{2, m, k, n}, In: []Arg{in("x", "ssub"), in("z", "bbus", 0, 1, 3, 2)}, Out: []Arg{{Name: "y", Type: t, Axes: "ssbu"}},
		Text: "y = reduce_dot(x, z)",
	}, {
		Name: "matrix by a vector", Axes: "pr", Extents: []int64{m, k}, In: []Arg{in("x", "su"), in("z", "bu"), in("b", "ub")}, Out: []Arg{{Name: "y", Type: t, Axes: "ub"}},
		Text: "y = max(reduce_dot(x, z) + b, 0)",
	}, {
		Name: "vector by a vector", Axes: "r", Extents: []int64{k}, In: []Arg{in("x", "u"), in("z", "u")}, Out: []Arg{{Name: "y", Type: t, Axes: "b"}},
		Text: "y = reduce_dot(x, z) * 0.5",
	}, {
		Name: "batches along two axes", Axes: "ppprp", Extents: []int64{2, 2, m, k, n}, In: []Arg{in("x", "sssub"), in("z", "ssbsu")}, Out: []Arg{{Name: "y", Type: t, Axes: "sssbu"}},
		Text: "y = reduce_dot(x, z)",
	}}
	return finish(out, t, fmt.Sprintf("%dx%dx%d", m, k, n))
}
