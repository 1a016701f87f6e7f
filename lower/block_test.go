package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// draft writes a program for tests: inputs, rows by name, and what is stored.
type draft struct {
	t testing.TB
	d ir.DType // of the inputs
	p ir.Program
	n ir.ID
}

func (b *draft) define(t ir.Type) ir.Tensor {
	b.n++
	return ir.Tensor{ID: b.n, Type: t}
}

func (b *draft) in(shape ...int) ir.Tensor {
	x := b.define(ir.Type{DType: b.d, Shape: shape})
	b.p.Inputs = append(b.p.Inputs, x)
	return x
}

func (b *draft) indices(shape ...int) ir.Tensor {
	x := b.define(ir.Type{DType: ir.I64, Shape: shape})
	b.p.Inputs = append(b.p.Inputs, x)
	return x
}

// do applies a row to operands; what is not a tensor begins the attributes.
func (b *draft) do(name string, args ...any) ir.Tensor {
	b.t.Helper()
	var in []ir.Tensor
	for len(args) > 0 {
		x, ok := args[0].(ir.Tensor)
		if !ok {
			break
		}
		in, args = append(in, x), args[1:]
	}
	r := ir.Lookup(name)
	a, err := r.MakeAttrs(ir.A(args...))
	if err != nil {
		b.t.Fatal(err)
	}
	n := ir.Node{Row: r, Attrs: a, In: in}
	types, err := ir.Infer(r, n.InTypes(), a)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, t := range types {
		n.Out = append(n.Out, b.define(t))
	}
	b.p.Nodes = append(b.p.Nodes, n)
	return n.Out[0]
}

func (b *draft) number(v float64) ir.Tensor {
	return b.do("full", "shape", []int{}, "dtype", b.d, "value", ir.MakeScalar(b.d, v))
}

func (b *draft) slice(x ir.Tensor, starts, sizes, steps []int) ir.Tensor {
	return b.do("slice", x, "starts", starts, "sizes", sizes, "steps", steps)
}

// keep reduces with the reduced axes kept.
func (b *draft) keep(name string, x ir.Tensor, axes ...int) ir.Tensor {
	return b.do(name, x, "axes", axes, "keepdims", true)
}

// softmax is composed of rows.
func (b *draft) softmax(x ir.Tensor, axes ...int) ir.Tensor {
	e := b.do("exp", b.do("sub", x, b.keep("max", x, axes...)))
	return b.do("div", e, b.keep("sum", e, axes...))
}

func (b *draft) normal(x ir.Tensor, axes ...int) (y, mean, deviation ir.Tensor) {
	mean = b.keep("mean", x, axes...)
	d := b.do("sub", x, mean)
	v := b.keep("mean", b.do("mul", d, d), axes...)
	deviation = b.do("sqrt", b.do("add", v, b.number(1e-5)))
	return b.do("div", d, deviation), mean, deviation
}

type ts = []ir.Tensor

