package ptx

import (
	"fmt"
	"math/bits"
)

// A long row belongs to a cluster: a few blocks that run at the same time, on neighbouring
// multiprocessors, and write into each other's shared memory. Chunk c of the row is taken
// by block c%cluster. The result of a chunk goes to every block of the cluster, so that
// each has all of them and folds them along the tree for itself, as one block would.

const (
	// clusterBlocks is the most that every device with clusters runs together.
	clusterBlocks = 8
	// clusterChunks is how many chunks a cluster keeps in registers.
	clusterChunks = clusterBlocks * residentWarps
)

// beginCluster finds the row and the warp's first chunk. It returns a register that is 0 in
// one thread of the row alone.
func (e *rowEmitter) beginCluster(block, tid reg) reg {
	n := e.form.cluster
	e.blocks = n
	e.row = e.to(b32, "shr.u32", block, fmt.Sprint(bits.TrailingZeros(uint(n))))
	rank := e.to(b32, "and.b32", block, fmt.Sprint(n-1))
	e.first = e.to(b32, "mad.lo.u32", e.warp, fmt.Sprint(n), rank)
	// The other side of this is in meet, behind the loads.
	e.op("barrier.cluster.arrive.aligned")
	return e.to(b32, "or.b32", rank, tid)
}

// meet waits until the other blocks of the cluster run: before that their shared memory is
// not there to be written.
func (e *rowEmitter) meet() {
	if e.form.cluster > 1 && !e.met {
		e.op("barrier.cluster.wait.aligned")
		e.met = true
	}
}

// await waits until all chunk results that this thread will read have been written. What
// is written after it lies elsewhere, as every reduction has its own place; and none of
// it is for a block that has ended, as each waits for the last results like this.
func (e *rowEmitter) await() {
	if e.form.cluster > 1 {
		e.op("barrier.cluster.arrive.aligned")
		e.op("barrier.cluster.wait.aligned")
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
