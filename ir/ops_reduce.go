package ir

// Reductions, scans, row programs and contractions: bodies with reduce
// functions, whose summation trees DESIGN fixes by the logical shape.

// expandLike brings a value with the reduced axes dropped back to the shape of
// the operand, for gradients of reductions.
func (g *GradContext) expandLike(v Value, axes []int) Value {
	in := g.Type(g.In[0])
	kept := in.Shape.Clone()
	for _, a := range axes {
		kept[a] = 1
	}
	return g.Do("expand", []Value{g.Do("reshape", []Value{v}, "shape", kept)}, "shape", in.Shape)
}

func (g *GradContext) reduceAxes() ([]int, int) {
	in := g.Type(g.In[0])
	axes, _ := ReduceAxes(g.Row, in, g.Attrs)
	n := 1
	for _, a := range axes {
		n *= in.Shape[a]
	}
	return axes, n
}

// gradExtreme sends the gradient of max or min to the elements that equal it,
// in equal parts.
func gradExtreme(g *GradContext) []Value {
	axes, _ := g.reduceAxes()
	in := g.Type(g.In[0])
	hit := g.Do("cast", []Value{g.Do("eq", []Value{g.In[0], g.expandLike(g.Out[0], axes)})}, "dtype", in.DType)
	share := g.Do("div", []Value{g.DOut[0], g.Do("reshape",
		[]Value{g.Do("sum", []Value{hit}, "axes", axes)}, "shape", g.Type(g.DOut[0]).Shape)})
	return []Value{g.Do("mul", []Value{hit, g.expandLike(share, axes)})}
}

