package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// columnForm is one variant of a column kernel: a thread takes one kept
// element, or a few neighbours, a warp 32 times as many, and the warps of a block
// share the chunks of the reduced group.
type columnForm struct {
	tree  kernel.Tree
	warps int
	width int  // columns of a thread; more than 1 only where chunk results are made
	spill bool // chunk results in scratch instead of shared memory
	crowd bool // blocks enough wait for a multiprocessor: registers are worth more than loads in flight
	part  part
}

func (f columnForm) threads() int { return 32 * f.warps }

// sharedColumnChunks is how many chunks of 32 columns fit.
func sharedColumnChunks(record int) int { return sharedBytes / (32 * max(record, 4)) }

type columnEmitter struct {
	*emitter
	form    columnForm
	reds    []*reduction
	record  int
	warp    reg // first chunk of the warp
	lane    reg
	col     reg // linear kept element, the thread's first, clamped to the last
	inside  reg // predicate: col was not clamped
	n       reg
	nchunks reg
	one     reg // predicate: this thread does the row-level stores of its column
}

// emitColumns writes one variant of a kernel whose sums are of the kind Columns.
func emitColumns(k *kernel.Kernel, form columnForm) (*emitter, error) {
	e := &columnEmitter{emitter: newEmitter(k), form: form}
	e.setLevelDepths()
	var err error
	if e.reds, e.record, err = e.reductions(); err != nil {
		return nil, err
	}
	done := e.label()
	e.begin(done)
	if err := e.stages(form.part, e.runStage, e.one); err != nil {
		return nil, err
	}
	e.place(done)
	return e.emitter, nil
}

func (e *columnEmitter) begin(done string) {
	e.lane = e.laneHead()
	w := e.to(b32, "shr.u32", e.tidHead(), "5")
	e.n = e.slotReg(slotGroup, 0, 0)
	e.nchunks = e.slotReg32(slotChunks, 0)
	e.warp = w
	if e.form.part == chunks {
		y := e.to(b32, "mov.u32", "%ctaid.y")
		e.warp = e.to(b32, "mad.lo.u32", y, fmt.Sprint(e.form.warps), w)
		e.opIf(e.to(pred, "setp.ge.u32", e.warp, e.nchunks), "bra", done)
	}
	col := e.to(b32, "mad.lo.u32", e.to(b32, "mov.u32", "%ctaid.x"), "32", e.lane)
	if e.form.width > 1 {
		col = e.to(b32, "mul.lo.u32", col, fmt.Sprint(e.form.width))
	}
	items := e.slotReg32(slotItems, 0)
	e.inside = e.to(pred, "setp.lt.u32", col, items)
	e.col = e.to(b32, "min.u32", col, e.to(b32, "sub.u32", items, fmt.Sprint(e.form.width)))
	e.one = e.to(pred, "and.pred", e.inside, e.to(pred, "setp.eq.u32", w, "0"))
	var axes []int
	for axis, kind := range e.k.Axes {
		if kind == kernel.Parallel {
			axes = append(axes, axis)
		}
	}
	idx := make([]reg, len(e.k.Axes))
	e.decode(e.col, axes, idx)
	e.axisAt = func(axis int) reg {
		if idx[axis] == "" {
			return e.slotReg(slotStart, axis, 0)
		}
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), idx[axis])
	}
	e.addresses(idx)
}

