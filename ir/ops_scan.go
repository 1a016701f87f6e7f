package ir

// Scans, and the gradients of products and scans. Those divide by nothing, so they
// are right where elements are 0, to any order: products of others are products,
// not quotients.

// row is a value seen as [kept, n]: the reduced axes last, as one.
type row struct {
	perm, back []int
	mid        Shape // after the permutation
	flat       Shape
	dtype      DType
}

// flatten says how to bring some axes of a type to the end as one.
func flatten(t Type, axes []int) *row {
	r := &row{dtype: t.DType}
	last := make([]bool, len(t.Shape))
	for _, a := range axes {
		last[a] = true
	}
	kept, n := 1, 1
	for pass := range 2 {
		for i, d := range t.Shape {
			if last[i] != (pass == 1) {
				continue
			}
			r.perm, r.mid = append(r.perm, i), append(r.mid, d)
			if pass == 0 {
				kept *= d
			} else {
				n *= d
			}
		}
	}
	r.back = make([]int, len(r.perm))
	for i, p := range r.perm {
		r.back[p] = i
	}
	r.flat = Shape{kept, n}
	return r
}

// wide is the dtype in which gradients of products compute: that of the body.
func (r *row) wide() DType {
	if r.dtype.IsFloat() {
		return r.dtype.Compute()
	}
	return r.dtype
}

func cast(g Graph, v Value, d DType) Value {
	if g.Type(v).DType == d {
		return v
	}
	return g.Apply("cast", []Value{v}, A("dtype", d)...)
}

func (r *row) in(g Graph, v Value) Value {
	v = g.Apply("permute", []Value{cast(g, v, r.wide())}, A("axes", r.perm)...)
	return g.Apply("reshape", []Value{v}, A("shape", r.flat)...)
}

func (r *row) out(g Graph, v Value) Value {
	v = g.Apply("reshape", []Value{v}, A("shape", r.mid)...)
	return cast(g, g.Apply("permute", []Value{v}, A("axes", r.back)...), r.dtype)
}

// part takes elements from to to of the last axis of a flat value.
func part(g Graph, v Value, from, to int) Value {
	s := g.Type(v).Shape
	if from == 0 && to == s[1] {
		return v
	}
	return g.Apply("slice", []Value{v}, A("starts", []int{0, from}, "sizes", []int{s[0], to - from}, "steps", []int{1, 1})...)
}

func join(g Graph, vs ...Value) Value {
	var some []Value
	for _, v := range vs {
		if g.Type(v).Shape[1] > 0 {
			some = append(some, v)
		}
	}
	if len(some) == 1 {
		return some[0]
	}
	return g.Apply("concat", some, A("axis", 1)...)
}

func apply(g Graph, name string, in ...Value) Value { return g.Apply(name, in) }

// gradProd folds the group by halves and unfolds the gradient: each element gets
// the product of the others, in as many products as there are elements.
func gradProd(g *GradContext) []Value { return []Value{othersProduct(g, g.In[0])} }

// gradNaNProd is gradProd with 1 for NaN.
func gradNaNProd(g *GradContext) []Value {
	x := g.In[0]
	there := g.Do("eq", []Value{x, x})
	d := othersProduct(g, g.Do("where", []Value{there, x, g.Scalar(1, g.Type(x).DType)}))
	return []Value{g.Do("where", []Value{there, d, g.zero(x)})}
}

func othersProduct(g *GradContext, x Value) Value {
	axes, n := g.reduceAxes()
	if n == 0 {
		return x // as empty as its gradient
	}
	r := flatten(g.Type(x), axes)
	v := r.in(g, x)
	d := g.Do("reshape", []Value{cast(g, g.DOut[0], r.wide())}, "shape", []int{r.flat[0], 1})
	type fold struct{ lo, hi Value }
	var folds []fold
	for m := n; m > 1; m -= m / 2 {
		h := m / 2
		f := fold{part(g, v, 0, h), part(g, v, h, 2*h)}
		folds = append(folds, f)
		v = join(g, apply(g, "mul", f.lo, f.hi), part(g, v, 2*h, m))
	}
	for i := len(folds) - 1; i >= 0; i-- {
		f := folds[i]
		h := g.Type(f.lo).Shape[1]
		top, rest := part(g, d, 0, h), part(g, d, h, g.Type(d).Shape[1])
		d = join(g, g.mul0(top, f.hi), g.mul0(top, f.lo), rest)
	}
	return r.out(g, d)
}

