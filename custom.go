package sinter

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// Define adds a custom operation named domain/name@version to the default
// runtime, to be used with [Apply]. There are three kinds:
//
//   - a scalar or row program: Access Elementwise or Reduce and a Body, which
//     every device compiles, fuses and differentiates like a built-in row;
//   - a decomposition: Decompose writes it in terms of other rows; gradients
//     take Grad if it has one, and those of the parts if not;
//   - opaque: Access Opaque, computed by a routine per device ([DefineRoutine]).
//
// An elementwise row without a type rule gets that of the arithmetic rows.
func Define(r *ir.Row) error { return Default().Define(r) }

// Define adds a custom operation to the runtime.
func (rt *Runtime) Define(r *ir.Row) error {
	if r.Infer == nil && r.Access == ir.Elementwise {
		r.Infer = ir.SameType
	}
	return rt.Table.Add(r)
}

// DefineRoutine says how a device computes an opaque row.
func DefineRoutine(d *Device, row string, f backend.Routine) error {
	b, ok := backend.As[backend.Routines](d.backend)
	if !ok {
		return ir.Errorf(ir.ErrUnsupported, "device %s takes no routines", d)
	}
	return b.AddRoutine(row, f)
}

// decompose records a row in terms of others. With a gradient of its own the
// row, not its parts, is what gradients see.
func decompose(r *ir.Row, s *Stream, scope *Scope, attrs ir.Attrs, in []*Tensor) []*Tensor {
	own := r.Differentiable()
	vs := make([]ir.Value, len(in))
	for i, t := range in {
		if own {
			t = t.Detach()
		}
		vs[i] = t
	}
	parts := r.Decompose(Graph{Stream: s, Scope: scope}, vs, attrs)
	types, _ := ir.Infer(r, typesOf(in), attrs)
	out := make([]*Tensor, r.NumResults())
	for i := range out {
		out[i] = errored(&ir.Error{Kind: ir.ErrInternal, Op: r.Name, Operands: typesOf(in), Site: callsite.Find(),
			Msg: "its decomposition does not give the result that its type rule says"})
		if i >= len(parts) {
			continue
		}
		t, ok := parts[i].(*Tensor)
		if ok && t != nil && t.err != nil {
			out[i] = errored(t.err)
		} else if ok && t != nil && i < len(types) && t.typ.Equal(types[i]) {
			c := *t
			if own {
				c.result = i // of the row; otherwise it stays a result of a part
			}
			out[i] = &c
		}
	}
	if own && out[0].err == nil {
		track(r, attrs, in, out, scope)
	}
	return out
}
