package ir

import "slices"

// Pooling: windows, and reductions over them.

func poolAttrs(more ...AttrSpec) []AttrSpec {
	return append(windowAttrs(AttrSpec{Name: "kernel", Kind: AttrInts}, AttrSpec{Name: "ceil", Kind: AttrBool, Default: false}), more...)
}

func init() {
	maxOperand := oneOperand(Numbers, AnyValue)
	maxSamples := []Sample{{Shapes: []Shape{{2, 1, 7}}, Attrs: A("kernel", []int{3}, "strides", []int{2}, "pads", []int{1, 0})},
		{Shapes: []Shape{{1, 2, 4, 5}}, Attrs: A("kernel", []int{2, 2}, "strides", []int{2, 2}, "ceil", true)}}
	const ceil = "ceil lets a last window hang over the end, if it begins before it"
	register(
		&Row{Name: "max_pool", Number: 410, Version: 1, Access: Reduce,
			Doc: "y = the greatest of each window over the axes of x after the first two; NaN wins, padding never does; " +
				ceil + "; the gradient goes to the first of equals.",
			Operands: maxOperand, Attrs: poolAttrs(), Infer: inferPool(sameDType), Decompose: decomposeMaxPool, GradFunc: gradMaxPool, Samples: maxSamples},
		&Row{Name: "max_pool_index", Number: 411, Version: 1, Access: Reduce,
			Doc:      "y = the row-major index, within the axes of x after the first two, of the element that max_pool takes: the first of equals.",
			Operands: maxOperand, Attrs: poolAttrs(), Infer: inferPool(i64DType), Decompose: decomposeMaxPoolIndex, Samples: maxSamples},
		&Row{Name: "avg_pool", Number: 412, Version: 1, Access: Reduce,
			Doc: "y = the sum of each window over the axes of x after the first two, summed axis by axis from the last on, divided by divisor, or if that is 0 by its number of elements: " +
				"those of x, with include_pad those of the padding too, never those beyond it; " + ceil + ".",
			Operands: oneOperand(FloatClass, AnyValue),
			Attrs:    poolAttrs(AttrSpec{Name: "include_pad", Kind: AttrBool, Default: false}, AttrSpec{Name: "divisor", Kind: AttrInt, Default: 0}),
			Infer:    inferPool(sameDType), Decompose: decomposeAvgPool, Tol: Tolerance{F32: 40, F64: 40}, Samples: maxSamples},
		&Row{Name: "adaptive_avg_pool", Number: 413, Version: 2, Access: Reduce,
			Doc:      "y[i] = the mean of x from floor(i·n/sizes) up to ceil((i+1)·n/sizes), on each axis after the first two.",
			Operands: oneOperand(FloatClass, AnyValue), Attrs: []AttrSpec{{Name: "sizes", Kind: AttrInts}}, Infer: inferSized, Tol: Tolerance{F32: 40, F64: 40},
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				return []Value{build{g}.adaptive(in[0], a[0].List, "mean")}
			},
			Samples: []Sample{{Shapes: []Shape{{2, 1, 7}}, Attrs: A("sizes", []int{3})}, {Shapes: []Shape{{1, 2, 4, 5}}, Attrs: A("sizes", []int{2, 3})}}},
		&Row{Name: "adaptive_max_pool", Number: 414, Version: 1, Access: Reduce,
			Doc:      "y[i] = the greatest of x from floor(i·n/sizes) up to ceil((i+1)·n/sizes), on each axis after the first two; the gradient is shared by equals, axis by axis.",
			Operands: oneOperand(FloatClass, AnyValue), Attrs: []AttrSpec{{Name: "sizes", Kind: AttrInts}}, Infer: inferSized,
			Decompose: func(g Graph, in []Value, a Attrs) []Value { return []Value{build{g}.adaptive(in[0], a[0].List, "max")} },
			Samples:   []Sample{{Shapes: []Shape{{2, 1, 7}}, Attrs: A("sizes", []int{3})}}},
	)
}

// pooling is one call of a pooling row.
type pooling struct {
	ws   []sliding // with the overhang in hi
	end  []int     // the padding after each axis without it
	out  Shape
	size int // elements of a window
}

