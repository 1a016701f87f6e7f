package ptx

import "fmt"

// flashGradQ computes the gradient of tiles of 64 queries a group: of a block of keys at a
// time
//
//	p  = 2^(t·x - lse·log2(e)), with the bias as in the forward pass
//	ds = p·(dy·v - delta), rounded to the dtype
//	dq = dq + ds·k
//
// and dq·scale in the end. Arguments: q, k, v, bias, dy, lse, delta, dq.
type flashGradQ struct {
	*queryTile
	q  *pipe // and dy behind it
	kv *pipe // keys, and values behind them
	// Room for a finite copy of a block of keys.
	room reg
}

// keysBack is the keys of a block of the gradient of queries, and queriesBack the queries of
// one of that of keys and values.
const (
	keysBack    = 64
	queriesBack = 64
)

func writeFlashGradQ(a *asm, f flashForm) {
	x := &flashGradQ{queryTile: &queryTile{flash: newFlash(a, f, 4), block: keysBack}}
	x.q = x.newPipe(1, boxedBytes(64*f.groups, f.d)+boxedBytes(64*f.groups, f.e))
	slab, fixed := boxedBytes(keysBack, f.d)+boxedBytes(keysBack, f.e), x.used+f.groups*boxedBytes(keysBack, f.d)+alignShared+1024
	x.kv = x.newPipe(min(4, (hopperShared-fixed)/slab), slab)
	x.room = x.share(f.groups * boxedBytes(keysBack, f.d))
	x.barriers(4*f.groups, x.q, x.kv)
	x.roles(x.produce, x.consume)
}

func (x *flashGradQ) produce() {
	q, k, v, dy := x.mapAddress(0), x.mapAddress(1), x.mapAddress(2), x.mapAddress(3)
	x.start(x.q)
	x.start(x.kv)
	x.eachTile(x.causal, func(t flashTile) {
		x.begin(t)
		x.fill(x.q)
		x.bringLines(x.q, 0, 64*x.groups, x.d, q, x.row0, t.head, t.batch)
		x.bringLines(x.q, boxedBytes(64*x.groups, x.d), 64*x.groups, x.e, dy, x.row0, t.head, t.batch)
		x.next(x.q)
		j := x.to(b32, "mov.u32", x.lo)
		loop := x.label()
		x.place(loop)
		key := x.to(b32, "shl.b32", j, x.shift())
		x.fill(x.kv)
		x.bringLines(x.kv, 0, keysBack, x.d, k, key, t.keyHead, t.batch)
		x.bringLines(x.kv, boxedBytes(keysBack, x.d), keysBack, x.e, v, key, t.keyHead, t.batch)
		x.next(x.kv)
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.lt.s32", j, x.hi), "bra", loop)
	})
}

// gradRows is what the two queries of a thread have: minus lse·log2(e), -inf for one that
// sees nothing, with the bias if there is one for the head; and delta.
type gradRows struct {
	*flashRows
	less, delta [2]reg
}

func (x *flashGradQ) gradRows(t flashTile) *gradRows {
	r := &gradRows{flashRows: x.rows()}
	for h := range 2 {
		r.less[h], r.delta[h] = x.statistics(t.batch, t.head, r.row[h], r.inside[h])
	}
	return r
}

// statistics loads what the gradients of a query's scores need. Of no query, and of one that
// sees nothing, weights become 0.
func (x *flash) statistics(batch, head, row, inside reg) (less, delta reg) {
	lse := x.to(b32, "mov.b32", f32MinusInf)
	x.opIf(inside, "ld.global.b32", lse, mem(x.strided(x.slotReg(slotPointer, 5, 0), flashLseAt, batch, head, row), 0))
	delta = x.to(b32, "mov.b32", f32Zero)
	x.opIf(inside, "ld.global.b32", delta, mem(x.strided(x.slotReg(slotPointer, 6, 0), flashDeltaAt, batch, head, row), 0))
	none := x.to(pred, "setp.eq.f32", lse, f32MinusInf)
	less = x.to(b32, "neg.f32", x.to(b32, "mul.rn.f32", lse, f32Log2E))
	if x.bias == flashHeadBias {
		bias := x.loadHalf(x.strided(x.slotReg(slotPointer, 3, 0), flashBiasAt, batch, head), inside)
		less = x.to(b32, "fma.rn.f32", bias, f32Log2E, less)
		none = x.to(pred, "or.pred", none, x.to(pred, "setp.eq.f32", bias, f32MinusInf))
	}
	return x.to(b32, "selp.b32", f32MinusInf, less, none), delta
}

