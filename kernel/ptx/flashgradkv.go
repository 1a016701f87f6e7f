package ptx

import "fmt"

// flashGradKV computes the gradients of tiles of 64 keys and values a group, over the heads
// that share them and blocks of queriesBack queries, both ascending: products are keys by
// queries, so that what was computed of them is the operand of the next ones as it lies.
//
//	p  = 2^(t·x - lse·log2(e)), ds = p·(v·dy - delta), both rounded to the dtype
//	dv = dv + p·dy
//	dk = dk + ds·q, times scale in the end
//
// Arguments: q, k, v, bias, dy, lse, delta, dk, dv. What a query has, see
// [flash.statistics], lies in scratch memory: two numbers of f32 for each query of each head,
// the queries of a head filled up to blocks.
type flashGradKV struct {
	*flash
	kv     *pipe // keys, and values behind them
	qd     *pipe // a block of queries, and dy behind it
	stats  reg   // what they have: a slab for each of the pipe
	room   reg   // for finite copies of a block of queries and of dy
	key0   reg   // first key of the tile
	lo, hi reg   // blocks of queries of a head
}

const statBytes = 8 // of a query

func writeFlashGradKV(a *asm, f flashForm) {
	x := &flashGradKV{flash: newFlash(a, f, 4)}
	x.kv = x.newPipe(1, boxedBytes(64*f.groups, f.d)+boxedBytes(64*f.groups, f.e))
	block := boxedBytes(queriesBack, f.d) + boxedBytes(queriesBack, f.e)
	fixed := x.used + f.groups*block + alignShared + 128
	stages := min(4, (hopperShared-fixed)/(block+statBytes*queriesBack))
	x.qd = x.newPipe(stages, block)
	x.qd.beside = statBytes * queriesBack
	x.room = x.share(f.groups * block)
	x.stats = x.share(stages * x.qd.beside)
	x.barriers(4*f.groups, x.kv, x.qd)
	x.roles(x.produce, x.consume)
}

// begin finds the blocks of queries that may see keys of a tile: one at least.
func (x *flashGradKV) begin(t flashTile) {
	x.key0 = x.to(b32, "mul.lo.u32", t.tile, fmt.Sprint(64*x.groups))
	blocks := x.number32(flashBlocks)
	x.lo, x.hi = x.to(b32, "mov.u32", "0"), x.to(b32, "mov.u32", blocks)
	if x.causal {
		first := x.to(b32, "max.s32", x.to(b32, "sub.s32", x.key0, x.number32(flashShift)), "0")
		x.lo = x.to(b32, "min.s32", x.to(b32, "shr.s32", first, "6"), x.to(b32, "sub.s32", blocks, "1"))
	}
	if x.window && !x.folded {
		last := x.to(b32, "add.s32", x.key0, fmt.Sprint(64*x.groups-1+63))
		last = x.to(b32, "sub.s32", x.to(b32, "add.s32", last, x.number32(flashBack)), x.number32(flashShift))
		x.hi = x.to(b32, "min.s32", blocks, x.to(b32, "shr.s32", x.to(b32, "max.s32", last, "0"), "6"))
	}
	x.hi = x.to(b32, "max.s32", x.hi, x.to(b32, "add.s32", x.lo, "1"))
}

// eachBlock runs f for every block of queries of a tile: g is the head among those that
// share the keys, j the block.
func (x *flashGradKV) eachBlock(f func(g, j reg)) {
	g, j := x.to(b32, "mov.u32", "0"), x.to(b32, "mov.u32", x.lo)
	loop := x.label()
	x.place(loop)
	f(g, j)
	x.op("add.u32", j, j, "1")
	x.opIf(x.to(pred, "setp.lt.s32", j, x.hi), "bra", loop)
	x.op("mov.u32", j, x.lo)
	x.op("add.u32", g, g, "1")
	x.opIf(x.to(pred, "setp.lt.u32", g, x.number32(flashGroup)), "bra", loop)
}

