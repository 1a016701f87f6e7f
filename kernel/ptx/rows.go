package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// part says how much of a row kernel an entry does.
type part uint8

const (
	whole  part = iota
	chunks      // only the chunk results of the first stage, into scratch
	finish      // the rest, from chunk results in scratch
)

// rowForm is one variant of a row kernel. A row (one element of the parallel
// axes) belongs to `warps` warps of a block; a warp takes a chunk of the
// reduced group at a time.
type rowForm struct {
	tree     kernel.Tree
	warps    int  // per row, or per block of a row that has several
	rows     int  // per block; 1 unless warps is 1
	cluster  int  // blocks per row, a power of two; 0 for one
	width    int  // elements per access
	resident bool // at most one chunk per warp, whose values stay in registers
	spill    bool // chunk results in scratch instead of shared memory
	part     part

	// A row known to be short needs fewer tiles than a chunk has: limit is how
	// many elements they hold, 0 for a whole chunk.
	limit int
	// All tiles of all warps lie inside the row.
	full bool
	// A row of very few elements belongs to one thread, a warp to 32 rows.
	solo bool
}

// threads is the block size.
func (f rowForm) threads() int {
	if f.solo {
		return f.rows
	}
	return 32 * f.warps * f.rows
}

// lanes is how many threads share a chunk.
func (f rowForm) lanes() int {
	if f.solo {
		return 1
	}
	return 32
}

// tiles is how many tiles of a chunk a lane has.
func (f rowForm) tiles() int {
	n := f.tree.Chunk
	if f.limit > 0 {
		n = f.limit
	}
	return n / (f.lanes() * f.width)
}

// holds is how many elements the tiles of a resident row have.
func (f rowForm) holds() int64 {
	return int64(f.tiles()*f.lanes()*f.width*f.warps) * int64(max(1, f.cluster))
}

// sharedBytes is the part of shared memory in use: what every device grants
// without being asked is 48 KB.
const sharedBytes = 40 << 10

// sharedChunks is how many chunk results of the given size fit, at most 1024.
func sharedChunks(record int) int {
	return max(64, min(1024, sharedBytes/max(record, 1)))
}

// rowEmitter holds what the stages of one row entry share.
type rowEmitter struct {
	*emitter
	form    rowForm
	reds    []*reduction
	record  int // bytes of the states of all reductions
	warp    reg // number of the warp in its block
	first   reg // first chunk of the warp
	lane    reg
	laneAt  reg // first element of the lane in a tile: lane*width
	n       reg // elements of the group, 64 bits
	nchunks reg // 32 bits
	row     reg // linear row, 32 bits
	one     reg // predicate: this thread does the row-level stores

	// Resident forms keep their tiles from stage to stage.
	kept []*tile
	// met says that the blocks of the cluster are known to run.
	met bool
}

// emitRows writes one variant of a kernel whose reductions are striped.
func emitRows(k *kernel.Kernel, target Target, form rowForm) (*emitter, error) {
	e := &rowEmitter{emitter: newEmitter(k), form: form}
	e.along = e.fromAxis
	if form.width%2 == 0 {
		e.halves = halvesOf(k, target)
	}
	e.setLevelDepths()
	var err error
	if e.reds, e.record, err = e.reductions(); err != nil {
		return nil, err
	}
	done := e.label()
	e.begin(done)
	if form.cluster > 1 && form.resident && !form.full {
		if err := e.fullChunks(done); err != nil {
			return nil, err
		}
	}
	if err := e.stages(form.part, e.runStage, e.one); err != nil {
		return nil, err
	}
	e.place(done)
	return e.emitter, nil
}

// setLevelDepths maps the levels of the IR to depths.
func (e *emitter) setLevelDepths() {
	e.rares = e.k.Rares
	e.depth = make([]int, len(e.k.Body))
	for i, l := range e.k.Levels() {
		e.depth[i] = int(l)
	}
}

