package sinter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Granularity says which elements of a quantized tensor share a scale.
type Granularity uint8

// The granularities.
const (
	PerTensor Granularity = iota // all
	PerAxis                      // those with one index of an axis: a channel
	PerBlock                     // runs of the last axis
)

// Scheme says how floats are written as codes of a few bits with scales. The zero
// value is 8 bits, symmetric, one scale of f32 for the whole tensor.
type Scheme struct {
	Bits int // 8 or 4; 0 means 8

	// Affine codes use their whole range, 0 to 255 or to 15, and have a zero point
	// beside each scale, so that a range on one side of 0 is not wasted. Others are
	// symmetric about 0: -127 to 127, or -7 to 7, stored as 1 to 15.
	Affine bool

	Per   Granularity
	Axis  int // of PerAxis; negative ones count from the end
	Block int // of PerBlock: the elements of a block; the last block of an axis may have fewer

	Scale DType // of the scales: F32 (Invalid means it), F16 or BF16
}

// normal returns the scheme with its defaults filled in, for a tensor of some rank.
func (s Scheme) normal(rank int) (Scheme, error) {
	if s.Bits == 0 {
		s.Bits = 8
	}
	if s.Scale == ir.Invalid {
		s.Scale = F32
	}
	bad := func(format string, args ...any) (Scheme, error) {
		return s, ir.Errorf(ir.ErrArgument, format, args...)
	}
	if s.Bits != 8 && s.Bits != 4 {
		return bad("codes of %d bits, expected 8 or 4", s.Bits)
	}
	if s.Bits == 4 && rank == 0 {
		return s, ir.Errorf(ir.ErrShape, "codes of 4 bits lie along the last axis, which a scalar has not")
	}
	if s.Scale != F32 && s.Scale != F16 && s.Scale != BF16 {
		return s, ir.Errorf(ir.ErrDType, "scales of %s, expected f32, f16 or bf16", s.Scale)
	}
	switch s.Per {
	case PerTensor:
		s.Axis, s.Block = 0, 0
	case PerAxis:
		a, err := ir.Axis(s.Axis, rank)
		if err != nil {
			return s, err
		}
		s.Axis, s.Block = a, 0
	case PerBlock:
		switch {
		case rank == 0:
			return s, ir.Errorf(ir.ErrShape, "blocks lie along the last axis, which a scalar has not")
		case s.Block < 1 || s.Block > ir.MaxElements:
			return bad("blocks of %d elements", s.Block)
		case s.Bits == 4 && s.Block%2 != 0:
			return bad("blocks of %d codes of 4 bits, expected an even number, which are whole bytes", s.Block)
		}
		s.Axis = 0
	default:
		return bad("there is no granularity %d", s.Per)
	}
	return s, nil
}

// codes returns the dtype, the code of 0 (of symmetric codes) and the limits of codes.
func (s Scheme) codes() (d DType, zero, low, high int) {
	switch {
	case s.Affine:
		return U8, 0, 0, 1<<s.Bits - 1
	case s.Bits == 4:
		return U8, 8, 1, 15
	}
	return I8, 0, -127, 127
}

// String writes the scheme as [ParseScheme] reads it: "4 bits affine, per block of
// 32, scales f16".
func (s Scheme) String() string {
	kind, per := "symmetric", "per tensor"
	if s.Affine {
		kind = "affine"
	}
	switch s.Per {
	case PerAxis:
		per = fmt.Sprintf("per axis %d", s.Axis)
	case PerBlock:
		per = fmt.Sprintf("per block of %d", s.Block)
	}
	bits, scale := s.Bits, s.Scale
	if bits == 0 {
		bits = 8
	}
	if scale == ir.Invalid {
		scale = F32
	}
	return fmt.Sprintf("%d bits %s, %s, scales %s", bits, kind, per, scale)
}

// ParseScheme reads a scheme that [Scheme.String] wrote.
func ParseScheme(text string) (Scheme, error) {
	bad := func() (Scheme, error) {
		return Scheme{}, ir.Errorf(ir.ErrArgument, `the scheme %.100q, expected one like "4 bits affine, per block of 32, scales f16"`, text)
	}
	parts := strings.Split(text, ", ")
	if len(parts) != 3 {
		return bad()
	}
	var s Scheme
	number := func(text string) (n int, ok bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && strconv.Itoa(n) == text
	}
	bits, kind, _ := strings.Cut(parts[0], " bits ")
	var ok bool
	if s.Bits, ok = number(bits); !ok || s.Bits != 8 && s.Bits != 4 || kind != "symmetric" && kind != "affine" {
		return bad()
	}
	s.Affine = kind == "affine"
	if axis, is := strings.CutPrefix(parts[1], "per axis "); is {
		s.Per = PerAxis
		s.Axis, ok = number(axis)
	} else if block, is := strings.CutPrefix(parts[1], "per block of "); is {
		s.Per = PerBlock
		s.Block, ok = number(block)
	} else {
		ok = parts[1] == "per tensor"
	}
	scale, is := strings.CutPrefix(parts[2], "scales ")
	d, err := ir.ParseDType(scale)
	if !ok || !is || err != nil {
		return bad()
	}
	s.Scale = d
	return s, nil
}

