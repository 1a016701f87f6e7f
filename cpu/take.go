package cpu

import (
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
)

// take is the code of a kernel that only takes what indices name, as gather and
// take_along do by themselves. Whole rows are copied, and single elements are loaded
// one by one, which is faster than gathering vectors of them. Launches with another
// layout, or with an index out of range, are run by the generated code.
type take struct {
	code
	size     int // of an element
	from     int // number of the parameter that negative indices count from
	in, i, o int // numbers of the arguments: elements, index, result
	axes     int
	rows     bool // the innermost axis is one of the rows, not of the index
}

const maxTakeAxes = 8

// taking returns c, or a take over it where the kernel is one.
func taking(k *kernel.Kernel, c code) code {
	if len(k.Body) != 8 || len(k.Args) != 3 || len(k.Axes) == 0 || len(k.Axes) > maxTakeAxes {
		return c
	}
	// The index, from the end if it is negative, then the element, as it is.
	ops := [8]kernel.Op{kernel.OpLoad, kernel.OpParam, kernel.OpConst, kernel.OpLt, kernel.OpAdd, kernel.OpSelect, kernel.OpGather, kernel.OpStore}
	refs := [8][3]kernel.Ref{3: {0, 2}, 4: {0, 1}, 5: {3, 4, 0}, 6: {5}, 7: {6}}
	for i, in := range k.Body {
		if in.Op != ops[i] {
			return c
		}
		got := [3]kernel.Ref{in.A, in.B, in.C}
		for j, r := range got {
			if r == kernel.None {
				r = 0
			}
			if r != refs[i][j] {
				return c
			}
		}
	}
	if k.Body[2].Imm != 0 {
		return c
	}
	t := &take{code: c, from: int(k.Body[1].Imm), i: int(k.Body[0].Imm), in: int(k.Body[6].Imm), o: int(k.Body[7].Imm), axes: len(k.Axes)}
	t.size = k.Args[t.o].Type.Size()
	last := t.axes - 1
	access := func(arg int) kernel.Access { return k.Args[arg].Access[last] }
	if k.Axes[last] != kernel.Parallel || k.Args[t.in].Type != k.Args[t.o].Type || access(t.o) != kernel.Unit {
		return c
	}
	switch {
	case access(t.in) == kernel.Unit && access(t.i) == kernel.Broadcast:
		t.rows = true
	case access(t.in) != kernel.Broadcast || access(t.i) != kernel.Unit:
		return c
	}
	return t
}

// Run runs a launch.
func (t *take) Run(l *kernel.Launch) {
	ok := false
	switch t.size {
	case 1:
		ok = takeAll[uint8](t, l)
	case 2:
		ok = takeAll[uint16](t, l)
	case 4:
		ok = takeAll[uint32](t, l)
	default:
		ok = takeAll[uint64](t, l)
	}
	if !ok {
		t.code.Run(l)
	}
}

// takeAll reports whether all indices lie in the axis; else it stops.
func takeAll[T any](t *take, l *kernel.Launch) bool {
	in, index, out := &l.Args[t.in], &l.Args[t.i], &l.Args[t.o]
	n, negative := l.Extents[t.axes-1], int64(l.Params[t.from])
	if in.GatherStride < 1 {
		return false
	}
	var at [maxTakeAxes]int64
	for {
		x, i, y := in.Offset, index.Offset, out.Offset
		for a, c := range at[:t.axes-1] {
			x, i, y = x+c*in.Strides[a], i+c*index.Strides[a], y+c*out.Strides[a]
		}
		row := unsafe.Slice((*T)(addressOf(out, y, t.size)), n)
		if t.rows {
			v := *(*int64)(addressOf(index, i, 8))
			if v < 0 {
				v += negative
			}
			if uint64(v) >= uint64(in.GatherExtent) {
				return false
			}
			copy(row, unsafe.Slice((*T)(addressOf(in, x+v*in.GatherStride, t.size)), n))
		} else {
			from := unsafe.Slice((*T)(addressOf(in, x, t.size)), (in.GatherExtent-1)*in.GatherStride+1)
			if !takeRow(row, from, unsafe.Slice((*int64)(addressOf(index, i, 8)), n), negative, in.GatherStride) {
				return false
			}
		}
		a := t.axes - 2
		for ; a >= 0; a-- { // the next row
			if at[a]++; at[a] < l.Extents[a] {
				break
			}
			at[a] = 0
		}
		if a < 0 {
			return true
		}
	}
}

// addressOf is the address of an element of an operand.
func addressOf(o *kernel.Operand, at int64, size int) unsafe.Pointer {
	return unsafe.Add(o.Base, at*int64(size))
}

// takeRow takes elements step apart, and reports whether all indices lie in from.
func takeRow[T any](to, from []T, index []int64, negative, step int64) bool {
	index = index[:len(to)]
	if step == 1 {
		for j, v := range index {
			v += v >> 63 & negative
			if uint64(v) >= uint64(len(from)) {
				return false
			}
			to[j] = from[v]
		}
		return true
	}
	last := int64(len(from)-1) / step
	for j, v := range index {
		v += v >> 63 & negative
		if v < 0 || v > last {
			return false
		}
		to[j] = from[v*step]
	}
	return true
}
