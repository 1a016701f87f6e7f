package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Attention on Hopper's matrix units: the recurrence of package attend with its state on
// the chip. Operands are f16 or bf16, scores and sums f32. The bits are those of this
// kind of device:
//
//	x_j = q · k_j, in the order of the matrix units
//	m'  = max(m, t · max x_j), t = scale · log2(e), over blocks of flashKeys keys
//	p_j = 2^(t·x_j - m') by fma and ex2.approx, which has 2 ulp
//	l   = l·2^(m-m') + Σ p_j: four lanes sum eight pairs of columns each, in order
//	acc = (acc + Σ p_j·v_j)·2^(m-m'), p rounded to the dtype of v, so that the factor of a block
//	      is taken in behind the products of the block before
//
// A query's bits depend on its own vector, its place and its keys only: not on the queries
// beside it, blocks of hidden keys, batches or layouts. A bias is added to x_j, times
// log2(e)/t, so that one of 0 changes no bit. See Shah and others, "FlashAttention-3", 2024,
// for groups of threads that take turns, and products that run beside the exponentials.
//
// Hidden keys have weight 0, and a value there takes no part though it is not finite: where
// keys are hidden a group looks at the block of values. If one is not finite, the product
// takes a copy in which such are 0, and they are added to the queries that see them, but for
// keys whose weight has become 0. Elsewhere a weight of 0 multiplies, and 0 times such a
// value is NaN: of values that are not finite, whether a result is NaN may depend on what
// is beside the query. Of finite ones nothing does.

// flashForm is one variant of a kernel of attention.
type flashForm struct {
	f16    bool
	d, e   int // widths of keys and of values
	groups int // of 128 threads that multiply, 64 queries (or keys) each
	causal bool
	window bool
	bias   flashBias
	vector bool // results are stored 16 bytes at a time
	folded bool // all queries are at one place
}

// flashBias says how a bias varies.
type flashBias uint8

const (
	flashNoBias   flashBias = iota
	flashHeadBias           // one number for a head
	flashFullBias
)

func (f flashForm) String() string {
	t := "bf16"
	if f.f16 {
		t = "f16"
	}
	return fmt.Sprintf("%s_%dx%d_g%d_%s%s%s%s%d", t, f.d, f.e, f.groups, mark(f.causal), mark(f.window), mark(f.vector), mark(f.folded), f.bias)
}

const (
	flashKeys  = 128 // keys of a block
	flashWidth = 128 // of a head at most

	hopperShared = 227 << 10 // of a block's shared memory on Hopper
	alignShared  = 1024      // of boxes
)

// numbers of a flash kernel: its parameters of kind slotNumber.
const (
	flashLength = iota // queries of a head
	flashSource        // keys of a head
	flashShift         // place of query 0 among the keys, signed
	flashStep          // what the place grows by from a query to the next, 0 or 1
	flashHeads         // heads of queries in a batch
	flashGroup         // of them, that share keys
	flashTiles         // of a head
	flashAll           // tiles of all heads and batches
	flashFactor        // t, bits of f32
	flashBack          // keys that a query sees at most
	flashScale         // scale, bits of f32
	// strides in bytes, of batch, head, query and key
	flashBiasAt
	flashLseAt   = flashBiasAt + 4 // of batch, head, query
	flashDeltaAt = flashLseAt + 3
	flashBlocks  = flashDeltaAt + 3 // of queries of a head, and
	flashQueries = flashBlocks + 1  // heads of queries in a batch, of the gradient of keys
	flashNumbers = flashQueries + 1
)

// Numbers of f32, and what is fixed about a block.
const (
	f32MinusInf = "0fFF800000"
	f32Log2E    = "0f3FB8AA3B"
	f32Ln2      = "0f3F317218"
	f32One      = "0f3F800000"
	f32Zero     = "0f00000000"

	groupLanes  = 128
	barrierScan = 1 // named barriers of the groups, from there on
	barrierTurn = 5 // and those by which they take turns
)

// flash writes a kernel of attention.
type flash struct {
	*asm
	flashForm
	tid, lane, warp reg // warp of a group
	quad            reg // lane of four
	line            reg // lane/4
	group           reg // of those that multiply
	base            reg // shared memory
	used            int // bytes of it
}

