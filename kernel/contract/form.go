package contract

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// form is a kernel seen as a contraction.
type form struct {
	k      *kernel.Kernel
	dot    kernel.Ref
	typ    ir.DType // of the product
	kind   amd64.TileKind
	chunk  int64 // of the tree
	pairs  bool  // of bf16
	sides  [2]side
	rows   []int // axes along which only sides[0] varies
	cols   []int // only sides[1]; the last is the one along which results are adjacent
	loops  []int // all other parallel axes
	ks     []int // reduced axes
	faults bool  // some instruction may note one
	direct int   // the argument that takes the product as it is, -1 if something uses it
}

// side is an operand of the product.
type side struct {
	ref    kernel.Ref // the value that micro-kernels read, narrower than the operand perhaps
	typ    ir.DType   // as which they read it
	flip   bool       // TileI8: with its highest bit inverted
	arg    int        // the argument that it is the load of, -1 if it is computed
	varies []bool     // by axis
	along  bool       // adjacent elements lie along rows or columns, rather than along k
}

// formOf recognises a contraction that a level has micro-kernels for; why says what
// it is not.
func formOf(k *kernel.Kernel, level amd64.Level) (f *form, why string) {
	f = &form{k: k, dot: kernel.None, direct: -1, faults: k.HasFault()}
	if why := f.product(); why != "" {
		return nil, why
	}
	refs := [2]kernel.Ref{k.Body[f.dot].A, k.Body[f.dot].B}
	if !f.choose(level, &refs) {
		return nil, "no micro-kernels of " + f.typ.String()
	}
	f.sides[0], f.sides[1] = f.side(refs[0]), f.side(refs[1])
	levels := k.Levels()
	feeds := make([]bool, len(k.Body))
	for _, r := range []kernel.Ref{k.Body[f.dot].A, k.Body[f.dot].B} {
		for i, in := range k.Closure(r) {
			feeds[i] = feeds[i] || in
		}
	}
	used := make([]bool, len(k.Body)) // by a store, in the end
	for i := len(k.Body) - 1; i >= 0; i-- {
		in := &k.Body[i]
		notes := in.Op == kernel.OpGather || (in.Op == kernel.OpDiv || in.Op == kernel.OpRem) && !in.Type.IsFloat()
		if notes && !used[i] {
			return nil, "a fault that no result depends on"
		}
		if used[i] || in.Op == kernel.OpStore {
			used[i] = true
			in.Operands(func(r kernel.Ref) { used[r] = true })
		}
	}
	for i := range k.Body {
		if used[i] && levels[i] == kernel.ElementLevel && !feeds[i] {
			return nil, "single elements are used beside the product"
		}
	}
	for axis, kind := range k.Axes {
		x, z := f.sides[0].varies[axis], f.sides[1].varies[axis]
		switch {
		case kind == kernel.Reduced:
			f.ks = append(f.ks, axis)
		case x && !z:
			f.rows = append(f.rows, axis)
		case z && !x:
			f.cols = append(f.cols, axis)
		default:
			f.loops = append(f.loops, axis)
		}
	}
	if len(f.rows)+len(f.cols) == 0 && !f.pairs { // of pairs there is no other code
		return nil, "no axis belongs to one operand alone"
	}
	f.orient()
	for i := range f.sides {
		f.narrow(i)
		f.sides[i].along = f.adjacentAlong(&f.sides[i]) && f.sides[i].typ == f.typ
	}
	f.direct = f.stored()
	return f, ""
}

// product finds the reduction and checks that it is the only thing of its kind.
func (f *form) product() (why string) {
	k := f.k
	for i := range k.Body {
		switch in := &k.Body[i]; in.Op {
		case kernel.OpScan:
			return "a scan"
		case kernel.OpReduce:
			r := k.Reductions[in.Imm]
			if r.Kind != kernel.Dot && r.Kind != kernel.PairDot || f.dot != kernel.None {
				return "another reduction"
			}
			if r.Tree.Kind != kernel.Sequential || r.Tree.Chunk < 1 {
				return "the tree " + r.Tree.String()
			}
			f.dot, f.typ, f.chunk, f.pairs = kernel.Ref(i), in.Type, int64(r.Tree.Chunk), r.Kind == kernel.PairDot
		}
	}
	if f.dot == kernel.None {
		return "no dot product"
	}
	return ""
}