// runStage is one pass over the group; see the row emitter.
func (e *columnEmitter) runStage(s int) error {
	need := map[kernel.Ref]bool{}
	var reds []*reduction
	for _, r := range e.reds {
		if e.stage[r.ref] == s+1 {
			reds = append(reds, r)
			if e.depth[r.a] >= elementDepth {
				need[r.a] = true
			}
		}
	}
	values := e.closure(need)
	stores := false
	if e.form.part != finish {
		for i := range e.k.Body {
			if e.k.Body[i].Op == kernel.OpStore && e.depth[i] >= elementDepth && e.stage[i] == s {
				need[kernel.Ref(i)] = true
				stores = true
			}
		}
	}
	if len(reds) == 0 && !stores {
		return nil
	}
	e.note("stage %d", s)
	all := e.closure(need)
	switch e.form.part {
	case chunks:
		return e.chunk(e.warp, all, values, reds)
	case whole:
		c := e.to(b32, "mov.b32", e.warp)
		loop, end := e.label(), e.label()
		e.opIf(e.to(pred, "setp.ge.u32", c, e.nchunks), "bra", end)
		e.place(loop)
		if err := e.chunk(c, all, values, reds); err != nil {
			return err
		}
		e.op("add.u32", c, c, fmt.Sprint(e.form.warps))
		e.opIf(e.to(pred, "setp.lt.u32", c, e.nchunks), "bra", loop)
		e.place(end)
	}
	if len(reds) > 0 {
		e.op("bar.sync", "0")
		e.foldChunks(reds)
	}
	return nil
}

// walk calls visit for `remaining` elements of every column of the thread from start on.
func (e *columnEmitter) walk(start, remaining reg, refs []kernel.Ref, visit func(*tile)) error {
	switch {
	case e.form.width > 1:
		return e.elements(start, remaining, groupUnroll, refs, e.columns, visit)
	case e.form.crowd:
		return e.elements(start, remaining, groupUnroll, refs, nil, visit)
	}
	return e.elements(start, remaining, columnUnroll, refs, nil, visit)
}

// columns makes a tile one of as many neighbouring columns as a thread has.
func (e *columnEmitter) columns(t *tile) {
	t.n = e.form.width
	t.load = func(in *kernel.Instr) []reg {
		base, off := t.address(int(in.Imm))
		if a := e.k.Args[in.Imm].Access; a[len(a)-1] == kernel.Unit {
			return e.loadVector(in.Type, t.n, base, off, t.guard)
		}
		v := e.loadOne(in.Type, base, off, t.guard)
		out := make([]reg, t.n)
		for i := range out {
			out[i] = v
		}
		return out
	}
}

// chunk runs over chunk c in ascending order and stores the states, one for every column
// of the thread.
func (e *columnEmitter) chunk(c reg, all, values []kernel.Ref, reds []*reduction) error {
	chunk := fmt.Sprint(e.form.tree.Chunk)
	start := e.to(b64, "mul.wide.u32", c, chunk)
	count := e.to(b64, "min.s64", e.to(b64, "sub.s64", e.n, start), chunk)
	// A clamped column has no elements: it neither loads nor stores.
	remaining := e.to(b32, "selp.b32", e.to(b32, "cvt.u32.u64", count), e.constant(b32, 0), e.inside)
	states := make([][][]reg, len(reds))
	moments := false
	for i, r := range reds {
		for range e.form.width {
			states[i] = append(states[i], e.fresh(r))
		}
		moments = moments || r.kind == kernel.M2
	}
	err := e.walk(start, remaining, all, func(t *tile) {
		for i, r := range reds {
			for l, state := range states[i] {
				e.step(r, state, t, l)
			}
		}
	})
	if err != nil {
		return err
	}
	if moments {
		if err := e.squares(start, remaining, count, values, reds, states); err != nil {
			return err
		}
	}
	for i, r := range reds {
		at := e.cell(r, c)
		for l, state := range states[i] {
			if l > 0 {
				at = e.to(b64, "add.s64", at, fmt.Sprint(r.bytes))
			}
			e.storeState(r, state, at, e.inside)
		}
	}
	return nil
}

// step folds an element into the state of its column; of M2 it adds to the sum.
func (e *columnEmitter) step(r *reduction, state []reg, t *tile, lane int) {
	v := e.masked(r, e.enter(r, e.value(r.a, t, lane)), t.guard)
	if r.kind == kernel.M2 {
		e.op("add.rn"+suffix(r.t), state[1], state[1], v)
		return
	}
	st := []reg{v}
	if !r.plain() {
		at := t.position(0)
		if t.guard != "" {
			at = e.to(b64, "selp.b64", at, e.constant(b64, noIndex), t.guard)
		}
		st = append(st, at)
	}
	e.assign(r, state, e.combine(r, state, st))
}