func poolingOf(r *Row, x Shape, a Attrs) (*pooling, error) {
	if err := spatial("x", x); err != nil {
		return nil, err
	}
	kernel := []int{}
	for _, k := range r.Attr(a, "kernel").List {
		kernel = append(kernel, extent(k))
	}
	if len(kernel) != len(x)-2 {
		return nil, Errorf(ErrArgument, "kernel %v for shape %v: expected %d extents", kernel, x, len(x)-2)
	}
	p := &pooling{out: x[:2].Clone(), size: 1}
	var err error
	if p.ws, err = slidings(r, a, kernel); err != nil {
		return nil, err
	}
	ceil := r.Attr(a, "ceil").Bool()
	for i := range p.ws {
		w := &p.ws[i]
		if w.lo >= w.span() || w.hi >= w.span() {
			return nil, Errorf(ErrArgument, "axis %d: padding %d and %d is not below the window's %d", 2+i, w.lo, w.hi, w.span())
		}
		d := x[2+i]
		n, err := w.count(d)
		if ceil && d > 0 { // one more window if it begins inside
			if err != nil {
				n, err = 0, nil
			}
			if rest := d + w.lo + w.hi - w.span() - (n-1)*w.stride; rest > 0 && rest != w.stride && n*w.stride < d+w.lo || n == 0 {
				n++
			}
		}
		if err != nil {
			return nil, err
		}
		p.end = append(p.end, w.hi)
		w.hi = max(w.hi, (n-1)*w.stride+w.span()-d-w.lo)
		p.out = append(p.out, n)
		if w.kernel > MaxElements/p.size {
			return nil, Errorf(ErrArgument, "the window has too many elements")
		}
		p.size *= w.kernel
	}
	return p, nil
}

func inferPool(result func(DType) DType) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		p, err := poolingOf(r, in[0].Shape, a)
		if err != nil {
			return nil, err
		}
		return []Type{{result(in[0].DType), p.out}}, nil
	}
}

func decomposeMaxPool(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	p, err := poolingOf(Lookup("max_pool"), b.shape(in[0]), a)
	if err != nil {
		return nil
	}
	v, fill := in[0], lowest(b.Type(in[0]).DType)
	for i := len(p.ws) - 1; i >= 0; i-- { // axis by axis: a window costs the sum of its extents, not their product
		v = b.greatest(v, 2+i, p.ws[i], p.out[2+i], fill)
	}
	return []Value{v}
}

func decomposeMaxPoolIndex(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	x := b.shape(in[0])
	p, err := poolingOf(Lookup("max_pool_index"), x, a)
	if err != nil {
		return nil
	}
	v := b.over(in[0], p.ws, lowest(b.Type(in[0]).DType))
	at := b.do("argmax", []Value{b.reshape(v, append(p.out.Clone(), p.size)...)}, "axis", -1)
	// at counts within the window, row-major; take it apart from the last axis on.
	var y Value
	unit := 1
	for i := len(p.ws) - 1; i >= 0; i-- {
		w := p.ws[i]
		tap := b.pair("mod", at, b.Scalar(float64(w.kernel), I64))
		at = b.pair("floor_div", at, b.Scalar(float64(w.kernel), I64))
		begin := b.sub(b.mul(b.iota(p.out[2+i], 2+i, len(p.out), I64), b.Scalar(float64(w.stride), I64)), b.Scalar(float64(w.lo), I64))
		j := b.add(begin, b.mul(tap, b.Scalar(float64(w.dilation), I64)))
		// Only where all elements equal the padding may j lie in it: then the first
		// tap inside is the first of equals.
		j = b.where(b.pair("lt", j, b.Scalar(0, I64)), b.pair("mod", j, b.Scalar(float64(w.dilation), I64)), j)
		j = b.mul(b.pair("minimum", j, b.Scalar(float64(x[2+i]-1), I64)), b.Scalar(float64(unit), I64))
		if unit *= x[2+i]; y == nil {
			y = j
		} else {
			y = b.add(y, j)
		}
	}
	return []Value{y}
}

// maxTaps is the extent of the windows whose elements are compared one by one: that
// is done for many windows at a time, a reduction for one after the other.
const maxTaps = 16

