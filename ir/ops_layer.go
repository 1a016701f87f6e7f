package ir

// Normalisation and losses: row programs, one kernel each. Operands after the
// first broadcast to it.

func init() {
	eps := AttrSpec{Name: "eps", Kind: AttrFloat, Default: 1e-5}
	axes := AttrSpec{Name: "axes", Kind: AttrInts, Default: []int64{-1}}
	affine := func(names ...string) []Operand {
		out := []Operand{{"x", FloatClass, Moderate}}
		for _, n := range names {
			out = append(out, Operand{n, FloatClass, Moderate})
		}
		return out
	}
	along := []AttrSpec{{Name: "axis", Kind: AttrInt, Default: -1}}
	register(
		&Row{Name: "layer_norm", Number: 430, Version: 2, Access: Reduce,
			Doc: "y = (x - m) / sqrt(v + eps) · gamma + beta, with the mean m and the variance v (of the population) of x over axes; " +
				"gamma and beta broadcast to x. Layer, group, instance and batch normalisation are this row over different axes.",
			Operands: affine("gamma", "beta"), Attrs: []AttrSpec{axes, eps}, Infer: inferRows,
			Body:     Body{Any: "d = x - reduce_sum(x) / count()\ny = fma(d * (1 / sqrt(reduce_sum(d * d) / count() + eps)), gamma, beta)"},
			GradFunc: gradLayerNorm, Tol: Tolerance{F32: 64, F64: 64},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {5}, {5}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}, {}}, Attrs: A("axes", []int{0, 2}, "eps", 0.1)},
				{Shapes: []Shape{{2, 3, 2, 2}, {3, 1, 1}, {3, 1, 1}}, Attrs: A("axes", []int{2, 3})}}},
		&Row{Name: "rms_norm", Number: 431, Version: 2, Access: Reduce,
			Doc:      "y = x / sqrt(the mean of x² over axes + eps) · gamma, which broadcasts to x.",
			Operands: affine("gamma"), Attrs: []AttrSpec{axes, eps}, Infer: inferRows,
			Body:     Body{Any: "y = x * (1 / sqrt(reduce_sum(x * x) / count() + eps)) * gamma"},
			GradFunc: gradRMSNorm, Tol: Tolerance{F32: 64, F64: 64},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {5}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}}, Attrs: A("axes", []int{1}, "eps", 0.1)}}},
		&Row{Name: "layer_norm_grad", Number: 432, Version: 1, Access: Reduce,
			Doc: "dx = the gradient of x of layer_norm, for the gradient dy of y: s·(g - mean(g) - n·mean(g·n)) with g = dy·gamma, the normalised x n " +
				"and the reciprocal deviation s; dn = dy·n, of which the gradient of gamma is the sum.",
			Operands: affine("gamma", "dy"), Attrs: []AttrSpec{axes, eps}, Results: []string{"dx", "dn"}, Infer: inferRowsTwice, Tol: Tolerance{F32: 256, F64: 256},
			Body: Body{Any: "d = x - reduce_sum(x) / count()\ns = 1 / sqrt(reduce_sum(d * d) / count() + eps)\nn = d * s\ng = dy * gamma\n" +
				"dx = (g - reduce_sum(g) / count() - n * (reduce_sum(g * n) / count())) * s\ndn = dy * n"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {5}, {3, 5}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}, {2, 3, 4}}, Attrs: A("axes", []int{0, 2}, "eps", 0.1)}}},
		&Row{Name: "rms_norm_grad", Number: 433, Version: 1, Access: Reduce,
			Doc: "dx = the gradient of x of rms_norm, for the gradient dy of y: s·(g - n·mean(g·n)) with g = dy·gamma, n = x·s and the reciprocal " +
				"root s of the mean square; dn = dy·n, of which the gradient of gamma is the sum.",
			Operands: affine("gamma", "dy"), Attrs: []AttrSpec{axes, eps}, Results: []string{"dx", "dn"}, Infer: inferRowsTwice, Tol: Tolerance{F32: 256, F64: 256},
			Body: Body{Any: "s = 1 / sqrt(reduce_sum(x * x) / count() + eps)\nn = x * s\ng = dy * gamma\n" +
				"dx = (g - n * (reduce_sum(g * n) / count())) * s\ndn = dy * n"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {5}, {3, 5}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}, {2, 3, 4}}, Attrs: A("axes", []int{1}, "eps", 0.1)}}},
		&Row{Name: "softmax_masked", Number: 440, Version: 2, Access: Reduce,
			Doc:      "y = softmax of x along axis, and 0 in a row that is -inf throughout: the weights of attention.",
			Operands: oneOperand(FloatClass, Moderate), Attrs: along, Infer: inferAlong(sameDType), Tol: Tolerance{F32: 8, F64: 8},
			Body:    Body{Any: "m = reduce_max(x)\ne = exp(x - select(m == -inf, 0, m))\ns = reduce_sum(e)\ny = e * (1 / select(s == 0, 1, s))"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{5, 20}}, Attrs: A("axis", 0)}},
			GradFunc: func(g *GradContext) []Value {
				s := g.Do("sum", []Value{g.Do("mul", []Value{g.DOut[0], g.Out[0]})}, "axes", []int64{g.Attrs[0].Int}, "keepdims", true)
				return []Value{g.Do("mul", []Value{g.Out[0], g.Do("sub", []Value{g.DOut[0], s})})}
			}},
		&Row{Name: "cross_entropy", Number: 450, Version: 2, Access: Reduce,
			Doc: "y = -log_softmax(x)[label] along axis: log(the sum of e^x) less the x where label == classes; label has extent 1 there, classes counts " +
				"along it; a label that is no class has no x. top is the greatest x, and log the logarithm of the sum of e^(x - top), with which the gradient " +
				"is elementwise.",
			Operands: []Operand{{"x", FloatClass, Moderate}, {"label", I64Class, Index}, {"classes", I64Class, Index}},
			Attrs:    []AttrSpec{{Name: "axis", Kind: AttrInt, Default: -1}}, Results: []string{"y", "top", "log"},
			Infer: inferCrossEntropy, Tol: Tolerance{F32: 16, F64: 16}, GradFunc: gradCrossEntropy,
			Body:    Body{Any: "top = reduce_max(x)\nz = reduce_sum(select(label == classes, x, 0))\nlog = log(reduce_sum(exp(x - top)))\ny = log + (top - z)"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {3, 1}, {5}}}, {Shapes: []Shape{{2, 4, 3}, {2, 1, 3}, {4, 1}}, Attrs: A("axis", 1)}}},
		&Row{Name: "bce_logits", Number: 451, Version: 1, Access: Elementwise,
			Doc:      "y = -z·log(p) - (1 - z)·log(1 - p) with p = sigmoid(x), without its rounding: max(x, 0) - x·z + log1p(exp(-|x|)).",
			Operands: twoOperands(FloatClass, Moderate), Infer: inferSame, Tol: Tolerance{F32: 16, F64: 16},
			Body: Body{Any: "max(x, 0) - x * z + log1p(exp(-abs(x)))"},
			Grad: map[string]string{"x": "dy * (sigmoid(x) - z)", "z": "-(dy * x)"}},
		&Row{Name: "huber", Number: 452, Version: 1, Access: Elementwise,
			Doc:      "y = x²/2 where |x| <= z, else z·(|x| - z/2).",
			Operands: []Operand{{"x", FloatClass, Moderate}, {"z", FloatClass, Positive}}, Infer: inferSame, Tol: Tolerance{F32: 4, F64: 4},
			Body: Body{Any: "a = abs(x)\ny = select(a <= z, 0.5 * x * x, z * (a - 0.5 * z))"},
			Grad: map[string]string{"x": "select(x > z, dy * z, select(x < -z, -(dy * z), dy * x))", "z": "select(abs(x) <= z, 0, mul0(dy, abs(x) - z))"}},
	)
}