// squares is the second pass of M2: the states hold the sum so far.
func (e *columnEmitter) squares(start, remaining, count reg, values []kernel.Ref, reds []*reduction, states [][][]reg) error {
	for i, r := range reds {
		if r.kind != kernel.M2 {
			continue
		}
		for _, state := range states[i] {
			e.op("mov.b64", state[0], count)
			e.op("div.rn"+suffix(r.t), state[1], state[1], e.toFloat(r, count))
		}
	}
	return e.walk(start, remaining, values, func(t *tile) {
		for i, r := range reds {
			if r.kind != kernel.M2 {
				continue
			}
			for l, state := range states[i] {
				c, s := r.state[1], suffix(r.t)
				d := e.to(c, "sub.rn"+s, e.value(r.a, t, l), state[1])
				v := e.masked(&reduction{kind: kernel.Sum, t: r.t, state: r.state[1:2]}, e.to(c, "mul.rn"+s, d, d), t.guard)
				e.op("add.rn"+s, state[2], state[2], v)
			}
		}
	})
}

// cell is the address of the state of chunk c, of this thread's column.
func (e *columnEmitter) cell(r *reduction, c reg) reg {
	if e.form.part == whole && !e.form.spill {
		room := sharedColumnChunks(e.record) * 32
		base := e.stateAddress(r, e.sharedBase(room*e.record), "", room)
		i := e.to(b32, "mad.lo.u32", c, "32", e.lane)
		return e.to(b64, "add.s64", base, e.to(b64, "mul.wide.u32", i, fmt.Sprint(r.bytes)))
	}
	items := e.slotReg(slotItems, 0, 0)
	base := e.slotReg(slotScratch, 0, 0)
	if r.at > 0 {
		all := e.to(b64, "mul.lo.u64", items, e.slotReg(slotChunks, 0, 0))
		base = e.to(b64, "mad.lo.u64", all, fmt.Sprint(r.at), base)
	}
	i := e.to(b64, "mad.lo.u64", e.to(b64, "cvt.u64.u32", c), items, e.to(b64, "cvt.u64.u32", e.col))
	return e.to(b64, "mad.lo.u64", i, fmt.Sprint(r.bytes), base)
}

// foldChunks folds the chunk results of every column by halves, the warps
// sharing the pairs, and hands the results to all warps.
func (e *columnEmitter) foldChunks(reds []*reduction) {
	m := e.to(b32, "mov.b32", e.nchunks)
	loop, end := e.label(), e.label()
	e.opIf(e.to(pred, "setp.le.u32", m, "1"), "bra", end)
	w := e.to(b32, "shl.b32", e.constant(b32, 1), e.to(b32, "bfind.u32", e.to(b32, "sub.u32", m, "1")))
	e.place(loop)
	i := e.to(b32, "mov.b32", e.warp)
	pairs, next := e.label(), e.label()
	pairsOf := e.to(b32, "sub.u32", m, w) // those with a partner: at most w
	e.opIf(e.to(pred, "setp.ge.u32", i, pairsOf), "bra", next)
	e.place(pairs)
	for _, r := range reds {
		at := e.cell(r, i)
		other := e.cell(r, e.to(b32, "add.u32", i, w))
		s := e.combine(r, e.loadState(r, at, ""), e.loadState(r, other, ""))
		e.storeState(r, s, at, e.inside)
	}
	e.op("add.u32", i, i, fmt.Sprint(e.form.warps))
	e.opIf(e.to(pred, "setp.lt.u32", i, pairsOf), "bra", pairs)
	e.place(next)
	e.op("bar.sync", "0")
	e.op("mov.b32", m, w)
	e.op("shr.u32", w, w, "1")
	e.opIf(e.to(pred, "setp.gt.u32", w, "0"), "bra", loop)
	e.place(end)
	for _, r := range reds {
		e.outer[r.ref] = e.leave(r, e.loadState(r, e.cell(r, e.constant(b32, 0)), ""))
	}
}
