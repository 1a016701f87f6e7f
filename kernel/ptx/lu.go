package ptx

// Solutions of systems and determinants, by LU factors with row exchanges.

func init() {
	natives["solve_info"] = planSolve
	natives["det"] = planDet
}

// planSolve works on the matrix and its right-hand side side by side: what is done to rows
// of one is done to those of the other.
func planSolve(c *nativeCall) (*Plan, error) {
	m := c.matrixCall(2, 2, 2, 0)
	if m == nil {
		return nil, nil
	}
	m.withRight(1)
	pitch := (m.order + m.columns) | 1 // columns lie in different banks
	return m.plan(m.order*pitch, pitch, func(b *matrixBlock) {
		n := b.order()
		columns := b.number32(matrixWidth)
		b.start()
		b.loadAll(0, n, n, b.constant(b32, 0), matrixBadX)
		b.loadAll(1, n, columns, n, matrixBadZ)
		b.barrier()
		badX, bad := b.isSet(matrixBadX), b.isSet(matrixBadZ)
		info := b.to(b32, "mov.b32", b.constant(b32, 0))
		factored := b.label()
		b.opIf(badX, "bra", factored)
		b.factor(n, b.plus(n, columns), nil)
		b.op("mov.b32", info, b.word(matrixInfo))
		b.place(factored)
		bad = b.to(pred, "or.pred", bad, b.to(pred, "or.pred", badX, b.to(pred, "setp.ne.u32", info, 0)))
		b.storeInfo(3, info)
		b.spread(0, columns, func(j reg) {
			b.solveUpper(n, b.plus(n, j), false, func(i, v reg) {
				b.storeNarrow(b.tensors[2].t, b.nanWhen(bad, v), b.of(2, i, j))
			})
		})
	}), nil
}

// subtract takes a product from a sum, or does nothing if the first factor is 0.
func (a *asm) subtract(sum, factor, x reg) {
	some := a.to(pred, "setp.neu.f64", factor, a.f64(0))
	a.opIf(some, "add.rn.f64", sum, sum, a.mulF64(a.negF64(factor), x))
}

func planDet(c *nativeCall) (*Plan, error) {
	m := c.matrixCall(2, 0)
	if m == nil {
		return nil, nil
	}
	pitch := m.order | 1
	return m.plan(m.order*pitch, pitch, func(b *matrixBlock) {
		n := b.order()
		b.start()
		b.loadAll(0, n, n, b.constant(b32, 0), matrixBadX)
		b.barrier()
		bad := b.isSet(matrixBadX)
		odd := b.to(b32, "mov.b32", b.constant(b32, 0))
		b.factor(n, n, func(exchanged reg) {
			b.op("xor.b32", odd, odd, b.to(b32, "selp.b32", 1, 0, exchanged))
		})
		b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() {
			d := b.to(b64, "mov.b64", b.f64(1))
			b.turns(0, n, 1, func(i reg) { b.op("mul.rn.f64", d, d, b.element(i, i).real(0)) })
			d = b.to(b64, "selp.b64", b.negF64(d), d, b.to(pred, "setp.ne.u32", odd, 0))
			b.storeNarrow(b.tensors[1].t, b.nanWhen(bad, d), b.at[1])
		})
	}), nil
}

// luPanel is how many columns LAPACK factors before it turns to those behind them.
const luPanel = 64

// factor replaces a matrix of n rows by its factors and whatever columns lie behind it, up
// to a last one, by what the lower factor makes of them. Rows are updated as soon as there
// is a pivot, which gives each element its updates in the order in which LAPACK's panels
// do. Panels are visible in one thing: an element behind the panel of the pivot is left as
// it is where the factor is 0. note, if there is one, is told of each pivot whether rows
// were exchanged. All threads know the factors at the end.
func (b *matrixBlock) factor(n, last reg, note func(exchanged reg)) {
	b.turns(0, n, 1, func(k reg) {
		b.only(b.to(pred, "setp.lt.u32", b.tidHead(), 32), func() { b.findPivot(k, n) })
		b.barrier()
		row := b.word(matrixPivot)
		none := b.to(pred, "setp.ge.u32", row, b.constant(b32, matrixNoPivot))
		exchanged := b.to(pred, "setp.ne.u32", row, k)
		exchanged = b.to(pred, "and.pred", exchanged, b.to(pred, "not.pred", none))
		if note != nil {
			note(exchanged)
		}
		b.only(exchanged, func() {
			b.spread(0, last, func(j reg) {
				x, y := b.element(k, j), b.element(row, j)
				v, w := x.real(0), y.real(0)
				x.setReal(0, w)
				y.setReal(0, v)
			})
		})
		b.barrier()
		next := b.plus(k, 1)
		b.only(b.to(pred, "not.pred", none), func() { b.scale(k, next, n) })
		b.barrier()
		panel := b.to(b32, "min.u32", b.to(b32, "and.b32", b.plus(k, luPanel), b.constant(b32, 1<<32-luPanel)), n)
		var factor, nothing reg
		b.cells(next, n, next, last, func(i reg) {
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

// findPivot has a warp find the row from k on whose element of column k is greatest in
// magnitude, the first of such; a NaN is not, but in row k it is. It notes the first pivot
// that is 0.
func (b *matrixBlock) findPivot(k, n reg) {
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
	b.setWord(matrixPivot, b.to(b32, "selp.b32", b.to(b32, "or.b32", at, b.constant(b32, matrixNoPivot)), at, zero), alone)
	fresh := b.to(pred, "and.pred", b.to(pred, "setp.eq.u32", b.word(matrixInfo), 0), b.to(pred, "and.pred", zero, alone))
	b.setWord(matrixInfo, b.plus(k, 1), fresh)
}

// scale divides column k by its pivot as LAPACK does: times the reciprocal. Below a pivot
// whose reciprocal is infinite gonum divides the first element alone, as often as there are.
func (b *matrixBlock) scale(k, next, n reg) {
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
