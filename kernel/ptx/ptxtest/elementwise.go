package ptxtest

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var computeTypes = []ir.DType{ir.I32, ir.U32, ir.I64, ir.U64, ir.F32, ir.F64}

// Elementwise lists the cases without reductions. Every instruction is
// exercised on every type it takes, on n elements.
func Elementwise(n int64) []Spec {
	var out []Spec
	flat := func(t ir.DType, name string, f Fill) Arg { return Arg{Name: name, Type: t, Axes: "u", Fill: f} }
	line := func(class, name string, in []Arg, outs []ir.DType, raw func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref) {
		s := Spec{Name: name, Class: class, Axes: "p", Extents: []int64{n + 3}, In: in, Raw: raw}
		for _, t := range outs {
			s.Out = append(s.Out, flat(t, "", Patterns))
		}
		out = append(out, s)
	}
	op := func(t ir.DType, ops ...kernel.Op) func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
		return func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			var rs []kernel.Ref
			for _, o := range ops {
				rt := t
				if o >= kernel.OpEq && o <= kernel.OpLe {
					rt = ir.Bool
				}
				rs = append(rs, b.Op(o, rt, in[:o.Arity()]...))
			}
			return rs
		}
	}
	repeat := func(t ir.DType, n int) []ir.DType {
		r := make([]ir.DType, n)
		for i := range r {
			r[i] = t
		}
		return r
	}
	for _, t := range computeTypes {
		three := []Arg{flat(t, "x", Patterns), flat(t, "z", Patterns), flat(t, "w", Patterns)}
		binary := []kernel.Op{kernel.OpAdd, kernel.OpSub, kernel.OpMul, kernel.OpMin, kernel.OpMax}
		one := []kernel.Op{kernel.OpNeg, kernel.OpAbs}
		if t.IsFloat() {
			binary = append(binary, kernel.OpDiv, kernel.OpFma)
			one = append(one, kernel.OpSqrt, kernel.OpFloor, kernel.OpCeil, kernel.OpTrunc, kernel.OpRint)
		} else {
			binary = append(binary, kernel.OpAnd, kernel.OpOr, kernel.OpXor)
			one = append(one, kernel.OpNot)
			div := []Arg{flat(t, "x", Divisors), flat(t, "z", Divisors)}
			line("integer division", "division "+t.String(), div, repeat(t, 2), op(t, kernel.OpDiv, kernel.OpRem))
			shift := []Arg{flat(t, "x", Patterns), flat(t, "n", Patterns)}
			line("arithmetic", "shifts "+t.String(), shift, repeat(t, 2), op(t, kernel.OpShl, kernel.OpShr))
		}
		if t == ir.U32 {
			binary = append(binary, kernel.OpMulHi)
		}
		line("arithmetic", "binary "+t.String(), three, repeat(t, len(binary)), op(t, binary...))
		line("arithmetic", "unary "+t.String(), three[:1], repeat(t, len(one)), op(t, one...))
		line("comparison", "compare "+t.String(), []Arg{flat(t, "x", Small), flat(t, "z", Small)}, append(repeat(ir.Bool, 4), t),
			func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				rs := op(t, kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe)(b, in)
				return append(rs, b.Op(kernel.OpSelect, t, rs[2], in[0], in[1]))
			})
	}
	three := []Arg{flat(ir.Bool, "x", Patterns), flat(ir.Bool, "z", Patterns), flat(ir.Bool, "w", Patterns)}
	line("comparison", "bool", three, repeat(ir.Bool, 9), func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
		rs := op(ir.Bool, kernel.OpAnd, kernel.OpOr, kernel.OpXor, kernel.OpNot, kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe)(b, in)
		return append(rs, b.Op(kernel.OpSelect, ir.Bool, in[0], in[1], in[2]))
	})
	for _, from := range ir.DTypes() {
		var to []ir.DType
		for _, t := range ir.DTypes() {
			if t != from {
				to = append(to, t)
			}
		}
		fill := Patterns
		if from.Size() <= 2 {
			fill = Counting
		}
		line("conversion", "convert "+from.String(), []Arg{flat(from, "x", fill)}, to, func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			var rs []kernel.Ref
			for _, t := range to {
				rs = append(rs, b.Op(kernel.OpCvt, t, in[0]))
			}
			return rs
		})
	}
	out = append(out, layouts(n)...)
	out = append(out, gathers(n)...)
	return append(out, chains(n)...)
}

