package sinter

import "github.com/sinter-go/sinter/ir"

// PadMode says what lies beyond the ends of an axis.
type PadMode int

// The modes of [Tensor.PadWith], for an axis of a, b, c, d.
const (
	PadReflect   PadMode = iota // d c b | a b c d | c b a: the ends are mirrors
	PadSymmetric                // c b a | a b c d | d c b: mirrors beyond the ends
	PadEdge                     // a a a | a b c d | d d d: the ends repeat
	PadWrap                     // b c d | a b c d | a b c: the axis repeats
)

// Pad puts a constant before and after the elements: pads[i] says how many of
// them, on the last len(pads) axes. A negative number takes elements away.
func (t *Tensor) Pad(value any, pads ...[2]int) *Tensor {
	shape, off, err := t.padded(pads)
	if err != nil {
		return t.raise("pad", err)
	}
	s := t.shape()
	from, to := make([]Range, len(s)), make([]Range, len(s))
	for i, d := range s {
		from[i], to[i] = All(), All()
		if i < off {
			continue
		}
		before := pads[i-off][0]
		start, stop := max(-before, 0), min(d, shape[i]-before) // of what stays
		start = min(start, max(stop, 0))
		stop = max(stop, start)
		from[i], to[i] = Span(start, stop), Span(start+before, stop+before)
		if start == stop {
			to[i] = Span(0, 0)
		}
	}
	return t.constant(value, shape).SetSlice(to, t.Slice(from...))
}

// PadWith puts elements of the axis itself before and after its elements, as the
// mode says: pads[i] of them, on the last len(pads) axes. A mode goes on for as
// long as the pads are. A negative number takes elements away.
func (t *Tensor) PadWith(mode PadMode, pads ...[2]int) *Tensor {
	shape, off, err := t.padded(pads)
	if err != nil {
		return t.raise("pad", err)
	}
	if mode < PadReflect || mode > PadWrap {
		return t.raise("pad", ir.Errorf(ir.ErrArgument, "there is no padding mode %d", mode))
	}
	y := t
	for i, p := range pads {
		n := t.shape()[off+i]
		switch {
		case p == [2]int{}:
			continue
		case n == 0 && shape[off+i] > 0:
			return t.argument("pad", "axis %d of %v has no elements to pad with", off+i, t.shape())
		case n == 0:
			continue
		}
		at := t.iota(I64, shape[off+i]).Sub(p[0])
		switch mode {
		case PadEdge:
			at = at.Maximum(0).Minimum(n - 1)
		case PadWrap:
			at = at.Mod(n)
		case PadSymmetric:
			at = at.Mod(2 * n)
			at = at.Minimum(at.Neg().Add(2*n - 1))
		default:
			period := max(2*(n-1), 1) // of one element there is but that
			at = at.Mod(period)
			at = at.Minimum(at.Neg().Add(period))
		}
		y = y.Gather(off+i, at)
	}
	return y
}

// padded returns the shape after padding, and the first axis that is padded.
func (t *Tensor) padded(pads [][2]int) (shape ir.Shape, off int, err error) {
	s := t.shape()
	off = len(s) - len(pads)
	if off < 0 {
		return nil, 0, ir.Errorf(ir.ErrShape, "%d pads for shape %v, which has %d axes", len(pads), s, len(s))
	}
	shape = append(ir.Shape{}, s...)
	for i, p := range pads {
		n := &shape[off+i]
		if p[0] > ir.MaxElements || p[1] > ir.MaxElements || p[0] < -ir.MaxElements || p[1] < -ir.MaxElements {
			return nil, 0, ir.Errorf(ir.ErrShape, "pads %v of axis %d are too large", p, off+i)
		}
		if *n += p[0] + p[1]; *n < 0 {
			return nil, 0, ir.Errorf(ir.ErrShape, "pads %v take more from axis %d of %v than it has", p, off+i, s)
		}
	}
	return shape, off, shape.Check()
}