func newFlash(a *asm, f flashForm, maps int) *flash {
	x := &flash{asm: a, flashForm: f}
	a.maps = maps
	x.tid = a.def(b32, "mov.u32", "%tid.x")
	x.lane = a.def(b32, "and.b32", x.tid, "31")
	x.quad = a.def(b32, "and.b32", x.tid, "3")
	x.line = a.def(b32, "shr.u32", x.lane, "2")
	x.warp = a.def(b32, "and.b32", a.def(b32, "shr.u32", x.tid, "5"), "3")
	x.group = a.def(b32, "sub.u32", a.def(b32, "shr.u32", x.tid, "7"), "1")
	x.base = a.def(b32, "and.b32", a.def(b32, "add.u32", a.def(b32, "mov.u32", "dyn"), fmt.Sprint(alignShared-1)), fmt.Sprintf("0x%x", uint32(math.MaxUint32)&^(alignShared-1)))
	return x
}

func (f flashForm) threads() int { return (f.groups + 1) * groupLanes }

// boxes is how many boxes of 64 columns a width takes, boxedBytes what lines of so many
// columns take, and steps the k-steps of 16 of a product along it.
func steps(width int) int             { return (width + 15) / 16 }
func boxes(width int) int             { return (width + 63) / 64 }
func boxedBytes(lines, width int) int { return lines * boxLine * boxes(width) }
func (f flashForm) columns() int      { return (f.e + 15) &^ 15 }

// share takes shared memory.
func (x *flash) share(bytes int) reg {
	at := x.base
	if x.used > 0 {
		at = x.def(b32, "add.u32", x.base, fmt.Sprint(x.used))
	}
	x.used += bytes
	x.dynamic = x.used + alignShared
	return at
}

// pipe is a ring of slabs in shared memory, with barriers that tell that a slab is there,
// and that it was used.
type pipe struct {
	stages, bytes     int
	beside            int // bytes that come with a slab, elsewhere
	slabs             reg
	full, empty       reg
	index, phase      reg // of who walks along it
	at, filled, taken reg // of the slab in turn
}

// newPipe takes a ring; pipes begin to be walked by start. users is how many arrive at a
// slab's barrier when they are through with it.
func (x *flash) newPipe(stages, bytes int) *pipe {
	return &pipe{stages: stages, bytes: bytes, slabs: x.share(stages * bytes)}
}

// barriers are made ready by the first thread.
func (x *flash) barriers(users int, pipes ...*pipe) {
	for _, p := range pipes {
		p.full = x.share(16 * p.stages)
		p.empty = x.def(b32, "add.u32", p.full, fmt.Sprint(8*p.stages))
	}
	ready := x.label()
	x.opIf(x.to(pred, "setp.ne.u32", x.tid, "0"), "bra", ready)
	for _, p := range pipes {
		for s := range p.stages {
			x.op("mbarrier.init.shared::cta.b64", mem(p.full, int64(8*s)), "1")
			x.op("mbarrier.init.shared::cta.b64", mem(p.empty, int64(8*s)), users)
		}
	}
	x.op("fence.mbarrier_init.release.cluster")
	x.op("fence.proxy.async")
	x.place(ready)
	x.op("bar.sync", "0")
}

// start begins to walk along a ring.
func (x *flash) start(p *pipe) {
	p.index, p.phase = x.to(b32, "mov.u32", "0"), x.to(b32, "mov.u32", "0")
	p.at, p.filled, p.taken = x.to(b32, "mov.u32", p.slabs), x.to(b32, "mov.u32", p.full), x.to(b32, "mov.u32", p.empty)
}

// next goes on to the slab behind.
func (x *flash) next(p *pipe) {
	x.op("add.u32", p.index, p.index, "1")
	over := x.to(pred, "setp.eq.u32", p.index, p.stages)
	x.opIf(over, "mov.u32", p.index, "0")
	x.opIf(over, "xor.b32", p.phase, p.phase, "1")
	x.op("mad.lo.u32", p.at, p.index, p.bytes, p.slabs)
	x.op("mad.lo.u32", p.filled, p.index, "8", p.full)
	x.op("mad.lo.u32", p.taken, p.index, "8", p.empty)
}

// there waits for the slab in turn.
func (x *flash) there(p *pipe) { x.await(p.filled, p.phase) }

