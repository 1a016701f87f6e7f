package ptx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Fourier transforms take the steps of the host's routine, which are FFTPACK's: a pass
// over each lane for each factor of its length, in f64. A lane that fits is transformed in
// the shared memory of one block; longer ones go through scratch memory, a launch for each
// pass.

func init() {
	for row, kind := range map[string]transformKind{"fft": complexTransform, "rfft": forwardTransform, "irfft": backwardTransform} {
		asHost(row, func(c *nativeCall) (*Plan, error) { return c.planTransform(kind) })
	}
}

type transformKind uint8

const (
	complexTransform  transformKind = iota
	forwardTransform                // of real numbers to half of the coefficients
	backwardTransform               // and back
)

// transform is what a node computes.
type transform struct {
	kind    transformKind
	n       int // the length of a lane
	rows    int64
	over    float64 // what results are divided by
	t       ir.DType
	table   twiddleTable
	passes  []transformPass
	largest int // factor of n
	ends    [2]transformEnd
}

// transformEnd is how the lanes of an operand or a result lie.
type transformEnd struct {
	spans      []span // of the lanes
	axis, pair int64  // strides in elements, of numbers and of the parts of a complex one
	byLane     bool   // neighbours are in different lanes
}

// The numbers of a launch of a transform.
const (
	transformRows  = iota // lanes of the launch
	transformFirst        // lane of the launch
	transformTable        // in scratch memory
	transformFrom         // there, what a pass reads
	transformTo           // and writes
	transformAxis         // strides in bytes: along the axis, of the operand and of the result
	transformPair  = transformAxis + 2
	transformSpans = transformPair + 2
)

const (
	// transformBlock is how many numbers a block has in shared memory if lanes are short.
	transformBlock = 1024
	// transformChunk is the scratch memory of the lanes that go through it together, in each
	// of two places: what second-level caches hold. A transform has transformChunks at most.
	transformChunk  = 16 << 20
	transformChunks = 64
	// transformLane is the longest lane, in bytes, that there is scratch memory for.
	transformLane = 1 << 30
	// transformAlone is the radix from which on a lane has work for more than a block.
	transformAlone = 256
)

func (c *nativeCall) planTransform(kind transformKind) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	f := &transform{kind: kind, t: c.tensors[0].Type.DType, over: 1}
	long := 0 // the tensor whose extent along the axis is the length
	if kind == backwardTransform {
		long = 1
	}
	lanes := c.tensors[long].Type.Shape
	if kind == complexTransform {
		lanes = lanes[:len(lanes)-1]
	}
	axis, err := ir.Axis(int(c.Attr("axis").Int), len(lanes))
	if err != nil {
		return nil, err
	}
	f.n = lanes[axis]
	f.rows = int64(lanes.Size() / f.n)
	if kind == backwardTransform || kind == complexTransform && c.Attr("inverse").Bool() {
		f.over = float64(f.n)
	}
	f.table = twiddleTable{n: f.n}
	if !f.addPasses(kind == complexTransform && c.Attr("inverse").Bool()) {
		return nil, nil
	}
	for i := range f.ends {
		f.ends[i] = c.transformEnd(i, axis, len(lanes))
	}
	switch {
	case c.fitsBlock(f):
		c.planTransformBlocks(f)
	case int64(f.n)*f.unit() > transformLane:
		return nil, nil
	default:
		c.planTransformPasses(f)
	}
	return c.plan, nil
}

// addPasses finds the passes; false if the host refuses the length.
func (f *transform) addPasses(inverse bool) bool {
	if f.kind == complexTransform {
		sign := -1.0
		if inverse {
			sign = 1
		}
		stages := complexStages(f.n, sign, &f.table)
		for _, s := range stages {
			f.passes = append(f.passes, s.passes()...)
			f.largest = max(f.largest, s.radix)
		}
		return stages != nil || f.n == 1
	}
	f.table.shift = 1
	stages := realStages(f.n, &f.table)
	if f.kind == forwardTransform {
		slices.Reverse(stages)
	}
	for _, s := range stages {
		passes := s.backward
		if f.kind == forwardTransform {
			passes = s.forward
		}
		f.passes = append(f.passes, passes()...)
		f.largest = max(f.largest, s.radix)
	}
	return stages != nil || f.n == 1
}

