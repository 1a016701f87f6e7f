package kernel

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Derived is an elementwise kernel that was taken out of another one.
type Derived struct {
	K       *Kernel
	Axes    []int  // of the derived kernel, by number in the whole
	Args    []int  // likewise, without those that Block adds
	Extents []int  // axes of the whole whose full extents are further parameters, behind the whole's
	Indexed []bool // by axis of the derived kernel: its index is used
}

// Closure says which instructions a value needs, itself included.
func (k *Kernel) Closure(r Ref) []bool {
	need := make([]bool, len(k.Body))
	need[r] = true
	for i := int(r); i >= 0; i-- {
		if need[i] {
			k.Body[i].Operands(func(o Ref) { need[o] = true })
		}
	}
	return need
}

// Derive copies the instructions that are needed to a kernel over some axes, all
// parallel. at says where each has gone.
func (k *Kernel) Derive(name string, need []bool, axes []int) (d *Derived, at []Ref) {
	d = &Derived{Axes: axes, Indexed: make([]bool, len(axes))}
	d.K = &Kernel{Name: name, Axes: make([]AxisKind, len(axes)), Params: slices.Clone(k.Params)}
	args := make([]int, len(k.Args))
	for i := range args {
		args[i] = -1
	}
	at = make([]Ref, len(k.Body)+1)
	for i := range k.Body {
		at[i] = None
		if !need[i] {
			continue
		}
		in := k.Body[i]
		for _, r := range []*Ref{&in.A, &in.B, &in.C} {
			if *r != None {
				*r = at[*r]
			}
		}
		switch in.Op {
		case OpLoad, OpGather, OpStore:
			if args[in.Imm] < 0 {
				args[in.Imm] = len(d.Args)
				d.Args = append(d.Args, int(in.Imm))
				a := k.Args[in.Imm]
				access := make([]Access, len(axes))
				for j, axis := range axes {
					access[j] = a.Access[axis]
				}
				a.Access = access
				d.K.Args = append(d.K.Args, a)
			}
			in.Imm = uint64(args[in.Imm])
		case OpIndex:
			axis := slices.Index(axes, int(in.Imm))
			d.Indexed[axis] = true
			in.Imm = uint64(axis)
		case OpExtent: // the axis may not be among ours
			n := slices.Index(d.Extents, int(in.Imm))
			if n < 0 {
				n = len(d.Extents)
				d.Extents = append(d.Extents, int(in.Imm))
				d.K.Params = append(d.K.Params, ir.I64)
			}
			in.Op, in.Imm = OpParam, uint64(len(k.Params)+n)
		}
		at[i] = Ref(len(d.K.Body))
		d.K.Body = append(d.K.Body, in)
	}
	d.rares(k, need, at)
	return d, at
}

// rares keeps the rare blocks of which something is left.
func (d *Derived) rares(k *Kernel, need []bool, at []Ref) {
	before := func(r Ref) Ref { // instructions kept before r
		n := Ref(0)
		for _, kept := range need[:r] {
			if kept {
				n++
			}
		}
		return n
	}
	for _, r := range k.Rares {
		from, to := before(r.From), before(r.To)
		if from < to && at[r.Mask] != None {
			d.K.Rares = append(d.K.Rares, Rare{Mask: at[r.Mask], From: from, To: to})
		}
	}
}

// Block adds the argument for a block, whose elements are adjacent along one axis
// of the whole, and returns its number.
func (d *Derived) Block(t ir.DType, dir Direction, inner int) int {
	access := make([]Access, len(d.Axes)) // strided, loops included: no lanes run along these
	if i := slices.Index(d.Axes, inner); i >= 0 {
		access[i] = Unit
	}
	d.K.Args = append(d.K.Args, Arg{Type: t, Dir: dir, Access: access})
	return len(d.K.Args) - 1
}
