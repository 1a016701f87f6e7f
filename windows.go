package sinter

import "github.com/sinter-go/sinter/ir"

// Unfold makes windows along an axis: window i takes size elements from i·step
// on, dilation apart, along a new last axis. It is a view: windows that overlap
// share memory.
func (t *Tensor) Unfold(axis, size, step, dilation int) *Tensor {
	return apply1("unfold", []*Tensor{t}, ir.A("axis", axis, "size", size, "step", step, "dilation", dilation)...)
}

// Fold adds up windows as Unfold makes them, whose elements are the last axis:
// the given axis becomes one of extent n. It is the adjoint of Unfold.
func (t *Tensor) Fold(axis, n, step, dilation int) *Tensor {
	rank := t.Rank() - 1
	a, err := ir.Axis(axis, rank)
	if err != nil {
		return t.raise("fold", err)
	}
	s := t.shape()
	count, size := s[a], s[rank]
	bad := step < 1 || dilation < 1 || n < 0
	if !bad && count > 0 && size > 0 { // the last element lies inside
		reach := n - 1
		bad = reach < 0 || (count-1) > reach/step || (size-1) > (reach-(count-1)*step)/dilation
	}
	if bad {
		return t.argument("fold", "%d windows of %d elements, step %d and dilation %d do not lie in an axis of extent %d", count, size, step, dilation, n)
	}
	first := t.iota(I64, count).Mul(step).Unsqueeze(1)
	index := first.Add(t.iota(I64, size).Mul(dilation)).Flatten()
	flat, base := s[:rank].Clone(), s[:rank].Clone()
	flat[a], base[a] = count*size, n
	windows := t.MoveAxis(-1, a+1).Reshape(flat...)
	return t.constant(t.zero(), base).ScatterAdd(a, index, windows)
}

// iota is the row-major index of each element of a new tensor, where t is.
func (t *Tensor) iota(d DType, shape ...int) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	c := indices(t.home(), d, shape...)
	return t.beside(c)
}

// constant is a tensor of t's dtype full of a Go constant, where t is.
func (t *Tensor) constant(v any, shape []int) *Tensor {
	c := t.operand(v)
	if len(shape) == 0 {
		return c
	}
	return c.Expand(shape...)
}

// Diagonal takes the elements whose index on axis2 is that on axis1 plus offset.
// Both axes go; a new last one runs along the diagonal. It is a view.
func (t *Tensor) Diagonal(offset, axis1, axis2 int) *Tensor {
	return apply1("diagonal", []*Tensor{t}, ir.A("offset", offset, "axis1", axis1, "axis2", axis2)...)
}

// Diag makes a square matrix with the elements of a tensor of one axis on the
// diagonal that lies offset above the main one, and zeros elsewhere; of a matrix
// it takes that diagonal.
func (t *Tensor) Diag(offset int) *Tensor {
	switch t.Rank() {
	case 1:
		n := t.shape()[0]
		side := n + max(offset, -offset)
		if side < n || (ir.Shape{side, side}).Check() != nil {
			return t.argument("diag", "offset %d makes too large a matrix of shape %v", offset, t.shape())
		}
		row, column := max(-offset, 0), max(offset, 0)
		index := t.iota(I64, n).Mul(side + 1).Add(row*side + column)
		return t.constant(t.zero(), []int{side * side}).PutAlong(0, index, t, PutReplace).Reshape(side, side)
	case 2:
		return t.Diagonal(offset, 0, 1)
	}
	return t.argument("diag", "%v has %d axes, expected 1 or 2", t.shape(), t.Rank())
}

// Tril keeps the elements of the last two axes on and below the diagonal that
// lies offset above the main one; the others are 0 (false).
func (t *Tensor) Tril(offset int) *Tensor { return t.triangle("tril", offset, false) }

// Triu keeps the elements of the last two axes on and above the diagonal that
// lies offset above the main one; the others are 0 (false).
func (t *Tensor) Triu(offset int) *Tensor { return t.triangle("triu", offset, true) }

func (t *Tensor) triangle(op string, offset int, upper bool) *Tensor {
	r := t.Rank()
	if r < 2 {
		return t.argument(op, "%v has %d axes, expected at least 2", t.shape(), r)
	}
	rows, columns := t.shape()[r-2], t.shape()[r-1]
	offset = min(max(offset, -rows-1), columns+1) // beyond these nothing changes
	edge, column := t.iota(I64, rows, 1).Add(offset), t.iota(I64, columns)
	keep := column.Le(edge)
	if upper {
		keep = column.Ge(edge)
	}
	return Where(keep, t, t.zero())
}

// zero is the Go constant 0 or false, as the dtype takes.
func (t *Tensor) zero() any {
	if t.DType() == Bool {
		return false
	}
	return 0
}