func (x *flashGradKV) produce() {
	q, k, v, dy := x.mapAddress(0), x.mapAddress(1), x.mapAddress(2), x.mapAddress(3)
	x.start(x.kv)
	x.start(x.qd)
	x.eachTile(false, func(t flashTile) {
		x.begin(t)
		x.fill(x.kv)
		x.bringLines(x.kv, 0, 64*x.groups, x.d, k, x.key0, t.head, t.batch)
		x.bringLines(x.kv, boxedBytes(64*x.groups, x.d), 64*x.groups, x.e, v, x.key0, t.head, t.batch)
		x.next(x.kv)
		head0 := x.to(b32, "mul.lo.u32", t.head, x.number32(flashGroup))
		line0 := x.to(b32, "mad.lo.u32", t.batch, x.number32(flashQueries), head0)
		x.eachBlock(func(g, j reg) {
			head, line := x.to(b32, "add.u32", head0, g), x.to(b32, "add.u32", line0, g)
			query := x.to(b32, "shl.b32", j, "6")
			x.fill(x.qd)
			x.bringLines(x.qd, 0, queriesBack, x.d, q, query, head, t.batch)
			x.bringLines(x.qd, boxedBytes(queriesBack, x.d), queriesBack, x.e, dy, query, head, t.batch)
			from := x.to(b32, "mad.lo.u32", line, x.number32(flashBlocks), j)
			at := x.to(b64, "mad.wide.u32", from, x.qd.beside, x.slotReg(slotScratch, 0, 0))
			x.op("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", mem(x.statsOf(x.qd), 0), mem(at, 0), x.qd.beside, mem(x.qd.filled, 0))
			x.next(x.qd)
		})
	})
}

// statsOf is where those of the slab in turn lie.
func (x *flashGradKV) statsOf(p *pipe) reg {
	return x.to(b32, "mad.lo.u32", p.index, p.beside, x.stats)
}

// keyRows is the two keys of a thread.
type keyRows struct {
	key, inside [2]reg
	from, to    [2]reg // first query that sees it, and that behind the last
}

func (x *flashGradKV) rows() *keyRows {
	r := &keyRows{}
	for h := range 2 {
		row := x.to(b32, "mad.lo.u32", x.warp, "16", x.to(b32, "add.u32", x.line, fmt.Sprint(8*h)))
		r.key[h] = x.to(b32, "add.u32", x.key0, x.to(b32, "mad.lo.u32", x.group, "64", row))
		r.inside[h] = x.to(pred, "setp.lt.u32", r.key[h], x.number32(flashSource))
		if x.causal {
			r.from[h] = x.to(b32, "sub.s32", r.key[h], x.number32(flashShift))
		}
		if x.window {
			behind := x.to(b32, "sub.s32", x.to(b32, "add.s32", r.key[h], x.number32(flashBack)), x.number32(flashShift))
			if x.folded { // all of them are at one place
				behind = x.to(b32, "selp.b32", x.number32(flashLength), "0", x.to(pred, "setp.gt.s32", behind, "0"))
			}
			r.to[h] = behind
		}
	}
	return r
}

// open returns the blocks from begin to end whose queries all see all keys of the group.
func (x *flashGradKV) open() (begin, end reg) {
	first := x.to(b32, "mad.lo.u32", x.group, "64", x.key0)
	begin, end = x.to(b32, "mov.u32", "0"), x.number32(flashBlocks)
	if x.causal {
		at := x.to(b32, "sub.s32", x.to(b32, "add.s32", first, "63"), x.number32(flashShift))
		begin = x.to(b32, "shr.s32", x.to(b32, "add.s32", x.to(b32, "max.s32", at, "0"), "63"), "6")
	}
	if x.window {
		end = x.to(b32, "mov.u32", "0")
		if !x.folded {
			at := x.to(b32, "sub.s32", x.to(b32, "add.s32", first, x.number32(flashBack)), x.number32(flashShift))
			end = x.to(b32, "shr.s32", at, "6")
		}
	}
	return begin, end
}