// transformEnd finds the lanes of a tensor, whose last axis is that of the parts if it has
// one more axis than there are.
func (c *nativeCall) transformEnd(tensor, axis, axes int) transformEnd {
	t := &c.tensors[tensor]
	shape, strides := t.Type.Shape, t.Operand.Strides
	e := transformEnd{axis: strides[axis]}
	if len(shape) > axes {
		e.pair = strides[axes]
	}
	others := append(shape[:axis:axis], shape[axis+1:axes]...)
	e.spans = spansOf(others, append(strides[:axis:axis], strides[axis+1:axes]...))
	if last := len(e.spans) - 1; last >= 0 {
		e.byLane = abs(e.spans[last].stride) < abs(e.axis)
	}
	return e
}

func abs(x int64) int64 { return max(x, -x) }

// unit is the size of a number in shared or scratch memory.
func (f *transform) unit() int64 {
	if f.kind == complexTransform {
		return 16
	}
	return 8
}

// results is how many numbers of a lane are stored: real ones, or complex ones.
func (f *transform) results() int {
	if f.kind == forwardTransform {
		return f.n/2 + 1
	}
	return f.n
}

// lanesOfBlock is how many lanes a block has: several short ones, and of lanes side by side
// as many as share what memory gives at once, if there is room.
func (f *transform) lanesOfBlock(t Target) int64 {
	lanes := int64(transformBlock / f.n)
	if f.ends[0].byLane || f.ends[1].byLane {
		shared := memorySector * 8 / (int64(f.t.Size()) * f.unit())
		lanes = max(lanes, min(shared, int64(t.shared())/(2*int64(f.n)*f.unit())))
	}
	return max(1, min(f.rows, lanes))
}

// memorySector is how many bytes memory gives at once.
const memorySector = 32

// fitsBlock reports whether lanes are transformed in shared memory. Few lanes of a length
// with a large prime factor have too much work for a block each.
func (c *nativeCall) fitsBlock(f *transform) bool {
	if f.largest > transformAlone && f.rows < c.target.sms() {
		return false
	}
	return 2*f.lanesOfBlock(c.target)*int64(f.n)*f.unit() <= int64(c.target.shared())
}

// numbers are those of a launch over lanes.
func (f *transform) numbers(rows, first, table, from, to int64) numbers {
	size := int64(f.t.Size())
	v := numbers{}
	v.add(rows, first, table, from, to)
	v.add(f.ends[0].axis*size, f.ends[1].axis*size, f.ends[0].pair*size, f.ends[1].pair*size)
	for _, e := range f.ends {
		v.addSpans(e.spans, size)
	}
	return v
}

// name is that of a text, which is made for the length.
func (f *transform) name() string {
	s := fmt.Sprintf("%s_%s_%d_%s", [...]string{"fft", "rfft", "irfft"}[f.kind], f.t, f.n, mark(f.over > 1))
	for _, e := range f.ends {
		s += fmt.Sprintf("_%d%s", len(e.spans), mark(e.byLane))
	}
	return s
}

