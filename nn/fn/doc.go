// Package fn has the functions that layers of neural networks are made of, as
// plain functions of tensors: convolution, pooling, interpolation, normalisation,
// attention, recurrent cells. They hold no parameters and no state; layers of
// package nn call them with theirs.
//
// Images and sequences have their axes in the order batch, channels, then one to
// three axes of space. Errors travel on the results, as those of methods do.
//
// Lists of options have one number per axis of space, one for all of them, or
// none for the default. Lists of paddings may also have two per axis: those before
// the axes, then those after.
package fn

import (
	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// one applies a row of one result.
func one(row string, in []*sinter.Tensor, attrs ...any) *sinter.Tensor {
	return sinter.Apply(row, in, ir.A(attrs...)...)[0]
}

// spread repeats a single number for each axis of space of x.
func spread(x *sinter.Tensor, list []int) []int {
	d := x.Rank() - 2
	if len(list) != 1 || d < 1 {
		return list
	}
	out := make([]int, d)
	for i := range out {
		out[i] = list[0]
	}
	return out
}

// pads gives paddings before and after each axis.
func pads(x *sinter.Tensor, list []int) []int {
	list = spread(x, list)
	if len(list) == x.Rank()-2 {
		return append(list[:len(list):len(list)], list...)
	}
	return list
}

// failed returns an argument error as a tensor, or the error that one of in
// carries already.
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

// like is a constant of the dtype, on the device and in the scope of t.
func like(t *sinter.Tensor, v float64) *sinter.Tensor {
	g, err := sinter.GraphOf(t)
	if err != nil {
		return sinter.Failed(err)
	}
	c, ok := g.Scalar(v, t.DType()).(*sinter.Tensor)
	if !ok {
		return sinter.Failed(ir.Errorf(ir.ErrInternal, "a constant is no tensor"))
	}
	return c
}

// zeros is like, with a shape.
func zeros(t *sinter.Tensor, shape ...int) *sinter.Tensor { return like(t, 0).Expand(shape...) }

// arange is 0, 1, ..., n-1 beside t.
func arange(t *sinter.Tensor, n int, d sinter.DType) *sinter.Tensor {
	g, err := sinter.GraphOf(t)
	if err != nil {
		return sinter.Failed(err)
	}
	c, ok := g.Apply("iota", nil, ir.A("shape", []int{n}, "dtype", d)...).(*sinter.Tensor)
	if !ok {
		return sinter.Failed(ir.Errorf(ir.ErrInternal, "a range is no tensor"))
	}
	return c
}
