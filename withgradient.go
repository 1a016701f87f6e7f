package sinter

import (
	"fmt"

	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
)

// WithGradient returns tensors as results of an operation of in whose gradient
// is f: how they were made is forgotten. It is the ground of autodiff.Custom and
// autodiff.Checkpoint; the name is for messages. If an operand carries an error,
// all results carry it.
func WithGradient(name string, in, out []*Tensor, f ir.GradFunc) []*Tensor {
	res := make([]*Tensor, len(out))
	fail := func(err error) []*Tensor {
		for i := range res {
			res[i] = errored(err)
		}
		return res
	}
	for _, t := range in {
		if err := t.failure(); err != nil {
			return fail(err)
		}
	}
	scope, err := meet(in)
	if err != nil {
		e := *ir.AsError(err)
		e.Op, e.Operands, e.Site = name, typesOf(in), callsite.Find()
		return fail(&e)
	}
	row := &ir.Row{Name: name, Doc: "A function with a gradient of its own.", Access: ir.Opaque, GradFunc: f}
	for i := range in {
		row.Operands = append(row.Operands, ir.Operand{Name: fmt.Sprint("x", i), Class: ir.AnyType})
	}
	live := make([]*Tensor, 0, len(out))
	for i, t := range out {
		if err := t.failure(); err != nil {
			return fail(err)
		}
		c := *t
		c.origin, c.result = nil, i
		row.Results = append(row.Results, fmt.Sprint("y", i))
		res[i] = &c
		live = append(live, &c)
	}
	trackIf(row, nil, in, live, scope)
	copy(res, live)
	return res
}
