package ir

// Rows that take and put elements where an index operand of the same rank, or a
// list of coordinates, says.

// The ways in which scatter_along and scatter_nd combine a destination with the
// elements that arrive there, in ascending source order: the attribute mode.
const (
	PutReplace = iota // the last one stays
	PutAdd
	PutMul
	PutMax // NaN wins, and -0 < +0
	PutMin
	putModes
)

func init() {
	axis := []AttrSpec{{Name: "axis", Kind: AttrInt, Default: 0}}
	put := append(axis[:1:1], AttrSpec{Name: "mode", Kind: AttrInt, Default: PutReplace})
	picked := []Operand{{"x", AnyType, AnyValue}, {"index", I64Class, Index}}
	placed := append(picked[:2:2], Operand{"z", AnyType, AnyValue})
	var along, nd []Sample
	for mode := 0; mode < putModes; mode++ {
		along = append(along, Sample{Shapes: []Shape{{3, 4}, {3, 5}, {3, 5}}, Attrs: A("axis", 1, "mode", mode)})
		nd = append(nd, Sample{Shapes: []Shape{{3, 4, 2}, {5, 2}, {5, 2}}, Attrs: A("axis", 0, "mode", mode)})
	}
	along = append(along, Sample{Shapes: []Shape{{4, 3}, {2, 1}, {2, 3}}, Attrs: A("axis", -2, "mode", PutAdd)})
	nd = append(nd, Sample{Shapes: []Shape{{2, 3, 4}, {3, 1}, {2, 3, 4}}, Attrs: A("axis", 1, "mode", PutReplace)})
	register(
		&Row{Name: "take_along", Number: 210, Version: 1, Access: Gather, Aligned: true, Effects: EffectFault,
			Doc: "y takes from x, at each position, the element whose index along axis is that of index; x and index have one rank " +
				"and broadcast on the other axes. Negative indices count from the end; one out of range makes the result an error.",
			Operands: picked, Attrs: axis, Infer: inferTakeAlong,
			Body: Body{Any: "gather(x, index)", Bool: "gather(x, index)"},
			GradFunc: func(g *GradContext) []Value {
				in := g.Type(g.In[0])
				ax, _ := Axis(extent(g.Attrs[0].Int), len(in.Shape))
				base := g.Type(g.DOut[0]).Shape.Clone() // x may be broadcast: the caller sums
				base[ax] = in.Shape[ax]
				return []Value{g.Do("scatter_along", []Value{g.zeros(Type{in.DType, base}), g.In[1], g.DOut[0]}, "axis", ax, "mode", PutAdd), nil}
			},
			Samples: []Sample{{Shapes: []Shape{{3, 4}, {3, 5}}, Attrs: A("axis", 1)},
				{Shapes: []Shape{{4, 1, 3}, {2, 2, 1}}, Attrs: A("axis", 0)}, {Shapes: []Shape{{4}, {6}}, Attrs: A("axis", -1)}}},
		&Row{Name: "scatter_along", Number: 211, Version: 1, Access: Scatter, Effects: EffectFault,
			Doc: "y is x with each element of z combined into the element whose index along axis is that of index, which broadcasts to z: " +
				"a left fold from x in ascending source order by mode: 0 replaces, 1 adds, 2 multiplies, 3 takes the maximum, 4 the minimum. " +
				"Negative indices count from the end; one out of range makes the result an error.",
			Operands: placed, Attrs: put, Infer: inferScatterAlong, GradFunc: gradScatter("take_along"), Samples: along},
		&Row{Name: "gather_nd", Number: 212, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc: "y takes the slices of x at coordinates: the last axis of index names positions on axis and those after it, " +
				"in whose place the other axes of index stand. Negative ones count from the end; one out of range makes the result an error.",
			Operands: picked, Attrs: axis, Infer: inferGatherND,
			GradFunc: func(g *GradContext) []Value {
				base := g.zeros(g.Type(g.In[0]))
				return []Value{g.Do("scatter_nd", []Value{base, g.In[1], g.DOut[0]}, "axis", g.Attrs[0].Int, "mode", PutAdd), nil}
			},
			Samples: []Sample{{Shapes: []Shape{{3, 4, 2}, {5, 2}}, Attrs: A("axis", 0)},
				{Shapes: []Shape{{2, 3, 3}, {2, 1, 2}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{3, 3}, {2}}, Attrs: A("axis", 0)}}},
		&Row{Name: "scatter_nd", Number: 213, Version: 1, Access: Scatter, Effects: EffectFault,
			Doc:      "y is x with the slices of z combined into those that gather_nd takes with the same index and axis, by mode as in scatter_along.",
			Operands: placed, Attrs: put, GradFunc: gradScatter("gather_nd"), Samples: nd,
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				want, err := inferGatherND(r, in[:2], a)
				if err != nil {
					return nil, err
				}
				return inferPlaced(in, want[0].Shape, a)
			}},
	)
}