func init() {
	over := []AttrSpec{{Name: "axes", Kind: AttrInts, Default: []int64{}}, {Name: "keepdims", Kind: AttrBool, Default: false}}
	overOne := []AttrSpec{{Name: "axis", Kind: AttrInt, Default: -1}, {Name: "keepdims", Kind: AttrBool, Default: false}}
	along := overOne[:1:1]
	// Errors of sums are in units of the last place of the sum of magnitudes: 64
	// roundings in a row of a chunk of columns, and those of the tree above.
	tree := Tolerance{F32: 40, F64: 40}
	samples := []Sample{
		{Shapes: []Shape{{3, 5}}, Attrs: A("axes", []int{1})},
		{Shapes: []Shape{{5, 20}}, Attrs: A("axes", []int{0}, "keepdims", true)},
		{Shapes: []Shape{{2, 3, 4}}, Attrs: A("axes", []int{0, 2})},
	}
	oneSamples := []Sample{{Shapes: []Shape{{3, 5}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{5, 20}}, Attrs: A("axis", 0)}}
	register(
		&Row{Name: "sum", Number: 70, Version: 1, Access: Reduce, Compute: FromResult,
			Doc:      "y = the sum of x over axes (all if none are named), on the fixed tree; of nothing 0; integers give 64 bits.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: over, Infer: inferReduce(SumDType, true),
			Body: Body{Any: "reduce_sum(x)"}, Samples: samples, Tol: tree,
			GradFunc: func(g *GradContext) []Value {
				axes, _ := g.reduceAxes()
				return []Value{g.expandLike(g.DOut[0], axes)}
			}},
		&Row{Name: "mean", Number: 71, Version: 1, Access: Reduce, Compute: FromResult,
			Doc:      "y = the sum of x over axes divided by their number of elements; of nothing NaN; integers give f64.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: over, Infer: inferReduce(MeanDType, true),
			Body: Body{Any: "reduce_sum(x) / count()"}, Samples: samples, Tol: tree,
			GradFunc: func(g *GradContext) []Value {
				axes, n := g.reduceAxes()
				d := g.Do("div", []Value{g.DOut[0], g.Scalar(float64(n), g.Type(g.DOut[0]).DType)})
				return []Value{g.expandLike(d, axes)}
			}},
		&Row{Name: "variance", Number: 72, Version: 1, Access: Reduce, Compute: FromResult,
			Doc: "y = the squared deviations of x from their mean over axes, summed, over the number of elements less correction; " +
				"NaN if that is not above 0.",
			Operands: oneOperand(FloatClass, AnyValue), Attrs: append(over[:2:2], AttrSpec{Name: "correction", Kind: AttrInt, Default: 0}),
			Infer: inferReduce(MeanDType, true), Samples: samples, Tol: tree,
			Body: Body{Any: "n = count() - num(correction)\ny = select(n > 0, reduce_m2(x) / n, nan)"},
			GradFunc: func(g *GradContext) []Value {
				axes, n := g.reduceAxes()
				dt := g.Type(g.In[0]).DType
				mean := g.Do("mean", g.In, "axes", axes, "keepdims", true)
				dev := g.Do("sub", []Value{g.In[0], mean})
				scale := 2 / float64(int64(n)-g.Attrs[2].Int)
				d := g.expandLike(g.Do("mul", []Value{g.DOut[0], g.Scalar(scale, dt)}), axes)
				return []Value{g.Do("mul", []Value{d, dev})}
			}},
		&Row{Name: "max", Number: 73, Version: 1, Access: Reduce,
			Doc:      "y = the greatest of x over axes; NaN if any is NaN, -0 below +0; the gradient is shared by equal elements.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: over, Infer: inferReduce(sameDType, false),
			Body: Body{Any: "reduce_max(x)"}, Samples: samples, GradFunc: gradExtreme},
		&Row{Name: "min", Number: 74, Version: 1, Access: Reduce,
			Doc:      "y = the least of x over axes; NaN if any is NaN, -0 below +0; the gradient is shared by equal elements.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: over, Infer: inferReduce(sameDType, false),
			Body: Body{Any: "reduce_min(x)"}, Samples: samples, GradFunc: gradExtreme},
		&Row{Name: "argmax", Number: 75, Version: 1, Access: Reduce,
			Doc:      "y = the lowest index of the greatest x along axis; the first NaN wins.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: overOne, Infer: inferReduce(i64DType, false),
			Body: Body{Any: "reduce_argmax(x)"}, Samples: oneSamples},
		&Row{Name: "argmin", Number: 76, Version: 1, Access: Reduce,
			Doc:      "y = the lowest index of the least x along axis; the first NaN wins.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: overOne, Infer: inferReduce(i64DType, false),
			Body: Body{Any: "reduce_argmin(x)"}, Samples: oneSamples},

		&Row{Name: "softmax", Number: 80, Version: 2, Access: Reduce, // a product with the sum's reciprocal
			Doc:      "y = exp(x - max x) over its sum along axis; a row of -inf gives NaN.",
			Operands: oneOperand(FloatClass, Moderate), Attrs: along, Infer: inferAlong(sameDType),
			Body:    Body{Any: "e = exp(x - reduce_max(x))\ny = e * (1 / reduce_sum(e))"},
			Samples: oneSamples, Tol: Tolerance{F32: 8, F64: 8},
			GradFunc: func(g *GradContext) []Value {
				s := g.Do("sum", []Value{g.Do("mul", []Value{g.DOut[0], g.Out[0]})}, "axes", []int64{g.Attrs[0].Int}, "keepdims", true)
				return []Value{g.Do("mul", []Value{g.Out[0], g.Do("sub", []Value{g.DOut[0], s})})}
			}},
		&Row{Name: "log_softmax", Number: 81, Version: 1, Access: Reduce,
			Doc:      "y = d - log(sum of exp(d)) with d = x - max x, along axis: the maximum is never added back.",
			Operands: oneOperand(FloatClass, Moderate), Attrs: along, Infer: inferAlong(sameDType),
			Body:    Body{Any: "d = x - reduce_max(x)\ny = d - log(reduce_sum(exp(d)))"},
			Samples: oneSamples, Tol: Tolerance{F32: 8, F64: 8},
			GradFunc: func(g *GradContext) []Value {
				s := g.Do("sum", g.DOut, "axes", []int64{g.Attrs[0].Int}, "keepdims", true)
				p := g.Do("exp", []Value{g.Out[0]})
				return []Value{g.Do("sub", []Value{g.DOut[0], g.Do("mul", []Value{p, s})})}
			}},
		&Row{Name: "cumsum", Number: 82, Version: 1, Access: Scan, Compute: FromResult,
			Doc:      "y = the running sum of x along axis, itself included; chunks of 1024 from left to right; integers give 64 bits.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: along, Infer: inferAlong(SumDType),
			Body: Body{Any: "scan_sum(x)"}, Samples: oneSamples, Tol: Tolerance{F32: 64, F64: 64},
			GradFunc: func(g *GradContext) []Value {
				flip := func(v Value) Value {
					sh := g.Type(v).Shape
					ax, _ := Axis(int(g.Attrs[0].Int), len(sh))
					starts, steps := make([]int, len(sh)), make([]int, len(sh))
					for i := range steps {
						steps[i] = 1
					}
					if sh[ax] > 0 {
						starts[ax], steps[ax] = sh[ax]-1, -1
					}
					return g.Do("slice", []Value{v}, "starts", starts, "sizes", sh, "steps", steps)
				}
				return []Value{flip(g.Do("cumsum", []Value{flip(g.DOut[0])}, "axis", g.Attrs[0].Int))}
			}},

		&Row{Name: "matmul", Number: 90, Version: 2, Method: "MatMul", Access: Contraction,
			Doc: "y[..., i, j] = the sum over k of x[..., i, k] · z[..., k, j], by fma in ascending k in chunks (bf16: in f32, of each pair of k the second product first, without subnormals); " +
				"leading axes broadcast; an operand of one axis is a row (x) or a column (z), and that axis is dropped from y.",
			Operands: twoOperands(Numbers, Moderate), Infer: inferMatMul,
			Body: Body{Any: "reduce_dot(x, z)"}, Tol: Tolerance{F32: 64, F64: 64}, GradFunc: gradMatMul,
			Samples: []Sample{{Shapes: []Shape{{3, 4}, {4, 5}}}, {Shapes: []Shape{{2, 1, 3, 4}, {5, 4, 2}}}, {Shapes: []Shape{{4}, {4, 2}}}, {Shapes: []Shape{{3, 4}, {4}}}, {Shapes: []Shape{{4}, {4}}}}},
	)
}