// free says that this warp is through with a slab.
func (x *flash) free(taken reg) {
	x.opIf(x.to(pred, "setp.eq.u32", x.lane, "0"), "mbarrier.arrive.shared::cta.b64", "_", mem(taken, 0))
}

// fill waits until the slab in turn was used, and announces what comes.
func (x *flash) fill(p *pipe) {
	x.await(p.taken, x.to(b32, "xor.b32", p.phase, "1"))
	x.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", mem(p.filled, 0), p.bytes+p.beside)
}

// bringLines brings lines of a matrix, some 64 columns after the other.
func (x *flash) bringLines(p *pipe, at, lines, width int, tensor, line, head, batch reg) {
	for c := range boxes(width) {
		x.bring(p.at, at+c*lines*boxLine, p.filled, tensor, x.constant(b32, uint64(64*c)), line, head, batch)
	}
}

// roles parts the block: what one thread that brings does, and those that multiply.
func (x *flash) roles(produce, consume func()) {
	consumer, done := x.label(), x.label()
	low, high := 24, 240
	if x.groups == 3 {
		low, high = 32, 160
	}
	x.opIf(x.to(pred, "setp.ge.u32", x.tid, "128"), "bra", consumer)
	x.op("setmaxnreg.dec.sync.aligned.u32", low)
	x.opIf(x.to(pred, "setp.ne.u32", x.tid, "0"), "bra", done)
	produce()
	x.op("bra", done)
	x.place(consumer)
	x.op("setmaxnreg.inc.sync.aligned.u32", high)
	consume()
	x.place(done)
}

// turns has groups begin with their products when the group before has issued its own:
// one multiplies while another makes weights.
type turns struct{ own, next reg }

func (x *flash) beginTurns() turns {
	t := turns{own: x.to(b32, "add.u32", x.group, barrierTurn)}
	t.next = x.to(b32, "add.u32", x.to(b32, "rem.u32", x.to(b32, "add.u32", x.group, "1"), x.groups), barrierTurn)
	x.opIf(x.to(pred, "setp.eq.u32", x.group, x.groups-1), "bar.arrive", t.next, 2*groupLanes)
	return t
}

func (x *flash) take(t turns) { x.op("bar.sync", t.own, 2*groupLanes) }
func (x *flash) give(t turns) { x.op("bar.arrive", t.next, 2*groupLanes) }

// endTurns takes the last turn that was given.
func (x *flash) endTurns(t turns) {
	x.opIf(x.to(pred, "setp.eq.u32", x.group, "0"), "bar.sync", t.own, 2*groupLanes)
}

// flashTile is a tile of a head: registers.
type flashTile struct {
	tile              reg
	head, batch, line reg // line is head + heads·batch
	keyHead           reg
}

// eachTile runs f for every tile of the block: the tiles that take longest, the last
// ones of heads, come first, and blocks take them by turns, forth and back.
func (x *flash) eachTile(lastFirst bool, f func(t flashTile)) {
	all, tiles := x.number32(flashAll), x.number32(flashTiles)
	lines := x.to(b32, "div.u32", all, tiles)
	id, grid := x.to(b32, "mov.u32", "%ctaid.x"), x.to(b32, "mov.u32", "%nctaid.x")
	back := x.to(b32, "sub.u32", x.to(b32, "sub.u32", grid, "1"), id)
	first, odd := x.to(b32, "mov.u32", "0"), x.to(b32, "mov.u32", "0")
	loop, end := x.label(), x.label()
	x.place(loop)
	at := x.to(b32, "add.u32", first, x.to(b32, "selp.b32", id, back, x.to(pred, "setp.eq.u32", odd, "0")))
	x.opIf(x.to(pred, "setp.ge.u32", at, all), "bra", end)
	t := flashTile{tile: x.to(b32, "div.u32", at, lines)}
	t.line = x.to(b32, "sub.u32", at, x.to(b32, "mul.lo.u32", t.tile, lines))
	if lastFirst {
		t.tile = x.to(b32, "sub.u32", x.to(b32, "sub.u32", tiles, "1"), t.tile)
	}
	t.batch = x.to(b32, "div.u32", t.line, x.number32(flashHeads))
	t.head = x.to(b32, "sub.u32", t.line, x.to(b32, "mul.lo.u32", t.batch, x.number32(flashHeads)))
	t.keyHead = x.to(b32, "div.u32", t.head, x.number32(flashGroup))
	f(t)
	x.op("add.u32", first, first, grid)
	x.op("xor.b32", odd, odd, "1")
	x.op("bra", loop)
	x.place(end)
}

