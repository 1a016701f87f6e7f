package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// elementwiseThreads is the block size; a thread takes one vector.
const elementwiseThreads = 256

// emitElementwise writes the entry of a kernel without reduced axes. A thread
// takes `width` consecutive elements of the innermost axis. With width 1 any
// strides are allowed; wider, every argument is unit or broadcast along that
// axis, and what is left of it at the end is done one by one. Loose operands are read
// one by one.
func emitElementwise(k *kernel.Kernel, target Target, width int, loose argSet) (*emitter, error) {
	e := newEmitter(k)
	e.setInnermostDepths()
	if width%2 == 0 {
		e.halves = halvesOf(k, target)
	}
	inner := len(k.Axes) - 1
	e.along = inner

	item := e.threadItem(elementwiseThreads)
	done := e.label()
	e.opIf(e.to(pred, "setp.ge.u64", item, e.slotReg(slotItems, 0, 0)), "bra", done)
	first := e.locate(item, width)
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	refs := e.elementRefs(func(int) bool { return true })
	if width == 1 || inner < 0 {
		if err := e.evalTile(refs, e.vectorAt(1, first, 0)); err != nil {
			return nil, err
		}
		e.storeOuter(0, "")
		e.place(done)
		return e, nil
	}
	extent := e.slotReg(slotExtent, inner, 0)
	left := e.to(b64, "sub.s64", extent, first)
	tail := e.label()
	e.opIf(e.to(pred, "setp.lt.s64", left, fmt.Sprint(width)), "bra", tail)
	if err := e.evalTile(refs, e.vectorAt(width, first, loose)); err != nil {
		return nil, err
	}
	e.op("bra", done)
	e.place(tail)
	if err := e.tail(refs, first, extent); err != nil {
		return nil, err
	}
	e.place(done)
	return e, nil
}

// locate finds the place of an item, which is a vector of the innermost axis: the index
// along every other axis, and the addresses there. It returns the first element along the
// innermost axis.
func (e *emitter) locate(item reg, width int) (first reg) {
	inner := len(e.k.Axes) - 1
	idx := make([]reg, len(e.k.Axes))
	first = item
	if inner > 0 {
		item32 := e.to(b32, "cvt.u32.u64", item)
		per := e.slotReg32(slotInner, 0)
		row := e.to(b32, "div.u32", item32, per)
		in := e.to(b32, "sub.u32", item32, e.to(b32, "mul.lo.u32", row, per))
		first = e.to(b64, "cvt.u64.u32", in)
		axes := make([]int, inner)
		for i := range axes {
			axes[i] = i
		}
		e.decode(row, axes, idx)
	}
	if width > 1 {
		first = e.to(b64, "mul.lo.u64", first, fmt.Sprint(width))
	}
	if inner >= 0 {
		idx[inner] = first
	}
	e.axisAt = func(axis int) reg {
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), idx[axis])
	}
	e.ptr = make([]reg, len(e.k.Args))
	e.addresses(idx[:max(inner, 0)])
	return first
}

// vectorAt is a tile of n elements of the innermost axis from `at` on, where locate was
// last. Loose operands are read one by one.
func (e *emitter) vectorAt(n int, at reg, loose argSet) *tile {
	k, inner, ptr := e.k, len(e.k.Axes)-1, e.ptr
	t := &tile{n: n, vals: map[kernel.Ref][]reg{}}
	cache := map[int]reg{}
	t.address = func(arg int) (reg, int64) {
		if r, ok := cache[arg]; ok {
			return r, 0
		}
		r := ptr[arg]
		if inner >= 0 {
			switch k.Args[arg].Access[inner] {
			case kernel.Unit:
				r = e.to(b64, "mad.lo.s64", at, fmt.Sprint(k.Args[arg].Type.Size()), r)
			case kernel.Strided:
				r = e.to(b64, "mad.lo.s64", at, e.slotReg(slotStride, arg, inner), r)
			}
		}
		cache[arg] = r
		return r, 0
	}
	if n > 1 && loose != 0 {
		t.load = func(in *kernel.Instr) []reg {
			p, off := t.address(int(in.Imm))
			if !loose.has(int(in.Imm)) {
				return e.loadVector(in.Type, t.n, p, off, t.guard)
			}
			out := make([]reg, n)
			for i := range out {
				out[i] = e.loadOne(in.Type, p, off+int64(i*in.Type.Size()), t.guard)
			}
			return out
		}
	}
	t.index = func(axis, lane int) reg {
		if axis != inner {
			return ""
		}
		r := e.to(b64, "add.s64", e.slotReg(slotStart, inner, 0), at)
		if lane > 0 {
			r = e.to(b64, "add.s64", r, fmt.Sprint(lane))
		}
		return r
	}
	return t
}