func inferTakeAlong(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, index := in[0].Shape, in[1].Shape
	ax, err := Axis(extent(a[0].Int), len(x))
	if err != nil {
		return nil, err
	}
	if len(index) != len(x) {
		return nil, Errorf(ErrShape, "index has %d axes, expected %d as x has", len(index), len(x))
	}
	shape := index.Clone()
	for i, d := range x {
		switch {
		case i == ax || d == index[i] || d == 1:
		case index[i] == 1:
			shape[i] = d
		default:
			return nil, Errorf(ErrShape, "x %v and index %v do not broadcast on axis %d", x, index, i)
		}
	}
	if x[ax] == 0 && shape.Size() > 0 {
		return nil, Errorf(ErrShape, "axis %d of %v has no elements to pick", ax, x)
	}
	return []Type{{in[0].DType, shape}}, nil
}

func inferScatterAlong(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, index, z := in[0].Shape, in[1].Shape, in[2].Shape
	ax, err := Axis(extent(a[0].Int), len(x))
	if err != nil {
		return nil, err
	}
	if len(index) != len(x) || len(z) != len(x) {
		return nil, Errorf(ErrShape, "index has %d axes and z has %d, expected %d as x has", len(index), len(z), len(x))
	}
	for i, d := range index {
		if d != z[i] && d != 1 {
			return nil, Errorf(ErrShape, "index %v does not broadcast to z %v on axis %d", index, z, i)
		}
	}
	if x[ax] == 0 && z.Size() > 0 {
		return nil, Errorf(ErrShape, "axis %d of %v has no elements to put to", ax, x)
	}
	want := x.Clone()
	want[ax] = z[ax]
	return inferPlaced(in, want, a)
}

// inferPlaced is the rule that both scatters share: z has the shape that is
// wanted and the dtype of x, and the mode is one of those that this dtype has.
func inferPlaced(in []Type, want Shape, a Attrs) ([]Type, error) {
	x, z := in[0], in[2]
	mode := a[1].Int
	switch {
	case mode < 0 || mode >= putModes:
		return nil, Errorf(ErrArgument, "mode is %d, expected 0 to %d", mode, putModes-1)
	case x.DType != z.DType:
		return nil, Errorf(ErrDType, "x is %s but z is %s", x.DType, z.DType)
	case x.DType == Bool && mode != PutReplace:
		return nil, Errorf(ErrDType, "bool elements can only be replaced (mode 0), got mode %d", mode)
	case !z.Shape.Equal(want):
		return nil, Errorf(ErrShape, "z has shape %v, expected %v", z.Shape, want)
	}
	return []Type{x}, nil
}

