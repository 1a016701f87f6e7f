package sinter

import (
	"fmt"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
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
	if r == nil {
		return ir.Errorf(ir.ErrArgument, "the custom operation is nil")
	}
	if r.Infer == nil && r.Access == ir.Elementwise {
		r.Infer = ir.SameType
	}
	if err := new(ir.Table).Add(r); err != nil { // checks the row and parses its texts
		return err
	}
	if err := tryBody(r); err != nil {
		return &ir.Error{Kind: ir.ErrArgument, Op: r.Name, Cause: err}
	}
	return rt.Table.Add(r)
}

// tryBody expands the body of an elementwise row for every type it computes in
// that its operands can have, so that a text which cannot be compiled is an error
// here and not at the first use.
func tryBody(r *ir.Row) error {
	if r.Access != ir.Elementwise || r.Decompose != nil {
		return nil
	}
	tried := false
	for _, d := range ir.DTypes() {
		t := d.Compute()
		program := r.Program(t)
		fits := program != nil && d == t
		for _, o := range r.Operands {
			fits = fits && (o.Class.Has(d) || o.Class == ir.BoolClass || o.Class == ir.I64Class)
		}
		if !fits {
			continue
		}
		b := kernel.NewBuilder(r.Name, []kernel.AxisKind{kernel.Parallel})
		env := kernel.Env{T: t, Names: map[string]kernel.Ref{}, Linear: func() kernel.Ref { return b.Index(0) }}
		for _, o := range r.Operands {
			switch o.Class {
			case ir.BoolClass:
				env.Names[o.Name] = b.AddParam(ir.Bool)
			case ir.I64Class:
				env.Names[o.Name] = b.AddParam(ir.I64)
			default:
				env.Names[o.Name] = b.AddParam(t)
			}
		}
		env.Attr = func(name string) (kernel.Ref, bool) {
			for _, a := range r.Attrs {
				if a.Name == name && a.Kind == ir.AttrInt {
					return b.AddParam(ir.I64), true
				} else if a.Name == name {
					return b.AddParam(t), true
				}
			}
			return kernel.None, false
		}
		if _, err := b.Expand(program, env); err != nil {
			return fmt.Errorf("body for %s: %w", t, err)
		}
		tried = true
	}
	if !tried {
		return fmt.Errorf("no dtype that its operands may have is one the body computes in")
	}
	return nil
}

// DefineRoutine says how a device computes an opaque row.
func DefineRoutine(d *Device, row string, f backend.Routine) error {
	b, ok := backend.As[backend.Routines](d.client)
	if !ok {
		return ir.Errorf(ir.ErrUnsupported, "device %s takes no routines", d)
	}
	return b.AddRoutine(row, f)
}

// release lets go of tensors that were made for others.
func release(made []*Tensor, but []ir.Value) {
	kept := map[*fusion.Value]bool{}
	for _, v := range but {
		if t, ok := v.(*Tensor); ok && t != nil {
			kept[t.v] = true
		}
	}
	for _, t := range made {
		if t.v != nil && !kept[t.v] {
			t.v.Release()
		}
	}
}

// decompose records a row in terms of others. With a gradient of its own the
// row, not its parts, is what gradients see.
func decompose(r *ir.Row, s *Stream, scope *Scope, attrs ir.Attrs, in []*Tensor) []*Tensor {
	own := r.Differentiable()
	vs := make([]ir.Value, len(in))
	tracked := false
	for i, t := range in {
		if own {
			t = t.Detach()
		}
		tracked = tracked || t.origin != nil
		vs[i] = t
	}
	var made []*Tensor
	parts := r.Decompose(Graph{Stream: s, Scope: scope, made: &made}, vs, attrs)
	if !tracked { // else gradients of the parts may ask for what was made on the way
		defer release(made, parts)
	}
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
		} else if ok && t != nil && i < len(types) && t.typ().Equal(types[i]) {
			c := *t
			if own {
				c.result = i // of the row; otherwise it stays a result of a part
			}
			out[i] = &c
		}
	}
	if own && out[0].err == nil {
		trackIf(r, attrs, in, out, scope)
	}
	return out
}
