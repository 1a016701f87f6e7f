package ptx

import "fmt"

// queryTile is a tile of queries, 64 a group, that walks over blocks of keys: of a kernel
// of attention, or of the gradient of its queries.
type queryTile struct {
	*flash
	block  int // keys of a block: 64 or 128
	lo, hi reg // blocks of the tile
	row0   reg // first query of it
}

func (x *queryTile) shift() string {
	if x.block == 64 {
		return "6"
	}
	return "7"
}

// begin finds the blocks of a tile's keys: one at least.
func (x *queryTile) begin(t flashTile) {
	rows := fmt.Sprint(64 * x.groups)
	x.row0 = x.to(b32, "mul.lo.u32", t.tile, rows)
	to := x.number32(flashSource)
	if x.causal {
		last := x.to(b32, "sub.u32", x.to(b32, "min.u32", x.to(b32, "add.u32", x.row0, rows), x.number32(flashLength)), "1")
		to = x.to(b32, "min.s32", to, x.to(b32, "add.s32", x.placeOf(last), "1"))
	}
	x.lo = x.to(b32, "mov.u32", "0")
	if x.window {
		x.lo = x.to(b32, "shr.s32", x.to(b32, "max.s32", x.firstSeen(x.placeOf(x.row0)), "0"), x.shift())
	}
	x.hi = x.to(b32, "shr.s32", x.to(b32, "add.s32", to, fmt.Sprint(x.block-1)), x.shift())
	x.hi = x.to(b32, "max.s32", x.hi, x.to(b32, "add.s32", x.lo, "1"))
}

// firstSeen is the first key that the window leaves a query at a place.
func (x *flash) firstSeen(place reg) reg {
	return x.to(b32, "add.s32", x.to(b32, "sub.s32", place, x.number32(flashBack)), "1")
}

// flashRows is the two queries of a thread, of a warp's sixteen those of lane/4 and of 8
// behind.
type flashRows struct {
	row      [2]reg
	inside   [2]reg // predicates
	to, from [2]reg // last and first key that they see
}

func (x *queryTile) rows() *flashRows {
	r := &flashRows{}
	last := x.to(b32, "sub.u32", x.number32(flashSource), "1")
	for h := range 2 {
		row := x.to(b32, "mad.lo.u32", x.warp, "16", x.to(b32, "add.u32", x.line, fmt.Sprint(8*h)))
		r.row[h] = x.to(b32, "add.u32", x.row0, x.to(b32, "mad.lo.u32", x.group, "64", row))
		r.inside[h] = x.to(pred, "setp.lt.u32", r.row[h], x.number32(flashLength))
		place := x.placeOf(r.row[h])
		r.to[h] = last
		if x.causal {
			r.to[h] = x.to(b32, "min.s32", last, place)
		}
		if x.window {
			r.from[h] = x.firstSeen(place)
		}
	}
	return r
}

// open returns the blocks from begin to end of which all queries of the group see all keys.
func (x *queryTile) open() (begin, end reg) {
	first := x.to(b32, "mad.lo.u32", x.group, "64", x.row0)
	end = x.to(b32, "shr.u32", x.number32(flashSource), x.shift())
	if x.causal {
		end = x.to(b32, "min.s32", end, x.to(b32, "shr.s32", x.to(b32, "add.s32", x.placeOf(first), "1"), x.shift()))
	}
	begin = x.to(b32, "mov.u32", "0")
	if x.window {
		at := x.firstSeen(x.placeOf(x.to(b32, "add.u32", first, "63")))
		begin = x.to(b32, "shr.s32", x.to(b32, "add.s32", x.to(b32, "max.s32", at, "0"), fmt.Sprint(x.block-1)), x.shift())
	}
	return begin, end
}

// either runs f for a block of which all queries see all keys, or for one of which some may
// not: code for both.
func (x *flash) either(j, begin, end reg, f func(masked bool)) {
	if x.bias == flashFullBias { // which hides what it likes
		f(true)
		return
	}
	hidden, over := x.label(), x.label()
	x.opIf(x.to(pred, "or.pred", x.to(pred, "setp.ge.s32", j, end), x.to(pred, "setp.lt.s32", j, begin)), "bra", hidden)
	f(false)
	x.op("bra", over)
	x.place(hidden)
	f(true)
	x.place(over)
}

// column0 is the number of a thread's first key of block j.
func (x *queryTile) column0(j reg) reg {
	return x.to(b32, "mad.lo.u32", j, fmt.Sprint(x.block), x.to(b32, "shl.b32", x.quad, "1"))
}

// hide gives the scores of hidden keys the value -inf.
func (x *queryTile) hide(s []reg, r *flashRows, j reg) {
	first := x.column0(j)
	for h := range 2 {
		to := x.to(b32, "sub.s32", r.to[h], first)
		var from reg
		if x.window {
			from = x.to(b32, "sub.s32", r.from[h], first)
		}
		for b := range len(s) / 4 {
			for c := range 2 {
				v := s[4*b+2*h+c]
				x.op("selp.b32", v, v, f32MinusInf, x.to(pred, "setp.ge.s32", to, fmt.Sprint(8*b+c)))
				if x.window {
					x.op("selp.b32", v, v, f32MinusInf, x.to(pred, "setp.le.s32", from, fmt.Sprint(8*b+c)))
				}
			}
		}
	}
}

// biased adds the bias, over the factor, to products.
func (x *queryTile) biased(s []reg, t flashTile, r *flashRows, j, over reg) {
	first := x.column0(j)
	for h := range 2 {
		row := x.strided(x.slotReg(slotPointer, 3, 0), flashBiasAt, t.batch, t.head, r.row[h], first)
		for b := range len(s) / 4 {
			for c := range 2 {
				key := x.to(b32, "add.u32", first, fmt.Sprint(8*b+c))
				guard := x.to(pred, "and.pred", r.inside[h], x.to(pred, "setp.lt.u32", key, x.number32(flashSource)))
				at := x.to(b64, "mad.lo.s64", x.number(flashBiasAt+3), x.constant(b64, uint64(8*b+c)), row)
				x.addBias(s[4*b+2*h+c], over, at, guard)
			}
		}
	}
}

// overFactor is log2(e) over the factor, for a bias.
func (x *flash) overFactor() reg {
	if x.bias != flashFullBias {
		return ""
	}
	return x.to(b32, "div.rn.f32", x.to(b32, "mov.b32", f32Log2E), x.number32(flashFactor))
}

// addBias adds a bias, over the factor, to a product: one of 0 changes no bit, and one of
// -inf hides.
func (x *flash) addBias(v, over, at, guard reg) {
	bias := x.loadHalf(at, guard)
	low := x.to(pred, "setp.eq.f32", bias, f32MinusInf)
	x.op("fma.rn.f32", v, bias, over, v)
	x.op("selp.b32", v, f32MinusInf, v, low)
}
