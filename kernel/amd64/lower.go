package amd64

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// lower rewrites what has no code of its own. ArgMax and ArgMin become two
// passes: the extremum m, then the least index of an element that equals it. A
// NaN extremum equals nothing, but then every NaN element qualifies; if there
// is none, no element differs from itself. Equality takes -0 for +0, as the
// reduction does. Indices count in the logical order of the reduced axes. The
// result shares nothing with k that it changes. The extents in own are those of
// the launch. With first, an index that is only stored is found by [firstHit].
func lower(k *kernel.Kernel, first bool) (lowered *kernel.Kernel, own map[kernel.Ref]bool) {
	isArg := func(in kernel.Instr) bool {
		if in.Op != kernel.OpReduce {
			return false
		}
		kind := k.Reductions[in.Imm].Kind
		return kind == kernel.ArgMax || kind == kernel.ArgMin
	}
	if !slices.ContainsFunc(k.Body, isArg) {
		return k, nil
	}
	own = map[kernel.Ref]bool{}
	out := *k
	out.Body, out.Rares = nil, nil
	out.Reductions = slices.Clone(k.Reductions)
	emit := func(op kernel.Op, t ir.DType, imm uint64, refs ...kernel.Ref) kernel.Ref {
		in := kernel.Instr{Op: op, Type: t, A: kernel.None, B: kernel.None, C: kernel.None, Imm: imm}
		for i, p := range []*kernel.Ref{&in.A, &in.B, &in.C} {
			if i < len(refs) {
				*p = refs[i]
			}
		}
		out.Body = append(out.Body, in)
		return kernel.Ref(len(out.Body) - 1)
	}
	reduce := func(kind kernel.ReduceKind, t ir.DType, x kernel.Ref) kernel.Ref {
		out.Reductions = append(out.Reductions, kernel.Reduction{Kind: kind, Tree: kernel.StripedTree})
		return emit(kernel.OpReduce, t, uint64(len(out.Reductions)-1), x)
	}
	from, to := k.ReducedAxes()
	position := kernel.None // of the element in the group
	at := make([]kernel.Ref, len(k.Body))
	for i, in := range k.Body {
		for _, p := range []*kernel.Ref{&in.A, &in.B, &in.C} {
			if *p != kernel.None {
				*p = at[*p]
			}
		}
		if !isArg(k.Body[i]) {
			out.Body = append(out.Body, in)
			at[i] = kernel.Ref(len(out.Body) - 1)
			continue
		}
		kind := kernel.Max
		if k.Reductions[in.Imm].Kind == kernel.ArgMin {
			kind = kernel.Min
		}
		x := in.A
		t := out.Body[x].Type
		if t == ir.Bool {
			t = ir.I32
			x = emit(kernel.OpCvt, t, 0, x)
		}
		m := reduce(kind, t, x)
		if first && onlyStored(k, kernel.Ref(i)) {
			out.Reductions = append(out.Reductions, kernel.Reduction{Kind: firstHit, Tree: kernel.StripedTree})
			at[i] = emit(kernel.OpReduce, ir.I32, uint64(len(out.Reductions)-1), x, m)
			continue
		}
		hit := emit(kernel.OpEq, ir.Bool, 0, x, m)
		if t.IsFloat() {
			hit = emit(kernel.OpOr, ir.Bool, 0, hit, emit(kernel.OpNe, ir.Bool, 0, x, x))
		}
		if position == kernel.None {
			position = emit(kernel.OpIndex, ir.I64, uint64(from))
			for axis := from + 1; axis < to; axis++ {
				n := emit(kernel.OpExtent, ir.I64, uint64(axis))
				own[n] = true
				index := emit(kernel.OpIndex, ir.I64, uint64(axis))
				position = emit(kernel.OpAdd, ir.I64, 0, emit(kernel.OpMul, ir.I64, 0, position, n), index)
			}
		}
		none := emit(kernel.OpConst, ir.I64, 1<<63-1)
		at[i] = reduce(kernel.Min, ir.I64, emit(kernel.OpSelect, ir.I64, 0, hit, position, none))
	}
	return &out, own
}
