package ir

import "slices"

// Views: the operand's own elements in another arrangement. No view copies,
// save a reshape whose operand no strides can express.

func init() {
	register(
		&Row{Name: "reshape", Number: 50, Version: 1, Access: View,
			Doc:      "y has the elements of x in row-major order, in another shape of the same size.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{{Name: "shape", Kind: AttrInts}},
			Infer: inferReshape, View: viewReshape,
			GradFunc: func(g *GradContext) []Value {
				return []Value{g.Do("reshape", g.DOut, "shape", g.Type(g.In[0]).Shape)}
			},
			Samples: []Sample{{Shapes: []Shape{{2, 6}}, Attrs: A("shape", []int{3, 4})}}},
		&Row{Name: "permute", Number: 51, Version: 1, Access: View,
			Doc:      "axis i of y is axis axes[i] of x.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{{Name: "axes", Kind: AttrInts}},
			Infer: inferPermute,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				p, _ := permutation(r, in, a)
				st := make([]int64, len(p))
				for i, x := range p {
					st[i] = l.Strides[x]
				}
				return Layout{l.Offset, st}, true
			},
			GradFunc: func(g *GradContext) []Value {
				p, _ := permutation(g.Row, g.Type(g.In[0]), g.Attrs)
				inverse := make([]int, len(p))
				for i, x := range p {
					inverse[x] = i
				}
				return []Value{g.Do("permute", g.DOut, "axes", inverse)}
			},
			Samples: []Sample{{Shapes: []Shape{{2, 3, 4}}, Attrs: A("axes", []int{2, 0, 1})}}},
		&Row{Name: "expand", Number: 52, Version: 1, Access: View,
			Doc:      "y is x broadcast to shape: axes of extent 1 repeat, axes are added in front.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: []AttrSpec{{Name: "shape", Kind: AttrInts}},
			Infer: inferExpand,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				st := make([]int64, len(out.Shape))
				off := len(out.Shape) - len(in.Shape)
				for i, d := range in.Shape {
					if d == out.Shape[off+i] && d != 1 {
						st[off+i] = l.Strides[i]
					}
				}
				return Layout{l.Offset, st}, true
			},
			GradFunc: func(g *GradContext) []Value { return []Value{g.DOut[0]} }, // summed to the operand by the caller
			Samples:  []Sample{{Shapes: []Shape{{3, 1}}, Attrs: A("shape", []int{2, 3, 4})}}},
		&Row{Name: "slice", Number: 53, Version: 1, Access: View,
			Doc:      "axis i of y takes the elements start, start+step, ... of axis i of x: size[i] of them; steps may be negative.",
			Operands: oneOperand(AnyType, AnyValue),
			Attrs:    []AttrSpec{{Name: "starts", Kind: AttrInts}, {Name: "sizes", Kind: AttrInts}, {Name: "steps", Kind: AttrInts}},
			Infer:    inferSlice,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				st := make([]int64, len(out.Shape))
				off := l.Offset
				for i := range st {
					if out.Shape[i] > 0 {
						off += a[0].List[i] * l.Strides[i]
					}
					st[i] = l.Strides[i] * a[2].List[i]
				}
				return Layout{off, st}, true
			},
			GradFunc: gradSlice,
			Samples:  []Sample{{Shapes: []Shape{{5, 7}}, Attrs: A("starts", []int{4, 1}, "sizes", []int{3, 3}, "steps", []int{-2, 2})}}},
		// Recorded by planners, which know layouts, and by nobody else: it has no
		// method and no gradient.
		&Row{Name: "strided", Number: 54, Version: 1, Access: View,
			Doc:      "y[i, j, ...] is element offset + i·strides[0] + j·strides[1] + ... of x in row-major order.",
			Operands: oneOperand(AnyType, AnyValue),
			Attrs:    []AttrSpec{{Name: "shape", Kind: AttrInts}, {Name: "offset", Kind: AttrInt}, {Name: "strides", Kind: AttrInts}},
			Infer:    inferStrided,
			View: func(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
				for i, st := range in.Shape.Strides() {
					if in.Shape[i] != 1 && l.Strides[i] != st {
						return Layout{}, false // addresses count elements that lie side by side
					}
				}
				off := l.Offset
				if out.Shape.Size() > 0 {
					off += a[1].Int
				}
				return Layout{off, append([]int64(nil), a[2].List...)}, true
			},
			Samples: []Sample{{Shapes: []Shape{{3, 4}}, Attrs: A("shape", []int{4, 3}, "offset", 3, "strides", []int{-1, 4})}}},
	)
}

