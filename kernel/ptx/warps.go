package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// warpForm is one variant of a product of matrices of bf16 or f16 on matrix units that a warp
// has for itself: those of every device since compute capability 8.0. A block computes a tile of
// rows by cols results. All its threads bring slabs of both operands to a ring in shared
// memory by asynchronous copies; each warp multiplies its part of the tile from there,
// accumulating in f32 over the whole group, 16 steps at a time in ascending order. As every
// result is that one chain, neither the tile nor where operands lie changes a bit. An f32 is
// two halves in all that follows: a step of f32 counts as two, and 8 are added at a time.
type warpForm struct {
	rows, cols   int // of a tile: at least 16 and 16 for each warp that multiplies
	down, across int // those warps along its rows and along its columns; the others of a block copy alone
	depth        int // steps of a slab: a multiple of 16, and more
	stages       int // slabs of the ring, at least 2
	turnX, turnZ bool
	pairs        bool // see unitEmitter
	// Of a thin product the operand with the many lines may be computed on its way to a slab,
	// see warpComputed; full says that no tile has lines of it then that lie outside.
	thin, computed, full bool
	prefetch             bool // see Target.Prefetch
	many                 int  // that operand
}

// warpForms are the tiles: one that multiplies most for what it reads, and one of which there
// are more; see thinForm for those of few rows or columns. Each thread has a place in every
// round of copies of a slab.
var warpForms = struct{ large, small warpForm }{
	large: warpForm{rows: 128, cols: 128, down: 2, across: 2, depth: 32},
	small: warpForm{rows: 64, cols: 64, down: 2, across: 2, depth: 64},
}

const (
	warpThreads = 128
	warpStep    = 16 // steps of the group that an instruction multiplies
	copyBytes   = 16
	copyHalves  = copyBytes / 2 // elements of a copy
)

func (f warpForm) slab() int { return 2 * f.depth * (f.rows + f.cols) }

// ring gives a form as many slabs as leave room for two blocks on a multiprocessor, of
// whose shared memory a block takes 1 KB besides.
func (f warpForm) ring(shared int) warpForm {
	if f.computed { // what is on its way is in registers
		f.stages = 2
		return f
	}
	f.stages = max(2, min(7, (shared/2-1<<10)/f.slab()))
	return f
}

func (f warpForm) warps() int { return f.down * f.across }

// notPacked is the operand that is not packed wherever it lies, -1 if both may be.
func (f warpForm) notPacked() int {
	if f.computed {
		return f.many
	}
	return -1
}

// slabShape is how an operand lies in a slab: rows, which are lines of steps, or steps of
// lines where it is turned, of vectors of 16 bytes. The place of a vector in its row is its
// number put together with that of the row by exclusive or, so that the vectors of one number
// of eight rows, which are read at once, lie in different banks.
type slabShape struct{ rows, vectors int }

func (s slabShape) pitch() int { return copyBytes * s.vectors }

// vectorPlace is where a vector of a row has its place, in bytes from the slab on.
func (a *asm) vectorPlace(s slabShape, row, vector reg) reg {
	mixed := min(8, s.vectors) // vectors that change places; eight rows have as many orders
	turn := a.to(b32, "and.b32", a.to(b32, "shr.u32", row, fmt.Sprint(bits.TrailingZeros(uint(8/mixed)))), fmt.Sprint(mixed-1))
	at := a.to(b32, "shl.b32", a.to(b32, "xor.b32", vector, turn), "4")
	return a.to(b32, "mad.lo.u32", row, fmt.Sprint(s.pitch()), at)
}

type warpEmitter struct {
	*unitEmitter
	f     warpForm
	sides [2]*warpSide
	acc   [][]reg // sums of the warp: of sixteen rows, see results
	base  reg     // shared address of the ring, and
	end   reg     // of what lies behind it
	left  reg     // steps of the group from the next slab to copy on, 32 bits

	computed *warpComputed // the operand that is, or nil
}

// warpSide is an operand: the rows of the first one, the columns of the second.
type warpSide struct {
	number int
	turned bool
	lines  int // of the tile
	own    int // of a warp
	shape  slabShape
	at     int         // bytes of a slab before this operand's part
	line   reg         // first line of the warp in the tile
	origin reg         // and of the tile in the matrix
	extent reg         // lines there are
	copies *warpCopies // nil if it is computed
	where  []reg       // see readers
}

