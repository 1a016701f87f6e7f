package ptx

import "fmt"

// Rows too long for one block are sorted in passes over scratch memory: blocks count the
// digits of their tiles, a scan of the counts says where each block's part of a digit
// begins, and each block moves its tile there.

// passRadix is the form of the blocks of passes.
func passRadix(wide bool) radix { return radix{threads: 256, items: 8, wide: wide} }

// longSort is a sort of rows of n keys in scratch memory, by so many bits.
type longSort struct {
	radix
	rows, n, bits int64
	blocks        int64 // of a row
	keys, places  [2]int64
	counts, sums  int64 // of the blocks' digits, and of the rows'
}

// longSort takes the scratch memory of a sort. The caller fills in keys[0], row behind row.
func (c *nativeCall) longSort(rows, n, bits int64, wide bool) *longSort {
	s := &longSort{radix: passRadix(wide), rows: rows, n: n, bits: bits}
	s.blocks = ceil(n, s.tile())
	for i := range s.keys {
		s.keys[i] = c.room(rows * n * int64(s.keyBytes()))
		s.places[i] = c.room(rows * n * 4)
	}
	s.counts = c.room(rows * digits * s.blocks * 4)
	s.sums = c.room(rows * digits * 4)
	return s
}

// run appends the passes, and returns where sorted keys and places lie. met, if it is not
// nil, takes each key in the first pass: its kernel has a name and numbers of its own, from
// passOwn on.
func (s *longSort) run(c *nativeCall, name string, met func(a *asm, key, inside reg), own ...int64) (keys, places int64) {
	from := 0
	for shift := int64(0); shift < s.bits; shift += digitBits {
		p := numbers{}
		p.add(s.n, s.blocks, shift, s.keys[from], s.places[from], s.keys[1-from], s.places[1-from], s.counts, s.sums)
		p.add(own...)
		count := met
		variant := fmt.Sprintf("digits_%s", s.radix)
		if count != nil && shift == 0 {
			variant += "_" + name
		} else {
			count = nil
		}
		c.add(variant, s.threads, func(a *asm) { emitDigits(a, s.radix, count) }, s.blocks, s.rows, 0, p...)
		c.add("digits_scan", digits, emitDigitScan, digits, s.rows, 0, p...)
		first := shift == 0
		c.add(fmt.Sprintf("move_%s%s", s.radix, mark(first)), s.threads, func(a *asm) { emitMove(a, s.radix, first) }, s.blocks, s.rows, 0, p...)
		from = 1 - from
	}
	return s.keys[from], s.places[from]
}

// The numbers of passes.
const (
	passItems = iota // of a row
	passBlocks
	passShift
	passKeys // where they lie
	passPlaces
	passKeysTo
	passPlacesTo
	passCounts
	passSums
	passOwn
)

// rowAt is the address of the block's row of an array of scratch memory.
func (a *asm) rowAt(array int, bytes int) reg {
	row := a.to(b32, "mov.u32", "%ctaid.y")
	at := a.to(b64, "mul.lo.u64", a.to(b64, "cvt.u64.u32", row), a.number(passItems))
	return a.to(b64, "mad.lo.s64", at, bytes, a.scratchAt(array))
}

// countAt is the address of the count of a digit in the block's row: of a block.
func (a *asm) countAt(digit, block reg) reg {
	row := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.y"), digits, digit)
	at := a.to(b64, "mul.lo.u64", a.to(b64, "cvt.u64.u32", row), a.number(passBlocks))
	return a.step(a.to(b64, "mad.lo.s64", at, "4", a.scratchAt(passCounts)), block, "4")
}

// sumAt is the address of the sum of a digit in the block's row.
func (a *asm) sumAt(digit reg) reg {
	row := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.y"), digits, digit)
	return a.step(a.scratchAt(passSums), row, "4")
}

// tileKeys loads the keys of the block's tile. What is not inside has the key 0.
func (x *radixAsm) tileKeys() (index, inside, keys []reg) {
	block := x.to(b32, "mov.u32", "%ctaid.x")
	from := x.to(b32, "mad.lo.u32", block, fmt.Sprint(x.tile()), x.from)
	row := x.rowAt(passKeys, x.keyBytes())
	for k := range x.items {
		i := x.to(b32, "add.u32", from, 32*k)
		in := x.to(pred, "setp.lt.u32", i, x.number32(passItems))
		index, inside = append(index, i), append(inside, in)
		keys = append(keys, x.loadOne(bitsOf(x.keyBytes()), x.step(row, i, x.keyBytes()), 0, in))
	}
	return index, inside, keys
}

