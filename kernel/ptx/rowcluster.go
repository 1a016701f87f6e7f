package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// A long row belongs to a cluster: a few blocks that run at the same time, on neighbouring
// multiprocessors, and write into each other's shared memory. Chunk c of the row is taken
// by block c%cluster. The result of a chunk goes to every block of the cluster, so that
// each has all of them and folds them along the tree for itself, as one block would.

const (
	// clusterBlocks is the most that every device with clusters runs together.
	clusterBlocks = 8
	// clusterRegisters is what a thread gets at least: blocks wait for the slowest of
	// their cluster, meanwhile the multiprocessor wants others. The values of a chunk take
	// 32 of them, the loads of later stages that are under way clusterAhead for each
	// operand.
	clusterRegisters = 64
	clusterAhead     = 8
	// clusterChunks is how many chunks a cluster keeps in registers.
	clusterChunks = clusterBlocks * residentWarps
)

// beginCluster finds the row and the warp's first chunk. It returns a register that is 0 in
// one thread of the row alone.
func (e *rowEmitter) beginCluster(block, tid reg) reg {
	n := e.form.cluster
	e.blocks = n
	if e.form.resident && !e.wide() {
		e.perSM = max(1, (64<<10)/(clusterRegisters*e.form.threads()))
	}
	e.row = e.to(b32, "shr.u32", block, fmt.Sprint(bits.TrailingZeros(uint(n))))
	rank := e.to(b32, "and.b32", block, fmt.Sprint(n-1))
	e.first = e.to(b32, "mad.lo.u32", e.warp, fmt.Sprint(n), rank)
	// The other side of this is in meet, behind the loads.
	e.op("barrier.cluster.arrive.relaxed.aligned")
	return e.to(b32, "or.b32", rank, tid)
}

// wide reports whether elements take two registers.
func (e *rowEmitter) wide() bool {
	for i := range e.k.Body {
		if e.depth[i] >= elementDepth && classOf(e.k.Body[i].Type) == b64 {
			return true
		}
	}
	return false
}

// ahead is how many tiles are loaded before the first is used. Where the registers of a
// cluster hold the tiles of the first stage, the others' operands come a few at a time.
func (e *rowEmitter) ahead(tiles []*tile) int {
	if e.form.cluster > 1 && e.form.resident && len(tiles[0].vals) > 0 {
		return min(len(tiles), max(1, clusterAhead/e.form.width))
	}
	return len(tiles)
}

// meet waits until the other blocks of the cluster run: before that their shared memory is
// not there to be written.
func (e *rowEmitter) meet() {
	if e.form.cluster > 1 && !e.met {
		e.op("barrier.cluster.wait.acquire.aligned")
		e.met = true
	}
}

// await waits until all chunk results that this thread will read have been written. What
// is written after it lies elsewhere, as every reduction has its own place; and none of
// it is for a block that has ended, as each waits for the last results like this.
func (e *rowEmitter) await() {
	if e.form.cluster > 1 {
		e.op("barrier.cluster.arrive.release.aligned")
		e.op("barrier.cluster.wait.acquire.aligned")
		return
	}
	e.op("bar.sync", "0")
}

// peer is the address in lane l's block of the cluster, for the first lanes of a warp, of
// what lies at the given place in this block's shared memory.
func (e *rowEmitter) peer(at reg) reg {
	rank, ok := e.consts["peer"]
	if !ok {
		rank = e.def(b32, "and.b32", e.laneHead(), fmt.Sprint(e.form.cluster-1))
		e.consts["peer"] = rank
	}
	return e.to(b64, "mapa.u64", at, rank)
}

// fullChunks writes the stages for warps whose chunk is full, which are all but one of a
// row: they need no guards. The others go on behind it. Barriers count threads, wherever
// in the text these arrive.
func (e *rowEmitter) fullChunks(done string) error {
	chunk := e.form.tree.Chunk
	rest := e.label()
	left := e.to(b64, "sub.s64", e.n, e.to(b64, "mul.wide.u32", e.first, fmt.Sprint(chunk)))
	e.opIf(e.to(pred, "setp.lt.s64", left, fmt.Sprint(chunk)), "bra", rest)
	e.form.full = true
	if err := e.stages(e.form.part, e.runStage, e.one); err != nil {
		return err
	}
	e.op("bra", done)
	e.place(rest)
	e.form.full, e.kept, e.met, e.outer = false, nil, false, map[kernel.Ref]reg{}
	return nil
}

// joinCluster combines the chunk states of a row that the cluster's registers hold.
func (e *rowEmitter) joinCluster(reds []*reduction, states [][]reg) {
	if len(reds) == 0 {
		return
	}
	e.meet()
	past := e.label()
	e.opIf(e.to(pred, "setp.ge.u32", e.first, e.nchunks), "bra", past)
	e.storeChunk(reds, states, e.first)
	e.place(past)
	e.await()
	for _, r := range reds {
		e.outer[r.ref] = e.leave(r, e.foldChunks(r))
	}
}
