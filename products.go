package sinter

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Outer multiplies every element of t with every element of z, both flat: a
// matrix.
func (t *Tensor) Outer(z *Tensor) *Tensor { return t.Flatten().Unsqueeze(1).Mul(z.Flatten()) }

// Inner sums products over the last axes of t and z; the result has the other
// axes of t, then those of z. A scalar multiplies.
func (t *Tensor) Inner(z *Tensor) *Tensor {
	if t.failure() == nil && z.failure() == nil && (t.Rank() == 0 || z.Rank() == 0) {
		return t.Mul(z)
	}
	return t.tensordot("inner", z, []int{-1}, []int{-1})
}

// Dot is numpy's: the sum of products over the last axis of t and the last but
// one of z, or the only one of a vector; the result has the other axes of t, then
// those of z. A scalar multiplies. For batches use [Tensor.MatMul].
func (t *Tensor) Dot(z *Tensor) *Tensor {
	if t.failure() == nil && z.failure() == nil && (t.Rank() == 0 || z.Rank() == 0) {
		return t.Mul(z)
	}
	return t.tensordot("dot", z, []int{-1}, []int{max(z.Rank()-2, 0)})
}

// VDot sums the products of the elements of t and z, both flat.
func (t *Tensor) VDot(z *Tensor) *Tensor { return t.Flatten().MatMul(z.Flatten()) }

// TensorDot sums products over axes of t and z that belong together; the result
// has the other axes of t, then those of z.
func (t *Tensor) TensorDot(z *Tensor, axes, axesZ []int) *Tensor {
	return t.tensordot("tensordot", z, axes, axesZ)
}

func (t *Tensor) tensordot(op string, z *Tensor, axes, axesZ []int) *Tensor {
	for _, x := range []*Tensor{t, z} {
		if err := x.failure(); err != nil {
			return errored(err)
		}
	}
	both := []*Tensor{t, z}
	if len(axes) != len(axesZ) {
		return raised(op, ir.Errorf(ir.ErrArgument, "%d axes of x for %d of z", len(axes), len(axesZ)), both)
	}
	e := &einsum{extents: map[label]int{}}
	name := func(x *Tensor, first label) labelled {
		o := labelled{t: x}
		for i, d := range x.shape() {
			l := first + label(i)
			o.labels, e.extents[l] = append(o.labels, l), d
		}
		return o
	}
	x, y := name(t, 1), name(z, ir.MaxRank+1)
	for i := range axes {
		a, err := ir.Axis(axes[i], t.Rank())
		if err != nil {
			return raised(op, err, both)
		}
		b, err := ir.Axis(axesZ[i], z.Rank())
		if err != nil {
			return raised(op, err, both)
		}
		switch {
		case slices.Contains(x.labels, y.labels[b]) || slices.Contains(y.labels, x.labels[a]):
			return raised(op, ir.Errorf(ir.ErrArgument, "axis %d of x or %d of z is named twice", a, b), both)
		case t.shape()[a] != z.shape()[b]:
			return raised(op, ir.Errorf(ir.ErrShape, "axis %d of x has extent %d, axis %d of z has %d", a, t.shape()[a], b, z.shape()[b]), both)
		}
		y.labels[b] = x.labels[a]
	}
	var keep []label
	for _, l := range slices.Concat(x.labels, y.labels) {
		if !slices.Contains(x.labels, l) || !slices.Contains(y.labels, l) {
			keep = append(keep, l)
		}
	}
	return e.paired(x, y, keep).t
}

// Kron is the Kronecker product: each element of t times all of z. Where they
// differ in rank the lower one gets axes in front.
func (t *Tensor) Kron(z *Tensor) *Tensor {
	for _, x := range []*Tensor{t, z} {
		if err := x.failure(); err != nil {
			return errored(err)
		}
	}
	rank := max(t.Rank(), z.Rank())
	if 2*rank > ir.MaxRank {
		return raised("kron", ir.Errorf(ir.ErrShape, "operands of %d axes, expected at most %d", rank, ir.MaxRank/2), []*Tensor{t, z})
	}
	x, y, shape := make([]int, 0, 2*rank), make([]int, 0, 2*rank), make([]int, rank)
	for i := 0; i < rank; i++ {
		a, b := 1, 1
		if j := i - rank + t.Rank(); j >= 0 {
			a = t.shape()[j]
		}
		if j := i - rank + z.Rank(); j >= 0 {
			b = z.shape()[j]
		}
		x, y = append(x, a, 1), append(y, 1, b)
		if shape[i] = a * b; a != 0 && shape[i]/a != b {
			return raised("kron", ir.Errorf(ir.ErrShape, "%d · %d elements along axis %d are too many", a, b, i), []*Tensor{t, z})
		}
	}
	return t.Reshape(x...).Mul(z.Reshape(y...)).Reshape(shape...)
}

