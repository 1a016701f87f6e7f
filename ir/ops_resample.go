package ir

// Interpolation: gathers at coordinates computed in f64, weighted in the dtype.

// Coordinate rules of interpolation: where element i of m lies among n.
const (
	CoordsHalfPixel  = iota // (i + 1/2)·n/m - 1/2: the extents agree at their borders
	CoordsCorners           // i·(n-1)/(m-1), 0 if m is 1: the first and last elements agree
	CoordsAsymmetric        // i·n/m: the first elements agree
)

func init() {
	attrs := func(more ...AttrSpec) []AttrSpec {
		return append([]AttrSpec{{Name: "sizes", Kind: AttrInts}, {Name: "coords", Kind: AttrInt, Default: CoordsHalfPixel}}, more...)
	}
	const coords = " on each axis after the first two; coords says where element i of m lies among n: 0 at (i + 1/2)·n/m - 1/2, " +
		"1 at i·(n-1)/(m-1), 2 at i·n/m"
	samples := func(more ...any) []Sample {
		return []Sample{{Shapes: []Shape{{2, 1, 3}}, Attrs: A(append([]any{"sizes", []int{7}}, more...)...)},
			{Shapes: []Shape{{1, 2, 3, 4}}, Attrs: A(append([]any{"sizes", []int{5, 2}, "coords", 1}, more...)...)}}
	}
	sampling := []AttrSpec{{Name: "mode", Kind: AttrInt, Default: 1}, {Name: "padding", Kind: AttrInt, Default: 0}, {Name: "corners", Kind: AttrBool, Default: false}}
	register(
		&Row{Name: "interpolate_nearest", Number: 420, Version: 1, Access: Gather,
			Doc:      "y takes the element of x at the coordinate, with coords 0 and 2 the one whose cell it lies in (floor of (i + 1/2)·n/m and i·n/m), with 1 the nearest, halves up," + coords + ".",
			Operands: oneOperand(AnyType, AnyValue), Attrs: attrs(), Infer: inferResized, Samples: samples(),
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				return []Value{build{g}.resize(in[0], a, func(b build, x Value, axis, m int, c int64) Value {
					at := b.coordinate(m, b.shape(x)[axis], c)
					if c != CoordsAsymmetric {
						at = b.add(at, b.Scalar(0.5, F64))
					}
					return b.do("gather", []Value{x, b.pick(at, b.shape(x)[axis])}, "axis", axis)
				})}
			}},
		&Row{Name: "interpolate_linear", Number: 421, Version: 1, Access: Gather,
			Doc:      "y interpolates x linearly between neighbours, the border elements going on beyond," + coords + ".",
			Operands: oneOperand(FloatClass, Moderate), Attrs: attrs(), Infer: inferResized, Samples: samples(), Tol: Tolerance{F32: 16, F64: 16},
			Decompose: func(g Graph, in []Value, a Attrs) []Value { return []Value{build{g}.resize(in[0], a, build.linear)} }},
		&Row{Name: "interpolate_cubic", Number: 422, Version: 1, Access: Gather,
			Doc:      "y interpolates x by Keys's cubic convolution of four neighbours with the parameter a, the border elements going on beyond," + coords + ".",
			Operands: oneOperand(FloatClass, Moderate), Attrs: attrs(AttrSpec{Name: "a", Kind: AttrFloat, Default: -0.75}),
			Infer: inferResized, Samples: samples(), Tol: Tolerance{F32: 32, F64: 32},
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				k := a[2].Float()
				return []Value{build{g}.resize(in[0], a, func(b build, x Value, axis, m int, c int64) Value { return b.cubic(x, axis, m, c, k) })}
			}},
		&Row{Name: "grid_sample", Number: 423, Version: 1, Access: Gather,
			Doc: "y[n, c, p...] is x[n, c] at the point z[n, p...], whose coordinates count from the last axis of x and run from -1 to 1, " +
				"borders of the outer elements or, with corners, their centres; mode 0 takes the nearest element (halves to even), 1 interpolates linearly; " +
				"padding 0 gives zeros outside, 1 the border, 2 reflects.",
			Operands: []Operand{{"x", FloatClass, Moderate}, {"z", FloatClass, Moderate}}, Attrs: sampling, Infer: inferGridSample, Decompose: decomposeGridSample,
			Tol:     Tolerance{F32: 64, F64: 64},
			Samples: []Sample{{Shapes: []Shape{{2, 3, 3, 4}, {2, 2, 3, 2}}}, {Shapes: []Shape{{1, 2, 2, 3, 4}, {1, 1, 2, 2, 3}}, Attrs: A("padding", 1, "corners", true)}}},
	)
}

