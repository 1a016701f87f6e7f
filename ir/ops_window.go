package ir

// Views that repeat or pick elements by their strides, and the row that puts a
// slice back.

func init() {
	slice := []AttrSpec{{Name: "starts", Kind: AttrInts}, {Name: "sizes", Kind: AttrInts}, {Name: "steps", Kind: AttrInts}}
	register(
		&Row{Name: "unfold", Number: 200, Version: 1, Access: View,
			Doc: "y has the windows of x along axis: element i of the axis is the window from i·step, " +
				"whose size elements, dilation apart, lie along a new last axis.",
			Operands: oneOperand(AnyType, AnyValue),
			Attrs: []AttrSpec{{Name: "axis", Kind: AttrInt, Default: -1}, {Name: "size", Kind: AttrInt},
				{Name: "step", Kind: AttrInt, Default: 1}, {Name: "dilation", Kind: AttrInt, Default: 1}},
			Infer: inferUnfold,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				ax, _ := Axis(extent(a[0].Int), len(in.Shape))
				st := append(append([]int64{}, l.Strides...), l.Strides[ax]*min(a[3].Int, int64(in.Shape[ax])))
				st[ax] = l.Strides[ax] * min(a[2].Int, int64(in.Shape[ax])) // a longer step has one window
				return Layout{l.Offset, st}, true
			},
			GradFunc: gradUnfold,
			Samples: []Sample{{Shapes: []Shape{{7}}, Attrs: A("axis", 0, "size", 3, "step", 2)},
				{Shapes: []Shape{{2, 6, 3}}, Attrs: A("axis", 1, "size", 2, "step", 1, "dilation", 3)},
				{Shapes: []Shape{{4, 5}}, Attrs: A("axis", -1, "size", 5, "step", 9)}}},
		&Row{Name: "diagonal", Number: 201, Version: 1, Access: View,
			Doc: "y has the elements of x whose index on axis2 is that on axis1 plus offset: " +
				"both axes go, and a new last one runs along the diagonal.",
			Operands: oneOperand(AnyType, AnyValue),
			Attrs: []AttrSpec{{Name: "offset", Kind: AttrInt, Default: 0}, {Name: "axis1", Kind: AttrInt, Default: 0},
				{Name: "axis2", Kind: AttrInt, Default: 1}},
			Infer: inferDiagonal,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				d, _ := diagonalOf(in, a)
				st := make([]int64, 0, len(out.Shape))
				for i, s := range l.Strides {
					if i != d.axis1 && i != d.axis2 {
						st = append(st, s)
					}
				}
				if d.count > 0 {
					l.Offset += int64(d.row)*l.Strides[d.axis1] + int64(d.column)*l.Strides[d.axis2]
				}
				return Layout{l.Offset, append(st, l.Strides[d.axis1]+l.Strides[d.axis2])}, true
			},
			GradFunc: gradDiagonal,
			Samples: []Sample{{Shapes: []Shape{{3, 4}}}, {Shapes: []Shape{{3, 4}}, Attrs: A("offset", -1)},
				{Shapes: []Shape{{2, 3, 4}}, Attrs: A("offset", 2, "axis1", 1, "axis2", -1)},
				{Shapes: []Shape{{3, 2, 3}}, Attrs: A("offset", 1, "axis1", 2, "axis2", 0)}}},
		&Row{Name: "set_slice", Number: 202, Version: 1, Access: Join,
			Doc:      "y is x with z in place of the elements that slice takes with the same starts, sizes and steps.",
			Operands: []Operand{{"x", AnyType, AnyValue}, {"z", AnyType, AnyValue}}, Attrs: slice, Infer: inferSetSlice,
			Part: func(r *Row, in []Type, i int, a Attrs, l Layout) Layout {
				if i == 1 {
					l, _ = Lookup("slice").View(r, in[0], l, a, in[1])
				}
				return l
			},
			GradFunc: func(g *GradContext) []Value {
				named := []any{"starts", g.Attrs[0].List, "sizes", g.Attrs[1].List, "steps", g.Attrs[2].List}
				out := make([]Value, 2)
				if g.Need[0] {
					out[0] = g.Do("set_slice", []Value{g.DOut[0], g.zeros(g.Type(g.In[1]))}, named...)
				}
				if g.Need[1] {
					out[1] = g.Do("slice", g.DOut, named...)
				}
				return out
			},
			Samples: []Sample{{Shapes: []Shape{{6}, {3}}, Attrs: A("starts", []int{5}, "sizes", []int{3}, "steps", []int{-2})},
				{Shapes: []Shape{{3, 5}, {2, 2}}, Attrs: A("starts", []int{1, 0}, "sizes", []int{2, 2}, "steps", []int{1, 3})},
				{Shapes: []Shape{{3, 2}, {0, 2}}, Attrs: A("starts", []int{0, 0}, "sizes", []int{0, 2}, "steps", []int{1, 1})}}},
	)
}

// zeros are zeros of a type, without memory.
func (g *GradContext) zeros(t Type) Value {
	return g.Do("expand", []Value{g.Scalar(0, t.DType)}, "shape", t.Shape)
}

// progression is start, start+step, ... as n i64 indices.
func (g *GradContext) progression(n, start, step int) Value {
	index := g.Do("iota", nil, "shape", []int{n}, "dtype", I64)
	index = g.Do("mul", []Value{index, g.Scalar(float64(step), I64)})
	return g.Do("add", []Value{index, g.Scalar(float64(start), I64)})
}

