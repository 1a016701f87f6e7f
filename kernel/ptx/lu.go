package ptx

import "math"

// Solutions of systems and determinants, by LU factors with row exchanges.

func init() {
	asHost("solve_info", planSolve)
	asHost("det", planDet)
	asHost("slogdet", planLogDet)
}

// planSolve works on the matrix and its right-hand side side by side: what is done to rows
// of one is done to those of the other.
func planSolve(c *nativeCall) (*Plan, error) {
	m := c.linalgCall(2, 2, 2, 0)
	if m == nil {
		return nil, nil
	}
	m.withRight(1)
	pitch := (m.order + m.width) | 1 // columns lie in different banks
	load := func(b *linalgBlock, from any, to reg) {
		b.loadRows(0, from, to, b.order(), b.constant(b32, 0), linalgBadX)
		b.loadRows(1, from, to, b.number32(linalgWidth), b.order(), linalgBadZ)
	}
	finish := func(b *linalgBlock, from any, to reg) {
		bad := b.isSet(linalgBadX)
		info := b.to(b32, "selp.b32", 0, b.word(linalgInfo), bad)
		bad = b.to(pred, "or.pred", bad, b.isSet(linalgBadZ))
		bad = b.to(pred, "or.pred", bad, b.to(pred, "setp.ne.u32", info, 0))
		b.storeInfo(3, info)
		b.spread(from, to, func(j reg) {
			b.solveUpper(b.order(), b.plus(b.order(), j), false, func(i, v reg) {
				b.storeNarrow(b.tensors[2].t, b.nanWhen(bad, v), b.of(2, i, j))
			})
		})
	}
	if m.planShared(m.order*pitch, pitch, func(b *linalgBlock) {
		n := b.order()
		b.start()
		load(b, 0, n)
		b.barrier()
		b.factor(luRange{end: n, last: b.plus(n, b.number32(linalgWidth))})
		finish(b, 0, b.number32(linalgWidth))
	}) {
		return c.plan, nil
	}
	return m.planScratch(m.order*pitch, pitch, func(launch linalgLaunch) {
		m.factorInScratch(launch, m.order+m.width, load)
		launch("back", 0, ceil(m.width, linalgPartThreads), func(b *linalgBlock) {
			from, to := b.share(0, b.number32(linalgWidth), linalgPartThreads)
			finish(b, from, to)
		})
	}), nil
}

// subtract takes a product from a sum, or does nothing if the first factor is 0.
func (a *asm) subtract(sum, factor, x reg) {
	some := a.to(pred, "setp.neu.f64", factor, a.f64(0))
	a.opIf(some, "add.rn.f64", sum, sum, a.mulF64(a.negF64(factor), x))
}

func planDet(c *nativeCall) (*Plan, error) {
	m := c.linalgCall(2, 0)
	if m == nil {
		return nil, nil
	}
	return m.planFactors(func(b *linalgBlock) {
		d := b.to(b64, "mov.b64", b.f64(1))
		b.turns(0, b.order(), 1, func(i reg) { b.op("mul.rn.f64", d, d, b.element(i, i).real(0)) })
		d = b.to(b64, "selp.b64", b.negF64(d), d, b.isSet(linalgOdd))
		b.storeNarrow(b.tensors[1].t, b.nanWhen(b.isSet(linalgBadX), d), b.at[1])
	}), nil
}

