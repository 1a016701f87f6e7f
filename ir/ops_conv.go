package ir

// Convolution. Its three rows are closed under differentiation: the gradient of
// each operand of one of them is another one, applied with the same attributes.

func init() {
	groups := AttrSpec{Name: "groups", Kind: AttrInt, Default: 1}
	two := []Operand{{"x", Numbers, Moderate}, {"w", Numbers, Moderate}}
	tol := Tolerance{F32: 64, F64: 64}
	register(
		&Row{Name: "conv", Number: 401, Version: 1, Access: Contraction,
			Doc: "y[n, o, p...] = the sum over k..., c of x[n, c, p·stride + k·dilation - pad] · w[o, c, k...], in the order (k..., c), " +
				"padding taking part as zeros; x has shape [n, channels, 1 to 3 axes], w [out, channels/groups, kernel]; pads are those before the axes, then those after.",
			Operands: two, Attrs: windowAttrs(groups), Infer: inferConv, Tol: tol, GradFunc: gradConv, Decompose: decomposeConv,
			Samples: []Sample{{Shapes: []Shape{{2, 2, 5}, {3, 2, 2}}, Attrs: A("strides", []int{2}, "pads", []int{1, 0})},
				{Shapes: []Shape{{1, 4, 4, 5}, {2, 2, 3, 2}}, Attrs: A("groups", 2, "dilations", []int{1, 2}, "pads", []int{1, 0, 0, 1})}}},
		&Row{Name: "conv_transpose", Number: 402, Version: 2, Access: Contraction,
			Doc: "y is the transpose of conv by w (as a linear map) of x: x of shape [n, in, 1 to 3 axes] and w [in, out/groups, kernel] give extents " +
				"(n-1)·stride + dilation·(kernel-1) + 1 + extra - pads. An element sums over the taps that meet one, from the last on, and over the channels of each; " +
				"zeros around x take part, those that a stride puts between its elements only on an axis that has a dilation too.",
			Operands: two, Attrs: windowAttrs(groups, AttrSpec{Name: "extra", Kind: AttrInts, Default: []int64{}}), Infer: inferConvTranspose,
			Tol: tol, GradFunc: gradConvTranspose, Decompose: decomposeConvTranspose,
			Samples: []Sample{{Shapes: []Shape{{2, 2, 3}, {2, 3, 2}}, Attrs: A("strides", []int{3}, "pads", []int{1, 0}, "extra", []int{2})},
				{Shapes: []Shape{{1, 4, 2, 3}, {4, 2, 3, 2}}, Attrs: A("groups", 2, "dilations", []int{1, 2}, "pads", []int{1, 3, 0, 1})}}},
		&Row{Name: "conv_weight", Number: 403, Version: 1, Access: Contraction,
			Doc: "y[o, c, k...] = the sum over n, p... of x[n, c, p·stride + k·dilation - pad] · z[n, o, p...]: the gradient of conv by w, " +
				"for x and the gradient z at its result; kernel has the extents of w.",
			Operands: []Operand{{"x", Numbers, Moderate}, {"z", Numbers, Moderate}}, Attrs: windowAttrs(groups, AttrSpec{Name: "kernel", Kind: AttrInts}),
			Infer: inferConvWeight, Tol: tol, GradFunc: gradConvWeight, Decompose: decomposeConvWeight,
			Samples: []Sample{{Shapes: []Shape{{2, 2, 5}, {2, 3, 3}}, Attrs: A("strides", []int{2}, "pads", []int{1, 0}, "kernel", []int{2})}}},
	)
}

// convolution is one call of a row of this file, named after conv: x is conv's
// operand, w its weights, y its result.
type convolution struct {
	ws       []sliding
	groups   int
	x, w, y  Shape
	attrs    []any // of conv
	leftover []any // extra of the conv_transpose that leads back to x
}

// convolutionOf works out a call from the row's attributes and two of the shapes.
func convolutionOf(r *Row, a Attrs, x, w, y Shape, kernel []int) (*convolution, error) {
	c := &convolution{groups: extent(r.Attr(a, "groups").Int), x: x, w: w, y: y}
	var err error
	if c.ws, err = slidings(r, a, kernel); err != nil {
		return nil, err
	}
	if c.groups < 1 {
		return nil, Errorf(ErrArgument, "groups is %d, expected at least 1", c.groups)
	}
	for _, name := range []string{"strides", "pads", "dilations"} {
		c.attrs = append(c.attrs, name, r.Attr(a, name).List)
	}
	c.attrs = append(c.attrs, "groups", c.groups)
	return c, nil
}

func spatial(name string, s Shape) error {
	if len(s) < 3 || len(s) > 5 {
		return Errorf(ErrShape, "%s has shape %v, expected two axes and 1 to 3 more", name, s)
	}
	return nil
}