// blocks are groups of nodes that one function computes, in a number of pieces.
var blocks = []struct {
	name   string
	pieces int
	build  func(b *draft) ts // what is stored
}{
	// Elementwise.
	{"gelu", 1, func(b *draft) ts {
		x := b.in(5, 33)
		u := b.do("add", x, b.do("mul", b.number(0.044715), b.do("mul", x, b.do("mul", x, x))))
		t := b.do("tanh", b.do("mul", u, b.number(0.7978845608)))
		return ts{b.do("mul", b.do("mul", b.number(0.5), x), b.do("add", t, b.number(1)))}
	}},
	{"bias relu", 1, func(b *draft) ts { return ts{b.do("relu", b.do("add", b.in(7, 19), b.in(19)))} }},
	{"sum and product", 1, func(b *draft) ts {
		x, y := b.in(4, 9), b.in(4, 9)
		return ts{b.do("add", x, y), b.do("mul", x, y)}
	}},
	{"results of equal sizes", 1, func(b *draft) ts {
		return ts{b.do("neg", b.in(4, 6)), b.do("neg", b.in(24)), b.do("neg", b.in(2, 12)), b.do("neg", b.in(1, 24, 1))}
	}},
	{"iota at maps", 1, func(b *draft) ts {
		i := b.do("iota", "shape", []int{5, 6}, "dtype", b.d)
		r := b.do("uniform", "shape", []int{6, 5}, "dtype", ir.F32, "key", 7)
		s := b.slice(i, []int{4, 0}, []int{5, 3}, []int{-1, 2})
		return ts{b.do("add", b.slice(b.do("permute", b.do("cast", r, "dtype", b.d), "axes", []int{1, 0}), []int{0, 1}, []int{5, 3}, []int{1, 1}), s)}
	}},
	// Views.
	{"views between", 1, func(b *draft) ts {
		x := b.do("exp", b.in(4, 6, 5))
		y := b.do("permute", x, "axes", []int{2, 0, 1})
		y = b.slice(b.do("neg", y), []int{4, 0, 1}, []int{5, 2, 3}, []int{-1, 2, 2})
		y = b.do("expand", b.do("reshape", y, "shape", []int{5, 1, 6}), "shape", []int{5, 3, 6})
		return ts{b.do("add", y, b.in(3, 1))}
	}},
	{"diagonal and windows", 1, func(b *draft) ts {
		x := b.do("mul", b.in(6, 9), b.in(9))
		d := b.do("diagonal", x, "offset", 2)
		w := b.do("unfold", d, "axis", 0, "size", 3, "step", 2)
		return ts{b.do("neg", w)}
	}},
	{"reshape that splits", 1, func(b *draft) ts {
		x := b.do("exp", b.in(6, 4))
		y := b.do("add", b.do("reshape", x, "shape", []int{24}), b.in(24))
		z := b.do("reshape", b.do("permute", b.do("reshape", y, "shape", []int{2, 3, 4}), "axes", []int{2, 0, 1}), "shape", []int{4, 6})
		return ts{b.do("neg", z)}
	}},
	{"reshape of a flip", 1, func(b *draft) ts {
		x := b.slice(b.do("neg", b.in(24)), []int{23}, []int{24}, []int{-1})
		return ts{b.do("add", b.do("reshape", x, "shape", []int{2, 3, 4}), b.in(4))}
	}},
	{"stored view", 1, func(b *draft) ts {
		x := b.do("exp", b.in(4, 6))
		return ts{x, b.do("reshape", b.do("permute", x, "axes", []int{1, 0}), "shape", []int{3, 8})}
	}},
	{"a view by addresses", 1, func(b *draft) ts {
		x := b.do("exp", b.in(4, 6))
		y := b.do("strided", x, "shape", []int{2, 3, 3}, "offset", 12, "strides", []int{6, 2, -6})
		return ts{b.do("neg", b.do("strided", y, "shape", []int{6, 3}, "offset", 0, "strides", []int{3, 1}))}
	}},
	{"a view alone", 1, func(b *draft) ts {
		return ts{b.do("reshape", b.do("permute", b.in(4, 6), "axes", []int{1, 0}), "shape", []int{3, 8})}
	}},
	// Reductions.
	{"prologue, epilogue", 1, func(b *draft) ts {
		x, y := b.in(6, 40), b.in(40)
		s := b.do("sum", b.do("mul", x, y), "axes", []int{1})
		return ts{b.do("sqrt", b.do("abs", b.do("add", s, b.in(6))))}
	}},
	{"columns", 1, func(b *draft) ts {
		s := b.do("mean", b.do("exp", b.in(130, 20)), "axes", []int{0})
		return ts{b.do("mul", s, b.number(3))}
	}},
	{"softmax", 1, func(b *draft) ts { return ts{b.softmax(b.in(5, 37), 1)} }},
	{"softmax over rows of 1", 1, func(b *draft) ts { return ts{b.softmax(b.in(5, 1), 1)} }},
	{"softmax along the first axis", 1, func(b *draft) ts { return ts{b.softmax(b.in(37, 20), 0)} }},
	{"softmax over two axes", 1, func(b *draft) ts { return ts{b.softmax(b.in(3, 4, 5), 1, 2)} }},
	{"softmax over outer axes", 1, func(b *draft) ts { return ts{b.softmax(b.in(4, 3, 5), 0, 2)} }},
	{"softmax, transposed", 1, func(b *draft) ts {
		return ts{b.do("neg", b.do("permute", b.softmax(b.in(3, 4, 5), 1, 2), "axes", []int{2, 0, 1}))}
	}},
	{"softmax, its logarithm and maximum", 1, func(b *draft) ts {
		x := b.in(6, 30)
		m := b.keep("max", x, 1)
		d := b.do("sub", x, m)
		l := b.do("log", b.keep("sum", b.do("exp", d), 1))
		return ts{b.do("sub", d, l), m, b.do("add", l, m)}
	}},
	{"layer norm", 1, func(b *draft) ts {
		y, _, _ := b.normal(b.in(9, 50), 1)
		return ts{b.do("add", b.do("mul", y, b.in(50)), b.in(50))}
	}},
	{"layer norm with statistics", 1, func(b *draft) ts {
		y, m, s := b.normal(b.in(2, 5, 6), 1, 2)
		return ts{y, m, b.do("reshape", s, "shape", []int{2})}
	}},
	{"rms norm", 1, func(b *draft) ts {
		x := b.in(9, 50)
		r := b.do("sqrt", b.do("add", b.keep("mean", b.do("mul", x, x), 1), b.number(1e-6)))
		return ts{b.do("mul", b.do("div", x, r), b.in(50))}
	}},
	{"mean and deviation", 1, func(b *draft) ts {
		x := b.in(11, 70)
		return ts{b.do("mean", x, "axes", []int{1}), b.do("std", x, "axes", []int{1})}
	}},
	{"sum of what is stored", 1, func(b *draft) ts {
		e := b.do("exp", b.in(7, 20))
		return ts{e, b.do("sum", e, "axes", []int{1})}
	}},
	{"sums of unrelated operands", 1, func(b *draft) ts {
		return ts{b.do("sum", b.in(7, 20), "axes", []int{1}), b.do("max", b.in(7, 20), "axes", []int{1})}
	}},
	{"group reshaped", 1, func(b *draft) ts {
		x := b.in(6, 24)
		s := b.do("sum", x, "axes", []int{1})
		m := b.do("max", b.do("reshape", x, "shape", []int{6, 4, 6}), "axes", []int{1, 2})
		return ts{b.do("sub", m, s)}
	}},
	{"argmax after a product", 1, func(b *draft) ts {
		return ts{b.do("argmax", b.do("mul", b.in(6, 24), b.in(24)), "axis", 1)}
	}},
	{"row program between", 1, func(b *draft) ts {
		s := b.do("softmax", b.do("mul", b.in(6, 24), b.number(0.3)), "axis", 1)
		return ts{b.do("mul", s, b.in(6, 24))}
	}},
	{"row program and a sum of it", 1, func(b *draft) ts {
		s := b.do("log_softmax", b.in(6, 24), "axis", 1)
		return ts{b.do("sum", b.do("mul", s, b.in(6, 24)), "axes", []int{1})}
	}},
	{"row program backwards", 1, func(b *draft) ts {
		s := b.do("softmax", b.in(6, 24), "axis", 1)
		return ts{b.do("neg", b.slice(s, []int{0, 23}, []int{6, 24}, []int{1, -1}))}
	}},
	{"layer_norm with an epilogue", 1, func(b *draft) ts {
		y := b.do("layer_norm", b.do("add", b.in(6, 24), b.in(6, 24)), b.in(24), b.in(24))
		return ts{b.do("relu", y)}
	}},
	{"cross entropy", 1, func(b *draft) ts {
		return ts{b.do("neg", b.do("cross_entropy", b.do("mul", b.in(6, 24), b.number(2)), b.indices(6, 1), b.do("full", "shape", []int{24}, "dtype", ir.I64, "value", ir.MakeScalar(ir.I64, 1))))}
	}},
	{"scan", 1, func(b *draft) ts {
		s := b.do("cumsum", b.do("mul", b.in(4, 30), b.number(0.5)), "axis", 1)
		return ts{b.do("neg", b.do("permute", s, "axes", []int{1, 0}))}
	}},
	{"scan backwards", 1, func(b *draft) ts {
		flip := func(x ir.Tensor) ir.Tensor { return b.slice(x, []int{0, 29}, []int{4, 30}, []int{1, -1}) }
		return ts{b.do("neg", flip(b.do("cumsum", flip(b.in(4, 30)), "axis", 1)))}
	}},
	{"scan over a reshape", 1, func(b *draft) ts {
		s := b.do("cumsum", b.do("reshape", b.do("permute", b.in(5, 6), "axes", []int{1, 0}), "shape", []int{30}), "axis", 0)
		return ts{b.do("reshape", b.do("neg", s), "shape", []int{2, 15})}
	}},
	{"reduction of nothing", 1, func(b *draft) ts {
		x := b.do("exp", b.in(4, 0))
		return ts{b.do("add", b.do("sum", x, "axes", []int{1}), b.in(4))}
	}},
	{"random, centred", 1, func(b *draft) ts {
		r := b.do("cast", b.do("normal", "shape", []int{5, 40}, "dtype", ir.F32, "key", 3), "dtype", b.d)
		return ts{b.do("sub", r, b.keep("mean", r, 1))}
	}},
	// Gathers.
	{"gather and scale", 1, func(b *draft) ts {
		x := b.do("gather", b.in(10, 8), b.indices(5), "axis", 0)
		return ts{b.do("mul", x, b.number(2))}
	}},
	{"gather from a view, at a computed index", 1, func(b *draft) ts {
		x := b.do("permute", b.slice(b.in(10, 8), []int{9, 1}, []int{5, 7}, []int{-2, 1}), "axes", []int{1, 0})
		i := b.do("add", b.indices(2, 3), b.do("full", "shape", []int{}, "dtype", ir.I64, "value", ir.MakeScalar(ir.I64, 0)))
		return ts{b.do("relu", b.do("gather", x, i, "axis", 1))}
	}},
	{"gather and softmax", 1, func(b *draft) ts {
		return ts{b.softmax(b.do("gather", b.in(10, 8), b.indices(5), "axis", 0), 1)}
	}},
	// Joins.
	{"concat of computed operands", 3, func(b *draft) ts {
		x := b.in(4, 5)
		return ts{b.do("concat", b.do("exp", x), b.do("neg", b.in(4, 3)), b.do("mul", x, x), "axis", 1)}
	}},
	{"concat in a chain", 2, func(b *draft) ts {
		y := b.do("concat", b.do("exp", b.in(4, 5)), b.in(2, 5), "axis", 0)
		return ts{b.do("add", b.do("relu", y), b.in(6, 5))}
	}},
	{"stack, interleaved", 2, func(b *draft) ts {
		x, y := b.do("neg", b.in(4, 5)), b.do("exp", b.in(4, 5))
		s := b.do("concat", b.do("reshape", x, "shape", []int{4, 5, 1}), b.do("reshape", y, "shape", []int{4, 5, 1}), "axis", 2)
		return ts{b.do("mul", b.do("reshape", s, "shape", []int{4, 10}), b.in(10))}
	}},
	{"pad, then windows", 3, func(b *draft) ts {
		zero := b.do("expand", b.number(0), "shape", []int{3, 1})
		p := b.do("concat", zero, b.do("exp", b.in(3, 8)), zero, "axis", 1)
		return ts{b.do("neg", p)}
	}},
	{"roll", 2, func(b *draft) ts {
		x := b.do("exp", b.in(3, 8))
		return ts{b.do("add", x, b.do("concat", b.slice(x, []int{0, 5}, []int{3, 3}, []int{1, 1}), b.slice(x, []int{0, 0}, []int{3, 5}, []int{1, 1}), "axis", 1))}
	}},
	{"rope", 2, func(b *draft) ts {
		x := b.in(2, 3, 4, 8)
		cos, sin := b.in(4, 8), b.in(4, 8)
		low := b.slice(x, []int{0, 0, 0, 0}, []int{2, 3, 4, 4}, []int{1, 1, 1, 1})
		high := b.slice(x, []int{0, 0, 0, 4}, []int{2, 3, 4, 4}, []int{1, 1, 1, 1})
		turned := b.do("concat", b.do("neg", high), low, "axis", 3)
		return ts{b.do("add", b.do("mul", x, cos), b.do("mul", turned, sin))}
	}},
	{"roll of what is stored", 2, func(b *draft) ts {
		x := b.do("exp", b.in(3, 8))
		r := b.do("concat", b.slice(x, []int{0, 5}, []int{3, 3}, []int{1, 1}), b.slice(x, []int{0, 0}, []int{3, 5}, []int{1, 1}), "axis", 1)
		return ts{x, b.do("mul", b.do("sub", r, x), r)}
	}},
	{"halves turned, and stored", 2, func(b *draft) ts {
		x := b.do("neg", b.in(5, 8))
		low, high := b.slice(x, []int{0, 0}, []int{5, 4}, []int{1, 1}), b.slice(x, []int{0, 4}, []int{5, 4}, []int{1, 1})
		return ts{x, b.do("add", b.do("concat", b.do("neg", high), low, "axis", 1), b.do("exp", x))}
	}},
	{"set_slice", 5, func(b *draft) ts {
		z := b.do("exp", b.in(2, 3))
		return ts{b.do("set_slice", b.do("neg", b.in(5, 7)), z, "starts", []int{1, 4}, "sizes", []int{2, 3}, "steps", []int{1, -1})}
	}},
	{"rows of a concat", 2, func(b *draft) ts {
		return ts{b.softmax(b.do("concat", b.in(3, 20), b.do("exp", b.in(2, 20)), "axis", 0), 1)}
	}},
	{"concat of softmaxes", 2, func(b *draft) ts {
		return ts{b.do("concat", b.softmax(b.in(3, 20), 1), b.softmax(b.in(3, 9), 1), "axis", 1)}
	}},
	{"parts stored beside", 2, func(b *draft) ts {
		x, y := b.do("exp", b.in(3, 4)), b.do("neg", b.in(3, 5))
		return ts{x, y, b.do("concat", x, y, "axis", 1)}
	}},
	// Contractions.
	{"matmul, bias, relu", 1, func(b *draft) ts {
		return ts{b.do("relu", b.do("add", b.do("matmul", b.in(6, 17), b.in(17, 20)), b.in(20)))}
	}},
	{"matmul of computed operands", 1, func(b *draft) ts {
		x := b.do("add", b.do("mul", b.in(6, 17), b.number(2)), b.number(1))
		return ts{b.do("matmul", x, b.do("neg", b.in(17, 20)))}
	}},
	{"matmul, transposed and batched", 1, func(b *draft) ts {
		y := b.do("matmul", b.in(2, 1, 6, 17), b.do("permute", b.in(3, 20, 17), "axes", []int{0, 2, 1}))
		return ts{b.do("neg", b.do("permute", y, "axes", []int{0, 2, 1, 3}))}
	}},
	{"matmul to heads", 1, func(b *draft) ts {
		y := b.do("reshape", b.do("matmul", b.in(6, 17), b.in(17, 20)), "shape", []int{2, 3, 4, 5})
		return ts{b.do("neg", b.do("permute", y, "axes", []int{0, 2, 1, 3}))}
	}},
	{"convolution by windows", 1, func(b *draft) ts {
		w := b.do("unfold", b.do("unfold", b.do("relu", b.in(2, 3, 6, 7)), "axis", 2, "size", 3), "axis", 3, "size", 2)
		x := b.do("reshape", b.do("permute", w, "axes", []int{0, 2, 3, 4, 5, 1}), "shape", []int{2 * 4 * 6, 3 * 2 * 3})
		y := b.do("reshape", b.do("matmul", x, b.in(18, 5)), "shape", []int{2, 4, 6, 5})
		return ts{b.do("relu", b.do("add", b.do("permute", y, "axes", []int{0, 3, 1, 2}), b.in(5, 1, 1)))}
	}},
	{"pooling by windows", 1, func(b *draft) ts {
		w := b.do("unfold", b.do("unfold", b.do("relu", b.in(2, 3, 6, 8)), "axis", 2, "size", 2, "step", 2), "axis", 3, "size", 2, "step", 2)
		return ts{b.do("neg", b.do("max", w, "axes", []int{4, 5}))}
	}},
	{"attention scores", 1, func(b *draft) ts {
		q := b.do("permute", b.do("reshape", b.in(2, 5, 12), "shape", []int{2, 5, 3, 4}), "axes", []int{0, 2, 1, 3})
		k := b.do("permute", b.do("reshape", b.in(2, 7, 12), "shape", []int{2, 7, 3, 4}), "axes", []int{0, 2, 3, 1})
		return ts{b.do("add", b.do("mul", b.do("matmul", q, k), b.number(0.5)), b.in(5, 7))}
	}},
	{"group norm", 1, func(b *draft) ts {
		y, _, _ := b.normal(b.do("reshape", b.in(2, 6, 3, 4), "shape", []int{2, 2, 36}), 2)
		return ts{b.do("add", b.do("mul", b.do("reshape", y, "shape", []int{2, 6, 3, 4}), b.in(6, 1, 1)), b.in(6, 1, 1))}
	}},
	{"batch norm", 1, func(b *draft) ts {
		y, m, s := b.normal(b.in(4, 3, 5, 6), 0, 2, 3)
		return ts{b.do("mul", y, b.in(3, 1, 1)), m, s}
	}},
	{"gradient of a bias", 1, func(b *draft) ts {
		g := b.do("mul", b.in(40, 17), b.in(40, 17))
		return ts{g, b.do("sum", g, "axes", []int{0})}
	}},
	{"gradient of softmax", 1, func(b *draft) ts {
		y, dy := b.in(6, 24), b.in(6, 24)
		s := b.keep("sum", b.do("mul", dy, y), 1)
		return ts{b.do("mul", y, b.do("sub", dy, s))}
	}},
	{"adam", 1, func(b *draft) ts {
		g, w, m, v := b.in(13, 9), b.in(13, 9), b.in(13, 9), b.in(13, 9)
		m = b.do("add", b.do("mul", m, b.number(0.9)), b.do("mul", g, b.number(0.1)))
		v = b.do("add", b.do("mul", v, b.number(0.99)), b.do("mul", b.do("mul", g, g), b.number(0.01)))
		d := b.do("div", m, b.do("add", b.do("sqrt", b.do("abs", v)), b.number(1e-8)))
		return ts{b.do("sub", w, b.do("mul", d, b.number(1e-3))), m, v}
	}},
	{"tile and roll", 3, func(b *draft) ts {
		x := b.do("exp", b.in(3, 8))
		two := b.do("concat", x, x, "axis", 1)
		y := b.do("concat", b.slice(two, []int{0, 12}, []int{3, 4}, []int{1, 1}), b.slice(two, []int{0, 0}, []int{3, 12}, []int{1, 1}), "axis", 1)
		return ts{b.do("add", y, b.in(3, 16))}
	}},
	{"matmul of vectors", 1, func(b *draft) ts { return ts{b.do("neg", b.do("matmul", b.in(17), b.in(17, 5)))} }},
}

