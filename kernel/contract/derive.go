package contract

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// derived is an elementwise kernel that was taken out of a contraction. It reads or
// writes a block of one operand or of products, its last argument.
type derived struct {
	k       *kernel.Kernel
	axes    []int  // of the derived kernel, by number in the whole
	args    []int  // likewise, without the block
	extents []int  // axes of the whole whose full extents are further parameters
	indexed []bool // by axis of the derived kernel: its index is used
}

// prologue is the kernel that computes a block of an operand.
func (f *form) prologue(s *side, name string) *derived {
	axes, inner := []int{}, f.ks[len(f.ks)-1]
	for axis, kind := range f.k.Axes {
		if kind == kernel.Reduced || s.varies[axis] {
			axes = append(axes, axis)
		}
	}
	if s.along {
		own := f.rows
		if s == &f.sides[1] {
			own = f.cols
		}
		inner = own[len(own)-1]
	}
	d, at := f.derive(name, closure(f.k, s.ref), axes)
	block := d.block(s.typ, kernel.Out, inner)
	emit := func(op kernel.Op, t ir.DType, imm uint64, refs ...kernel.Ref) kernel.Ref {
		in := kernel.Instr{Op: op, Type: t, A: kernel.None, B: kernel.None, C: kernel.None, Imm: imm}
		for i, r := range refs {
			*[]*kernel.Ref{&in.A, &in.B, &in.C}[i] = r
		}
		d.k.Body = append(d.k.Body, in)
		return kernel.Ref(len(d.k.Body) - 1)
	}
	v := at[s.ref]
	if s.flip {
		v = emit(kernel.OpCvt, ir.I32, 0, v)
		v = emit(kernel.OpXor, ir.I32, 0, v, emit(kernel.OpConst, ir.I32, 0x80))
	}
	if d.k.Body[v].Type != s.typ {
		v = emit(kernel.OpCvt, s.typ, 0, v)
	}
	emit(kernel.OpStore, s.typ, uint64(block), v)
	return d
}

// epilogue is the kernel that uses a tile of products.
func (f *form) epilogue() *derived {
	need := make([]bool, len(f.k.Body))
	for i := len(need) - 1; i >= 0; i-- {
		in := &f.k.Body[i]
		if in.Op == kernel.OpStore {
			need[i] = true
		}
		if need[i] && in.Op != kernel.OpReduce {
			in.Operands(func(r kernel.Ref) { need[r] = true })
		}
	}
	axes, inner := []int{}, -1 // of one product alone, no axis
	for axis, kind := range f.k.Axes {
		if kind == kernel.Parallel {
			axes = append(axes, axis)
		}
	}
	if len(f.cols) > 0 {
		inner = f.cols[len(f.cols)-1]
	}
	d, at := f.derive(f.k.Name+" epilogue", need, axes)
	block := d.block(f.typ, kernel.In, inner)
	if r := at[f.dot]; r != kernel.None {
		d.k.Body[r] = kernel.Instr{Op: kernel.OpLoad, Type: f.typ, A: kernel.None, B: kernel.None, C: kernel.None, Imm: uint64(block)}
	}
	return d
}

// derive copies the instructions that are needed to a kernel over some axes, all
// parallel. at says where each has gone.
func (f *form) derive(name string, need []bool, axes []int) (d *derived, at []kernel.Ref) {
	k := f.k
	d = &derived{axes: axes, indexed: make([]bool, len(axes))}
	d.k = &kernel.Kernel{Name: name, Axes: make([]kernel.AxisKind, len(axes)), Params: slices.Clone(k.Params)}
	args := make([]int, len(k.Args))
	for i := range args {
		args[i] = -1
	}
	at = make([]kernel.Ref, len(k.Body)+1)
	for i := range k.Body {
		at[i] = kernel.None
		if !need[i] {
			continue
		}
		in := k.Body[i]
		for _, r := range []*kernel.Ref{&in.A, &in.B, &in.C} {
			if *r != kernel.None {
				*r = at[*r]
			}
		}
		switch in.Op {
		case kernel.OpLoad, kernel.OpGather, kernel.OpStore:
			if args[in.Imm] < 0 {
				args[in.Imm] = len(d.args)
				d.args = append(d.args, int(in.Imm))
				a := k.Args[in.Imm]
				access := make([]kernel.Access, len(axes))
				for j, axis := range axes {
					access[j] = a.Access[axis]
				}
				a.Access = access
				d.k.Args = append(d.k.Args, a)
			}
			in.Imm = uint64(args[in.Imm])
		case kernel.OpIndex:
			axis := slices.Index(axes, int(in.Imm))
			d.indexed[axis] = true
			in.Imm = uint64(axis)
		case kernel.OpExtent: // the axis may not be among ours
			n := slices.Index(d.extents, int(in.Imm))
			if n < 0 {
				n = len(d.extents)
				d.extents = append(d.extents, int(in.Imm))
				d.k.Params = append(d.k.Params, ir.I64)
			}
			in.Op, in.Imm = kernel.OpParam, uint64(len(k.Params)+n)
		}
		at[i] = kernel.Ref(len(d.k.Body))
		d.k.Body = append(d.k.Body, in)
	}
	d.rares(k, need, at)
	return d, at
}

// rares keeps the rare blocks of which something is left.
func (d *derived) rares(k *kernel.Kernel, need []bool, at []kernel.Ref) {
	before := func(r kernel.Ref) kernel.Ref { // instructions kept before r
		n := kernel.Ref(0)
		for _, kept := range need[:r] {
			if kept {
				n++
			}
		}
		return n
	}
	for _, r := range k.Rares {
		from, to := before(r.From), before(r.To)
		if from < to && at[r.Mask] != kernel.None {
			d.k.Rares = append(d.k.Rares, kernel.Rare{Mask: at[r.Mask], From: from, To: to})
		}
	}
}

// block adds the argument for a block, whose elements are adjacent along one axis
// of the whole, and returns its number.
func (d *derived) block(t ir.DType, dir kernel.Direction, inner int) int {
	access := make([]kernel.Access, len(d.axes)) // strided, loops included: no lanes run along these
	if i := slices.Index(d.axes, inner); i >= 0 {
		access[i] = kernel.Unit
	}
	d.k.Args = append(d.k.Args, kernel.Arg{Type: t, Dir: dir, Access: access})
	return len(d.k.Args) - 1
}