func inferUnfold(r *Row, in []Type, a Attrs) ([]Type, error) {
	ax, err := Axis(extent(a[0].Int), len(in[0].Shape))
	if err != nil {
		return nil, err
	}
	size, step, dilation := a[1].Int, a[2].Int, a[3].Int
	if size < 1 || step < 1 || dilation < 1 {
		return nil, Errorf(ErrArgument, "size %d, step %d and dilation %d: each is at least 1", size, step, dilation)
	}
	d := int64(in[0].Shape[ax])
	if size > d || size > 1 && dilation > (d-1)/(size-1) {
		return nil, Errorf(ErrShape, "a window of %d elements, %d apart, is longer than axis %d of %v", size, dilation, ax, in[0].Shape)
	}
	shape := append(in[0].Shape.Clone(), extent(size))
	shape[ax] = extent((d-1-(size-1)*dilation)/step + 1)
	return []Type{{in[0].DType, shape}}, nil
}

// gradUnfold adds the windows up: a scatter-add along the axis.
func gradUnfold(g *GradContext) []Value {
	in, out := g.Type(g.In[0]), g.Type(g.DOut[0])
	rank := len(in.Shape)
	ax, _ := Axis(extent(g.Attrs[0].Int), rank)
	count, size := out.Shape[ax], out.Shape[rank]
	step, dilation := int(min(g.Attrs[2].Int, int64(in.Shape[ax]))), int(min(g.Attrs[3].Int, int64(in.Shape[ax])))
	axes := make([]int, 0, rank+1) // the windows' elements next to the windows
	for i := 0; i < rank; i++ {
		if axes = append(axes, i); i == ax {
			axes = append(axes, rank)
		}
	}
	flat := in.Shape.Clone()
	flat[ax] = count * size
	d := g.Do("reshape", []Value{g.Do("permute", g.DOut, "axes", axes)}, "shape", flat)
	if dilation == 1 && (step == size || count == 1) { // windows that tile the axis: nothing to add up
		return []Value{build{g}.border(d, ax, 0, in.Shape[ax]-flat[ax], 0)}
	}
	first := g.Do("reshape", []Value{g.progression(count, 0, step)}, "shape", []int{count, 1})
	index := g.Do("add", []Value{first, g.progression(size, 0, dilation)})
	index = g.Do("reshape", []Value{index}, "shape", []int{count * size})
	return []Value{g.Do("scatter_add", []Value{g.zeros(in), index, d}, "axis", ax)}
}

// diagonal is where a diagonal lies: from (row, column), count elements.
type diagonal struct{ axis1, axis2, row, column, count int }

func diagonalOf(in Type, a Attrs) (diagonal, error) {
	var d diagonal
	var err error
	if d.axis1, err = Axis(extent(a[1].Int), len(in.Shape)); err != nil {
		return d, err
	}
	if d.axis2, err = Axis(extent(a[2].Int), len(in.Shape)); err != nil {
		return d, err
	}
	if d.axis1 == d.axis2 {
		return d, Errorf(ErrShape, "axis1 %d and axis2 %d of %v are the same", a[1].Int, a[2].Int, in.Shape)
	}
	rows, columns := int64(in.Shape[d.axis1]), int64(in.Shape[d.axis2])
	switch off := a[0].Int; {
	case off >= columns || off <= -rows: // beyond the corner
	case off >= 0:
		d.column, d.count = int(off), int(min(rows, columns-off))
	default:
		d.row, d.count = int(-off), int(min(rows+off, columns))
	}
	return d, nil
}

func inferDiagonal(r *Row, in []Type, a Attrs) ([]Type, error) {
	d, err := diagonalOf(in[0], a)
	if err != nil {
		return nil, err
	}
	shape := Shape{}
	for i, n := range in[0].Shape {
		if i != d.axis1 && i != d.axis2 {
			shape = append(shape, n)
		}
	}
	return []Type{{in[0].DType, append(shape, d.count)}}, nil
}

// gradDiagonal adds the diagonal to zeros whose two axes are flat.
func gradDiagonal(g *GradContext) []Value {
	in := g.Type(g.In[0])
	d, _ := diagonalOf(in, g.Attrs)
	rows, columns := in.Shape[d.axis1], in.Shape[d.axis2]
	var order []int
	var shape Shape
	for i, n := range in.Shape {
		if i != d.axis1 && i != d.axis2 {
			order, shape = append(order, i), append(shape, n)
		}
	}
	order = append(order, d.axis1, d.axis2)
	flat := append(shape[:len(shape):len(shape)], rows*columns)
	index := g.progression(d.count, d.row*columns+d.column, columns+1)
	y := g.Do("scatter_add", []Value{g.zeros(Type{in.DType, flat}), index, g.DOut[0]}, "axis", len(flat)-1)
	y = g.Do("reshape", []Value{y}, "shape", append(shape, rows, columns))
	back := make([]int, len(order))
	for i, x := range order {
		back[x] = i
	}
	return []Value{g.Do("permute", []Value{y}, "axes", back)}
}

func inferSetSlice(r *Row, in []Type, a Attrs) ([]Type, error) {
	part, err := inferSlice(r, in[:1], a)
	if err != nil {
		return nil, err
	}
	if in[0].DType != in[1].DType {
		return nil, Errorf(ErrDType, "x is %s but z is %s", in[0].DType, in[1].DType)
	}
	if !in[1].Shape.Equal(part[0].Shape) {
		return nil, Errorf(ErrShape, "z has shape %v, expected that of the slice, %v", in[1].Shape, part[0].Shape)
	}
	return in[:1:1], nil
}
