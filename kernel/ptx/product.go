package ptx

import "github.com/sinter-go/sinter/kernel"

// product is the form of a kernel that is one sum of products with what surrounds
// it: each parallel axis moves the first operand alone (a row of the matrix of
// results), the second alone (a column), or both or neither (the batch).
type product struct {
	dot            kernel.Ref
	rows, cols     []int // parallel axes
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
	for axis, kind := range k.Axes {
		if kind == kernel.Reduced {
			p.reduced = append(p.reduced, axis)
			continue
		}
		v := varies(k, axis)
		switch x, z := v[k.Body[p.dot].A], v[k.Body[p.dot].B]; {
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