// inferStrided checks that every address lies inside the operand.
func inferStrided(r *Row, in []Type, a Attrs) ([]Type, error) {
	list, strides := a[0].List, a[2].List
	shape := make(Shape, len(list))
	for i, d := range list {
		shape[i] = extent(d)
	}
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if len(strides) != len(shape) {
		return nil, Errorf(ErrShape, "strides %v for the axes of %v: expected %d", strides, shape, len(shape))
	}
	l := Layout{a[1].Int, strides}
	if size := in[0].Shape.Size(); !l.Inside(list, int64(size)) {
		return nil, Errorf(ErrShape, "offset %d, shape %v and strides %v leave the %d elements of %v", l.Offset, shape, strides, size, in[0].Shape)
	}
	return []Type{{in[0].DType, shape}}, nil
}

// Inside reports whether every element of an iteration space lies in a buffer of
// size elements: those at Offset + Σ Strides[i]·x[i], 0 ≤ x[i] < extents[i]. A
// space without elements is inside any. It does not overflow.
func (l Layout) Inside(extents []int64, size int64) bool {
	for _, n := range extents {
		if n <= 0 {
			return true
		}
	}
	low, high := l.Offset, l.Offset
	if low < 0 || high >= size {
		return false
	}
	for i, n := range extents {
		s := l.Strides[i]
		if n == 1 || s == 0 {
			continue
		}
		// What leaves the buffer by itself need not be multiplied out.
		if s < -(size-1)/(n-1) || s > (size-1)/(n-1) {
			return false
		}
		if s < 0 {
			low += s * (n - 1)
		} else {
			high += s * (n - 1)
		}
		if low < 0 || high >= size {
			return false
		}
	}
	return true
}

func inferReshape(r *Row, in []Type, a Attrs) ([]Type, error) {
	want := a[0].List
	shape := make(Shape, len(want))
	infer, n := -1, 1
	for i, d := range want {
		shape[i] = extent(d)
		switch {
		case d == -1 && infer < 0:
			infer = i
		case d < 0:
			return nil, Errorf(ErrShape, "shape %v: extents are at least 0, with at most one -1", want)
		case d == 0:
			n = 0
		case n > MaxElements/shape[i]: // a product that could wrap
			return nil, Errorf(ErrShape, "shape %v has too many elements", want)
		default:
			n *= shape[i]
		}
	}
	size := in[0].Shape.Size()
	if infer >= 0 {
		if n == 0 || size%n != 0 {
			return nil, Errorf(ErrShape, "%v has %d elements, which no extent in place of -1 makes of %v", in[0].Shape, size, want)
		}
		shape[infer] = size / n
		n *= shape[infer]
	}
	if n != size {
		return nil, Errorf(ErrShape, "%v has %d elements, %v has %d", in[0].Shape, size, shape, n)
	}
	return []Type{{in[0].DType, shape}}, nil
}

// viewReshape finds strides for the new shape where the old ones allow it: runs
// of old axes that lie contiguously are split and merged at will.
func viewReshape(r *Row, in Type, l Layout, a Attrs, out Type) (Layout, bool) {
	st := make([]int64, len(out.Shape))
	if out.Shape.Size() == 0 {
		return Layout{l.Offset, out.Shape.Strides()}, true
	}
	i, o := 0, 0
	for i < len(in.Shape) || o < len(out.Shape) {
		if i < len(in.Shape) && in.Shape[i] == 1 {
			i++
			continue
		}
		if o < len(out.Shape) && out.Shape[o] == 1 {
			o++
			continue
		}
		// Grow a run of old axes and one of new axes to the same size.
		i0, o0 := i, o
		ni, no := in.Shape[i], out.Shape[o]
		i, o = i+1, o+1
		for ni != no {
			if ni < no {
				ni *= in.Shape[i]
				i++
			} else {
				no *= out.Shape[o]
				o++
			}
		}
		stride := int64(0)
		for j := i - 1; j >= i0; j-- { // the old run must be one progression
			if in.Shape[j] == 1 {
				continue
			}
			if stride != 0 && l.Strides[j] != stride {
				return Layout{}, false
			}
			if stride == 0 {
				stride = l.Strides[j]
				if stride == 0 && ni != in.Shape[j] {
					return Layout{}, false
				}
			}
			stride *= int64(in.Shape[j])
		}
		step := int64(0)
		for j := i - 1; j >= i0; j-- {
			if in.Shape[j] != 1 {
				step = l.Strides[j]
				break
			}
		}
		for j := o - 1; j >= o0; j-- {
			st[j] = step
			step *= int64(out.Shape[j])
		}
	}
	return Layout{l.Offset, st}, true
}

