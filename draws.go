package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Integers draws from the integers of [low, high), each with the same probability
// but for a part of (high-low)·2^-64 of it.
func (g *Generator) Integers(o Of, d DType, low, high int64, shape ...int) *Tensor {
	return g.draw("random_int", o, d, shape, "low", low, "high", high)
}

// Bernoulli draws true with probability p, which is rounded to a multiple of 2^-53.
func (g *Generator) Bernoulli(o Of, p float64, shape ...int) *Tensor {
	if !(p >= 0 && p <= 1) {
		return createError("bernoulli", ir.Errorf(ir.ErrArgument, "the probability is %v, expected 0 to 1", p))
	}
	return g.draw("bernoulli", o, Bool, shape, "threshold", int64(math.RoundToEven(math.Ldexp(p, 53))))
}

// Exponential draws from the exponential distribution of mean 1 in f32 or f64.
func (g *Generator) Exponential(o Of, d DType, shape ...int) *Tensor {
	return g.draw("exponential", o, d, shape)
}

// Gumbel draws from the standard Gumbel distribution in f32 or f64.
func (g *Generator) Gumbel(o Of, d DType, shape ...int) *Tensor {
	return g.draw("gumbel", o, d, shape)
}

// leastMass is the least probability of an interval of which TruncatedNormal
// draws: below it too few of the 2^53 uniform draws differ.
const leastMass = 1e-6

// TruncatedNormal draws from the standard normal distribution between low and
// high in f32 or f64, by the inverse of its distribution function in f64. An
// interval of a probability below 1e-6 is an error.
func (g *Generator) TruncatedNormal(o Of, d DType, low, high float64, shape ...int) *Tensor {
	fail := func(format string, args ...any) *Tensor {
		return createError("truncated_normal", ir.Errorf(ir.ErrArgument, format, args...))
	}
	if d != F32 && d != F64 {
		return createError("truncated_normal", ir.Errorf(ir.ErrDType, "random draws are f32 or f64, got %s: draw in f32 and cast", d))
	}
	if !(low < high) {
		return fail("there is nothing between %v and %v", low, high)
	}
	a, b, sign := low, high, 1.0
	if a > 0 { // where probabilities are small numbers, not ones near 1
		a, b, sign = -high, -low, -1
	}
	from, to := math.Erfc(-a/math.Sqrt2), math.Erfc(-b/math.Sqrt2) // twice the probability below
	if to-from < 2*leastMass {
		return fail("the interval from %v to %v has probability %.3g, expected at least %g", low, high, (to-from)/2, leastMass)
	}
	u := g.Uniform(o, F64, shape...).Mul(to - from).Add(from)
	y := u.Sub(1).Erfinv().Mul(math.Sqrt2 * sign)
	return y.Clamp(low, high).Cast(d)
}

// Permutation draws an order of 0 to n-1, as i64: that of uniform draws in f64.
func (g *Generator) Permutation(o Of, n int) *Tensor {
	if n < 0 {
		return createError("permutation", ir.Errorf(ir.ErrArgument, "%d elements, expected at least 0", n))
	}
	return g.Uniform(o, F64, n).ArgSort(0, false)
}

// Shuffle puts the slices of t along an axis in a random order.
func (g *Generator) Shuffle(t *Tensor, axis int) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	a, err := ir.Axis(axis, t.Rank())
	if err != nil {
		return t.raise("shuffle", err)
	}
	return t.Gather(a, g.like(t, F64, t.shape()[a]).ArgSort(0, false))
}

// like draws uniform numbers where t is, and in its scope.
func (g *Generator) like(t *Tensor, d DType, shape ...int) *Tensor {
	return t.owned(g.Uniform(Of{t.home()}, d, shape...))
}

// owned makes a tensor that was drawn for t a member of its scope.
func (t *Tensor) owned(c *Tensor) *Tensor {
	if t.scope == nil || c.err != nil {
		return c
	}
	c.scope = t.scope
	if err := t.scope.own(c.v); err != nil {
		return errored(err)
	}
	return c
}

// Choice draws k of 0 to n-1, as i64: each draw from all of them, or, without
// replacement, no number twice.
func (g *Generator) Choice(o Of, n, k int, replace bool) *Tensor {
	switch {
	case n < 0 || k < 0 || !replace && k > n || k > 0 && n == 0:
		return createError("choice", ir.Errorf(ir.ErrArgument, "there is no choice of %d out of %d", k, n))
	case replace:
		return g.Integers(o, I64, 0, max(int64(n), 1), k)
	}
	return g.Permutation(o, n).Slice(Until(k))
}

// Multinomial draws k i64 indices along the last axis of weights, each with the
// probability of its share of the sum of its row: with replacement, or, by
// Gumbel's trick, no index twice. Weights are floats that are not negative, and
// some are positive; without replacement at least k of them, or indices of weight
// 0 follow. This is not checked.
func (g *Generator) Multinomial(weights *Tensor, k int, replace bool) *Tensor {
	t := weights
	if err := t.failure(); err != nil {
		return errored(err)
	}
	s := t.shape()
	switch {
	case !t.typ().DType.IsFloat():
		return t.raise("multinomial", ir.Errorf(ir.ErrDType, "the weights are %s, expected floats", t.typ().DType))
	case len(s) == 0:
		return t.argument("multinomial", "the weights are a scalar, expected a last axis")
	case k < 0 || k > 0 && s[len(s)-1] == 0 || !replace && k > s[len(s)-1]:
		return t.argument("multinomial", "there are no %d draws of weights %v", k, s)
	}
	last := len(s) - 1
	w := t.Detach().Cast(F64)
	if !replace {
		noise := t.owned(g.Gumbel(Of{t.home()}, F64, s...))
		_, index := w.Log().Add(noise).TopK(k, -1, true)
		return index
	}
	shape := s.Clone()
	shape[last] = k
	if k == 0 || s[last] == 0 || shape.Size() == 0 {
		return t.iota(I64, shape...)
	}
	sums := w.CumSum(-1)
	total := sums.Slice(along(last, From(-1))...)
	index := sums.SearchSorted(g.like(t, F64, shape...).Mul(total), true)
	return index.Minimum(s[last] - 1)
}

// Dropout sets each element to 0 with probability p and divides the others by
// 1-p, so that the mean stays. With p = 0 it returns t.
func (g *Generator) Dropout(t *Tensor, p float64) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	switch {
	case !(p >= 0 && p <= 1):
		return t.raise("dropout", ir.Errorf(ir.ErrArgument, "the probability is %v, expected 0 to 1", p))
	case !t.typ().DType.IsFloat():
		return t.raise("dropout", ir.Errorf(ir.ErrDType, "the elements are %s, expected floats", t.typ().DType))
	case p == 0:
		return t
	case p == 1:
		return Where(t.iota(I64, t.shape()...).Lt(0), t, 0)
	}
	keep := t.owned(g.Bernoulli(Of{t.home()}, 1-p, t.shape()...))
	return Where(keep, t.Mul(1/(1-p)), 0)
}