// Trace sums the diagonal that lies offset above the main one of two axes.
// Integers give 64 bits, as sums do.
func (t *Tensor) Trace(offset, axis1, axis2 int) *Tensor {
	return t.Diagonal(offset, axis1, axis2).Sum(Over(-1))
}

// Cross is the vector product along an axis of extent 3, counted from the end of
// both operands' axes; other axes broadcast.
func (t *Tensor) Cross(z *Tensor, axis int) *Tensor {
	both := []*Tensor{t, z}
	for _, x := range both {
		if err := x.failure(); err != nil {
			return errored(err)
		}
	}
	rank := max(t.Rank(), z.Rank())
	a, err := ir.Axis(axis, rank)
	if err != nil {
		return raised("cross", err, both)
	}
	back := a - rank
	for _, x := range both {
		if x.Rank()+back < 0 || x.shape()[x.Rank()+back] != 3 {
			return raised("cross", ir.Errorf(ir.ErrShape, "axis %d from the end has extent 3 in both operands, got %v and %v", -back, t.shape(), z.shape()), both)
		}
	}
	return t.Roll(back, -1).Mul(z.Roll(back, -2)).Sub(t.Roll(back, -2).Mul(z.Roll(back, -1)))
}

// MatrixPower multiplies square matrices, the last two axes, n times: by repeated
// squaring; n = 0 gives the identity, a negative n the power of the inverse.
func (t *Tensor) MatrixPower(n int) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	s := t.shape()
	if len(s) < 2 || s[len(s)-1] != s[len(s)-2] {
		return t.argument("matrix_power", "%v, expected square matrices in the last two axes", s)
	}
	if t.typ().DType == Bool {
		return t.raise("matrix_power", ir.Errorf(ir.ErrDType, "the elements are bool, expected numbers"))
	}
	x, k := t, uint(n)
	if n < 0 {
		x, k = t.Inverse(), -k
	}
	if k == 0 {
		size := s[len(s)-1]
		eye := t.iota(I64, size, 1).Eq(t.iota(I64, size)).Cast(t.typ().DType)
		return eye.Expand(s...)
	}
	var y *Tensor
	for ; ; x = x.MatMul(x) {
		if k&1 == 1 && y == nil {
			y = x
		} else if k&1 == 1 {
			y = y.MatMul(x)
		}
		if k >>= 1; k == 0 {
			return y
		}
	}
}

// MatMulChain multiplies matrices, the last two axes of its operands, in the
// order that takes the fewest multiplications; batches broadcast.
func MatMulChain(ts ...*Tensor) *Tensor {
	for _, t := range ts {
		if err := t.failure(); err != nil {
			return errored(err)
		}
		if t.Rank() < 2 {
			return raised("matmul_chain", ir.Errorf(ir.ErrShape, "an operand has shape %v, expected at least the two axes of a matrix", t.shape()), ts)
		}
	}
	n := len(ts)
	if n == 0 {
		return raised("matmul_chain", ir.Errorf(ir.ErrArgument, "there is nothing to multiply"), nil)
	}
	sides := []float64{float64(ts[0].Dim(-2))}
	for _, t := range ts {
		sides = append(sides, float64(t.Dim(-1)))
	}
	cost, cut := make([][]float64, n), make([][]int, n)
	for i := n - 1; i >= 0; i-- {
		cost[i], cut[i] = make([]float64, n), make([]int, n)
		for j := i + 1; j < n; j++ {
			for k := i; k < j; k++ {
				c := cost[i][k] + cost[k+1][j] + sides[i]*sides[k+1]*sides[j+1]
				if k == i || c < cost[i][j] {
					cost[i][j], cut[i][j] = c, k
				}
			}
		}
	}
	var multiply func(i, j int) *Tensor
	multiply = func(i, j int) *Tensor {
		if i == j {
			return ts[i]
		}
		return multiply(i, cut[i][j]).MatMul(multiply(cut[i][j]+1, j))
	}
	return multiply(0, n-1)
}
