package ir

// Fourier transforms. Complex numbers have no dtype: they are a last axis of 2,
// the real and the imaginary part. The attribute axis counts the axes before it.
// The routines compute in f64, and round once for f32. Lengths without large
// prime factors are fast; a prime one takes time by its square.

func init() {
	axis := AttrSpec{Name: "axis", Kind: AttrInt, Default: -1}
	one := oneOperand(FloatClass, Moderate)
	register(
		&Row{Name: "fft", Number: 520, Version: 1, Access: Opaque,
			Doc: "y[k] = the sum over j of x[j]·exp(-2πi·j·k/n) along axis, or with inverse the sum of x[j]·exp(2πi·j·k/n), over n; " +
				"x and y are complex: a last axis of 2.",
			Operands: one, Attrs: []AttrSpec{axis, {Name: "inverse", Kind: AttrBool, Default: false}},
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				if _, err := complexAxis(in[0], a[0]); err != nil {
					return nil, err
				}
				return in[:1:1], nil
			},
			GradFunc: func(g *GradContext) []Value {
				ax, _ := complexAxis(g.Type(g.In[0]), g.Attrs[0])
				b := build{g}
				n, inverse := float64(b.shape(g.In[0])[ax]), g.Attrs[1].Bool()
				d := g.Do("fft", g.DOut, "axis", ax, "inverse", !inverse)
				if inverse {
					n = 1 / n
				}
				return []Value{b.mul(d, b.num(n, d))}
			},
			Samples: []Sample{{Shapes: []Shape{{8, 2}}}, {Shapes: []Shape{{3, 5, 2}}, Attrs: A("axis", 0, "inverse", true)}, {Shapes: []Shape{{2, 0, 7, 2}}}}},
		&Row{Name: "rfft", Number: 521, Version: 1, Access: Opaque,
			Doc:      "y = the first n/2+1 coefficients of fft of a real x along axis, the others being their conjugates; y has a last axis of 2.",
			Operands: one, Attrs: []AttrSpec{axis}, GradFunc: gradRFFT,
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				ax, err := fourierAxis(in[0].DType, in[0].Shape, a[0])
				if err != nil {
					return nil, err
				}
				shape := append(in[0].Shape.Clone(), 2)
				shape[ax] = shape[ax]/2 + 1
				return []Type{{in[0].DType, shape}}, nil
			},
			Samples: []Sample{{Shapes: []Shape{{8}}}, {Shapes: []Shape{{2, 5, 3}}, Attrs: A("axis", 1)}, {Shapes: []Shape{{1}}}}},
		&Row{Name: "irfft", Number: 522, Version: 1, Access: Opaque,
			Doc: "y = the n real numbers along axis whose rfft is x, which has n/2+1 coefficients; the imaginary part of the first, " +
				"and for an even n of the last, is not read.",
			Operands: one, Attrs: []AttrSpec{{Name: "n", Kind: AttrInt}, axis}, GradFunc: gradIRFFT,
			Infer: func(r *Row, in []Type, a Attrs) ([]Type, error) {
				ax, err := complexAxis(in[0], a[1])
				if err != nil {
					return nil, err
				}
				n, s := a[0].Int, in[0].Shape
				if n < 1 || n/2+1 != int64(s[ax]) {
					return nil, Errorf(ErrShape, "n is %d, which has %d coefficients, but axis %d of %v has %d", n, n/2+1, ax, s, s[ax])
				}
				shape := s[:len(s)-1].Clone()
				shape[ax] = int(n)
				return []Type{{in[0].DType, shape}}, nil
			},
			Samples: []Sample{{Shapes: []Shape{{5, 2}}, Attrs: A("n", 8)}, {Shapes: []Shape{{2, 3, 3, 2}}, Attrs: A("n", 5, "axis", 1)},
				{Shapes: []Shape{{1, 2}}, Attrs: A("n", 1)}}},
	)
}

// complexAxis checks a complex operand and returns the axis.
func complexAxis(t Type, axis Attr) (int, error) {
	s := t.Shape
	if len(s) < 2 || s[len(s)-1] != 2 {
		return 0, Errorf(ErrShape, "x has shape %v, expected a last axis of 2, the real and the imaginary part, after at least one other", s)
	}
	return fourierAxis(t.DType, s[:len(s)-1], axis)
}

func fourierAxis(d DType, s Shape, axis Attr) (int, error) {
	if d != F32 && d != F64 {
		return 0, Errorf(ErrDType, "x is %s; Fourier transforms are in f32 or f64: cast it", d)
	}
	ax, err := Axis(extent(axis.Int), len(s))
	if err != nil {
		return 0, err
	}
	if s[ax] == 0 {
		return 0, Errorf(ErrShape, "axis %d of %v has no elements to transform", ax, s)
	}
	return ax, nil
}

// gradRFFT is the real part of the inverse transform, over nothing, of the
// coefficients that arrive.
func gradRFFT(g *GradContext) []Value {
	b := build{g}
	in := g.Type(g.In[0])
	ax, _ := fourierAxis(in.DType, in.Shape, g.Attrs[0])
	n, rank := in.Shape[ax], len(in.Shape)
	d := b.border(g.DOut[0], ax, 0, n-(n/2+1), 0)
	d = g.Do("fft", []Value{d}, "axis", ax, "inverse", true)
	d = b.reshape(b.slice(d, rank, 0, 1, 1), in.Shape...)
	return []Value{b.mul(d, b.num(float64(n), d))}
}

// gradIRFFT counts the coefficients twice that stand for their conjugates too.
func gradIRFFT(g *GradContext) []Value {
	b := build{g}
	in := g.Type(g.In[0])
	ax, _ := complexAxis(in, g.Attrs[1])
	n := int(g.Attrs[0].Int)
	d := g.Do("rfft", g.DOut, "axis", ax)
	k := b.iota(in.Shape[ax], ax, len(in.Shape), I64)
	alone := b.pair("eq", k, b.Scalar(0, I64))
	if n%2 == 0 {
		alone = b.pair("or", alone, b.pair("eq", k, b.Scalar(float64(n/2), I64)))
	}
	return []Value{b.mul(d, b.where(alone, b.num(1/float64(n), d), b.num(2/float64(n), d)))}
}
