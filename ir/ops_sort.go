package ir

// Rows that order elements. The order is that of numbers, with false before true,
// -0 equal to +0, and NaN, equal to itself, after everything else.

func init() {
	axis := AttrSpec{Name: "axis", Kind: AttrInt, Default: -1}
	most := AttrSpec{Name: "max", Kind: AttrInt}
	register(
		&Row{Name: "sort", Number: 220, Version: 1, Access: Opaque,
			Doc: "y has the elements of x in order along axis, index the places they had; equal ones keep their order, descending or not. " +
				"NaN is the greatest: last, or first if descending.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{axis, {Name: "descending", Kind: AttrBool, Default: false}},
			Results: []string{"y", "index"},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				if _, err := Axis(extent(a[0].Int), len(in[0].Shape)); err != nil {
					return nil, err
				}
				return []Type{in[0], {I64, in[0].Shape}}, nil
			},
			GradFunc: gradPicked,
			Samples: []Sample{{Shapes: []Shape{{2, 7}}}, {Shapes: []Shape{{5, 3}}, Attrs: A("axis", 0, "descending", true)},
				{Shapes: []Shape{{1, 0}}}}},
		&Row{Name: "topk", Number: 221, Version: 1, Access: Opaque,
			Doc:      "y has the first k elements of x along axis in the order of sort, index their places: the greatest ones, or the least.",
			Operands: oneOperand(AnyType, AnyValue),
			Attrs:    []AttrSpec{{Name: "k", Kind: AttrInt}, axis, {Name: "largest", Kind: AttrBool, Default: true}},
			Results:  []string{"y", "index"},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				ax, err := Axis(extent(a[1].Int), len(in[0].Shape))
				if err != nil {
					return nil, err
				}
				if n := in[0].Shape[ax]; a[0].Int < 0 || a[0].Int > int64(n) {
					return nil, Errorf(ErrArgument, "k is %d, expected 0 to %d, the extent of axis %d", a[0].Int, n, ax)
				}
				shape := in[0].Shape.Clone()
				shape[ax] = int(a[0].Int)
				return []Type{{in[0].DType, shape}, {I64, shape}}, nil
			},
			GradFunc: gradPicked,
			Samples: []Sample{{Shapes: []Shape{{2, 7}}, Attrs: A("k", 3)},
				{Shapes: []Shape{{5, 3}}, Attrs: A("k", 2, "axis", 0, "largest", false)}}},
		&Row{Name: "searchsorted", Number: 222, Version: 1, Access: Opaque,
			Doc: "y = how many elements of x, sorted along its last axis, lie before z, or not after z if right is set; " +
				"x has one axis, or all axes of z but the last are its own.",
			Operands: []Operand{{"x", AnyType, AnyValue}, {"z", AnyType, AnyValue}},
			Attrs:    []AttrSpec{{Name: "right", Kind: AttrBool, Default: false}}, Infer: inferSearch,
			Samples: []Sample{{Shapes: []Shape{{5}, {2, 3}}}, {Shapes: []Shape{{2, 5}, {2, 3}}, Attrs: A("right", true)},
				{Shapes: []Shape{{0}, {3}}}}},
		&Row{Name: "unique", Number: 223, Version: 1, Access: Opaque,
			Doc: "y has the distinct elements of x in order, padded with 0 to max; inverse the position in y of each element of x, " +
				"even beyond max; counts how often each occurs, padded with 0; count how many there are, even beyond max.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{most},
			Results: []string{"y", "inverse", "counts", "count"},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				if a[0].Int < 0 || a[0].Int > MaxElements {
					return nil, Errorf(ErrArgument, "max is %d, expected at least 0", a[0].Int)
				}
				max := Shape{extent(a[0].Int)}
				return []Type{{in[0].DType, max}, {I64, in[0].Shape}, {I64, max}, {I64, Shape{}}}, nil
			},
			Samples: []Sample{{Shapes: []Shape{{3, 4}}, Attrs: A("max", 5)}, {Shapes: []Shape{{9}}, Attrs: A("max", 9)}}},
	)
}

// gradPicked sends the gradient of sorted elements back to where they were.
func gradPicked(g *GradContext) []Value {
	if g.DOut[0] == nil {
		return []Value{nil}
	}
	in := g.Type(g.In[0])
	return []Value{g.Do("scatter_along", []Value{g.zeros(in), g.Out[1], g.DOut[0]},
		"axis", g.Row.Attr(g.Attrs, "axis").Int, "mode", PutAdd)}
}

func inferSearch(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, z := in[0].Shape, in[1].Shape
	if in[0].DType != in[1].DType {
		return nil, Errorf(ErrDType, "x is %s but z is %s; tensors never promote by themselves: cast one of them", in[0].DType, in[1].DType)
	}
	switch {
	case len(x) == 0:
		return nil, Errorf(ErrShape, "x is a scalar, expected a sorted axis")
	case len(x) > 1 && (len(z) != len(x) || !z[:len(z)-1].Equal(x[:len(x)-1])):
		return nil, Errorf(ErrShape, "z has shape %v, expected all axes of x %v but the last", z, x)
	}
	return []Type{{I64, z}}, nil
}