// recur returns s with s[i] = b[i] + a[i+1]·s[i+1], along the last axis. a has the
// elements from 1 on.
func recur(g Graph, a, b Value) Value {
	z := join(g, a, part(g, b, 0, 1)) // the last one is multiplied with nothing
	return g.Apply("recurrence", []Value{b, z}, A("axis", 1, "reverse", true)...)
}

func (g *GradContext) scanned() (*row, int) {
	t := g.Type(g.In[0])
	axes, _ := ReduceAxes(g.Row, t, g.Attrs)
	r := flatten(t, axes)
	return r, r.flat[1]
}

// gradCumProd: the product before an element times the recurrence after it.
func gradCumProd(g *GradContext) []Value {
	r, n := g.scanned()
	if n == 0 {
		return []Value{g.In[0]}
	}
	x, d := r.in(g, g.In[0]), r.in(g, g.DOut[0])
	s := recur(g, part(g, x, 1, n), d)
	before := g.Do("cumprod", []Value{part(g, x, 0, n-1)}, "axis", 1)
	if n == 1 {
		return []Value{r.out(g, s)}
	}
	return []Value{r.out(g, join(g, part(g, s, 0, 1), g.mul0(part(g, s, 1, n), before)))}
}

// gradCumExtreme sends the gradients of equal results to the element that was the
// first to have their value, or was the first NaN.
func gradCumExtreme(beyond string) GradFunc {
	return func(g *GradContext) []Value {
		r, n := g.scanned()
		if n < 2 {
			return []Value{g.DOut[0]}
		}
		x, y, d := r.in(g, g.In[0]), r.in(g, g.Out[0]), r.in(g, g.DOut[0])
		x, before := part(g, x, 1, n), part(g, y, 0, n-1)
		isNew := apply(g, "or", apply(g, beyond, x, before), apply(g, "and", apply(g, "ne", x, x), apply(g, "eq", before, before)))
		s := recur(g, cast(g, apply(g, "not", isNew), r.wide()), d)
		rest := apply(g, "where", isNew, part(g, s, 1, n), g.Scalar(0, r.wide()))
		return []Value{r.out(g, join(g, part(g, s, 0, 1), rest))}
	}
}

// logCumSumExp is the greatest element so far, m, plus log1p(t), where 1 + t is the
// sum of e^(x-m): a new greatest element multiplies it by e^(old m - m), and another
// one adds its own. Nothing overflows, and t has no part of 1 to lose its bits to.
func logCumSumExp(g Graph, in []Value, a Attrs) []Value {
	t := g.Type(in[0])
	axis, _ := Axis(extent(a[0].Int), len(t.Shape))
	r := flatten(t, []int{axis})
	n := r.flat[1]
	if n < 2 {
		return []Value{in[0]}
	}
	x := r.in(g, in[0])
	m := g.Apply("cummax", []Value{x}, A("axis", 1)...)
	before, now := part(g, m, 0, n-1), part(g, m, 1, n)
	isNew, decay := apply(g, "gt", now, before), share(g, before, now)
	zero := build{g}.full(0, r.wide(), r.flat[0], 1)
	arrive := join(g, zero, apply(g, "where", isNew, decay, share(g, part(g, x, 1, n), now)))
	keep := join(g, zero, apply(g, "where", isNew, decay, g.Scalar(1, r.wide())))
	sum := g.Apply("recurrence", []Value{arrive, keep}, A("axis", 1)...)
	return []Value{r.out(g, apply(g, "add", m, apply(g, "log1p", sum)))}
}

// share is e^(x-z), and 1 where both are equal, infinite or not.
func share(g Graph, x, z Value) Value {
	one := g.Scalar(1, g.Type(x).DType)
	return apply(g, "where", apply(g, "eq", x, z), one, apply(g, "exp", apply(g, "sub", x, z)))
}

// gradLogCumSumExp: element i has the share e^(x[i]-y[j]) in every result j from i
// on. Those are taken from result to result, so that none is above 1.
func gradLogCumSumExp(g *GradContext) []Value {
	r, n := g.scanned()
	if n < 2 {
		return []Value{g.DOut[0]}
	}
	x, y, d := r.in(g, g.In[0]), r.in(g, g.Out[0]), r.in(g, g.DOut[0])
	s := recur(g, share(g, part(g, y, 0, n-1), part(g, y, 1, n)), d)
	return []Value{r.out(g, g.mul0(share(g, x, y), s))}
}

