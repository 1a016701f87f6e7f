package ptx

import "fmt"

// flashForward computes tiles of 64 queries a group, over blocks of flashKeys keys in
// ascending order. Arguments: q, k, v, the bias if there is one, y, lse.
type flashForward struct {
	*queryTile
	q, k, v *pipe
	room    reg // for a finite copy of a block of values
}

// stages is how many slabs of keys and values there are.
func (f flashForm) stages() int {
	slab := boxedBytes(flashKeys, f.d) + boxedBytes(flashKeys, f.e)
	fixed := boxedBytes(64*f.groups, f.d) + f.groups*boxedBytes(flashKeys, f.e) + alignShared + 1024
	return min(4, (hopperShared-fixed)/slab)
}

func writeFlashForward(a *asm, f flashForm) {
	x := &flashForward{queryTile: &queryTile{flash: newFlash(a, f, 3), block: flashKeys}}
	x.q = x.newPipe(1, boxedBytes(64*f.groups, f.d))
	x.k = x.newPipe(f.stages(), boxedBytes(flashKeys, f.d))
	x.v = x.newPipe(f.stages(), boxedBytes(flashKeys, f.e))
	x.room = x.share(f.groups * boxedBytes(flashKeys, f.e))
	x.barriers(4*f.groups, x.q, x.k, x.v)
	x.roles(x.produce, x.consume)
}

// produce brings the queries of each tile, and its keys and values.
func (x *flashForward) produce() {
	maps := [3]reg{x.mapAddress(0), x.mapAddress(1), x.mapAddress(2)}
	for _, p := range []*pipe{x.q, x.k, x.v} {
		x.start(p)
	}
	x.eachTile(x.causal, func(t flashTile) {
		x.begin(t)
		x.fill(x.q)
		x.bringLines(x.q, 0, 64*x.groups, x.d, maps[0], x.row0, t.head, t.batch)
		x.next(x.q)
		j := x.to(b32, "mov.u32", x.lo)
		loop := x.label()
		x.place(loop)
		key := x.to(b32, "shl.b32", j, "7")
		x.fill(x.k)
		x.bringLines(x.k, 0, flashKeys, x.d, maps[1], key, t.keyHead, t.batch)
		x.next(x.k)
		x.fill(x.v)
		x.bringLines(x.v, 0, flashKeys, x.e, maps[2], key, t.keyHead, t.batch)
		x.next(x.v)
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.lt.s32", j, x.hi), "bra", loop)
	})
}

// flashState is the state of the recurrence of the two queries of a thread.
type flashState struct {
	*flashRows
	m, l, factor [2]reg
}

func (x *flashForward) state() *flashState {
	r := &flashState{flashRows: x.rows()}
	for h := range 2 {
		r.m[h], r.l[h], r.factor[h] = x.to(b32, "mov.b32", f32MinusInf), x.to(b32, "mov.b32", f32Zero), x.to(b32, "mov.b32", f32Zero)
	}
	return r
}

func (x *flashForward) consume() {
	for _, p := range []*pipe{x.q, x.k, x.v} {
		x.start(p)
	}
	room := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(boxedBytes(flashKeys, x.e)), x.room)
	turn := x.beginTurns()
	s, o, p := x.registers(flashKeys/2), x.registers(x.columns()/2), x.registers(flashKeys/4)
	factor, over := x.to(b32, "mov.b32", x.number32(flashFactor)), x.overFactor()
	values := x.reg(b32) // the block that the weights p are of
	x.eachTile(x.causal, func(t flashTile) {
		x.begin(t)
		r := x.state()
		begin, end := x.open()
		for _, a := range o {
			x.op("mov.b32", a, "0")
		}
		scores := func() {
			x.there(x.k)
			q := x.to(b32, "mad.lo.u32", x.group, fmt.Sprint(64*boxLine), x.q.at)
			x.op("wgmma.fence.sync.aligned")
			x.multiply(s, steps(x.d), true, x.lying(q, 64*x.groups), x.lying(x.k.at, flashKeys), false)
			x.commit()
		}
		sums := func() {
			x.multiply(o, flashKeys/16, false, held(p), x.standing(values, flashKeys), true)
			x.commit()
		}
		j := x.to(b32, "mov.u32", x.lo)
		// weigh makes weights of scores; behind it, in masked blocks, values are looked at.
		weigh := func(masked bool, behind func()) {
			if x.bias != flashNoBias {
				x.biased(s, t, r.flashRows, j, over)
			}
			if masked {
				x.hide(s, r.flashRows, j)
			}
			x.weigh(s, r, factor)
			behind()
			x.op("mov.b32", values, x.v.at)
			if masked {
				x.there(x.v)
				x.scan(x.v.at, x.v.bytes, func() {
					x.finiteCopy(room, x.v.at, x.v.bytes)
					x.addNotFinite(o, s, x.v.at, flashKeys)
					x.op("mov.b32", values, room)
				})
			}
			x.halves(p, s)
		}
		x.there(x.q)
		x.take(turn)
		scores()
		x.give(turn)
		x.finished(0)
		x.free(x.k.taken)
		x.next(x.k)
		x.either(j, begin, end, func(masked bool) { weigh(masked, func() {}) })
		loop, through := x.label(), x.label()
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.ge.s32", j, x.hi), "bra", through)
		x.place(loop)
		x.either(j, begin, end, func(masked bool) {
			x.take(turn)
			scores()
			x.there(x.v)
			sums()
			x.give(turn)
			x.finished(1)
			x.free(x.k.taken)
			weigh(masked, func() {
				x.finished(0)
				x.free(x.v.taken)
				x.next(x.v)
				for i, a := range o {
					x.op("mul.rn.f32", a, a, r.factor[i/2%2])
				}
			})
		})
		x.next(x.k)
		x.op("add.u32", j, j, "1")
		x.opIf(x.to(pred, "setp.lt.s32", j, x.hi), "bra", loop)
		x.place(through)
		x.free(x.q.taken)
		x.next(x.q)
		x.there(x.v)
		x.op("wgmma.fence.sync.aligned")
		sums()
		x.finished(0)
		x.free(x.v.taken)
		x.next(x.v)
		x.finish(o, t, r)
	})
	x.endTurns(turn)
}

