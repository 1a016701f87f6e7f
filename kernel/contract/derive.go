package contract

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// derived is an elementwise kernel that was taken out of a contraction. It reads or
// writes a block of one operand or of products, its last argument.
type derived = kernel.Derived

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
	d, at := f.k.Derive(name, f.k.Closure(s.ref), axes)
	block := d.Block(s.typ, kernel.Out, inner)
	emit := func(op kernel.Op, t ir.DType, imm uint64, refs ...kernel.Ref) kernel.Ref {
		in := kernel.Instr{Op: op, Type: t, A: kernel.None, B: kernel.None, C: kernel.None, Imm: imm}
		for i, r := range refs {
			*[]*kernel.Ref{&in.A, &in.B, &in.C}[i] = r
		}
		d.K.Body = append(d.K.Body, in)
		return kernel.Ref(len(d.K.Body) - 1)
	}
	v := at[s.ref]
	if s.flip {
		v = emit(kernel.OpCvt, ir.I32, 0, v)
		v = emit(kernel.OpXor, ir.I32, 0, v, emit(kernel.OpConst, ir.I32, 0x80))
	}
	if d.K.Body[v].Type != s.typ {
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
	d, at := f.k.Derive(f.k.Name+" epilogue", need, axes)
	block := d.Block(f.typ, kernel.In, inner)
	if r := at[f.dot]; r != kernel.None {
		d.K.Body[r] = kernel.Instr{Op: kernel.OpLoad, Type: f.typ, A: kernel.None, B: kernel.None, C: kernel.None, Imm: uint64(block)}
	}
	return d
}
