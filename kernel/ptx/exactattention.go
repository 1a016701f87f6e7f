package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/attend/texts"
)

// Attention on ordinary units: the recurrence of package attend to the bit, with its state
// on the chip. A block takes exactTile queries of a head, over blocks of exactTile keys in
// ascending order: keys and values come to shared memory, a thread makes the scores of 8
// queries and 4 keys, the weights go through shared memory, and a thread sums 8 queries and
// 4 columns of each 64. Every sum is one chain in the order of the recurrence, so that no
// bit depends on the tile.

const (
	exactTile    = 64  // queries of a tile, and keys of a block
	exactThreads = 128 // 8 lines of 16: a thread has 8 queries, and 4 keys or columns
	exactWidth   = 128 // of a head at most
	exactPitch   = exactTile + 4
)

// exactForm is one variant of the kernel.
type exactForm struct {
	t      ir.DType
	d, e   int // widths of keys and of values
	causal bool
	window bool
	folded bool // all queries are at one place
	bias   bool
	vector bool // results are stored 16 bytes at a time
}

func (f exactForm) String() string {
	return fmt.Sprintf("%s_%dx%d_%s%s%s%s%s", f.t, f.d, f.e, mark(f.causal), mark(f.window), mark(f.folded), mark(f.bias), mark(f.vector))
}

// columnBlocks is how many blocks of 64 columns the values have.
func (f exactForm) columnBlocks() int { return (f.e + exactTile - 1) / exactTile }

// The numbers of the kernel are those of a flash kernel, and strides in bytes of batch,
// head, line and element of q, k and v.
const (
	exactStrides = flashNumbers
	exactNumbers = exactStrides + 3*4
)

// Where what lies in shared memory. Queries and keys lie transposed; the weights take the
// place of the keys.
func (f exactForm) keysAt() int   { return f.d * exactTile * 4 }
func (f exactForm) valuesAt() int { return f.keysAt() + max(f.d*exactPitch, exactTile*exactTile)*4 }
func (f exactForm) flagAt() int {
	return f.valuesAt() + exactTile*exactTile*f.columnBlocks()*4
}
func (f exactForm) sharedBytes() int { return f.flagAt() + 16 }

var (
	weightText   = elementwiseText(texts.Weight, "x")
	quotientText = elementwiseText(texts.Quotient, "x", "l")
	logSumText   = elementwiseText(texts.LogSum, "m", "l", "n")
)

// planExact plans a node for the kernel; nil if it does not take the node.
func (a *attention) planExact() *Plan {
	f := exactForm{t: a.tensors[0].Type.DType, d: a.d, e: a.e, causal: a.causal, window: a.window > 0, folded: a.folded, bias: len(a.In) > 3}
	if f.t == ir.F64 || a.d > exactWidth || a.e > exactWidth || f.sharedBytes() > a.target.shared() || f.bias && !a.biasStrides(3) {
		return nil
	}
	v := append(numbers(nil), a.numbers[:]...)
	for i := range 3 {
		s, ok := a.linesOf(i, i == 0)
		if !ok {
			return nil
		}
		for _, stride := range s {
			v.add(stride * int64(f.t.Size()))
		}
	}
	result := len(a.In)
	f.vector = f.t == ir.F32 && a.e%4 == 0 && a.plan.first[result]%16 == 0
	a.tiles(a.length, exactTile, a.heads)
	v[flashTiles], v[flashAll] = a.numbers[flashTiles], a.numbers[flashAll]
	a.add("attention_exact_"+f.String(), exactThreads, func(w *asm) { writeExact(w, f) }, int64(a.numbers[flashAll]), 1, 0, v...)
	return a.plan
}

// exactKernel writes a kernel.
type exactKernel struct {
	*asm
	exactForm
	tx, ty reg // place of the thread among 16 by 8
	base   reg // shared memory

	row0        reg   // first query of the tile
	place0      reg   // its place among the keys
	keys        reg   // of the head
	m, l        []reg // of the thread's queries; l is one's, that of the lane
	acc         []reg // sums, by query and column
	biasAt      []reg // by query, at key 0
	rowIn       []reg // the query is one
	k, v        reg   // address of the head's first key and value
	block       reg   // of keys, by number
	first, last reg   // blocks of keys, the last one exclusive
	factor      reg
}