// gradRecurrence: the gradients run back along the axis by the same recurrence.
func gradRecurrence(g *GradContext) []Value {
	r, n := g.scanned()
	if n == 0 {
		return []Value{g.DOut[0], g.In[1]} // as empty as its gradient
	}
	z, y, d := r.in(g, g.In[1]), r.in(g, g.Out[0]), r.in(g, g.DOut[0])
	reverse := g.Attrs[1].Bool()
	zero := build{g}.full(0, r.wide(), r.flat[0], 1)
	// Each result goes to the next one, times the factor of that.
	next, last := join(g, part(g, z, 1, n), zero), join(g, zero, part(g, y, 0, n-1))
	if reverse {
		next, last = join(g, zero, part(g, z, 0, n-1)), join(g, part(g, y, 1, n), zero)
	}
	dx := g.Do("recurrence", []Value{d, next}, "axis", 1, "reverse", !reverse)
	return []Value{r.out(g, dx), r.out(g, g.mul0(last, dx))}
}

func inferRecurrence(r *Row, in []Type, a Attrs) ([]Type, error) {
	if err := sameTypes(in); err != nil {
		return nil, err
	}
	if !in[0].Shape.Equal(in[1].Shape) {
		return nil, Errorf(ErrShape, "x has shape %v and z %v, expected the same", in[0].Shape, in[1].Shape)
	}
	if _, err := Axis(extent(a[0].Int), len(in[0].Shape)); err != nil {
		return nil, err
	}
	return in[:1], nil
}

func init() {
	along := []AttrSpec{{Name: "axis", Kind: AttrInt, Default: -1}}
	samples := []Sample{{Shapes: []Shape{{3, 5}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{5, 20}}, Attrs: A("axis", 0)}}
	register(
		&Row{Name: "cumprod", Number: 350, Version: 1, Access: Scan, Compute: FromResult,
			Doc:      "y = the running product of x along axis, itself included; chunks of 1024 from left to right; integers give 64 bits and wrap.",
			Operands: oneOperand(AnyType, AnyValue), Attrs: along, Infer: inferAlong(SumDType),
			Body: Body{Any: "scan_prod(x)"}, Samples: samples, Tol: Tolerance{F32: 64, F64: 64}, GradFunc: gradCumProd},
		&Row{Name: "cummax", Number: 351, Version: 1, Access: Scan,
			Doc:      "y = the greatest of x along axis so far; NaN from the first NaN on; the gradient goes to the first of equal elements.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: along, Infer: inferAlong(sameDType),
			Body: Body{Any: "scan_max(x)"}, Samples: samples, GradFunc: gradCumExtreme("gt")},
		&Row{Name: "cummin", Number: 352, Version: 1, Access: Scan,
			Doc:      "y = the least of x along axis so far; NaN from the first NaN on; the gradient goes to the first of equal elements.",
			Operands: oneOperand(Numbers, AnyValue), Attrs: along, Infer: inferAlong(sameDType),
			Body: Body{Any: "scan_min(x)"}, Samples: samples, GradFunc: gradCumExtreme("lt")},
		&Row{Name: "logcumsumexp", Number: 353, Version: 2, Access: Scan,
			Doc: "y = log(the running sum of e^x along axis): the greatest x so far and log1p of what the others sum up to; " +
				"-inf of nothing but -inf.",
			Operands: oneOperand(FloatClass, AnyValue), Attrs: along, Infer: inferAlong(sameDType),
			Decompose: logCumSumExp, GradFunc: gradLogCumSumExp, Samples: samples, Tol: Tolerance{F32: 16, F64: 16}},
		&Row{Name: "recurrence", Number: 354, Version: 1, Access: Opaque,
			Doc: "y[i] = x[i] + z[i]·y[i-1] along axis, from 0 on, or, with reverse, x[i] + z[i]·y[i+1]: by fma in f64, each result rounded, those of 16 bits through f32. " +
				"A factor of 0 makes nothing of what is infinite or NaN, on either side.",
			Operands: []Operand{{"x", FloatClass, AnyValue}, {"z", FloatClass, AnyValue}},
			Attrs:    append(along[:1:1], AttrSpec{Name: "reverse", Kind: AttrBool, Default: false}),
			Infer:    inferRecurrence, GradFunc: gradRecurrence,
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {3, 5}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{5, 4}, {5, 4}}, Attrs: A("axis", 0, "reverse", true)}}},
	)
}
