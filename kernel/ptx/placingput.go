package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// How placings write their result.

// reading says how vectors of a block are read: whole, by elements, or as one element
// again and again.
type reading uint8

const (
	byVector reading = iota
	byElement
	bySplat
)

func (p *placing) reading(b *block) reading {
	switch {
	case p.width == 1 || b.aligned(p.width):
		return byVector
	case b.inner == 0:
		return bySplat
	}
	return byElement
}

// load reads a vector of a dtype; stride is a number: the bytes between its elements.
func (p *placing) load(a *asm, t ir.DType, r reading, at reg, stride int, guard reg) []reg {
	if r == byVector {
		return a.loadVector(t, int(p.width), at, 0, guard)
	}
	out := make([]reg, p.width)
	for i := range out {
		switch {
		case i == 0:
			out[i] = a.loadOne(t, at, 0, guard)
		case r == bySplat:
			out[i] = out[0]
		default:
			at = a.to(b64, "add.s64", at, a.number(stride))
			out[i] = a.loadOne(t, at, 0, guard)
		}
	}
	return out
}

// The numbers of the kernels of placings. Those of indices follow them.
const (
	putSorted = iota // rows that are sorted, by so many bits
	putKeyBits
	putStride // from one round of the copying threads to the next; how many marks there are
	putItems  // vectors
	putWidths // of a row
	putRows   // extent, of those that are copied, n of those that are folded
	putX      // where the operands lie, if it is in scratch memory
	putXOuter // strides in bytes
	putXRow
	putXInner
	putZ
	putZOuter
	putZRow
	putZInner
	putHit
	putKeys
	putPlaces
	putOuter // bytes of the result's outer blocks and rows
	putRow
	putLongs // where the number of long runs lies, and where they begin
	putLong
	putIndices
)

func (p *placing) numbers(rows int64) numbers {
	v := numbers{}
	size := int64(p.dtype.Size())
	v.add(0, 0, 0, p.outer*rows*(p.inner/p.width), p.inner/p.width, rows)
	for _, b := range []*block{&p.x, &p.z} {
		v.add(b.at, b.outer*size, b.row*size, b.inner*size)
	}
	v.add(p.hit, p.keys, p.places, p.extent*p.inner*size, p.inner*size, p.longs, p.long)
	return v
}

// element is the address of the vector of a block in a row; strides are the numbers from
// putXOuter, putZOuter on.
func (p *placing) element(a *asm, base, outer, row, vector reg, first int) reg {
	if outer != "" {
		base = a.step(base, outer, a.number(first))
	}
	base = a.step(base, row, a.number(first+1))
	if vector != "" {
		base = a.step(base, a.to(b32, "mul.lo.u32", vector, p.width), a.number(first+2))
	}
	return base
}

// to is the address of a vector of the result.
func (p *placing) to(a *asm, outer, row, vector reg) reg {
	at := a.slotReg(slotPointer, p.result, 0)
	if outer != "" {
		at = a.step(at, outer, a.number(putOuter))
	}
	at = a.step(at, row, a.number(putRow))
	if vector != "" {
		at = a.step(at, vector, p.width*int64(p.dtype.Size()))
	}
	return at
}

// decode is what an item stands for: outer block, row and vector, "" where there is one.
func (p *placing) decode(a *asm, item reg) (outer, row, vector reg) {
	row = item
	if p.inner > p.width {
		row, vector = a.split(row, a.number32(putWidths))
	}
	if p.outer > 1 {
		outer, row = a.split(row, a.number32(putRows))
	}
	return outer, row, vector
}

// name tells the variants of what decode, load and element write apart.
func (p *placing) name(what string) string {
	return fmt.Sprintf("%s%dof%d_%s%s%s_x%s%d", what, p.width, p.dtype.Size(), mark(p.outer > 1), mark(p.inner > p.width), mark(p.marks), mark(p.x.packed), p.reading(&p.x))
}

// copied is how many vectors a thread that copies has on the way.
const copied = 4