func inferResized(r *Row, in []Type, a Attrs) ([]Type, error) {
	if c := r.Attr(a, "coords").Int; c < CoordsHalfPixel || c > CoordsAsymmetric {
		return nil, Errorf(ErrArgument, "coords is %d, expected 0, 1 or 2", c)
	}
	return inferSized(r, in, a)
}

func (b build) resize(x Value, a Attrs, along func(b build, x Value, axis, m int, c int64) Value) Value {
	for i, m := range a[0].List {
		if m := int(m); m != b.shape(x)[2+i] {
			x = along(b, x, 2+i, m, a[1].Int)
		}
	}
	return x
}

// coordinate is where m elements lie among n, as f64[m]. The quotient is exact
// where it is integral, and never rounds up to an integer.
func (b build) coordinate(m, n int, c int64) Value {
	i := b.iota(m, 0, 1, F64)
	num := func(v float64) Value { return b.Scalar(v, F64) }
	switch {
	case c == CoordsHalfPixel:
		i = b.mul(b.add(b.mul(i, num(2)), num(1)), num(float64(n)))
		return b.sub(b.div(i, num(float64(2*m))), num(0.5))
	case c == CoordsCorners && m == 1:
		return b.mul(i, num(0))
	case c == CoordsCorners:
		return b.div(b.mul(i, num(float64(n-1))), num(float64(m-1)))
	}
	return b.div(b.mul(i, num(float64(n))), num(float64(m)))
}

// pick is the index below a coordinate, moved into 0 to n-1.
func (b build) pick(at Value, n int) Value {
	at = b.do("floor", []Value{at})
	at = b.pair("minimum", b.pair("maximum", at, b.Scalar(0, F64)), b.Scalar(float64(n-1), F64))
	return b.cast(at, I64)
}

// weigh gathers along an axis and multiplies by weights, f64[m]; what has weight
// 0 takes no part, even if it is infinite.
func (b build) weigh(x, at, weight Value, axis int) Value {
	v := b.do("gather", []Value{x, at}, "axis", axis)
	shape := make([]int, len(b.shape(v)))
	for i := range shape {
		shape[i] = 1
	}
	shape[axis] = b.shape(v)[axis]
	return b.pair("mul0", b.reshape(b.cast(weight, b.Type(x).DType), shape...), v)
}

func (b build) linear(x Value, axis, m int, c int64) Value {
	n := b.shape(x)[axis]
	at := b.coordinate(m, n, c)
	at = b.pair("minimum", b.pair("maximum", at, b.Scalar(0, F64)), b.Scalar(float64(n-1), F64))
	t := b.sub(at, b.do("floor", []Value{at}))
	low := b.weigh(x, b.pick(at, n), b.sub(b.Scalar(1, F64), t), axis)
	return b.add(low, b.weigh(x, b.pick(b.add(at, b.Scalar(1, F64)), n), t, axis))
}

func (b build) cubic(x Value, axis, m int, c int64, a float64) Value {
	n := b.shape(x)[axis]
	at := b.coordinate(m, n, c)
	t := b.sub(at, b.do("floor", []Value{at}))
	poly := func(d Value, c ...float64) Value { // Horner
		v := b.Scalar(c[0], F64)
		for _, k := range c[1:] {
			v = b.add(b.mul(v, d), b.Scalar(k, F64))
		}
		return v
	}
	one := b.Scalar(1, F64)
	rest := b.sub(one, t)
	far := []float64{a, -5 * a, 8 * a, -4 * a} // from 1 to 2
	near := []float64{a + 2, -(a + 3), 0, 1}   // from 0 to 1
	weights := []Value{poly(b.add(t, one), far...), poly(t, near...), poly(rest, near...), poly(b.add(rest, one), far...)}
	var y Value
	for i, w := range weights {
		v := b.weigh(x, b.pick(b.add(at, b.Scalar(float64(i-1), F64)), n), w, axis)
		if y == nil {
			y = v
		} else {
			y = b.add(y, v)
		}
	}
	return y
}

func inferGridSample(r *Row, in []Type, a Attrs) ([]Type, error) {
	if err := sameTypes(in); err != nil {
		return nil, err
	}
	x, z := in[0].Shape, in[1].Shape
	if err := spatial("x", x); err != nil {
		return nil, err
	}
	d := len(x) - 2
	if len(z) != d+2 || z[0] != x[0] || z[d+1] != d {
		return nil, Errorf(ErrShape, "z has shape %v, expected %d batches, %d axes and %d coordinates for x of %v", z, x[0], d, d, x)
	}
	if m, p := a[0].Int, a[1].Int; m < 0 || m > 1 || p < 0 || p > 2 {
		return nil, Errorf(ErrArgument, "mode %d and padding %d: expected 0 or 1, and 0, 1 or 2", m, p)
	}
	for _, n := range x[2:] {
		if n == 0 {
			return nil, Errorf(ErrShape, "x of %v has no elements to sample", x)
		}
	}
	return []Type{{in[0].DType, append(x[:2:2], z[1:d+1]...)}}, nil
}

