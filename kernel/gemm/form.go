// Package gemm recognises kernels that libraries of linear algebra have a function for:
// one product of matrices, with at most a bias and a relu behind it. It says how such a
// library, to which a matrix is its columns, is asked for one launch.
//
// Invariant: what a [Problem] says is what the kernel computes, but for rounding: a library
// adds products in an order of its own, and adds a bias before it rounds.
package gemm

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Form is a kernel that is such a product: for each element of a batch, rows of X times
// columns of Z. All its arguments are of one type.
type Form struct {
	Type ir.DType // f32, f16 or bf16; sums are f32
	Relu bool

	x, z, bias, out           int // arguments; bias is -1 without one
	row, col, reduced, batchN int // axes; batchN is -1 without one
}

// stage is what has been done to an element of the result; 0 is another value.
type stage uint8

const (
	summed stage = 1 << iota
	biased
	activated
)

// Of returns the form of a verified kernel, nil if it is no such product.
func Of(k *kernel.Kernel) *Form {
	if len(k.Params) > 0 || len(k.Rares) > 0 || len(k.Reductions) != 1 || k.HasFault() {
		return nil
	}
	f := &Form{x: -1, z: -1, bias: -1, out: -1, row: -1, col: -1, reduced: -1, batchN: -1}
	// Per value: how far it has come, or the argument that it is an element of.
	at, loaded := make([]stage, len(k.Body)), make([]int, len(k.Body))
	for i := range loaded {
		loaded[i] = -1
	}
	for i := range k.Body {
		in := &k.Body[i]
		switch in.Op {
		case kernel.OpConst:
		case kernel.OpLoad:
			loaded[i] = int(in.Imm)
		case kernel.OpCvt: // of an element to f32, or of a result to and from its type
			at[i], loaded[i] = at[in.A], loaded[in.A]
			if at[i] == 0 && (loaded[i] < 0 || in.Type != ir.F32) {
				return nil
			}
		case kernel.OpReduce:
			if !k.Reductions[0].Kind.Binary() || f.x >= 0 {
				return nil
			}
			f.x, f.z, at[i] = loaded[in.A], loaded[in.B], summed
		case kernel.OpAdd:
			a, b := in.A, in.B
			if at[a] == 0 {
				a, b = b, a
			}
			if at[a] != summed || loaded[b] < 0 || f.bias >= 0 {
				return nil
			}
			f.bias, at[i] = loaded[b], summed|biased
		case kernel.OpMax:
			a, b := in.A, in.B
			if at[a] == 0 {
				a, b = b, a
			}
			if zero := &k.Body[b]; at[a] == 0 || at[a]&activated != 0 || zero.Op != kernel.OpConst || zero.Imm != 0 {
				return nil
			}
			f.Relu, at[i] = true, at[a]|activated
		case kernel.OpStore:
			if at[in.A] == 0 || f.out >= 0 {
				return nil
			}
			f.out = int(in.Imm)
			if (at[in.A]&biased != 0) != (f.bias >= 0) || (at[in.A]&activated != 0) != f.Relu {
				return nil // what was found leads elsewhere
			}
		default:
			return nil
		}
	}
	if f.x < 0 || f.z < 0 || f.out < 0 || !f.types(k) || !f.axes(k) {
		return nil
	}
	return f
}

// types checks that each argument is there once, and that all are of one type.
func (f *Form) types(k *kernel.Kernel) bool {
	n := 3
	if f.bias >= 0 {
		n++
	}
	if len(k.Args) != n || f.x == f.z || f.bias == f.x || f.bias == f.z {
		return false
	}
	f.Type = k.Args[f.out].Type
	if f.Type != ir.F32 && f.Type != ir.F16 && f.Type != ir.BF16 {
		return false
	}
	for i := range k.Args {
		a := &k.Args[i]
		if a.Type != f.Type || a.Gather || (a.Dir == kernel.Out) != (i == f.out) {
			return false
		}
	}
	// Nothing is rounded to another type on its way.
	for i := range k.Body {
		if in := &k.Body[i]; in.Op == kernel.OpCvt && in.Type != ir.F32 && in.Type != f.Type {
			return false
		}
	}
	return true
}

// axes finds what each axis walks over.
func (f *Form) axes(k *kernel.Kernel) bool {
	moves := func(arg, axis int) bool { return k.Args[arg].Access[axis] != kernel.Broadcast }
	set := func(at *int, axis int) bool {
		free := *at < 0
		*at = axis
		return free
	}
	for axis, kind := range k.Axes {
		x, z := moves(f.x, axis), moves(f.z, axis)
		ok := false
		switch {
		case kind == kernel.Reduced:
			ok = x && z && set(&f.reduced, axis)
		case !moves(f.out, axis):
		case x && z:
			ok = set(&f.batchN, axis)
		case x:
			ok = set(&f.row, axis)
		case z:
			ok = set(&f.col, axis)
		}
		if !ok || f.bias >= 0 && moves(f.bias, axis) && axis != f.col {
			return false
		}
	}
	return f.row >= 0 && f.col >= 0 && f.reduced >= 0 && (f.bias < 0 || moves(f.bias, f.col))
}
