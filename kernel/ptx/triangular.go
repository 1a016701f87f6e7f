package ptx

import "fmt"

func init() { asHost("triangular_solve_info", planTriangular) }

// triangle is a system with a triangular matrix: of which side it is, which triangle is
// read, and how.
type triangle struct{ left, upper, transpose, unit bool }

// planTriangular works on the matrix with the right-hand side beside it or, of systems
// y·x = z, below it.
func planTriangular(c *nativeCall) (*Plan, error) {
	m := c.linalgCall(2, 2, 2, 0)
	if m == nil {
		return nil, nil
	}
	s := triangle{c.Attr("left").Bool(), c.Attr("upper").Bool(), c.Attr("transpose").Bool(), c.Attr("unit").Bool()}
	m.name += fmt.Sprintf("_%s%s%s%s", mark(s.left), mark(s.upper), mark(s.transpose), mark(s.unit))
	m.withRight(1)
	rows, pitch := m.order, (m.order+m.width)|1
	if !s.left {
		rows, pitch = m.order+m.height, m.order|1
	}
	if m.planShared(rows*pitch, pitch, func(b *linalgBlock) {
		others := b.number32(s.others())
		b.start()
		s.loadTriangle(b, 0, b.order())
		s.loadRight(b, 0, others)
		b.barrier()
		s.findZero(b)
		b.barrier()
		s.solve(b, b.constant(b32, 0), others)
	}) {
		return c.plan, nil
	}
	n := m.width
	if !s.left {
		n = m.height
	}
	return m.planScratch(rows*pitch, pitch, func(launch linalgLaunch) {
		launch("start", 0, 1, func(b *linalgBlock) { b.start() })
		launch("load", 0, ceil(m.order, triangleRows), func(b *linalgBlock) {
			from, to := b.share(0, b.order(), triangleRows)
			s.loadTriangle(b, from, to)
		})
		share := func(b *linalgBlock) (from, to reg) { return b.share(0, b.number32(s.others()), triangleOthers) }
		launch("load_right", 0, ceil(n, triangleOthers), func(b *linalgBlock) {
			from, to := share(b)
			s.loadRight(b, from, to)
		})
		launch("find_zero", 0, 1, func(b *linalgBlock) { s.findZero(b) })
		launch("solve", 0, ceil(n, triangleOthers), func(b *linalgBlock) {
			from, to := share(b)
			s.solve(b, from, to)
		})
	}), nil
}

// What a block takes of a matrix in scratch memory: of its rows, and of the right-hand
// sides that are solved for by themselves.
const (
	triangleRows   = 32
	triangleOthers = 32
)

// others is the number that says how many right-hand sides there are: columns, or rows of
// systems y·x = z.
func (s triangle) others() int {
	if s.left {
		return linalgWidth
	}
	return linalgHeight
}

// right is where element i of a right-hand side is worked on.
func (s triangle) right(b *linalgBlock, i, other reg) place {
	if s.left {
		return b.element(i, b.plus(b.order(), other))
	}
	return b.element(b.plus(b.order(), other), i)
}

// eachRight runs over the elements of right-hand sides, with their addresses in a tensor.
func (s triangle) eachRight(b *linalgBlock, from any, to reg, tensor int, body func(at reg, p place)) {
	if s.left {
		b.cells(0, b.order(), from, to, nil, func(i, other reg) { body(b.of(tensor, i, other), s.right(b, i, other)) })
		return
	}
	b.cells(from, to, 0, b.order(), nil, func(other, i reg) { body(b.of(tensor, other, i), s.right(b, i, other)) })
}

func (s triangle) loadRight(b *linalgBlock, from any, to reg) {
	s.eachRight(b, from, to, 1, func(at reg, p place) {
		v := b.loadWide(b.tensors[1].t, at)
		b.unfinite(v, linalgBadX)
		p.setReal(0, v)
	})
}

// findZero notes the first 0 of the diagonal.
func (s triangle) findZero(b *linalgBlock) {
	if s.unit {
		return
	}
	b.only(b.to(pred, "setp.eq.u32", b.tidHead(), 0), func() {
		b.downward(b.order(), func(i reg) {
			none := b.to(pred, "setp.eq.f64", b.element(i, i).real(0), b.f64(0))
			b.setWord(linalgInfo, b.plus(i, 1), none)
		})
	})
}

