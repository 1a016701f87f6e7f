package ptx

import "fmt"

// The chunk results of a row that does not fit into the warps of a block are
// kept in an array, and the array is reduced by the same tree: while it is
// longer than a chunk into a second array and back, then by every warp for
// itself, so that all threads hold the result without another exchange.

// areas returns the addresses of a reduction's two arrays. The first has room
// for all chunk results, the second for the results of its chunks.
func (e *rowEmitter) areas(r *reduction) (first, second reg) {
	chunk := e.form.tree.Chunk
	if !e.form.spill && e.form.part == whole {
		room, both := e.room()
		base := e.sharedBase(both * e.record)
		first = e.stateAddress(r, base, "", both)
		return first, e.to(b64, "add.s64", first, fmt.Sprint(room*r.bytes))
	}
	// In scratch a row has first+second records.
	n := e.to(b64, "cvt.u64.u32", e.nchunks)
	n2 := e.to(b64, "div.u64", e.to(b64, "add.u64", n, fmt.Sprint(chunk-1)), fmt.Sprint(chunk))
	both := e.to(b64, "add.u64", n, n2)
	place := e.to(b64, "mul.wide.u32", e.row, fmt.Sprint(e.record))
	place = e.to(b64, "add.u64", place, fmt.Sprint(r.at))
	first = e.to(b64, "mad.lo.u64", place, both, e.slotReg(slotScratch, 0, 0))
	return first, e.to(b64, "mad.lo.u64", n, fmt.Sprint(r.bytes), first)
}

// room is how many chunk results the first array in shared memory has room for, and both
// arrays together.
func (e *rowEmitter) room() (first, both int) {
	chunk := e.form.tree.Chunk
	first = sharedChunks(e.record)
	if e.form.resident {
		first = e.form.warps * e.form.cluster
	}
	return first, first + (first+chunk-1)/chunk
}

// storeChunk writes the states of chunk c.
func (e *rowEmitter) storeChunk(reds []*reduction, states [][]reg, c reg) {
	if len(reds) == 0 {
		return
	}
	first := e.to(pred, "setp.eq.u32", e.lane, "0")
	for i, r := range reds {
		area, _ := e.areas(r)
		at := e.to(b64, "add.s64", area, e.to(b64, "mul.wide.u32", c, fmt.Sprint(r.bytes)))
		e.storeState(r, states[i], at, first)
	}
}

// foldChunks reduces the array of chunk results to one state, which all lanes
// of all warps hold.
func (e *rowEmitter) foldChunks(r *reduction) []reg {
	chunk := e.form.tree.Chunk
	src, dst := e.areas(r)
	m := e.to(b32, "mov.b32", e.nchunks)
	if e.form.spill || e.form.part == finish || !e.form.resident && sharedChunks(e.record) > chunk {
		src = e.to(b64, "mov.b64", src)
		dst = e.to(b64, "mov.b64", dst)
		loop, inner, next, end := e.label(), e.label(), e.label(), e.label()
		e.place(loop)
		e.opIf(e.to(pred, "setp.le.u32", m, fmt.Sprint(chunk)), "bra", end)
		of := e.to(b32, "div.u32", e.to(b32, "add.u32", m, fmt.Sprint(chunk-1)), fmt.Sprint(chunk))
		c := e.to(b32, "mov.b32", e.warp)
		e.opIf(e.to(pred, "setp.ge.u32", c, of), "bra", next)
		e.place(inner)
		start := e.to(b32, "mul.lo.u32", c, fmt.Sprint(chunk))
		count := e.to(b32, "min.u32", e.to(b32, "sub.u32", m, start), fmt.Sprint(chunk))
		from := e.to(b64, "add.s64", src, e.to(b64, "mul.wide.u32", start, fmt.Sprint(r.bytes)))
		s := e.foldArray(r, from, count)
		at := e.to(b64, "add.s64", dst, e.to(b64, "mul.wide.u32", c, fmt.Sprint(r.bytes)))
		e.storeState(r, s, at, e.to(pred, "setp.eq.u32", e.lane, "0"))
		e.op("add.u32", c, c, fmt.Sprint(e.form.warps))
		e.opIf(e.to(pred, "setp.lt.u32", c, of), "bra", inner)
		e.place(next)
		e.op("bar.sync", "0")
		swap := e.to(b64, "mov.b64", src)
		e.op("mov.b64", src, dst)
		e.op("mov.b64", dst, swap)
		e.op("mov.b32", m, of)
		e.op("bra", loop)
		e.place(end)
	}
	return e.foldArray(r, src, m)
}

// foldArray reduces at most a chunk of states by one warp: lane l takes those
// of the partials l, l+32, and so on.
func (e *rowEmitter) foldArray(r *reduction, src, m reg) []reg {
	lanes := e.form.tree.Lanes
	blocks := lanes / 32
	bytes := r.bytes
	p := make([][]reg, blocks)
	for i := range p {
		p[i] = e.fresh(r)
	}
	i := e.to(b32, "mov.b32", e.lane)
	at := e.to(b64, "add.s64", src, e.to(b64, "mul.wide.u32", e.lane, fmt.Sprint(bytes)))
	loop := e.label()
	e.place(loop)
	for b := range p {
		j := i
		if b > 0 {
			j = e.to(b32, "add.u32", i, fmt.Sprint(32*b))
		}
		inside := e.to(pred, "setp.lt.u32", j, m)
		a := at
		if b > 0 {
			a = e.to(b64, "add.s64", at, fmt.Sprint(32*b*bytes))
		}
		e.assign(r, p[b], e.combine(r, p[b], e.loadState(r, a, inside)))
	}
	e.op("add.s64", at, at, fmt.Sprint(lanes*bytes))
	e.op("add.u32", i, i, fmt.Sprint(lanes))
	// Every lane goes round equally often: the shuffles below need them all.
	first := e.to(b32, "sub.u32", i, e.lane)
	e.opIf(e.to(pred, "setp.lt.u32", first, m), "bra", loop)
	return e.foldWarp(r, p, 1)
}