// weigh makes weights of scores, and takes them into the state of the queries.
func (x *flashForward) weigh(s []reg, r *flashState, factor reg) {
	for h := range 2 {
		at := func(i int) reg { return s[i/2*4+2*h+i%2] }
		n := len(s) / 2
		top := x.to(b32, "max.NaN.f32", at(0), at(1))
		for i := 2; i < n; i++ {
			top = x.to(b32, "max.NaN.f32", top, at(i))
		}
		top = x.to(b32, "max.NaN.f32", top, x.shuffle32(top, 1))
		top = x.to(b32, "max.NaN.f32", top, x.shuffle32(top, 2))
		top = x.to(b32, "mul.rn.f32", top, factor)
		top = x.to(b32, "max.NaN.f32", r.m[h], top)
		safe := x.to(b32, "selp.b32", f32Zero, top, x.to(pred, "setp.eq.f32", top, f32MinusInf))
		x.op("ex2.approx.ftz.f32", r.factor[h], x.to(b32, "sub.rn.f32", r.m[h], safe))
		x.op("mov.b32", r.m[h], top)
		less := x.to(b32, "neg.f32", safe)
		var sum reg
		for i := range n {
			v := at(i)
			x.op("fma.rn.f32", v, v, factor, less)
			x.op("ex2.approx.ftz.f32", v, v)
			if i == 0 {
				sum = v
			} else {
				sum = x.to(b32, "add.rn.f32", sum, v)
			}
		}
		x.op("fma.rn.f32", r.l[h], r.l[h], r.factor[h], sum)
	}
}

// finish divides the sums of a tile, and stores them.
func (x *flashForward) finish(o []reg, t flashTile, r *flashState) {
	var factor, at [2]reg
	for h := range 2 {
		l := x.to(b32, "add.rn.f32", r.l[h], x.shuffle32(r.l[h], 1))
		l = x.to(b32, "add.rn.f32", l, x.shuffle32(l, 2))
		none := x.to(pred, "setp.eq.f32", l, f32Zero)
		factor[h] = x.to(b32, "selp.b32", f32Zero, x.to(b32, "rcp.rn.f32", l), none)
		row := x.to(b64, "mad.lo.s64", x.to(b64, "cvt.u64.u32", t.line), x.number(flashLength), x.to(b64, "cvt.u64.u32", r.row[h]))
		at[h] = x.to(b64, "mad.lo.s64", row, fmt.Sprint(2*x.e), x.slotReg(slotPointer, x.results(), 0))
		log := x.to(b32, "lg2.approx.f32", l)
		lse := x.to(b32, "mul.rn.f32", x.to(b32, "add.rn.f32", r.m[h], log), f32Ln2)
		lse = x.to(b32, "selp.b32", f32MinusInf, lse, none)
		stat := x.to(b64, "mad.lo.s64", row, "4", x.slotReg(slotPointer, x.results()+1, 0))
		one := x.to(pred, "and.pred", r.inside[h], x.to(pred, "setp.eq.u32", x.quad, "0"))
		x.opIf(one, "st.global.b32", mem(stat, 0), lse)
	}
	x.storeRows(o, factor, r.inside, at, x.e)
}

// results is the number of the first result among the tensors.
func (x *flashForward) results() int {
	if x.bias != flashNoBias {
		return 4
	}
	return 3
}
