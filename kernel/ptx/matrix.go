package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// matrixForm is one variant of a product of matrices of bf16 or f16 on Hopper's
// matrix units: a block computes a tile of 128 rows by cols columns. One thread
// brings slabs of both operands through the bulk copy engine into a ring in shared
// memory; two groups of 128 threads multiply 64 rows each by asynchronous wgmma,
// accumulating in f32 over the whole group, 16 steps at a time in ascending order.
// That order, not the chunks of the kernel's tree, is what the bits follow: those of
// this kind of device.
type matrixForm struct {
	cols         int // of a tile, see matrixWidths
	turnX, turnZ bool
	pairs, whole bool // see unitEmitter
}

const (
	matrixRows    = 128
	matrixDepth   = 64
	matrixThreads = 384
	matrixRing    = 224 << 10 // bytes of shared memory for slabs
	slabX         = 2 * matrixRows * matrixDepth
	boxBytes      = 2 * 64 * 64 // of a box of 64 by 64 elements
)

func (f matrixForm) slab() int   { return slabX + 2*f.cols*matrixDepth }
func (f matrixForm) stages() int { return matrixRing / f.slab() }

type matrixEmitter struct {
	*unitEmitter
	m     matrixForm
	ring  reg // shared address of the slabs, 32 bits
	full  reg // and of the barriers that tell that a slab is there,
	empty reg // or was used
	kt    reg // slabs of the group, 32 bits
}

// emitMatrix writes one variant of a product.
func emitMatrix(k *kernel.Kernel, p *product, unit ir.DType, form matrixForm) (*emitter, error) {
	e := &matrixEmitter{unitEmitter: &unitEmitter{tiledEmitter: newTiled(k, p), unit: unit, tall: matrixRows, wide: form.cols, pairs: form.pairs, whole: form.whole}, m: form}
	e.maps = 2
	e.dynamic = form.stages()*form.slab() + 16*form.stages() + 1024
	e.start()
	consumer, done := e.label(), e.label()
	e.opIf(e.to(pred, "setp.ge.u32", e.tid, "128"), "bra", consumer)
	e.op("setmaxnreg.dec.sync.aligned.u32", "40")
	e.produce(done)
	e.op("bra", done)
	e.place(consumer)
	e.op("setmaxnreg.inc.sync.aligned.u32", "232")
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	if err := e.consume(); err != nil {
		return nil, err
	}
	e.place(done)
	return e.emitter, nil
}

// start readies the barriers: a thread of those that multiply does, while the one that brings
// slabs finds out where. Each side waits for the other once it knows its first tile.
func (e *matrixEmitter) start() {
	e.tid = e.tidHead()
	e.group = e.slotReg(slotGroup, 0, 0)
	e.rows, e.cols = e.slotReg(slotRows, 0, 0), e.slotReg(slotColumns, 0, 0)
	e.batch = make([]reg, len(e.k.Axes))
	for _, a := range e.p.batch {
		e.batch[a] = e.reg(b64)
	}
	e.axisAt = func(axis int) reg { return e.slotReg(slotStart, axis, 0) }
	for arg := range e.k.Args {
		e.ptr[arg] = e.slotReg(slotPointer, arg, 0)
	}
	n := e.m.stages()
	e.ring = e.def(b32, "and.b32", e.def(b32, "add.u32", e.def(b32, "mov.u32", "dyn"), "1023"), "0xfffffc00")
	e.full = e.def(b32, "add.u32", e.ring, fmt.Sprint(n*e.m.slab()))
	e.empty = e.def(b32, "add.u32", e.full, fmt.Sprint(8*n))
	groups := e.def(b64, "add.u64", e.group, fmt.Sprint(matrixDepth-1))
	e.kt = e.def(b32, "cvt.u32.u64", e.def(b64, "shr.u64", groups, "6"))
	ready := e.label()
	e.opIf(e.to(pred, "setp.ne.u32", e.tid, "128"), "bra", ready)
	for s := range n {
		e.op("mbarrier.init.shared::cta.b64", mem(e.full, int64(8*s)), "1")
		e.op("mbarrier.init.shared::cta.b64", mem(e.empty, int64(8*s)), "8") // a thread of each warp that multiplies
	}
	e.op("fence.mbarrier_init.release.cluster")
	e.op("fence.proxy.async")
	e.place(ready)
	e.op("bar.warp.sync", "0xffffffff") // what follows wants all threads of a warp
}

