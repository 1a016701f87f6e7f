package ir

// Gradients of linear algebra. They are written over rows, so they have
// gradients too. For the formulas see Giles, "Collected matrix derivative
// results for forward and reverse mode algorithmic differentiation", 2008;
// Walter and Lehmann, "Algorithmic differentiation of linear algebra functions",
// 2010 (qr); Townsend, "Differentiating the singular value decomposition", 2016;
// Golub and Pereyra, 1973 (pinv).

// mt swaps the last two axes.
func (b build) mt(v Value) Value {
	n := len(b.shape(v))
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	axes[n-2], axes[n-1] = n-1, n-2
	return b.permute(v, axes...)
}

func (b build) mm(x Value, more ...Value) Value {
	for _, z := range more {
		x = b.pair("matmul", x, z)
	}
	return x
}

func (b build) neg(v Value) Value { return b.do("neg", []Value{v}) }

// half is the symmetric part of matrices.
func (b build) half(v Value) Value { return b.mul(b.add(v, b.mt(v)), b.num(0.5, v)) }

// triangle keeps the elements of matrices on and below the diagonal that lies
// offset above the main one, or on and above it.
func (b build) triangle(v Value, upper bool, offset int) Value {
	s := b.shape(v)
	m, n := s[len(s)-2], s[len(s)-1]
	edge := b.add(b.iota(m, 0, 2, I64), b.Scalar(float64(offset), I64))
	row := "le"
	if upper {
		row = "ge"
	}
	return b.where(b.pair(row, b.iota(n, 1, 2, I64), edge), v, b.num(0, v))
}

// diagonal makes diagonal matrices of the last axis.
func (b build) diagonal(v Value) Value {
	s := b.shape(v)
	n := s[len(s)-1]
	return b.where(b.pair("eq", b.iota(n, 0, 2, I64), b.iota(n, 1, 2, I64)), b.column(v, false), b.num(0, v))
}

// column gives a vector a new last axis, a row vector one before the last.
func (b build) column(v Value, last bool) Value {
	s := b.shape(v).Clone()
	if last {
		return b.reshape(v, append(s, 1)...)
	}
	n := len(s) - 1
	return b.reshape(v, append(append(s[:n:n], 1), s[n])...)
}

// scalars gives numbers of a batch two axes to meet matrices.
func (b build) scalars(v Value) Value { return b.reshape(v, append(b.shape(v).Clone(), 1, 1)...) }

// reciprocal is 1/v, and 0 where v is 0.
func (b build) reciprocal(v Value) Value {
	zero := b.pair("eq", v, b.num(0, v))
	return b.where(zero, b.num(0, v), b.div(b.num(1, v), b.where(zero, b.num(1, v), v)))
}

// gaps is 1/(v_j - v_i), and 0 where they are equal.
func (b build) gaps(v Value) Value { return b.reciprocal(b.sub(b.column(v, false), b.column(v, true))) }

func (b build) inverseT(v Value) Value { return b.mt(b.do("inverse", []Value{v})) }

func gradSlogdet(g *GradContext) []Value {
	b := build{g}
	if g.DOut[1] == nil {
		return []Value{nil}
	}
	return []Value{b.mul(b.scalars(g.DOut[1]), b.inverseT(g.In[0]))}
}

func gradDet(g *GradContext) []Value {
	b := build{g}
	return []Value{b.mul(b.scalars(b.mul(g.DOut[0], g.Out[0])), b.inverseT(g.In[0]))}
}

func gradInverse(g *GradContext) []Value {
	b := build{g}
	t := b.mt(g.Out[0])
	return []Value{b.neg(b.mm(t, g.DOut[0], t))}
}

func gradSolve(g *GradContext) []Value {
	b := build{g}
	dz := b.pair("solve", b.mt(g.In[0]), g.DOut[0])
	var dx Value
	if g.Need[0] {
		dx = b.neg(b.mm(dz, b.mt(g.Out[0])))
	}
	return []Value{dx, dz}
}

func gradTriangular(g *GradContext) []Value {
	b := build{g}
	left, upper, transpose, unit := g.Attrs[0].Bool(), g.Attrs[1].Bool(), g.Attrs[2].Bool(), g.Attrs[3].Bool()
	dz := g.Do("triangular_solve", []Value{g.In[0], g.DOut[0]}, "left", left, "upper", upper, "transpose", !transpose, "unit", unit)
	if !g.Need[0] {
		return []Value{nil, dz}
	}
	p, q := dz, g.Out[0] // the gradient is -p·transpose(q) of the matrix as it is applied
	if !left {
		p, q = b.mt(q), b.mt(p)
	}
	if transpose {
		p, q = q, p
	}
	offset := 0
	switch {
	case unit && upper:
		offset = 1
	case unit:
		offset = -1
	}
	return []Value{b.triangle(b.neg(b.mm(p, b.mt(q))), upper, offset), dz}
}

func gradCholesky(g *GradContext) []Value {
	b := build{g}
	l, d := g.Out[0], g.DOut[0]
	if g.Attrs[0].Bool() {
		l, d = b.mt(l), b.mt(d)
	}
	p := b.triangle(b.mm(b.mt(l), b.triangle(d, false, 0)), false, 0)
	p = b.sub(p, b.mul(b.triangle(b.triangle(p, true, 0), false, 0), b.num(0.5, p))) // half of the diagonal
	p = g.Do("triangular_solve", []Value{l, p}, "transpose", true)
	p = g.Do("triangular_solve", []Value{l, p}, "left", false)
	return []Value{b.half(p)}
}

