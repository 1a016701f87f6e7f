package ir

import "math"

// Quantization: real numbers as integer codes of a few bits with scales and zero
// points, which are tensors of their own. Rows compute with codes; what a set of
// codes, scales and zero points means as a whole is known to who holds them.

func init() {
	bits := AttrSpec{Name: "bits", Kind: AttrInt, Default: 4}
	scaleAttrs := []AttrSpec{{Name: "axes", Kind: AttrInts, Default: []int64{}}, {Name: "levels", Kind: AttrInt, Default: 127}, {Name: "dtype", Kind: AttrDType, Default: F32}}
	register(
		&Row{Name: "quantize", Number: 460, Version: 1, Access: Elementwise,
			Doc: "y = x / scale rounded half to even, plus zero, limited to low and high: a code of dtype, an integer of 8 or 16 bits. " +
				"A quotient that is NaN (of NaN, or of 0 by a scale of 0) gives the code zero, an infinite one a limit. Nothing is differentiable.",
			Operands: []Operand{{"x", FloatClass, Moderate}, {"scale", FloatClass, Positive}, {"zero", Ints, AnyValue}},
			Attrs:    []AttrSpec{{Name: "dtype", Kind: AttrDType, Default: I8}, {Name: "low", Kind: AttrInt, Default: -127}, {Name: "high", Kind: AttrInt, Default: 127}},
			Infer:    inferQuantize, Body: Body{Any: "q = rint(x / scale); y = min(max(select(q == q, q, 0) + zero, num(low)), num(high))"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {3, 1}, {}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}, {3, 1}}, Attrs: A("dtype", U8, "low", 0, "high", 15)}}},
		&Row{Name: "dequantize", Number: 461, Version: 1, Access: Elementwise, Compute: FromResult,
			Doc:      "y = (x - zero) · scale as dtype, a float: the inverse of quantize. Both steps round in the type that dtype computes in, which codes of 16 bits and fewer do not feel.",
			Operands: []Operand{{"x", Ints, AnyValue}, {"scale", FloatClass, Positive}, {"zero", Ints, AnyValue}},
			Attrs:    []AttrSpec{{Name: "dtype", Kind: AttrDType, Default: F32}},
			Infer:    inferDequantize, Body: Body{Any: "(x - zero) * scale"},
			Samples: []Sample{{Shapes: []Shape{{3, 5}, {3, 1}, {}}}, {Shapes: []Shape{{2, 3, 4}, {3, 1}, {3, 1}}}},
			GradFunc: func(g *GradContext) []Value {
				b, scale := build{g}, g.Type(g.In[1]).DType
				wide := g.Type(g.DOut[0]).DType
				codes := b.sub(b.cast(g.In[0], wide), b.cast(g.In[2], wide))
				return []Value{nil, b.cast(b.mul(g.DOut[0], codes), scale), nil}
			}},
		&Row{Name: "symmetric_scale", Number: 462, Version: 1, Access: Reduce,
			Doc: "y = the scale of dtype that writes the elements of x along axes (empty means all) with codes from -levels to levels: the greatest |x| / levels. " +
				"The axes stay, with extent 1. Of nothing, and of zeros, it is 0; if an x is not finite, it is NaN; levels times it are finite.",
			Operands: oneOperand(FloatClass, Moderate), Attrs: scaleAttrs, Infer: inferScale, Decompose: decomposeSymmetricScale,
			Samples: []Sample{{Shapes: []Shape{{3, 5}}, Attrs: A("axes", []int{1})}}},
		&Row{Name: "affine_scale", Number: 463, Version: 1, Access: Reduce,
			Doc: "scale and zero write the elements of x along axes (empty means all) and 0 with codes from 0 to levels, at most 255: " +
				"scale = (the greatest - the least) / levels, zero = quantize(-the least). The axes stay, with extent 1; special cases are those of symmetric_scale.",
			Operands: oneOperand(FloatClass, Moderate), Attrs: scaleAttrs, Results: []string{"scale", "zero"}, Infer: inferAffineScale, Decompose: decomposeAffineScale,
			Samples: []Sample{{Shapes: []Shape{{3, 5}}, Attrs: A("axes", []int{1}, "levels", 255)}}},
		&Row{Name: "pack_bits", Number: 464, Version: 1, Access: Join,
			Doc:      "y = codes of bits (1, 2, 4 or 8) bits each, the low bits of x, side by side in bytes along the last axis, the first in the low bits of a byte; a last byte is filled up with 0.",
			Operands: oneOperand(UintClass, Index), Attrs: []AttrSpec{bits}, Infer: inferPack, Decompose: decomposePack,
			Samples: []Sample{{Shapes: []Shape{{3, 5}}}}},
		&Row{Name: "unpack_bits", Number: 465, Version: 1, Access: Gather,
			Doc:      "y = the first size codes of bits (1, 2, 4 or 8) bits each in the bytes of x along the last axis: the inverse of pack_bits.",
			Operands: oneOperand(UintClass, AnyValue), Attrs: []AttrSpec{bits, {Name: "size", Kind: AttrInt}}, Infer: inferUnpack, Decompose: decomposeUnpack,
			Samples: []Sample{{Shapes: []Shape{{3, 3}}, Attrs: A("size", 5)}}},
		&Row{Name: "dot_codes", Number: 466, Version: 1, Access: Opaque,
			Doc: "y[..., i] = the sum over k of x[..., k] · (code(i, k) - zero(i, k)) · scale(i, k), in f32: x are signed codes, row i of codes holds those of bits (8 or 4) bits, " +
				"4 bits in halves of a block: the first half in the low bits of its bytes, the second in the high ones. block codes share a scale and a zero point (0: a row does). Where rows or blocks of all share one, the extent is 1. x goes on with 0 to the end of a block. " +
				"Words of 32 bits of codes are summed exactly; partial j of 16 takes the words j, j+16, ... in ascending order by fma of sum and scale from +0, and the partials are folded by halves.",
			Operands: []Operand{{"x", IntClass, AnyValue}, {"codes", Ints, AnyValue}, {"scale", FloatClass, Positive}, {"zero", Ints, AnyValue}},
			Attrs:    []AttrSpec{{Name: "bits", Kind: AttrInt, Default: 8}, {Name: "block", Kind: AttrInt, Default: 0}}, Infer: inferDotCodes,
			Samples: []Sample{{Shapes: []Shape{{2, 3, 20}, {5, 20}, {5, 1}, {1, 1}}}, {Shapes: []Shape{{2, 37}, {9, 20}, {9, 5}, {9, 5}}, Attrs: A("bits", 4, "block", 8)},
				{Shapes: []Shape{{40}, {4, 64}, {4, 2}, {1, 1}}, Attrs: A("block", 32)}, {Shapes: []Shape{{2, 600}, {7, 304}, {7, 19}, {7, 19}}, Attrs: A("bits", 4, "block", 32)},
				{Shapes: []Shape{{1, 1100}, {3, 1100}, {1, 1}, {1, 1}}}, {Shapes: []Shape{{1, 1024}, {6, 512}, {6, 4}, {6, 4}}, Attrs: A("bits", 4, "block", 256)},
				{Shapes: []Shape{{3, 5}, {2, 5}, {2, 1}, {2, 1}}}, {Shapes: []Shape{{0, 8}, {2, 8}, {1, 1}, {1, 1}}}, {Shapes: []Shape{{2, 0}, {3, 0}, {3, 1}, {3, 1}}}}},
	)
}

