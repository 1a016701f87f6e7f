package ptx

import "github.com/sinter-go/sinter/kernel"

func init() { natives["cholesky_info"] = planCholesky }

// choleskyBlock is how many columns LAPACK factors before it turns to the rows below them.
const choleskyBlock = 64

// choleskySplit is how many blocks of rows gonum multiplies at the same time, and then in
// parts of choleskyBlock columns.
const choleskySplit = 4

// planCholesky makes lower factors. A matrix that is not positive definite is a fault, so
// that the host says which pivot it is; upper factors, which few ask for, are the host's.
func planCholesky(c *nativeCall) (*Plan, error) {
	m := c.matrixCall(2, 2, 0)
	if m == nil || c.Attr("upper").Bool() {
		return nil, nil
	}
	c.plan.Fault = true
	pitch := m.order | 1
	return m.plan(m.order*pitch, pitch, func(b *matrixBlock) {
		n := b.order()
		b.start()
		b.loadSymmetric(n)
		b.barrier()
		bad := b.isSet(matrixBadX)
		end := b.label()
		b.opIf(bad, "bra", end)
		b.turns(0, n, choleskyBlock, func(first reg) {
			last := b.to(b32, "min.u32", b.plus(first, choleskyBlock), n)
			b.only(b.to(pred, "setp.ne.u32", first, 0), func() { b.choleskyUpdate(first, last, n) })
			b.barrier()
			b.choleskyDiagonal(first, last, end)
			b.choleskyBelow(first, last, n)
			b.barrier()
		})
		b.place(end)
		failed := b.isSet(matrixInfo)
		b.noteFault(kernel.DivisionByZero, failed)
		b.storeInfo(2, b.constant(b32, 0))
		b.cells(0, n, 0, n, nil, func(i, j reg) {
			v := b.to(b64, "selp.b64", b.f64(0), b.element(i, j).real(0), b.to(pred, "setp.gt.u32", j, i))
			b.storeNarrow(b.tensors[1].t, b.nanWhen(bad, v), b.of(1, i, j))
		})
	}), nil
}

// loadSymmetric has the symmetric part of the matrix, or its elements where it is
// symmetric, in the lower triangle; above it is 0.
func (b *matrixBlock) loadSymmetric(n reg) {
	b.cells(0, n, 0, n, nil, func(i, j reg) {
		x, y := b.loadWide(b.tensors[0].t, b.of(0, i, j)), b.loadWide(b.tensors[0].t, b.of(0, j, i))
		b.unfinite(x, matrixBadX)
		half := b.f64(0.5)
		mean := b.addF64(b.mulF64(x, half), b.mulF64(y, half))
		v := b.to(b64, "selp.b64", x, mean, b.to(pred, "setp.eq.f64", x, y))
		b.element(i, j).setReal(0, b.to(b64, "selp.b64", b.f64(0), v, b.to(pred, "setp.gt.u32", j, i)))
	})
}

// choleskyUpdate takes from the columns of a block what those before it say.
func (b *matrixBlock) choleskyUpdate(first, last, n reg) {
	blocks := b.to(b32, "shr.u32", b.plus(b.minus(n, last), choleskyBlock-1), 6)
	split := b.to(pred, "setp.ge.u32", blocks, choleskySplit)
	end, part := b.reg(b32), b.reg(b32)
	b.cells(first, n, first, end, func(i reg) {
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
func (b *matrixBlock) choleskyDiagonal(first, last reg, leave string) {
	b.turns(first, last, 1, func(j reg) {
		length := b.minus(j, first)
		b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() {
			at := b.element(j, j)
			v := b.subF64(at.real(0), b.dot(b.element(j, first), b.element(j, first), length))
			positive := b.to(pred, "setp.gt.f64", v, b.f64(0))
			b.setWord(matrixInfo, b.constant(b32, 1), b.to(pred, "not.pred", positive))
			at.setReal(0, b.to(b64, "sqrt.rn.f64", v))
		})
		b.barrier()
		b.opIf(b.isSet(matrixInfo), "bra", leave)
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

// choleskyBelow solves for the rows below a block, a thread for each.
func (b *matrixBlock) choleskyBelow(first, last, n reg) {
	b.spread(last, n, func(i reg) {
		b.turns(first, last, 1, func(j reg) {
			at := b.element(i, j)
			v := b.subF64(at.real(0), b.dot(b.element(j, first), b.element(i, first), b.minus(j, first)))
			at.setReal(0, b.to(b64, "div.rn.f64", v, b.element(j, j).real(0)))
		})
	})
}