// greatest takes the maximum of each of n windows along an axis, padded with fill.
func (b build) greatest(v Value, axis int, w sliding, n int, fill float64) Value {
	if w.kernel > maxTaps {
		v = b.windowsFirst(v, axis, w, fill)
		return b.do("max", []Value{v}, "axes", []int{2})
	}
	v = b.border(v, axis, w.lo, w.hi, fill)
	y := b.slice(v, axis, 0, n, w.stride)
	for j := 1; j < w.kernel; j++ {
		y = b.pair("maximum", y, b.slice(v, axis, j*w.dilation, n, w.stride))
	}
	return y
}

// gradMaxPool adds each gradient to the element that was taken.
func gradMaxPool(g *GradContext) []Value {
	b := build{g}
	x := g.Type(g.In[0])
	attrs := []any{}
	for i, s := range g.Row.Attrs {
		if s.Kind == AttrBool {
			attrs = append(attrs, s.Name, g.Attrs[i].Bool())
		} else {
			attrs = append(attrs, s.Name, g.Attrs[i].List)
		}
	}
	at := b.do("max_pool_index", []Value{g.In[0]}, attrs...)
	out := b.shape(at)
	planes, plane := x.Shape[0]*x.Shape[1], 1
	for _, d := range x.Shape[2:] {
		plane *= d
	}
	wide := make([]int, len(out))
	for i := range wide {
		wide[i] = 1
	}
	wide[0], wide[1] = out[0], out[1]
	first := b.mul(b.iota(planes, 0, 1, I64), b.Scalar(float64(plane), I64))
	at = b.add(at, b.reshape(first, wide...))
	n := out.Size()
	zeros := b.full(0, x.DType, planes*plane)
	d := b.do("scatter_add", []Value{zeros, b.reshape(at, n), b.reshape(g.DOut[0], n)}, "axis", 0)
	return []Value{b.reshape(d, x.Shape...)}
}

func decomposeAvgPool(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	r, x := Lookup("avg_pool"), b.Type(in[0])
	p, err := poolingOf(r, x.Shape, a)
	if err != nil {
		return nil
	}
	sum := b.cast(in[0], x.DType.Compute())
	for i := len(p.ws) - 1; i >= 0; i-- { // axis by axis, the elements of a window before what is kept
		sum = b.windowsFirst(sum, 2+i, p.ws[i], 0)
		sum = b.do("sum", []Value{sum}, "axes", []int{2})
	}
	if n := r.Attr(a, "divisor").Int; n != 0 {
		return []Value{b.cast(b.div(sum, b.num(float64(n), sum)), x.DType)}
	}
	include := 0.0
	if r.Attr(a, "include_pad").Bool() {
		include = 1
	}
	size := 1 // of windows along axes where all are whole
	var counts Value
	for i, w := range p.ws {
		over := w.hi - p.end[i]
		if (w.lo == 0 && p.end[i] == 0 || include == 1) && over == 0 {
			size *= w.kernel
			continue
		}
		ones := b.border(b.full(1, x.DType.Compute(), x.Shape[2+i]), 0, w.lo, p.end[i], include)
		ones = b.do("unfold", []Value{b.border(ones, 0, 0, over, 0)}, "axis", 0, "size", w.kernel, "step", w.stride, "dilation", w.dilation)
		shape := make([]int, len(p.out))
		for j := range shape {
			shape[j] = 1
		}
		shape[2+i] = p.out[2+i]
		c := b.reshape(b.do("sum", []Value{ones}, "axes", []int{1}), shape...)
		if counts == nil {
			counts = c
		} else {
			counts = b.mul(counts, c)
		}
	}
	whole := b.Scalar(float64(size), x.DType.Compute())
	if counts == nil {
		counts = whole
	} else if size > 1 {
		counts = b.mul(counts, whole)
	}
	return []Value{b.cast(b.div(sum, counts), x.DType)}
}

// windowsFirst pads an axis with fill and lays windows over it, whose elements
// become axis 2: what reduces them goes along the windows, many at a time.
func (b build) windowsFirst(v Value, axis int, w sliding, fill float64) Value {
	v = b.do("unfold", []Value{b.border(v, axis, w.lo, w.hi, fill)}, "axis", axis, "size", w.kernel, "step", w.stride, "dilation", w.dilation)
	return b.moved(v, len(b.shape(v))-1)
}

