package ptx

import "github.com/sinter-go/sinter/kernel"

func init() { asHost("cholesky_info", planCholesky) }

// choleskyBlock is how many columns LAPACK factors before it turns to the rows below them.
const choleskyBlock = 64

// choleskySplit is how many blocks of rows gonum multiplies at the same time, and then in
// parts of choleskyBlock columns.
const choleskySplit = 4

// choleskyRows are those that a block takes of a matrix in scratch memory.
const choleskyRows = 32

// planCholesky makes lower factors. A matrix that is not positive definite is a fault, so
// that the host says which pivot it is; upper factors, which few ask for, are the host's.
func planCholesky(c *nativeCall) (*Plan, error) {
	m := c.linalgCall(2, 2, 0)
	if m == nil || c.Attr("upper").Bool() {
		return nil, nil
	}
	c.plan.Fault = true
	pitch := m.order | 1
	blockOf := func(b *linalgBlock, first reg) (last reg) {
		return b.to(b32, "min.u32", b.plus(first, choleskyBlock), b.order())
	}
	if m.planShared(m.order*pitch, pitch, func(b *linalgBlock) {
		n, end := b.order(), b.label()
		b.start()
		b.loadSymmetric(0, n)
		b.barrier()
		b.turns(0, n, choleskyBlock, func(first reg) {
			last := blockOf(b, first)
			b.only(b.to(pred, "setp.ne.u32", first, 0), func() { b.choleskyUpdate(first, last, first, n) })
			b.barrier()
			b.choleskyDiagonal(first, last, end)
			b.choleskyBelow(first, last, last, n)
			b.barrier()
		})
		b.place(end)
		b.storeFactor(0, n)
	}) {
		return c.plan, nil
	}
	return m.planScratch(m.order*pitch, pitch, func(launch linalgLaunch) {
		launch("start", 0, 1, func(b *linalgBlock) { b.start() })
		launch("load", 0, ceil(m.order, choleskyRows), func(b *linalgBlock) { b.loadSymmetric(b.share(0, b.order(), choleskyRows)) })
		for first := int64(0); first < m.order; first += choleskyBlock {
			rest := m.order - min(first+choleskyBlock, m.order)
			if first > 0 {
				launch("update", first, ceil(m.order-first, choleskyRows), func(b *linalgBlock) {
					first := b.number32(linalgFrom)
					from, to := b.share(first, b.order(), choleskyRows)
					b.choleskyUpdate(first, blockOf(b, first), from, to)
				})
			}
			launch("diagonal", first, 1, func(b *linalgBlock) {
				first, end := b.number32(linalgFrom), b.label()
				b.choleskyDiagonal(first, blockOf(b, first), end)
				b.place(end)
			})
			if rest > 0 {
				launch("below", first, ceil(rest, choleskyRows), func(b *linalgBlock) {
					first := b.number32(linalgFrom)
					last := blockOf(b, first)
					from, to := b.share(last, b.order(), choleskyRows)
					b.choleskyBelow(first, last, from, to)
				})
			}
		}
		launch("store", 0, ceil(m.order, choleskyRows), func(b *linalgBlock) { b.storeFactor(b.share(0, b.order(), choleskyRows)) })
	}), nil
}

// storeFactor writes rows of the result; where a pivot was not positive it is a fault.
func (b *linalgBlock) storeFactor(from any, to reg) {
	bad := b.isSet(linalgBadX)
	failed := b.to(pred, "and.pred", b.isSet(linalgInfo), b.to(pred, "not.pred", bad))
	b.noteFault(kernel.DivisionByZero, failed)
	b.storeInfo(2, b.constant(b32, 0))
	b.cells(from, to, 0, b.order(), nil, func(i, j reg) {
		v := b.to(b64, "selp.b64", b.f64(0), b.element(i, j).real(0), b.to(pred, "setp.gt.u32", j, i))
		b.storeNarrow(b.tensors[1].t, b.nanWhen(bad, v), b.of(1, i, j))
	})
}