// TestBlocks: what fusion is for lowers to one function of the expected pieces, with
// the bits of node by node, whatever the dtype.
func TestBlocks(t *testing.T) {
	for _, c := range blocks {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16, ir.F64} {
				b := &draft{t: t, d: d}
				stored := map[ir.ID]bool{}
				for _, x := range c.build(b) {
					stored[x.ID] = true
				}
				m := &machine{values: map[ir.ID]*tensor{}, refused: map[string]int{}, compile: true}
				m.fill(rand.New(rand.NewPCG(1, 2)), &b.p, 0.02)
				for i := range b.p.Nodes {
					if err := m.node(&b.p.Nodes[i]); err != nil {
						t.Fatal(err)
					}
				}
				var all []int
				for i := range b.p.Nodes {
					all = append(all, i)
				}
				if r := compare(t, m, b.p.Nodes, all, func(id ir.ID) bool { return stored[id] }); r != nil {
					t.Fatalf("%s: refused: %v", d, r)
				}
				if m.pieces != c.pieces {
					t.Errorf("%s: %d pieces, expected %d", d, m.pieces, c.pieces)
				}
				for why, n := range m.refused {
					if why != "" {
						t.Logf("%s: %d kernels of %d are not generated: %s", d, n, m.pieces, why)
					}
				}
			}
		})
	}
}
