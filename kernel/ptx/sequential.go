package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// sequentialThreads is the block size where a thread walks a whole group.
const sequentialThreads = 128

// sequentialEmitter writes kernels whose groups are folded in order: sums of
// products and scans. A thread takes one kept element and walks its group chunk by
// chunk, once per stage. Within a chunk it folds from the identity; chunk results
// are folded in order, the first one as it is.
type sequentialEmitter struct {
	*emitter
	chunk int
	reds  []*reduction
	scans map[kernel.Ref]*scanState
	n     reg
}

// scanState is a scan that runs along with the elements of a pass.
type scanState struct {
	*reduction
	part  []reg // fold of the chunk so far
	carry []reg // fold of the chunks before
}

// sequentialChunk returns the chunk length that the ordered folds of a kernel
// share, 0 if nothing is folded in order, and an error if they differ.
func (e *emitter) sequentialChunk() (chunk int, err error) {
	for i := range e.k.Body {
		in := &e.k.Body[i]
		if in.Op != kernel.OpReduce && in.Op != kernel.OpScan {
			continue
		}
		r := e.k.Reductions[in.Imm]
		if r.Tree.Kind != kernel.Sequential || in.Op == kernel.OpReduce && (&reduction{kind: r.Kind}).associative() {
			continue
		}
		if r.Tree.Chunk < 1 || chunk > 0 && r.Tree.Chunk != chunk {
			return 0, fmt.Errorf("ordered folds in chunks of %d and %d", chunk, r.Tree.Chunk)
		}
		chunk = r.Tree.Chunk
	}
	return chunk, nil
}

func emitSequential(k *kernel.Kernel) (*emitter, error) {
	e := &sequentialEmitter{emitter: newEmitter(k), scans: map[kernel.Ref]*scanState{}}
	e.setLevelDepths()
	var err error
	if e.reds, _, err = e.reductions(); err != nil {
		return nil, err
	}
	if e.chunk, err = e.sequentialChunk(); err != nil {
		return nil, err
	}
	done := e.label()
	e.begin(done)
	if err := e.stages(whole, e.runStage, ""); err != nil {
		return nil, err
	}
	e.place(done)
	return e.emitter, nil
}

func (e *sequentialEmitter) begin(done string) {
	item := e.threadItem(sequentialThreads)
	e.opIf(e.to(pred, "setp.ge.u64", item, e.slotReg(slotItems, 0, 0)), "bra", done)
	e.n = e.slotReg(slotGroup, 0, 0)
	var axes []int
	for axis, kind := range e.k.Axes {
		if kind == kernel.Parallel {
			axes = append(axes, axis)
		}
	}
	idx := make([]reg, len(e.k.Axes))
	e.decode(e.to(b32, "cvt.u32.u64", item), axes, idx)
	e.axisAt = func(axis int) reg {
		if idx[axis] == "" {
			return e.slotReg(slotStart, axis, 0)
		}
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), idx[axis])
	}
	e.addresses(idx)
}