// loadSymmetric has rows of the symmetric part of the matrix, or its elements where it is
// symmetric, in the lower triangle; above it is 0.
func (b *linalgBlock) loadSymmetric(from any, to reg) {
	b.cells(from, to, 0, b.order(), nil, func(i, j reg) {
		x, y := b.loadWide(b.tensors[0].t, b.of(0, i, j)), b.loadWide(b.tensors[0].t, b.of(0, j, i))
		b.unfinite(x, linalgBadX)
		half := b.f64(0.5)
		mean := b.addF64(b.mulF64(x, half), b.mulF64(y, half))
		v := b.to(b64, "selp.b64", x, mean, b.to(pred, "setp.eq.f64", x, y))
		b.element(i, j).setReal(0, b.to(b64, "selp.b64", b.f64(0), v, b.to(pred, "setp.gt.u32", j, i)))
	})
}

// choleskyUpdate takes from the columns of a block what those before it say, in some rows.
func (b *linalgBlock) choleskyUpdate(first, last, from, to reg) {
	blocks := b.to(b32, "shr.u32", b.plus(b.minus(b.order(), last), choleskyBlock-1), 6)
	split := b.to(pred, "setp.ge.u32", blocks, choleskySplit)
	end, part := b.reg(b32), b.reg(b32)
	b.cells(from, to, first, end, func(i reg) {
		b.op("min.u32", end, b.plus(i, 1), last)
		below := b.to(pred, "and.pred", split, b.to(pred, "setp.ge.u32", i, last))
		b.op("selp.b32", part, choleskyBlock, first, below)
	}, func(i, j reg) {
		at := b.element(i, j)
		v := b.to(b64, "mov.b64", at.real(0))
		k := b.to(b32, "mov.b32", b.constant(b32, 0))
		again, done := b.label(), b.label()
		b.place(again)
		b.opIf(b.to(pred, "setp.ge.u32", k, first), "bra", done)
		b.op("sub.rn.f64", v, v, b.dot(b.element(i, k), b.element(j, k), part))
		b.op("add.u32", k, k, part)
		b.op("bra", again)
		b.place(done)
		at.setReal(0, v)
	})
}

// choleskyDiagonal factors the rows of a block themselves, column by column. All threads
// leave where a pivot is not positive.
func (b *linalgBlock) choleskyDiagonal(first, last reg, leave string) {
	b.turns(first, last, 1, func(j reg) {
		length := b.minus(j, first)
		b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() {
			at := b.element(j, j)
			v := b.subF64(at.real(0), b.dot(b.element(j, first), b.element(j, first), length))
			positive := b.to(pred, "setp.gt.f64", v, b.f64(0))
			b.setWord(linalgInfo, b.constant(b32, 1), b.to(pred, "not.pred", positive))
			at.setReal(0, b.to(b64, "sqrt.rn.f64", v))
		})
		b.barrier()
		b.opIf(b.isSet(linalgInfo), "bra", leave)
		inverse := b.to(b64, "div.rn.f64", b.f64(1), b.element(j, j).real(0))
		next := b.plus(j, 1)
		odd := b.to(pred, "setp.ne.u32", b.to(b32, "and.b32", b.minus(last, next), 1), 0)
		b.spread(next, last, func(i reg) {
			alone := b.to(pred, "and.pred", odd, b.to(pred, "setp.eq.u32", b.plus(i, 1), last))
			at := b.element(i, j)
			v := b.subF64(at.real(0), b.dotOfRow(b.element(i, first), b.element(j, first), length, alone))
			at.setReal(0, b.mulF64(v, inverse))
		})
		b.barrier()
	})
}

// choleskyBelow solves for rows below a block, a thread for each.
func (b *linalgBlock) choleskyBelow(first, last, from, to reg) {
	b.spread(from, to, func(i reg) {
		b.turns(first, last, 1, func(j reg) {
			at := b.element(i, j)
			v := b.subF64(at.real(0), b.dot(b.element(j, first), b.element(i, first), b.minus(j, first)))
			at.setReal(0, b.to(b64, "div.rn.f64", v, b.element(j, j).real(0)))
		})
	})
}
