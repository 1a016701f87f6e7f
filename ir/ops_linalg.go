package ir

// Linear algebra over the last two axes; the axes before them are a batch. The
// routines compute in f64, and round once for f32. A matrix that holds NaN or an
// infinity gives NaN, and none of the rows with a routine fails for its data: a
// factorisation that does not exist is told by info, 1 + the pivot where it
// ended, which matrix_check turns into an error. The rows that people call are
// made of these two and have gradients of their own.

// What matrix_check says of the matrices whose info is not 0.
const (
	NotPositive     = iota // cholesky
	SingularSolve          // solve
	SingularInverse        // inverse
	ZeroDiagonal           // triangular_solve
	matrixFaults
)

// inferMatrices makes a rule from one for the extents of the last two axes: what
// stands after the batch axes of each result.
func inferMatrices(square bool, result func(rows, columns int) []Shape) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		if err := checkMatrix("x", in[0], square); err != nil {
			return nil, err
		}
		s := in[0].Shape
		batch := s[:len(s)-2]
		var out []Type
		for _, tail := range result(s[len(s)-2], s[len(s)-1]) {
			out = append(out, Type{in[0].DType, append(batch.Clone(), tail...)})
		}
		return out, nil
	}
}

func checkMatrix(name string, t Type, square bool) error {
	s := t.Shape
	switch {
	case t.DType != F32 && t.DType != F64:
		return Errorf(ErrDType, "%s is %s; linear algebra is in f32 or f64: cast it", name, t.DType)
	case len(s) < 2:
		return Errorf(ErrShape, "%s has shape %v, expected at least the two axes of a matrix", name, s)
	case square && s[len(s)-1] != s[len(s)-2]:
		return Errorf(ErrShape, "%s has shape %v, expected square matrices in the last two axes", name, s)
	}
	return nil
}

// withInfo adds to the first result the i64 info of each matrix.
func withInfo(f InferFunc) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		out, err := f(r, in, a)
		if err != nil {
			return nil, err
		}
		s := out[0].Shape
		return append(out[:1:1], Type{I64, s[:len(s)-2].Clone()}), nil
	}
}

// inferSystem is the rule of x·y = z, or y·x = z if left is false, with one batch
// or batches that broadcast.
func inferSystem(broadcast bool) InferFunc {
	return func(r *Row, in []Type, a Attrs) ([]Type, error) {
		x, z := in[0], in[1]
		if err := checkMatrix("x", x, true); err != nil {
			return nil, err
		}
		if err := checkMatrix("z", z, false); err != nil {
			return nil, err
		}
		if x.DType != z.DType {
			return nil, Errorf(ErrDType, "x is %s but z is %s; tensors never promote by themselves: cast one of them", x.DType, z.DType)
		}
		xs, zs := x.Shape, z.Shape
		axis := len(zs) - 2
		if i := r.attrIndex("left"); i >= 0 && !a[i].Bool() {
			axis++
		}
		if n := xs[len(xs)-1]; zs[axis] != n {
			return nil, Errorf(ErrShape, "axis %d of z %v has extent %d, expected %d as the matrices of x %v have", axis, zs, zs[axis], n, xs)
		}
		batch, err := Broadcast(xs[:len(xs)-2], zs[:len(zs)-2])
		if err != nil {
			return nil, err
		}
		if !broadcast && (!batch.Equal(xs[:len(xs)-2]) || !batch.Equal(zs[:len(zs)-2])) {
			return nil, Errorf(ErrShape, "x %v and z %v have different batches", xs, zs)
		}
		return []Type{{z.DType, append(batch, zs[len(zs)-2:]...)}}, nil
	}
}

func inferMatrixCheck(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, info := in[0].Shape, in[1].Shape
	if len(info) > len(x) || !x[:len(info)].Equal(info) {
		return nil, Errorf(ErrShape, "info has shape %v, expected the leading axes of x %v", info, x)
	}
	if w := a[0].Int; w < 0 || w >= matrixFaults {
		return nil, Errorf(ErrArgument, "what is %d, expected 0 to %d", w, matrixFaults-1)
	}
	return in[:1:1], nil
}

// sides are the attributes of triangular systems.
var sides = []AttrSpec{{Name: "left", Kind: AttrBool, Default: true}, {Name: "upper", Kind: AttrBool, Default: false},
	{Name: "transpose", Kind: AttrBool, Default: false}, {Name: "unit", Kind: AttrBool, Default: false}}