// runStage is one pass over the group.
func (e *sequentialEmitter) runStage(s int) error {
	need := map[kernel.Ref]bool{}
	var reds []*reduction
	for _, r := range e.reds {
		if e.stage[r.ref] != s+1 {
			continue
		}
		reds = append(reds, r)
		for _, x := range []kernel.Ref{r.a, r.b} {
			if x != kernel.None && e.depth[x] >= elementDepth {
				need[x] = true
			}
		}
	}
	for i := range e.k.Body {
		if e.k.Body[i].Op == kernel.OpStore && e.depth[i] >= elementDepth && e.stage[i] == s {
			need[kernel.Ref(i)] = true
		}
	}
	if len(reds) == 0 && len(need) == 0 {
		return nil
	}
	e.note("stage %d", s)
	refs := e.closure(need)
	totals, parts := make([][]reg, len(reds)), make([][]reg, len(reds))
	for i, r := range reds {
		totals[i], parts[i] = e.fresh(r), e.fresh(r)
	}
	clear(e.scans)
	var scans []*scanState // in body order: the text must not depend on a map's
	for _, r := range refs {
		if e.k.Body[r].Op != kernel.OpScan {
			continue
		}
		sc, err := e.newScan(r)
		if err != nil {
			return err
		}
		e.scans[r] = sc
		scans = append(scans, sc)
	}
	start := e.to(b64, "mov.b64", "0")
	loop := e.label()
	e.place(loop)
	for i, r := range reds {
		if !r.associative() {
			e.assign(r, parts[i], e.identity(r))
		}
	}
	for _, sc := range scans {
		e.assign(sc.reduction, sc.part, e.identity(sc.reduction))
	}
	first := e.to(pred, "setp.eq.s64", start, "0")
	e.scan = func(in *kernel.Instr, r kernel.Ref, v reg, guard reg) reg {
		return e.stepScan(e.scans[r], v, first, guard)
	}
	left := e.to(b64, "min.s64", e.to(b64, "sub.s64", e.n, start), fmt.Sprint(e.chunk))
	err := e.elements(start, e.to(b32, "cvt.u32.u64", left), groupUnroll, refs, nil, func(t *tile) {
		for i, r := range reds {
			e.fold(r, parts[i], t)
		}
	})
	e.scan = nil
	if err != nil {
		return err
	}
	for i, r := range reds {
		if r.associative() {
			continue
		}
		e.assign(r, totals[i], e.pickState(r, parts[i], e.combine(r, totals[i], parts[i]), first))
	}
	for _, sc := range scans {
		e.assign(sc.reduction, sc.carry, e.pickState(sc.reduction, sc.part, e.combine(sc.reduction, sc.carry, sc.part), first))
	}
	e.op("add.s64", start, start, fmt.Sprint(e.chunk))
	e.opIf(e.to(pred, "setp.lt.s64", start, e.n), "bra", loop)
	for i, r := range reds {
		if r.associative() {
			totals[i] = parts[i]
		}
		e.outer[r.ref] = e.leave(r, totals[i])
	}
	return nil
}

// fold folds the element of a tile into a state, unless it lies behind the end.
func (e *sequentialEmitter) fold(r *reduction, state []reg, t *tile) {
	v := e.enter(r, e.value(r.a, t, 0))
	var next []reg
	switch {
	case r.kind == kernel.Dot && r.t.IsFloat():
		next = []reg{e.to(r.state[0], "fma.rn"+suffix(r.t), v, e.value(r.b, t, 0), state[0])}
	case r.kind == kernel.Dot:
		v, _ = e.arith(kernel.OpMul, r.t, v, e.value(r.b, t, 0))
		next = e.combine(r, state, []reg{v})
	case r.plain():
		next = e.combine(r, state, []reg{v})
	default:
		next = e.combine(r, state, []reg{v, t.position(0)})
	}
	e.assign(r, state, e.pickState(r, next, state, t.guard))
}

// pickState is x where the predicate holds, else y; x if there is none.
func (e *emitter) pickState(r *reduction, x, y []reg, p reg) []reg {
	if p == "" {
		return x
	}
	out := make([]reg, len(x))
	for i, c := range r.state {
		out[i] = e.to(c, "selp"+classType[c], x[i], y[i], p)
	}
	return out
}

func (e *sequentialEmitter) newScan(r kernel.Ref) (*scanState, error) {
	in := &e.k.Body[r]
	sc := &scanState{reduction: &reduction{ref: r, a: in.A, kind: e.k.Reductions[in.Imm].Kind, t: in.Type, state: []class{classOf(in.Type)}}}
	if sc.kind > kernel.Min || in.Type.Compute() != in.Type || in.Type.Size() < 4 {
		return nil, fmt.Errorf("scans %s of %s", sc.kind, in.Type)
	}
	sc.part, sc.carry = e.fresh(sc.reduction), e.fresh(sc.reduction)
	return sc, nil
}

// stepScan takes the next element and returns the scan up to it.
func (e *sequentialEmitter) stepScan(sc *scanState, v, first, guard reg) reg {
	next := e.combine(sc.reduction, sc.part, []reg{v})
	e.assign(sc.reduction, sc.part, e.pickState(sc.reduction, next, sc.part, guard))
	return e.pickState(sc.reduction, sc.part, e.combine(sc.reduction, sc.carry, sc.part), first)[0]
}
