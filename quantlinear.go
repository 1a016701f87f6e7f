package sinter

import "github.com/sinter-go/sinter/ir"

// Linear returns x·qᵀ for q of shape [out, in] and x [..., in]: [..., out], in the
// dtype of x. It has the bits of x.MatMul(q.DequantizeAs(x.DType()).Transpose()),
// and mostly reads the codes themselves.
func (q *Quantized) Linear(x *Tensor) *Tensor {
	if err := q.multiplies("linear", x); err != nil {
		return errored(err)
	}
	w := q.DequantizeAs(x.DType())
	wt := w.Transpose()
	y := x.MatMul(wt)
	if y.origin == nil { // else its gradient needs the weights
		w.Release()
		wt.Release()
	}
	return y
}

// multiplies returns the error of a product of x with a matrix.
func (q *Quantized) multiplies(op string, x *Tensor) *ir.Error {
	if err := q.failure(); err != nil {
		return err
	}
	if err := x.failure(); err != nil {
		return err
	}
	switch shape := q.typ.Shape; {
	case len(shape) != 2:
		return raised(op, ir.Errorf(ir.ErrShape, "weights of %s, expected a matrix", q.typ), []*Tensor{x}).err
	case !x.DType().IsFloat():
		return raised(op, ir.Errorf(ir.ErrDType, "x is %s, expected floats", x.DType()), []*Tensor{x}).err
	case x.Rank() == 0 || x.Dim(-1) != shape[1]:
		return raised(op, ir.Errorf(ir.ErrShape, "x has shape %v, expected [..., %d] for weights of %s", x.shape(), shape[1], q.typ), []*Tensor{x}).err
	}
	return nil
}

// LinearDynamic is Linear with x rounded to codes of 8 bits too, symmetric and with
// one scale to each row of x: the products are those of whole numbers, which is the
// fastest where x has few rows, and adds an error of up to half of the scale of x, the
// greatest |x| of the row / 127, to each x. A row of x with an element that is not
// finite gives NaN. Weights whose scales run along the axis in, or whose blocks are
// not of a multiple of 4 codes (8 of 4 bits), are an error. No gradient passes.
func (q *Quantized) LinearDynamic(x *Tensor) *Tensor {
	const op = "linear_dynamic"
	if err := q.multiplies(op, x); err != nil {
		return errored(err)
	}
	s := q.typ.Scheme
	if along := s.Per == PerAxis && s.Axis == 1; along || s.Per == PerBlock && s.Block*s.Bits%32 != 0 {
		return raised(op, ir.Errorf(ir.ErrArgument, "weights of %s, expected scales per tensor, axis 0 or block of a multiple of %d", q.typ, 32/s.Bits), []*Tensor{x})
	}
	var made []*Tensor
	keep := func(y *Tensor) *Tensor {
		made = append(made, y)
		return y
	}
	// Scales as a matrix, [out or 1, blocks or 1].
	matrix := func(t *Tensor) *Tensor {
		if t.Rank() != 2 {
			return keep(t.Reshape(1, 1))
		}
		return t
	}
	dtype, zero, _, _ := s.codes()
	scales, zeros := matrix(q.parts.Scales), q.parts.Zeros
	if zeros == nil {
		zeros = keep(q.parts.Codes.codeOf(zero, dtype).Reshape(1, 1))
	} else {
		zeros = matrix(zeros)
	}
	var axes intList
	x = x.Detach()
	step := keep(rowSymmetricScale.with(axes.of([]int{-1}), intAttr(127), dtypeAttr(F32)).unary(x))
	codes := keep(rowQuantize.with(dtypeAttr(I8), intAttr(-127), intAttr(127)).ternary(x, step, x.codeOf(0, I8)))
	dots := keep(rowDotCodes.with(intAttr(s.Bits), intAttr(s.Block)).several([]*Tensor{codes, q.parts.Codes, scales, zeros}))
	y := dots.Mul(step)
	if d := x.DType(); d != F32 {
		y = keep(y).Cast(d)
	}
	for _, m := range made {
		m.Release()
	}
	return y
}
