package ptx

import "github.com/sinter-go/sinter/kernel"

// product is the form of a kernel that is one sum of products with what surrounds
// it: each parallel axis moves the first operand alone (a row of the matrix of
// results), the second alone (a column), or both or neither (the batch).
type product struct {
	dot            kernel.Ref
	x, z           kernel.Ref // its operands
	guard          bool       // z is taken for 0 where x is 0: then there is nothing to add
	rows, cols     []int      // parallel axes
	batch, reduced []int
}

// productOf returns the form of a kernel, or nil: it has other reductions or
// scans, or stores elements of the group; or, unless anything else would change bits,
// may note faults.
func productOf(k *kernel.Kernel, always bool) *product {
	p := &product{dot: kernel.None}
	levels := k.Levels()
	for i := range k.Body {
		in := &k.Body[i]
		switch {
		case in.Op == kernel.OpScan, in.Op == kernel.OpReduce && p.dot != kernel.None:
			return nil
		case in.Op == kernel.OpReduce:
			if k.Reductions[in.Imm].Kind != kernel.Dot {
				return nil
			}
			p.dot = kernel.Ref(i)
		case in.Op == kernel.OpStore && levels[i] == kernel.ElementLevel:
			return nil
		}
	}
	if p.dot == kernel.None || k.HasFault() && !always {
		return nil
	}
	p.x, p.z = k.Body[p.dot].A, k.Body[p.dot].B
	if v := guarded(k, p); v != kernel.None && !always {
		p.z, p.guard = v, true
	}
	for axis, kind := range k.Axes {
		if kind == kernel.Reduced {
			p.reduced = append(p.reduced, axis)
			continue
		}
		v := varies(k, axis)
		switch x, z := v[p.x], v[p.z]; {
		case x && !z:
			p.rows = append(p.rows, axis)
		case z && !x:
			p.cols = append(p.cols, axis)
		default:
			p.batch = append(p.batch, axis)
		}
	}
	return p
}

// turn exchanges rows and columns where that makes more of the results neighbours in memory
// along columns. Which operand is the first changes no bit, but for those left out by a
// guard: a product of two numbers is the same either way, and each sum is the same chain.
// Where results lie differently those of most bytes decide, and nothing is exchanged if none
// are more.
func (p *product) turn(k *kernel.Kernel) {
	if p.guard || len(p.rows) == 0 || len(p.cols) == 0 {
		return
	}
	row, col := p.rows[len(p.rows)-1], p.cols[len(p.cols)-1]
	along := 0 // bytes of a result that lie along rows, less those that lie along columns
	for _, a := range k.Args {
		if a.Dir != kernel.Out {
			continue
		}
		switch size := a.Type.Size(); {
		case a.Access[col] == kernel.Unit:
			along -= size
		case a.Access[row] == kernel.Unit:
			along += size
		}
	}
	if along > 0 {
		p.x, p.z, p.rows, p.cols = p.z, p.x, p.cols, p.rows
	}
}

// guarded returns v where z is select(x == 0, 0, v), and +0 is added to the sum before
// it is used, or None. Leaving out what is multiplied by 0 then changes no bit: it
// could only have changed the sign of a sum that is 0.
func guarded(k *kernel.Kernel, p *product) kernel.Ref {
	x, z := p.x, p.z
	zero := func(r kernel.Ref) bool {
		in := &k.Body[r]
		return in.Op == kernel.OpConst && in.Imm == 0
	}
	for i := range k.Body {
		in, uses := &k.Body[i], false
		in.Operands(func(r kernel.Ref) { uses = uses || r == p.dot })
		if uses && !(in.Op == kernel.OpAdd && (in.A == p.dot && zero(in.B) || in.B == p.dot && zero(in.A))) {
			return kernel.None
		}
	}
	s := &k.Body[z]
	if s.Op != kernel.OpSelect || !s.Type.IsFloat() || !zero(s.B) {
		return kernel.None
	}
	eq := &k.Body[s.A]
	if eq.Op == kernel.OpEq && (eq.A == x && zero(eq.B) || eq.B == x && zero(eq.A)) {
		return s.C
	}
	return kernel.None
}

// varies says of every value whether it changes along an axis.
func varies(k *kernel.Kernel, axis int) []bool {
	v := make([]bool, len(k.Body))
	for i := range k.Body {
		in := &k.Body[i]
		switch in.Op {
		case kernel.OpLoad, kernel.OpStore:
			v[i] = k.Args[in.Imm].Access[axis] != kernel.Broadcast
		case kernel.OpIndex:
			v[i] = int(in.Imm) == axis
		}
		in.Operands(func(r kernel.Ref) { v[i] = v[i] || v[r] })
	}
	return v
}

// extent multiplies the extents of axes.
func extent(l *kernel.Launch, axes []int) int64 {
	n := int64(1)
	for _, a := range axes {
		n *= l.Extents[a]
	}
	return n
}