func writeExact(w *asm, f exactForm) {
	x := &exactKernel{asm: w, exactForm: f}
	w.dynamic, w.perSM = f.sharedBytes(), 2
	x.base = w.def(b32, "mov.u32", "dyn")
	x.tx, x.ty = w.def(b32, "and.b32", w.tidHead(), "15"), w.def(b32, "shr.u32", w.tidHead(), "4")
	x.factor = w.def(b32, "mov.b32", w.number32(flashFactor))
	flag := x.at(f.flagAt())
	x.op("st.shared.b32", mem(flag, 0), x.constant(b32, math.MaxUint32))
	(&flash{asm: w}).eachTile(f.causal, func(t flashTile) {
		x.begin(t)
		loop, through := x.label(), x.label()
		x.opIf(x.to(pred, "setp.ge.s32", x.first, x.last), "bra", through)
		x.op("mov.b32", x.block, x.first)
		x.place(loop)
		x.bring(flag)
		s := x.scores()
		factors := x.weigh(s)
		x.sum(flag, factors)
		x.op("add.s32", x.block, x.block, "1")
		x.opIf(x.to(pred, "setp.lt.s32", x.block, x.last), "bra", loop)
		x.place(through)
		x.finish(t)
	})
}

// at is a place in shared memory.
func (x *exactKernel) at(bytes int) reg {
	return x.once(fmt.Sprintf("shared at %d", bytes), func() reg { return x.def(b32, "add.u32", x.base, bytes) })
}

// begin sets the state of a tile, and brings its queries.
func (x *exactKernel) begin(t flashTile) {
	x.row0 = x.to(b32, "shl.b32", t.tile, "6")
	step := func(query reg) reg {
		if x.folded {
			return x.number32(flashShift)
		}
		return x.to(b32, "add.s32", query, x.number32(flashShift))
	}
	x.place0 = step(x.row0)
	x.keys = x.number32(flashSource)
	lastRow := x.to(b32, "min.s32", x.to(b32, "add.s32", x.row0, exactTile-1), x.to(b32, "sub.s32", x.number32(flashLength), "1"))
	x.first, x.last, x.block = x.to(b32, "mov.b32", "0"), x.reg(b32), x.reg(b32)
	x.op("add.s32", x.last, x.keys, exactTile-1)
	if x.causal {
		x.op("min.s32", x.last, x.last, x.to(b32, "add.s32", step(lastRow), exactTile))
	}
	x.op("shr.s32", x.last, x.last, "6")
	if x.window {
		from := x.to(b32, "add.s32", x.to(b32, "sub.s32", x.place0, x.number32(flashBack)), "1")
		x.op("shr.s32", x.first, x.to(b32, "max.s32", from, "0"), "6")
	}
	address := func(tensor, numbers int, head, line reg) reg {
		p := x.to(b64, "mov.b64", x.slotReg(slotPointer, tensor, 0))
		p = x.step(p, t.batch, x.number(numbers))
		p = x.step(p, head, x.number(numbers+1))
		if line == "" {
			return p
		}
		return x.step(p, line, x.number(numbers+2))
	}
	q := address(0, exactStrides, t.head, x.row0)
	x.k, x.v = address(1, exactStrides+4, t.keyHead, ""), address(2, exactStrides+8, t.keyHead, "")
	x.turn(0, exactTile, q, x.to(b32, "sub.s32", x.number32(flashLength), x.row0), exactStrides)
	x.m, x.rowIn, x.biasAt = nil, nil, nil
	for i := range 8 {
		x.m = append(x.m, x.to(b32, "mov.b32", f32MinusInf))
		query := x.to(b32, "add.s32", x.row0, x.to(b32, "mad.lo.u32", x.ty, "8", i))
		x.rowIn = append(x.rowIn, x.to(pred, "setp.lt.s32", query, x.number32(flashLength)))
		if x.bias {
			p := x.step(x.slotReg(slotPointer, 3, 0), t.batch, x.number(flashBiasAt))
			p = x.step(p, t.head, x.number(flashBiasAt+1))
			x.biasAt = append(x.biasAt, x.step(p, query, x.number(flashBiasAt+2)))
		}
	}
	x.l = []reg{x.to(b32, "mov.b32", f32Zero)}
	x.acc = nil
	for range 8 * 4 * x.columnBlocks() {
		x.acc = append(x.acc, x.to(b32, "mov.b32", f32Zero))
	}
}

