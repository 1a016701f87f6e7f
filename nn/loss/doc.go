// Package loss has the loss functions of training: predictions and targets in, a
// scalar out, or one value per element or row with [None].
//
// Gradients flow to every float operand. Errors travel on the results.
package loss

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Reduction says what becomes of the values of a loss.
type Reduction int

// The reductions.
const (
	Mean Reduction = iota // over the elements; of weighted losses, weighted
	Sum
	None
)

func (r Reduction) of(t *sinter.Tensor) *sinter.Tensor {
	switch r {
	case Mean:
		return t.Mean()
	case Sum:
		return t.Sum()
	case None:
		return t
	}
	return failed("loss", []*sinter.Tensor{t}, "there is no reduction %d", int(r))
}

// over is the reduction of a loss whose values have weights.
func (r Reduction) over(values, weights *sinter.Tensor) *sinter.Tensor {
	if r == Mean {
		return values.Sum().Div(weights.Sum())
	}
	return r.of(values)
}

func failed(op string, in []*sinter.Tensor, format string, args ...any) *sinter.Tensor {
	for _, t := range in {
		if err := t.Err(); err != nil {
			return sinter.Failed(err)
		}
	}
	e := *ir.Errorf(ir.ErrArgument, format, args...)
	e.Op = op
	return sinter.Failed(&e)
}

// same refuses shapes that differ: broadcasting in a loss is a mistake more often
// than not.
func same(op string, x, y *sinter.Tensor) *sinter.Tensor {
	if x.Err() == nil && y.Err() == nil && !ir.Shape(x.Shape()).Equal(y.Shape()) {
		e := *ir.Errorf(ir.ErrShape, "shapes %v and %v differ", x.Shape(), y.Shape())
		e.Op = op
		return sinter.Failed(&e)
	}
	return x
}

func one(row string, in []*sinter.Tensor, attrs ...any) *sinter.Tensor {
	return sinter.Apply(row, in, ir.A(attrs...)...)[0]
}

// constant is a number of the dtype, on the device and in the scope of t.
func constant(t *sinter.Tensor, v float64) *sinter.Tensor {
	g, err := sinter.GraphOf(t)
	if err != nil {
		return sinter.Failed(err)
	}
	c, _ := g.Scalar(v, t.DType()).(*sinter.Tensor)
	return c
}

// arange is 0, 1, ..., n-1 as i64, beside t.
func arange(t *sinter.Tensor, n int) *sinter.Tensor {
	g, err := sinter.GraphOf(t)
	if err != nil {
		return sinter.Failed(err)
	}
	c, _ := g.Apply("iota", nil, ir.A("shape", []int{n}, "dtype", sinter.I64)...).(*sinter.Tensor)
	return c
}
