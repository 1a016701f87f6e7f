package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// emitter translates the body of one kernel into one entry. A value's depth
// says how often it is evaluated: once per entry or per row (below elementDepth)
// or for every element of a tile.
type emitter struct {
	*asm
	k      *kernel.Kernel
	depth  []int
	stage  []int
	outer  map[kernel.Ref]reg // values below element depth
	rares  []kernel.Rare
	axisAt func(axis int) reg // i64 logical index of an axis at outer depth
	ptr    []reg              // per argument: address at outer depth
	word   int                // bytes of one register of a reduction's state in memory
	halves map[kernel.Ref]halfOp
	// Operations on bytes, which are done in words where elements are.
	byteOps map[kernel.Ref]byteOp
	lookup  *lookup // looked up in the table at the start of dynamic shared memory
	// scan returns a scan up to the element whose value is given.
	scan func(in *kernel.Instr, r kernel.Ref, v, guard reg) reg
	// The reduced axes are [fromAxis,toAxis).
	fromAxis, toAxis int
	// The elements of a tile are neighbours along an axis, and aligned in arguments that are
	// unit there; -1 if that is not so.
	along int
}

const elementDepth = 2

// tile is a few consecutive elements of one thread.
type tile struct {
	n     int
	vals  map[kernel.Ref][]reg
	guard reg // predicate "the tile is inside"; "" if it always is
	// address of the first element of an argument in the tile, as a register
	// and a constant offset in bytes.
	address func(arg int) (reg, int64)
	index   func(axis, lane int) reg // i64 logical index of an element
	// position of an element in the reduced group; nil without one.
	position func(lane int) reg
	load     func(in *kernel.Instr) []reg // in place of a vector at the address; nil for that

	store func(in *kernel.Instr, vals []reg) // in place of a store to the address

	refs []kernel.Ref     // of a tile on its way to shared memory: what it computes
	put  func(buffer reg) // and how it gets there
}

func newEmitter(k *kernel.Kernel) *emitter {
	e := &emitter{asm: newAsm(), k: k, stage: k.Stages(), outer: map[kernel.Ref]reg{}, byteOps: bytesOf(k), ptr: make([]reg, len(k.Args)), along: -1}
	e.fromAxis, e.toAxis = k.ReducedAxes()
	return e
}

// value returns operand r for one element of a tile; t is nil at outer depth.
func (e *emitter) value(r kernel.Ref, t *tile, lane int) reg {
	if r == kernel.None {
		return ""
	}
	if e.depth[r] < elementDepth || t == nil {
		return e.outer[r]
	}
	return t.vals[r][lane]
}

// evalOuter evaluates the values below element depth of one stage, without
// stores. Reduce results are put into e.outer by the caller before.
func (e *emitter) evalOuter(stage int) error {
	for i := range e.k.Body {
		in := &e.k.Body[i]
		r := kernel.Ref(i)
		if e.depth[i] >= elementDepth || e.stage[i] != stage || in.Op == kernel.OpStore || in.Op == kernel.OpReduce {
			continue
		}
		v, err := e.instr(in, nil, 0)
		if err != nil {
			return fmt.Errorf("%%%d: %w", i, err)
		}
		e.outer[r] = v
	}
	return nil
}

// stages runs a pass over the reduced axes for each stage, and what follows it once per
// row. Where only chunk results are made, the first pass is all; else the thread that
// the guard names stores what a row has.
func (e *emitter) stages(p part, pass func(stage int) error, guard reg) error {
	if err := e.evalOuter(0); err != nil {
		return err
	}
	last := 0
	for _, s := range e.stage {
		last = max(last, s)
	}
	for s := 0; s <= last; s++ {
		if err := pass(s); err != nil || p == chunks {
			return err
		}
		if err := e.evalOuter(s + 1); err != nil {
			return err
		}
	}
	for s := 0; s <= last; s++ {
		e.storeOuter(s, guard)
	}
	return nil
}

// storeOuter stores the values that arguments below element depth take.
func (e *emitter) storeOuter(stage int, guard reg) {
	for i := range e.k.Body {
		in := &e.k.Body[i]
		if in.Op == kernel.OpStore && e.depth[i] < elementDepth && e.stage[i] == stage {
			e.storeOne(in.Type, e.outer[in.A], e.ptr[in.Imm], 0, guard)
		}
	}
}