// copyVectors copies vectors of x, but for those of rows that are marked: the thread's are
// so many apart.
func (p *placing) copyVectors(a *asm, from reg, apart int) {
	type vector struct {
		to    reg
		vals  []reg
		guard reg
	}
	var moved []vector
	t, size := bitsOf(p.dtype.Size()), p.dtype.Size()
	read := p.reading(&p.x)
	for u := range copied {
		item := a.to(b32, "add.u32", from, u*apart)
		guard := a.to(pred, "setp.lt.u32", item, a.number32(putItems))
		outer, row, vec := p.decode(a, item)
		if p.marks {
			hit := a.loadOne(ir.U8, a.step(a.scratchAt(putHit), row, "1"), 0, guard)
			guard = a.to(pred, "and.pred", guard, a.to(pred, "setp.eq.u32", hit, "0"))
		}
		at := p.element(a, a.origin(p.x, putX), outer, row, vec, putXOuter)
		m := vector{to: p.to(a, outer, row, vec), guard: guard}
		if bytes := int(p.width) * size; read == byVector && bytes >= 4 { // whole vectors move as words
			m.vals = a.loadVector(ir.U32, bytes/4, at, 0, guard)
		} else {
			m.vals = p.load(a, t, read, at, putXInner, guard)
		}
		moved = append(moved, m)
	}
	for _, m := range moved {
		stored := t
		if len(m.vals)*size != int(p.width)*size {
			stored = ir.U32
		}
		a.storeVector(stored, m.vals, m.to, 0, m.guard)
	}
}

// folded is the dtype in which rows are folded: those that replace are moved as they are.
func (p *placing) folded() ir.DType {
	if p.mode == ir.PutReplace {
		return bitsOf(p.dtype.Size())
	}
	return p.dtype
}

func (p *placing) foldName(what string) string {
	return fmt.Sprintf("%s_z%s%d_%d_%s", p.name(what), mark(p.z.packed), p.reading(&p.z), p.mode, p.folded())
}

// row loads a vector of the row of z from a place.
func (p *placing) row(a *asm, z, place, guard reg) []reg {
	return p.load(a, p.folded(), p.reading(&p.z), a.step(z, place, a.number(putZRow)), putZInner, guard)
}

// fold combines the rows of each key with the row of x, in order: the threads of its first
// row do, or those of its last if that replaces the others. Long runs of rows of one key
// may be left to others.
func (p *placing) fold() error {
	v := p.numbers(p.n)
	var failed error
	t := p.folded()
	p.add(p.foldName("placed")+mark(p.splits()), moveThreads, func(a *asm) {
		done := a.label()
		item := a.item(moveThreads, a.number32(putItems), done)
		outer, s, vec := p.decode(a, item)
		at := a.step(a.scratchAt(putKeys), s, "4")
		key := a.loadOne(ir.U32, at, 0, "")
		follows := func(n int) reg { // whether the key is that of n rows further, too
			there := a.to(pred, "setp.lt.u32", a.to(b32, "add.u32", s, n), a.number32(putRows))
			k := a.loadOne(ir.U32, at, int64(4*n), there)
			return a.to(pred, "and.pred", there, a.to(pred, "setp.eq.u32", k, key))
		}
		more := follows(1)
		z := p.element(a, a.origin(p.z, putZ), outer, a.constant(b32, 0), vec, putZOuter)
		to := p.to(a, outer, key, vec)
		place := a.loadOne(ir.U32, a.step(a.scratchAt(putPlaces), s, "4"), 0, "")
		if p.mode == ir.PutReplace {
			a.opIf(more, "bra", done)
			a.storeVector(t, p.row(a, z, place, ""), to, 0, "")
			a.place(done)
			return
		}
		notFirst := a.to(pred, "setp.gt.u32", s, "0")
		before := a.loadOne(ir.U32, at, -4, notFirst)
		a.opIf(a.to(pred, "and.pred", notFirst, a.to(pred, "setp.eq.u32", before, key)), "bra", done)
		if p.splits() {
			short := a.label()
			a.opUnless(follows(longRun-1), "bra", short)
			// One of the row's threads tells.
			tells := a.to(pred, "setp.eq.u32", a.to(b32, "rem.u32", item, a.number32(putWidths)), "0")
			if outer != "" {
				tells = a.to(pred, "and.pred", tells, a.to(pred, "setp.eq.u32", outer, "0"))
			}
			a.opUnless(tells, "bra", done)
			number := a.to(b32, "atom.global.add.u32", mem(a.scratchAt(putLongs), 0), "1")
			a.storeOne(ir.U32, s, a.step(a.scratchAt(putLong), number, "4"), 0, "")
			a.op("bra", done)
			a.place(short)
		}
		var sum []reg
		x := p.load(a, t, p.reading(&p.x), p.element(a, a.origin(p.x, putX), outer, key, vec, putXOuter), putXInner, "")
		if sum, failed = p.first(a, x, p.row(a, z, place, "")); failed != nil {
			return
		}
		end := a.label()
		a.opUnless(more, "bra", end)
		p.foldOn(a, sum, a.to(b32, "add.u32", s, "1"), key, z)
		a.place(end)
		a.storeVector(t, sum, to, 0, "")
		a.place(done)
	}, ceil(int64(v[putItems]), moveThreads), 1, 0, v...)
	if failed == nil && p.splits() {
		p.foldLong()
	}
	return failed
}

