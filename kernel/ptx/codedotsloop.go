package ptx

import "github.com/sinter-go/sinter/ir"

// codeDots writes a product with codes.
type codeDots struct {
	*asm
	*codeForm

	line, column reg       // numbers of the lane's first row of x, and of codes
	linesAt      []reg     // numbers of all its rows of x
	lane         reg       // among those that share rows
	word         reg       // number in its row of the lane's first word of the round
	left         reg       // bytes from there to the end of the row, signed
	at           []reg     // address of that word, by row of codes
	codes        [][]reg   // words on their way, by step: row by row, the words of each
	values       [2]values // scales and zero points
	x            reg       // where in shared memory the words of x for that word lie
	partials     [][]reg   // by row of x: as codes of a step
}

// values are scales or zero points. Registers are those of the lane's rows of codes, or
// one for all.
type values struct {
	blockForm
	t      ir.DType
	first  []reg   // address of the row's first value
	blocks reg     // bytes from block to block
	ahead  [][]reg // values on their way: by step that reads some, or all there are
	now    []reg   // for the step at hand: the scale as f32, minus the zero point
}

// codeBase is 1.5·2^23 as a float. Below 2^22 an integer added to its bits makes the float
// of the sum, exactly: less that float it is the integer as a float.
const codeBase = 0x4b400000

// emitCodeDots writes the kernel of a form. Lanes beyond the last row do its work again,
// so that all take part in barriers and shuffles.
func emitCodeDots(a *asm, f *codeForm) {
	e := &codeDots{asm: a, codeForm: f}
	a.shared = f.lines * f.lineBytes()
	e.find()
	for s := range f.depth {
		e.readCodes(s, s)
	}
	for i := range e.values {
		e.startValues(&e.values[i], i)
	}
	for range f.lines {
		var p []reg
		for range f.rows() * f.words() {
			p = append(p, a.to(b32, "mov.b32", "0"))
		}
		e.partials = append(e.partials, p)
	}
	e.loop()
	e.deliver()
}

// find tells the lane its rows and its words.
func (e *codeDots) find() {
	tid, lanes := e.tidHead(), codePartials/e.words()
	strip, tile := e.split(e.to(b32, "mov.u32", "%ctaid.x"), e.number32(dotsTiles))
	among := e.to(b32, "div.u32", tid, lanes)
	e.column = e.to(b32, "mad.lo.u32", strip, e.warps*codeWarpRows, e.to(b32, "mul.lo.u32", among, e.rows()))
	e.line = e.to(b32, "mul.lo.u32", tile, e.lines)
	e.lane = e.to(b32, "and.b32", tid, lanes-1)
	e.linesAt = e.upTo(e.line, e.lines, dotsRows)
	e.word = e.to(b32, "mul.lo.u32", e.lane, e.words())
	bytes := e.to(b32, "shl.b32", e.word, "2")
	e.left = e.to(b32, "sub.s32", e.number32(dotsBytes), bytes)
	codes := e.step(e.operand(dotsCodes), bytes, "1")
	for _, c := range e.upTo(e.column, e.rows(), dotsColumns) {
		e.at = append(e.at, e.step(codes, c, e.number(dotsBytes)))
	}
}

// upTo are n numbers from the first on, limited to the last of as many as a parameter says.
func (e *codeDots) upTo(first reg, n, of int) (out []reg) {
	last := e.to(b32, "sub.u32", e.number32(of), "1")
	for i := range n {
		out = append(out, e.to(b32, "min.u32", e.to(b32, "add.u32", first, i), last))
	}
	return out
}

// operand is where x or the codes begin.
func (e *codeDots) operand(i int) reg {
	if e.packed[i] {
		return e.scratchAt(dotsXAt + i)
	}
	return e.slotReg(slotPointer, i, 0)
}

// inside reports whether the lane's words of a step, counted from the round's first one,
// are of the row.
func (e *codeDots) inside(step int) reg {
	return e.to(pred, "setp.gt.s32", e.left, 4*codePartials*step)
}

// refill is the registers of something on its way: the first time they begin with 0, so
// that they are something where nothing comes.
func (e *codeDots) refill(at *[][]reg, place, n int, c class) []reg {
	if place < len(*at) {
		return (*at)[place]
	}
	var made []reg
	for range n {
		made = append(made, e.to(c, "mov"+classType[c], "0"))
	}
	*at = append(*at, made)
	return made
}

// readCodes asks for the words of a step into the registers of another.
func (e *codeDots) readCodes(place, step int) {
	into, inside := e.refill(&e.codes, place, e.rows()*e.words(), b32), e.inside(step)
	for r, at := range e.at {
		offset := int64(4 * codePartials * step)
		switch e.read {
		case codeVectors:
			e.opIf(inside, "ld.global.v4.b32", group(into), mem(at, offset))
		case codeWords:
			e.opIf(inside, "ld.global.b32", into[r], mem(at, offset))
		case codeBytes:
			e.op("mov.b32", into[r], e.bytesAt(at, offset, func(i int) reg {
				return e.to(pred, "setp.gt.s32", e.left, int(offset)+i)
			}))
		}
	}
}