// chains are what fusion makes: several operations of one type, with rounding
// to storage between them.
func chains(n int64) []Spec {
	var out []Spec
	for _, t := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.F64} {
		c := t.Compute()
		in := func(name string) Arg { return Arg{Name: name, Type: t, Axes: "u", Fill: Patterns} }
		out = append(out, Spec{
			Name: "chain " + t.String(), Class: "chain", Axes: "p", Extents: []int64{n + 5},
			In: []Arg{in("x"), in("w"), in("b")}, Out: []Arg{{Type: t, Axes: "u"}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				round := func(r kernel.Ref) kernel.Ref { return b.Convert(b.Convert(r, t), c) }
				x, w, z := b.Convert(in[0], c), b.Convert(in[1], c), b.Convert(in[2], c)
				v := round(b.Op(kernel.OpAdd, c, round(b.Op(kernel.OpMul, c, x, w)), z))
				return []kernel.Ref{round(b.Op(kernel.OpMax, c, v, x))}
			},
		})
	}
	for _, t := range []ir.DType{ir.F16, ir.BF16} { // all that needs no f32
		in := func(name string) Arg { return Arg{Name: name, Type: t, Axes: "u", Fill: Patterns} }
		out = append(out, Spec{
			Name: "long chain " + t.String(), Class: "chain", Axes: "p", Extents: []int64{n + 5},
			In: []Arg{in("x"), in("w"), {Name: "b", Type: t, Axes: "b", Fill: Normal}}, Out: []Arg{{Type: t, Axes: "u"}, {Type: t, Axes: "u"}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				round := func(op kernel.Op, args ...kernel.Ref) kernel.Ref {
					return b.Convert(b.Convert(b.Op(op, ir.F32, args...), t), ir.F32)
				}
				x, w, z := b.Convert(in[0], ir.F32), b.Convert(in[1], ir.F32), b.Convert(in[2], ir.F32)
				half := b.Const(ir.F32, uint64(math.Float32bits(0.5)))
				v := round(kernel.OpMul, round(kernel.OpSub, x, w), half)
				v = round(kernel.OpNeg, round(kernel.OpMin, round(kernel.OpAbs, v), w))
				return []kernel.Ref{round(kernel.OpAdd, v, z), round(kernel.OpMul, x, w)}
			},
		})
	}
	for _, t := range []ir.DType{ir.I8, ir.U8} { // on words of four
		wide := map[ir.DType]ir.DType{ir.I8: ir.I32, ir.U8: ir.U32}[t]
		out = append(out, Spec{
			Name: "bits of bytes " + t.String(), Class: "chain", Axes: "pp", Extents: []int64{n/32 + 1, 37},
			In:  []Arg{{Name: "x", Type: t, Axes: "su", Fill: Counting, Pad: 27}, {Name: "w", Type: t, Axes: "su", Pad: 27}, {Name: "c", Type: t, Axes: "ub"}},
			Out: []Arg{{Type: t, Axes: "su", Pad: 27}, {Type: t, Axes: "su", Pad: 27}, {Type: t, Axes: "su", Pad: 27}, {Type: t, Axes: "su", Pad: 27}, {Type: ir.F32, Axes: "su", Pad: 27}, {Type: ir.BF16, Axes: "su", Pad: 27}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				do := func(op kernel.Op, x, y kernel.Ref) kernel.Ref {
					return b.Convert(b.Op(op, wide, b.Convert(x, wide), b.Convert(y, wide)), t)
				}
				x, w, c := in[0], in[1], in[2]
				a := do(kernel.OpAnd, x, w)
				o := do(kernel.OpXor, do(kernel.OpOr, a, c), b.Const(wide, 0x1f5))
				s := do(kernel.OpAnd, do(kernel.OpShr, x, c), b.Const(wide, 15))
				other := do(kernel.OpShr, c, o) // by no one count
				return []kernel.Ref{a, o, s, other, b.Convert(o, ir.F32), b.Convert(s, ir.BF16)}
			},
		})
	}
	for _, t := range []ir.DType{ir.I8, ir.U8, ir.I16, ir.U16} {
		out = append(out, Spec{
			Name: "chain " + t.String(), Class: "chain", Axes: "p", Extents: []int64{n + 5}, Compute: t.Compute(),
			In:  []Arg{{Name: "x", Type: t, Axes: "u"}, {Name: "w", Type: t, Axes: "u"}},
			Out: []Arg{{Name: "y", Type: t, Axes: "u"}}, Text: "y = x * w + x",
		})
	}
	out = append(out, Spec{
		Name: "rare block", Class: "chain", Axes: "p", Extents: []int64{n + 1}, Compute: ir.F32,
		In:  []Arg{{Name: "x", Type: ir.F32, Axes: "u"}},
		Out: []Arg{{Name: "y", Type: ir.F32, Axes: "u"}},
		Text: "m = abs(x) > 0x1p20; rare(m) { a = x * 0x1p-20; b = a * a; c = b + a; d = c * b; e = d + c; f = e * d; g = f + e; h = g * f; i = h + g }" +
			"; y = select(m, i, x + 1)",
	})
	return out
}