func planLogDet(c *nativeCall) (*Plan, error) {
	m := c.linalgCall(2, 0, 0)
	if m == nil {
		return nil, nil
	}
	return m.planFactors(func(b *linalgBlock) {
		bad, singular := b.isSet(linalgBadX), b.isSet(linalgInfo)
		odd, sum := b.to(b32, "mov.b32", b.word(linalgOdd)), b.to(b64, "mov.b64", b.f64(0))
		b.turns(0, b.order(), 1, func(i reg) {
			d := b.element(i, i).real(0)
			negative := b.to(pred, "setp.lt.f64", d, b.f64(0))
			b.op("xor.b32", odd, odd, b.to(b32, "selp.b32", 1, 0, negative))
			b.op("add.rn.f64", sum, sum, b.log(b.absF64(d)))
		})
		sign := b.to(b64, "selp.b64", b.f64(-1), b.f64(1), b.to(pred, "setp.ne.u32", odd, 0))
		sign = b.to(b64, "selp.b64", b.f64(0), sign, singular)
		sum = b.to(b64, "selp.b64", b.f64(math.Inf(-1)), sum, singular)
		b.storeNarrow(b.tensors[1].t, b.nanWhen(bad, sign), b.at[1])
		b.storeNarrow(b.tensors[2].t, b.nanWhen(bad, sum), b.at[2])
	}), nil
}

// planFactors factors each matrix, and has one thread finish with the factors.
func (m *linalgCall) planFactors(finish func(b *linalgBlock)) *Plan {
	pitch := m.order | 1
	load := func(b *linalgBlock, from any, to reg) {
		b.loadRows(0, from, to, b.order(), b.constant(b32, 0), linalgBadX)
	}
	alone := func(b *linalgBlock) {
		b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() { finish(b) })
	}
	if m.planShared(m.order*pitch, pitch, func(b *linalgBlock) {
		n := b.order()
		b.start()
		load(b, 0, n)
		b.barrier()
		b.factor(luRange{end: n, last: n})
		alone(b)
	}) {
		return m.plan
	}
	return m.planScratch(m.order*pitch, pitch, func(launch linalgLaunch) {
		m.factorInScratch(launch, m.order, load)
		launch("finish", 0, 1, alone)
	})
}

// luPanel is how many columns LAPACK factors before it turns to those behind them.
const luPanel = 64

// Rows, columns and rows that a block takes when a matrix in scratch memory is loaded, its
// rows are exchanged, and what is behind a panel is updated.
const (
	luLoadRows   = 32
	luColumns    = 64
	luUpdateRows = 8
)

// factorInScratch appends the launches that factor a matrix of so many columns, panel by
// panel.
func (m *linalgCall) factorInScratch(launch linalgLaunch, columns int64, load func(b *linalgBlock, from any, to reg)) {
	launch("start", 0, 1, func(b *linalgBlock) { b.start() })
	launch("load", 0, ceil(m.order, luLoadRows), func(b *linalgBlock) {
		from, to := b.share(0, b.order(), luLoadRows)
		load(b, from, to)
	})
	last := func(b *linalgBlock) reg { // column behind all
		if columns == m.order {
			return b.order()
		}
		return b.plus(b.order(), b.number32(linalgWidth))
	}
	for first := int64(0); first < m.order; first += luPanel {
		end := min(first+luPanel, m.order)
		panel := func(b *linalgBlock) (first, end reg) {
			first = b.number32(linalgFrom)
			return first, b.to(b32, "min.u32", b.plus(first, luPanel), b.order())
		}
		launch("panel", first, 0, func(b *linalgBlock) {
			first, end := panel(b)
			b.factor(luRange{first, end, end, true})
		})
		if columns > end-first {
			launch("exchange", first, ceil(columns-(end-first), luColumns), func(b *linalgBlock) {
				first, end := panel(b)
				b.exchange(first, end, last(b))
			})
		}
		if end < m.order {
			launch("update", first, ceil(m.order-end, luUpdateRows), func(b *linalgBlock) {
				first, end := panel(b)
				b.update(first, end, last(b))
			})
		}
	}
}

// luRange is what is factored at once: pivots from a first to an end, and what columns
// from the first to a last, or all, are made of it. In scratch memory the pivots are noted.
type luRange struct {
	first, end, last reg // no first is 0
	note             bool
}

