package ptx

import "math"

// The tensors of a gradient: q, k, v, bias, dy, lse, delta, and its results.
const (
	exactDy      = 4
	exactLse     = 5
	exactDelta   = 6
	exactResult  = 7
	exactStrideK = exactStrides + 4
	exactStrideV = exactStrides + 8
	exactStrideY = exactStrides + 12
)

// layoutGradQ: queries and their gradients are fixed, keys and values move; keys are summed.
func (f exactForm) layoutGradQ() (l exactLayout) {
	l.take(&l.fixedA, f.d*exactTile)
	l.take(&l.fixedB, f.e*exactTile)
	l.moving(&l.movingA, f.d)
	l.moving(&l.movingB, f.e)
	l.rows(&l.rowsA, f.d)
	return l
}

// layoutGradKV: keys and values are fixed, queries and their gradients move; both are summed.
func (f exactForm) layoutGradKV() (l exactLayout) {
	l = f.layoutGradQ()
	l.rows(&l.rowsB, f.e)
	return l
}

// statistics are lse and delta of a query.
type statistics struct{ lse, delta reg }

// statsAt are the addresses of the statistics of a head.
func (x *exactKernel) statsAt(batch, head reg) statistics {
	return statistics{x.lines(exactLse, flashLseAt, batch, head), x.lines(exactDelta, flashDeltaAt, batch, head)}
}

func (x *exactKernel) stats(of statistics, query reg) statistics {
	inside := x.to(pred, "setp.lt.s32", query, x.number32(flashLength))
	one := func(at reg, stride int) reg {
		r := x.to(b32, "mov.b32", f32Zero)
		x.opIf(inside, "ld.global.b32", r, mem(x.step(at, query, x.number(stride)), 0))
		return r
	}
	return statistics{one(of.lse, flashLseAt+2), one(of.delta, flashDeltaAt+2)}
}

// back makes of scores s the weights, in their place, and of dp the gradients of scores;
// of says whose statistics are those of a score.
func (x *exactKernel) back(s, dp []reg, of func(i int) statistics) {
	log2e := x.constant(b32, uint64(math.Float32bits(math.Log2E)))
	for i := 0; i < len(s); i += 4 {
		var low, lse, delta []reg
		for j := i; j < i+4; j++ {
			z := of(j)
			low = append(low, x.to(b32, "sub.rn.f32", s[j], x.to(b32, "mul.rn.f32", z.lse, log2e)))
			lse, delta = append(lse, z.lse), append(delta, z.delta)
		}
		p := x.inline(exp2Text, low)[0]
		made := x.inline(gradientText, s[i:i+4], lse, p, dp[i:i+4], delta)
		for j := range 4 {
			x.op("mov.b32", s[i+j], made[0][j])
			x.op("mov.b32", dp[i+j], made[1][j])
		}
	}
}

// add adds the sums of a block to those before.
func (x *exactKernel) add(acc, sums []reg) {
	for i, a := range acc {
		x.op("add.rn.f32", a, a, sums[i])
	}
}

// asTheyAre stores weights that are made already.
func asTheyAre(w []reg) []reg { return w }

// timesNumber says that a result is what was summed, times a number if there is one, + 0.
func (x *exactKernel) timesNumber(by reg) func(int, []reg) []reg {
	return func(_ int, four []reg) (out []reg) {
		for _, v := range four {
			if by != "" {
				v = x.to(b32, "mul.rn.f32", v, by)
			}
			out = append(out, x.to(b32, "add.rn.f32", v, f32Zero))
		}
		return out
	}
}

// scaleNumber is the scale of scores.
func (x *exactKernel) scaleNumber() reg {
	return x.once("scale", func() reg { return x.def(b32, "mov.b32", x.number32(flashScale)) })
}