// evalTile evaluates the given element-level instructions, in body order, over
// a tile. What the tile holds already is kept.
func (e *emitter) evalTile(refs []kernel.Ref, t *tile) error {
	var open *kernel.Rare
	label := ""
	for _, r := range refs {
		in := &e.k.Body[r]
		if open != nil && r >= open.To {
			e.place(label)
			open = nil
		}
		if _, ok := t.vals[r]; ok {
			continue
		}
		if open == nil {
			if rare := e.rareAt(r); rare != nil && e.depth[rare.Mask] >= elementDepth {
				open, label = rare, e.label()
				any := t.vals[rare.Mask][0]
				for _, m := range t.vals[rare.Mask][1:] {
					any = e.to(pred, "or.pred", any, m)
				}
				e.opUnless(any, "bra", label)
			}
		}
		switch in.Op {
		case kernel.OpLoad:
			if t.load != nil {
				t.vals[r] = t.load(in)
				continue
			}
			base, off := t.address(int(in.Imm))
			t.vals[r] = e.loadVector(in.Type, t.n, base, off, t.guard)
		case kernel.OpStore:
			vals := make([]reg, t.n)
			for l := range vals {
				vals[l] = e.value(in.A, t, l)
			}
			if t.store != nil {
				t.store(in, vals)
				continue
			}
			base, off := t.address(int(in.Imm))
			e.storeVector(in.Type, vals, base, off, t.guard)
		case kernel.OpScan:
			t.vals[r] = []reg{e.scan(in, r, e.value(in.A, t, 0), t.guard)}
		case kernel.OpGather:
			t.vals[r] = e.gatherTile(in, t)
		default:
			if e.lookup != nil && r == e.lookup.out {
				t.vals[r] = e.look(t)
				continue
			}
			if e.evalHalf(r, t) || e.evalBytes(r, t) {
				continue
			}
			vals := make([]reg, t.n)
			for l := range vals {
				if l > 0 && e.sameAsFirst(in, t, l) {
					vals[l] = vals[0]
					continue
				}
				v, err := e.instr(in, t, l)
				if err != nil {
					return fmt.Errorf("%%%d: %w", r, err)
				}
				vals[l] = v
			}
			t.vals[r] = vals
		}
	}
	if open != nil {
		e.place(label)
	}
	return nil
}

// sameAsFirst reports whether an instruction gives for an element of a tile what it gives for
// the first one: of the same operands, unless it tells elements apart.
func (e *emitter) sameAsFirst(in *kernel.Instr, t *tile, lane int) bool {
	if in.A == kernel.None || in.Op == kernel.OpDiv || in.Op == kernel.OpRem { // which may note a fault
		return false
	}
	ok := true
	in.Operands(func(r kernel.Ref) { ok = ok && e.value(r, t, lane) == e.value(r, t, 0) })
	return ok
}

// rareAt returns the rare block that an instruction lies in, if it is long
// enough for a branch to pay.
func (e *emitter) rareAt(r kernel.Ref) *kernel.Rare {
	const worthwhile = 8
	for i := range e.rares {
		b := &e.rares[i]
		if r >= b.From && r < b.To && b.To-b.From >= worthwhile {
			return b
		}
	}
	return nil
}

// instr translates one instruction for one element.
func (e *emitter) instr(in *kernel.Instr, t *tile, lane int) (reg, error) {
	x, y, z := e.value(in.A, t, lane), e.value(in.B, t, lane), e.value(in.C, t, lane)
	operand := func(r kernel.Ref) ir.DType { return e.k.Body[r].Type }
	switch in.Op {
	case kernel.OpConst:
		return e.constValue(in.Type, in.Imm), nil
	case kernel.OpParam:
		return e.paramValue(in.Type, int(in.Imm)), nil
	case kernel.OpExtent:
		return e.slotReg(slotFull, int(in.Imm), 0), nil
	case kernel.OpIndex:
		return e.axisIndex(int(in.Imm), t, lane), nil
	case kernel.OpLoad:
		return e.loadOne(in.Type, e.ptr[in.Imm], 0, ""), nil
	case kernel.OpGather:
		return e.gather(in, x, t, lane, 1)[0], nil
	case kernel.OpFma:
		return e.to(classOf(in.Type), "fma.rn"+suffix(in.Type), x, y, z), nil
	case kernel.OpDiv, kernel.OpRem:
		if in.Type.IsFloat() {
			return e.to(classOf(in.Type), "div.rn"+suffix(in.Type), x, y), nil
		}
		r, zero := e.divide(in.Op, in.Type, x, y)
		e.fault(kernel.DivisionByZero, zero, t, lane)
		return r, nil
	case kernel.OpNeg, kernel.OpAbs, kernel.OpSqrt, kernel.OpFloor, kernel.OpCeil, kernel.OpTrunc, kernel.OpRint, kernel.OpNot:
		return e.unary(in.Op, in.Type, x)
	case kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe:
		return e.compare(in.Op, operand(in.A), x, y)
	case kernel.OpSelect:
		return e.choose(in.Type, x, y, z), nil
	case kernel.OpCvt:
		return e.convert(operand(in.A), in.Type, x)
	case kernel.OpBitcast:
		return e.bitcast(operand(in.A), in.Type, x)
	default:
		return e.arith(in.Op, in.Type, x, y)
	}
}