// factor replaces a matrix by its factors, and columns behind it by what the lower factor
// makes of them. Rows are updated as soon as there is a pivot, which gives each element its
// updates in the order in which LAPACK's panels do. Panels are visible in one thing: an
// element behind the panel of the pivot is left as it is where the factor is 0. All threads
// know the factors at the end.
func (b *linalgBlock) factor(r luRange) {
	n := b.order()
	if r.first == "" {
		r.first = b.constant(b32, 0)
	}
	alone := b.to(pred, "setp.eq.u32", b.tidHead(), 0)
	b.turns(r.first, r.end, 1, func(k reg) {
		b.only(b.to(pred, "setp.lt.u32", b.tidHead(), 32), func() { b.findPivot(k, n) })
		b.barrier()
		row := b.word(linalgPivot)
		none := b.to(pred, "setp.ge.u32", row, b.constant(b32, linalgNoPivot))
		row = b.to(b32, "and.b32", row, b.constant(b32, linalgNoPivot-1)) // row k if there is none
		b.only(b.to(pred, "setp.ne.u32", row, k), func() {
			b.spread(r.first, r.last, func(j reg) { b.swap(b.element(k, j), b.element(row, j)) })
			b.setWord(linalgOdd, b.to(b32, "xor.b32", b.word(linalgOdd), 1), alone)
		})
		if r.note {
			b.opIf(alone, "st.global.b32", mem(b.pivot(k), 0), row)
		}
		b.barrier()
		next := b.plus(k, 1)
		b.only(b.to(pred, "not.pred", none), func() { b.scale(k, next, n) })
		b.barrier()
		panel := b.to(b32, "min.u32", b.to(b32, "and.b32", b.plus(k, luPanel), b.constant(b32, 1<<32-luPanel)), n)
		var factor, nothing reg
		b.cells(next, n, next, r.last, func(i reg) {
			factor = b.element(i, k).real(0)
			nothing = b.to(pred, "setp.eq.f64", factor, b.f64(0))
			factor = b.negF64(factor)
		}, func(i, j reg) {
			at := b.element(i, j)
			v := at.real(0)
			sum := b.addF64(v, b.mulF64(factor, b.element(k, j).real(0)))
			left := b.to(pred, "and.pred", nothing, b.to(pred, "setp.ge.u32", j, panel))
			at.setReal(0, b.to(b64, "selp.b64", v, sum, left))
		})
		b.barrier()
	})
}

// pivot is the address of the row of a pivot, of a matrix in scratch memory.
func (b *linalgBlock) pivot(k reg) reg {
	return b.step(b.to(b64, "add.s64", b.head, b.number(linalgPivots)), k, 4)
}

func (b *linalgBlock) swap(x, y place) {
	v, w := x.real(0), y.real(0)
	x.setReal(0, w)
	y.setReal(0, v)
}

// exchange follows a panel in the columns beside it, a thread for each: rows are exchanged,
// and behind the panel those of the panel are solved for.
func (b *linalgBlock) exchange(first, end, last reg) {
	beside := b.minus(last, b.minus(end, first))
	from, to := b.share(0, beside, luColumns)
	b.spread(from, to, func(j reg) {
		behind := b.to(pred, "setp.ge.u32", j, first)
		j = b.to(b32, "selp.b32", b.plus(j, b.minus(end, first)), j, behind)
		b.turns(first, end, 1, func(k reg) {
			row := b.to(b32, "ld.global.b32", mem(b.pivot(k), 0))
			b.only(b.to(pred, "setp.ne.u32", row, k), func() { b.swap(b.element(k, j), b.element(row, j)) })
		})
		b.only(behind, func() {
			b.turns(b.plus(first, 1), end, 1, func(i reg) { b.subtractAll(i, j, first, i) })
		})
	})
}

// update takes from what is behind a panel, and below it, what the panel says.
func (b *linalgBlock) update(first, end, last reg) {
	from, to := b.share(end, b.order(), luUpdateRows)
	b.cells(from, to, end, last, nil, func(i, j reg) { b.subtractAll(i, j, first, end) })
}