// first combines a row of x with the first that arrives, into registers that may change.
func (p *placing) first(a *asm, x, row []reg) (sum []reg, err error) {
	for i, r := range row {
		v, err := a.putInto(p.mode, p.folded(), x[i], r)
		if err != nil {
			return nil, err
		}
		sum = append(sum, a.to(classOf(p.folded()), "mov"+bitType(p.folded()), v))
	}
	return sum, nil
}

// foldOn combines the rows from a sorted one on, as far as they have the key. Several are
// on the way at once.
func (p *placing) foldOn(a *asm, sum []reg, from, key, z reg) {
	const each = 8
	t := p.folded()
	keys, places := a.scratchAt(putKeys), a.scratchAt(putPlaces)
	s := a.to(b32, "mov.b32", from)
	last := a.to(b32, "sub.u32", a.number32(putRows), "1")
	loop := a.label()
	a.place(loop)
	var same [each]reg
	var rows [each][]reg
	for j := range rows {
		at := s
		if j > 0 {
			at = a.to(b32, "add.u32", s, j)
		}
		inside := a.to(pred, "setp.le.u32", at, last)
		at = a.to(b32, "min.u32", at, last)
		k := a.loadOne(ir.U32, a.step(keys, at, "4"), 0, "")
		place := a.loadOne(ir.U32, a.step(places, at, "4"), 0, "")
		same[j] = a.to(pred, "and.pred", inside, a.to(pred, "setp.eq.u32", k, key))
		rows[j] = p.row(a, z, place, same[j])
	}
	for j, r := range rows {
		for i := range sum {
			v, _ := a.putInto(p.mode, t, sum[i], r[i]) // it took the first row
			a.op("selp"+bitType(t), sum[i], v, sum[i], same[j])
		}
	}
	a.op("add.u32", s, s, each)
	a.opIf(same[each-1], "bra", loop)
}

// A run of as many rows of one key is long: it is folded by threads that have an element
// each, so that all of longRun rows can be on the way.
const (
	longRun     = 32
	longThreads = 128
	longBlocks  = 8    // of a multiprocessor
	manyRows    = 1024 // from so many on, long runs are worth a kernel
)

// splits reports whether long runs have a kernel of their own.
func (p *placing) splits() bool { return p.mode != ir.PutReplace && p.n >= manyRows }

// forgetLong lets there be no long runs, before any is told of.
func (p *placing) forgetLong(a *asm, first reg) {
	if p.splits() {
		a.storeOne(ir.U32, a.constant(b32, 0), a.scratchAt(putLongs), 0, a.to(pred, "setp.eq.u32", first, "0"))
	}
}