// moved brings an axis to place 2.
func (b build) moved(v Value, axis int) Value {
	axes := []int{0, 1, axis}
	for i := 2; i < len(b.shape(v)); i++ {
		if i != axis {
			axes = append(axes, i)
		}
	}
	return b.permute(v, axes...)
}

// quotient divides in the compute type, which is that of n, and rounds.
func (b build) quotient(v, n Value) Value {
	d := b.Type(v).DType
	return b.cast(b.div(b.cast(v, d.Compute()), n), d)
}

// inferSized: the axes after the first two get the extents of the attribute sizes.
func inferSized(r *Row, in []Type, a Attrs) ([]Type, error) {
	x := in[0].Shape
	if err := spatial("x", x); err != nil {
		return nil, err
	}
	sizes := r.Attr(a, "sizes").List
	if len(sizes) != len(x)-2 {
		return nil, Errorf(ErrArgument, "sizes %v for shape %v: expected %d extents", sizes, x, len(x)-2)
	}
	out := x[:2].Clone()
	for i, n := range sizes {
		if n < 1 || n > 1<<30 || x[2+i] < 1 || x[2+i] > 1<<21 {
			return nil, Errorf(ErrShape, "axis %d: %d elements from %d; both are at least 1", 2+i, n, x[2+i])
		}
		out = append(out, int(n))
	}
	return []Type{{in[0].DType, out}}, nil
}

// adaptive reduces ranges of each axis after the first two, by mean or max.
func (b build) adaptive(x Value, sizes []int64, how string) Value {
	dtype := b.Type(x).DType
	fill := 0.0
	if how == "max" {
		fill = lowest(dtype)
	}
	if how == "mean" && !slices.ContainsFunc(sizes, func(m int64) bool { return m != 1 }) { // all of space at once
		axes := make([]int, len(sizes))
		for i := range axes {
			axes[i] = 2 + i
		}
		return b.do(how, []Value{x}, "axes", axes, "keepdims", true)
	}
	for i, m := range sizes {
		ax, n, m := 2+i, b.shape(x)[2+i], int(m)
		if n%m == 0 { // all ranges have one length
			if how == "max" {
				x = b.do("unfold", []Value{x}, "axis", ax, "size", n/m, "step", n/m)
				x = b.do("max", []Value{x}, "axes", []int{-1})
				continue
			}
			x = b.do("mean", []Value{b.windowsFirst(x, ax, sliding{kernel: n / m, stride: n / m, dilation: 1}, 0)}, "axes", []int{2})
			continue
		}
		// Ranges are gathered to the longest one's length, and what is beyond masked.
		longest := 0
		for j := 0; j < m; j++ {
			longest = max(longest, ((j+1)*n+m-1)/m-j*n/m)
		}
		j := b.iota(m, 0, 2, I64)
		whole, parts, one := b.Scalar(float64(n), I64), b.Scalar(float64(m), I64), b.Scalar(1, I64)
		begin := b.pair("floor_div", b.mul(j, whole), parts)
		end := b.pair("floor_div", b.sub(b.add(b.mul(b.add(j, one), whole), parts), one), parts)
		at := b.add(begin, b.iota(longest, 1, 2, I64))
		inside := b.pair("lt", at, end)
		at = b.pair("minimum", at, b.Scalar(float64(n-1), I64))
		x = b.do("gather", []Value{x, at}, "axis", ax)
		mask := make([]int, len(b.shape(x)))
		for k := range mask {
			mask[k] = 1
		}
		mask[ax], mask[ax+1] = m, longest
		x = b.where(b.reshape(inside, mask...), x, b.Scalar(fill, dtype))
		x = b.moved(x, ax+1)
		if how == "max" {
			x = b.do("max", []Value{x}, "axes", []int{2})
			continue
		}
		lengths := b.cast(b.reshape(b.sub(end, begin), mask[ax:ax+1]...), dtype.Compute())
		mask = append(mask[:ax+1], mask[ax+2:]...)
		x = b.quotient(b.do("sum", []Value{x}, "axes", []int{2}), b.reshape(lengths, mask...))
	}
	return x
}