// arrived is the gradient that arrives at a result, zeros if none does.
func (g *GradContext) arrived(i int) Value {
	if g.DOut[i] != nil {
		return g.DOut[i]
	}
	return g.zeros(g.Type(g.Out[i]))
}

func gradQR(g *GradContext) []Value {
	b := build{g}
	q, r := g.Out[0], g.Out[1]
	dq, dr := g.arrived(0), b.triangle(g.arrived(1), true, 0)
	s := g.Type(g.In[0]).Shape
	axis := len(s) - 1
	m, n := s[axis-1], s[axis]
	if m >= n {
		return []Value{b.squareQR(q, r, dq, dr)}
	}
	// The first m columns make q; the others are those of r rotated by it.
	du, dv := b.slice(dr, axis, 0, m, 1), b.slice(dr, axis, m, n-m, 1)
	rest := b.slice(g.In[0], axis, m, n-m, 1)
	dq = b.add(dq, b.mm(rest, b.mt(dv)))
	first := b.squareQR(q, b.slice(r, axis, 0, m, 1), dq, du)
	return []Value{b.do("concat", []Value{first, b.mm(q, dv)}, "axis", axis)}
}

// squareQR is the gradient where r is square.
func (b build) squareQR(q, r, dq, dr Value) Value {
	p := b.sub(b.mm(r, b.mt(dr)), b.mm(b.mt(dq), q))
	p = b.add(b.triangle(p, false, 0), b.mt(b.triangle(p, false, -1)))
	return b.do("triangular_solve", []Value{r, b.add(dq, b.mm(q, p))}, "left", false, "upper", true, "transpose", true)
}

func gradSVD(g *GradContext) []Value {
	b := build{g}
	u, s, v := g.Out[0], g.Out[1], b.mt(g.Out[2])
	shape := g.Type(g.In[0]).Shape
	m, n := shape[len(shape)-2], shape[len(shape)-1]
	var middle, sum Value
	plus := func(to *Value, v Value) {
		if *to == nil {
			*to = v
		} else {
			*to = b.add(*to, v)
		}
	}
	if g.DOut[1] != nil {
		middle = b.diagonal(g.DOut[1])
	}
	gaps, inverse := Value(nil), Value(nil)
	if g.DOut[0] != nil || g.DOut[2] != nil {
		gaps = b.gaps(b.mul(s, s))
		inverse = b.column(b.reciprocal(s), false)
	}
	skew := func(x, dx Value) Value {
		p := b.mm(b.mt(x), dx)
		return b.mul(gaps, b.sub(p, b.mt(p)))
	}
	if du := g.DOut[0]; du != nil {
		plus(&middle, b.mul(skew(u, du), b.column(s, false)))
		if m > n { // what turns out of the columns' space
			out := b.sub(du, b.mm(u, b.mm(b.mt(u), du)))
			plus(&sum, b.mm(b.mul(out, inverse), b.mt(v)))
		}
	}
	if g.DOut[2] != nil {
		dv := b.mt(g.DOut[2])
		plus(&middle, b.mul(b.column(s, true), skew(v, dv)))
		if n > m {
			out := b.sub(dv, b.mm(v, b.mm(b.mt(v), dv)))
			plus(&sum, b.mm(u, b.mt(b.mul(out, inverse))))
		}
	}
	if middle != nil {
		plus(&sum, b.mm(u, middle, b.mt(v)))
	}
	return []Value{sum}
}

func gradEigh(g *GradContext) []Value {
	b := build{g}
	v := g.Out[1]
	var middle Value
	if g.DOut[0] != nil {
		middle = b.diagonal(g.DOut[0])
	}
	if g.DOut[1] != nil {
		turn := b.mul(b.gaps(g.Out[0]), b.mm(b.mt(v), g.DOut[1]))
		if middle == nil {
			middle = turn
		} else {
			middle = b.add(middle, turn)
		}
	}
	if middle == nil {
		return []Value{nil}
	}
	return []Value{b.half(b.mm(v, middle, b.mt(v)))}
}

func gradPinv(g *GradContext) []Value {
	b := build{g}
	a, p := g.In[0], g.Out[0]
	dt, pt := b.mt(g.DOut[0]), b.mt(p)
	right := b.mm(dt, p, pt) // (1 - a·p)·right
	left := b.mm(pt, p, dt)  // left·(1 - p·a)
	sum := b.sub(right, b.mm(a, p, right))
	sum = b.add(sum, b.sub(left, b.mm(left, p, a)))
	return []Value{b.sub(sum, b.mm(pt, g.DOut[0], pt))}
}

// gradExpm reads the derivative off the exponential of a matrix of blocks.
func gradExpm(g *GradContext) []Value {
	b := build{g}
	t := b.mt(g.In[0])
	s := b.shape(t)
	axis := len(s) - 1
	n := s[axis]
	top := b.do("concat", []Value{t, g.DOut[0]}, "axis", axis)
	low := b.do("concat", []Value{g.zeros(g.Type(t)), t}, "axis", axis)
	y := b.do("expm", []Value{b.do("concat", []Value{top, low}, "axis", axis-1)})
	return []Value{b.slice(b.slice(y, axis-1, 0, n, 1), axis, n, n, 1)}
}