// Activations are chains of a half type around a function of one number, as large as one
// wants: of rows of the op table that are in it.
func Activations(extents ...int64) []Spec {
	var out []Spec
	for _, t := range []ir.DType{ir.BF16, ir.F16} {
		for _, name := range []string{"gelu", "silu"} {
			row := ir.Lookup(name)
			if row == nil {
				continue
			}
			axes, bias := "u", "u"
			if len(extents) == 2 {
				axes, bias = "su", "bu"
			}
			spec := Spec{
				Name: fmt.Sprintf("%s chain %s %v", name, t, extents), Kernel: fmt.Sprintf("%s chain %s", name, t), Class: "chain", Axes: "pp"[:len(extents)], Extents: extents,
				In:  []Arg{{Name: "x", Type: t, Axes: axes, Fill: Patterns}, {Name: "w", Type: t, Axes: axes, Fill: Normal}, {Name: "b", Type: t, Axes: bias, Fill: Patterns}},
				Out: []Arg{{Type: t, Axes: axes}},
			}
			spec.Raw = func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				round := func(r kernel.Ref) kernel.Ref { return b.Convert(b.Convert(r, t), ir.F32) }
				x, w, z := b.Convert(in[0], ir.F32), b.Convert(in[1], ir.F32), b.Convert(in[2], ir.F32)
				v := round(b.Op(kernel.OpAdd, ir.F32, round(b.Op(kernel.OpMul, ir.F32, x, w)), z))
				one := Spec{In: []Arg{{Name: row.Operands[0].Name, Type: ir.F32}}}
				y, err := expand(b, one, row.Program(ir.F32), []kernel.Ref{v})
				if err != nil {
					panic(err)
				}
				return []kernel.Ref{b.Op(kernel.OpMul, ir.F32, round(y), x)}
			}
			out = append(out, spec)
		}
	}
	return out
}