// coordinates returns the first axis that the last axis of index names, and how
// many it names.
func coordinates(in []Type, a Attrs) (axis, count int, err error) {
	x, index := in[0].Shape, in[1].Shape
	if axis, err = Axis(extent(a[0].Int), len(x)); err != nil {
		return 0, 0, err
	}
	if len(index) == 0 {
		return 0, 0, Errorf(ErrShape, "index is a scalar, expected a last axis of coordinates")
	}
	count = index[len(index)-1]
	if count < 1 || count > len(x)-axis {
		return 0, 0, Errorf(ErrShape, "index %v has %d coordinates, expected 1 to %d: the axes of %v from %d on", index, count, len(x)-axis, x, axis)
	}
	return axis, count, nil
}

func inferGatherND(r *Row, in []Type, a Attrs) ([]Type, error) {
	axis, count, err := coordinates(in, a)
	if err != nil {
		return nil, err
	}
	x, index := in[0].Shape, in[1].Shape
	shape := append(x[:axis:axis], index[:len(index)-1]...)
	shape = append(shape, x[axis+count:]...)
	if x[axis:axis+count].Size() == 0 && shape.Size() > 0 {
		return nil, Errorf(ErrShape, "axes %d to %d of %v have no elements to pick", axis, axis+count-1, x)
	}
	return []Type{{in[0].DType, shape}}, nil
}

// gradScatter is the gradient of a scatter whose elements the row take reads
// back. Elements that max or min find equal share; of replaced ones the last gets
// it. Where a product has zeros, second derivatives are those of the branch taken.
func gradScatter(take string) GradFunc {
	return func(g *GradContext) []Value {
		axis, mode := g.Attrs[0].Int, int(g.Attrs[1].Int)
		x, index, z, dy := g.In[0], g.In[1], g.In[2], g.DOut[0]
		tx, tz := g.Type(x), g.Type(z)
		taken := func(v Value) Value { return g.Do(take, []Value{v, index}, "axis", axis) }
		placed := func(base, v Value, mode int) Value {
			return g.Do(g.Row.Name, []Value{base, index, v}, "axis", axis, "mode", mode)
		}
		fill := func(v float64, t Type) Value { return g.Do("expand", []Value{g.Scalar(v, t.DType)}, "shape", t.Shape) }
		times := func(a, b Value) Value { return g.Do("mul", []Value{a, b}) }
		where := func(c, a, b Value) Value { return g.Do("where", []Value{c, a, b}) }
		equal := func(a, b Value) Value { return g.Do("eq", []Value{a, b}) }
		zero, one := g.Scalar(0, tx.DType), g.Scalar(1, tx.DType)
		var dx, dz Value
		switch mode {
		case PutReplace:
			dx = placed(dy, g.zeros(tz), PutReplace)
			if g.Need[2] {
				number := g.Do("iota", nil, "shape", tz.Shape, "dtype", I64)
				last := placed(g.zeros(Type{I64, tx.Shape}), number, PutReplace)
				dz = where(equal(taken(last), number), taken(dy), zero)
			}
		case PutAdd:
			dx = dy
			if g.Need[2] {
				dz = taken(dy)
			}
		case PutMul:
			dx = times(dy, placed(fill(1, tx), z, PutMul))
			if g.Need[2] {
				isZero := equal(z, zero)
				zeros := placed(g.zeros(tx), where(isZero, one, zero), PutAdd)
				others := taken(placed(fill(1, tx), where(isZero, one, z), PutMul)) // the product of all but zeros
				n := taken(zeros)
				quotient := g.Do("div", []Value{others, where(isZero, one, z)})
				factor := where(isZero, where(equal(n, one), others, zero), where(equal(n, zero), quotient, zero))
				dz = times(taken(times(dy, x)), factor)
			}
		default:
			asNumber := func(c Value) Value { return g.Do("cast", []Value{c}, "dtype", tx.DType) }
			y := g.Out[0]
			hitX, hitZ := asNumber(equal(x, y)), asNumber(equal(z, taken(y)))
			share := g.Do("div", []Value{dy, placed(hitX, hitZ, PutAdd)})
			dx = times(share, hitX)
			if g.Need[2] {
				dz = times(taken(share), hitZ)
			}
		}
		return []Value{dx, nil, dz}
	}
}
