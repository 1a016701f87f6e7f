package sinter

import (
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
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
	u := use{row: r}
	if u.attrs, u.err = r.MakeAttrs(named); u.err == nil {
		u.op = fusion.OpOf(r, u.attrs)
	}
	out := make([]*Tensor, r.NumResults())
	u.on(s, in, out)
	return out
}

// use is what is applied: a row with attributes.
type use struct {
	row   *ir.Row
	attrs ir.Attrs
	op    *fusion.Op
	err   error // the attributes do not fit
}

// on records the use on tensors and puts the results into out; on an error all
// of them carry it.
func (u *use) on(s *Stream, in, out []*Tensor) {
	if err := u.record(s, in, out); err != nil {
		for i := range out {
			out[i] = errored(err)
		}
	}
}

// raise makes err one of the operation, at the user's line.
func (u *use) raise(err error, in []*Tensor) *ir.Error {
	e := *ir.AsError(err)
	e.Site = callsite.Find()
	e.Op = u.row.Name
	if e.Operands == nil {
		e.Operands = typesOf(in)
	}
	return &e
}

// operandError is the error of results with an operand that carries err.
func (u *use) operandError(t *Tensor, err *ir.Error, in []*Tensor) *ir.Error {
	switch {
	case t == nil || t.err == nil:
		return u.raise(err, in)
	case err.Op != "":
		return err // the first error is passed on as it is
	}
	e := *err // a constant that does not fit: of this operation
	e.Op, e.Operands = u.row.Name, typesOf(in)
	return &e
}

func (u *use) record(s *Stream, in, out []*Tensor) *ir.Error {
	var someIn, someOut [4]*fusion.Value
	ins := someIn[:0]
	var scope *Scope
	tracked, met, beside := false, true, true
	for _, t := range in {
		if t == nil || t.err != nil || t.v == nil || t.v.Released() {
			return u.operandError(t, t.failure(), in)
		}
		ins = append(ins, t.v)
		tracked = tracked || t.origin != nil
		beside = beside && t.v.Stream() == ins[0].Stream()
		if t.scope != nil && t.scope != scope {
			met = met && scope == nil
			scope = t.scope
		}
	}
	if !met {
		var err error
		if scope, err = meet(in); err != nil {
			return u.raise(err, in)
		}
	}
	if len(in) > 0 {
		if !beside {
			var err error
			if in, err = together(in); err != nil {
				return u.raise(err, in)
			}
			ins = ins[:0]
			for _, t := range in {
				ins = append(ins, t.v)
			}
		}
		if at := in[0].stream(); s == nil || at.dev != s.dev {
			s = at
		}
	} else if s == nil {
		return u.raise(ir.Errorf(ir.ErrArgument, "an operation without operands needs a device"), in)
	}
	if scope != nil && scope.stream != nil && scope.stream.dev == s.dev {
		s = scope.stream
	}
	if u.err != nil {
		return u.raise(u.err, in)
	}
	fs := s.fs
	if scope != nil && scope.unfused {
		fs = s.unfused()
	}
	if u.row.Decompose != nil {
		if _, err := fs.Infer(u.op, u.attrs, typesOf(in)); err != nil {
			return u.raise(err, in)
		}
		copy(out, decompose(u.row, s, scope, u.attrs, in))
		return nil
	}
	var group *fusion.Group
	if scope != nil {
		var err error
		if group, err = scope.group(fs); err != nil {
			return u.raise(err, in)
		}
	}
	outs := someOut[:0]
	tracked = tracked && u.row.Differentiable() && (scope == nil || !scope.noGrad)
	for i := range out {
		t := newTensor()
		t.scope, t.result = scope, i
		out[i] = t
		outs = append(outs, t.v)
	}
	if err := fs.Record(u.op, u.attrs, ins, nil, outs, group, scope.line); err != nil {
		if e := ir.AsError(err); e.Op != "" && e.Site != (ir.Site{}) {
			return e
		}
		return u.raise(err, in)
	}
	if tracked {
		track(u.row, u.attrs, in, out)
	}
	return nil
}

// newTensor makes a tensor and its value, which is to be recorded.
func newTensor() *Tensor {
	m := new(made)
	m.v = &m.value
	return &m.Tensor
}

func typesOf(in []*Tensor) []ir.Type {
	out := make([]ir.Type, 0, len(in))
	for _, t := range in {
		if t != nil && t.typ().DType.Valid() {
			out = append(out, t.typ())
		}
	}
	return out
}

// full records a constant tensor.
func full(s *Stream, shape ir.Shape, v ir.Scalar) *Tensor {
	var room intList
	return rowFull.with(room.of(shape), dtypeAttr(v.DType), ir.Attr{Kind: ir.AttrScalar, Int: int64(v.DType), Bits: v.Bits}).fresh(s)
}

// indices records the row-major index of each element.
func indices(s *Stream, d DType, shape ...int) *Tensor {
	var room intList
	return rowIota.with(room.of(shape), dtypeAttr(d)).fresh(s)
}

// The rows without operands.
var (
	rowFull = row("full", "shape", "dtype", "value")
	rowIota = row("iota", "shape", "dtype")
)

// with records a row with one operand and named attributes.
func (t *Tensor) with(row string, attrs ...any) *Tensor {
	return apply1(row, []*Tensor{t}, ir.A(attrs...)...)
}