// inferDotCodes: codes are i8 or u8, of 4 bits u8; blocks are whole words; rows of
// codes are whole blocks, which x may end within.
func inferDotCodes(r *Row, in []Type, a Attrs) ([]Type, error) {
	x, codes, scale, zero := in[0], in[1], in[2], in[3]
	bits, block := a[0].Int, a[1].Int
	switch {
	case x.DType != I8:
		return nil, Errorf(ErrDType, "x is %s, expected i8", x.DType)
	case bits != 8 && bits != 4:
		return nil, Errorf(ErrArgument, "codes of %d bits, expected 8 or 4", bits)
	case codes.DType != U8 && (codes.DType != I8 || bits == 4):
		return nil, Errorf(ErrDType, "codes of %d bits are %s, expected u8, or i8 of 8 bits", bits, codes.DType)
	case scale.DType == F64:
		return nil, Errorf(ErrDType, "scales are f64, expected f32, f16 or bf16")
	case zero.DType != codes.DType:
		return nil, Errorf(ErrDType, "zero points are %s, the codes %s", zero.DType, codes.DType)
	case len(x.Shape) == 0 || len(codes.Shape) != 2:
		return nil, Errorf(ErrShape, "x has shape %v and codes %v, expected [..., k] and [n, bytes]", x.Shape, codes.Shape)
	case block < 0 || block > MaxElements || block*bits%32 != 0:
		return nil, Errorf(ErrArgument, "blocks of %d codes of %d bits, expected whole words of 32 bits", block, bits)
	}
	last := len(x.Shape) - 1
	k, n := x.Shape[last], codes.Shape[0]
	blocks, bytes := 1, (k*int(bits)+7)/8
	if block > 0 {
		blocks = (k + int(block) - 1) / int(block)
		bytes = blocks * int(block) * int(bits) / 8
	}
	if codes.Shape[1] != bytes {
		return nil, Errorf(ErrShape, "rows of %d bytes, expected %d: x has %d elements along its last axis", codes.Shape[1], bytes, k)
	}
	for i, t := range []Type{scale, zero} {
		if s := t.Shape; len(s) != 2 || s[0] != n && s[0] != 1 || s[1] != blocks && s[1] != 1 {
			return nil, Errorf(ErrShape, "%s has shape %v, expected [%d, %d], or 1 in place of an extent", r.Operands[2+i].Name, s, n, blocks)
		}
	}
	shape := x.Shape.Clone()
	shape[last] = n
	return []Type{{F32, shape}}, nil
}

