package sinter

import (
	"math"
	"reflect"
	"runtime"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Apply records an operation by the name of its row: the way to custom
// operations, and what every method comes down to. It returns one tensor per
// result; on an error all of them carry it.
func Apply(row string, in []*Tensor, attrs ...ir.Named) []*Tensor {
	var table *ir.Table
	for _, t := range in {
		if d := t.Device(); d != nil {
			table = &d.runtime.Table
			break
		}
	}
	r := table.Lookup(row)
	if r == nil {
		return []*Tensor{errored(&ir.Error{Kind: ir.ErrArgument, Op: row, Site: callsite.Find(), Msg: "there is no such operation"})}
	}
	return apply(r, nil, in, attrs)
}

// apply1 records a built-in row with one result.
func apply1(row string, in []*Tensor, attrs ...ir.Named) *Tensor {
	return apply(ir.Lookup(row), nil, in, attrs)[0]
}

// apply records a row. The stream is that of the operands' scope, or of the
// first operand; rows without operands name it.
func apply(r *ir.Row, s *Stream, in []*Tensor, named []ir.Named) []*Tensor {
	fail := func(err error) []*Tensor {
		out := make([]*Tensor, r.NumResults())
		for i := range out {
			out[i] = errored(err)
		}
		return out
	}
	raise := func(err error) []*Tensor {
		e := *ir.AsError(err)
		e.Site = callsite.Find()
		e.Op = r.Name
		if e.Operands == nil {
			e.Operands = typesOf(in)
		}
		return fail(&e)
	}
	for _, t := range in {
		if t != nil && t.err != nil {
			if t.err.Op != "" {
				return fail(t.err) // the first error is passed on as it is
			}
			e := *t.err // a constant that does not fit: of this operation
			e.Op, e.Operands = r.Name, typesOf(in)
			return fail(&e)
		}
		if err := t.failure(); err != nil {
			return raise(err)
		}
	}
	if err := pin(in); err != nil {
		return raise(err)
	}
	defer unpin(in)
	scope, err := meet(in)
	if err != nil {
		return raise(err)
	}
	if s == nil {
		if len(in) == 0 {
			return raise(ir.Errorf(ir.ErrArgument, "an operation without operands needs a device"))
		}
		s = in[0].h.stream
	}
	if len(in) > 0 {
		if in, err = together(in); err != nil {
			return raise(err)
		}
		if in[0].h.stream.dev != s.dev {
			s = in[0].h.stream
		}
	}
	if scope != nil && scope.stream != nil && scope.stream.dev == s.dev {
		s = scope.stream
	}
	attrs, err := r.MakeAttrs(named)
	if err != nil {
		return raise(err)
	}
	types := typesOf(in)
	outTypes, err := ir.Infer(r, types, attrs)
	if err != nil {
		return raise(err)
	}
	if r.Decompose != nil {
		return decompose(r, s, scope, attrs, in)
	}
	node := ir.Node{Row: r, Attrs: attrs, In: make([]ir.Tensor, len(in)), Out: make([]ir.Tensor, len(outTypes)), Site: scope.line()}
	var borrowed []ir.ID
	for i, t := range in {
		id := t.h.id
		if t.h.stream != s {
			if id, err = s.adopt(t.h); err != nil {
				s.dev.backend.Free(borrowed...)
				return fail(err)
			}
			borrowed = append(borrowed, id)
		}
		node.In[i] = ir.Tensor{ID: id, Type: t.typ}
	}
	out := make([]*Tensor, len(outTypes))
	for i, ty := range outTypes {
		out[i] = &Tensor{typ: ty, h: newHandle(s, ty), scope: scope, result: i}
		node.Out[i] = ir.Tensor{ID: out[i].h.id, Type: ty}
	}
	if scope != nil {
		if err := scope.own(out); err != nil {
			s.dev.backend.Free(borrowed...)
			return raise(err)
		}
	}
	track(r, attrs, in, out, scope)
	s.record(node, borrowed)
	runtime.KeepAlive(in) // a handle collected before the node was recorded would be freed before it
	return out
}

func typesOf(in []*Tensor) []ir.Type {
	out := make([]ir.Type, 0, len(in))
	for _, t := range in {
		if t != nil && t.typ.DType.Valid() {
			out = append(out, t.typ)
		}
	}
	return out
}

// operand makes a tensor of a method argument: a tensor as it is, a Go number or
// bool as a scalar of the receiver's dtype.
func (t *Tensor) operand(v any) *Tensor {
	if x, ok := v.(*Tensor); ok {
		return x
	}
	if err := t.failure(); err != nil {
		return errored(err)
	}
	s, err := scalarOf(v, t.typ.DType)
	if err != nil {
		e := *ir.AsError(err)
		e.Site = callsite.Find()
		return errored(&e)
	}
	c := full(t.h.stream, nil, s)
	return t.beside(c)
}

// beside puts a tensor that was made for t into its scope, which releases it: the
// caller may never see it.
func (t *Tensor) beside(c *Tensor) *Tensor {
	if t.scope == nil || c.err != nil {
		return c
	}
	c.scope = t.scope
	if err := c.scope.own([]*Tensor{c}); err != nil {
		c.Release()
		e := *ir.AsError(err)
		e.Site = callsite.Find()
		return errored(&e)
	}
	return c
}

// full records a constant tensor.
func full(s *Stream, shape ir.Shape, v ir.Scalar) *Tensor {
	return apply(ir.Lookup("full"), s, nil, ir.A("shape", shape, "dtype", v.DType, "value", v))[0]
}

// scalarOf converts a Go value to an element of a dtype. Floats round to
// nearest; whatever the dtype cannot hold is an error: a fraction in an
// integer, a number out of range, anything but a bool in a bool.
func scalarOf(v any, d DType) (ir.Scalar, error) {
	bad := func(why string) (ir.Scalar, error) {
		return ir.Scalar{}, ir.Errorf(ir.ErrDType, "the constant %v (%T) %s %s", v, v, why, d)
	}
	rv := reflect.ValueOf(v)
	var from DType
	var bits uint64
	switch {
	case rv.IsValid() && rv.CanInt():
		from, bits = I64, uint64(rv.Int())
	case rv.IsValid() && rv.CanUint():
		from, bits = U64, rv.Uint()
	case rv.IsValid() && rv.CanFloat():
		from, bits = F64, math.Float64bits(rv.Float())
	case rv.IsValid() && rv.Kind() == reflect.Bool:
		from = Bool
		if rv.Bool() {
			bits = 1
		}
	default:
		return bad("is neither a number, a bool nor a tensor; expected one that fits in")
	}
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