// load reads an element as f32, 0 where the guard is false.
func (x *exactKernel) load(from, guard reg) reg {
	r := x.loadOne(x.t, from, 0, guard)
	if x.t != ir.F32 {
		r, _ = x.floatToFloat(x.t, ir.F32, r) // halves widen
	}
	return r
}

// turn brings up to exactTile lines of a matrix to shared memory, transposed: the lines
// are so many elements apart there. Those from the count on are 0.
func (x *exactKernel) turn(to, pitch int, from, count reg, strides int) {
	element, line := x.to(b32, "and.b32", x.tidHead(), "7"), x.to(b32, "shr.u32", x.tidHead(), "3")
	step := x.to(b64, "shl.b64", x.number(strides+3), "3")
	for part := range exactTile / 16 {
		at := x.to(b32, "add.u32", line, 16*part)
		inside := x.to(pred, "setp.lt.s32", at, count)
		p := x.step(x.step(from, at, x.number(strides+2)), element, x.number(strides+3))
		place := x.to(b32, "mad.lo.u32", element, 4*pitch, x.to(b32, "mad.lo.u32", at, "4", x.at(to)))
		for k := 0; k < x.d; k += 8 {
			guard, stored := inside, reg("")
			if k+8 > x.d {
				stored = x.to(pred, "setp.lt.u32", element, x.d-k)
				guard = x.to(pred, "and.pred", inside, stored)
			}
			x.opIf(stored, "st.shared.b32", mem(place, int64(4*pitch*k)), x.load(p, guard))
			if k+8 < x.d {
				x.op("add.s64", p, p, step)
			}
		}
	}
}

// bring brings a block of keys and values. The flag becomes the block's number if a value
// is not finite.
func (x *exactKernel) bring(flag reg) {
	x.op("bar.sync", "0") // what lay there has been read
	key := x.to(b32, "shl.b32", x.block, "6")
	count := x.to(b32, "sub.s32", x.keys, key)
	x.turn(x.keysAt(), exactPitch, x.step(x.k, key, x.number(exactStrides+6)), count, exactStrides+4)
	column, line := x.to(b32, "and.b32", x.tidHead(), "31"), x.to(b32, "shr.u32", x.tidHead(), "5")
	width := exactTile * x.columnBlocks()
	place := x.to(b32, "mad.lo.u32", line, 4*width, x.to(b32, "mad.lo.u32", column, "4", x.at(x.valuesAt())))
	infinite := x.constant(b32, 0x7f800000)
	var odd reg
	for c := 0; c < width; c += 32 {
		at := x.to(b32, "add.u32", column, c)
		there := x.to(pred, "setp.lt.u32", at, x.e)
		p := x.step(x.step(x.v, key, x.number(exactStrides+10)), at, x.number(exactStrides+11))
		p = x.step(p, line, x.number(exactStrides+10))
		step := x.to(b64, "shl.b64", x.number(exactStrides+10), "2")
		for j := 0; j < exactTile; j += 4 {
			inside := x.to(pred, "setp.lt.s32", x.to(b32, "add.u32", line, j), count)
			v := x.load(p, x.to(pred, "and.pred", inside, there))
			x.op("st.shared.b32", mem(place, int64(4*(width*j+c))), v)
			not := x.to(pred, "setp.eq.u32", x.to(b32, "and.b32", v, infinite), infinite)
			if odd != "" {
				not = x.to(pred, "or.pred", odd, not)
			}
			odd = not
			if j+4 < exactTile {
				x.op("add.s64", p, p, step)
			}
		}
	}
	x.opIf(odd, "st.shared.b32", mem(flag, 0), x.block)
	x.op("bar.sync", "0")
}

// four reads 4 neighbours in shared memory.
func (x *exactKernel) four(at reg, offset int) []reg {
	r := x.registers(4)
	x.op("ld.shared.v4.b32", group(r), mem(at, int64(offset)))
	return r
}