// placeOf is the place of a query among the keys.
func (x *flash) placeOf(query reg) reg {
	return x.to(b32, "mad.lo.s32", query, x.number32(flashStep), x.number32(flashShift))
}

// multiply issues products of a tile of 64 rows: k-steps of 16, with A in shared memory or
// in registers. anew says that the sums begin.
func (x *flash) multiply(acc []reg, steps int, anew bool, a, b func(step int) string, turned bool) {
	t := "bf16"
	if x.f16 {
		t = "f16"
	}
	for s := range steps {
		fresh := x.to(pred, "setp.ne.u32", x.tid, x.tid)
		if !(anew && s == 0) {
			fresh = x.to(pred, "setp.eq.u32", x.tid, x.tid)
		}
		op := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s", 2*len(acc), t, t)
		left := a(s)
		if left[0] == '{' {
			x.op(op, group(acc), left, b(s), fresh, "1", "1", mark(turned))
		} else {
			x.op(op, group(acc), left, b(s), fresh, "1", "1", "0", mark(turned))
		}
	}
}

// commit ends what is waited for together.
func (x *flash) commit() { x.op("wgmma.commit_group.sync.aligned") }

// finished waits until all but so many of what was committed is done.
func (x *flash) finished(but int) { x.op("wgmma.wait_group.sync.aligned", but) }

// lying is the descriptors of the k-steps of a matrix whose lines go along k: of lines
// lines in all, of which those from the descriptor's on take part.
func (x *flash) lying(at reg, lines int) func(step int) string {
	d := x.descriptor(at, 8192)
	return func(s int) string {
		return string(x.to(b64, "add.s64", d, fmt.Sprint((s/4*lines*boxLine+32*(s%4))>>4)))
	}
}

// standing is those of a matrix whose lines go across k.
func (x *flash) standing(at reg, lines int) func(step int) string {
	d := x.descriptor(at, lines*boxLine)
	return func(s int) string { return string(x.to(b64, "add.s64", d, fmt.Sprint(16*boxLine*s>>4))) }
}

// held is the operand that registers hold, four for a k-step.
func held(regs []reg) func(step int) string {
	return func(s int) string { return group(regs[4*s : 4*s+4]) }
}

// halves rounds sums to fragments of an operand: of each two neighbouring groups of eight
// columns the four registers of a k-step.
func (x *flash) halves(to, acc []reg) {
	for i := range to {
		x.op("cvt.rn."+x.pairType()+".f32", to[i], acc[2*i+1], acc[2*i])
	}
}

func (x *flash) pairType() string {
	if x.f16 {
		return "f16x2"
	}
	return "bf16x2"
}

// exponents are those bits of a pair, and one of each lowest such bit.
func (x *flash) exponents() (mask, one uint64) {
	if x.f16 {
		return 0x7c007c00, 0x04000400
	}
	return 0x7f807f80, 0x00800080
}

// notFinite marks the upper bits of the halves of a word that are not finite: adding one
// to an exponent of ones carries into the sign.
func (x *flash) notFinite(word reg) reg {
	mask, one := x.exponents()
	return x.to(b32, "add.u32", x.to(b32, "and.b32", word, fmt.Sprintf("0x%x", mask)), fmt.Sprintf("0x%x", one))
}

// widened are the two numbers of a word.
func (x *flash) widened(word reg) (low, high reg) {
	if !x.f16 {
		return x.to(b32, "shl.b32", word, "16"), x.to(b32, "and.b32", word, "0xffff0000")
	}
	l, h := x.reg(b16), x.reg(b16)
	x.op("mov.b32", group([]reg{l, h}), word)
	return x.to(b32, "cvt.f32.f16", l), x.to(b32, "cvt.f32.f16", h)
}

