package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/attend/texts"
)

// Attention on ordinary units: the recurrence of package attend to the bit, with its state
// on the chip. A block takes exactTile lines of one side (the fixed one: queries, or keys for their
// gradients), over blocks of exactTile lines of the other (the moving one) in ascending
// order. They come to shared memory transposed, so that a thread makes the products of 8
// fixed and 4 moving lines; weights go through shared memory, where the moving side was,
// and a thread sums 8 fixed lines and 4 columns of each 64. Every sum is one chain in the
// order of the recurrence, whose blocks are those of 64, so that no bit depends on the tile.

const (
	exactTile    = 64  // lines of a tile, and of a block
	exactThreads = 128 // 8 rows of 16: a thread has 8 fixed lines, and 4 moving ones or columns
	exactWidth   = 128 // of a head at most
	exactPitch   = exactTile + 4
)

// exactForm is one variant of a kernel.
type exactForm struct {
	t      ir.DType
	d, e   int // widths of keys and of values
	causal bool
	window bool
	folded bool // all queries are at one place
	bias   flashBias
	vector bool // results are stored 16 bytes at a time
}

func (f exactForm) String() string {
	return fmt.Sprintf("%s_%dx%d_%s%s%s%s%d", f.t, f.d, f.e, mark(f.causal), mark(f.window), mark(f.folded), mark(f.vector), f.bias)
}

// The numbers of a kernel are those of a flash kernel, and strides in bytes of batch, head,
// line and element of q, k, v and dy.
const exactStrides = flashNumbers

// exactLayout is where what lies in shared memory: both sides transposed, of widths d (a)
// and e (b), the moving one as it is, and words that tell that it is not finite.
type exactLayout struct {
	fixedA, fixedB, movingA, movingB, rowsA, rowsB, flags, bytes int
}

// columnBlocks is how many blocks of 64 columns a width has.
func columnBlocks(width int) int { return (width + exactTile - 1) / exactTile }

// take takes shared memory.
func (l *exactLayout) take(at *int, floats int) {
	*at = l.bytes
	l.bytes += 4 * floats
}

// moving takes that of a moving side, in whose place weights come.
func (l *exactLayout) moving(at *int, width int) {
	l.take(at, max(width*exactPitch, exactTile*exactTile))
}

func (l *exactLayout) rows(at *int, width int) { l.take(at, exactTile*exactTile*columnBlocks(width)) }

// exactKernel writes a kernel.
type exactKernel struct {
	*asm
	exactForm
	exactLayout
	tx, ty reg // place of the thread among 16 by 8
	base   reg // shared memory

	first reg // line of the tile
	block reg // of the moving side, by number
	round reg // how many blocks came: what flags are set to
	// Address of bias for the head, at query and key 0, and its value if it has one.
	biasAt, biasOf reg
}

func newExact(w *asm, f exactForm, l exactLayout) *exactKernel {
	x := &exactKernel{asm: w, exactForm: f, exactLayout: l}
	l.take(&x.flags, 4)
	w.dynamic = l.bytes
	if w.dynamic <= 100<<10 {
		w.perSM = 2
	}
	x.base = w.def(b32, "mov.u32", "dyn")
	x.tx, x.ty = w.def(b32, "and.b32", w.tidHead(), "15"), w.def(b32, "shr.u32", w.tidHead(), "4")
	x.round = x.to(b32, "mov.b32", "0")
	for i := range 2 {
		x.op("st.shared.b32", mem(x.at(x.flags+4*i), 0), x.constant(b32, math.MaxUint32))
	}
	return x
}

// at is a place in shared memory.
func (x *exactKernel) at(bytes int) reg {
	return x.once(fmt.Sprintf("shared at %d", bytes), func() reg { return x.def(b32, "add.u32", x.base, bytes) })
}

// lines is the address of a head's lines, in a tensor with such strides.
func (x *exactKernel) lines(tensor, strides int, batch, head reg) reg {
	p := x.step(x.slotReg(slotPointer, tensor, 0), batch, x.number(strides))
	return x.step(p, head, x.number(strides+1))
}

// load reads an element as f32, 0 where the guard is false.
func (x *exactKernel) load(from, guard reg) reg {
	r := x.loadOne(x.t, from, 0, guard)
	if x.t != ir.F32 {
		r, _ = x.floatToFloat(x.t, ir.F32, r) // halves widen
	}
	return r
}