// scores are those of the thread's queries, by 4 keys, hidden ones -inf.
func (x *exactKernel) scores() (s []reg) {
	for range 8 * 4 {
		s = append(s, x.to(b32, "mov.b32", f32Zero))
	}
	q := x.to(b32, "mad.lo.u32", x.ty, "32", x.at(0))
	k := x.to(b32, "mad.lo.u32", x.tx, "16", x.at(x.keysAt()))
	x.times(x.d, 8, func(i int) {
		left := append(x.four(q, 4*exactTile*i), x.four(q, 4*exactTile*i+16)...)
		right := x.four(k, 4*exactPitch*i)
		for n, a := range left {
			for j, b := range right {
				x.op("fma.rn.f32", s[4*n+j], a, b, s[4*n+j])
			}
		}
	}, func(n int) {
		x.op("add.u32", q, q, 4*exactTile*n)
		x.op("add.u32", k, k, 4*exactPitch*n)
	})
	key := x.to(b32, "mad.lo.u32", x.tx, "4", x.to(b32, "shl.b32", x.block, "6"))
	log2e := x.constant(b32, uint64(math.Float32bits(math.Log2E)))
	low := x.constant(b32, uint64(math.Float32bits(float32(math.Inf(-1)))))
	for i, v := range s {
		x.op("mul.rn.f32", v, v, x.factor)
		if !x.bias {
			continue
		}
		n, j := i/4, i%4
		at := x.to(b32, "add.u32", key, j)
		inside := x.to(pred, "and.pred", x.rowIn[n], x.to(pred, "setp.lt.s32", at, x.keys))
		z := x.load(x.step(x.biasAt[n], at, x.number(flashBiasAt+3)), inside)
		x.op("fma.rn.f32", v, z, log2e, v)
		x.op("selp.b32", v, low, v, x.to(pred, "setp.eq.f32", z, low))
	}
	x.hide(s, key, low)
	return s
}

// times emits n steps of a loop, so many at a time; advance moves on behind them.
func (x *exactKernel) times(n, at int, step func(i int), advance func(n int)) {
	if rounds := n / at; rounds > 1 {
		left := x.to(b32, "mov.b32", rounds)
		loop := x.label()
		x.place(loop)
		for i := range at {
			step(i)
		}
		advance(at)
		x.op("sub.u32", left, left, "1")
		x.opIf(x.to(pred, "setp.ne.u32", left, "0"), "bra", loop)
		n -= rounds * at
	}
	for i := range n {
		step(i)
	}
}

// hide makes the scores of keys -inf that their queries do not see, from a key on. A block
// that all see is left alone.
func (x *exactKernel) hide(s []reg, key, low reg) {
	begin := x.to(b32, "shl.b32", x.block, "6")
	end := x.to(b32, "add.s32", begin, exactTile)
	all := x.to(pred, "setp.le.s32", end, x.keys)
	if x.causal {
		all = x.to(pred, "and.pred", all, x.to(pred, "setp.le.s32", end, x.to(b32, "add.s32", x.place0, "1")))
	}
	if x.window {
		far := x.to(b32, "sub.s32", x.to(b32, "add.s32", x.place0, exactTile-1), begin)
		all = x.to(pred, "and.pred", all, x.to(pred, "setp.lt.s32", far, x.number32(flashBack)))
	}
	seen := x.label()
	x.opIf(all, "bra", seen)
	for i, v := range s {
		n, j := i/4, i%4
		at := x.to(b32, "add.s32", key, j)
		hidden := x.to(pred, "setp.ge.s32", at, x.keys)
		place := x.place0
		if !x.folded {
			place = x.to(b32, "add.s32", place, x.to(b32, "mad.lo.u32", x.ty, "8", n))
		}
		if x.causal {
			hidden = x.to(pred, "or.pred", hidden, x.to(pred, "setp.gt.s32", at, place))
		}
		if x.window {
			hidden = x.to(pred, "or.pred", hidden, x.to(pred, "setp.ge.s32", x.to(b32, "sub.s32", place, at), x.number32(flashBack)))
		}
		x.op("selp.b32", v, low, v, hidden)
	}
	x.place(seen)
}

// weightsAt is the place of the weights of a key for 4 of the thread's queries: those of
// each 8 lanes that store at once lie in different banks.
//
// Weights of a key take 256 bytes, in chunks of 4 queries whose number is mixed with that
// of the key.
func (x *exactKernel) weightsAt(keyBits, chunk reg) reg {
	mixed := x.to(b32, "xor.b32", chunk, keyBits)
	return x.to(b32, "mad.lo.u32", mixed, "16", x.at(x.keysAt()))
}