// solve solves for right-hand sides from one up to another, and stores them.
func (s triangle) solve(b *linalgBlock, from, to reg) {
	n := b.order()
	info := b.word(linalgInfo)
	bad := b.to(pred, "or.pred", b.isSet(linalgBadX), b.to(pred, "setp.ne.u32", info, 0))
	b.storeInfo(3, info)
	end := b.label()
	b.opIf(bad, "bra", end)
	switch {
	case !s.left:
		b.spread(from, to, func(i reg) { s.solveRow(b, n, b.element(b.plus(i, n), b.constant(b32, 0))) })
	case s.upper && !s.transpose:
		b.spread(from, to, func(j reg) { b.solveUpper(n, b.plus(n, j), s.unit, nil) })
	default:
		s.solveByRows(b, n, b.plus(n, from), b.plus(n, to))
	}
	b.barrier()
	b.place(end)
	s.eachRight(b, from, to, 2, func(at reg, p place) {
		b.storeNarrow(b.tensors[2].t, b.nanWhen(bad, p.real(0)), at)
	})
}

// loadTriangle copies rows of the matrix; what is not read of it may be anything.
func (s triangle) loadTriangle(b *linalgBlock, from any, to reg) {
	outside := "setp.gt.u32" // the column beside the row
	switch {
	case s.upper && s.unit:
		outside = "setp.le.u32"
	case s.upper:
		outside = "setp.lt.u32"
	case s.unit:
		outside = "setp.ge.u32"
	}
	b.cells(from, to, 0, b.order(), nil, func(i, j reg) {
		v := b.loadWide(b.tensors[0].t, b.of(0, i, j))
		v = b.to(b64, "selp.b64", b.f64(0), v, b.to(pred, outside, j, i))
		b.unfinite(v, linalgBadX)
		b.element(i, j).setReal(0, v)
	})
}

// solveUpper solves for one column with the upper triangle, from the last row on: each
// takes the rows below it in ascending order, so that none may begin before the next one is
// done. each is told of the results, if it is there.
func (b *linalgBlock) solveUpper(n, column reg, unit bool, each func(i, v reg)) {
	b.downward(n, func(i reg) {
		v := b.subtractAll(i, column, b.plus(i, 1), n)
		if !unit {
			v = b.mulF64(b.to(b64, "div.rn.f64", b.f64(1), b.element(i, i).real(0)), v)
		}
		b.element(i, column).setReal(0, v)
		if each != nil {
			each(i, v)
		}
	})
}

// solveByRows takes each row, as soon as it is solved, from those that are not: downward
// with the lower triangle or the transposed upper one, else upward. Right-hand sides are
// columns from a first up to a last.
func (s triangle) solveByRows(b *linalgBlock, n, first, last reg) {
	down := s.upper == s.transpose
	row := func(k reg) {
		if !s.unit {
			inverse := b.to(b64, "div.rn.f64", b.f64(1), b.element(k, k).real(0))
			b.spread(first, last, func(j reg) {
				at := b.element(k, j)
				at.setReal(0, b.mulF64(at.real(0), inverse))
			})
			b.barrier()
		}
		from, to := b.constant(b32, 0), k
		if down {
			from, to = b.plus(k, 1), n
		}
		var factor reg
		b.cells(from, to, first, last, func(i reg) {
			if s.transpose {
				factor = b.element(k, i).real(0)
			} else {
				factor = b.element(i, k).real(0)
			}
		}, func(i, j reg) {
			at := b.element(i, j)
			v := b.to(b64, "mov.b64", at.real(0))
			b.subtract(v, factor, b.element(k, j).real(0))
			at.setReal(0, v)
		})
		b.barrier()
	}
	if down {
		b.turns(0, n, 1, row)
	} else {
		b.downward(n, row)
	}
}

// solveRow solves y·x = z for a row, which begins at a place.
func (s triangle) solveRow(b *linalgBlock, n reg, row place) {
	zero := b.constant(b32, 0)
	number := func(j reg) place { return place{row.sequence, b.move(row, j)} }
	divided := func(v, j reg) reg {
		if s.unit {
			return v
		}
		return b.to(b64, "div.rn.f64", v, b.element(j, j).real(0))
	}
	step := func(j reg) {
		v := number(j).real(0)
		from, length := b.plus(j, 1), b.minus(n, b.plus(j, 1)) // what is beside the diagonal
		if !s.upper {
			from, length = zero, j
		}
		if s.transpose {
			v = b.subF64(v, b.dot(b.element(j, from), number(from), length))
			number(j).setReal(0, divided(v, j))
			return
		}
		b.only(b.to(pred, "setp.neu.f64", v, b.f64(0)), func() {
			v := divided(v, j)
			number(j).setReal(0, v)
			v = b.negF64(v)
			b.turns(from, b.plus(from, length), 1, func(i reg) {
				at := number(i)
				at.setReal(0, b.addF64(at.real(0), b.mulF64(v, b.element(j, i).real(0))))
			})
		})
	}
	if s.upper != s.transpose {
		b.turns(0, n, 1, step)
	} else {
		b.downward(n, step)
	}
}

// move is the address of a number behind a place.
func (b *linalgBlock) move(p place, by reg) reg {
	if p.space == ".shared" {
		return b.to(b32, "mad.lo.u32", by, 8, p.address)
	}
	return b.step(p.address, by, 8)
}