// bytesAt is a word read byte by byte, with 0 for those that are not there.
func (a *asm) bytesAt(base reg, offset int64, inside func(i int) reg) reg {
	var bytes []reg
	for i := range 4 {
		bytes = append(bytes, a.loadOne(ir.U8, base, offset+int64(i), inside(i)))
	}
	return a.pack(ir.U8, bytes)
}

// startValues finds the scales or zero points of the lane's rows, and asks for those of the
// first round.
func (e *codeDots) startValues(v *values, i int) {
	*v = values{blockForm: e.scales, t: e.scale}
	if i > 0 {
		*v = values{blockForm: e.zeros, t: ir.U8}
		if e.signed {
			v.t = ir.I8
		}
	}
	first, row := e.slotReg(slotPointer, dotsScale+i, 0), dotsScaleRow+2*i
	v.first = []reg{first}
	if v.perRow {
		v.first = nil
		for _, c := range e.upTo(e.column, e.rows(), dotsColumns) {
			v.first = append(v.first, e.step(first, c, e.number(row)))
		}
	}
	if !v.perBlock {
		v.ahead = make([][]reg, 1)
		for _, at := range v.first {
			v.ahead[0] = append(v.ahead[0], e.loadOne(v.t, at, 0, ""))
		}
		return
	}
	v.blocks = e.number(row + 1)
	for s := 0; s < e.depth; s += e.every() {
		e.readValues(v, s/e.every(), s)
	}
}

// readValues asks for the values of a step into the registers of a place.
func (e *codeDots) readValues(v *values, place, step int) {
	c, load := loadOf(v.t)
	into, inside := e.refill(&v.ahead, place, len(v.first), c), e.inside(step)
	block := e.to(b32, "div.u32", e.to(b32, "add.u32", e.word, codePartials*step), e.block)
	for r, first := range v.first {
		e.opIf(inside, load, into[r], mem(e.step(first, block, v.blocks), 0))
	}
}

// nextValues takes the values that the step needs, and asks for those of a round later.
func (e *codeDots) nextValues(v *values, step int) {
	if v.perBlock && step%e.every() == 0 {
		place := step / e.every()
		e.take(v, place)
		e.readValues(v, place, step+e.depth)
	}
}

// take waits for values.
func (e *codeDots) take(v *values, place int) {
	v.now = nil
	for _, r := range v.ahead[place] {
		v.now = append(v.now, e.meaning(v, r))
	}
}

// meaning is a value as it is used, in a register of its own.
func (e *codeDots) meaning(v *values, r reg) reg {
	switch v.t {
	case ir.F32:
		return e.to(b32, "mov.b32", r)
	case ir.F16, ir.BF16:
		r, _ = e.floatToFloat(v.t, ir.F32, r) // halves widen
		return r
	}
	return e.to(b32, "sub.s32", "0", r)
}

// loop goes over the rounds, chunk by chunk of x where it has several.
func (e *codeDots) loop() {
	from, left := e.to(b32, "mov.b32", "0"), e.to(b32, "mov.b32", e.number32(dotsRounds))
	start := e.def(b32, "mov.u32", "sm")
	e.x = e.to(b32, "mov.b32", "0")
	chunk, round := e.label(), e.label()
	n := left
	e.place(chunk)
	e.stage(start, from)
	e.op("bar.sync", "0")
	e.op("mad.lo.u32", e.x, e.lane, 4*e.words(), start)
	for i := range e.values {
		if v := &e.values[i]; !v.perBlock { // they have come beside x
			e.take(v, 0)
		}
	}
	if e.chunks {
		n = e.to(b32, "min.u32", left, e.chunk)
		e.op("sub.u32", left, left, n)
	}
	e.place(round)
	for s := range e.depth {
		e.multiply(s)
	}
	for _, at := range e.at {
		e.op("add.s64", at, at, 4*e.roundWords())
	}
	e.op("add.u32", e.x, e.x, 4*e.roundWords())
	e.op("add.u32", e.word, e.word, e.roundWords())
	e.op("sub.s32", e.left, e.left, 4*e.roundWords())
	e.op("sub.u32", n, n, "1")
	e.opIf(e.to(pred, "setp.ne.u32", n, "0"), "bra", round)
	if e.chunks {
		e.op("bar.sync", "0") // all have read the words that others replace
		e.op("add.u32", from, from, e.chunk*e.roundWords())
		e.opIf(e.to(pred, "setp.ne.u32", left, "0"), "bra", chunk)
	}
}