func inferMatMul(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, z := in[0], in[1]
	if x.DType != z.DType {
		return nil, Errorf(ErrDType, "x is %s but z is %s", x.DType, z.DType)
	}
	if len(x.Shape) == 0 || len(z.Shape) == 0 {
		return nil, Errorf(ErrShape, "shapes %v and %v: a scalar has no axis to contract", x.Shape, z.Shape)
	}
	k := x.Shape[len(x.Shape)-1]
	zk := z.Shape[max(len(z.Shape)-2, 0)]
	if k != zk {
		return nil, Errorf(ErrShape, "the last axis of x has extent %d, axis %d of z has %d: %v · %v", k, max(len(z.Shape)-2, 0), zk, x.Shape, z.Shape)
	}
	batch, err := Broadcast(x.Shape[:max(len(x.Shape)-2, 0)], z.Shape[:max(len(z.Shape)-2, 0)])
	if err != nil {
		return nil, err
	}
	shape := batch.Clone()
	if len(x.Shape) > 1 {
		shape = append(shape, x.Shape[len(x.Shape)-2])
	}
	if len(z.Shape) > 1 {
		shape = append(shape, z.Shape[len(z.Shape)-1])
	}
	return []Type{{x.DType, shape}}, nil
}

func gradMatMul(g *GradContext) []Value {
	x, z, d := g.In[0], g.In[1], g.DOut[0]
	xt, zt := g.Type(x), g.Type(z)
	// Give both operands two axes, as the row does, so that one rule serves.
	if len(xt.Shape) == 1 {
		x = g.Do("reshape", []Value{x}, "shape", []int{1, xt.Shape[0]})
	}
	if len(zt.Shape) == 1 {
		z = g.Do("reshape", []Value{z}, "shape", []int{zt.Shape[0], 1})
	}
	sh := g.Type(d).Shape.Clone()
	if len(xt.Shape) == 1 { // the dropped row axis lies before the column axis, if that is there
		at := len(sh)
		if len(zt.Shape) > 1 {
			at--
		}
		sh = append(sh[:at:at], append(Shape{1}, sh[at:]...)...)
	}
	if len(zt.Shape) == 1 {
		sh = append(sh, 1)
	}
	d = g.Do("reshape", []Value{d}, "shape", sh)
	grads := make([]Value, 2)
	if g.Need[0] {
		grads[0] = g.reshapeBack(g.Do("matmul", []Value{d, g.transposed(z)}), xt, 0)
	}
	if g.Need[1] {
		if len(zt.Shape) == 2 && len(sh) > 2 { // of all batches in one product, not one each and their sum
			x, d = g.rows(x), g.rows(d)
		}
		grads[1] = g.reshapeBack(g.Do("matmul", []Value{g.transposed(x), d}), zt, 1)
	}
	return grads
}

// rows makes all axes but the last one axis.
func (g *GradContext) rows(v Value) Value {
	sh := g.Type(v).Shape
	last := len(sh) - 1
	return g.Do("reshape", []Value{v}, "shape", []int{sh[:last].Size(), sh[last]})
}

// transposed swaps the last two axes.
func (g *GradContext) transposed(v Value) Value {
	n := len(g.Type(v).Shape)
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	axes[n-2], axes[n-1] = n-1, n-2
	return g.Do("permute", []Value{v}, "axes", axes)
}

// reshapeBack sums batch axes away for an operand of one axis, whose extra axis
// (row of x, column of z) is then dropped.
func (g *GradContext) reshapeBack(v Value, t Type, operand int) Value {
	if len(t.Shape) != 1 {
		return v
	}
	sh := g.Type(v).Shape
	if len(sh) > 2 {
		axes := make([]int, len(sh)-2)
		for i := range axes {
			axes[i] = i
		}
		v = g.Do("sum", []Value{v}, "axes", axes)
	}
	return g.Do("reshape", []Value{v}, "shape", t.Shape)
}