// loadHalf loads one number, 0 where the guard does not hold.
func (x *flash) loadHalf(at reg, guard reg) reg {
	h := x.to(b16, "mov.b16", "0")
	x.opIf(guard, "ld.global.b16", h, mem(at, 0))
	if x.f16 {
		return x.to(b32, "cvt.f32.f16", h)
	}
	return x.to(b32, "shl.b32", x.to(b32, "cvt.u32.u16", h), "16")
}

// scan looks at a slab of a block's values and, if one of them is not finite, calls found.
// All threads of the group take part.
func (x *flash) scan(at reg, bytes int, found func()) {
	lane := x.to(b32, "and.b32", x.tid, "127")
	from := x.to(b32, "mad.lo.u32", lane, "16", at)
	flag := x.to(b32, "mov.u32", "0")
	for o := 0; o < bytes; o += 16 * groupLanes {
		w := []reg{x.reg(b32), x.reg(b32), x.reg(b32), x.reg(b32)}
		x.op("ld.shared.v4.b32", group(w), mem(from, int64(o)))
		for _, v := range w {
			flag = x.to(b32, "or.b32", flag, x.notFinite(v))
		}
	}
	some := x.to(pred, "setp.ne.u32", x.to(b32, "and.b32", flag, "0x80008000"), "0")
	none := x.label()
	any := x.reg(pred)
	x.op("bar.red.or.pred", any, x.to(b32, "add.u32", x.group, barrierScan), groupLanes, some)
	x.opUnless(any, "bra", none)
	found()
	x.place(none)
}

// finiteCopy copies a slab, with 0 in place of what is not finite.
func (x *flash) finiteCopy(to, at reg, bytes int) {
	lane := x.to(b32, "and.b32", x.tid, "127")
	off := x.to(b32, "mul.lo.u32", lane, "16")
	from, into := x.to(b32, "add.u32", at, off), x.to(b32, "add.u32", to, off)
	x.repeat(bytes/(16*groupLanes), func(reg) {
		w := []reg{x.reg(b32), x.reg(b32), x.reg(b32), x.reg(b32)}
		x.op("ld.shared.v4.b32", group(w), mem(from, 0))
		for i, v := range w {
			bits := x.to(b32, "shr.u32", x.to(b32, "and.b32", x.notFinite(v), "0x80008000"), "15")
			bad := x.to(b32, "mul.lo.u32", bits, "0xffff")
			w[i] = x.to(b32, "and.b32", v, x.to(b32, "not.b32", bad))
		}
		x.op("st.shared.v4.b32", mem(into, 0), group(w))
		x.op("add.u32", from, from, 16*groupLanes)
		x.op("add.u32", into, into, 16*groupLanes)
	})
	x.op("fence.proxy.async")
	x.op("bar.sync", x.to(b32, "add.u32", x.group, barrierScan), groupLanes)
}

// repeat runs f so many times, with the round's number.
func (x *flash) repeat(n int, f func(i reg)) {
	i := x.to(b32, "mov.u32", "0")
	loop := x.label()
	x.place(loop)
	f(i)
	x.op("add.u32", i, i, "1")
	x.opIf(x.to(pred, "setp.lt.u32", i, n), "bra", loop)
}