// convOf works out a call by the shapes of x and w, and the shape of y.
func convOf(r *Row, a Attrs, x, w Shape) (*convolution, error) {
	if err := spatial("x", x); err != nil {
		return nil, err
	}
	if len(w) != len(x) {
		return nil, Errorf(ErrShape, "w has shape %v, expected %d axes as x has", w, len(x))
	}
	c, err := convolutionOf(r, a, x, w, nil, w[2:])
	if err != nil {
		return nil, err
	}
	if w[1] > MaxElements/c.groups || x[1] != w[1]*c.groups || w[0]%c.groups != 0 {
		return nil, Errorf(ErrShape, "x has %d channels, w %d outputs of %d channels each, in %d groups: channels of x are those of w times groups, outputs a multiple of groups",
			x[1], w[0], w[1], c.groups)
	}
	c.y = Shape{x[0], w[0]}
	extra := make([]int, len(c.ws))
	for i, s := range c.ws {
		n, err := s.count(x[2+i])
		if err != nil {
			return nil, err
		}
		c.y = append(c.y, n)
		extra[i] = x[2+i] - ((n-1)*s.stride + s.span() - s.lo - s.hi)
	}
	c.leftover = []any{"extra", extra}
	return c, nil
}

func sameTypes(in []Type) error {
	if in[0].DType != in[1].DType {
		return Errorf(ErrDType, "the operands are %s and %s; cast one of them", in[0].DType, in[1].DType)
	}
	return nil
}

func inferConv(r *Row, in []Type, a Attrs) ([]Type, error) {
	if err := sameTypes(in); err != nil {
		return nil, err
	}
	c, err := convOf(r, a, in[0].Shape, in[1].Shape)
	if err != nil {
		return nil, err
	}
	return []Type{{in[0].DType, c.y}}, nil
}

// columns lays out x as [n, groups, taps·channels, places], taps outermost. Axes on
// which the kernel has one element are not made windows.
func (c *convolution) columns(b build, x Value, ws []sliding) Value {
	s := b.shape(x)
	d := len(ws)
	per := s[1] / c.groups
	v := b.padded(b.reshape(x, append([]int{s[0] * c.groups, per}, s[2:]...)...), ws, 0)
	axes, taps, places := []int{0}, 1, 1
	for i, w := range ws {
		if n := b.shape(v)[2+i]; w.kernel > 1 {
			v = b.do("unfold", []Value{v}, "axis", 2+i, "size", w.kernel, "step", w.stride, "dilation", w.dilation)
			axes = append(axes, 1+d+len(axes))
			taps *= w.kernel
		} else if w.stride > 1 {
			v = b.slice(v, 2+i, 0, (n-1)/w.stride+1, w.stride)
		}
		places *= b.shape(v)[2+i]
	}
	axes = append(axes, 1)
	for i := range ws {
		axes = append(axes, 2+i)
	}
	return b.reshape(b.permute(v, axes...), s[0], c.groups, taps*per, places)
}

// filters lays out w [groups·out, channels, taps...] as [groups, out, taps·channels].
func (c *convolution) filters(b build, w Value) Value {
	s := b.shape(w)
	axes := []int{0}
	taps := 1
	for i := range s[2:] {
		axes = append(axes, 2+i)
		taps *= s[2+i]
	}
	if taps > 1 {
		w = b.permute(w, append(axes, 1)...)
	}
	return b.reshape(w, c.groups, s[0]/c.groups, taps*s[1])
}

func decomposeConv(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	c, err := convOf(Lookup("conv"), a, b.shape(in[0]), b.shape(in[1]))
	if err != nil {
		return nil
	}
	y := b.do("matmul", []Value{c.filters(b, in[1]), c.columns(b, in[0], c.ws)})
	return []Value{b.reshape(y, c.y...)}
}

func gradConv(g *GradContext) []Value {
	b := build{g}
	c, err := convOf(g.Row, g.Attrs, b.shape(g.In[0]), b.shape(g.In[1]))
	if err != nil {
		return nil
	}
	out := make([]Value, 2)
	if g.Need[0] {
		out[0] = b.do("conv_transpose", []Value{g.DOut[0], g.In[1]}, append(c.leftover, c.attrs...)...)
	}
	if g.Need[1] {
		out[1] = b.do("conv_weight", []Value{g.In[0], g.DOut[0]}, append([]any{"kernel", c.w[2:]}, c.attrs...)...)
	}
	return out
}