// writeExactGradQ: blocks of keys in ascending order.
func writeExactGradQ(w *asm, f exactForm) {
	x := newExact(w, f, f.layoutGradQ())
	(&flash{asm: w}).eachTile(f.causal, func(t flashTile) {
		x.first = x.to(b32, "shl.b32", t.tile, "6")
		x.beginBias(t.batch, t.head)
		place0 := x.placeOf(x.first)
		begin, last := x.keyBlocks(x.first)
		k, v := x.lines(1, exactStrideK, t.batch, t.keyHead), x.lines(2, exactStrideV, t.batch, t.keyHead)
		left := x.to(b32, "sub.s32", x.number32(flashLength), x.first)
		x.op("bar.sync", "0") // the queries before have been read
		x.bringTurned(x.fixedA, exactTile, x.d, x.lines(0, exactStrides, t.batch, t.head), x.first, left, exactStrides)
		x.bringTurned(x.fixedB, exactTile, x.e, x.lines(exactDy, exactStrideY, t.batch, t.head), x.first, left, exactStrideY)
		at := x.statsAt(t.batch, t.head)
		var of [8]statistics
		for n := range of {
			of[n] = x.stats(at, x.to(b32, "add.s32", x.to(b32, "mad.lo.u32", x.ty, "8", x.first), n))
		}
		acc := x.zeros(8 * 4 * columnBlocks(x.d))
		x.eachBlock(begin, last, func() {
			key0 := x.to(b32, "shl.b32", x.block, "6")
			count := x.to(b32, "sub.s32", x.number32(flashSource), key0)
			x.op("bar.sync", "0") // what lay there has been read
			x.bringTurned(x.movingA, exactPitch, x.d, k, key0, count, exactStrideK)
			x.bringTurned(x.movingB, exactPitch, x.e, v, key0, count, exactStrideV)
			x.bringRows(x.rowsA, x.d, k, key0, count, exactStrideK, 0)
			x.op("bar.sync", "0")
			s := x.products(x.fixedA, x.movingA, x.d)
			dp := x.products(x.fixedB, x.movingB, x.e)
			x.scoresOfQueries(s, key0, place0)
			x.back(s, dp, func(i int) statistics { return of[i/4] })
			x.op("bar.sync", "0") // the keys have been read
			x.giveWeights(x.movingA, dp, asTheyAre)
			x.op("bar.sync", "0")
			x.add(acc, x.sums(x.movingA, x.rowsA, x.d, 0, ""))
		})
		lines := x.to(b64, "mul.lo.s64", x.to(b64, "cvt.u64.u32", t.line), x.number(flashLength))
		x.store(exactResult, x.d, lines, x.number32(flashLength), acc, x.timesNumber(x.scaleNumber()))
	})
}