// choose picks the micro-kernels. Integers that were widened for the product are
// read as they were before.
func (f *form) choose(level amd64.Level, refs *[2]kernel.Ref) bool {
	switch f.typ {
	case ir.F32:
		if f.kind = amd64.TileF32; f.pairs {
			f.kind = amd64.TileBF16
		}
	case ir.F64:
		f.kind = amd64.TileF64
	case ir.I32, ir.U32:
		f.kind = amd64.TileI32
		narrow := *refs
		for i, r := range narrow {
			in := &f.k.Body[r]
			if in.Op != kernel.OpCvt {
				return true
			}
			switch f.k.Body[in.A].Type {
			case ir.I8, ir.U8:
				narrow[i] = in.A
			default:
				return true
			}
		}
		if f.kind = amd64.TileI16; amd64.HasTiles(level, amd64.TileI8) {
			f.kind = amd64.TileI8
		}
		*refs = narrow
	default:
		return false
	}
	return true
}

// narrow decides the type in which micro-kernels read a side.
func (f *form) narrow(i int) {
	s := &f.sides[i]
	was := f.k.Body[s.ref].Type
	s.typ = f.typ
	switch f.kind {
	case amd64.TileBF16:
		s.typ = ir.BF16
	case amd64.TileI16:
		s.typ = ir.I16
	case amd64.TileI8:
		s.typ = [2]ir.DType{ir.I8, ir.U8}[i]
		s.flip = s.typ != was
	}
	if s.typ != was && !s.flip {
		s.arg = -1
	}
}

func (f *form) side(r kernel.Ref) side {
	k := f.k
	s := side{ref: r, arg: -1, varies: make([]bool, len(k.Axes))}
	if in := &k.Body[r]; in.Op == kernel.OpLoad {
		s.arg = int(in.Imm)
	}
	for i, need := range k.Closure(r) {
		if !need {
			continue
		}
		switch in := &k.Body[i]; in.Op {
		case kernel.OpIndex:
			s.varies[in.Imm] = true
		case kernel.OpLoad, kernel.OpGather:
			for axis, c := range k.Args[in.Imm].Access {
				s.varies[axis] = s.varies[axis] || c != kernel.Broadcast
			}
		}
	}
	return s
}

// orient makes columns the axes along which results are adjacent, or failing that
// the second operand, with that axis last.
func (f *form) orient() {
	k := f.k
	unit := func(axes []int, dir kernel.Direction, s *side) int {
		for i, axis := range axes {
			for j := range k.Args {
				a := &k.Args[j]
				if a.Dir == dir && a.Access[axis] == kernel.Unit && (s == nil || f.reads(s, j)) {
					return i
				}
			}
		}
		return -1
	}
	last := func(axes []int, i int) {
		axis := axes[i]
		copy(axes[i:], axes[i+1:])
		axes[len(axes)-1] = axis
	}
	col, row := unit(f.cols, kernel.Out, nil), unit(f.rows, kernel.Out, nil)
	if col < 0 && row < 0 {
		col, row = unit(f.cols, kernel.In, &f.sides[1]), unit(f.rows, kernel.In, &f.sides[0])
	}
	if col < 0 && row >= 0 || len(f.cols) == 0 && len(f.rows) > 0 {
		f.rows, f.cols = f.cols, f.rows
		f.sides[0], f.sides[1] = f.sides[1], f.sides[0]
		col = row
	}
	if col >= 0 {
		last(f.cols, col)
	}
}

func (f *form) reads(s *side, arg int) bool {
	for i, need := range f.k.Closure(s.ref) {
		if in := &f.k.Body[i]; need && (in.Op == kernel.OpLoad || in.Op == kernel.OpGather) && int(in.Imm) == arg {
			return true
		}
	}
	return false
}

// adjacentAlong reports whether more of what a side reads is adjacent along its
// last row or column than along the last k.
func (f *form) adjacentAlong(s *side) bool {
	axes := f.rows
	if s == &f.sides[1] {
		axes = f.cols
	}
	if len(axes) == 0 {
		return false
	}
	score, last := 0, f.ks[len(f.ks)-1]
	for j := range f.k.Args {
		if f.k.Args[j].Dir == kernel.Out || !f.reads(s, j) {
			continue
		}
		access := f.k.Args[j].Access
		if access[axes[len(axes)-1]] == kernel.Unit {
			score++
		}
		if access[last] == kernel.Unit {
			score--
		}
	}
	return score > 0
}

// stored returns the argument that takes the product as it is, where that is all
// that happens to it.
func (f *form) stored() int {
	stores, arg := 0, -1
	for i := range f.k.Body {
		in := &f.k.Body[i]
		if in.Op == kernel.OpStore {
			stores++
			if in.A == f.dot && f.k.Args[in.Imm].Type == f.typ {
				arg = int(in.Imm)
			}
		}
	}
	if stores != 1 {
		return -1
	}
	return arg
}
