package sinter

import (
	"slices"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Quantized is a tensor of floats written as codes of a few bits with scales: a
// value, never changed once made. It holds ordinary tensors, its parts, and
// travels as one. What reads it through [Quantized.Dequantize] is fused with the
// decoding and reads the codes themselves. A Quantized may carry an error, as a
// tensor may, and results made from it carry it on.
type Quantized struct {
	typ   QuantizedType
	parts QuantizedParts
	err   *ir.Error
}

// QuantizedParts are the tensors of a quantized one: see
// [QuantizedType.CodesShape] and [QuantizedType.ScalesShape]. Zeros is nil if the
// scheme is symmetric.
type QuantizedParts struct{ Codes, Scales, Zeros *Tensor }

// The rows of quantization.
var (
	rowQuantize       = row("quantize", "dtype", "low", "high")
	rowDequantize     = row("dequantize", "dtype")
	rowSymmetricScale = row("symmetric_scale", "axes", "levels", "dtype")
	rowAffineScale    = row("affine_scale", "axes", "levels", "dtype")
	rowPackBits       = row("pack_bits", "bits")
	rowUnpackBits     = row("unpack_bits", "bits", "size")
	rowDotCodes       = row("dot_codes", "bits", "block")
)

// quantizedError makes a Quantized that carries an error, at the user's line.
func quantizedError(op string, err error, of ...*Tensor) *Quantized {
	e := *ir.AsError(err)
	if e.Op == "" {
		e.Op, e.Operands, e.Site = op, typesOf(of), callsite.Find()
	}
	return &Quantized{err: &e}
}

// Quantize writes floats as a scheme says. The scales are the least that let the
// codes reach every element, rounded to their dtype. Elements come back within half
// of their scale. Affine codes are within the whole of it, as zero points are rounded
// too, and with scales of bf16, which may not reach the ends, one and a half. A group with
// an element that is not finite comes back as NaN; elements at the end of the range
// of floats may come back infinite. The result has no gradient.
func (t *Tensor) Quantize(scheme Scheme) *Quantized {
	if err := t.failure(); err != nil {
		return &Quantized{err: err}
	}
	typ, err := QuantizedType{t.DType(), t.Shape(), scheme}.check()
	if err != nil {
		return quantizedError("quantize", err, t)
	}
	s, x := typ.Scheme, t.Detach()
	var made []*Tensor
	keep := func(y *Tensor) *Tensor {
		made = append(made, y)
		return y
	}
	var axes intList
	over := axes.of(nil)
	switch s.Per {
	case PerAxis:
		var others []int
		for i := range typ.Shape {
			if i != s.Axis {
				others = append(others, i)
			}
		}
		if over = axes.of(others); len(others) == 0 { // each element is a group, and no axes would mean all
			x = keep(x.Unsqueeze(1))
			over = axes.of([]int{1})
		}
	case PerBlock:
		x = keep(padLast(x, typ.padded()).Reshape(append(typ.lead(), typ.padded()/s.Block, s.Block)...))
		over = axes.of([]int{-1})
	}
	d, zero, low, high := s.codes()
	var scales, zeros *Tensor
	if s.Affine {
		var out [2]*Tensor
		rowAffineScale.with(over, intAttr(high), dtypeAttr(s.Scale)).on(nil, []*Tensor{x}, out[:])
		scales, zeros = keep(out[0]), keep(out[1])
	} else {
		scales = keep(rowSymmetricScale.with(over, intAttr(high-zero), dtypeAttr(s.Scale)).unary(x))
		zeros = x.codeOf(zero, d)
	}
	codes := keep(rowQuantize.with(dtypeAttr(d), intAttr(low), intAttr(high)).ternary(x, scales, zeros))
	if s.Per != PerBlock {
		codes = keep(codes.Reshape(typ.Shape...))
		if k := typ.padded(); len(typ.Shape) > 0 && k > typ.Shape[len(typ.Shape)-1] {
			codes = keep(padLast(codes, k))
		}
	} else {
		codes = keep(codes.Reshape(append(typ.lead(), typ.padded())...))
	}
	if s.Bits == 4 { // the halves of a block side by side, in pairs
		run := typ.run() / 2
		codes = keep(codes.Reshape(-1, 2, run))
		codes = keep(keep(codes.Permute(0, 2, 1)).Reshape(-1, 2))
		codes = keep(keep(rowPackBits.with(intAttr(4)).unary(codes)).Reshape(typ.CodesShape()...))
	}
	parts := QuantizedParts{Codes: codes, Scales: scales.Reshape(typ.ScalesShape()...)}
	if s.Affine {
		parts.Zeros = zeros.Reshape(typ.ScalesShape()...)
	}
	for _, y := range made {
		if y != codes {
			y.Release()
		}
	}
	return NewQuantized(typ, parts)
}

// codeOf makes a constant code, in the scope of t.
func (t *Tensor) codeOf(code int, d DType) *Tensor {
	return t.stream().constant(ir.Scalar{DType: d, Bits: uint64(code)})
}

// padLast puts zeros behind the last axis, up to an extent.
func padLast(t *Tensor, extent int) *Tensor {
	if n := t.Dim(-1); n < extent {
		return t.Pad(0, [2]int{0, extent - n})
	}
	return t
}

// untilLast takes the first elements of the last axis.
func untilLast(t *Tensor, extent int) *Tensor {
	ranges := make([]Range, t.Rank())
	for i := range ranges {
		ranges[i] = All()
	}
	ranges[len(ranges)-1] = Until(extent)
	return t.Slice(ranges...)
}

// NewQuantized makes a quantized tensor of its parts, such as a file holds, which
// it takes over. Shapes and dtypes that do not fit the type are errors.
func NewQuantized(typ QuantizedType, parts QuantizedParts) *Quantized {
	typ, err := typ.check()
	if err != nil {
		return quantizedError("quantized", err)
	}
	q := &Quantized{typ: typ, parts: parts}
	if err := q.failure(); err != nil {
		return &Quantized{err: err}
	}
	code, _, _, _ := typ.Scheme.codes()
	for _, p := range []struct {
		name  string
		t     *Tensor
		dtype DType
		shape ir.Shape
	}{
		{"codes", parts.Codes, code, typ.CodesShape()},
		{"scales", parts.Scales, typ.Scheme.Scale, typ.ScalesShape()},
		{"zero points", parts.Zeros, U8, typ.ScalesShape()},
	} {
		want := ir.Type{DType: p.dtype, Shape: p.shape}
		switch {
		case p.t == nil: // failure knows
		case !p.t.typ().Equal(want):
			return quantizedError("quantized", ir.Errorf(ir.ErrShape, "%s of type %s, expected %s for %s", p.name, p.t.typ(), want, typ), p.t)
		case p.t.Device() != parts.Codes.Device():
			return quantizedError("quantized", ir.Errorf(ir.ErrDevice, "%s on %s, the codes are on %s", p.name, p.t.Device(), parts.Codes.Device()), p.t)
		}
	}
	return q
}

// failure returns the error that the tensor is known to carry.
func (q *Quantized) failure() *ir.Error {
	if q == nil {
		return ir.Errorf(ir.ErrArgument, "the quantized tensor is nil")
	}
	if q.err != nil {
		return q.err
	}
	if q.typ.Scheme.Affine != (q.parts.Zeros != nil) {
		return ir.Errorf(ir.ErrArgument, "zero points are of affine schemes, all and only: %s", q.typ)
	}
	for _, t := range q.tensors() {
		if err := t.failure(); err != nil {
			return err
		}
	}
	return nil
}

// tensors are the parts that there are.
func (q *Quantized) tensors() []*Tensor {
	if q.parts.Zeros == nil {
		return []*Tensor{q.parts.Codes, q.parts.Scales}
	}
	return []*Tensor{q.parts.Codes, q.parts.Scales, q.parts.Zeros}
}

// Err returns the error that recording gave the tensor. Errors of running show
// when it, or what is made of it, is read.
func (q *Quantized) Err() error {
	if err := q.failure(); err != nil {
		return err
	}
	return nil
}

// Type describes the tensor.
func (q *Quantized) Type() QuantizedType {
	if q == nil {
		return QuantizedType{}
	}
	t := q.typ
	t.Shape = slices.Clone(t.Shape)
	return t
}

// Parts returns the tensors that it holds.
func (q *Quantized) Parts() QuantizedParts {
	if q == nil {
		return QuantizedParts{}
	}
	return q.parts
}

// Shape returns the extents of the floats; nil for one that carries an error.
func (q *Quantized) Shape() []int { return q.Type().Shape }

// DType returns the dtype of the floats.
func (q *Quantized) DType() DType { return q.Type().DType }

// Scheme returns how the floats are written.
func (q *Quantized) Scheme() Scheme { return q.Type().Scheme }

// Device returns the device that the parts live on, nil if it carries an error.
func (q *Quantized) Device() *Device { return q.Parts().Codes.Device() }

// Bytes returns the memory that the parts take.
func (q *Quantized) Bytes() int64 {
	n := int64(0)
	if q.Err() == nil {
		for _, t := range q.tensors() {
			n += t.typ().Bytes()
		}
	}
	return n
}

// String describes the tensor without reading it.
func (q *Quantized) String() string {
	if err := q.Err(); err != nil {
		return "error(" + err.Error() + ")"
	}
	return "quantized(" + q.typ.String() + ")"
}

// Release says that the program will not use the tensor again: see
// [Tensor.Release].
func (q *Quantized) Release() {
	if q != nil && q.err == nil {
		for _, t := range q.tensors() {
			t.Release()
		}
	}
}

// each makes a tensor of the same type whose parts are made by f.
func (q *Quantized) each(f func(*Tensor) *Tensor) *Quantized {
	if err := q.failure(); err != nil {
		return &Quantized{err: err}
	}
	out := &Quantized{typ: q.typ, parts: QuantizedParts{Codes: f(q.parts.Codes), Scales: f(q.parts.Scales)}}
	if q.parts.Zeros != nil {
		out.parts.Zeros = f(q.parts.Zeros)
	}
	if err := out.failure(); err != nil {
		return &Quantized{err: err}
	}
	return out
}

// To returns the tensor on another device, without waiting for it: see [Tensor.To].
func (q *Quantized) To(d *Device) *Quantized {
	return q.each(func(t *Tensor) *Tensor { return t.To(d) })
}

// In returns the tensor as a member of a scope: see [Scope.In].
func (q *Quantized) In(s *Scope) *Quantized { return q.each(s.In) }

// Keep moves the tensor to the scope around s, or out of scopes: see [Scope.Keep].
func (q *Quantized) Keep(s *Scope) *Quantized { return q.each(s.Keep) }

// Dequantize returns the floats: (code - zero point) · scale, rounded once.
func (q *Quantized) Dequantize() *Tensor { return q.DequantizeAs(q.DType()) }

// DequantizeAs is Dequantize to another float dtype.
func (q *Quantized) DequantizeAs(d DType) *Tensor {
	if err := q.failure(); err != nil {
		return errored(err)
	}
	var made []*Tensor
	keep := func(y *Tensor) *Tensor {
		if y.origin == nil { // else gradients may ask for it
			made = append(made, y)
		}
		return y
	}
	s, k := q.typ.Scheme, q.typ.padded()
	codes, scales, zeros := q.parts.Codes, q.parts.Scales, q.parts.Zeros
	if s.Bits == 4 {
		run := q.typ.run() / 2
		codes = keep(rowUnpackBits.with(intAttr(4), intAttr(2)).unary(keep(codes.Reshape(-1, run, 1))))
		codes = keep(keep(codes.Permute(0, 2, 1)).Reshape(append(q.typ.lead(), k)...))
		if s.Per != PerBlock {
			k = q.typ.Shape[len(q.typ.Shape)-1]
			codes = keep(untilLast(codes, k))
		}
	}
	if s.Per == PerBlock {
		blocks := append(q.typ.lead(), k/s.Block)
		codes, scales = keep(codes.Reshape(append(blocks, s.Block)...)), keep(scales.Reshape(append(blocks, 1)...))
		if zeros != nil {
			zeros = keep(zeros.Reshape(append(blocks, 1)...))
		}
	}
	if zeros == nil {
		dtype, zero, _, _ := s.codes()
		zeros = codes.codeOf(zero, dtype)
	}
	y := rowDequantize.with(dtypeAttr(d)).ternary(codes, scales, zeros)
	if s.Per == PerBlock {
		y = keep(y).Reshape(append(q.typ.lead(), k)...)
	}
	if n := len(q.typ.Shape); n > 0 && k > q.typ.Shape[n-1] {
		y = untilLast(keep(y), q.typ.Shape[n-1])
	}
	for _, m := range made {
		m.Release()
	}
	return y
}
