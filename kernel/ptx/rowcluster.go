package ptx

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/kernel"
)

// A long row belongs to a cluster: a few blocks that run at the same time, on neighbouring
// multiprocessors, and write into each other's shared memory. Chunk c of the row is taken
// by block c%cluster. The result of a chunk goes to every block of the cluster, so that
// each has all of them and folds them along the tree for itself, as one block would. A
// barrier in each block counts the bytes that arrive: no block waits for more than it needs.

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
	e.expect(tid)
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

// expect makes a barrier for the chunk results of each stage, which is over when all of
// their bytes have arrived.
func (e *rowEmitter) expect(tid reg) {
	past := e.label()
	e.opIf(e.to(pred, "setp.ne.u32", tid, "0"), "bra", past)
	bytes := map[int]int{} // of a chunk's states
	for _, r := range e.reds {
		for _, c := range r.state {
			bytes[e.stage[r.ref]-1] += map[class]int{b32: 4, b64: 8}[c]
		}
	}
	stages := slices.Sorted(maps.Keys(bytes))
	for _, s := range stages {
		e.op("mbarrier.init.shared::cta.b64", e.arrival(e.sharedStart(), s), "1")
	}
	e.op("fence.mbarrier_init.release.cluster")
	for _, s := range stages {
		all := e.to(b32, "mul.lo.u32", e.nchunks, fmt.Sprint(bytes[s]))
		e.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", e.arrival(e.sharedStart(), s), all)
	}
	e.place(past)
}

// arrival is the barrier of a stage in the block whose shared memory starts at base. The
// barriers lie behind the states.
func (e *rowEmitter) arrival(base reg, stage int) string {
	_, both := e.room()
	at := (both*e.record + 7) / 8 * 8
	e.shared = max(e.shared, at+8*(stage+1))
	return mem(base, int64(at+8*stage))
}

// sharedStart is where shared memory starts, in its own space.
func (e *rowEmitter) sharedStart() reg {
	return e.once("shared start", func() reg { return e.def(b32, "mov.u32", "sm") })
}

// meet waits until the other blocks of the cluster run and have their barriers: before that
// their shared memory is not there to be written.
func (e *rowEmitter) meet() {
	if e.form.cluster > 1 && !e.met {
		e.op("barrier.cluster.wait.acquire.aligned")
		e.met = true
	}
}

// sendChunk writes the states of chunk c into every block of the cluster, lane l into that
// of rank l. Nothing is for a block that has ended, as each waits for all results of the
// last stage; and every reduction has its own place.
func (e *rowEmitter) sendChunk(reds []*reduction, states [][]reg, c reg, stage int) {
	peer := e.once("peer", func() reg {
		rank := e.def(b32, "and.b32", e.laneHead(), fmt.Sprint(e.form.cluster-1))
		return e.def(b32, "mapa.shared::cluster.u32", e.sharedStart(), rank)
	})
	_, both := e.room()
	each := e.to(pred, "setp.lt.u32", e.lane, fmt.Sprint(e.form.cluster))
	for i, r := range reds {
		at := e.to(b32, "mad.lo.u32", c, fmt.Sprint(r.bytes), peer)
		for j, cls := range r.state {
			e.opIf(each, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"+classType[cls],
				mem(at, int64(r.at*both+j*e.word)), states[i][j], e.arrival(peer, stage))
		}
	}
}

// arrived waits until this block has all chunk results of a stage.
func (e *rowEmitter) arrived(stage int) {
	again := e.label()
	e.place(again)
	over := e.to(pred, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", e.arrival(e.sharedStart(), stage), "0")
	e.opUnless(over, "bra", again)
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
func (e *rowEmitter) joinCluster(reds []*reduction, states [][]reg, stage int) {
	if len(reds) == 0 {
		return
	}
	e.meet()
	past := e.label()
	e.opIf(e.to(pred, "setp.ge.u32", e.first, e.nchunks), "bra", past)
	e.sendChunk(reds, states, e.first, stage)
	e.place(past)
	e.arrived(stage)
	for _, r := range reds {
		e.outer[r.ref] = e.leave(r, e.foldChunks(r))
	}
}
