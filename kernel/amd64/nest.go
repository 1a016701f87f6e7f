package amd64

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// nest runs a kernel that reduces several axes as one that reduces a single axis,
// with lanes along it: element number i of the group decides the partial. What
// does not lie in memory in the order of the group is copied to a row first, or
// from one afterwards. It serves launches where lanes along a kept axis would be
// few, or far apart in memory.
type nest struct {
	k        *kernel.Kernel // with one reduced axis, at from
	from, to int            // reduced axes of the whole
	extents  []int          // axes whose full extents are further parameters
	indices  []int          // axes whose indices are further arguments
	compile  func() *Code
	made     atomic.Pointer[Code] // by compile, to be saved
	pool     sync.Pool            // of *[]byte
}

// Groups of fewer elements are not worth a call each, those of more not the memory.
const (
	nestMin = 256
	nestMax = 1 << 20
)

// newNest returns the nest of a kernel, nil if it would not help.
func newNest(k *kernel.Kernel, level Level) *nest {
	from, to := k.ReducedAxes()
	if to-from < 2 {
		return nil
	}
	ordered := false
	for i := range k.Body {
		in := &k.Body[i]
		switch in.Op {
		case kernel.OpScan:
			return nil
		case kernel.OpReduce:
			r := k.Reductions[in.Imm]
			extremum := r.Kind == kernel.Max || r.Kind == kernel.Min || r.Kind == kernel.ArgMax || r.Kind == kernel.ArgMin
			ordered = ordered || in.Type.IsFloat() && !extremum
		}
	}
	if !ordered {
		return nil
	}
	n := &nest{from: from, to: to}
	out := *k
	out.Axes = slices.Concat(k.Axes[:from+1], k.Axes[to:])
	out.Args, out.Body, out.Params = nil, slices.Clone(k.Body), slices.Clone(k.Params)
	for _, a := range k.Args {
		inside := kernel.Broadcast
		for _, c := range a.Access[from:to] {
			if c != kernel.Broadcast {
				inside = kernel.Unit
			}
		}
		if a.Gather && inside != kernel.Broadcast {
			return nil
		}
		a.Access = slices.Concat(a.Access[:from], []kernel.Access{inside}, a.Access[to:])
		out.Args = append(out.Args, a)
	}
	for i := range out.Body {
		in := &out.Body[i]
		axis := int(in.Imm)
		switch {
		case in.Op != kernel.OpIndex && in.Op != kernel.OpExtent || axis < from:
		case axis >= to:
			in.Imm -= uint64(to - from - 1)
		case in.Op == kernel.OpExtent:
			in.Op, in.Imm = kernel.OpParam, uint64(len(out.Params))
			out.Params = append(out.Params, ir.I64)
			n.extents = append(n.extents, axis)
		default:
			in.Op, in.Imm = kernel.OpLoad, uint64(len(out.Args))
			access := make([]kernel.Access, len(out.Axes))
			for j := range access {
				access[j] = kernel.Broadcast
			}
			access[from] = kernel.Unit
			out.Args = append(out.Args, kernel.Arg{Type: ir.I64, Dir: kernel.In, Access: access})
			n.indices = append(n.indices, axis)
		}
	}
	if len(out.Args) > maxArgs {
		return nil
	}
	n.k = &out
	n.compile = sync.OnceValue(func() *Code {
		p, err := generate(n.k, level, false)
		if err != nil || !p.byRows {
			return nil
		}
		c, err := load(p)
		if err != nil {
			return nil
		}
		c.alone()
		n.made.Store(c)
		return c
	})
	return n
}

// nested returns the code that should run a launch as one row for every kept
// element, nil if c should.
func (c *Code) nested(l *kernel.Launch) *Code {
	n := c.nest
	if n == nil {
		return nil
	}
	total := product(l.Extents[n.from:n.to])
	if total < nestMin || total > nestMax {
		return nil
	}
	apart := c.vAxis < 0 || l.Extents[c.vAxis] < int64(c.program.lanes)/2
	for i := range c.k.Args {
		apart = apart || c.k.Args[i].Access[c.vAxis] == kernel.Strided
	}
	if !apart {
		return nil
	}
	return n.compile()
}

func product(x []int64) int64 {
	n := int64(1)
	for _, v := range x {
		n *= v
	}
	return n
}

// rowOperand is an argument of a nest: in place if row is nil, else copied.
type rowOperand struct {
	row  []byte
	last int64 // the offset it was copied from
	full bool  // it was copied
}

