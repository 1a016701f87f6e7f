package ptx

import "github.com/sinter-go/sinter/ir"

// stagedLoads is how many accesses of a thread bring x at once.
const stagedLoads = 8

// stage brings the words of x that a chunk of words of codes meets, from a number of word
// on, to shared memory: of each row of x the words of first halves, then those of second
// ones. What lies beyond the end of a row is 0.
func (e *codeDots) stage(start, from reg) {
	unit := max(1, e.staged/4) // words at once
	each := e.chunk * e.roundWords() / unit
	threads, parts := 32*e.warps, e.lines*e.halves()
	several := min(max(1, stagedLoads/parts), (each+threads-1)/threads)
	rows := make([]reg, e.lines)
	for l, line := range e.linesAt {
		rows[l] = e.step(e.operand(dotsX), line, e.number(dotsK))
	}
	at := e.to(b32, "mov.b32", e.tidHead())
	loop, end := e.label(), e.label()
	e.place(loop)
	e.opIf(e.to(pred, "setp.ge.u32", at, each), "bra", end)
	type item struct {
		words  []reg
		offset int64
		guard  reg
	}
	var items []item
	for i := range several {
		n, guard := at, reg("")
		if i > 0 {
			n = e.to(b32, "add.u32", at, i*threads)
		}
		if each%(several*threads) != 0 {
			guard = e.to(pred, "setp.lt.u32", n, each)
		}
		word := e.to(b32, "mad.lo.u32", n, unit, from)
		for h := range e.halves() {
			begin, over := e.meets(word, h)
			for l := range rows {
				items = append(items, item{
					words:  e.elements(rows[l], begin, over, guard),
					offset: int64(l*e.lineBytes() + h*e.halfBytes() + 4*unit*i*threads),
					guard:  guard,
				})
			}
		}
	}
	to := e.to(b32, "mad.lo.u32", at, 4*unit, start)
	for _, m := range items {
		if unit == 4 {
			e.opIf(m.guard, "st.shared.v4.b32", mem(to, m.offset), group(m.words))
		} else {
			e.opIf(m.guard, "st.shared.b32", mem(to, m.offset), m.words[0])
		}
	}
	e.op("add.u32", at, at, several*threads)
	e.op("bra", loop)
	e.place(end)
}

// meets is where in a row of x the elements begin that a word of codes meets in a half, and
// where elements end that its neighbours may meet there.
func (e *codeDots) meets(word reg, half int) (begin, end reg) {
	begin, end = e.to(b32, "shl.b32", word, "2"), e.number32(dotsK)
	switch {
	case e.bits == 8:
	case e.block > 0:
		block := e.to(b32, "div.u32", word, e.block)
		begin = e.to(b32, "mad.lo.u32", block, 4*e.block, begin)
		begin = e.to(b32, "add.u32", begin, 4*e.block*half)
	case half == 0:
		end = e.number32(dotsBytes)
	default:
		begin = e.to(b32, "add.u32", begin, e.number32(dotsBytes))
	}
	return begin, end
}

// elements loads elements of a row of x, where they lie before the end and the guard holds.
func (e *codeDots) elements(row, begin, end, guard reg) []reg {
	at := e.step(row, begin, "1")
	inside := func(i int) reg {
		n := begin
		if i > 0 {
			n = e.to(b32, "add.u32", begin, i)
		}
		p := e.to(pred, "setp.lt.u32", n, end)
		if guard != "" {
			p = e.to(pred, "and.pred", p, guard)
		}
		return p
	}
	if e.staged == 1 {
		return []reg{e.bytesAt(at, 0, inside)}
	}
	return e.loadVector(ir.U32, e.staged/4, at, 0, inside(0))
}