// hide gives the scores of queries that do not see a key the value -inf.
func (x *flashGradKV) hide(s []reg, r *keyRows, j reg) {
	if !x.causal && !x.window {
		return
	}
	first := x.to(b32, "mad.lo.u32", j, fmt.Sprint(queriesBack), x.to(b32, "shl.b32", x.quad, "1"))
	for h := range 2 {
		var from, to reg
		if x.causal {
			from = x.to(b32, "sub.s32", r.from[h], first)
		}
		if x.window {
			to = x.to(b32, "sub.s32", r.to[h], first)
		}
		for b := range len(s) / 4 {
			for c := range 2 {
				v := s[4*b+2*h+c]
				if x.causal {
					x.op("selp.b32", v, v, f32MinusInf, x.to(pred, "setp.le.s32", from, fmt.Sprint(8*b+c)))
				}
				if x.window {
					x.op("selp.b32", v, v, f32MinusInf, x.to(pred, "setp.gt.s32", to, fmt.Sprint(8*b+c)))
				}
			}
		}
	}
}

// biased adds the bias, over the factor, to products.
func (x *flashGradKV) biased(s []reg, t flashTile, r *keyRows, g, j, over reg) {
	first := x.to(b32, "mad.lo.u32", j, fmt.Sprint(queriesBack), x.to(b32, "shl.b32", x.quad, "1"))
	head := x.to(b32, "mad.lo.u32", t.head, x.number32(flashGroup), g)
	for h := range 2 {
		row := x.strided(x.slotReg(slotPointer, 3, 0), flashBiasAt, t.batch, head, first, r.key[h])
		for b := range len(s) / 4 {
			for c := range 2 {
				query := x.to(b32, "add.u32", first, fmt.Sprint(8*b+c))
				guard := x.to(pred, "and.pred", r.inside[h], x.to(pred, "setp.lt.u32", query, x.number32(flashLength)))
				at := x.to(b64, "mad.lo.s64", x.number(flashBiasAt+2), x.constant(b64, uint64(8*b+c)), row)
				x.addBias(s[4*b+2*h+c], over, at, guard)
			}
		}
	}
}

// beside reports whether a group makes gradients beside its own products of the block
// before. Of wide heads there are no registers for both; then it is the other group that
// multiplies meanwhile.
func (x *flashGradKV) beside() bool { return x.d+x.e <= flashWidth }

