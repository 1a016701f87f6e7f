package kernel

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Widened returns the kernel with each reduction of the given kinds, PairDot and HalfDot, as
// a Dot of operands converted to f32, and k itself if there is none: HalfDot has the bits of
// that on processors, and for devices whose matrix units have an order of their own it says
// what they compute.
func (k *Kernel) Widened(kinds ...ReduceKind) *Kernel {
	narrow := func(r Reduction) bool { return slices.Contains(kinds, r.Kind) }
	if !slices.ContainsFunc(k.Reductions, narrow) {
		return k
	}
	out := *k
	out.Reductions = slices.Clone(k.Reductions)
	out.Body, out.Rares = nil, slices.Clone(k.Rares)
	at := make([]Ref, len(k.Body)+1)
	for i, in := range k.Body {
		for _, r := range []*Ref{&in.A, &in.B, &in.C} {
			if *r != None {
				*r = at[*r]
			}
		}
		if in.Op == OpReduce && narrow(k.Reductions[in.Imm]) {
			for _, r := range []*Ref{&in.A, &in.B} {
				out.Body = append(out.Body, Instr{Op: OpCvt, Type: ir.F32, A: *r, B: None, C: None})
				*r = Ref(len(out.Body) - 1)
			}
		}
		at[i] = Ref(len(out.Body))
		out.Body = append(out.Body, in)
	}
	at[len(k.Body)] = Ref(len(out.Body))
	for i := range out.Reductions {
		if narrow(out.Reductions[i]) {
			out.Reductions[i].Kind = Dot
		}
	}
	for i := range out.Rares {
		r := &out.Rares[i]
		r.Mask, r.From, r.To = at[r.Mask], at[r.From], at[r.To]
	}
	return &out
}