// weigh makes weights of scores, which go to shared memory, and returns what was summed
// before is multiplied by.
func (x *exactKernel) weigh(s []reg) (factors []reg) {
	var less []reg
	for n := range 8 {
		top := x.to(b32, "max.NaN.f32", x.to(b32, "max.NaN.f32", s[4*n], s[4*n+1]), x.to(b32, "max.NaN.f32", s[4*n+2], s[4*n+3]))
		for _, distance := range []int{1, 2, 4, 8} {
			top = x.to(b32, "max.NaN.f32", top, x.shuffle32(top, distance))
		}
		top = x.to(b32, "max.NaN.f32", x.m[n], top)
		safe := x.to(b32, "selp.b32", f32Zero, top, x.to(pred, "setp.eq.f32", top, f32MinusInf))
		less = append(less, x.to(b32, "sub.rn.f32", x.m[n], safe))
		x.op("mov.b32", x.m[n], top)
		for j := range 4 {
			x.op("sub.rn.f32", s[4*n+j], s[4*n+j], safe)
		}
	}
	factors = x.inline(weightText, less)
	x.op("bar.sync", "0") // the keys have been read
	mix := x.to(b32, "and.b32", x.tx, "7")
	chunk := x.to(b32, "shl.b32", x.ty, "1")
	for h := range 2 {
		at := x.weightsAt(mix, x.to(b32, "add.u32", chunk, h))
		at = x.to(b32, "mad.lo.u32", x.tx, 4*4*exactTile, at)
		for j := range 4 {
			var column []reg
			for n := range 4 {
				column = append(column, s[4*(4*h+n)+j])
			}
			x.op("st.shared.v4.b32", mem(at, int64(4*exactTile*j)), group(x.inline(weightText, column)))
		}
	}
	x.op("bar.sync", "0")
	return factors
}

// own is the one of 8 values that is that of the query whose sum of weights the lane has.
func (x *exactKernel) own(values []reg) reg {
	for bit := 1; len(values) > 1; bit *= 2 {
		odd := x.to(pred, "setp.ne.u32", x.to(b32, "and.b32", x.tx, bit), "0")
		var half []reg
		for i := 0; i < len(values); i += 2 {
			half = append(half, x.to(b32, "selp.b32", values[i+1], values[i], odd))
		}
		values = half
	}
	return values[0]
}

// sum takes a block of values into the sums.
func (x *exactKernel) sum(flag reg, factors []reg) {
	sums := x.registers(len(x.acc))
	total := x.reg(b32)
	guarded, done := x.label(), x.label()
	notFinite := x.reg(b32)
	x.op("ld.shared.b32", notFinite, mem(flag, 0))
	x.opIf(x.to(pred, "setp.eq.u32", notFinite, x.block), "bra", guarded)
	x.chains(sums, total, false)
	x.op("bra", done)
	x.place(guarded)
	x.chains(sums, total, true)
	x.place(done)
	width := 4 * x.columnBlocks()
	for i, a := range x.acc {
		s := x.to(b32, "add.rn.f32", sums[i], f32Zero)
		x.op("fma.rn.f32", a, a, factors[i/width], s)
	}
	x.op("fma.rn.f32", x.l[0], x.l[0], x.own(factors), total)
}

// chains sums weights, and values times weights, over the keys of a block; with guard,
// values of weight 0 count as 0.
func (x *exactKernel) chains(sums []reg, total reg, guard bool) {
	for _, s := range append([]reg{total}, sums...) {
		x.op("mov.b32", s, f32Zero)
	}
	blocks := x.columnBlocks()
	width := 4 * exactTile * blocks
	v := x.to(b32, "mad.lo.u32", x.tx, "16", x.at(x.valuesAt()))
	chunk := x.to(b32, "shl.b32", x.ty, "1")
	query := x.to(b32, "and.b32", x.tx, "3")
	ownChunk := x.to(b32, "add.u32", chunk, x.to(b32, "bfe.u32", x.tx, "2", "1"))
	row := x.to(b32, "mov.b32", "0") // bytes of the keys before
	mix := x.to(b32, "mov.b32", "0")
	left := x.to(b32, "mov.b32", exactTile/4)
	loop := x.label()
	x.place(loop)
	var at [2]reg
	for h := range at {
		at[h] = x.to(b32, "add.u32", x.weightsAt(mix, x.to(b32, "add.u32", chunk, h)), row)
	}
	own := x.to(b32, "add.u32", x.to(b32, "mad.lo.u32", query, "4", x.weightsAt(mix, ownChunk)), row)
	for j := range 4 {
		p := append(x.four(at[0], 4*exactTile*j), x.four(at[1], 4*exactTile*j)...)
		w := x.reg(b32)
		x.op("ld.shared.b32", w, mem(own, int64(4*exactTile*j)))
		x.op("add.rn.f32", total, total, w)
		var values []reg
		for c := range blocks {
			values = append(values, x.four(v, width*j+4*exactTile*c)...)
		}
		for n, weight := range p {
			var none reg
			if guard {
				none = x.to(pred, "setp.eq.f32", weight, f32Zero)
			}
			for i, value := range values {
				if guard {
					value = x.to(b32, "selp.b32", f32Zero, value, none)
				}
				s := sums[4*blocks*n+i]
				x.op("fma.rn.f32", s, weight, value, s)
			}
		}
	}
	x.op("add.u32", row, row, 4*4*exactTile)
	x.op("add.u32", v, v, 4*width)
	x.op("add.u32", mix, mix, "1")
	x.op("and.b32", mix, mix, "7")
	x.op("sub.u32", left, left, "1")
	x.opIf(x.to(pred, "setp.ne.u32", left, "0"), "bra", loop)
}