// addNotFinite adds to acc, which has the columns of a slab of lines, the numbers of it
// that are not finite, for the rows and lines whose weight is not 0: weights are [rows,
// lines] as sums lie.
func (x *flash) addNotFinite(acc, weights []reg, at reg, lines int) {
	for w := range lines / 32 {
		var bits [2]reg
		for h := range 2 {
			all := x.to(b32, "mov.u32", "0")
			for b := range 4 {
				for c := range 2 {
					seen := x.to(pred, "setp.neu.f32", weights[16*w+4*b+2*h+c], f32Zero)
					all = x.to(b32, "or.b32", all, x.to(b32, "selp.b32", fmt.Sprintf("0x%x", 1<<(8*b+c)), "0", seen))
				}
			}
			all = x.to(b32, "shl.b32", all, x.to(b32, "shl.b32", x.quad, "1"))
			all = x.to(b32, "or.b32", all, x.shuffle32(all, 1))
			bits[h] = x.to(b32, "or.b32", all, x.shuffle32(all, 2))
		}
		x.repeat(32, func(i reg) {
			line := x.to(b32, "add.u32", i, fmt.Sprint(32*w))
			row := x.to(b32, "mad.lo.u32", line, fmt.Sprint(boxLine), at)
			row = x.to(b32, "mad.lo.u32", x.quad, "4", row)
			swizzle := x.to(b32, "shl.b32", x.to(b32, "and.b32", line, "7"), "4")
			var sees [2]reg
			for h := range 2 {
				sees[h] = x.to(pred, "setp.ne.u32", x.to(b32, "and.b32", x.to(b32, "shr.u32", bits[h], i), "1"), "0")
			}
			for n := range len(acc) / 4 {
				chunk := x.to(b32, "xor.b32", swizzle, fmt.Sprint(16*(n%8)))
				v := x.to(b32, "ld.shared.b32", mem(x.to(b32, "add.u32", row, chunk), int64(n/8*lines*boxLine)))
				mark := x.notFinite(v)
				low, high := x.widened(v)
				for c, value := range []reg{low, high} {
					bad := x.to(pred, "setp.ne.u32", x.to(b32, "and.b32", mark, []string{"0x8000", "0x80000000"}[c]), "0")
					for h := range 2 {
						add := x.to(b32, "selp.b32", value, "0", x.to(pred, "and.pred", bad, sees[h]))
						r := acc[4*n+2*h+c]
						x.op("add.rn.f32", r, r, add)
					}
				}
			}
		})
	}
}

// storeRows stores rows of f32 sums, each multiplied by its factor, as the dtype of the
// operands: the rows line and line+8 of a warp's sixteen. at is the address of the first
// one, inside says which are there.
func (x *flash) storeRows(acc []reg, factor, inside [2]reg, at [2]reg, width int) {
	n := len(acc) / 4
	packed := func(i, h int) reg {
		var v [2]reg
		for c := range v {
			v[c] = x.to(b32, "add.rn.f32", x.to(b32, "mul.rn.f32", acc[4*i+2*h+c], factor[h]), f32Zero)
		}
		return x.to(b32, "cvt.rn."+x.pairType()+".f32", v[1], v[0])
	}
	for h := range 2 {
		i := 0
		for ; x.vector && i+4 <= n; i += 4 {
			var p [4][]reg
			for q := range p {
				p[q] = []reg{packed(i+q, h)}
			}
			p = x.transposeQuad(p, x.quad)
			guard := inside[h]
			if 8*(i+4) > width {
				column := x.to(b32, "mad.lo.u32", x.quad, "8", x.constant(b32, uint64(8*i)))
				guard = x.to(pred, "and.pred", guard, x.to(pred, "setp.lt.u32", column, width))
			}
			to := x.to(b64, "add.s64", at[h], x.to(b64, "mul.wide.u32", x.quad, "16"))
			x.opIf(guard, "st.global.v4.b32", mem(to, int64(16*i)), group([]reg{p[0][0], p[1][0], p[2][0], p[3][0]}))
		}
		for ; i < n; i++ {
			v := packed(i, h)
			low, high := x.reg(b16), x.reg(b16)
			x.op("mov.b32", group([]reg{low, high}), v)
			to := x.to(b64, "add.s64", at[h], x.to(b64, "mul.wide.u32", x.quad, "4"))
			column := x.to(b32, "mad.lo.u32", x.quad, "2", x.constant(b32, uint64(8*i)))
			for c, half := range []reg{low, high} {
				guard := x.to(pred, "and.pred", inside[h], x.to(pred, "setp.lt.u32", x.to(b32, "add.u32", column, c), width))
				x.opIf(guard, "st.global.b16", mem(to, int64(16*i+2*c)), half)
			}
		}
	}
}

// registers makes n registers of 32 bits.
func (a *asm) registers(n int) []reg {
	r := make([]reg, n)
	for i := range r {
		r[i] = a.reg(b32)
	}
	return r
}

// strided is the address of an element: base plus places times strides, which are
// numbers from some on.
func (x *flash) strided(base reg, strides int, places ...reg) reg {
	for i, p := range places {
		base = x.to(b64, "mad.lo.s64", x.to(b64, "cvt.s64.s32", p), x.number(strides+i), base)
	}
	return base
}

// isHalf reports whether matrix units take a dtype.
func isHalf(t ir.DType) bool { return t == ir.BF16 || t == ir.F16 }
