package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// layoutForward: queries are fixed, keys and values move.
func (f exactForm) layoutForward() (l exactLayout) {
	l.take(&l.fixedA, f.d*exactTile)
	l.moving(&l.movingA, f.d)
	l.rows(&l.rowsB, f.e)
	return l
}

// exactForward is the kernel of the forward pass.
type exactForward struct {
	*exactKernel
	place0      reg   // of the first query
	m           []reg // of the thread's queries
	l           reg   // of its own one, tx mod 8
	acc         []reg // by query and column
	k, v        reg   // the head's first key and value
	begin, last reg   // blocks of keys, the last one exclusive
}

func writeExact(w *asm, f exactForm) {
	x := &exactForward{exactKernel: newExact(w, f, f.layoutForward())}
	(&flash{asm: w}).eachTile(f.causal, func(t flashTile) {
		x.first = x.to(b32, "shl.b32", t.tile, "6")
		x.beginBias(t.batch, t.head)
		x.place0 = x.placeOf(x.first)
		x.begin, x.last = x.keyBlocks(x.first)
		x.k, x.v = x.lines(1, exactStrides+4, t.batch, t.keyHead), x.lines(2, exactStrides+8, t.batch, t.keyHead)
		left := x.to(b32, "sub.s32", x.number32(flashLength), x.first)
		x.bringTurned(x.fixedA, exactTile, x.d, x.lines(0, exactStrides, t.batch, t.head), x.first, left, exactStrides)
		x.m = nil
		for range 8 {
			x.m = append(x.m, x.to(b32, "mov.b32", f32MinusInf))
		}
		x.l = x.to(b32, "mov.b32", f32Zero)
		x.acc = x.zeros(8 * 4 * columnBlocks(x.e))
		x.eachBlock(x.begin, x.last, func() { x.take() })
		x.finish(t)
	})
}

// keyBlocks are the blocks of keys, the last one exclusive, of which the tile of queries
// from one on may see some.
func (x *exactKernel) keyBlocks(first reg) (begin, last reg) {
	begin, last = x.to(b32, "mov.b32", "0"), x.to(b32, "add.s32", x.number32(flashSource), exactTile-1)
	if x.causal {
		query := x.to(b32, "min.s32", x.to(b32, "add.s32", first, exactTile-1), x.to(b32, "sub.s32", x.number32(flashLength), "1"))
		last = x.to(b32, "min.s32", last, x.to(b32, "add.s32", x.placeOf(query), exactTile))
	}
	if x.window {
		from := x.to(b32, "add.s32", x.to(b32, "sub.s32", x.placeOf(first), x.number32(flashBack)), "1")
		begin = x.to(b32, "shr.s32", x.to(b32, "max.s32", from, "0"), "6")
	}
	return begin, x.to(b32, "shr.s32", last, "6")
}

// eachBlock runs f for each block of the moving side, whose number is in x.block.
func (x *exactKernel) eachBlock(begin, last reg, f func()) {
	x.block = x.to(b32, "mov.b32", begin)
	loop, through := x.label(), x.label()
	x.place(loop)
	x.opIf(x.to(pred, "setp.ge.s32", x.block, last), "bra", through)
	x.op("add.u32", x.round, x.round, "1")
	f()
	x.op("add.s32", x.block, x.block, "1")
	x.op("bra", loop)
	x.place(through)
}

// keysOf are the numbers of the key and of the query of each of the thread's scores, where
// queries are fixed.
func (x *exactKernel) keysOf(key0 reg) (query, key func(i int) reg) {
	k := x.to(b32, "mad.lo.u32", x.tx, "4", key0)
	q := x.to(b32, "mad.lo.u32", x.ty, "8", x.first)
	return func(i int) reg { return x.to(b32, "add.s32", q, i/4) }, func(i int) reg { return x.to(b32, "add.s32", k, i%4) }
}

// scoresOfQueries makes scores of products where queries are fixed, from a key on.
func (x *exactKernel) scoresOfQueries(s []reg, key0, place0 reg) {
	query, key := x.keysOf(key0)
	x.scale(s, query, key, func(i int) reg {
		return x.to(pred, "and.pred", x.to(pred, "setp.lt.s32", query(i), x.number32(flashLength)), x.to(pred, "setp.lt.s32", key(i), x.number32(flashSource)))
	})
	lastPlace := place0
	if !x.folded {
		lastPlace = x.to(b32, "add.s32", place0, exactTile-1)
	}
	lastKey := x.to(b32, "add.s32", key0, exactTile-1)
	x.hides(s, func(i int) reg { return x.placeOf(query(i)) }, key, key,
		place0, lastPlace, key0, lastKey, x.to(b32, "add.s32", lastKey, "1"), x.number32(flashSource))
}