func inferQuantize(r *Row, in []Type, a Attrs) ([]Type, error) {
	d, low, high := a[0].DType(), a[1].Int, a[2].Int
	if !d.IsInt() || d.Bits() > 16 {
		return nil, Errorf(ErrDType, "codes of %s, expected i8, u8, i16 or u16", d)
	}
	least, most := int64(0), int64(1)<<d.Bits()-1
	if d.Kind() == KindInt {
		least, most = -1<<(d.Bits()-1), most>>1
	}
	if low < least || high > most || low > high {
		return nil, Errorf(ErrArgument, "codes from %d to %d, expected limits in order between %d and %d for %s", low, high, least, most, d)
	}
	s, err := Broadcast(in[0].Shape, in[1].Shape, in[2].Shape)
	return []Type{{d, s}}, err
}

func inferDequantize(r *Row, in []Type, a Attrs) ([]Type, error) {
	d := a[0].DType()
	if !d.IsFloat() {
		return nil, Errorf(ErrDType, "dequantized to %s, expected a float", d)
	}
	s, err := Broadcast(in[0].Shape, in[1].Shape, in[2].Shape)
	return []Type{{d, s}}, err
}

// inferScale: the axes stay, with extent 1.
func inferScale(r *Row, in []Type, a Attrs) ([]Type, error) {
	axes, err := ReduceAxes(r, in[0], a)
	if err != nil {
		return nil, err
	}
	if d := a[2].DType(); !d.IsFloat() {
		return nil, Errorf(ErrDType, "scales of %s, expected a float", d)
	}
	if n := a[1].Int; n < 1 || n > math.MaxUint16 {
		return nil, Errorf(ErrArgument, "%d levels, expected 1 to %d", n, math.MaxUint16)
	}
	s := in[0].Shape.Clone()
	for _, x := range axes {
		s[x] = 1
	}
	return []Type{{a[2].DType(), s}}, nil
}

func inferAffineScale(r *Row, in []Type, a Attrs) ([]Type, error) {
	out, err := inferScale(r, in, a)
	if err != nil {
		return nil, err
	}
	if n := a[1].Int; n > math.MaxUint8 {
		return nil, Errorf(ErrArgument, "%d levels, expected 1 to %d", n, math.MaxUint8)
	}
	return append(out, Type{U8, out[0].Shape}), nil
}

// extreme is the greatest or least element along axes, which stay, in f32 or f64;
// of no elements 0.
func (b build) extreme(row string, x Value, axes []int64) Value {
	t := b.Type(x)
	wide := t.DType.Compute()
	list, _ := Axes(axes, len(t.Shape)) // the type rule checked them
	kept, n := t.Shape.Clone(), 1
	for _, a := range list {
		n *= kept[a]
		kept[a] = 1
	}
	if n == 0 {
		return b.full(0, wide, kept...)
	}
	return b.cast(b.do(row, []Value{x}, "axes", axes, "keepdims", true), wide)
}

// scale is a range over levels steps as a scale of a dtype. It is limited so that
// levels steps of it are finite, and NaN if the range is not finite.
func (b build) scale(width Value, levels float64, d DType) Value {
	wide := b.Type(width).DType
	most := math.Min(highest(d), highest(wide)/levels)
	if d == F32 || wide == F32 && d != F16 {
		most = float64(math.Nextafter32(float32(most), 0))
	}
	s := b.pair("minimum", b.div(width, b.num(levels, width)), b.num(most, width))
	return b.cast(b.add(s, b.sub(width, width)), d)
}