// ringState walks the ring: the slab in use and the phase of its barriers.
type ringState struct{ stage, phase, at, full, empty reg }

func (e *matrixEmitter) newRing() ringState {
	return ringState{
		stage: e.to(b32, "mov.u32", "0"), phase: e.to(b32, "mov.u32", "0"), at: e.to(b32, "mov.u32", e.ring),
		full: e.to(b32, "mov.u32", e.full), empty: e.to(b32, "mov.u32", e.empty),
	}
}

func (e *matrixEmitter) advance(r ringState) {
	on := e.label()
	e.op("add.u32", r.stage, r.stage, "1")
	e.op("add.u32", r.at, r.at, fmt.Sprint(e.m.slab()))
	e.op("add.u32", r.full, r.full, "8")
	e.op("add.u32", r.empty, r.empty, "8")
	e.opIf(e.to(pred, "setp.lt.u32", r.stage, fmt.Sprint(e.m.stages())), "bra", on)
	e.op("mov.u32", r.stage, "0")
	e.op("xor.b32", r.phase, r.phase, "1")
	e.op("mov.u32", r.at, e.ring)
	e.op("mov.u32", r.full, e.full)
	e.op("mov.u32", r.empty, e.empty)
	e.place(on)
}

// eachTile runs f for every tile of the block, of which there is at least one: e.row0, e.col0
// and the batch are those of the tile. Once the first is known, and before anything else, it
// waits until the barriers are ready.
func (e *matrixEmitter) eachTile(meet func(), f func(batch reg) error) error {
	tm, tn, plane := e.tileCounts()
	all := e.to(b32, "mul.lo.u32", plane, e.slotReg32(slotItems, 0))
	id := e.to(b32, "mov.u32", "%ctaid.x")
	step := e.to(b32, "mov.u32", "%nctaid.x")
	batch, row0, col0 := e.reg(b32), e.reg(b64), e.reg(b64)
	enter := func() {
		e.op("mov.u32", batch, e.enterTile(id, tm, tn, plane))
		e.op("mov.b64", row0, e.row0)
		e.op("mov.b64", col0, e.col0)
		e.row0, e.col0 = row0, col0
	}
	enter()
	meet()
	loop, end := e.label(), e.label()
	e.place(loop)
	if err := f(batch); err != nil {
		return err
	}
	e.op("add.u32", id, id, step)
	e.opIf(e.to(pred, "setp.ge.u32", id, all), "bra", end)
	enter()
	e.op("bra", loop)
	e.place(end)
	return nil
}

// produce brings the slabs of all tiles: one thread does, and the others are done.
func (e *matrixEmitter) produce(done string) {
	r := e.newRing()
	other := e.to(pred, "setp.ne.u32", e.tid, "0")
	maps := [2]reg{}
	for i := range maps {
		maps[i] = e.mapAddress(i)
		e.opUnless(other, "prefetch.tensormap", mem(maps[i], 0))
	}
	meet := func() {
		e.op("bar.sync", "0")
		e.opIf(other, "bra", done)
	}
	_ = e.eachTile(meet, func(batch reg) error {
		row, col := e.to(b32, "cvt.u32.u64", e.row0), e.to(b32, "cvt.u32.u64", e.col0)
		k, left := e.to(b32, "mov.u32", "0"), e.to(b32, "mov.u32", e.kt)
		loop := e.label()
		e.place(loop)
		e.await(r.empty, e.to(b32, "xor.b32", r.phase, "1"))
		e.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", mem(r.full, 0), fmt.Sprint(e.m.slab()))
		bring := func(i int, turned bool, at, line reg, lines int) {
			if !turned {
				e.bring(at, 0, r.full, maps[i], k, line, batch)
				return
			}
			for box := range lines / 64 {
				l := line
				if box > 0 {
					l = e.to(b32, "add.u32", line, fmt.Sprint(64*box))
				}
				e.bring(at, box*boxBytes, r.full, maps[i], l, k, batch)
			}
		}
		bring(0, e.m.turnX, r.at, row, matrixRows)
		bring(1, e.m.turnZ, e.to(b32, "add.u32", r.at, fmt.Sprint(slabX)), col, e.m.cols)
		e.advance(r)
		e.op("add.u32", k, k, fmt.Sprint(matrixDepth))
		e.op("sub.u32", left, left, "1")
		e.opIf(e.to(pred, "setp.ne.u32", left, "0"), "bra", loop)
		return nil
	})
}