// layouts walk operands in every way.
func layouts(n int64) []Spec {
	text := "y = x * w + b"
	spec := func(name, axes string, extents []int64, in []Arg, o Arg) Spec {
		for i := range in {
			in[i].Name, in[i].Fill = [...]string{"x", "w", "b"}[i], Normal
			if in[i].Type == ir.Invalid {
				in[i].Type = ir.F32
			}
		}
		o.Name = "y"
		if o.Type == ir.Invalid {
			o.Type = ir.F32
		}
		return Spec{Name: name, Class: "layout", Axes: axes, Extents: extents, In: in, Out: []Arg{o}, Compute: ir.F32, Text: text}
	}
	rows := max(3, n/100)
	return []Spec{
		spec("no axes", "", nil, []Arg{{}, {}, {}}, Arg{}),
		spec("one element", "p", []int64{1}, []Arg{{Axes: "u"}, {Axes: "b"}, {Axes: "u"}}, Arg{Axes: "u"}),
		spec("scalar operand", "p", []int64{n}, []Arg{{Axes: "u"}, {Axes: "b"}, {Axes: "u"}}, Arg{Axes: "u"}),
		spec("misaligned", "p", []int64{n}, []Arg{{Axes: "u", Offset: 1}, {Axes: "u"}, {Axes: "u"}}, Arg{Axes: "u", Offset: 3}),
		spec("aligned offset", "p", []int64{n}, []Arg{{Axes: "u", Offset: 4}, {Axes: "u", Offset: 8}, {Axes: "u"}}, Arg{Axes: "u", Offset: 4}),
		spec("backwards", "p", []int64{n}, []Arg{{Axes: "r"}, {Axes: "u"}, {Axes: "u"}}, Arg{Axes: "u"}),
		spec("bias of rows", "pp", []int64{rows, 96}, []Arg{{Axes: "su"}, {Axes: "bu"}, {Axes: "sb"}}, Arg{Axes: "su"}),
		spec("bias of odd rows", "pp", []int64{rows, 37}, []Arg{{Axes: "su"}, {Axes: "bu"}, {Axes: "sb"}}, Arg{Axes: "su"}),
		spec("padded rows with tail", "pp", []int64{rows, 39}, []Arg{{Axes: "su", Pad: 1}, {Axes: "bu"}, {Axes: "su", Pad: 5}}, Arg{Axes: "su", Pad: 9}),
		spec("transposed", "pp", []int64{rows, 65}, []Arg{{Axes: "ss", Order: []int{1, 0}}, {Axes: "su"}, {Axes: "bb"}}, Arg{Axes: "su"}),
		spec("mixed types", "pp", []int64{rows, 64}, []Arg{{Axes: "su", Type: ir.BF16}, {Axes: "bu", Type: ir.F16}, {Axes: "su"}}, Arg{Axes: "su", Type: ir.BF16}),
		spec("four axes", "pppp", []int64{3, rows, 5, 12}, []Arg{{Axes: "sssu"}, {Axes: "bsbu"}, {Axes: "sbsb"}}, Arg{Axes: "sssu"}),
		spec("permuted", "ppp", []int64{7, rows, 9}, []Arg{{Axes: "sss", Order: []int{2, 0, 1}}, {Axes: "srs", Order: []int{1, 2, 0}}, {Axes: "ssu"}}, Arg{Axes: "ssu"}),
		{
			Name: "indices", Class: "layout", Axes: "pp", Extents: []int64{rows, 24},
			In: []Arg{{Type: ir.I64, Axes: "su"}}, Out: []Arg{{Type: ir.I64, Axes: "su"}},
			Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				at := b.Op(kernel.OpAdd, ir.I64, b.Op(kernel.OpMul, ir.I64, b.Index(0), b.Extent(1)), b.Index(1))
				return []kernel.Ref{b.Op(kernel.OpXor, ir.I64, in[0], at)}
			},
		},
	}
}