// multiply adds a step to the partials. Sums of words are exact, a partial's own order is
// that of the steps; words that are not there are left out, for a scale need not be finite.
func (e *codeDots) multiply(step int) {
	inside := e.inside(step)
	scales, zeros := &e.values[0], &e.values[1]
	for i := range e.values {
		e.nextValues(&e.values[i], step)
	}
	codes := [][]reg{e.codes[step]}
	if e.bits == 4 {
		codes = [][]reg{nil, nil}
		for _, c := range e.codes[step] {
			const low = 0x0f0f0f0f
			codes[0] = append(codes[0], e.to(b32, "and.b32", c, low))
			codes[1] = append(codes[1], e.to(b32, "and.b32", e.to(b32, "shr.u32", c, "4"), low))
		}
	}
	dot := "dp4a.u32.s32"
	if e.signed {
		dot = "dp4a.s32.s32"
	}
	for l, partials := range e.partials {
		var x [][]reg // by half
		for h := range codes {
			x = append(x, e.loadX(l, h, step))
		}
		for w := range e.words() {
			sum := e.constant(b32, 0)
			for h := range x {
				sum = e.to(b32, "dp4a.s32.s32", x[h][w], e.constant(b32, 0x01010101), sum)
			}
			var none []reg // of each row: what the zero points make of the words, above the base
			for _, z := range zeros.now {
				none = append(none, e.to(b32, "mad.lo.s32", sum, z, e.constant(b32, codeBase)))
			}
			for r := range e.rows() {
				i := r*e.words() + w
				v := none[min(r, len(none)-1)]
				for h := range x {
					v = e.to(b32, dot, codes[h][i], x[h][w], v)
				}
				v = e.to(b32, "sub.rn.f32", v, e.constant(b32, codeBase))
				e.opIf(inside, "fma.rn.f32", partials[i], v, scales.now[min(r, len(scales.now)-1)], partials[i])
			}
		}
	}
	e.readCodes(step, step+e.depth)
}

// loadX loads the words of a row of x that the lane's words of a step meet in a half.
func (e *codeDots) loadX(line, half, step int) []reg {
	at := mem(e.x, int64(line*e.lineBytes()+half*e.halfBytes()+4*codePartials*step))
	if e.words() == 1 {
		return []reg{e.to(b32, "ld.shared.b32", at)}
	}
	x := e.registers(e.words())
	e.op("ld.shared.v4.b32", group(x), at)
	return x
}

// deliver folds the partials of each result by halves, across lanes first. Lanes share
// the results out: of two that have partials of several, each folds and keeps one half.
func (e *codeDots) deliver() {
	var results [][]reg // by row of x and of codes: the words of each
	for _, p := range e.partials {
		for r := range e.rows() {
			results = append(results, append([]reg(nil), p[r*e.words():][:e.words()]...))
		}
	}
	first, idle := e.to(b32, "mov.b32", "0"), e.to(b32, "mov.b32", "0") // number of the first result kept; not 0 if another lane has it
	for distance := codePartials / e.words() / 2; distance > 0; distance /= 2 {
		bit := e.to(b32, "and.b32", e.lane, distance)
		half := len(results) / 2
		if len(results)%2 > 0 {
			idle = e.to(b32, "or.b32", idle, bit)
			e.addAcross(results, results, distance)
			continue
		}
		upper := e.to(pred, "setp.ne.u32", bit, "0")
		kept, given := make([][]reg, half), make([][]reg, half)
		for i := range half {
			for w := range e.words() {
				low, high := results[i][w], results[i+half][w]
				kept[i] = append(kept[i], e.to(b32, "selp.b32", high, low, upper))
				given[i] = append(given[i], e.to(b32, "selp.b32", low, high, upper))
			}
		}
		e.addAcross(kept, given, distance)
		results = kept
		first = e.to(b32, "add.u32", first, e.to(b32, "selp.b32", half, "0", upper))
	}
	mine := e.to(pred, "setp.eq.u32", idle, "0")
	for i, p := range results {
		for n := len(p) / 2; n > 0; n /= 2 {
			for w := range n {
				p[w] = e.to(b32, "add.rn.f32", p[w], p[w+n])
			}
		}
		number := e.to(b32, "add.u32", first, i)
		line := e.to(b32, "add.u32", e.line, e.to(b32, "div.u32", number, e.rows()))
		column := e.to(b32, "add.u32", e.column, e.to(b32, "rem.u32", number, e.rows()))
		there := e.to(pred, "and.pred", mine, e.to(pred, "setp.lt.u32", column, e.number32(dotsColumns)))
		there = e.to(pred, "and.pred", there, e.to(pred, "setp.lt.u32", line, e.number32(dotsRows)))
		at := e.to(b32, "mad.lo.u32", line, e.number32(dotsColumns), column)
		e.storeOne(ir.F32, p[0], e.step(e.slotReg(slotPointer, dotsY, 0), at, "4"), 0, there)
	}
}

// addAcross adds to what a lane keeps what the lane at a distance gives.
func (e *codeDots) addAcross(kept, given [][]reg, distance int) {
	for i, words := range given {
		for w, v := range words {
			kept[i][w] = e.to(b32, "add.rn.f32", kept[i][w], e.shuffle32(v, distance))
		}
	}
}