// begin finds the row and the thread's place in it.
func (e *rowEmitter) begin(done string) {
	e.lane = e.laneHead()
	tid := e.tidHead()
	block := e.to(b32, "mov.u32", "%ctaid.x")
	e.n = e.slotReg(slotGroup, 0, 0)
	e.nchunks = e.slotReg32(slotChunks, 0)
	inRow := tid
	switch {
	case e.form.part == chunks:
		// The grid's second dimension counts rows, the first groups of chunks.
		e.row = e.to(b32, "mov.u32", "%ctaid.y")
		w := e.to(b32, "shr.u32", tid, "5")
		e.warp = e.to(b32, "mad.lo.u32", block, fmt.Sprint(e.form.warps), w)
		e.opIf(e.to(pred, "setp.ge.u32", e.warp, e.nchunks), "bra", done)
	case e.form.solo:
		e.row = e.to(b32, "mad.lo.u32", block, fmt.Sprint(e.form.rows), tid)
		e.warp = e.constant(b32, 0)
		e.lane = e.constant(b32, 0)
		inRow = e.lane
		e.opIf(e.to(pred, "setp.ge.u32", e.row, e.slotReg32(slotItems, 0)), "bra", done)
	case e.form.rows > 1:
		e.row = e.to(b32, "mad.lo.u32", block, fmt.Sprint(e.form.rows), e.to(b32, "shr.u32", tid, "5"))
		e.warp = e.constant(b32, 0)
		inRow = e.lane
		past := e.to(pred, "setp.ge.u32", e.row, e.slotReg32(slotItems, 0))
		e.opIf(past, "bra", done)
	default:
		e.row = block
		e.warp = e.to(b32, "shr.u32", tid, "5")
	}
	e.first = e.warp
	if e.form.cluster > 1 {
		inRow = e.beginCluster(block, tid)
	}
	e.one = e.to(pred, "setp.eq.u32", inRow, "0")
	e.laneAt = e.lane
	if e.form.width > 1 {
		e.laneAt = e.to(b32, "mul.lo.u32", e.lane, fmt.Sprint(e.form.width))
	}
	var axes []int
	for axis, kind := range e.k.Axes {
		if kind == kernel.Parallel {
			axes = append(axes, axis)
		}
	}
	idx := make([]reg, len(e.k.Axes))
	e.decode(e.row, axes, idx)
	e.axisAt = func(axis int) reg {
		if idx[axis] == "" {
			return e.slotReg(slotStart, axis, 0)
		}
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), idx[axis])
	}
	e.addresses(idx)
}

// runStage runs one pass over the row: the reductions that end the stage and
// the element-level stores that belong to it.
func (e *rowEmitter) runStage(s int) error {
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
	refs := e.closure(need)
	if e.form.resident {
		states, err := e.chunk(e.first, refs, reds, &e.kept)
		if err != nil {
			return err
		}
		if e.form.cluster > 1 {
			e.joinCluster(reds, states, s)
			return nil
		}
		return e.joinWarps(reds, states)
	}
	if e.form.part == chunks {
		states, err := e.chunk(e.warp, refs, reds, nil)
		if err != nil {
			return err
		}
		e.storeChunk(reds, states, e.warp)
		return nil
	}
	if e.form.part == whole {
		if len(reds) > 0 {
			e.meet()
		}
		c := e.to(b32, "mov.b32", e.first)
		loop, end := e.label(), e.label()
		e.opIf(e.to(pred, "setp.ge.u32", c, e.nchunks), "bra", end)
		e.place(loop)
		states, err := e.chunk(c, refs, reds, nil)
		if err != nil {
			return err
		}
		if e.form.cluster > 1 {
			e.sendChunk(reds, states, c, s)
		} else {
			e.storeChunk(reds, states, c)
		}
		e.op("add.u32", c, c, fmt.Sprint(e.form.warps*max(1, e.form.cluster)))
		e.opIf(e.to(pred, "setp.lt.u32", c, e.nchunks), "bra", loop)
		e.place(end)
	}
	if len(reds) == 0 {
		return nil
	}
	if e.form.cluster > 1 {
		e.arrived(s)
	} else {
		e.op("bar.sync", "0")
	}
	for _, r := range reds {
		e.outer[r.ref] = e.leave(r, e.foldChunks(r))
	}
	return nil
}

// chunk evaluates one chunk of the row and returns the chunk's state of every
// reduction, the same in all lanes of the warp.
func (e *rowEmitter) chunk(c reg, refs []kernel.Ref, reds []*reduction, keep *[]*tile) ([][]reg, error) {
	tiles := e.tiles(c, keep)
	// Loads first: they are independent, and the more are in flight the
	// better the memory is used.
	loads, ahead := append(e.loadsOf(refs), e.gathersOf(refs)...), e.ahead(tiles)
	for _, t := range tiles[:ahead] {
		if err := e.evalTile(loads, t); err != nil {
			return nil, err
		}
	}
	for i, t := range tiles {
		if i+ahead < len(tiles) {
			if err := e.evalTile(loads, tiles[i+ahead]); err != nil {
				return nil, err
			}
		}
		if err := e.evalTile(refs, t); err != nil {
			return nil, err
		}
	}
	states := make([][]reg, len(reds))
	for i, r := range reds {
		states[i] = e.chunkState(r, c, tiles)
	}
	return states, nil
}

// gathersOf are the gathers of places that a row has as a whole.
func (e *emitter) gathersOf(refs []kernel.Ref) []kernel.Ref {
	var out []kernel.Ref
	for _, r := range refs {
		if in := &e.k.Body[r]; in.Op == kernel.OpGather && e.depth[in.A] < elementDepth {
			out = append(out, r)
		}
	}
	return out
}

func (e *emitter) loadsOf(refs []kernel.Ref) []kernel.Ref {
	var out []kernel.Ref
	for _, r := range refs {
		if e.k.Body[r].Op == kernel.OpLoad {
			out = append(out, r)
		}
	}
	return out
}