// planTransformBlocks has each block transform a lane, or several short ones.
func (c *nativeCall) planTransformBlocks(f *transform) {
	table := c.addTwiddles(&f.table)
	lanes := f.lanesOfBlock(c.target)
	threads := int(min(512, max(64, (lanes*int64(f.n)/4+31)&^31)))
	c.add(fmt.Sprintf("%s_block%d", f.name(), lanes), threads, func(a *asm) {
		half := lanes * int64(f.n) * f.unit()
		a.dynamic = int(2 * half)
		first := a.to(b32, "mul.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), lanes)
		live := a.to(b32, "min.u32", a.to(b32, "sub.u32", a.number32(transformRows), first), lanes)
		t := &transformAsm{asm: a, in: sequence{a, ".shared", a.to(b32, "mov.u32", "dyn"), half, f.unit()}}
		t.out = t.in
		t.out.at = 0
		t.table = a.scratchAt(transformTable)
		start := func(lane reg) reg { return a.to(b32, "mul.lo.u32", lane, f.n) }
		each := func(items int, byLane bool, body func(lane, item reg)) {
			a.strided(threads, lanes*int64(items), a.to(b32, "mul.lo.u32", live, items), func(i reg) {
				lane, item := f.itemOf(a, i, items, byLane, live)
				body(lane, item)
			})
		}
		next := func() {
			a.op("bar.sync", "0")
			t.in, t.out = t.out, t.in
		}
		each(f.n, f.ends[0].byLane, func(lane, item reg) {
			f.load(t, a.to(b32, "add.u32", first, lane), start(lane), item)
		})
		next()
		for _, p := range f.passes {
			each(p.items, false, func(lane, item reg) { p.emit(t, start(lane), item) })
			next()
		}
		each(f.results(), f.ends[1].byLane, func(lane, item reg) {
			f.store(t, a.to(b32, "add.u32", first, lane), start(lane), item)
		})
	}, ceil(f.rows, lanes), 1, 0, f.numbers(f.rows, 0, table, 0, 0)...)
}

// itemOf is the lane of an item and its number there.
func (f *transform) itemOf(a *asm, i reg, items int, byLane bool, lanes reg) (lane, item reg) {
	if byLane {
		item, lane = a.split(i, lanes)
		return lane, item
	}
	return a.splitBy(i, items)
}

// planTransformPasses has lanes go through scratch memory, as many together as caches hold.
func (c *nativeCall) planTransformPasses(f *transform) {
	table := c.addTwiddles(&f.table)
	lane := int64(f.n) * f.unit()
	chunk := min(f.rows, max(1, transformChunk/lane, ceil(f.rows, transformChunks)))
	from, to := c.room(chunk*lane), c.room(chunk*lane)
	for first := int64(0); first < f.rows; first += chunk {
		rows := min(chunk, f.rows-first)
		launch := func(name string, items int, byLane bool, body func(t *transformAsm, lane, item reg)) {
			v := f.numbers(rows, first, table, from, to)
			c.add(f.name()+"_"+name, moveThreads, func(a *asm) {
				done := a.label()
				i := a.item(moveThreads, a.to(b32, "mul.lo.u32", a.number32(transformRows), items), done)
				lane, item := f.itemOf(a, i, items, byLane, a.number32(transformRows))
				body(&transformAsm{asm: a, table: a.scratchAt(transformTable),
					in:  sequence{a, ".global", a.scratchAt(transformFrom), 0, f.unit()},
					out: sequence{a, ".global", a.scratchAt(transformTo), 0, f.unit()}}, lane, item)
				a.place(done)
			}, ceil(rows*int64(items), moveThreads), 1, 0, v...)
			from, to = to, from
		}
		start := func(t *transformAsm, lane reg) reg { return t.to(b32, "mul.lo.u32", lane, f.n) }
		global := func(t *transformAsm, lane reg) reg {
			return t.to(b32, "add.u32", lane, t.number32(transformFirst))
		}
		launch("load", f.n, f.ends[0].byLane, func(t *transformAsm, lane, item reg) {
			f.load(t, global(t, lane), start(t, lane), item)
		})
		for i, p := range f.passes {
			launch(fmt.Sprintf("%d_%s", i, p.name), p.items, false, func(t *transformAsm, lane, item reg) { p.emit(t, start(t, lane), item) })
		}
		launch("store", f.results(), f.ends[1].byLane, func(t *transformAsm, lane, item reg) {
			f.store(t, global(t, lane), start(t, lane), item)
		})
	}
}

// lane is the address of the first number of a lane, of the operand or of the result.
func (f *transform) lane(a *asm, end int, lane reg) reg {
	first := transformSpans + 2*end*len(f.ends[0].spans)
	return a.walk(lane, a.slotReg(slotPointer, end, 0), len(f.ends[end].spans), first)
}

// load writes number item of a lane where the passes begin.
func (f *transform) load(t *transformAsm, lane, start, item reg) {
	at := f.lane(t.asm, 0, lane)
	out := t.out.from(t.to(b32, "add.u32", start, item))
	switch f.kind {
	case complexTransform:
		at = t.step(at, item, t.number(transformAxis))
		im := t.to(b64, "add.s64", at, t.number(transformPair))
		out.setComplex(0, complexReg{t.loadWide(f.t, at), t.loadWide(f.t, im)})
	case forwardTransform:
		out.setReal(0, t.loadWide(f.t, t.step(at, item, t.number(transformAxis))))
	case backwardTransform: // number 2k-1 is the real part of coefficient k, 2k the imaginary one
		k := t.to(b32, "shr.u32", t.to(b32, "add.u32", item, 1), 1)
		part := t.to(b32, "and.b32", t.to(b32, "xor.b32", item, 1), 1)
		part = t.to(b32, "min.u32", part, item) // number 0 is real
		at = t.step(at, k, t.number(transformAxis))
		out.setReal(0, t.loadWide(f.t, t.step(at, part, t.number(transformPair))))
	}
}

// loadWide is an element as f64.
func (a *asm) loadWide(t ir.DType, at reg) reg {
	v := a.loadOne(t, at, 0, "")
	if t == ir.F32 {
		return a.to(b64, "cvt.f64.f32", v)
	}
	return v
}

// storeNarrow is its inverse, rounding once.
func (a *asm) storeNarrow(t ir.DType, v, at reg) {
	if t == ir.F32 {
		v = a.to(b32, "cvt.rn.f32.f64", v)
	}
	a.storeOne(t, v, at, 0, "")
}

// store writes number item of the results of a lane.
func (f *transform) store(t *transformAsm, lane, start, item reg) {
	at := t.step(f.lane(t.asm, 1, lane), item, t.number(transformAxis+1))
	im := func() reg { return t.to(b64, "add.s64", at, t.number(transformPair+1)) }
	over := func(v reg) reg {
		if f.over == 1 {
			return v
		}
		return t.to(b64, "div.rn.f64", v, t.f64(f.over))
	}
	switch f.kind {
	case complexTransform:
		v := t.in.from(t.to(b32, "add.u32", start, item)).complex(0)
		t.storeNarrow(f.t, over(v.re), at)
		t.storeNarrow(f.t, over(v.im), im())
	case forwardTransform: // the imaginary parts of the first and, of an even length, of the last are 0
		first := t.to(pred, "setp.eq.u32", item, 0)
		twice := t.to(b32, "shl.b32", item, 1)
		re := t.to(b32, "selp.b32", item, t.to(b32, "sub.u32", twice, 1), first)
		t.storeNarrow(f.t, t.in.from(t.to(b32, "add.u32", start, re)).real(0), at)
		none := t.to(pred, "or.pred", first, t.to(pred, "setp.ge.u32", twice, f.n))
		read := t.to(b32, "selp.b32", 0, twice, none)
		v := t.in.from(t.to(b32, "add.u32", start, read)).real(0)
		t.storeNarrow(f.t, t.to(b64, "selp.b64", t.f64(0), v, none), im())
	case backwardTransform:
		t.storeNarrow(f.t, over(t.in.from(t.to(b32, "add.u32", start, item)).real(0)), at)
	}
}