// writeExactGradKV: of the heads that share the keys, in ascending order, the blocks of
// queries in ascending order.
func writeExactGradKV(w *asm, f exactForm) {
	x := newExact(w, f, f.layoutGradKV())
	(&flash{asm: w}).eachTile(false, func(t flashTile) {
		x.first = x.to(b32, "shl.b32", t.tile, "6")
		left := x.to(b32, "sub.s32", x.number32(flashSource), x.first)
		x.op("bar.sync", "0") // the keys before have been read
		x.bringTurned(x.fixedA, exactTile, x.d, x.lines(1, exactStrideK, t.batch, t.head), x.first, left, exactStrideK)
		x.bringTurned(x.fixedB, exactTile, x.e, x.lines(2, exactStrideV, t.batch, t.head), x.first, left, exactStrideV)
		dk, dv := x.zeros(8*4*columnBlocks(x.d)), x.zeros(8*4*columnBlocks(x.e))
		begin, last := x.queryBlocks(x.first)
		head := x.to(b32, "mul.lo.u32", t.head, x.number32(flashGroup))
		end := x.to(b32, "add.u32", head, x.number32(flashGroup))
		heads := x.label()
		x.place(heads)
		x.beginBias(t.batch, head)
		q, dy := x.lines(0, exactStrides, t.batch, head), x.lines(exactDy, exactStrideY, t.batch, head)
		at := x.statsAt(t.batch, head)
		x.eachBlock(begin, last, func() {
			query0 := x.to(b32, "shl.b32", x.block, "6")
			count := x.to(b32, "sub.s32", x.number32(flashLength), query0)
			x.op("bar.sync", "0") // what lay there has been read
			x.bringTurned(x.movingA, exactPitch, x.d, q, query0, count, exactStrides)
			x.bringTurned(x.movingB, exactPitch, x.e, dy, query0, count, exactStrideY)
			x.bringRows(x.rowsA, x.d, q, query0, count, exactStrides, 0)
			x.bringRows(x.rowsB, x.e, dy, query0, count, exactStrideY, 1)
			x.op("bar.sync", "0")
			s := x.products(x.fixedA, x.movingA, x.d)
			dp := x.products(x.fixedB, x.movingB, x.e)
			x.scoresOfKeys(s, query0)
			var of [4]statistics
			for j := range of {
				of[j] = x.stats(at, x.to(b32, "add.s32", x.to(b32, "mad.lo.u32", x.tx, "4", query0), j))
			}
			x.back(s, dp, func(i int) statistics { return of[i%4] })
			x.op("bar.sync", "0") // the queries have been read
			x.giveWeights(x.movingA, dp, asTheyAre)
			x.giveWeights(x.movingB, s, asTheyAre)
			x.op("bar.sync", "0")
			x.add(dk, x.sums(x.movingA, x.rowsA, x.d, 0, ""))
			x.add(dv, x.sums(x.movingB, x.rowsB, x.e, 1, ""))
		})
		x.op("add.u32", head, head, "1")
		x.opIf(x.to(pred, "setp.lt.u32", head, end), "bra", heads)
		lines := x.to(b64, "mul.lo.s64", x.to(b64, "cvt.u64.u32", t.line), x.number(flashSource))
		x.store(exactResult, x.d, lines, x.number32(flashSource), dk, x.timesNumber(x.scaleNumber()))
		x.store(exactResult+1, x.e, lines, x.number32(flashSource), dv, x.timesNumber(""))
	})
}

// queryBlocks are the blocks of queries, the last one exclusive, of which some may see the
// tile of keys from one on.
func (x *exactKernel) queryBlocks(first reg) (begin, last reg) {
	begin, last = x.to(b32, "mov.b32", "0"), x.to(b32, "add.s32", x.number32(flashLength), exactTile-1)
	query := func(place reg) reg { return x.to(b32, "sub.s32", place, x.number32(flashShift)) }
	if x.causal {
		begin = x.to(b32, "shr.s32", x.to(b32, "max.s32", query(first), "0"), "6")
	}
	if x.window { // a query sees the last key up to that one's place and the window
		from := x.to(b32, "add.s32", x.to(b32, "add.s32", first, 2*exactTile-2), x.number32(flashBack))
		last = x.to(b32, "min.s32", last, query(from))
	}
	return begin, x.to(b32, "shr.s32", last, "6")
}

// scoresOfKeys makes scores of products where keys are fixed, from a query on.
func (x *exactKernel) scoresOfKeys(s []reg, query0 reg) {
	k := x.to(b32, "mad.lo.u32", x.ty, "8", x.first)
	q := x.to(b32, "mad.lo.u32", x.tx, "4", query0)
	key := func(i int) reg { return x.to(b32, "add.s32", k, i/4) }
	query := func(i int) reg { return x.to(b32, "add.s32", q, i%4) }
	x.scale(s, query, key, func(i int) reg {
		return x.to(pred, "and.pred", x.to(pred, "setp.lt.s32", query(i), x.number32(flashLength)), x.to(pred, "setp.lt.s32", key(i), x.number32(flashSource)))
	})
	lastQuery := x.to(b32, "add.s32", query0, exactTile-1)
	x.hides(s, func(i int) reg { return x.placeOf(query(i)) }, key, query,
		x.placeOf(query0), x.placeOf(lastQuery), x.first, x.to(b32, "add.s32", x.first, exactTile-1), x.to(b32, "add.s32", lastQuery, "1"), x.number32(flashLength))
}