// emitWarps writes one variant of a product.
func emitWarps(k *kernel.Kernel, p *product, unit ir.DType, form warpForm) (*emitter, error) {
	e := &warpEmitter{unitEmitter: &unitEmitter{tiledEmitter: newTiled(k, p), unit: unit, tall: form.rows, wide: form.cols, pairs: form.pairs}, f: form}
	e.dynamic = form.stages * form.slab()
	e.begin()
	e.prefetch()
	e.waitHere()
	if err := e.evalOuter(0); err != nil {
		return nil, err
	}
	done := e.label()
	if err := e.multiply(done); err != nil {
		return nil, err
	}
	for i, acc := range e.acc {
		first := e.to(b32, "add.u32", e.sides[0].line, fmt.Sprint(16*i))
		col := e.to(b64, "add.s64", e.col0, e.to(b64, "cvt.u64.u32", e.sides[1].line))
		if err := e.results(acc, first, col); err != nil {
			return nil, err
		}
	}
	e.place(done)
	return e.emitter, nil
}

// begin finds the block's tile and the warp's part of it.
func (e *warpEmitter) begin() {
	e.tid = e.tidHead()
	e.group = e.slotReg(slotGroup, 0, 0)
	e.rows, e.cols = e.slotReg(slotRows, 0, 0), e.slotReg(slotColumns, 0, 0)
	e.warp, e.lane = e.def(b32, "shr.u32", e.tid, "5"), e.def(b32, "and.b32", e.tid, "31")
	tm, tn, plane := e.tileCounts()
	batch := e.enterTile(e.to(b32, "mov.u32", "%ctaid.x"), tm, tn, plane)
	e.batch = make([]reg, len(e.k.Axes))
	if len(e.p.batch) > 0 {
		e.decode(batch, e.p.batch, e.batch)
	}
	e.axisAt = func(axis int) reg { return e.slotReg(slotStart, axis, 0) } // nothing uniform asks
	e.addresses(e.batch)
	e.base = e.def(b32, "mov.u32", "dyn")
	e.end = e.def(b32, "add.u32", e.base, fmt.Sprint(e.dynamic))
	f := e.f
	over := e.to(b32, "shr.u32", e.warp, fmt.Sprint(bits.TrailingZeros(uint(f.across))))
	beside := e.to(b32, "and.b32", e.warp, fmt.Sprint(f.across-1))
	e.sides[0] = &warpSide{number: 0, turned: f.turnX, lines: f.rows, own: f.rows / f.down, origin: e.row0, extent: e.rows,
		line: e.to(b32, "mul.lo.u32", over, fmt.Sprint(f.rows/f.down))}
	e.sides[1] = &warpSide{number: 1, turned: f.turnZ, lines: f.cols, own: f.cols / f.across, origin: e.col0, extent: e.cols,
		line: e.to(b32, "mul.lo.u32", beside, fmt.Sprint(f.cols/f.across)), at: 2 * f.depth * f.rows}
	for _, s := range e.sides {
		s.shape = slabShape{rows: s.lines, vectors: f.depth / copyHalves}
		if s.turned {
			s.shape = slabShape{rows: f.depth, vectors: s.lines / copyHalves}
		}
		if e.f.computed && s.number == e.f.many {
			e.computed = e.newWarpComputed(s)
		} else {
			s.copies = e.newWarpCopies(s, batch)
		}
		e.readers(s)
	}
}

// prefetch asks for as many slabs as a ring has of the operand with the many lines, as lines of
// the cache: those that begin with a thread's vector.
func (e *warpEmitter) prefetch() {
	c := e.sides[e.f.many].copies
	if !e.f.prefetch || c == nil {
		return
	}
	const line = 128
	first := e.to(pred, "setp.eq.u32", e.to(b32, "and.b32", c.vector, fmt.Sprint(line/copyBytes-1)), "0")
	left := e.to(b32, "sub.s32", e.steps(), c.step)
	turned := e.sides[e.f.many].turned
	if turned {
		first = e.to(pred, "and.pred", first, e.to(pred, "setp.gt.s32", c.bytes, "0"))
	}
	slab := c.from
	for n := range e.f.stages {
		if n > 0 {
			slab = e.to(b64, "add.s64", slab, c.onward)
		}
		there, at := first, slab
		if !turned {
			there = e.to(pred, "and.pred", first, e.to(pred, "setp.gt.s32", left, fmt.Sprint(n*e.f.depth)))
		}
		for i := range c.count {
			if i > 0 {
				at = e.to(b64, "add.s64", at, c.apart)
			}
			rows, room := i*c.by, c.room
			if turned {
				rows, room = rows+n*e.f.depth, left
			}
			e.opIf(e.to(pred, "and.pred", there, e.to(pred, "setp.gt.s32", room, fmt.Sprint(rows))), prefetchLine, mem(at, 0))
		}
	}
}

// steps is how many there are in the group, 32 bits.
func (e *warpEmitter) steps() reg {
	n := e.to(b32, "cvt.u32.u64", e.group)
	if e.unit == ir.F32 {
		n = e.to(b32, "shl.b32", n, "1")
	}
	return n
}