// highest is the greatest finite number of a float dtype.
func highest(d DType) float64 {
	switch d {
	case F16:
		return 65504
	case BF16:
		return 0x1.fep127
	case F32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

func decomposeSymmetricScale(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	m := b.extreme("max", b.do("abs", in), a[0].List)
	return []Value{b.scale(m, float64(a[1].Int), a[2].DType())}
}

// decomposeAffineScale halves the ends of the range before it takes their
// difference, which may be above the greatest number; halving is exact.
func decomposeAffineScale(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	levels := float64(a[1].Int)
	high, low := b.extreme("max", in[0], a[0].List), b.extreme("min", in[0], a[0].List)
	zero := b.num(0, high)
	high, low = b.pair("maximum", high, zero), b.pair("minimum", low, zero)
	half := b.num(0.5, high)
	scale := b.scale(b.sub(b.mul(high, half), b.mul(low, half)), levels/2, a[2].DType())
	least := b.do("neg", []Value{low})
	return []Value{scale, b.do("quantize", []Value{least, scale, b.Scalar(0, U8)}, "dtype", U8, "low", 0, "high", a[1].Int)}
}

// packing checks an operand and the attribute bits, and returns how many codes a
// byte holds.
func packing(in Type, a Attrs) (perByte int, err error) {
	bits := a[0].Int
	switch {
	case in.DType != U8:
		return 0, Errorf(ErrDType, "bytes or codes are %s, expected u8", in.DType)
	case bits != 1 && bits != 2 && bits != 4 && bits != 8:
		return 0, Errorf(ErrArgument, "codes of %d bits, expected 1, 2, 4 or 8", bits)
	case len(in.Shape) == 0:
		return 0, Errorf(ErrShape, "a scalar has no last axis to pack along")
	}
	return 8 / int(bits), nil
}

func inferPack(r *Row, in []Type, a Attrs) ([]Type, error) {
	per, err := packing(in[0], a)
	if err != nil {
		return nil, err
	}
	s := in[0].Shape.Clone()
	last := len(s) - 1
	s[last] = (s[last] + per - 1) / per
	return []Type{{U8, s}}, nil
}

func inferUnpack(r *Row, in []Type, a Attrs) ([]Type, error) {
	per, err := packing(in[0], a)
	if err != nil {
		return nil, err
	}
	s := in[0].Shape.Clone()
	last, size := len(s)-1, a[1].Int
	if size < 0 || size > MaxElements || (int(size)+per-1)/per != s[last] {
		return nil, Errorf(ErrShape, "%d codes of %d bits do not take the %d bytes of the last axis of %v", size, a[0].Int, s[last], in[0].Shape)
	}
	s[last] = int(size)
	return []Type{{U8, s}}, nil
}

func decomposePack(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	bits := int(a[0].Int)
	per := 8 / bits
	if per == 1 {
		return in
	}
	x, s := in[0], b.shape(in[0]).Clone()
	last := len(s) - 1
	n := (s[last] + per - 1) / per
	x = b.border(x, last, 0, n*per-s[last], 0)
	x = b.pair("and", x, b.Scalar(float64(int(1)<<bits-1), U8))
	y := b.slice(x, last, 0, n, per)
	for i := 1; i < per; i++ {
		part := b.slice(x, last, i, n, per)
		y = b.pair("or", y, b.pair("shl", part, b.Scalar(float64(i*bits), U8)))
	}
	return []Value{y}
}

// decomposeUnpack is index arithmetic: code i of a byte is the byte moved down by
// i·bits, masked. A reader of the result reads the bytes.
func decomposeUnpack(g Graph, in []Value, a Attrs) []Value {
	b := build{g}
	bits, size := int(a[0].Int), int(a[1].Int)
	per := 8 / bits
	if per == 1 {
		return in
	}
	s := b.shape(in[0]).Clone()
	last := len(s) - 1
	n := s[last]
	deep := append(s[:last:last], n, 1)
	if len(deep) > MaxRank {
		deep = Shape{s[:last].Size(), n, 1}
	}
	shift := b.mul(b.iota(per, 0, 1, U8), b.Scalar(float64(bits), U8))
	x := b.pair("shr", b.reshape(in[0], deep...), shift)
	x = b.pair("and", x, b.Scalar(float64(int(1)<<bits-1), U8))
	s[last] = n * per
	x = b.reshape(x, s...)
	if size < n*per {
		x = b.slice(x, last, 0, size, 1)
	}
	return []Value{x}
}