// finish divides the sums of a tile, and stores the results.
func (x *exactKernel) finish(t flashTile) {
	x.op("bar.sync", "0") // the weights have been read
	room := x.to(b32, "mad.lo.u32", x.ty, "32", x.at(x.keysAt()))
	mine := x.to(pred, "setp.lt.u32", x.tx, "8")
	x.opIf(mine, "st.shared.b32", mem(x.to(b32, "mad.lo.u32", x.tx, "4", room), 0), x.l[0])
	x.op("bar.sync", "0")
	l := append(x.four(room, 0), x.four(room, 16)...)
	first := x.to(b32, "mad.lo.u32", x.ty, "8", x.row0)
	line := x.to(b64, "mul.lo.s64", x.to(b64, "cvt.u64.u32", t.line), x.number(flashLength))
	y := 3
	if x.bias {
		y = 4
	}
	size := x.t.Size()
	at := x.to(b64, "mad.lo.s64", x.to(b64, "add.s64", line, x.to(b64, "cvt.u64.u32", first)), fmt.Sprint(size*x.e), x.slotReg(slotPointer, y, 0))
	at = x.step(at, x.tx, 4*size)
	blocks := x.columnBlocks()
	for n := range 8 {
		for c := range blocks {
			var same []reg
			for range 4 {
				same = append(same, l[n])
			}
			values := x.inline(quotientText, x.acc[4*(blocks*n+c):4*(blocks*n+c)+4], same)
			x.store(values, at, n, c)
		}
	}
	m := x.own(x.m)
	ln2 := x.constant(b32, uint64(math.Float32bits(math.Ln2)))
	lse := x.inline(logSumText, []reg{m}, []reg{x.l[0]}, []reg{ln2})[0]
	query := x.to(b32, "add.u32", first, x.tx)
	inside := x.to(pred, "and.pred", mine, x.to(pred, "setp.lt.u32", query, x.number32(flashLength)))
	stat := x.to(b64, "mad.lo.s64", x.to(b64, "add.s64", line, x.to(b64, "cvt.u64.u32", query)), "4", x.slotReg(slotPointer, y+1, 0))
	x.storeOne(ir.F32, lse, stat, 0, inside)
}

// store stores 4 neighbours of a query's result.
func (x *exactKernel) store(values []reg, at reg, n, c int) {
	size := x.t.Size()
	e := x.e
	offset := int64(size * (e*n + exactTile*c))
	column := x.to(b32, "mad.lo.u32", x.tx, "4", exactTile*c)
	if x.vector {
		inside := x.to(pred, "and.pred", x.rowIn[n], x.to(pred, "setp.lt.u32", column, e))
		x.opIf(inside, "st.global.v4.b32", mem(at, offset), group(values))
		return
	}
	for i, v := range values {
		if x.t != ir.F32 {
			v, _ = x.floatToFloat(ir.F32, x.t, v)
		}
		inside := x.to(pred, "and.pred", x.rowIn[n], x.to(pred, "setp.lt.u32", x.to(b32, "add.u32", column, i), e))
		x.storeOne(x.t, v, at, offset+int64(size*i), inside)
	}
}
