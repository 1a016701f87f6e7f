package ir

import "math"

// More reductions: products, truth, deviations, norms, log-sum-exp, and those that
// leave NaN out. Sums go down the fixed tree.

// dropped brings a gradient or result of a reduction back to the operand's shape.
func (g *GradContext) dropped(v Value) Value {
	axes, _ := g.reduceAxes()
	return g.expandLike(v, axes)
}

// zero is the scalar 0 of a value's dtype.
func (g *GradContext) zero(v Value) Value { return g.Scalar(0, g.Type(v).DType) }

// along makes the gradient of a reduction: f gets the operand, the result and the
// arriving gradient, the last two in the operand's shape.
func along(f func(g *GradContext, x, y, dy Value) Value) GradFunc {
	return func(g *GradContext) []Value {
		return []Value{f(g, g.In[0], g.dropped(g.Out[0]), g.dropped(g.DOut[0]))}
	}
}

func (g *GradContext) mul0(a, b Value) Value { return g.Do("mul0", []Value{a, b}) }

// ratio is x / y, and 0 where y is 0.
func (g *GradContext) ratio(x, y Value) Value {
	return g.Do("where", []Value{g.Do("eq", []Value{y, g.zero(y)}), g.zero(x), g.Do("div", []Value{x, y})})
}

// gradMaxNorm shares the gradient among the elements of the greatest magnitude.
func gradMaxNorm(g *GradContext) []Value {
	axes, _ := g.reduceAxes()
	x := g.In[0]
	hit := g.Do("cast", []Value{g.Do("eq", []Value{g.Do("abs", []Value{x}), g.expandLike(g.Out[0], axes)})}, "dtype", g.Type(x).DType)
	share := g.Do("div", []Value{hit, g.Do("sum", []Value{hit}, "axes", axes, "keepdims", true)})
	return []Value{g.mul0(g.mul0(g.expandLike(g.DOut[0], axes), share), g.Do("sign", []Value{x}))}
}

// gradNaNExtreme is gradExtreme among the elements that are not NaN.
func gradNaNExtreme(g *GradContext) []Value {
	axes, _ := g.reduceAxes()
	x := g.In[0]
	dt := g.Type(x).DType
	hit := g.Do("cast", []Value{g.Do("eq", []Value{x, g.expandLike(g.Out[0], axes)})}, "dtype", dt)
	count := g.Do("maximum", []Value{g.Do("sum", []Value{hit}, "axes", axes, "keepdims", true), g.Scalar(1, dt)})
	return []Value{g.mul0(hit, g.Do("div", []Value{g.expandLike(g.DOut[0], axes), count}))}
}

// gradNaNSum sends the gradient, over the count for a mean, to what is not NaN.
func gradNaNSum(mean bool) GradFunc {
	return func(g *GradContext) []Value {
		axes, _ := g.reduceAxes()
		x := g.In[0]
		there := g.Do("eq", []Value{x, x})
		d := g.expandLike(g.DOut[0], axes)
		if mean {
			d = g.Do("div", []Value{d, g.Do("sum", []Value{g.Do("cast", []Value{there}, "dtype", g.Type(x).DType)}, "axes", axes, "keepdims", true)})
		}
		return []Value{g.Do("where", []Value{there, d, g.zero(d)})}
	}
}

// gradNaNVariance is 2·dev·dy over the divisor, or dev·dy over it and y for the root.
func gradNaNVariance(root bool) GradFunc {
	return func(g *GradContext) []Value {
		axes, _ := g.reduceAxes()
		x := g.In[0]
		dt := g.Type(x).DType
		keep := []any{"axes", axes, "keepdims", true}
		there := g.Do("eq", []Value{x, x})
		n := g.Do("sum", []Value{g.Do("cast", []Value{there}, "dtype", dt)}, keep...)
		n = g.Do("sub", []Value{n, g.Scalar(float64(g.Attrs[2].Int), dt)})
		dev := g.Do("sub", []Value{x, g.Do("nanmean", []Value{x}, keep...)})
		dev = g.Do("where", []Value{there, dev, g.zero(x)})
		d, factor := g.DOut[0], 2.0
		if root {
			d, factor = g.ratio(d, g.Out[0]), 1
		}
		d = g.Do("mul", []Value{g.expandLike(d, axes), g.Scalar(factor, dt)})
		return []Value{g.Do("where", []Value{there, g.Do("mul", []Value{g.Do("div", []Value{d, n}), dev}), g.zero(x)})}
	}
}

