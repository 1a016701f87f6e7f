package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Methods of elementwise rows that take attributes or more than two operands.
// Bounds, ends and weights are tensors of the same dtype, broadcast, or Go constants.

func (t *Tensor) ternary(row string, a, b any) *Tensor {
	return apply1(row, []*Tensor{t, t.operand(a), t.operand(b)})
}

// Clamp moves elements below lo up to it, then those above hi down to it: where the
// bounds cross, hi is the result. NaN stays NaN.
func (t *Tensor) Clamp(lo, hi any) *Tensor { return t.ternary("clamp", lo, hi) }

// Lerp is t + weight·(end - t): exactly t and end where weight is 0 and 1.
func (t *Tensor) Lerp(end, weight any) *Tensor { return t.ternary("lerp", end, weight) }

// MulAdd is t·factor + term, rounded once.
func (t *Tensor) MulAdd(factor, term any) *Tensor { return t.ternary("fma", factor, term) }

// NaNToNum replaces NaN, infinity and minus infinity: by the values given, in this
// order, or by 0, the greatest and the least finite number of the dtype.
func (t *Tensor) NaNToNum(values ...float64) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	top := math.MaxFloat64
	switch t.typ.DType {
	case F32:
		top = math.MaxFloat32
	case F16:
		top = 65504
	case BF16:
		top = 0x1.fep127
	}
	v := []float64{0, top, -top}
	if len(values) > 3 {
		return t.raise("nan_to_num", ir.Errorf(ir.ErrArgument, "%d values, at most 3 are replaced", len(values)))
	}
	copy(v, values)
	return apply1("nan_to_num", []*Tensor{t}, ir.A("replace", v[0], "high", v[1], "low", v[2])...)
}

// IsClose tells which elements equal those of other, or differ from them by at
// most atol + rtol·|other|. NaN is close to nothing.
func (t *Tensor) IsClose(other any, rtol, atol float64) *Tensor {
	return apply1("is_close", []*Tensor{t, t.operand(other)}, ir.A("rtol", rtol, "atol", atol)...)
}

// AllClose tells whether all elements are close to those of other.
func (t *Tensor) AllClose(other any, rtol, atol float64) *Tensor {
	return t.IsClose(other, rtol, atol).All()
}

// AllEqual tells whether all elements equal those of other; NaN does not.
func (t *Tensor) AllEqual(other any) *Tensor { return t.Eq(other).All() }

func (t *Tensor) with(row string, attrs ...any) *Tensor {
	return apply1(row, []*Tensor{t}, ir.A(attrs...)...)
}

// Softplus is log(1 + e^(beta·t))/beta, without overflow.
func (t *Tensor) Softplus(beta float64) *Tensor { return t.with("softplus", "beta", beta) }

// Elu is t where that is above 0, else alpha·(e^t - 1).
func (t *Tensor) Elu(alpha float64) *Tensor { return t.with("elu", "alpha", alpha) }

// Celu is t where that is above 0, else alpha·(e^(t/alpha) - 1).
func (t *Tensor) Celu(alpha float64) *Tensor { return t.with("celu", "alpha", alpha) }

// LeakyRelu is t where that is above 0, else slope·t.
func (t *Tensor) LeakyRelu(slope float64) *Tensor { return t.with("leaky_relu", "slope", slope) }

// Threshold is t where that is above threshold, else value; NaN stays NaN.
func (t *Tensor) Threshold(threshold, value float64) *Tensor {
	return t.with("threshold", "threshold", threshold, "value", value)
}

// HardShrink is t where its magnitude is above bound, else 0.
func (t *Tensor) HardShrink(bound float64) *Tensor { return t.with("hard_shrink", "bound", bound) }

// SoftShrink moves elements towards 0 by bound, those within it to 0.
func (t *Tensor) SoftShrink(bound float64) *Tensor { return t.with("soft_shrink", "bound", bound) }