// constValue materialises a constant in the head.
func (e *emitter) constValue(t ir.DType, v uint64) reg {
	switch t {
	case ir.Bool:
		return e.once(fmt.Sprintf("bool %d", v&1), func() reg { return e.def(pred, "setp.ne.u32", e.constant(b32, v&1), "0") })
	case ir.I8:
		v = uint64(uint32(int32(int8(v))))
	case ir.I16:
		v = uint64(uint32(int32(int16(v))))
	case ir.U8:
		v &= 0xff
	case ir.U16, ir.F16, ir.BF16:
		v &= 0xffff
	case ir.I32, ir.U32, ir.F32:
		v &= 0xffffffff
	}
	return e.constant(classOf(t), v)
}

// paramValue reads a scalar parameter in the head.
func (e *emitter) paramValue(t ir.DType, i int) reg {
	return e.once(fmt.Sprintf("scalar %d", i), func() reg {
		full := e.slotReg(slotScalar, i, 0)
		low := func() reg { return e.def(b32, "cvt.u32.u64", full) }
		switch t {
		case ir.Bool:
			return e.def(pred, "setp.ne.u64", e.def(b64, "and.b64", full, "1"), "0")
		case ir.F16, ir.BF16:
			return e.def(b16, "cvt.u16.u64", full)
		case ir.I8:
			return e.def(b32, "cvt.s32.s8", low())
		case ir.I16:
			return e.def(b32, "cvt.s32.s16", low())
		case ir.U8:
			return e.def(b32, "and.b32", low(), "0xff")
		case ir.U16:
			return e.def(b32, "and.b32", low(), "0xffff")
		case ir.I32, ir.U32, ir.F32:
			return low()
		}
		return full
	})
}

func (e *emitter) axisIndex(axis int, t *tile, lane int) reg {
	if t != nil && t.index != nil {
		if r := t.index(axis, lane); r != "" {
			return r
		}
	}
	return e.axisAt(axis)
}

// gatherTile gathers the elements of a tile: neighbours of one row at once.
func (e *emitter) gatherTile(in *kernel.Instr, t *tile) []reg {
	n := 1
	if e.along >= 0 && e.k.Args[in.Imm].Access[e.along] == kernel.Unit && e.depth[in.A] < elementDepth && t.load == nil {
		n = t.n
	}
	var vals []reg
	for l := 0; l < t.n; l += n {
		vals = append(vals, e.gather(in, e.value(in.A, t, l), t, l, n)...)
	}
	return vals
}

// gather loads n elements at a clamped position and notes a fault where clamping changed
// it. Of several, the first is the tile's first, and whoever plans sees that they are aligned.
func (e *emitter) gather(in *kernel.Instr, at reg, t *tile, lane, n int) []reg {
	arg := int(in.Imm)
	last := e.to(b64, "sub.s64", e.slotReg(slotGatherExtent, arg, 0), "1")
	pos := e.to(b64, "max.s64", e.to(b64, "min.s64", at, last), "0")
	outside := e.to(pred, "setp.ne.s64", pos, at)
	e.fault(kernel.IndexOutOfRange, outside, t, lane)
	base, off, guard := e.ptr[arg], int64(0), reg("")
	if t != nil {
		guard = t.guard
		base, off = t.address(arg)
		if e.argDepth(e.k.Args[arg]) >= elementDepth {
			off += int64(lane * in.Type.Size())
		}
	}
	addr := e.to(b64, "mad.lo.s64", pos, e.slotReg(slotGatherStride, arg, 0), base)
	return e.loadVector(in.Type, n, addr, off, guard)
}

// argDepth is the depth at which the address of an argument varies.
func (e *emitter) argDepth(a kernel.Arg) int {
	if from, to := e.k.ReducedAxes(); from < to {
		for axis := from; axis < to; axis++ {
			if a.Access[axis] != kernel.Broadcast {
				return elementDepth
			}
		}
		return 1
	}
	if n := len(a.Access); n > 0 && a.Access[n-1] != kernel.Broadcast {
		return elementDepth
	}
	return 1
}

// fault notes the complement of the interpreter's fault word with an atomic
// maximum: zeroed memory means none, and the lowest linear index wins.
func (e *emitter) fault(code kernel.FaultCode, when reg, t *tile, lane int) {
	if t != nil && t.guard != "" {
		when = e.to(pred, "and.pred", when, t.guard)
	}
	skip := e.label()
	e.opUnless(when, "bra", skip)
	linear := e.constant(b64, 0)
	for axis := range e.k.Axes {
		linear = e.to(b64, "mad.lo.s64", linear, e.slotReg(slotFull, axis, 0), e.axisIndex(axis, t, lane))
	}
	word := e.to(b64, "shl.b64", e.to(b64, "add.s64", linear, "1"), "8")
	word = e.to(b64, "or.b64", word, fmt.Sprint(int(code)))
	e.op("red.global.max.u64", mem(e.slotReg(slotFault, 0, 0), 0), e.to(b64, "not.b64", word))
	e.place(skip)
}