// place turns coordinates from -1 to 1 into those of elements, moved inside as
// padding says.
func (b build) place(v Value, n int, padding int64, corners bool) Value {
	num := func(c float64) Value { return b.num(c, v) }
	lo, hi := -0.5, float64(n)-0.5 // where reflection mirrors
	if corners {
		v = b.mul(b.add(v, num(1)), num(float64(n-1)/2))
		lo, hi = 0, float64(n-1)
	} else {
		v = b.sub(b.mul(b.add(v, num(1)), num(float64(n)/2)), num(0.5))
	}
	if padding == 2 {
		if hi == lo {
			v = b.mul(v, num(0))
		} else {
			v = b.do("abs", []Value{b.sub(v, num(lo))})
			v = b.sub(v, b.mul(b.do("floor", []Value{b.div(v, num(2*(hi-lo)))}), num(2*(hi-lo))))
			v = b.add(b.pair("minimum", v, b.sub(num(2*(hi-lo)), v)), num(lo))
		}
	}
	if padding != 0 {
		v = b.pair("minimum", b.pair("maximum", v, num(0)), num(float64(n-1)))
	}
	return v
}

func decomposeGridSample(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	x := b.Type(in[0])
	d := len(x.Shape) - 2
	compute := x.DType.Compute()
	z := b.cast(in[1], compute)
	points := b.shape(z)[1 : d+1]
	count := points.Size()
	// Elements with their channels last are rows to gather.
	axes := []int{0}
	total := x.Shape[0]
	for i := range d {
		axes = append(axes, 2+i)
		total *= x.Shape[2+i]
	}
	rows := b.reshape(b.permute(in[0], append(axes, 1)...), total, x.Shape[1])
	// Per axis: the neighbours' indices, their weights, and whether they are inside.
	type side struct{ at, weight, inside Value }
	var sides [3][]side
	for i := range d {
		n := x.Shape[2+i]
		v := b.reshape(b.slice(z, d+1, d-1-i, 1, 1), x.Shape[0], count)
		v = b.place(v, n, a[1].Int, a[2].Bool())
		low := b.do("floor", []Value{v})
		add := func(at, weight Value) {
			inside := b.pair("and", b.pair("ge", at, b.num(0, at)), b.pair("lt", at, b.num(float64(n), at)))
			index := b.cast(b.pair("minimum", b.pair("maximum", at, b.num(0, at)), b.num(float64(n-1), at)), I64)
			sides[i] = append(sides[i], side{index, weight, inside})
		}
		if a[0].Int == 0 {
			// The nearest, halves to even.
			rest := b.sub(v, low)
			odd := b.pair("ne", b.mul(b.do("floor", []Value{b.mul(low, b.num(0.5, low))}), b.num(2, low)), low)
			half := b.num(0.5, rest)
			up := b.pair("or", b.pair("gt", rest, half), b.pair("and", b.pair("eq", rest, half), odd))
			add(b.where(up, b.add(low, b.num(1, low)), low), nil)
			continue
		}
		t := b.sub(v, low)
		add(low, b.sub(b.num(1, t), t))
		add(b.add(low, b.num(1, low)), t)
	}
	batch := b.iota(x.Shape[0], 0, 2, I64)
	var y Value
	var corner func(i int, c side)
	corner = func(i int, c side) {
		if i == d {
			v := b.cast(b.do("gather", []Value{rows, b.reshape(c.at, x.Shape[0]*count)}, "axis", 0), compute)
			v = b.reshape(v, x.Shape[0], count, x.Shape[1])
			flat := []int{x.Shape[0], count, 1}
			v = b.where(b.reshape(c.inside, flat...), v, b.num(0, v))
			if c.weight != nil {
				v = b.mul(v, b.reshape(c.weight, flat...))
			}
			if y == nil {
				y = v
			} else {
				y = b.add(y, v)
			}
			return
		}
		for _, s := range sides[i] {
			next := side{b.add(b.mul(c.at, b.Scalar(float64(x.Shape[2+i]), I64)), s.at), s.weight, s.inside}
			if i > 0 {
				next.inside = b.pair("and", c.inside, s.inside)
				if s.weight != nil {
					next.weight = b.mul(c.weight, s.weight)
				}
			}
			corner(i+1, next)
		}
	}
	corner(0, side{at: batch})
	y = b.permute(b.cast(y, x.DType), 0, 2, 1)
	return []Value{b.reshape(y, append(x.Shape[:2:2], points...)...)}
}