// bringTurned brings up to exactTile lines of a matrix to shared memory, transposed: the
// lines are so many elements apart there. Those from the count on are 0.
func (x *exactKernel) bringTurned(to, pitch, width int, from, line, count reg, strides int) {
	from = x.step(from, line, x.number(strides+2))
	element, row := x.to(b32, "and.b32", x.tidHead(), "7"), x.to(b32, "shr.u32", x.tidHead(), "3")
	step := x.to(b64, "shl.b64", x.number(strides+3), "3")
	for part := range exactTile / 16 {
		at := x.to(b32, "add.u32", row, 16*part)
		inside := x.to(pred, "setp.lt.s32", at, count)
		p := x.step(x.step(from, at, x.number(strides+2)), element, x.number(strides+3))
		place := x.to(b32, "mad.lo.u32", element, 4*pitch, x.to(b32, "mad.lo.u32", at, "4", x.at(to)))
		for k := 0; k < width; k += 8 {
			guard, stored := inside, reg("")
			if k+8 > width {
				stored = x.to(pred, "setp.lt.u32", element, width-k)
				guard = x.to(pred, "and.pred", inside, stored)
			}
			x.opIf(stored, "st.shared.b32", mem(place, int64(4*pitch*k)), x.load(p, guard))
			if k+8 < width {
				x.op("add.s64", p, p, step)
			}
		}
	}
}

