package ptx

import (
	"fmt"
	"math"
)

// Keys are sorted by digits of 8 bits, the last one first, each pass stable: what comes
// with equal keys keeps its order. A key has 32 or 64 bits; it travels with the place
// that it had, of 32 bits.
const (
	digitBits = 8
	digits    = 1 << digitBits
)

// radix is the form of a block that sorts by a digit: item k of lane l of warp w is
// number (w·items + k)·32 + l of the block's.
type radix struct {
	threads, items int
	wide           bool // keys of 64 bits
}

func (f radix) warps() int  { return f.threads / 32 }
func (f radix) tile() int64 { return int64(f.threads) * int64(f.items) }

func (f radix) class() class {
	if f.wide {
		return b64
	}
	return b32
}

func (f radix) keyBytes() int {
	if f.wide {
		return 8
	}
	return 4
}

// The shared memory of a block: sums of warps, where each digit begins, and how often it
// was met by each warp. Of a block that sorts, keys and places on the move lie in the same
// place as those counts.
const (
	radixSums   = 0
	radixBegins = 32 * 4
	radixCounts = radixBegins + digits*4
	radixKeys   = radixCounts
)

func (f radix) counting() int { return radixCounts + f.warps()*digits*4 }
func (f radix) places() int64 { return radixKeys + f.tile()*int64(f.keyBytes()) }
func (f radix) sorting() int  { return max(f.counting(), int(f.places()+f.tile()*4)) }

func (f radix) String() string {
	return fmt.Sprintf("%dx%d%s", f.threads, f.items, mark(f.wide))
}

// radixAsm writes blocks of a form.
type radixAsm struct {
	*asm
	radix
	shared reg // address of the block's shared memory
	counts reg // and of the warp's counts in it
	from   reg // the lane's first item
}

func newRadixAsm(a *asm, f radix, shared int) *radixAsm {
	a.dynamic = shared
	x := &radixAsm{asm: a, radix: f}
	x.shared = a.def(b64, "mov.u64", "dyn")
	warp := a.def(b32, "shr.u32", a.tidHead(), "5")
	x.counts = a.def(b64, "add.s64", a.def(b64, "add.s64", x.shared, radixCounts), a.def(b64, "mul.wide.u32", warp, fmt.Sprint(digits*4)))
	x.from = a.def(b32, "mad.lo.u32", warp, fmt.Sprint(32*f.items), a.laneHead())
	return x
}

// digit is the digit of a key above a number of bits.
func (x *radixAsm) digit(key, shift reg) reg {
	if x.wide {
		key = x.to(b32, "cvt.u32.u64", x.to(b64, "shr.u64", key, shift))
	} else {
		key = x.to(b32, "shr.u32", key, shift)
	}
	return x.to(b32, "and.b32", key, digits-1)
}

// word is the address of a word of shared memory.
func (x *radixAsm) word(base, n reg) reg { return x.step(base, n, "4") }

// rank counts the digits of each warp, and returns how many of each key's digit came before it
// in its warp. Others may read the counts after a barrier.
func (x *radixAsm) rank(digit []reg) []reg {
	first := x.word(x.counts, x.laneHead())
	for i := 0; i < digits; i += 32 {
		x.op("st.shared.b32", mem(first, int64(4*i)), x.constant(b32, 0))
	}
	x.op("bar.warp.sync", "0xffffffff")
	below := x.def(b32, "mov.u32", "%lanemask_lt")
	before := make([]reg, len(digit))
	for k, d := range digit {
		same := x.lanesWith(d)
		mine := x.to(b32, "popc.b32", x.to(b32, "and.b32", same, below))
		at := x.word(x.counts, d)
		had := x.to(b32, "ld.shared.b32", mem(at, 0))
		before[k] = x.to(b32, "add.u32", had, mine)
		x.op("bar.warp.sync", "0xffffffff") // all have read before one writes
		has := x.to(b32, "add.u32", had, x.to(b32, "popc.b32", same))
		x.opIf(x.to(pred, "setp.eq.u32", mine, "0"), "st.shared.b32", mem(at, 0), has)
		x.op("bar.warp.sync", "0xffffffff")
	}
	return before
}

// lanesWith is the lanes of the warp that have a digit, bit by bit: faster than one match
// of them all.
func (x *radixAsm) lanesWith(digit reg) reg {
	same := x.constant(b32, math.MaxUint32)
	for bit := range digitBits {
		has := x.to(pred, "setp.ne.u32", x.to(b32, "and.b32", digit, 1<<bit), "0")
		those := x.to(b32, "vote.sync.ballot.b32", has, "0xffffffff")
		others := x.to(b32, "selp.b32", "0", "0xffffffff", has)
		same = x.to(b32, "and.b32", same, x.to(b32, "xor.b32", those, others))
	}
	return same
}

// each is how many digits a thread has to itself where threads share them.
func (x *radixAsm) each() int { return max(1, digits/x.threads) }

// sharers calls f in as many threads as share the digits.
func (x *radixAsm) sharers(f func()) {
	if x.threads <= digits {
		f()
		return
	}
	skip := x.label()
	x.opIf(x.to(pred, "setp.ge.u32", x.tidHead(), digits), "bra", skip)
	f()
	x.place(skip)
}