// multiply runs over the group and leaves the sums in acc. While a warp multiplies a slab
// those behind it are on their way; what it multiplies next is in registers when it begins.
// Warps that have no part of the tile bring slabs until the group has ended, and go to done.
func (e *warpEmitter) multiply(done string) error {
	e.acc = make([][]reg, e.sides[0].own/16)
	for i := range e.acc {
		e.acc[i] = make([]reg, e.sides[1].own/2)
		for j := range e.acc[i] {
			e.acc[i][j] = e.to(b32, "mov.b32", "0")
		}
	}
	e.left = e.steps()
	slabs := e.to(b32, "div.u32", e.to(b32, "add.u32", e.left, fmt.Sprint(e.f.depth-1)), fmt.Sprint(e.f.depth))
	used, fill := e.to(b32, "mov.b32", e.base), e.to(b32, "mov.b32", e.base)
	held, err := e.fillRing(fill)
	if err != nil {
		return err
	}
	e.awaitSlab()
	// A turn for each slab, and a loop of as many turns as there are slabs in registers.
	turns := func(turn func() error) error {
		loop, over := e.label(), e.label()
		e.place(loop)
		for i := range max(1, len(held)) {
			if err := e.bringSlab(fill, held, i); err != nil {
				return err
			}
			if err := turn(); err != nil {
				return err
			}
			e.op("sub.u32", slabs, slabs, "1")
			more := e.to(pred, "setp.ne.u32", slabs, "0")
			if i+1 < len(held) {
				e.opUnless(more, "bra", over)
			} else {
				e.opIf(more, "bra", loop)
			}
		}
		e.place(over)
		return nil
	}
	// Behind the barrier all warps have read the slab in use, which is filled next.
	next := func() {
		e.awaitSlab()
		e.op("mov.b32", fill, used)
		e.nextSlab(used)
	}
	if e.f.warps() < warpThreads/32 {
		multiplies := e.label()
		e.opIf(e.to(pred, "setp.lt.u32", e.warp, fmt.Sprint(e.f.warps())), "bra", multiplies)
		if err := turns(func() error { next(); return nil }); err != nil {
			return err
		}
		e.op("bra", done)
		e.place(multiplies)
	}
	now := e.newFragments()
	e.readStep(used, 0, now)
	first := now
	return turns(func() error {
		for step := range e.f.depth / warpStep {
			then := first
			if step+1 < e.f.depth/warpStep {
				then = e.newFragments()
				e.readStep(used, step+1, then)
			} else {
				next()
				e.readStep(used, 0, then)
			}
			e.multiplyStep(now)
			now = then
		}
		return nil
	})
}

// fillRing begins to bring the first slabs, all but one of the ring. It returns what was read
// of those behind them that are computed from registers.
func (e *warpEmitter) fillRing(fill reg) (held []heldSlab, err error) {
	if e.computed == nil {
		for range e.f.stages - 1 {
			e.copySlab(fill)
			e.nextSlab(fill)
		}
		return nil, nil
	}
	e.computed.readOnce()
	var first []heldSlab
	for range e.f.stages - 1 {
		first = append(first, e.hold(e.computed.next()))
	}
	for range e.computed.held() {
		held = append(held, e.hold(e.computed.next()))
	}
	for _, h := range first {
		e.copySlab(fill)
		if err := e.computed.put(fill, h); err != nil {
			return nil, err
		}
		e.nextSlab(fill)
	}
	return held, nil
}

// bringSlab begins to bring a slab: what is computed was read by the i-th of the last turns,
// and that of as many turns on is read now.
func (e *warpEmitter) bringSlab(fill reg, held []heldSlab, i int) error {
	e.copySlab(fill)
	if e.computed == nil {
		return nil
	}
	if err := e.computed.put(fill, held[i]); err != nil {
		return err
	}
	e.keep(held[i], e.computed.next())
	return nil
}

// nextSlab goes to the slab behind.
func (e *warpEmitter) nextSlab(at reg) { e.nextInRing(at, e.f.slab(), e.base, e.end) }

// awaitSlab waits until all threads have copied the slab after the one in use, or the first
// one, and have read what they need of the one in use.
func (e *warpEmitter) awaitSlab() {
	e.op("cp.async.wait_group", fmt.Sprint(e.f.stages-2))
	e.op("bar.sync", "0")
}

// nextInRing goes on by so many bytes in a ring in shared memory.
func (a *asm) nextInRing(at reg, by int, base, end reg) {
	a.op("add.u32", at, at, fmt.Sprint(by))
	a.opIf(a.to(pred, "setp.eq.u32", at, end), "mov.b32", at, base)
}