// emitDigits counts the digits of tiles.
func emitDigits(a *asm, f radix, met func(a *asm, key, inside reg)) {
	x := newRadixAsm(a, f, digits*4)
	mine := x.word(x.shared, a.tidHead())
	a.op("st.shared.b32", mem(mine, 0), a.constant(b32, 0))
	_, inside, keys := x.tileKeys()
	a.op("bar.sync", "0")
	for k, key := range keys {
		d := x.digit(key, a.number32(passShift))
		a.opIf(inside[k], "red.shared.add.u32", mem(x.word(x.shared, d), 0), a.constant(b32, 1))
		if met != nil {
			met(a, key, inside[k])
		}
	}
	a.op("bar.sync", "0")
	n := a.to(b32, "ld.shared.b32", mem(mine, 0))
	a.op("st.global.b32", mem(a.countAt(a.tidHead(), a.to(b32, "mov.u32", "%ctaid.x")), 0), n)
}

// emitDigitScan makes the counts of a digit those of the blocks before, and notes their
// sum.
func emitDigitScan(a *asm) {
	a.dynamic = 32 * 4
	sums := a.def(b64, "mov.u64", "dyn")
	digit := a.def(b32, "mov.u32", "%ctaid.x")
	carry := a.to(b32, "mov.b32", "0")
	from := a.to(b32, "mov.b32", "0")
	loop := a.label()
	a.place(loop)
	block := a.to(b32, "add.u32", from, a.tidHead())
	inside := a.to(pred, "setp.lt.u32", block, a.number32(passBlocks))
	at := a.countAt(digit, block)
	n := a.loadOne(bitsOf(4), at, 0, inside)
	before, all := a.scan(sums, n, digits)
	a.storeOne(bitsOf(4), a.to(b32, "add.u32", before, carry), at, 0, inside)
	a.op("add.u32", carry, carry, all)
	a.op("add.u32", from, from, digits)
	a.op("bar.sync", "0") // all have read the sums
	a.opIf(a.to(pred, "setp.lt.u32", from, a.number32(passBlocks)), "bra", loop)
	a.opIf(a.to(pred, "setp.eq.u32", a.tidHead(), "0"), "st.global.b32", mem(a.sumAt(digit), 0), carry)
}

// emitMove moves tiles to where their digits belong. In the first pass places are those
// where the keys lie.
func emitMove(a *asm, f radix, first bool) {
	x := newRadixAsm(a, f, f.counting())
	index, inside, keys := x.tileKeys()
	var places []reg
	row := reg("")
	if !first {
		row = a.rowAt(passPlaces, 4)
	}
	for k, i := range index {
		if first {
			places = append(places, i)
			continue
		}
		places = append(places, a.loadOne(bitsOf(4), x.word(row, i), 0, inside[k]))
	}
	digit := make([]reg, f.items)
	for k := range digit {
		// What is not inside stands behind all, and counts for nothing: it moves nowhere.
		digit[k] = a.to(b32, "selp.b32", x.digit(keys[k], a.number32(passShift)), a.constant(b32, digits-1), inside[k])
	}
	before := x.rank(digit)
	a.op("bar.sync", "0")
	x.overWarps()
	tid := a.tidHead()
	sum := a.to(b32, "ld.global.b32", mem(a.sumAt(tid), 0))
	begin, _ := a.scan(x.shared, sum, digits)
	mine := a.to(b32, "ld.global.b32", mem(a.countAt(tid, a.to(b32, "mov.u32", "%ctaid.x")), 0))
	a.op("st.shared.b32", mem(x.word(x.shared, tid), radixBegins), a.to(b32, "add.u32", begin, mine))
	a.op("bar.sync", "0")
	toKeys, toPlaces := a.rowAt(passKeysTo, f.keyBytes()), a.rowAt(passPlacesTo, 4)
	for k, d := range digit {
		at := a.to(b32, "add.u32", before[k], a.to(b32, "ld.shared.b32", mem(x.word(x.counts, d), 0)))
		at = a.to(b32, "add.u32", at, a.to(b32, "ld.shared.b32", mem(x.word(x.shared, d), radixBegins)))
		a.storeOne(bitsOf(f.keyBytes()), keys[k], a.step(toKeys, at, f.keyBytes()), 0, inside[k])
		a.storeOne(bitsOf(4), places[k], x.word(toPlaces, at), 0, inside[k])
	}
}