// tail does the elements of the innermost axis from first on one by one.
func (e *emitter) tail(refs []kernel.Ref, first, extent reg) error {
	at := e.to(b64, "mov.b64", first)
	loop := e.label()
	e.place(loop)
	if err := e.evalTile(refs, e.vectorAt(1, at, 0)); err != nil {
		return err
	}
	e.op("add.s64", at, at, "1")
	e.opIf(e.to(pred, "setp.lt.s64", at, extent), "bra", loop)
	return nil
}

// setInnermostDepths marks what varies along the innermost axis.
func (e *emitter) setInnermostDepths() {
	k := e.k
	inner := len(k.Axes) - 1
	e.depth = make([]int, len(k.Body))
	e.rares = k.Rares
	for i := range k.Body {
		in := &k.Body[i]
		d := 0
		switch in.Op {
		case kernel.OpIndex:
			d = 1
			if int(in.Imm) == inner {
				d = elementDepth
			}
		case kernel.OpLoad, kernel.OpGather, kernel.OpStore:
			d = e.argDepth(k.Args[in.Imm])
		}
		in.Operands(func(r kernel.Ref) { d = max(d, e.depth[r]) })
		e.depth[i] = d
	}
}

// threadItem is the linear number of the thread in the grid, as 64 bits.
func (e *emitter) threadItem(threads int) reg {
	block := e.to(b32, "mov.u32", "%ctaid.x")
	base := e.to(b64, "mul.wide.u32", block, fmt.Sprint(threads))
	tid := e.to(b64, "cvt.u64.u32", e.to(b32, "mov.u32", "%tid.x"))
	return e.to(b64, "add.u64", base, tid)
}

// decode splits a linear number over some axes, the last of them fastest, into
// idx. The first axis takes the rest without a division.
func (e *emitter) decode(linear reg, axes []int, idx []reg) {
	for i := len(axes) - 1; i >= 0; i-- {
		if i == 0 {
			idx[axes[i]] = e.to(b64, "cvt.u64.u32", linear)
			return
		}
		ext := e.slotReg32(slotExtent, axes[i])
		q := e.to(b32, "div.u32", linear, ext)
		r := e.to(b32, "sub.u32", linear, e.to(b32, "mul.lo.u32", q, ext))
		idx[axes[i]] = e.to(b64, "cvt.u64.u32", r)
		linear = q
	}
}

// addresses sets e.ptr: each argument's address moved along the axes for which
// idx has a register.
func (e *emitter) addresses(idx []reg) {
	for arg := range e.k.Args {
		p := e.slotReg(slotPointer, arg, 0)
		for axis, r := range idx {
			if r != "" {
				p = e.shifted(p, arg, axis, r)
			}
		}
		e.ptr[arg] = p
	}
}

// shifted is an address moved by a number of elements along an axis of its argument.
func (e *emitter) shifted(at reg, arg, axis int, n reg) reg {
	switch a := e.k.Args[arg]; a.Access[axis] {
	case kernel.Unit:
		return e.to(b64, "mad.lo.s64", n, fmt.Sprint(a.Type.Size()), at)
	case kernel.Strided:
		return e.to(b64, "mad.lo.s64", n, e.slotReg(slotStride, arg, axis), at)
	}
	return at
}

// elementRefs lists, in order, the element-level stores that `store` admits by
// stage and everything at element level that they need.
func (e *emitter) elementRefs(store func(stage int) bool) []kernel.Ref {
	need := map[kernel.Ref]bool{}
	for i := range e.k.Body {
		in := &e.k.Body[i]
		if in.Op == kernel.OpStore && e.depth[i] >= elementDepth && store(e.stage[i]) {
			need[kernel.Ref(i)] = true
		}
	}
	return e.closure(need)
}

// closure adds what the needed element-level values depend on, and returns all
// in body order.
func (e *emitter) closure(need map[kernel.Ref]bool) []kernel.Ref {
	for i := len(e.k.Body) - 1; i >= 0; i-- {
		r := kernel.Ref(i)
		if need[r] {
			e.operands(r, func(o kernel.Ref) {
				if e.depth[o] >= elementDepth {
					need[o] = true
				}
			})
		}
	}
	var out []kernel.Ref
	for i := range e.k.Body {
		if need[kernel.Ref(i)] {
			out = append(out, kernel.Ref(i))
		}
	}
	return out
}