// transposeOf works out a call of conv_transpose: y and w of conv give x.
func transposeOf(r *Row, a Attrs, y, w Shape) (*convolution, error) {
	if err := spatial("x", y); err != nil {
		return nil, err
	}
	if len(w) != len(y) {
		return nil, Errorf(ErrShape, "w has shape %v, expected %d axes as x has", w, len(y))
	}
	c, err := convolutionOf(r, a, nil, w, y, w[2:])
	if err != nil {
		return nil, err
	}
	extra := r.Attr(a, "extra").List
	if len(extra) != 0 && len(extra) != len(c.ws) {
		return nil, Errorf(ErrArgument, "extra %v: expected none or %d numbers", extra, len(c.ws))
	}
	if y[1] != w[0] || w[0]%c.groups != 0 || w[1] > MaxElements/c.groups {
		return nil, Errorf(ErrShape, "x has %d channels, w takes %d in %d groups: they are equal, and a multiple of groups", y[1], w[0], c.groups)
	}
	c.x = Shape{y[0], w[1] * c.groups}
	for i, s := range c.ws {
		e := 0
		if len(extra) > 0 {
			e = extent(extra[i])
		}
		if e < 0 || e >= s.stride {
			return nil, Errorf(ErrArgument, "extra %d on axis %d is not below the stride %d", e, i+2, s.stride)
		}
		if y[2+i] > 1<<30/s.stride {
			return nil, Errorf(ErrShape, "axis %d of the result is too long", i+2)
		}
		n := (y[2+i]-1)*s.stride + s.span() + e - s.lo - s.hi
		if y[2+i] == 0 || n < 0 {
			return nil, Errorf(ErrShape, "axis %d of the result would have extent %d", i+2, n)
		}
		c.x = append(c.x, n)
	}
	return c, nil
}

func inferConvTranspose(r *Row, in []Type, a Attrs) ([]Type, error) {
	if err := sameTypes(in); err != nil {
		return nil, err
	}
	c, err := transposeOf(r, a, in[0].Shape, in[1].Shape)
	if err != nil {
		return nil, err
	}
	return []Type{{in[0].DType, c.x}}, nil
}

func gradConvTranspose(g *GradContext) []Value {
	b := build{g}
	c, err := transposeOf(g.Row, g.Attrs, b.shape(g.In[0]), b.shape(g.In[1]))
	if err != nil {
		return nil
	}
	out := make([]Value, 2)
	if g.Need[0] {
		out[0] = b.do("conv", []Value{g.DOut[0], g.In[1]}, c.attrs...)
	}
	if g.Need[1] {
		out[1] = b.do("conv_weight", []Value{g.DOut[0], g.In[0]}, append([]any{"kernel", c.w[2:]}, c.attrs...)...)
	}
	return out
}

// weightOf works out a call of conv_weight: x and y of conv give w.
func weightOf(r *Row, a Attrs, x, y Shape) (*convolution, error) {
	if err := spatial("x", x); err != nil {
		return nil, err
	}
	kernel := Shape{}
	for _, k := range r.Attr(a, "kernel").List {
		kernel = append(kernel, extent(k))
	}
	groups := extent(r.Attr(a, "groups").Int)
	if len(y) != len(x) || len(kernel) != len(x)-2 || groups < 1 || x[1]%groups != 0 {
		return nil, Errorf(ErrShape, "x %v, z %v, kernel %v and %d groups do not belong to one convolution", x, y, kernel, groups)
	}
	c, err := convOf(r, a, x, append(Shape{y[1], x[1] / groups}, kernel...))
	if err == nil && !c.y.Equal(y) {
		err = Errorf(ErrShape, "z has shape %v, expected %v", y, c.y)
	}
	return c, err
}

func inferConvWeight(r *Row, in []Type, a Attrs) ([]Type, error) {
	if err := sameTypes(in); err != nil {
		return nil, err
	}
	c, err := weightOf(r, a, in[0].Shape, in[1].Shape)
	if err != nil {
		return nil, err
	}
	return []Type{{in[0].DType, c.w}}, nil
}

func decomposeConvWeight(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	c, err := weightOf(Lookup("conv_weight"), a, b.shape(in[0]), b.shape(in[1]))
	if err != nil {
		return nil
	}
	n, per, places := c.x[0], c.w[0]/c.groups, 1
	for _, d := range c.y[2:] {
		places *= d
	}
	cols := c.columns(b, in[0], c.ws)
	taps := b.shape(cols)[2]
	z := b.permute(b.reshape(in[1], n, c.groups, per, places), 1, 2, 0, 3)
	cols = b.permute(cols, 1, 0, 3, 2)
	w := b.do("matmul", []Value{b.reshape(z, c.groups, per, n*places), b.reshape(cols, c.groups, n*places, taps)})
	d := len(c.ws)
	wide := append(append([]int{c.w[0]}, c.w[2:]...), c.w[1])
	axes := []int{0, d + 1}
	for i := range c.ws {
		axes = append(axes, 1+i)
	}
	return []Value{b.permute(b.reshape(w, wide...), axes...)}
}

func gradConvWeight(g *GradContext) []Value {
	b := build{g}
	c, err := weightOf(g.Row, g.Attrs, b.shape(g.In[0]), b.shape(g.In[1]))
	if err != nil {
		return nil
	}
	out := make([]Value, 2)
	if g.Need[0] {
		out[0] = b.do("conv_transpose", []Value{g.In[1], g.DOut[0]}, append(c.leftover, c.attrs...)...)
	}
	if g.Need[1] {
		out[1] = b.do("conv", []Value{g.In[0], g.DOut[0]}, c.attrs...)
	}
	return out
}