// inferRows: a row program over the attribute axes or axis whose other operands
// broadcast to the first.
func inferRows(r *Row, in []Type, a Attrs) ([]Type, error) {
	if _, err := ReduceAxes(r, in[0], a); err != nil {
		return nil, err
	}
	if err := broadcastToFirst(r, in); err != nil {
		return nil, err
	}
	return []Type{in[0]}, nil
}

// inferRowsTwice is inferRows with two results.
func inferRowsTwice(r *Row, in []Type, a Attrs) ([]Type, error) {
	out, err := inferRows(r, in, a)
	if err != nil {
		return nil, err
	}
	return append(out, out[0]), nil
}

func broadcastToFirst(r *Row, in []Type) error {
	for i, t := range in[1:] {
		o := r.OperandAt(i + 1)
		if o.Class != I64Class && t.DType != in[0].DType {
			return Errorf(ErrDType, "x is %s but %s is %s; cast one of them", in[0].DType, o.Name, t.DType)
		}
		if s, err := Broadcast(in[0].Shape, t.Shape); err != nil || !s.Equal(in[0].Shape) {
			return Errorf(ErrShape, "%s has shape %v, which does not broadcast to %v of x", o.Name, t.Shape, in[0].Shape)
		}
	}
	return nil
}

// gradLayerNorm is one row, which computes the statistics once and rounds once. To the
// second order it is composed: with n the normalised x and s the reciprocal deviation,
// dx = s·(dn - mean(dn) - n·mean(dn·n)).
func gradLayerNorm(g *GradContext) []Value {
	if !g.Track {
		return append(normGrad(g, "layer_norm_grad"), g.DOut[0])
	}
	b := build{g}
	x, gamma, d := g.In[0], g.In[1], g.DOut[0]
	axes, eps := g.Attrs[0].List, g.Attrs[1].Float()
	mean := func(v Value) Value { return b.do("mean", []Value{v}, "axes", axes, "keepdims", true) }
	out := []Value{nil, nil, d}
	n := b.do("layer_norm", []Value{x, b.num(1, x), b.num(0, x)}, "axes", axes, "eps", eps)
	if g.Need[0] {
		dn := b.mul(d, gamma)
		dev := b.do("sqrt", []Value{b.add(b.do("variance", []Value{x}, "axes", axes, "keepdims", true), b.num(eps, x))})
		out[0] = b.div(b.sub(b.sub(dn, mean(dn)), b.mul(n, mean(b.mul(dn, n)))), dev)
	}
	if g.Need[1] {
		out[1] = b.mul(d, n)
	}
	return out
}