// take takes a block of keys into the state.
func (x *exactForward) take() {
	key0 := x.to(b32, "shl.b32", x.block, "6")
	count := x.to(b32, "sub.s32", x.number32(flashSource), key0)
	x.op("bar.sync", "0") // what lay there has been read
	x.bringTurned(x.movingA, exactPitch, x.d, x.k, key0, count, exactStrides+4)
	x.bringRows(x.rowsB, x.e, x.v, key0, count, exactStrides+8, 0)
	x.op("bar.sync", "0")
	s := x.products(x.fixedA, x.movingA, x.d)
	x.scoresOfQueries(s, key0, x.place0)
	var less []reg
	for n := range 8 {
		top := x.to(b32, "max.NaN.f32", x.to(b32, "max.NaN.f32", s[4*n], s[4*n+1]), x.to(b32, "max.NaN.f32", s[4*n+2], s[4*n+3]))
		for _, distance := range []int{1, 2, 4, 8} {
			top = x.to(b32, "max.NaN.f32", top, x.shuffle32(top, distance))
		}
		top = x.to(b32, "max.NaN.f32", x.m[n], top)
		safe := x.to(b32, "selp.b32", f32Zero, top, x.to(pred, "setp.eq.f32", top, f32MinusInf))
		less = append(less, x.to(b32, "sub.rn.f32", x.m[n], safe))
		x.op("mov.b32", x.m[n], top)
		for j := range 4 {
			x.op("sub.rn.f32", s[4*n+j], s[4*n+j], safe)
		}
	}
	factors := x.inline(weightText, less)[0]
	x.op("bar.sync", "0") // the keys have been read
	x.giveWeights(x.movingA, s, func(four []reg) []reg { return x.inline(weightText, four)[0] })
	x.op("bar.sync", "0")
	total := x.reg(b32)
	sums := x.sums(x.movingA, x.rowsB, x.e, 0, total)
	columns := len(sums) / 8
	for i, a := range x.acc {
		x.op("fma.rn.f32", a, a, factors[i/columns], sums[i])
	}
	x.op("fma.rn.f32", x.l, x.l, x.own(factors), total)
}

// finish divides the sums of a tile, and stores the results.
func (x *exactForward) finish(t flashTile) {
	room := x.to(b32, "mad.lo.u32", x.ty, "32", x.at(x.movingA))
	mine := x.to(pred, "setp.lt.u32", x.tx, "8")
	x.op("bar.sync", "0") // the weights have been read
	x.opIf(mine, "st.shared.b32", mem(x.to(b32, "mad.lo.u32", x.tx, "4", room), 0), x.l)
	x.op("bar.sync", "0")
	l := append(x.four(room, 0), x.four(room, 16)...)
	lines := x.to(b64, "mul.lo.s64", x.to(b64, "cvt.u64.u32", t.line), x.number(flashLength))
	y := 3
	if x.bias != flashNoBias {
		y = 4
	}
	x.store(y, x.e, lines, x.number32(flashLength), x.acc, func(n int, four []reg) []reg {
		return x.inline(quotientText, four, repeatedReg(l[n], 4))[0]
	})
	ln2 := x.constant(b32, uint64(math.Float32bits(math.Ln2)))
	lse := x.inline(logSumText, []reg{x.own(x.m)}, []reg{x.l}, []reg{ln2})[0][0]
	query := x.to(b32, "add.u32", x.to(b32, "mad.lo.u32", x.ty, "8", x.first), x.tx)
	inside := x.to(pred, "and.pred", mine, x.to(pred, "setp.lt.u32", query, x.number32(flashLength)))
	stat := x.to(b64, "mad.lo.s64", x.to(b64, "add.s64", lines, x.to(b64, "cvt.u64.u32", query)), fmt.Sprint(4), x.slotReg(slotPointer, y+1, 0))
	x.storeOne(ir.F32, lse, stat, 0, inside)
}