func init() {
	over := []AttrSpec{{Name: "axes", Kind: AttrInts, Default: []int64{}}, {Name: "keepdims", Kind: AttrBool, Default: false}}
	samples := []Sample{
		{Shapes: []Shape{{3, 5}}, Attrs: A("axes", []int{1})},
		{Shapes: []Shape{{5, 20}}, Attrs: A("axes", []int{0}, "keepdims", true)},
		{Shapes: []Shape{{2, 3, 4}}, Attrs: A("axes", []int{0, 2})},
	}
	tree := Tolerance{F32: 40, F64: 40}
	reduction := func(name string, number uint16, doc string, class Class, result func(DType) DType, identity bool, tol Tolerance, body string, grad GradFunc) *Row {
		r := &Row{Name: name, Number: number, Version: 1, Access: Reduce, Doc: doc,
			Operands: oneOperand(class, AnyValue), Attrs: over, Infer: inferReduce(result, identity),
			Body: Body{Any: body}, Samples: samples, Tol: tol, GradFunc: grad}
		return r
	}
	boolDType := func(DType) DType { return Bool }

	prod := reduction("prod", 300, "y = the product of x over axes (all if none are named), on the tree of sums; of nothing 1; integers give 64 bits and wrap.",
		AnyType, SumDType, true, tree, "reduce_prod(x)", gradProd)
	prod.Compute = FromResult
	squares := reduction("sum_squares", 314, "y = the sum of x² over axes; of nothing 0; integers give 64 bits and wrap.",
		Numbers, SumDType, true, tree, "reduce_sum(x * x)",
		along(func(g *GradContext, x, _, dy Value) Value { return g.mul0(dy, g.Do("add", []Value{x, x})) }))
	squares.Compute = FromResult
	std := reduction("std", 304, "y = the square root of the variance of x over axes; NaN if the divisor is not above 0; the gradient is 0 where y is 0.",
		FloatClass, sameDType, true, tree, "n = count() - num(correction)\ny = select(n > 0, sqrt(reduce_m2(x) / n), nan)",
		func(g *GradContext) []Value {
			axes, n := g.reduceAxes()
			mean := g.Do("mean", g.In, "axes", axes, "keepdims", true)
			dev := g.Do("sub", []Value{g.In[0], mean})
			scale := 1 / float64(int64(n)-g.Attrs[2].Int)
			d := g.Do("mul", []Value{g.ratio(g.DOut[0], g.Out[0]), g.Scalar(scale, g.Type(dev).DType)})
			return []Value{g.Do("mul", []Value{g.expandLike(d, axes), dev})}
		})
	std.Attrs = append(over[:2:2], AttrSpec{Name: "correction", Kind: AttrInt, Default: 0})
	norm := reduction("p_norm", 308, "y = (the sum of |x|^p over axes)^(1/p), for p above 0; of nothing 0; the gradient at x = 0 is 0.",
		FloatClass, sameDType, true, Tolerance{F32: 80, F64: 80}, "pow(reduce_sum(pow(abs(x), p)), 1 / p)",
		along(func(g *GradContext, x, y, dy Value) Value {
			p := g.Attrs[2].Float()
			one := g.Scalar(1, g.Type(x).DType)
			// |x| is 1 where it is 0, so that no power of 0 enters any derivative.
			nothing := g.Do("eq", []Value{x, g.zero(x)})
			a := g.ratio(g.Do("where", []Value{nothing, one, g.Do("abs", []Value{x})}), y)
			w := g.Do("pow", []Value{g.Do("where", []Value{nothing, one, a}), g.Scalar(p-1, g.Type(x).DType)})
			return g.mul0(dy, g.mul0(g.Do("sign", []Value{x}), w))
		}))
	norm.Attrs = append(over[:2:2], AttrSpec{Name: "p", Kind: AttrFloat, Default: 3.0, Binding: true})
	nanVariance := func(name string, number uint16, doc, y string, root bool) *Row {
		r := reduction(name, number, doc, FloatClass, sameDType, true, tree,
			"c = num(reduce_sum(i64(x == x)))\nm = reduce_sum(select(x != x, 0, x)) / c\nd = select(x != x, 0, x - m)\n"+
				"n = c - num(correction)\nv = reduce_sum(d * d) / n\ny = select(n > 0, "+y+", nan)", gradNaNVariance(root))
		r.Attrs = std.Attrs
		return r
	}
	register(
		prod, squares, std, norm,
		reduction("nanprod", 315, "y = the product of x over axes without NaN; of nothing else 1; the gradient of NaN is 0.", FloatClass, sameDType, true, tree,
			"reduce_prod(select(x != x, 1, x))", gradNaNProd),
		nanVariance("nanvar", 316, "y = the variance of x over axes without NaN, by sums of two passes; NaN if the divisor is not above 0; the gradient of NaN is 0.", "v", false),
		nanVariance("nanstd", 317, "y = the square root of nanvar; the gradient of NaN is 0, and all of it where y is 0.", "sqrt(v)", true),
		reduction("any", 301, "y = some x over axes is not 0 (NaN is not); of nothing false.", AnyType, boolDType, true, Tolerance{},
			"reduce_max(u32(x != 0)) != 0", nil),
		reduction("all", 302, "y = no x over axes is 0; of nothing true.", AnyType, boolDType, true, Tolerance{},
			"reduce_min(u32(x != 0)) != 0", nil),
		reduction("count_nonzero", 303, "y = how many x over axes are not 0 (NaN is not), as i64.", AnyType, i64DType, true, Tolerance{},
			"reduce_sum(i64(x != 0))", nil),
		reduction("l1_norm", 305, "y = the sum of |x| over axes; of nothing 0; the gradient at 0 is 0.", FloatClass, sameDType, true, tree,
			"reduce_sum(abs(x))",
			along(func(g *GradContext, x, _, dy Value) Value { return g.mul0(dy, g.Do("sign", []Value{x})) })),
		reduction("l2_norm", 306, "y = the square root of the sum of x² over axes, which may overflow or vanish where y would not; of nothing 0; the gradient at the origin is 0.",
			FloatClass, sameDType, true, tree, "sqrt(reduce_sum(x * x))",
			along(func(g *GradContext, x, y, dy Value) Value { return g.mul0(dy, g.ratio(x, y)) })),
		reduction("inf_norm", 307, "y = the greatest |x| over axes; NaN if there is one; of nothing 0; the gradient is shared by equal magnitudes.",
			FloatClass, sameDType, true, Tolerance{}, "max(reduce_max(abs(x)), 0)", gradMaxNorm),
		reduction("logsumexp", 309, "y = log(the sum of e^x over axes), stable; of nothing or of nothing but -inf it is -inf, with gradient 0; inf if there is one, which takes the gradient.",
			FloatClass, sameDType, true, Tolerance{F32: 8, F64: 8},
			"m = reduce_max(x)\nk = select(abs(m) < inf, m, 0)\ny = k + log(reduce_sum(exp(x - k)))", gradLogSumExp),
		reduction("nansum", 310, "y = the sum of x over axes without NaN; of nothing else 0; the gradient of NaN is 0.", FloatClass, sameDType, true, tree,
			"reduce_sum(select(x != x, 0, x))", gradNaNSum(false)),
		reduction("nanmean", 311, "y = the mean of x over axes without NaN; of nothing else NaN; the gradient of NaN is 0.", FloatClass, sameDType, true, tree,
			"reduce_sum(select(x != x, 0, x)) / num(reduce_sum(i64(x == x)))", gradNaNSum(true)),
		reduction("nanmax", 312, "y = the greatest of x over axes without NaN; NaN if there is nothing else; the gradient is shared by equal elements.",
			FloatClass, sameDType, false, Tolerance{},
			"select(reduce_max(u32(x == x)) != 0, reduce_max(select(x != x, -inf, x)), nan)", gradNaNExtreme),
		reduction("nanmin", 313, "y = the least of x over axes without NaN; NaN if there is nothing else; the gradient is shared by equal elements.",
			FloatClass, sameDType, false, Tolerance{},
			"select(reduce_max(u32(x == x)) != 0, reduce_min(select(x != x, inf, x)), nan)", gradNaNExtreme),
	)
}

// gradLogSumExp is e^(x-y), which infinities decide: an infinite x equal to y takes
// the gradient if it is inf, nothing if it is -inf.
func gradLogSumExp(g *GradContext) []Value {
	axes, _ := g.reduceAxes()
	x, y := g.In[0], g.expandLike(g.Out[0], axes)
	inf := g.Do("eq", []Value{x, y})
	low := g.Do("eq", []Value{y, g.Scalar(math.Inf(-1), g.Type(y).DType)})
	d := g.Do("where", []Value{inf, g.zero(x), g.Do("sub", []Value{x, y})})
	p := g.Do("where", []Value{low, g.zero(x), g.Do("exp", []Value{d})})
	return []Value{g.mul0(g.expandLike(g.DOut[0], axes), p)}
}