// overWarps makes the counts of each digit those of the warps before. A thread's digits
// are taken one behind the other; it returns the sum of all.
func (x *radixAsm) overWarps() reg {
	sum := x.to(b32, "mov.b32", "0")
	first := x.step(x.shared, x.tidHead(), fmt.Sprint(4*x.each()))
	for d := range x.each() {
		for w := 0; w < x.warps(); w += 8 {
			n := min(8, x.warps()-w)
			at := func(i int) string { return mem(first, int64(radixCounts+4*((w+i)*digits+d))) }
			v := make([]reg, n)
			for i := range v {
				v[i] = x.to(b32, "ld.shared.b32", at(i))
			}
			for i := range v {
				x.op("st.shared.b32", at(i), sum)
				x.op("add.u32", sum, sum, v[i])
			}
		}
	}
	return sum
}

// scan returns the sum of the values of the threads before, among the first n, a multiple
// of 32 that is at most 1024, and the sum of all. All threads of the block take part,
// and those that come after get what means nothing.
func (a *asm) scan(sums reg, v reg, n int) (before, all reg) {
	sum := a.to(b32, "mov.b32", v)
	for distance := 1; distance < 32; distance *= 2 {
		other := a.to(b32, "shfl.sync.up.b32", sum, distance, "0", "0xffffffff")
		reached := a.to(pred, "setp.ge.u32", a.laneHead(), distance)
		a.op("add.u32", sum, sum, a.to(b32, "selp.b32", other, "0", reached))
	}
	warp := a.to(b32, "shr.u32", a.tidHead(), "5")
	last := a.to(pred, "setp.eq.u32", a.laneHead(), "31")
	last = a.to(pred, "and.pred", last, a.to(pred, "setp.lt.u32", a.tidHead(), n))
	a.opIf(last, "st.shared.b32", mem(a.step(sums, warp, "4"), 0), sum)
	a.op("bar.sync", "0")
	before = a.to(b32, "sub.u32", sum, v)
	all = a.to(b32, "mov.b32", "0")
	for w := range n / 32 {
		s := a.to(b32, "ld.shared.b32", mem(sums, int64(4*w)))
		a.op("add.u32", before, before, a.to(b32, "selp.b32", s, "0", a.to(pred, "setp.gt.u32", warp, w)))
		a.op("add.u32", all, all, s)
	}
	return before, all
}

// emitBlockSort writes a block that sorts n items, at most its tile, by so many bits. load gives the keys of items, where they are inside;
// put takes what is at a place in the end.
func emitBlockSort(a *asm, f radix, n, bits reg, load func(i, inside []reg) []reg, put func(i, inside, key, place reg)) {
	x := newRadixAsm(a, f, f.sorting())
	word := classType[f.class()]
	places, inside, index := make([]reg, f.items), make([]reg, f.items), make([]reg, f.items)
	for k := range index {
		index[k] = a.to(b32, "add.u32", x.from, 32*k)
		inside[k] = a.to(pred, "setp.lt.u32", index[k], n)
		places[k] = a.to(b32, "mov.b32", index[k])
	}
	keys := load(index, inside)
	// What fills the block up comes last: it has the greatest key, and stands behind.
	rest := a.constant(f.class(), ^uint64(0)>>(64-8*f.keyBytes()))
	for k := range keys {
		keys[k] = a.to(f.class(), "selp"+word, keys[k], rest, inside[k])
	}
	shift := a.to(b32, "mov.b32", "0")
	loop := a.label()
	a.place(loop)
	digit := make([]reg, f.items)
	for k := range digit {
		digit[k] = x.digit(keys[k], shift)
	}
	at := x.rank(digit)
	a.op("bar.sync", "0")
	sum := a.to(b32, "mov.b32", "0")
	x.sharers(func() { a.op("mov.b32", sum, x.overWarps()) })
	begin, _ := a.scan(x.shared, sum, min(f.threads, digits))
	x.sharers(func() { a.op("st.shared.b32", mem(x.word(x.shared, a.tidHead()), radixBegins), begin) })
	a.op("bar.sync", "0")
	for k, d := range digit {
		owner := d
		if x.each() > 1 {
			owner = a.to(b32, "div.u32", d, x.each())
		}
		at[k] = a.to(b32, "add.u32", at[k], a.to(b32, "ld.shared.b32", mem(x.word(x.counts, d), 0)))
		at[k] = a.to(b32, "add.u32", at[k], a.to(b32, "ld.shared.b32", mem(x.word(x.shared, owner), radixBegins)))
	}
	a.op("bar.sync", "0") // the counts are read
	for k := range at {
		a.op("st.shared"+word, mem(a.step(x.shared, at[k], f.keyBytes()), radixKeys), keys[k])
		a.op("st.shared.b32", mem(x.word(x.shared, at[k]), f.places()), places[k])
	}
	a.op("bar.sync", "0")
	for k := range keys {
		a.op("ld.shared"+word, keys[k], mem(a.step(x.shared, index[k], f.keyBytes()), radixKeys))
		a.op("ld.shared.b32", places[k], mem(x.word(x.shared, index[k]), f.places()))
	}
	a.op("bar.sync", "0") // keys and places are read
	a.op("add.u32", shift, shift, digitBits)
	a.opIf(a.to(pred, "setp.lt.u32", shift, bits), "bra", loop)
	for k := range keys {
		put(index[k], inside[k], keys[k], places[k])
	}
}

// blockRadix is the form of a block that sorts n items, at most largestSort. Warps have
// few items each only where there are few: each counts all digits.
func blockRadix(n int64, wide bool) radix {
	f := radix{threads: 64, items: 1, wide: wide}
	for f.items < 4 && f.tile() < n {
		f.items *= 2
	}
	for f.threads < 1024 && f.tile() < n {
		f.threads *= 2
	}
	for f.tile() < n {
		f.items *= 2
	}
	return f
}

// largestSort is how many items one block sorts.
const largestSort = 8192