func permutation(r *Row, in Type, a Attrs) ([]int, error) {
	list := r.Attr(a, "axes").List
	if len(list) != len(in.Shape) {
		return nil, Errorf(ErrShape, "axes %v name %d axes, %v has %d", list, len(list), in.Shape, len(in.Shape))
	}
	out := make([]int, len(list))
	var seen [MaxRank]bool
	for i, x := range list {
		ax, err := Axis(extent(x), len(in.Shape))
		if err != nil {
			return nil, err
		}
		if seen[ax] {
			return nil, Errorf(ErrShape, "axes %v name axis %d twice", list, ax)
		}
		seen[ax] = true
		out[i] = ax
	}
	return out, nil
}

func inferPermute(r *Row, in []Type, a Attrs) ([]Type, error) {
	p, err := permutation(r, in[0], a)
	if err != nil {
		return nil, err
	}
	shape := make(Shape, len(p))
	for i, x := range p {
		shape[i] = in[0].Shape[x]
	}
	return []Type{{in[0].DType, shape}}, nil
}

func inferExpand(r *Row, in []Type, a Attrs) ([]Type, error) {
	shape := make(Shape, len(a[0].List))
	off := len(shape) - len(in[0].Shape)
	if off < 0 {
		return nil, Errorf(ErrShape, "%v does not expand to %v, which has fewer axes", in[0].Shape, a[0].List)
	}
	for i, d := range a[0].List {
		shape[i] = extent(d)
		if i < off {
			continue
		}
		have := in[0].Shape[i-off]
		if d == -1 {
			shape[i] = have
		} else if shape[i] != have && have != 1 {
			return nil, Errorf(ErrShape, "%v does not expand to %v: axis %d has extent %d, expected 1 or %d", in[0].Shape, a[0].List, i-off, have, d)
		}
	}
	return []Type{{in[0].DType, shape}}, nil
}

func inferSlice(r *Row, in []Type, a Attrs) ([]Type, error) {
	rank := len(in[0].Shape)
	starts, sizes, steps := a[0].List, a[1].List, a[2].List
	if len(starts) != rank || len(sizes) != rank || len(steps) != rank {
		return nil, Errorf(ErrShape, "starts, sizes and steps need %d entries each, got %d, %d and %d", rank, len(starts), len(sizes), len(steps))
	}
	shape := make(Shape, rank)
	for i, d := range in[0].Shape {
		if steps[i] == 0 {
			return nil, Errorf(ErrShape, "axis %d: the step is 0", i)
		}
		n := sizes[i]
		if n < 0 || n > int64(d) {
			return nil, Errorf(ErrShape, "axis %d: %d elements of an axis of extent %d", i, n, d)
		}
		if n > 0 {
			span := int64(MaxElements)
			if n == 1 {
				span = 0
			} else if s := steps[i]; s > -span/(n-1) && s < span/(n-1) {
				span = s * (n - 1)
			}
			last := starts[i] + span
			if starts[i] < 0 || starts[i] >= int64(d) || last < 0 || last >= int64(d) {
				return nil, Errorf(ErrShape, "axis %d: start %d, step %d and size %d leave the extent %d", i, starts[i], steps[i], n, d)
			}
		}
		shape[i] = int(n)
	}
	return []Type{{in[0].DType, shape}}, nil
}

// gradSlice puts the gradient back where the elements came from.
func gradSlice(g *GradContext) []Value {
	if g.Type(g.In[0]).Shape.Equal(g.Type(g.DOut[0]).Shape) && !slices.ContainsFunc(g.Attrs[2].List, func(step int64) bool { return step != 1 }) {
		return g.DOut // all of it
	}
	return []Value{Part{g.DOut[0], g.Attrs[0].List, g.Attrs[1].List, g.Attrs[2].List}}
}