// run executes a launch with the code s, and reports whether data was at fault.
func (n *nest) run(s *Code, l *kernel.Launch) (fault bool) {
	extents := l.Extents[n.from:n.to]
	total := product(extents)
	merged := func(x []int64, inside int64) []int64 {
		return slices.Concat(x[:n.from], []int64{inside}, x[n.to:])
	}
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	in := &kernel.Launch{Full: merged(full, total), Params: slices.Clone(l.Params)}
	for _, axis := range n.extents {
		in.Params = append(in.Params, uint64(full[axis]))
	}
	one := make([]int64, len(l.Extents))
	for i := range one {
		one[i] = 1
	}
	in.Extents = merged(one, total)
	start := make([]int64, len(l.Extents))
	copy(start, l.Start)

	rows := make([]rowOperand, len(n.k.Args))
	need := 0
	linear := func(arg int) bool {
		o, step := &l.Args[arg], int64(1)
		if n.k.Args[arg].Access[n.from] == kernel.Broadcast {
			return true
		}
		for axis := n.to - 1; axis >= n.from; axis-- {
			if e := l.Extents[axis]; e > 1 {
				if o.Strides[axis] != step {
					return false
				}
				step *= e
			}
		}
		return true
	}
	size := func(arg int) int { return int(total) * n.k.Args[arg].Type.Size() }
	copied := func(arg int) bool { return arg >= len(l.Args) || !linear(arg) }
	for i := range rows {
		if copied(i) {
			need += (size(i) + 63) &^ 63
		}
	}
	buf := n.take(need)
	if need <= keptScratch {
		defer n.pool.Put(buf)
	}
	at := 0
	for i := range rows {
		if copied(i) {
			rows[i].row = (*buf)[at : at+size(i)]
			at += (size(i) + 63) &^ 63
		}
	}
	for i := range rows {
		o := kernel.Operand{Strides: merged(one, 1)}
		if i < len(l.Args) {
			o = l.Args[i]
			o.Strides = merged(o.Strides, 1)
		}
		if n.k.Args[i].Access[n.from] == kernel.Broadcast {
			o.Strides[n.from] = 0
		}
		if rows[i].row != nil {
			o.Base, o.Size, o.Offset = unsafe.Pointer(unsafe.SliceData(rows[i].row)), int64(len(rows[i].row)), 0
		}
		in.Args = append(in.Args, o)
	}
	for i, axis := range n.indices {
		fillIndices(rows[len(l.Args)+i].row, extents, axis-n.from, start[axis])
	}

	idx := make([]int64, len(l.Extents))
	for {
		n.bindRow(l, in, rows, idx, start)
		fault = s.run(in) || fault
		for i, a := range n.k.Args[:len(l.Args)] {
			if a.Dir == kernel.Out && rows[i].row != nil {
				o := &l.Args[i]
				copyNest(rows[i].row, o, offsetAt(o, idx), extents, o.Strides[n.from:n.to], a.Type.Size(), false)
			}
		}
		if !n.next(l, idx) {
			return fault
		}
	}
}

// take returns memory for the rows.
func (n *nest) take(need int) *[]byte {
	if buf, ok := n.pool.Get().(*[]byte); ok && len(*buf) >= need {
		return buf
	}
	buf := aligned(need)
	return &buf
}

// bindRow points the launch of one row at the kept element idx.
func (n *nest) bindRow(l, in *kernel.Launch, rows []rowOperand, idx, start []int64) {
	in.Start = in.Start[:0]
	for axis, i := range idx {
		if axis <= n.from || axis >= n.to {
			in.Start = append(in.Start, i+start[axis])
		}
	}
	in.Start[n.from] = 0
	for i := range l.Args {
		o, a := &l.Args[i], &n.k.Args[i]
		at, r := offsetAt(o, idx), &rows[i]
		switch {
		case r.row == nil:
			in.Args[i].Offset = at
		case a.Dir == kernel.In && (!r.full || r.last != at):
			copyNest(r.row, o, at, l.Extents[n.from:n.to], o.Strides[n.from:n.to], a.Type.Size(), true)
			r.full, r.last = true, at
		}
	}
}

// next steps to the next kept element.
func (n *nest) next(l *kernel.Launch, idx []int64) bool {
	for axis := len(idx) - 1; axis >= 0; axis-- {
		if axis >= n.from && axis < n.to {
			continue
		}
		if idx[axis]++; idx[axis] < l.Extents[axis] {
			return true
		}
		idx[axis] = 0
	}
	return false
}

func offsetAt(o *kernel.Operand, idx []int64) int64 {
	at := o.Offset
	for axis, i := range idx {
		at += i * o.Strides[axis]
	}
	return at
}

// fillIndices writes the index along one axis of a group, for all its elements.
func fillIndices(row []byte, extents []int64, axis int, start int64) {
	inner, n := product(extents[axis+1:]), extents[axis]
	x := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(row))), len(row)/8)
	for i := range x {
		x[i] = start + int64(i)/inner%n
	}
}

// copyNest copies a group in logical order between a row and an operand.
func copyNest(row []byte, o *kernel.Operand, at int64, extents, strides []int64, size int, in bool) {
	p := unsafe.Add(o.Base, at*int64(size))
	r := unsafe.Pointer(unsafe.SliceData(row))
	var walk func(p unsafe.Pointer, axis int)
	walk = func(p unsafe.Pointer, axis int) {
		n, step := extents[axis], strides[axis]*int64(size)
		if axis < len(extents)-1 {
			for i := range n {
				walk(unsafe.Add(p, i*step), axis+1)
			}
			return
		}
		copyRun(r, p, n, step, size, in)
		r = unsafe.Add(r, n*int64(size))
	}
	walk(p, 0)
}

// copyRun copies n elements between r, where they are adjacent, and p, where they
// are step bytes apart.
func copyRun(r, p unsafe.Pointer, n, step int64, size int, in bool) {
	switch {
	case step == int64(size):
		a, b := unsafe.Slice((*byte)(r), n*step), unsafe.Slice((*byte)(p), n*step)
		if !in {
			a, b = b, a
		}
		copy(a, b)
	case size == 1:
		copySteps[uint8](r, p, n, step, in)
	case size == 2:
		copySteps[uint16](r, p, n, step, in)
	case size == 4:
		copySteps[uint32](r, p, n, step, in)
	default:
		copySteps[uint64](r, p, n, step, in)
	}
}

func copySteps[T uint8 | uint16 | uint32 | uint64](r, p unsafe.Pointer, n, step int64, in bool) {
	row, at := unsafe.Slice((*T)(r), n), int64(0)
	for i := range row {
		q := (*T)(unsafe.Add(p, at))
		if in {
			row[i] = *q
		} else {
			*q = row[i]
		}
		at += step
	}
}