// subtractAll takes from an element the products of its row and its column from one number
// up to another, in this order, and returns the rest.
func (b *linalgBlock) subtractAll(i, j, from, to reg) reg {
	const together = 8 // whose factors are on the way at once
	at := b.element(i, j)
	v := b.to(b64, "mov.b64", at.real(0))
	factors, column := b.element(i, from), b.element(from, j)
	left := b.minus(to, from)
	for _, n := range []int{together, 1} {
		again, done := b.label(), b.label()
		b.place(again)
		b.opIf(b.to(pred, "setp.lt.u32", left, n), "bra", done)
		var f, x []reg
		for k := range n {
			f, x = append(f, factors.real(k)), append(x, b.below(column, k).real(0))
		}
		for k := range n {
			b.subtract(v, f[k], x[k])
		}
		b.advance(factors, n)
		b.op("mov"+classType[b.addressClass()], column.address, b.below(column, n).address)
		b.op("sub.u32", left, left, n)
		b.op("bra", again)
		b.place(done)
	}
	at.setReal(0, v)
	return v
}

// findPivot has a warp find the row from k on whose element of column k is greatest in
// magnitude, the first of such; a NaN is not, but in row k it is. It notes the first pivot
// that is 0.
func (b *linalgBlock) findPivot(k, n reg) {
	best := b.to(b64, "mov.b64", b.constant(b64, 0))
	at := b.plus(k, b.lane)
	b.turns(b.plus(k, b.lane), n, 32, func(i reg) {
		v := b.absF64(b.element(i, k).real(0))
		nan := b.to(pred, "setp.gt.u64", v, b.constant(b64, 0x7ff<<52))
		nan = b.to(pred, "and.pred", nan, b.to(pred, "setp.ne.u32", i, k))
		v = b.to(b64, "selp.b64", b.constant(b64, 0), v, nan)
		more := b.to(pred, "setp.gt.u64", v, best)
		b.op("selp.b64", best, v, best, more)
		b.op("selp.b32", at, i, at, more)
	})
	for d := 16; d > 0; d /= 2 {
		lo, hi := b.reg(b32), b.reg(b32)
		b.op("mov.b64", group([]reg{lo, hi}), best)
		v := b.to(b64, "mov.b64", group([]reg{b.shuffle32(lo, d), b.shuffle32(hi, d)}))
		i := b.shuffle32(at, d)
		more := b.to(pred, "setp.gt.u64", v, best)
		first := b.to(pred, "and.pred", b.to(pred, "setp.eq.u64", v, best), b.to(pred, "setp.lt.u32", i, at))
		more = b.to(pred, "or.pred", more, first)
		b.op("selp.b64", best, v, best, more)
		b.op("selp.b32", at, i, at, more)
	}
	zero := b.to(pred, "setp.eq.u64", best, b.constant(b64, 0))
	alone := b.to(pred, "setp.eq.u32", b.tidHead(), 0)
	b.setWord(linalgPivot, b.to(b32, "selp.b32", b.to(b32, "or.b32", at, b.constant(b32, linalgNoPivot)), at, zero), alone)
	fresh := b.to(pred, "and.pred", b.to(pred, "setp.eq.u32", b.word(linalgInfo), 0), b.to(pred, "and.pred", zero, alone))
	b.setWord(linalgInfo, b.plus(k, 1), fresh)
}

// scale divides column k by its pivot as LAPACK does: times the reciprocal. Below a pivot
// whose reciprocal is infinite gonum divides the first element alone, as often as there are.
func (b *linalgBlock) scale(k, next, n reg) {
	pivot := b.element(k, k).real(0)
	inverse := b.to(b64, "div.rn.f64", b.f64(1), pivot)
	none := b.to(pred, "setp.eq.f64", inverse, b.f64(0))
	normal := b.to(pred, "setp.ge.f64", b.absF64(pivot), b.f64(0x1p-1022))
	b.either(normal, func() {
		b.spread(next, n, func(i reg) {
			at := b.element(i, k)
			at.setReal(0, b.to(b64, "selp.b64", b.f64(0), b.mulF64(at.real(0), inverse), none))
		})
	}, func() {
		b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() {
			b.turns(next, n, 1, func(reg) {
				at := b.element(next, k)
				at.setReal(0, b.to(b64, "div.rn.f64", at.real(0), pivot))
			})
		})
	})
}
