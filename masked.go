package sinter

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// mask expands a mask to the shape of t, which it may not widen.
func (t *Tensor) mask(op string, m *Tensor) *Tensor {
	if m.failure() == nil && m.typ().DType != Bool {
		return t.raise(op, ir.Errorf(ir.ErrDType, "the mask is %s, expected bool", m.typ().DType))
	}
	if t.failure() == nil && m.failure() == nil && !m.shape().Equal(t.shape()) {
		return m.Expand(t.shape()...)
	}
	return m
}

// MaskedFill puts a value, a Go constant or a tensor that broadcasts, where the
// bool tensor mask, which broadcasts to t, is true.
func (t *Tensor) MaskedFill(mask *Tensor, value any) *Tensor {
	return Where(t.mask("masked_fill", mask), t.operand(value), t)
}

// MaskedSelectMax returns the elements where mask, which broadcasts to t, is
// true, in row-major order, padded with 0 to max, and how many they are, even
// beyond max. Its shapes do not depend on data, so it neither waits nor cuts a
// segment.
func (t *Tensor) MaskedSelectMax(mask *Tensor, max int) (values, count *Tensor) {
	flat := t.mask("masked_select", mask).Flatten()
	coords, count := flat.NonZeroMax(max)
	if t.Size() == 0 {
		if max < 0 { // coords says so
			return coords, count
		}
		return t.constant(t.zero(), []int{max}), count
	}
	at := coords.Reshape(-1)
	if max == 0 {
		at = coords.Reshape(0)
	}
	return Where(at.Ge(0), t.Flatten().Gather(0, at), t.zero()), count // -1, the padding, is an index too
}

// MaskedSelect returns the elements where mask, which broadcasts to t, is true,
// in row-major order. The shape depends on data, so it waits for the count.
func (t *Tensor) MaskedSelect(ctx context.Context, mask *Tensor) (*Tensor, error) {
	values, count := t.MaskedSelectMax(mask, t.Size())
	n, err := Item[int64](ctx, count)
	if err != nil {
		return nil, err
	}
	return values.Slice(Until(int(n))), nil
}

// MaskedScatter puts the elements of src, in row-major order, where mask, which
// broadcasts to t, is true. Fewer elements than places make the result an error
// when it is read.
func (t *Tensor) MaskedScatter(mask, src *Tensor) *Tensor {
	m := t.mask("masked_scatter", mask)
	if t.Size() == 0 {
		return t
	}
	at := m.Flatten().Cast(I64).CumSum(0).Sub(1)
	at = Where(m.Flatten(), at, 0)
	return Where(m, src.Flatten().Gather(0, at).Reshape(t.shape()...), t)
}