// chunkState folds the values of one chunk along the tree.
func (e *rowEmitter) chunkState(r *reduction, c reg, tiles []*tile) []reg {
	value := func(t *tile, lane int) reg { return e.enter(r, e.value(r.a, t, lane)) }
	if r.kind != kernel.M2 {
		return e.foldTiles(r, tiles, value)
	}
	// Two passes over the chunk: its mean, then the squared deviations.
	sum := &reduction{kind: kernel.Sum, t: r.t, state: r.state[1:2]}
	s := suffix(r.t)
	cls := r.state[1]
	total := e.foldTiles(sum, tiles, value)[0]
	count := e.chunkCount(c)
	mean := e.to(cls, "div.rn"+s, total, e.toFloat(r, count))
	squares := e.foldTiles(sum, tiles, func(t *tile, lane int) reg {
		d := e.to(cls, "sub.rn"+s, value(t, lane), mean)
		return e.to(cls, "mul.rn"+s, d, d)
	})[0]
	// A chunk past the end has no elements and must not divide by their number.
	empty := e.to(pred, "setp.eq.s64", count, "0")
	mean = e.to(cls, "selp"+classType[cls], e.constant(cls, 0), mean, empty)
	return []reg{count, mean, squares}
}

// chunkCount is the number of elements in a chunk, 0 past the end.
func (e *rowEmitter) chunkCount(c reg) reg {
	start := e.to(b64, "mul.wide.u32", c, fmt.Sprint(e.form.tree.Chunk))
	left := e.to(b64, "sub.s64", e.n, start)
	return e.to(b64, "max.s64", e.to(b64, "min.s64", left, fmt.Sprint(e.form.tree.Chunk)), "0")
}

// foldTiles adds the values to the partials in ascending order of their
// elements, then folds the partials across the warp.
func (e *rowEmitter) foldTiles(r *reduction, tiles []*tile, value func(*tile, int) reg) []reg {
	width := e.form.width
	blocks := e.form.tree.Lanes / (32 * width)
	if e.form.solo {
		// The partials beyond the last element are identities, so that a fold
		// of the others alone is equal.
		blocks = len(tiles)
	}
	p := make([][]reg, blocks*width)
	for i := range p {
		p[i] = e.identity(r)
	}
	for n, t := range tiles {
		for lane := range width {
			i := n%blocks*width + lane
			v := e.masked(r, value(t, lane), t.guard)
			st := []reg{v}
			if !r.plain() && r.kind != kernel.M2 {
				// Elements outside carry the identity value and an index
				// behind all that are inside.
				pos := t.position(lane)
				if t.guard != "" {
					pos = e.to(b64, "selp.b64", pos, e.constant(b64, noIndex), t.guard)
				}
				st = append(st, pos)
			}
			p[i] = e.combine(r, p[i], st)
		}
	}
	if e.form.solo {
		return e.foldHalves(r, p)
	}
	return e.foldWarp(r, p, width)
}

// joinWarps combines the chunk states of a resident row: warp w has chunk w.
// The tree adds chunk results as elements 0..warps-1 of a second chunk, whose
// other partials are identities, so a fold by halves of just these is equal.
func (e *rowEmitter) joinWarps(reds []*reduction, states [][]reg) error {
	if e.form.warps == 1 {
		for i, r := range reds {
			e.outer[r.ref] = e.leave(r, states[i])
		}
		return nil
	}
	if len(reds) == 0 {
		return nil
	}
	base := e.sharedBase(e.form.warps * e.record)
	for i, r := range reds {
		at := e.stateAddress(r, base, e.warp, e.form.warps)
		e.storeState(r, states[i], at, e.to(pred, "setp.eq.u32", e.lane, "0"))
	}
	e.op("bar.sync", "0")
	for _, r := range reds {
		p := make([][]reg, e.form.warps)
		at := e.stateAddress(r, base, "", e.form.warps)
		for w := range p {
			if w > 0 {
				at = e.to(b64, "add.s64", at, fmt.Sprint(r.bytes))
			}
			p[w] = e.loadState(r, at, "")
		}
		e.outer[r.ref] = e.leave(r, e.foldHalves(r, p))
	}
	return nil
}

// sharedBase is the generic address of the block's shared memory.
func (e *emitter) sharedBase(bytes int) reg {
	e.shared = max(e.shared, bytes)
	return e.once("shared", func() reg { return e.def(b64, "cvta.shared.u64", e.def(b64, "mov.u64", "sm")) })
}

// stateAddress is where the state number i of a reduction stands among `room`
// of them; without i, where the first stands.
func (e *emitter) stateAddress(r *reduction, base, i reg, room int) reg {
	if at := r.at * room; at > 0 {
		base = e.to(b64, "add.s64", base, fmt.Sprint(at))
	}
	if i == "" {
		return base
	}
	return e.to(b64, "add.s64", base, e.to(b64, "mul.wide.u32", i, fmt.Sprint(r.bytes)))
}
