package sinter

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// LinSpace makes n numbers from start to stop, both included, at equal distances.
func (o Of) LinSpace(start, stop float64, n int, d DType) *Tensor {
	if n < 0 {
		return createError("lin_space", ir.Errorf(ir.ErrArgument, "%d numbers, expected at least 0", n))
	}
	if n < 2 {
		return o.progression("lin_space", start, 0, n, d)
	}
	y := o.progression("lin_space", start, (stop-start)/float64(n-1), n, F64)
	end := y.constant(stop, nil)
	return Where(y.iota(I64, n).Eq(n-1), end, y).castTo("lin_space", d)
}

// ArangeFloat makes the numbers start, start+step, ... below stop (above it for
// negative steps): ceil((stop-start)/step) of them, each computed in f64 as
// start + i·step. [Of.Arange] is exact and for integers.
func (o Of) ArangeFloat(start, stop, step float64, d DType) *Tensor {
	n := math.Ceil((stop - start) / step)
	if step == 0 || !(n <= ir.MaxElements) {
		return createError("arange", ir.Errorf(ir.ErrArgument, "there is no range from %v to %v in steps of %v", start, stop, step))
	}
	return o.progression("arange", start, step, max(int(n), 0), d)
}

// progression is start + i·step, computed in f64.
func (o Of) progression(op string, start, step float64, n int, d DType) *Tensor {
	i := indices(o.stream(), F64, n)
	return i.Mul(step).Add(start).castTo(op, d)
}

func (t *Tensor) castTo(op string, d DType) *Tensor {
	if !d.Valid() || d == Bool {
		return t.raise(op, ir.Errorf(ir.ErrDType, "a range has a number dtype, got %s", d))
	}
	return t.Cast(d)
}

// Eye makes a matrix of ones on the diagonal and zeros elsewhere.
func (o Of) Eye(rows, columns int, d DType) *Tensor {
	return o.diagonal("eye", rows, columns, 0, d, false)
}

// Tri makes a matrix of ones on and below the diagonal that lies offset above the
// main one, and zeros elsewhere.
func (o Of) Tri(rows, columns, offset int, d DType) *Tensor {
	return o.diagonal("tri", rows, columns, offset, d, true)
}

func (o Of) diagonal(op string, rows, columns, offset int, d DType, below bool) *Tensor {
	if !d.Valid() {
		return createError(op, ir.Errorf(ir.ErrDType, "%s is not a dtype", d))
	}
	if err := (ir.Shape{rows, columns}).Check(); err != nil {
		return createError(op, err)
	}
	column := indices(o.stream(), I64, columns)
	edge := column.iota(I64, rows, 1).Add(min(max(offset, -rows-1), columns+1))
	if below {
		return column.Le(edge).Cast(d)
	}
	return column.Eq(edge).Cast(d)
}

// LinSpace makes n numbers from start to stop, both included, on the default device.
func LinSpace(start, stop float64, n int, d DType) *Tensor { return Of{}.LinSpace(start, stop, n, d) }

// ArangeFloat makes the numbers from start in steps of step, below stop, on the
// default device.
func ArangeFloat(start, stop, step float64, d DType) *Tensor {
	return Of{}.ArangeFloat(start, stop, step, d)
}

// Eye makes a square matrix of ones on the diagonal and zeros elsewhere, on the
// default device.
func Eye(n int, d DType) *Tensor { return Of{}.Eye(n, n, d) }

// Tri makes a square matrix of ones on and below the diagonal and zeros above, on
// the default device.
func Tri(n int, d DType) *Tensor { return Of{}.Tri(n, n, 0, d) }

// FullLike makes a tensor of t's shape, dtype and device full of a Go constant.
func (t *Tensor) FullLike(v any) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	s, err := scalarOf(v, t.typ().DType)
	if err != nil {
		return t.raise("full_like", err)
	}
	c := full(t.home(), t.typ().Shape, s)
	return t.beside(c)
}

// ZerosLike makes a tensor of t's shape, dtype and device full of 0 (false).
func (t *Tensor) ZerosLike() *Tensor { return t.FullLike(t.zero()) }

// OnesLike makes a tensor of t's shape, dtype and device full of 1 (true).
func (t *Tensor) OnesLike() *Tensor {
	if t.DType() == Bool {
		return t.FullLike(true)
	}
	return t.FullLike(1)
}