// foldLong folds long runs. Blocks take columns of them by turns.
func (p *placing) foldLong() {
	e := *p // an element is a vector
	e.width = 1
	v := e.numbers(p.n)
	cuts := ceil(p.inner, longThreads)
	blocks := p.target.sms() * longBlocks
	v[putStride] = uint64(blocks)
	v[putWidths] = uint64(cuts)
	v[putItems] = uint64(cuts * p.outer)
	v[putSorted] = uint64(p.inner)
	t := e.folded()
	p.add(e.foldName("placed_long"), longThreads, func(a *asm) {
		a.perSM = longBlocks // else the compiler saves registers, and has few rows on their way
		work := a.to(b32, "mov.u32", "%ctaid.x")
		count := a.to(b32, "mul.lo.u32", a.loadOne(ir.U32, a.scratchAt(putLongs), 0, ""), a.number32(putItems))
		loop, done := a.label(), a.label()
		a.place(loop)
		a.opIf(a.to(pred, "setp.ge.u32", work, count), "bra", done)
		run, rest := a.split(work, a.number32(putItems))
		outer, column := reg(""), reg("")
		cut := rest
		if p.outer > 1 {
			outer, cut = a.split(rest, a.number32(putWidths))
		}
		column = a.to(b32, "mad.lo.u32", cut, longThreads, a.tidHead())
		inside := a.to(pred, "setp.lt.u32", column, a.number32(putSorted))
		// Threads beyond the last column read it again.
		column = a.to(b32, "min.u32", column, a.to(b32, "sub.u32", a.number32(putSorted), "1"))
		if p.inner == 1 {
			column = ""
		}
		begin := a.loadOne(ir.U32, a.step(a.scratchAt(putLong), run, "4"), 0, "")
		key := a.loadOne(ir.U32, a.step(a.scratchAt(putKeys), begin, "4"), 0, "")
		z := e.element(a, a.origin(e.z, putZ), outer, a.constant(b32, 0), column, putZOuter)
		x := e.load(a, t, e.reading(&e.x), e.element(a, a.origin(e.x, putX), outer, key, column, putXOuter), putXInner, "")
		sum := a.to(classOf(t), "mov"+bitType(t), x[0])
		s := a.to(b32, "mov.b32", begin)
		whole, end := a.label(), a.label()
		a.place(whole)
		places := a.step(a.scratchAt(putPlaces), s, "4")
		var rows [longRun]reg
		for j := range rows {
			place := a.loadOne(ir.U32, places, int64(4*j), "")
			rows[j] = e.row(a, z, place, "")[0]
		}
		for _, r := range rows {
			next, _ := a.putInto(p.mode, t, sum, r) // fold has tried it
			a.op("mov"+bitType(t), sum, next)
		}
		a.op("add.u32", s, s, longRun)
		// Whether as many are left: sorted, they are of one key if the last is.
		farthest := a.to(b32, "add.u32", s, longRun-1)
		there := a.to(pred, "setp.lt.u32", farthest, a.number32(putRows))
		k := a.loadOne(ir.U32, a.step(a.scratchAt(putKeys), farthest, "4"), 0, there)
		a.opIf(a.to(pred, "and.pred", there, a.to(pred, "setp.eq.u32", k, key)), "bra", whole)
		there = a.to(pred, "setp.lt.u32", s, a.number32(putRows))
		k = a.loadOne(ir.U32, a.step(a.scratchAt(putKeys), s, "4"), 0, there)
		a.opUnless(a.to(pred, "and.pred", there, a.to(pred, "setp.eq.u32", k, key)), "bra", end)
		e.foldOn(a, []reg{sum}, s, key, z)
		a.place(end)
		a.storeOne(t, sum, e.to(a, outer, key, column), 0, inside)
		a.op("add.u32", work, work, a.number32(putStride))
		a.op("bra", loop)
		a.place(done)
	}, blocks, 1, 0, v...)
}

// putInto combines an element with one that arrives there, rounded to the dtype.
func (a *asm) putInto(mode int, t ir.DType, x, z reg) (reg, error) {
	op := map[int]kernel.Op{ir.PutAdd: kernel.OpAdd, ir.PutMul: kernel.OpMul, ir.PutMax: kernel.OpMax, ir.PutMin: kernel.OpMin}[mode]
	if t != ir.F16 && t != ir.BF16 {
		r, err := a.arith(op, t, x, z)
		if err == nil && t.IsInt() && t.Size() < 4 {
			r = a.narrow(t, r)
		}
		return r, err
	}
	x, err := a.floatToFloat(t, ir.F32, x)
	if err == nil {
		z, err = a.floatToFloat(t, ir.F32, z)
	}
	if err == nil {
		z, err = a.arith(op, ir.F32, x, z)
	}
	if err != nil {
		return "", err
	}
	return a.floatToFloat(ir.F32, t, z)
}
