package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Methods of elementwise rows that take attributes or more than two operands.
// Bounds, ends and weights are tensors of the same dtype, broadcast, or Go constants.

// The rows of these methods.
var (
	rowClamp      = row("clamp")
	rowLerp       = row("lerp")
	rowFma        = row("fma")
	rowNanToNum   = row("nan_to_num", "replace", "high", "low")
	rowIsClose    = row("is_close", "rtol", "atol", "equalnan")
	rowSoftplus   = row("softplus", "beta")
	rowElu        = row("elu", "alpha")
	rowCelu       = row("celu", "alpha")
	rowLeakyRelu  = row("leaky_relu", "slope")
	rowThreshold  = row("threshold", "threshold", "value")
	rowHardShrink = row("hard_shrink", "bound")
	rowSoftShrink = row("soft_shrink", "bound")
)

func (t *Tensor) ternary(b *builtin, x, z any) *Tensor {
	return b.bare.ternary(t, t.scalar(x), t.scalar(z))
}

// Clamp moves elements below lo up to it, then those above hi down to it: where the
// bounds cross, hi is the result. NaN stays NaN.
func (t *Tensor) Clamp(lo, hi any) *Tensor { return t.ternary(rowClamp, lo, hi) }

// Lerp is t + weight·(end - t): exactly t and end where weight is 0 and 1.
func (t *Tensor) Lerp(end, weight any) *Tensor { return t.ternary(rowLerp, end, weight) }

// MulAdd is t·factor + term, rounded once.
func (t *Tensor) MulAdd(factor, term any) *Tensor { return t.ternary(rowFma, factor, term) }

// NaNToNum replaces NaN, infinity and minus infinity: by the values given, in this
// order, or by 0, the greatest and the least finite number of the dtype.
func (t *Tensor) NaNToNum(values ...float64) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	top := math.MaxFloat64
	switch t.typ().DType {
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
	return rowNanToNum.with(floatAttr(v[0]), floatAttr(v[1]), floatAttr(v[2])).unary(t)
}

// IsClose tells which elements equal those of other, or differ from them by at
// most atol + rtol·|other|. NaN is close to nothing.
func (t *Tensor) IsClose(other any, rtol, atol float64) *Tensor {
	return rowIsClose.with(floatAttr(rtol), floatAttr(atol), intAttr(0)).binary(t, t.scalar(other))
}

// AllClose tells whether all elements are close to those of other.
func (t *Tensor) AllClose(other any, rtol, atol float64) *Tensor {
	return t.IsClose(other, rtol, atol).All()
}

// AllEqual tells whether all elements equal those of other; NaN does not.
func (t *Tensor) AllEqual(other any) *Tensor { return t.Eq(other).All() }

// Softplus is log(1 + e^(beta·t))/beta, without overflow.
func (t *Tensor) Softplus(beta float64) *Tensor { return rowSoftplus.with(floatAttr(beta)).unary(t) }

// Elu is t where that is above 0, else alpha·(e^t - 1).
func (t *Tensor) Elu(alpha float64) *Tensor { return rowElu.with(floatAttr(alpha)).unary(t) }

// Celu is t where that is above 0, else alpha·(e^(t/alpha) - 1).
func (t *Tensor) Celu(alpha float64) *Tensor { return rowCelu.with(floatAttr(alpha)).unary(t) }

// LeakyRelu is t where that is above 0, else slope·t.
func (t *Tensor) LeakyRelu(slope float64) *Tensor {
	return rowLeakyRelu.with(floatAttr(slope)).unary(t)
}

// Threshold is t where that is above threshold, else value; NaN stays NaN.
func (t *Tensor) Threshold(threshold, value float64) *Tensor {
	return rowThreshold.with(floatAttr(threshold), floatAttr(value)).unary(t)
}

// HardShrink is t where its magnitude is above bound, else 0.
func (t *Tensor) HardShrink(bound float64) *Tensor {
	return rowHardShrink.with(floatAttr(bound)).unary(t)
}

// SoftShrink moves elements towards 0 by bound, those within it to 0.
func (t *Tensor) SoftShrink(bound float64) *Tensor {
	return rowSoftShrink.with(floatAttr(bound)).unary(t)
}
