package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// fetch makes the tiles, of four neighbours or of one, that a thread brings from an
// operand for the slab that begins at step k.
func (e *tiledEmitter) fetch(s *side, k reg) []*tile {
	var out []*tile
	fours := e.form.depth / 4 // of a line
	for pass := range s.wide * fours / e.form.threads() {
		var step, line reg // of the four, in the slab
		if s.along == alongGroup {
			step = e.to(b32, "shl.b32", e.to(b32, "and.b32", e.tid, fmt.Sprint(fours-1)), "2")
			line = e.to(b32, "add.u32", e.to(b32, "shr.u32", e.tid, fmt.Sprint(bits.TrailingZeros(uint(fours)))), fmt.Sprint(e.form.threads()/fours*pass))
		} else {
			per := s.wide / 4 // threads for a row of the slab
			row := e.to(b32, "div.u32", e.tid, fmt.Sprint(per))
			step = e.to(b32, "add.u32", row, fmt.Sprint(e.form.threads()/per*pass))
			line = e.to(b32, "shl.b32", e.to(b32, "sub.u32", e.tid, e.to(b32, "mul.lo.u32", row, fmt.Sprint(per))), "2")
		}
		kAt := e.to(b64, "add.s64", k, e.to(b64, "cvt.u64.u32", step))
		at := e.to(b64, "add.s64", s.origin, e.to(b64, "cvt.u64.u32", line))
		if s.along != single {
			out = append(out, e.operandTile(s, kAt, at, step, line, 4))
			continue
		}
		for i := range 4 {
			l := line
			if i > 0 {
				l, at = e.to(b32, "add.u32", line, fmt.Sprint(i)), e.to(b64, "add.s64", at, "1")
			}
			out = append(out, e.operandTile(s, kAt, at, step, l, 1))
		}
	}
	return out
}

// operandTile is n elements of an operand: from step kAt of the group, at a row or
// column. What lies outside is 0 in the slab.
func (e *tiledEmitter) operandTile(s *side, kAt, at, step, line reg, n int) *tile {
	t := &tile{n: n, vals: map[kernel.Ref][]reg{}, refs: s.refs}
	t.guard = e.to(pred, "and.pred", e.to(pred, "setp.lt.s64", kAt, e.group), e.to(pred, "setp.lt.s64", at, s.extent))
	idx := append([]reg(nil), e.batch...)
	e.decodeWide(kAt, e.p.reduced, idx)
	e.decodeWide(at, s.axes, idx)
	axis := -1
	switch s.along {
	case alongGroup, kept:
		axis = e.p.reduced[len(e.p.reduced)-1]
	case alongTile:
		axis = s.axes[len(s.axes)-1]
	}
	e.walk(t, idx, axis)
	t.put = func(buffer reg) {
		stride := s.wide + tiledPad
		p := e.to(b32, "mad.lo.u32", e.to(b32, "mad.lo.u32", step, fmt.Sprint(stride), line), fmt.Sprint(e.size), buffer)
		c := classOf(e.t)
		vals := make([]reg, n)
		for i := range vals {
			vals[i] = e.to(c, "selp"+classType[c], e.value(s.value, t, i), e.constant(c, 0), t.guard)
		}
		switch {
		case s.along != alongTile:
			for i, v := range vals {
				e.op("st.shared"+classType[c], mem(p, int64(s.at+i*stride*e.size)), v)
			}
		case e.size == 4:
			e.op("st.shared.v4.b32", mem(p, int64(s.at)), group(vals))
		default:
			e.op("st.shared.v2.b64", mem(p, int64(s.at)), group(vals[:2]))
			e.op("st.shared.v2.b64", mem(p, int64(s.at+16)), group(vals[2:]))
		}
	}
	return t
}

// decodeWide is decode of a 64-bit number; one axis needs no division.
func (e *emitter) decodeWide(linear reg, axes []int, idx []reg) {
	if len(axes) == 1 {
		idx[axes[0]] = linear
		return
	}
	e.decode(e.to(b32, "cvt.u32.u64", linear), axes, idx)
}

// walk gives a tile its addresses and indices: at idx, from there on along an axis.
// Arguments that do not move along the axis are read once.
func (e *tiledEmitter) walk(t *tile, idx []reg, axis int) {
	ptr := map[int]reg{}
	t.address = func(arg int) (reg, int64) {
		if r, ok := ptr[arg]; ok {
			return r, 0
		}
		p := e.ptr[arg]
		for ax, r := range idx {
			if r == "" || e.batch[ax] != "" && e.maps == 0 { // e.ptr has moved along the batch
				continue
			}
			p = e.shifted(p, arg, ax, r)
		}
		ptr[arg] = p
		return p, 0
	}
	t.load = func(in *kernel.Instr) []reg {
		arg := int(in.Imm)
		p, _ := t.address(arg)
		if axis >= 0 && e.k.Args[arg].Access[axis] == kernel.Broadcast {
			r := e.loadOne(in.Type, p, 0, t.guard)
			out := make([]reg, t.n)
			for i := range out {
				out[i] = r
			}
			return out
		}
		return e.loadVector(in.Type, t.n, p, 0, t.guard)
	}
	t.index = func(ax, lane int) reg {
		r := idx[ax]
		if r == "" {
			return ""
		}
		r = e.to(b64, "add.s64", e.slotReg(slotStart, ax, 0), r)
		if ax == axis && lane > 0 {
			r = e.to(b64, "add.s64", r, fmt.Sprint(lane))
		}
		return r
	}
}

// finishTile computes what follows the product, and stores it.
func (e *tiledEmitter) finishTile() error {
	refs := e.upTo(e.stores()...)
	n, axis := 1, -1
	if e.form.out == alongTile {
		n, axis = e.z.vector(), e.p.cols[len(e.p.cols)-1]
	}
	for i := range e.form.rows {
		row := e.to(b64, "add.s64", e.row0, e.to(b64, "cvt.u64.u32", e.line(e.x, i)))
		inside := e.to(pred, "setp.lt.s64", row, e.rows)
		idx := append([]reg(nil), e.batch...)
		e.decodeWide(row, e.p.rows, idx)
		for j := 0; j < e.form.cols; j += n {
			col := e.to(b64, "add.s64", e.col0, e.to(b64, "cvt.u64.u32", e.line(e.z, j)))
			e.decodeWide(col, e.p.cols, idx)
			t := &tile{n: n, vals: map[kernel.Ref][]reg{e.p.dot: e.acc[i][j : j+n]}}
			t.guard = e.to(pred, "and.pred", inside, e.to(pred, "setp.lt.s64", col, e.cols))
			e.walk(t, append([]reg(nil), idx...), axis)
			if err := e.evalTile(refs, t); err != nil {
				return err
			}
		}
	}
	return nil
}