// gathers read at computed places, some of them outside.
func gathers(n int64) []Spec {
	const extent = 19
	index := func(b *kernel.Builder, v kernel.Ref) kernel.Ref {
		return b.Op(kernel.OpMul, ir.I64, v, b.Const(ir.I64, 2)) // -20 to 20
	}
	rows := max(3, n/100)
	return []Spec{{
		Name: "gather rows", Class: "gather", Axes: "pp", Extents: []int64{rows, 64},
		In:  []Arg{{Type: ir.I64, Axes: "sb", Fill: Small}, {Type: ir.F32, Axes: "bu", Fill: Normal, Gathered: extent}},
		Out: []Arg{{Type: ir.F32, Axes: "su"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Gather(1, index(b, in[0]))}
		},
	}, {
		Name: "gather elements", Class: "gather", Axes: "p", Extents: []int64{n},
		In:  []Arg{{Type: ir.I64, Axes: "u", Fill: Small}, {Type: ir.BF16, Axes: "b", Fill: Normal, Gathered: extent}},
		Out: []Arg{{Type: ir.BF16, Axes: "u"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Gather(1, index(b, in[0]))}
		},
	}, {
		Name: "gather rows and map", Class: "gather", Axes: "pr", Extents: []int64{rows, 384},
		In:  []Arg{{Type: ir.I64, Axes: "ub", Fill: Small}, {Type: ir.BF16, Axes: "bu", Fill: Normal, Gathered: extent}},
		Out: []Arg{{Type: ir.F32, Axes: "su"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			x := b.Convert(b.Gather(1, index(b, in[0])), ir.F32)
			return []kernel.Ref{b.Op(kernel.OpSub, ir.F32, x, b.Reduce(kernel.Max, kernel.StripedTree, x))}
		},
	}, {
		Name: "gather and sum", Class: "gather", Axes: "pr", Extents: []int64{rows, 300},
		In:  []Arg{{Type: ir.I64, Axes: "ub", Fill: Small}, {Type: ir.F32, Axes: "bu", Fill: Normal, Gathered: extent}},
		Out: []Arg{{Type: ir.F32, Axes: "ub"}},
		Raw: func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
			return []kernel.Ref{b.Reduce(kernel.Sum, kernel.StripedTree, b.Gather(1, index(b, in[0])))}
		},
	}}
}

// Rows lists a case for every elementwise row of the op table that has a
// program and no attributes, in every compute type it knows.
func Rows(n int64) []Spec {
	var out []Spec
	for _, row := range ir.Rows() {
		if row.Access != ir.Elementwise || len(row.Attrs) > 0 || row.Variadic || row.NumResults() != 1 || len(row.Operands) == 0 || len(row.Operands) > 3 {
			continue
		}
		for _, t := range append([]ir.DType{ir.Bool}, computeTypes...) {
			block := row.Program(t)
			if block == nil {
				continue
			}
			s := Spec{Name: fmt.Sprintf("row %s %s", row.Name, t), Class: "table", Axes: "p", Extents: []int64{n}}
			ok := true
			for _, o := range row.Operands {
				a := Arg{Name: o.Name, Type: t, Axes: "u"}
				if o.Class == ir.BoolClass {
					a.Type = ir.Bool
				} else if !o.Class.Has(t) {
					ok = false
				}
				s.In = append(s.In, a)
			}
			if !ok {
				continue
			}
			s.Out = []Arg{{Name: "y", Axes: "u"}}
			kind, err := resultType(s, block)
			if err != nil {
				continue // a body in terms of rows that are not in the table
			}
			s.Out[0].Type = kind
			s.Raw = func(b *kernel.Builder, in []kernel.Ref) []kernel.Ref {
				y, err := expand(b, s, block, in)
				if err != nil {
					panic(err)
				}
				return []kernel.Ref{y}
			}
			out = append(out, s)
		}
	}
	return out
}

func expand(b *kernel.Builder, s Spec, block *ir.Block, in []kernel.Ref) (kernel.Ref, error) {
	names := map[string]kernel.Ref{}
	t := ir.Bool
	for i, a := range s.In {
		names[a.Name] = in[i]
		if a.Type != ir.Bool {
			t = a.Type
		}
	}
	all, err := b.Expand(block, kernel.Env{T: t, Names: names})
	if err != nil {
		return kernel.None, err
	}
	y, ok := all["y"]
	if !ok {
		return kernel.None, fmt.Errorf("%s: no result", s.Name)
	}
	return y, nil
}

// resultType tries the body out.
func resultType(s Spec, block *ir.Block) (ir.DType, error) {
	b := kernel.NewBuilder("probe", []kernel.AxisKind{kernel.Parallel})
	var in []kernel.Ref
	for i, a := range s.In {
		b.AddArg(kernel.Arg{Type: a.Type, Access: []kernel.Access{kernel.Unit}})
		in = append(in, b.Load(i))
	}
	y, err := expand(b, s, block, in)
	if err != nil {
		return ir.Invalid, err
	}
	return b.Type(y), nil
}
