package sinter

import (
	"math"
	"reflect"
	"sync/atomic"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// constants are the Go numbers that a stream was given last as operands, with
// the tensors made of them: x.Mul(2) in a loop makes its 2 once.
type constants [64]atomic.Pointer[constant]

// constant is a scalar of a dtype made from a Go number. Its tensor belongs to no
// scope and takes no memory on the device ([fusion.Stream.Constant]).
type constant struct {
	goScalar
	dtype DType
	t     *Tensor
}

// goScalar is a Go number or bool: the widest dtype of its kind, and its bits.
type goScalar struct {
	dtype DType
	bits  uint64
}

func goScalarOf(v any) (goScalar, bool) {
	switch x := v.(type) { // without reflection, which costs time
	case int:
		return goScalar{I64, uint64(x)}, true
	case float64:
		return goScalar{F64, math.Float64bits(x)}, true
	case float32:
		return goScalar{F64, math.Float64bits(float64(x))}, true
	}
	switch rv := reflect.ValueOf(v); {
	case !rv.IsValid():
	case rv.CanInt():
		return goScalar{I64, uint64(rv.Int())}, true
	case rv.CanUint():
		return goScalar{U64, rv.Uint()}, true
	case rv.CanFloat():
		return goScalar{F64, math.Float64bits(rv.Float())}, true
	case rv.Kind() == reflect.Bool && rv.Bool():
		return goScalar{Bool, 1}, true
	case rv.Kind() == reflect.Bool:
		return goScalar{Bool, 0}, true
	}
	return goScalar{}, false
}

// scalar makes a tensor of an argument of a method whose receiver is an operand
// too: a tensor as it is, a Go number or bool as a scalar of the receiver's dtype,
// in no scope.
func (t *Tensor) scalar(v any) *Tensor {
	if x, ok := v.(*Tensor); ok {
		return x
	}
	if err := t.failure(); err != nil {
		return errored(err)
	}
	g, ok := goScalarOf(v)
	d, s := t.typ().DType, t.stream()
	slot := &s.constants[(g.bits^g.bits>>32^uint64(d)*7^uint64(g.dtype)*29)*0x9e3779b97f4a7c15>>58]
	if c := slot.Load(); ok && c != nil && c.goScalar == g && c.dtype == d {
		return c.t
	}
	x, err := scalarOf(v, d)
	if err != nil {
		e := *ir.AsError(err)
		e.Site = callsite.Find()
		return errored(&e)
	}
	c := s.constant(x)
	if c.err == nil {
		slot.Store(&constant{g, d, c})
	}
	return c
}

// constant makes a scalar that operations of the stream's device use.
func (s *Stream) constant(x ir.Scalar) *Tensor {
	v, err := s.fs.Constant(x)
	if err != nil {
		return errored(err)
	}
	return &Tensor{v: v}
}

// operand is scalar for an argument that is used without the receiver: in its
// scope, so that what is made of it belongs there.
func (t *Tensor) operand(v any) *Tensor {
	c := t.scalar(v)
	if t == nil || t.scope == nil || c == nil || c.err != nil || c.scope != nil {
		return c
	}
	if _, ok := v.(*Tensor); ok {
		return c
	}
	in := *c
	in.scope = t.scope
	return &in
}

// beside puts a tensor that was made for t into its scope, which releases it: the
// caller may never see it.
func (t *Tensor) beside(c *Tensor) *Tensor {
	if t.scope == nil || c.err != nil {
		return c
	}
	c.scope = t.scope
	if err := c.scope.own(c.v); err != nil {
		c.Release()
		e := *ir.AsError(err)
		e.Site = callsite.Find()
		return errored(&e)
	}
	return c
}

// scalarOf converts a Go value to an element of a dtype. Floats round to
// nearest; whatever the dtype cannot hold is an error: a fraction in an
// integer, a number out of range, anything but a bool in a bool.
func scalarOf(v any, d DType) (ir.Scalar, error) {
	bad := func(why string) (ir.Scalar, error) {
		return ir.Scalar{}, ir.Errorf(ir.ErrDType, "the constant %v (%T) %s %s", v, v, why, d)
	}
	g, ok := goScalarOf(v)
	if !ok {
		return bad("is neither a number, a bool nor a tensor; expected one that fits in")
	}
	from, bits := g.dtype, g.bits
	if (from == Bool) != (d == Bool) {
		return bad("does not convert to")
	}
	out := kernel.Convert(d, from, bits)
	if from != d {
		back := kernel.Convert(from, d, out)
		switch {
		case d.IsFloat() && from == F64:
			f, b := math.Float64frombits(bits), math.Float64frombits(back)
			if math.IsInf(b, 0) && !math.IsInf(f, 0) {
				return bad("is out of range of")
			}
		case d.IsFloat():
			if f := math.Float64frombits(kernel.Convert(F64, d, out)); math.IsInf(f, 0) {
				return bad("is out of range of")
			}
		case from == F64 && math.Abs(math.Float64frombits(bits)) >= math.Ldexp(1, 8*d.Size()) ||
			from == F64 && d.Kind() == ir.KindInt && math.Float64frombits(bits) >= math.Ldexp(1, 8*d.Size()-1):
			return bad("does not fit in") // saturated, and rounded back to what it was
		case back != bits || from == I64 && d == U64 && int64(bits) < 0 || from == U64 && d == I64 && int64(bits) < 0:
			return bad("does not fit in")
		}
	}
	return ir.Scalar{DType: d, Bits: out}, nil
}