// gradient makes of a product and that of dy and the value the weight and the score's
// gradient, in place.
func (x *flash) gradient(s, dp, factor, less, delta reg) {
	x.op("fma.rn.f32", s, s, factor, less)
	x.op("ex2.approx.ftz.f32", s, s)
	x.op("sub.rn.f32", dp, dp, delta)
	x.op("mul.rn.f32", dp, s, dp)
}

// hideGradient makes the gradient of a score 0 where the weight is.
func (x *flash) hideGradient(s, dp reg) {
	x.op("selp.b32", dp, f32Zero, dp, x.to(pred, "setp.eq.f32", s, f32Zero))
}

func (x *flashGradQ) consume() {
	x.start(x.q)
	x.start(x.kv)
	room := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(boxedBytes(keysBack, x.d)), x.room)
	turn := x.beginTurns()
	s, dp, ds, dq := x.registers(keysBack/2), x.registers(keysBack/2), x.registers(keysBack/4), x.registers((x.d+15)&^15/2)
	factor, over := x.to(b32, "mov.b32", x.number32(flashFactor)), x.overFactor()
	keys, taken := x.reg(b32), x.reg(b32) // the block that the gradients ds are of, and its barrier
	x.eachTile(x.causal, func(t flashTile) {
		x.begin(t)
		r := x.gradRows(t)
		begin, end := x.open()
		for _, a := range dq {
			x.op("mov.b32", a, f32Zero)
		}
		scores := func() {
			x.there(x.kv)
			q := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(64*boxLine), x.q.at)
			dy := x.to(b32, "add.u32", q, boxedBytes(64*x.groups, x.d))
			v := x.to(b32, "add.u32", x.kv.at, boxedBytes(keysBack, x.d))
			x.op("wgmma.fence.sync.aligned")
			x.multiply(s, steps(x.d), true, x.lying(q, 64*x.groups), x.lying(x.kv.at, keysBack), false)
			x.multiply(dp, steps(x.e), true, x.lying(dy, 64*x.groups), x.lying(v, keysBack), false)
			x.commit()
		}
		sums := func() {
			x.multiply(dq, keysBack/16, false, held(ds), x.standing(keys, keysBack), true)
			x.commit()
		}
		j := x.to(b32, "mov.u32", x.lo)
		gradients := func(masked bool, behind func()) {
			if x.bias == flashFullBias {
				x.biased(s, t, r.flashRows, j, over)
			}
			if masked {
				x.hide(s, r.flashRows, j)
			}
			for i := range s {
				h := i / 2 % 2
				x.gradient(s[i], dp[i], factor, r.less[h], r.delta[h])
				if masked {
					x.hideGradient(s[i], dp[i])
				}
			}
			behind()
			x.op("mov.b32", keys, x.kv.at)
			x.op("mov.b32", taken, x.kv.taken)
			if masked {
				x.scan(x.kv.at, boxedBytes(keysBack, x.d), func() {
					x.finiteCopy(room, x.kv.at, boxedBytes(keysBack, x.d))
					x.op("mov.b32", keys, room)
				})
			}
			x.halves(ds, dp)
			x.next(x.kv)
		}
		x.there(x.q)
		x.take(turn)
		scores()
		x.give(turn)
		x.finished(0)
		x.either(j, begin, end, func(masked bool) { gradients(masked, func() {}) })
		loop, through := x.label(), x.label()
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.ge.s32", j, x.hi), "bra", through)
		x.place(loop)
		x.either(j, begin, end, func(masked bool) {
			x.take(turn)
			scores()
			sums()
			x.give(turn)
			x.finished(1)
			gradients(masked, func() {
				x.finished(0)
				x.free(taken)
			})
		})
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.lt.s32", j, x.hi), "bra", loop)
		x.place(through)
		x.free(x.q.taken)
		x.next(x.q)
		x.op("wgmma.fence.sync.aligned")
		sums()
		x.finished(0)
		x.free(taken)
		scale := x.to(b32, "mov.b32", x.number32(flashScale))
		x.storeRows(dq, [2]reg{scale, scale}, r.inside, x.resultRows(t.line, flashLength, r.row, 7, x.d), x.d)
	})
	x.endTurns(turn)
}

// resultRows is where two lines of a row-major result begin: of a matrix for each head.
func (x *flash) resultRows(head reg, lines int, row [2]reg, arg, width int) (at [2]reg) {
	for h := range 2 {
		line := x.to(b64, "mad.lo.s64", x.to(b64, "cvt.u64.u32", head), x.number(lines), x.to(b64, "cvt.u64.u32", row[h]))
		at[h] = x.to(b64, "mad.lo.s64", line, fmt.Sprint(2*width), x.slotReg(slotPointer, arg, 0))
	}
	return at
}
