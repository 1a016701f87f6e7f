package ir

// Rows that join, pick and place elements.

func init() {
	axis := []AttrSpec{{Name: "axis", Kind: AttrInt, Default: 0}}
	register(
		&Row{Name: "concat", Number: 60, Version: 1, Access: Join, Variadic: true,
			Doc:      "y has the operands side by side along axis; their other extents agree.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: axis, Infer: inferConcat, GradFunc: gradConcat,
			Samples: []Sample{{Shapes: []Shape{{2, 3}, {2, 0}, {2, 4}}, Attrs: A("axis", 1)}}},
		&Row{Name: "gather", Number: 61, Version: 1, Access: Gather, Effects: EffectFault,
			Doc: "y takes the slices of x along axis that index names: the axes of index stand in place of the axis. " +
				"Negative indices count from the end; one out of range makes the result an error.",
			Operands: []Operand{{"x", AnyType, AnyValue}, {"index", I64Class, Index}}, Attrs: axis, Infer: inferGather,
			Body: Body{Any: "gather(x, index)", Bool: "gather(x, index)"},
			GradFunc: func(g *GradContext) []Value {
				in, index := g.Type(g.In[0]), g.Type(g.In[1])
				ax, _ := Axis(extent(g.Attrs[0].Int), len(in.Shape))
				n := index.Shape.Size()
				shape := append(in.Shape[:ax:ax], n)
				shape = append(shape, in.Shape[ax+1:]...)
				d := g.Do("reshape", []Value{g.DOut[0]}, "shape", shape)
				flat := g.Do("reshape", []Value{g.In[1]}, "shape", []int{n})
				base := g.Do("expand", []Value{g.Scalar(0, in.DType)}, "shape", in.Shape)
				return []Value{g.Do("scatter_add", []Value{base, flat, d}, "axis", ax), nil}
			},
			Samples: []Sample{{Shapes: []Shape{{4, 5}, {2, 3}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{4, 5}, {}}, Attrs: A("axis", 0)}}},
		&Row{Name: "scatter_add", Number: 62, Version: 1, Access: Scatter, Effects: EffectFault,
			Doc: "y is x with slice i of z added to slice index[i] along axis, in ascending i: a left fold from x. " +
				"Negative indices count from the end; one out of range makes the result an error.",
			Operands: []Operand{{"x", Numbers, AnyValue}, {"index", I64Class, Index}, {"z", Numbers, AnyValue}}, Attrs: axis, Infer: inferScatter,
			GradFunc: func(g *GradContext) []Value {
				if !g.Need[2] {
					return []Value{g.DOut[0], nil, nil}
				}
				return []Value{g.DOut[0], nil, g.Do("gather", []Value{g.DOut[0], g.In[1]}, "axis", g.Attrs[0].Int)}
			},
			Samples: []Sample{{Shapes: []Shape{{4, 5}, {3}, {4, 3}}, Attrs: A("axis", 1)}}},
		&Row{Name: "nonzero", Number: 63, Version: 1, Access: Opaque,
			Doc: "y holds the coordinates of the true elements of x in row-major order, one row each, padded with -1 to max rows; " +
				"count is how many there are, even beyond max.",
			Operands: []Operand{{"x", BoolClass, AnyValue}}, Attrs: []AttrSpec{{Name: "max", Kind: AttrInt}},
			Results: []string{"y", "count"},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				if a[0].Int < 0 || a[0].Int > MaxElements {
					return nil, Errorf(ErrArgument, "max is %d, expected at least 0", a[0].Int)
				}
				return []Type{{I64, Shape{extent(a[0].Int), len(in[0].Shape)}}, {I64, Shape{}}}, nil
			},
			Samples: []Sample{{Shapes: []Shape{{3, 4}}, Attrs: A("max", 5)}}},
	)
}

func inferConcat(r *Row, in []Type, a Attrs) ([]Type, error) {
	ax, err := Axis(extent(a[0].Int), len(in[0].Shape))
	if err != nil {
		return nil, err
	}
	shape := in[0].Shape.Clone()
	for i, t := range in[1:] {
		if t.DType != in[0].DType {
			return nil, Errorf(ErrDType, "operand %d is %s, the first is %s", i+1, t.DType, in[0].DType)
		}
		if len(t.Shape) != len(shape) {
			return nil, Errorf(ErrShape, "operand %d has %d axes, the first has %d", i+1, len(t.Shape), len(shape))
		}
		for j, d := range t.Shape {
			if j != ax && d != shape[j] {
				return nil, Errorf(ErrShape, "operand %d has extent %d on axis %d, the first has %d", i+1, d, j, shape[j])
			}
		}
		if shape[ax] += t.Shape[ax]; shape[ax] > MaxElements { // checked here: a longer sum could wrap
			return nil, Errorf(ErrShape, "the result has more than %d elements on axis %d", MaxElements, ax)
		}
	}
	return []Type{{in[0].DType, shape}}, nil
}

func gradConcat(g *GradContext) []Value {
	out := make([]Value, len(g.In))
	d := g.Type(g.DOut[0])
	rank := len(d.Shape)
	ax, _ := Axis(extent(g.Attrs[0].Int), rank)
	starts, steps := make([]int, rank), make([]int, rank)
	for i := range steps {
		steps[i] = 1
	}
	for i, v := range g.In {
		sizes := g.Type(v).Shape
		if g.Need[i] {
			out[i] = g.Do("slice", []Value{g.DOut[0]}, "starts", starts, "sizes", sizes, "steps", steps)
		}
		starts[ax] += sizes[ax]
	}
	return out
}

func inferGather(r *Row, in []Type, a Attrs) ([]Type, error) {
	ax, err := Axis(extent(a[0].Int), len(in[0].Shape))
	if err != nil {
		return nil, err
	}
	shape := append(Shape{}, in[0].Shape[:ax]...)
	shape = append(shape, in[1].Shape...)
	shape = append(shape, in[0].Shape[ax+1:]...)
	if in[0].Shape[ax] == 0 && shape.Size() > 0 {
		return nil, Errorf(ErrShape, "axis %d of %v has no elements to pick", ax, in[0].Shape)
	}
	return []Type{{in[0].DType, shape}}, nil
}

func inferScatter(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, index, z := in[0], in[1], in[2]
	ax, err := Axis(extent(a[0].Int), len(x.Shape))
	if err != nil {
		return nil, err
	}
	if x.DType != z.DType {
		return nil, Errorf(ErrDType, "x is %s but z is %s", x.DType, z.DType)
	}
	if len(index.Shape) != 1 {
		return nil, Errorf(ErrShape, "index has shape %v, expected one axis", index.Shape)
	}
	want := x.Shape.Clone()
	want[ax] = index.Shape[0]
	if !z.Shape.Equal(want) {
		return nil, Errorf(ErrShape, "z has shape %v, expected %v: that of x with the extent of index on axis %d", z.Shape, want, ax)
	}
	if x.Shape[ax] == 0 && z.Shape.Size() > 0 {
		return nil, Errorf(ErrShape, "axis %d of %v has no elements to add to", ax, x.Shape)
	}
	return []Type{x}, nil
}