func normGrad(g *GradContext, row string) []Value {
	if !g.Need[0] && !g.Need[1] {
		return make([]Value, 2)
	}
	return g.ApplyN(row, []Value{g.In[0], g.In[1], g.DOut[0]}, A("axes", g.Attrs[0].List, "eps", g.Attrs[1].Float())...)
}

func gradRMSNorm(g *GradContext) []Value {
	if !g.Track {
		return normGrad(g, "rms_norm_grad")
	}
	b := build{g}
	x, gamma, d := g.In[0], g.In[1], g.DOut[0]
	axes, eps := g.Attrs[0].List, g.Attrs[1].Float()
	mean := func(v Value) Value { return b.do("mean", []Value{v}, "axes", axes, "keepdims", true) }
	out := make([]Value, 2)
	n := b.do("rms_norm", []Value{x, b.num(1, x)}, "axes", axes, "eps", eps)
	if g.Need[0] {
		dn := b.mul(d, gamma)
		dev := b.do("sqrt", []Value{b.add(mean(b.mul(x, x)), b.num(eps, x))})
		out[0] = b.div(b.sub(dn, b.mul(n, mean(b.mul(dn, n)))), dev)
	}
	if g.Need[1] {
		out[1] = b.mul(d, n)
	}
	return out
}

func inferCrossEntropy(r *Row, in []Type, a Attrs) ([]Type, error) {
	axes, err := ReduceAxes(r, in[0], a)
	if err != nil {
		return nil, err
	}
	if err := broadcastToFirst(r, in); err != nil {
		return nil, err
	}
	ax := axes[0]
	if n := in[0].Shape[ax]; n == 0 && in[0].Shape[:ax].Size()*in[0].Shape[ax+1:].Size() > 0 {
		return nil, Errorf(ErrShape, "axis %d of %v has no classes", ax, in[0].Shape)
	}
	rows := append(in[0].Shape[:ax:ax], in[0].Shape[ax+1:]...)
	wide := Type{in[0].DType.Compute(), rows}
	return []Type{{in[0].DType, rows}, wide, wide}, nil
}

// gradCrossEntropy: dx = dy·(softmax(x) - hit), in the type that computes and rounded
// once. The derivative of log is softmax(x) less that of top, which equal elements
// share: nothing is left of it where both get the same, as their sum gives them.
func gradCrossEntropy(g *GradContext) []Value {
	b := build{g}
	x, dy, top, log := g.In[0], g.DOut[0], g.DOut[1], g.DOut[2]
	ax, _ := Axis(extent(g.Attrs[0].Int), len(b.shape(x)))
	wide := b.Type(g.Out[2]).DType
	kept := b.shape(x).Clone()
	kept[ax] = 1
	column := func(v Value) Value { return b.reshape(b.cast(v, wide), kept...) }
	less := b.sub(b.cast(x, wide), column(g.Out[1]))
	p := b.do("exp", []Value{b.sub(less, column(g.Out[2]))})
	var dx Value
	plus := func(v Value) {
		if dx != nil {
			v = b.add(dx, v)
		}
		dx = v
	}
	if dy != nil {
		hit := b.pair("eq", g.In[1], g.In[2])
		plus(b.mul(b.where(hit, b.sub(p, b.num(1, p)), p), column(dy)))
	}
	if log != nil {
		plus(b.mul(p, column(log)))
	}
	if top != log {
		var rest Value
		switch {
		case log == nil:
			rest = column(top)
		case top == nil:
			rest = b.do("neg", []Value{column(log)})
		default:
			rest = b.sub(column(top), column(log))
		}
		first := b.cast(b.pair("eq", less, b.num(0, less)), wide)
		count := b.do("sum", []Value{first}, "axes", []int{ax}, "keepdims", true)
		plus(b.mul(first, b.div(rest, count)))
	}
	return []Value{b.cast(dx, b.Type(x).DType), nil, nil}
}