func init() {
	matrix := oneOperand(FloatClass, Moderate)
	system := twoOperands(FloatClass, Moderate)
	upper := []AttrSpec{{Name: "upper", Kind: AttrBool, Default: false}}
	same := func(m, n int) []Shape { return []Shape{{m, n}} }
	scalar := func(m, n int) []Shape { return []Shape{{}} }
	squares := []Sample{{Shapes: []Shape{{3, 3}}}, {Shapes: []Shape{{2, 4, 4}}}, {Shapes: []Shape{{1, 1}}}, {Shapes: []Shape{{2, 0, 0}}}}
	oblong := []Sample{{Shapes: []Shape{{4, 3}}}, {Shapes: []Shape{{2, 3, 5}}}, {Shapes: []Shape{{3, 3}}}, {Shapes: []Shape{{2, 0, 3}}}}
	systems := []Sample{{Shapes: []Shape{{3, 3}, {3, 2}}}, {Shapes: []Shape{{2, 4, 4}, {2, 4, 1}}}, {Shapes: []Shape{{0, 0}, {0, 2}}}}
	var triangles []Sample
	for i, shapes := range [][]Shape{{{3, 3}, {3, 2}}, {{2, 4, 4}, {2, 4, 1}}, {{0, 0}, {0, 2}}, {{3, 3}, {2, 3}}, {{2, 3, 3}, {2, 3, 3}}} {
		triangles = append(triangles, Sample{Shapes: shapes, Attrs: A("left", i != 3, "upper", i%2 == 1, "transpose", i > 2, "unit", i == 4)})
	}
	register(
		&Row{Name: "cholesky_info", Number: 500, Version: 1, Access: Opaque,
			Doc:      "y = cholesky(x); where x is not positive definite y is NaN and info 1 + the pivot where it ended, else info is 0.",
			Operands: matrix, Attrs: upper, Results: []string{"y", "info"}, Infer: withInfo(inferMatrices(true, same)),
			Samples: append(squares[:4:4], Sample{Shapes: []Shape{{3, 3}}, Attrs: A("upper", true)})},
		&Row{Name: "solve_info", Number: 501, Version: 1, Access: Opaque,
			Doc:      "y = solve(x, z), of one batch; where x is singular y is NaN and info 1 + the pivot that is 0, else info is 0.",
			Operands: system, Results: []string{"y", "info"}, Infer: withInfo(inferSystem(false)), Samples: systems},
		&Row{Name: "triangular_solve_info", Number: 502, Version: 1, Access: Opaque,
			Doc:      "y = triangular_solve(x, z), of one batch; where the diagonal has a 0 y is NaN and info 1 + its place, else info is 0.",
			Operands: system, Attrs: sides, Results: []string{"y", "info"}, Infer: withInfo(inferSystem(false)), Samples: triangles},
		&Row{Name: "matrix_check", Number: 503, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc: "y = x, which is an error if an info of the batch is above 0; what says which: " +
				"0 not positive definite, 1 and 2 singular (in solve, in inverse), 3 a zero on the diagonal of a triangle.",
			Operands: []Operand{{"x", FloatClass, AnyValue}, {"info", I64Class, Index}}, Attrs: []AttrSpec{{Name: "what", Kind: AttrInt, Default: 0}},
			Infer:   inferMatrixCheck,
			Samples: []Sample{{Shapes: []Shape{{2, 3, 3}, {2}}}, {Shapes: []Shape{{3, 3}, {}}, Attrs: A("what", 1)}}},
		&Row{Name: "slogdet", Number: 504, Version: 1, Access: Opaque,
			Doc:      "sign and y = the sign and the logarithm of the absolute value of the determinant of x, from its LU factors; 0 and -inf for a singular one.",
			Operands: matrix, Results: []string{"sign", "y"}, Infer: inferMatrices(true, func(m, n int) []Shape { return []Shape{{}, {}} }),
			GradFunc: gradSlogdet, Samples: squares},
		&Row{Name: "det", Number: 505, Version: 1, Access: Opaque,
			Doc:      "y = the determinant of x, from its LU factors; the gradient at a singular matrix is an error.",
			Operands: matrix, Infer: inferMatrices(true, scalar), GradFunc: gradDet, Samples: squares},
		&Row{Name: "qr", Number: 506, Version: 1, Access: Opaque,
			Doc: "q·r = x: q has min(m, n) orthonormal columns, r is upper triangular with a diagonal of no negative numbers. " +
				"Gradients need the first min(m, n) columns of x to be independent.",
			Operands: matrix, Results: []string{"q", "r"}, GradFunc: gradQR, Samples: oblong,
			Infer: inferMatrices(false, func(m, n int) []Shape { return []Shape{{m, min(m, n)}, {min(m, n), n}} })},
		&Row{Name: "svd", Number: 507, Version: 1, Access: Opaque,
			Doc: "u·diag(s)·vh = x: min(m, n) singular values in descending order and their vectors; of each column of u the element " +
				"greatest in magnitude, the first of such, is positive. Gradients of vectors leave out shares of equal or zero singular values.",
			Operands: matrix, Results: []string{"u", "s", "vh"}, GradFunc: gradSVD, Samples: oblong,
			Infer: inferMatrices(false, func(m, n int) []Shape { k := min(m, n); return []Shape{{m, k}, {k}, {k, n}} })},
		&Row{Name: "eigh", Number: 508, Version: 1, Access: Opaque,
			Doc: "w and v = the eigenvalues, ascending, and eigenvectors, in columns, of the symmetric part of x; of each vector the element " +
				"greatest in magnitude, the first of such, is positive. Gradients of vectors leave out shares of equal eigenvalues.",
			Operands: matrix, Results: []string{"w", "v"}, GradFunc: gradEigh, Samples: squares,
			Infer: inferMatrices(true, func(m, n int) []Shape { return []Shape{{n}, {n, n}} })},
		&Row{Name: "pinv", Number: 509, Version: 1, Access: Opaque,
			Doc: "y = the pseudo-inverse of x; singular values up to rcond times the greatest count as 0, a negative rcond means " +
				"max(m, n) times the distance of 1 to the next number of the dtype. The gradient is that of constant rank.",
			Operands: matrix, Attrs: []AttrSpec{{Name: "rcond", Kind: AttrFloat, Default: -1.0}}, GradFunc: gradPinv, Samples: oblong,
			Infer: inferMatrices(false, func(m, n int) []Shape { return []Shape{{n, m}} })},
		&Row{Name: "expm", Number: 510, Version: 1, Access: Opaque,
			Doc:      "y = the exponential of the matrix x, by scaling, squaring and Padé approximants.",
			Operands: matrix, Infer: inferMatrices(true, same), GradFunc: gradExpm, Samples: squares},

		&Row{Name: "cholesky", Number: 511, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc: "y = the lower triangular matrix with y·transpose(y) = the symmetric part of x, or with upper the upper one with " +
				"transpose(y)·y. A matrix that is not positive definite makes the result an error.",
			Operands: matrix, Attrs: upper, Infer: inferMatrices(true, same), GradFunc: gradCholesky, Samples: squares,
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				return build{g}.checked(g.ApplyN("cholesky_info", in, Named{"upper", a[0].Bool()}), NotPositive)
			}},
		&Row{Name: "solve", Number: 512, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc:      "y = the solution of x·y = z, by LU factors with row exchanges; batches broadcast. A singular x makes the result an error.",
			Operands: system, Infer: inferSystem(true), GradFunc: gradSolve, Samples: systems,
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				b := build{g}
				return b.checked(g.ApplyN("solve_info", b.oneBatch(in)), SingularSolve)
			}},
		&Row{Name: "triangular_solve", Number: 513, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc: "y = the solution of x·y = z, or with left false of y·x = z, where of x only the lower triangle is read, or the upper one; " +
				"transpose takes its transpose, unit takes its diagonal to be 1. Batches broadcast. A 0 on the diagonal makes the result an error.",
			Operands: system, Attrs: sides, Infer: inferSystem(true), GradFunc: gradTriangular, Samples: triangles,
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				b := build{g}
				parts := g.ApplyN("triangular_solve_info", b.oneBatch(in), Named{"left", a[0].Bool()}, Named{"upper", a[1].Bool()},
					Named{"transpose", a[2].Bool()}, Named{"unit", a[3].Bool()})
				return b.checked(parts, ZeroDiagonal)
			}},
		&Row{Name: "inverse", Number: 514, Version: 1, Access: Opaque, Effects: EffectFault,
			Doc:      "y = the inverse of x, by LU factors with row exchanges. A singular x makes the result an error.",
			Operands: matrix, Infer: inferMatrices(true, same), GradFunc: gradInverse, Samples: squares,
			Decompose: func(g Graph, in []Value, a Attrs) []Value {
				b := build{g}
				s := b.shape(in[0])
				n := s[len(s)-1]
				eye := b.cast(b.pair("eq", b.iota(n, 0, 2, I64), b.iota(n, 1, 2, I64)), b.Type(in[0]).DType)
				return b.checked(g.ApplyN("solve_info", []Value{in[0], b.do("expand", []Value{eye}, "shape", s)}), SingularInverse)
			}},
	)
}

// checked turns the info of a factorisation into the error of its result.
func (b build) checked(parts []Value, what int) []Value {
	if len(parts) < 2 { // an error
		return parts
	}
	return []Value{b.do("matrix_check", parts, "what", what)}
}

// oneBatch broadcasts the leading axes of two stacks of matrices.
func (b build) oneBatch(in []Value) []Value {
	x, z := b.shape(in[0]), b.shape(in[1])
	batch, err := Broadcast(x[:len(x)-2], z[:len(z)-2])
	if err != nil {
		return in // the row that follows says so
	}
	return []Value{b.do("expand", in[:1], "shape", append(batch.Clone(), x[len(x)-2:]...)),
		b.do("expand", in[1:2], "shape", append(batch.Clone(), z[len(z)-2:]...))}
}