// consume multiplies the slabs and finishes each tile.
func (e *matrixEmitter) consume() error {
	e.warp = e.to(b32, "shr.u32", e.to(b32, "sub.u32", e.tid, "128"), "5") // 0 to 7
	e.lane = e.to(b32, "and.b32", e.tid, "31")
	leader := e.to(pred, "setp.eq.u32", e.lane, "0")
	half := e.to(b32, "shr.u32", e.warp, "2")
	acc := make([]reg, e.m.cols/2)
	for i := range acc {
		acc[i] = e.reg(b32)
	}
	r := e.newRing()
	used := e.to(b32, "mov.u32", "0")
	return e.eachTile(func() { e.op("bar.sync", "0") }, func(batch reg) error {
		if len(e.p.batch) > 0 {
			idx := make([]reg, len(e.k.Axes))
			e.decode(batch, e.p.batch, idx)
			for _, a := range e.p.batch {
				e.op("mov.b64", e.batch[a], idx[a])
			}
		}
		for _, a := range acc {
			e.op("mov.b32", a, "0")
		}
		k := e.to(b32, "mov.u32", "0")
		loop, first := e.label(), e.label()
		e.place(loop)
		e.await(r.full, r.phase)
		x := e.descriptor(e.to(b32, "mad.lo.u32", half, fmt.Sprint(boxBytes), r.at), boxBytes)
		z := e.descriptor(e.to(b32, "add.u32", r.at, fmt.Sprint(slabX)), boxBytes)
		e.op("wgmma.fence.sync.aligned")
		for s := range matrixDepth / 16 {
			step := func(d reg, turned bool) reg {
				by := 32 * s
				if turned {
					by = 2048 * s
				}
				return e.to(b64, "add.s64", d, fmt.Sprint(by>>4))
			}
			always := e.to(pred, "setp.eq.u32", k, k)
			e.op(fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s", e.m.cols, halfName(e.unit), halfName(e.unit)), group(acc),
				step(x, e.m.turnX), step(z, e.m.turnZ), always, "1", "1", mark(e.m.turnX), mark(e.m.turnZ))
		}
		e.op("wgmma.commit_group.sync.aligned")
		// One group stays in flight: the slab before is free once it is alone.
		e.op("wgmma.wait_group.sync.aligned", "1")
		e.opIf(e.to(pred, "setp.eq.u32", k, "0"), "bra", first)
		e.opIf(leader, "mbarrier.arrive.shared::cta.b64", "_", mem(used, 0))
		e.place(first)
		e.op("mov.u32", used, r.empty)
		e.advance(r)
		e.op("add.u32", k, k, "1")
		e.opIf(e.to(pred, "setp.lt.u32", k, e.kt), "bra", loop)
		e.op("wgmma.wait_group.sync.aligned", "0")
		e.opIf(leader, "mbarrier.arrive.shared::cta.b64", "_", mem(used, 0))
		return e.results(acc, e.to(b32, "shl.b32", e.warp, "4"), e.col0)
	})
}