func (x *flashGradKV) consume() {
	x.start(x.kv)
	x.start(x.qd)
	block, queries := x.qd.bytes, boxedBytes(queriesBack, x.d)
	room := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(block), x.room)
	turn := x.beginTurns()
	s, dp := x.registers(queriesBack/2), x.registers(queriesBack/2)
	p, ds := x.registers(queriesBack/4), x.registers(queriesBack/4)
	dk, dv := x.registers((x.d+15)&^15/2), x.registers(x.columns()/2)
	factor, over := x.to(b32, "mov.b32", x.number32(flashFactor)), x.overFactor()
	// The blocks of queries and of dy that p and ds are of, and their barrier.
	q, dy, taken := x.reg(b32), x.reg(b32), x.reg(b32)
	x.eachTile(false, func(t flashTile) {
		x.begin(t)
		r := x.rows()
		begin, end := x.open()
		for _, a := range append(dk[:len(dk):len(dk)], dv...) {
			x.op("mov.b32", a, f32Zero)
		}
		scores := func() {
			x.there(x.qd)
			k := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(64*boxLine), x.kv.at)
			v := x.to(b32, "add.u32", k, boxedBytes(64*x.groups, x.d))
			dy := x.to(b32, "add.u32", x.qd.at, queries)
			x.op("wgmma.fence.sync.aligned")
			x.multiply(s, steps(x.d), true, x.lying(k, 64*x.groups), x.lying(x.qd.at, queriesBack), false)
			x.multiply(dp, steps(x.e), true, x.lying(v, 64*x.groups), x.lying(dy, queriesBack), false)
			x.commit()
		}
		sums := func() {
			x.multiply(dv, queriesBack/16, false, held(p), x.standing(dy, queriesBack), true)
			x.multiply(dk, queriesBack/16, false, held(ds), x.standing(q, queriesBack), true)
			x.commit()
		}
		gradients := func(g, j reg, masked bool, behind func()) {
			if x.bias == flashFullBias {
				x.biased(s, t, r, g, j, over)
			}
			if masked {
				x.hide(s, r, j)
			}
			stats := x.to(b32, "mad.lo.u32", x.quad, fmt.Sprint(2*statBytes), x.statsOf(x.qd))
			for b := range len(s) / 4 {
				v := x.registers(4) // less and delta of two queries
				x.op("ld.shared.v4.b32", group(v), mem(stats, int64(8*statBytes*b)))
				for c := range 2 {
					for h := range 2 {
						i := 4*b + 2*h + c
						x.gradient(s[i], dp[i], factor, v[2*c], v[2*c+1])
						if masked {
							x.hideGradient(s[i], dp[i])
						}
					}
				}
			}
			behind()
			x.op("mov.b32", q, x.qd.at)
			x.op("add.u32", dy, x.qd.at, queries)
			x.op("mov.b32", taken, x.qd.taken)
			if masked {
				x.scan(x.qd.at, block, func() {
					x.finiteCopy(room, x.qd.at, block)
					x.addNotFinite(dv, s, dy, queriesBack)
					x.op("mov.b32", q, room)
					x.op("add.u32", dy, room, queries)
				})
			}
			x.halves(p, s)
			x.halves(ds, dp)
			x.next(x.qd)
		}
		x.there(x.kv)
		begun := x.to(pred, "setp.ne.u32", x.tid, x.tid)
		x.eachBlock(func(g, j reg) {
			if !x.beside() {
				x.take(turn)
				scores()
				x.give(turn)
				x.finished(0)
				x.either(j, begin, end, func(masked bool) { gradients(g, j, masked, func() {}) })
				x.op("wgmma.fence.sync.aligned")
				sums()
				x.finished(0)
				x.free(taken)
				return
			}
			x.either(j, begin, end, func(masked bool) {
				rest, over := x.label(), x.label()
				x.opIf(begun, "bra", rest)
				x.take(turn)
				scores()
				x.give(turn)
				x.finished(0)
				gradients(g, j, masked, func() {})
				x.op("setp.eq.u32", begun, x.tid, x.tid)
				x.op("bra", over)
				x.place(rest)
				x.take(turn)
				scores()
				sums()
				x.give(turn)
				x.finished(1)
				gradients(g, j, masked, func() {
					x.finished(0)
					x.free(taken)
				})
				x.place(over)
			})
		})
		x.free(x.kv.taken)
		x.next(x.kv)
		if x.beside() {
			x.op("wgmma.fence.sync.aligned")
			sums()
			x.finished(0)
			x.free(taken)
		}
		scale, same := x.to(b32, "mov.b32", x.number32(flashScale)), x.to(b32, "mov.b32", f32One)
		x.storeRows(dk, [2]reg{scale, scale}, r.inside, x.resultRows(t.line, flashSource, r.key, 7, x.d), x.d)
		x.storeRows(dv, [2]reg{same, same}, r.inside, x.resultRows(t.line, flashSource, r.key, 8, x.e), x.e)
	})
	x.endTurns(turn)
}

// writeFlashStats writes the kernel that puts what queries have into scratch memory, for
// [flashGradKV]: a thread for each query of each head, filled up to blocks.
func writeFlashStats(a *asm, f flashForm) {
	x := &flash{asm: a, flashForm: f}
	at := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), "256", a.to(b32, "mov.u32", "%tid.x"))
	all, per := x.number32(flashAll), x.number32(flashTiles)
	end := a.label()
	a.opIf(a.to(pred, "setp.ge.u32", at, all), "bra", end)
	line := a.to(b32, "div.u32", at, per)
	row := a.to(b32, "sub.u32", at, a.to(b32, "mul.lo.u32", line, per))
	batch := a.to(b32, "div.u32", line, x.number32(flashHeads))
	head := a.to(b32, "sub.u32", line, a.to(b32, "mul.lo.u32", batch, x.number32(flashHeads)))
	inside := a.to(pred, "setp.lt.u32", row, x.number32(flashLength))
	less, delta := x.statistics(batch, head, row, inside)
	to := a.to(b64, "mad.wide.u32", at, statBytes, a.slotReg(slotScratch, 0, 0))
	a.op("st.global.v2.b32", mem(to, 0), group([]reg{less, delta}))
	a.place(end)
}