// QuantizedType describes a quantized tensor: the dtype and shape of the floats,
// and how they are written.
type QuantizedType struct {
	DType  DType
	Shape  []int
	Scheme Scheme
}

// check returns the type with the defaults of its scheme filled in.
func (t QuantizedType) check() (QuantizedType, error) {
	if err := (ir.Type{DType: t.DType, Shape: t.Shape}).Check(); err != nil {
		return t, err
	}
	if !t.DType.IsFloat() {
		return t, ir.Errorf(ir.ErrDType, "elements of %s, expected floats", t.DType)
	}
	s, err := t.Scheme.normal(len(t.Shape))
	t.Scheme, t.Shape = s, slices.Clone(t.Shape)
	if err != nil {
		return t, err
	}
	if padded := t.padded(); len(t.Shape) > 0 && padded > t.Shape[len(t.Shape)-1] {
		wide := slices.Clone(t.Shape)
		wide[len(wide)-1] = padded
		err = (ir.Type{DType: t.DType, Shape: wide}).Check()
	}
	return t, err
}

// padded is the extent of the last axis in codes: of whole blocks and bytes.
func (t QuantizedType) padded() int {
	if len(t.Shape) == 0 {
		return 1
	}
	k, unit := t.Shape[len(t.Shape)-1], 8/t.Scheme.Bits
	if t.Scheme.Per == PerBlock {
		unit = t.Scheme.Block
	}
	return (k + unit - 1) / unit * unit
}

// run is the number of codes whose halves share bytes, if they are of 4 bits.
func (t QuantizedType) run() int {
	if t.Scheme.Per == PerBlock {
		return t.Scheme.Block
	}
	return max(t.padded(), 2) // 2, where there are none: no axis is divided by 0
}

// lead are the extents before the last axis.
func (t QuantizedType) lead() []int { return t.Shape[:max(len(t.Shape)-1, 0):max(len(t.Shape)-1, 0)] }

// CodesShape returns the shape of the codes: that of the tensor, but for the last
// axis, which holds whole blocks, and two codes of 4 bits in a byte: byte j of a block
// of n, or of a row that is no blocks, has code j in its low bits and code j + n/2 in
// its high ones. Codes are i8 if they are symmetric and of 8 bits, else u8.
func (t QuantizedType) CodesShape() []int {
	if len(t.Shape) == 0 {
		return nil
	}
	return append(t.lead(), t.padded()*t.Scheme.Bits/8)
}

// ScalesShape returns the shape of the scales and, of an affine scheme, the zero
// points, which are u8: none, 1 but for the axis of [PerAxis], or that of the tensor
// with a number of blocks as the last axis.
func (t QuantizedType) ScalesShape() []int {
	switch t.Scheme.Per {
	case PerAxis:
		s := make([]int, len(t.Shape))
		for i := range s {
			s[i] = 1
		}
		s[t.Scheme.Axis] = t.Shape[t.Scheme.Axis]
		return s
	case PerBlock:
		return append(t.lead(), t.padded()/t.Scheme.Block)
	}
	return nil
}

// String writes the type as [ParseQuantizedType] reads it: "f32[64,256] in 4 bits
// affine, per block of 32, scales f16".
func (t QuantizedType) String() string {
	return ir.Type{DType: t.DType, Shape: t.Shape}.String() + " in " + t.Scheme.String()
}

// ParseQuantizedType reads a type that [QuantizedType.String] wrote, and checks it.
func ParseQuantizedType(text string) (QuantizedType, error) {
	plain, scheme, ok := strings.Cut(text, " in ")
	dtype, dims, open := strings.Cut(plain, "[")
	dims, closed := strings.CutSuffix(dims, "]")
	if !ok || !open || !closed {
		return QuantizedType{}, ir.Errorf(ir.ErrArgument, `the type %.100q, expected one like "f32[64,256] in 8 bits symmetric, per tensor, scales f32"`, text)
	}
	var t QuantizedType
	var err error
	if t.DType, err = ir.ParseDType(dtype); err != nil {
		return t, ir.Errorf(ir.ErrDType, "the type %.100q: %v", text, err)
	}
	if dims != "" {
		for _, d := range strings.Split(dims, ",") {
			n, err := strconv.Atoi(d)
			if err != nil || strconv.Itoa(n) != d || len(t.Shape) == ir.MaxRank {
				return t, ir.Errorf(ir.ErrShape, "the type %.100q: extents, expected up to %d numbers with commas between", text, ir.MaxRank)
			}
			t.Shape = append(t.Shape, n)
		}
	}
	if t.Scheme, err = ParseScheme(scheme); err != nil {
		return t, err
	}
	return t.check()
}