// bringRows brings up to exactTile lines of a matrix to shared memory as they are, those
// from the count on and columns beyond the width 0. The flag is set to the round if an
// element is not finite.
func (x *exactKernel) bringRows(to, width int, from, line, count reg, strides, flag int) {
	from = x.step(from, line, x.number(strides+2))
	column, row := x.to(b32, "and.b32", x.tidHead(), "31"), x.to(b32, "shr.u32", x.tidHead(), "5")
	columns := exactTile * columnBlocks(width)
	place := x.to(b32, "mad.lo.u32", row, 4*columns, x.to(b32, "mad.lo.u32", column, "4", x.at(to)))
	step := x.to(b64, "shl.b64", x.number(strides+2), "2")
	infinite := x.constant(b32, 0x7f800000)
	var odd reg
	for c := 0; c < columns; c += 32 {
		at := x.to(b32, "add.u32", column, c)
		there := x.to(pred, "setp.lt.u32", at, width)
		p := x.step(x.step(from, at, x.number(strides+3)), row, x.number(strides+2))
		for j := 0; j < exactTile; j += 4 {
			inside := x.to(pred, "setp.lt.s32", x.to(b32, "add.u32", row, j), count)
			v := x.load(p, x.to(pred, "and.pred", inside, there))
			x.op("st.shared.b32", mem(place, int64(4*(columns*j+c))), v)
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
	x.opIf(odd, "st.shared.b32", mem(x.at(x.flags+4*flag), 0), x.round)
}

// four reads 4 neighbours in shared memory.
func (x *exactKernel) four(at reg, offset int) []reg {
	r := x.registers(4)
	x.op("ld.shared.v4.b32", group(r), mem(at, int64(offset)))
	return r
}

// zeros are registers of 0.
func (x *exactKernel) zeros(n int) (r []reg) {
	for range n {
		r = append(r, x.to(b32, "mov.b32", f32Zero))
	}
	return r
}

// products are those of the thread's 8 fixed lines, by its 4 moving ones.
func (x *exactKernel) products(fixed, moving, width int) (s []reg) {
	s = x.zeros(8 * 4)
	a := x.to(b32, "mad.lo.u32", x.ty, "32", x.at(fixed))
	b := x.to(b32, "mad.lo.u32", x.tx, "16", x.at(moving))
	x.times(width, 8, func(i int) {
		left := append(x.four(a, 4*exactTile*i), x.four(a, 4*exactTile*i+16)...)
		right := x.four(b, 4*exactPitch*i)
		for n, u := range left {
			for j, v := range right {
				x.op("fma.rn.f32", s[4*n+j], u, v, s[4*n+j])
			}
		}
	}, func(n int) {
		x.op("add.u32", a, a, 4*exactTile*n)
		x.op("add.u32", b, b, 4*exactPitch*n)
	})
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

// beginBias finds that of a head.
func (x *exactKernel) beginBias(batch, head reg) {
	if x.bias == flashNoBias {
		return
	}
	x.biasAt = x.lines(3, flashBiasAt, batch, head)
	if x.bias == flashHeadBias {
		x.biasOf = x.load(x.biasAt, "")
	}
}

// scale makes scores of products, but for what is hidden: queries and keys are the numbers
// of those of each, and inside says that both are.
func (x *exactKernel) scale(s []reg, query, key func(i int) reg, inside func(i int) reg) {
	factor := x.once("factor", func() reg { return x.def(b32, "mov.b32", x.number32(flashFactor)) })
	log2e, low := x.constant(b32, uint64(math.Float32bits(math.Log2E))), x.low()
	for i, v := range s {
		x.op("mul.rn.f32", v, v, factor)
		z := x.biasOf
		switch x.bias {
		case flashNoBias:
			continue
		case flashFullBias:
			p := x.step(x.biasAt, query(i), x.number(flashBiasAt+2))
			z = x.load(x.step(p, key(i), x.number(flashBiasAt+3)), inside(i))
		}
		x.op("fma.rn.f32", v, z, log2e, v)
		x.op("selp.b32", v, low, v, x.to(pred, "setp.eq.f32", z, low))
	}
}

func (x *exactKernel) low() reg {
	return x.constant(b32, uint64(math.Float32bits(float32(math.Inf(-1)))))
}

// placeOf is the place of a query among the keys.
func (x *exactKernel) placeOf(query reg) reg {
	if x.folded {
		return x.number32(flashShift)
	}
	return x.to(b32, "add.s32", query, x.number32(flashShift))
}

// hides makes scores -inf of queries and keys of which one does not see the other, or of a
// moving line that is none, from the count on. A block is left alone of which the places
// and keys at both ends, and the end of the moving side, say that all is seen.
func (x *exactKernel) hides(s []reg, place, key, moving func(i int) reg, firstPlace, lastPlace, firstKey, lastKey, end, count reg) {
	all := x.to(pred, "setp.le.s32", end, count)
	if x.causal {
		all = x.to(pred, "and.pred", all, x.to(pred, "setp.le.s32", lastKey, firstPlace))
	}
	if x.window {
		all = x.to(pred, "and.pred", all, x.to(pred, "setp.lt.s32", x.to(b32, "sub.s32", lastPlace, firstKey), x.number32(flashBack)))
	}
	seen, low := x.label(), x.low()
	x.opIf(all, "bra", seen)
	for i, v := range s {
		hidden := x.to(pred, "setp.ge.s32", moving(i), count)
		if x.causal {
			hidden = x.to(pred, "or.pred", hidden, x.to(pred, "setp.gt.s32", key(i), place(i)))
		}
		if x.window {
			hidden = x.to(pred, "or.pred", hidden, x.to(pred, "setp.ge.s32", x.to(b32, "sub.s32", place(i), key(i)), x.number32(flashBack)))
		}
		x.op("selp.b32", v, low, v, hidden)
	}
	x.place(seen)
}

// weightsAt is the place of the weights of 4 fixed lines, by the number of their chunk, in
// a line of weights. Weights of a moving line take 256 bytes; the number is mixed with
// that of the line, so that those of each 8 lanes that store at once lie in different banks.
func (x *exactKernel) weightsAt(area int, mix, chunk reg) reg {
	return x.to(b32, "mad.lo.u32", x.to(b32, "xor.b32", chunk, mix), "16", x.at(area))
}

// giveWeights stores the thread's weights, by fixed and moving line; made makes those of 4
// fixed lines.
func (x *exactKernel) giveWeights(area int, w []reg, made func([]reg) []reg) {
	mix, chunk := x.to(b32, "and.b32", x.tx, "7"), x.to(b32, "shl.b32", x.ty, "1")
	for h := range 2 {
		at := x.weightsAt(area, mix, x.to(b32, "add.u32", chunk, h))
		at = x.to(b32, "mad.lo.u32", x.tx, 4*4*exactTile, at)
		for j := range 4 {
			column := []reg{w[16*h+j], w[16*h+4+j], w[16*h+8+j], w[16*h+12+j]}
			x.op("st.shared.v4.b32", mem(at, int64(4*exactTile*j)), group(made(column)))
		}
	}
}

// own is the one of 8 values that is that of the fixed line tx mod 8.
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

// sums are those of weights times rows over the moving lines of a block, by fixed line and
// column, + 0; and, if it is asked for, the sum of the weights of the thread's own line.
// Where a row is not finite, weights of 0 take no part.
func (x *exactKernel) sums(area, rows, width, flag int, total reg) []reg {
	s := x.registers(8 * 4 * columnBlocks(width))
	guarded, done := x.label(), x.label()
	odd := x.reg(b32)
	x.op("ld.shared.b32", odd, mem(x.at(x.flags+4*flag), 0))
	x.opIf(x.to(pred, "setp.eq.u32", odd, x.round), "bra", guarded)
	x.chains(s, area, rows, width, total, false)
	x.op("bra", done)
	x.place(guarded)
	x.chains(s, area, rows, width, total, true)
	x.place(done)
	for _, v := range s {
		x.op("add.rn.f32", v, v, f32Zero)
	}
	return s
}

func (x *exactKernel) chains(sums []reg, area, rows, width int, total reg, guard bool) {
	for _, s := range sums {
		x.op("mov.b32", s, f32Zero)
	}
	blocks := columnBlocks(width)
	line := 4 * exactTile * blocks
	v := x.to(b32, "mad.lo.u32", x.tx, "16", x.at(rows))
	chunk := x.to(b32, "shl.b32", x.ty, "1")
	var ownChunk, ownPlace reg
	if total != "" {
		x.op("mov.b32", total, f32Zero)
		ownChunk = x.to(b32, "add.u32", chunk, x.to(b32, "bfe.u32", x.tx, "2", "1"))
		ownPlace = x.to(b32, "and.b32", x.tx, "3")
	}
	before := x.to(b32, "mov.b32", "0") // bytes of the weights of the lines before
	mix := x.to(b32, "mov.b32", "0")
	left := x.to(b32, "mov.b32", exactTile/4)
	loop := x.label()
	x.place(loop)
	var at [2]reg
	for h := range at {
		at[h] = x.to(b32, "add.u32", x.weightsAt(area, mix, x.to(b32, "add.u32", chunk, h)), before)
	}
	var own reg
	if total != "" {
		own = x.to(b32, "add.u32", x.to(b32, "mad.lo.u32", ownPlace, "4", x.weightsAt(area, mix, ownChunk)), before)
	}
	for j := range 4 {
		weights := append(x.four(at[0], 4*exactTile*j), x.four(at[1], 4*exactTile*j)...)
		if total != "" {
			w := x.reg(b32)
			x.op("ld.shared.b32", w, mem(own, int64(4*exactTile*j)))
			x.op("add.rn.f32", total, total, w)
		}
		var values []reg
		for c := range blocks {
			values = append(values, x.four(v, line*j+4*exactTile*c)...)
		}
		for n, w := range weights {
			var none reg
			if guard {
				none = x.to(pred, "setp.eq.f32", w, f32Zero)
			}
			for i, value := range values {
				if guard {
					value = x.to(b32, "selp.b32", f32Zero, value, none)
				}
				s := sums[4*blocks*n+i]
				x.op("fma.rn.f32", s, w, value, s)
			}
		}
	}
	x.op("add.u32", before, before, 4*4*exactTile)
	x.op("add.u32", v, v, 4*line)
	x.op("add.u32", mix, mix, "1")
	x.op("and.b32", mix, mix, "7")
	x.op("sub.u32", left, left, "1")
	x.opIf(x.to(pred, "setp.ne.u32", left, "0"), "bra", loop)
}

// store stores the thread's part of a result that has so many columns, by 8 fixed lines, as
// what made makes of it. lines is how many lines of the result come before those of the head,
// count how many that has.
func (x *exactKernel) store(result, width int, lines, count reg, values []reg, made func(n int, four []reg) []reg) {
	size, blocks := x.t.Size(), columnBlocks(width)
	first := x.to(b32, "mad.lo.u32", x.ty, "8", x.first)
	line := x.to(b64, "add.s64", lines, x.to(b64, "cvt.u64.u32", first))
	at := x.to(b64, "mad.lo.s64", line, size*width, x.slotReg(slotPointer, result, 0))
	at = x.step(at, x.tx, 4*size)
	for n := range 8 {
		inside := x.to(pred, "setp.lt.s32", x.to(b32, "add.s32", first, n), count)
		for c := range blocks {
			offset := int64(size * (width*n + exactTile*c))
			column := x.to(b32, "mad.lo.u32", x.tx, "4", exactTile*c)
			out := made(n, values[4*(blocks*n+c):4*(blocks*n+c)+4])
			if x.vector {
				there := x.to(pred, "and.pred", inside, x.to(pred, "setp.lt.u32", column, width))
				x.opIf(there, "st.global.v4.b32", mem(at, offset), group(out))
				continue
			}
			for i, v := range out {
				if x.t != ir.F32 {
					v, _ = x.floatToFloat(ir.F32, x.t, v)
				}
				there := x.to(pred, "and.pred", inside, x.to(pred, "setp.lt.u32", x.to(b32, "add.u32", column, i), width))
				x.storeOne(x.t, v, at, offset+int64(size*i), there)
			}
		}
	}
}

var (
	weightText   = elementwiseText(texts.Weight, []string{"x"}, []string{"y"})
	quotientText = elementwiseText(texts.Quotient, []string{"x", "l"}, []string{"y"})
	logSumText   = elementwiseText(texts.LogSum, []string{"m", "l", "n"}, []string{"y"})
	gradientText = elementwiseText(texts.Gradient, []string{"x", "lse", "p", "dp", "delta"}, []string{"y", "s"})
	exp2Text     = elementwiseText(ir.Lookup("exp2").Program(ir.F32), []string{"x"}, []string{"y"})
)

// repeatedReg is one register n times.
func repeatedReg(r reg, n int) (out []reg) {
	for range n {
		out = append(out, r)
	}
	return out
}
