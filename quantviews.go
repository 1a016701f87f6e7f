package sinter

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Slice takes a range of each of the first axes and all of the others, without
// decoding. Along the last axis that takes whole blocks in steps of 1, of 4 bits
// without blocks the whole axis; a tensor that this does not suit is dequantized
// first.
func (q *Quantized) Slice(ranges ...Range) *Quantized {
	if err := q.failure(); err != nil {
		return &Quantized{err: err}
	}
	raise := func(format string, args ...any) *Quantized {
		return quantizedError("slice", ir.Errorf(ir.ErrShape, format, args...), q.parts.Codes)
	}
	shape, s := q.typ.Shape, q.typ.Scheme
	if len(ranges) > len(shape) {
		return raise("%d ranges for %v", len(ranges), shape)
	}
	// What is taken of codes and scales, as ranges of whole axes.
	take := func(r Range, n int) (Range, int, error) {
		start, count, step, err := r.resolve(n)
		start = max(start, 0)
		stop := start + count*step
		if step < 0 && stop < 0 {
			return Range{Start: start, Step: step, open: 2}, count, err
		}
		return Range{Start: start, Stop: stop, Step: step}, count, err
	}
	typ := q.Type()
	codes, scales := make([]Range, len(shape)), make([]Range, len(typ.ScalesShape()))
	for i, n := range shape {
		r := All()
		if i < len(ranges) {
			r = ranges[i]
		}
		r, count, err := take(r, n)
		if err != nil {
			return quantizedError("slice", err, q.parts.Codes)
		}
		typ.Shape[i] = count
		codes[i] = r
		if s.Per == PerAxis {
			scales[i] = All()
			if i == s.Axis {
				scales[i] = r
			}
		}
		if s.Per == PerBlock {
			scales[i] = r
		}
		unit := 1
		if s.Per == PerBlock || s.Bits == 4 {
			unit = q.typ.run()
		}
		if i < len(shape)-1 || unit == 1 {
			continue
		}
		start, stop := r.Start, r.Start+count
		if count == 0 {
			start, stop = 0, 0
		}
		if r.Step != 1 || start%unit != 0 || stop%unit != 0 && stop != n {
			return raise("%d elements from %d in steps of %d of the last axis of %s; expected whole blocks of %d, or dequantize it first", count, start, r.Step, q.typ, unit)
		}
		stop = (stop + unit - 1) / unit * unit
		codes[i] = Span(start*s.Bits/8, stop*s.Bits/8)
		if s.Per == PerBlock {
			scales[i] = Span(start/unit, stop/unit)
		}
	}
	parts := QuantizedParts{Codes: q.parts.Codes.Slice(codes...), Scales: q.parts.Scales.Slice(scales...)}
	if q.parts.Zeros != nil {
		parts.Zeros = q.parts.Zeros.Slice(scales...)
	}
	return NewQuantized(typ, parts)
}

// Permute reorders the axes, without decoding. Codes of 4 bits and blocks keep
// their last axis; to move it, dequantize the tensor first.
func (q *Quantized) Permute(axes ...int) *Quantized {
	if err := q.failure(); err != nil {
		return &Quantized{err: err}
	}
	n := len(q.typ.Shape)
	order := make([]int, len(axes))
	for i, a := range axes {
		x, err := ir.Axis(a, n)
		if err != nil {
			return quantizedError("permute", err, q.parts.Codes)
		}
		order[i] = x
	}
	s := q.typ.Scheme
	if fixed := s.Bits == 4 || s.Per == PerBlock; fixed && len(order) == n && n > 0 && order[n-1] != n-1 {
		return quantizedError("permute", ir.Errorf(ir.ErrShape, "axes %v of %s: the last axis stays, as codes lie along it; dequantize it first", axes, q.typ), q.parts.Codes)
	}
	typ := q.Type()
	move := func(t *Tensor) *Tensor {
		if t == nil || t.Rank() == 0 && n > 0 {
			return t
		}
		return t.Permute(order...)
	}
	parts := QuantizedParts{move(q.parts.Codes), move(q.parts.Scales), move(q.parts.Zeros)}
	if err := parts.Codes.failure(); err != nil { // axes that are no order
		return &Quantized{err: err}
	}
	for i, a := range order {
		typ.Shape[i] = q.typ.Shape[a]
	}
	typ.Scheme.Axis = max(slices.Index(order, s.Axis), 0)
	return NewQuantized(typ, parts)
}

// Transpose swaps the last two axes: see [Quantized.Permute].
func (q *Quantized) Transpose() *Quantized {
	if err := q.failure(); err != nil {
		return &Quantized{err: err}
	}
	n := len(q.typ.Shape)
	if n < 2 {
		return quantizedError("transpose", ir.Errorf(ir.ErrShape, "%v has no two axes to swap", q.typ.Shape), q.parts.Codes)
	}
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	axes[n-2], axes[n-1] = n-1, n-2
	return q.Permute(axes...)
}
