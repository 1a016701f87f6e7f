package ptx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/kernel"
)

// epilogue is what follows a product on matrix units, for sixteen rows of a warp. Of every
// eight columns the four lanes of a quad hold a pair each, of the rows lane/4 and lane/4 + 8.
// Of results of four bytes such pairs are a sector of memory, and stored as they are. Those
// of two bytes are put together by exchanging pairs inside the quad: after that each lane has
// eight columns of every thirty-two, and a quad two sectors; a warp with sixteen columns
// stores its pairs.
//
// Few warps share a multiprocessor, so what a lane computes should not wait for itself. What
// is read for thirty-two columns is on its way before those in front of them are finished,
// pairs do not depend on each other, addresses are those of the row and a constant where
// columns are one axis, and what is the same for a row, or for a column, is computed once.
type epilogue struct {
	*unitEmitter
	n     int  // columns of a tile: a pair or one
	fours bool // there are thirty-two columns, or a multiple: pairs are exchanged
	axis  int  // along which a pair are neighbours, -1 if tiles have one
	refs  []kernel.Ref
	loads []kernel.Ref
	once  []kernel.Ref // values that both rows share, of refs
	args  []int        // that refs read or write
	quad  reg
	own   [2]epilogueRow
	col0  reg // first column of the lane
	out0  reg // and of those that it stores, where pairs are exchanged
	// Columns that there are from these two on, 32 bits.
	left, outLeft reg
}

// epilogueRow is one of a lane's rows. One that lies outside is read like the last, so that
// only what is stored needs a guard.
type epilogueRow struct {
	inside reg
	idx    []reg                // indices of the batch and the row, by axis
	ptr    map[int]reg          // addresses of arguments in the row: at the first column where columns are one axis
	out    map[int]reg          // and where vectors are stored
	vals   map[kernel.Ref][]reg // values that are the same for all columns
}

// epilogueColumns are those of a tile.
type epilogueColumns struct {
	at  int   // from the lane's first column on
	idx []reg // their indices, by axis, where columns are several axes
}

// results computes what follows the product, and stores it: from row `first` of the tile on,
// and a column of the matrix.
func (e *unitEmitter) results(acc []reg, first, col reg) error {
	p := e.newEpilogue(len(acc), first, col)
	for half := range p.own {
		if err := p.enterRow(half, first); err != nil {
			return err
		}
	}
	next, err := p.begin(acc, 0)
	if err != nil {
		return err
	}
	for j := 0; j < len(acc)/4; j += 4 {
		tiles := next
		if j+4 < len(acc)/4 {
			if next, err = p.begin(acc, j+4); err != nil {
				return err
			}
		}
		if err := p.finish(tiles, j); err != nil {
			return err
		}
	}
	return nil
}

func (e *unitEmitter) newEpilogue(sums int, first, col reg) *epilogue {
	p := &epilogue{unitEmitter: e, n: 1, fours: e.pairs && sums%16 == 0, axis: -1, refs: e.upTo(e.stores()...)}
	if e.pairs {
		p.n, p.axis = 2, e.p.cols[len(e.p.cols)-1]
	}
	for _, r := range p.refs {
		switch in := &e.k.Body[r]; in.Op {
		case kernel.OpLoad, kernel.OpStore, kernel.OpGather:
			if !slices.Contains(p.args, int(in.Imm)) {
				p.args = append(p.args, int(in.Imm))
			}
			if in.Op == kernel.OpLoad && !p.rare(r) {
				p.loads = append(p.loads, r)
			}
		}
	}
	across := p.moves(e.p.cols)
	p.once = slices.DeleteFunc(p.unmoved(e.p.rows), func(r kernel.Ref) bool { return !across[r] }) // the others are computed for the row
	p.quad = e.to(b32, "and.b32", e.lane, "3")
	p.col0 = e.to(b64, "add.s64", col, e.to(b64, "mul.wide.u32", p.quad, "2"))
	p.left = p.leftFrom(p.col0)
	if p.fours {
		p.out0 = e.to(b64, "add.s64", col, e.to(b64, "mul.wide.u32", p.quad, "8"))
		p.outLeft = p.leftFrom(p.out0)
	}
	return p
}

// rare reports whether a value belongs to what is computed where it is needed.
func (p *epilogue) rare(r kernel.Ref) bool {
	return slices.ContainsFunc(p.rares, func(b kernel.Rare) bool { return r >= b.From && r < b.To })
}

// moves says of every value whether it changes along some of the axes. What follows the product
// counts as if it did, also where there are no such axes.
func (p *epilogue) moves(axes []int) []bool {
	out := make([]bool, len(p.k.Body))
	out[p.p.dot] = true
	for r := range p.k.Body {
		p.k.Body[r].Operands(func(o kernel.Ref) { out[r] = out[r] || out[o] })
	}
	for _, axis := range axes {
		for r, v := range varies(p.k, axis) {
			out[r] = out[r] || v
		}
	}
	return out
}

// unmoved lists the values that do not change along axes, where it does not matter how often
// they are computed: faults are noted for each element.
func (p *epilogue) unmoved(axes []int) []kernel.Ref {
	if p.k.HasFault() {
		return nil
	}
	moves := p.moves(axes)
	return slices.DeleteFunc(slices.Clone(p.refs), func(r kernel.Ref) bool {
		return p.k.Body[r].Op == kernel.OpStore || p.rare(r) || moves[r]
	})
}

// enterRow finds one of the lane's rows, and computes what is the same along it.
func (p *epilogue) enterRow(half int, first reg) error {
	r := &p.own[half]
	in := p.to(b32, "add.u32", first, p.to(b32, "shr.u32", p.lane, "2"))
	if half > 0 {
		in = p.to(b32, "add.u32", in, "8")
	}
	row := p.to(b64, "add.s64", p.row0, p.to(b64, "cvt.u64.u32", in))
	r.inside = p.to(pred, "setp.lt.s64", row, p.rows)
	row = p.to(b64, "min.s64", row, p.to(b64, "sub.s64", p.rows, "1"))
	r.idx = append([]reg(nil), p.batch...)
	p.decodeWide(row, p.p.rows, r.idx)
	r.ptr, r.out, r.vals = map[int]reg{}, map[int]reg{}, map[kernel.Ref][]reg{}
	for _, arg := range p.args {
		at := p.ptr[arg]
		for axis, i := range r.idx {
			if i != "" && (p.batch[axis] == "" || p.maps > 0) { // else e.ptr has moved along the batch
				at = p.shifted(at, arg, axis, i)
			}
		}
		r.ptr[arg] = at
		if len(p.p.cols) == 1 {
			r.ptr[arg] = p.shifted(at, arg, p.p.cols[0], p.col0)
			if p.exchanged(arg) {
				r.out[arg] = p.shifted(at, arg, p.p.cols[0], p.out0)
			}
		}
	}
	t := p.tile(half, epilogueColumns{idx: r.idx}, 1)
	if err := p.evalTile(p.unmoved(p.p.cols), t); err != nil {
		return err
	}
	for ref, v := range t.vals {
		for range p.n {
			r.vals[ref] = append(r.vals[ref], v[0])
		}
	}
	return nil
}

// exchanged reports whether pairs of an argument are exchanged before they are stored.
func (p *epilogue) exchanged(arg int) bool {
	a := &p.k.Args[arg]
	return p.fours && a.Dir == kernel.Out && a.Type.Size() == 2
}

// leftFrom is how many columns there are from one on, "" if all that are asked about lie inside.
func (p *epilogue) leftFrom(col reg) reg {
	if p.whole {
		return ""
	}
	return p.to(b32, "cvt.u32.u64", p.to(b64, "sub.s64", p.cols, col))
}

// inside is a guard, or none, narrowed to whether there are more than so many columns left.
func (p *epilogue) inside(guard, left reg, at int) reg {
	if left == "" {
		return guard
	}
	there := p.to(pred, "setp.gt.s32", left, fmt.Sprint(at))
	if guard == "" {
		return there
	}
	return p.to(pred, "and.pred", guard, there)
}

// columns are those of a tile so many behind the lane's first one.
func (p *epilogue) columns(at int) epilogueColumns {
	return epilogueColumns{at: at, idx: p.columnAxes(p.col0, at)}
}

// columnAxes are the indices of a column, so many behind another, where columns are several
// axes.
func (p *epilogue) columnAxes(from reg, at int) []reg {
	if len(p.p.cols) == 1 {
		return nil
	}
	idx := make([]reg, len(p.k.Axes))
	p.decodeWide(p.to(b64, "add.s64", from, fmt.Sprint(at)), p.p.cols, idx)
	return idx
}

// address is where a tile has its first element of an argument.
func (p *epilogue) address(half int, c epilogueColumns, arg int) (reg, int64) {
	at := p.own[half].ptr[arg]
	if len(p.p.cols) != 1 {
		for _, axis := range p.p.cols {
			at = p.shifted(at, arg, axis, c.idx[axis])
		}
		return at, 0
	}
	switch a, axis := p.k.Args[arg], p.p.cols[0]; a.Access[axis] {
	case kernel.Unit:
		return at, int64(c.at * a.Type.Size())
	case kernel.Strided:
		if c.at > 0 {
			at = p.to(b64, "mad.lo.s64", p.slotReg(slotStride, arg, axis), fmt.Sprint(c.at), at)
		}
	}
	return at, 0
}

// tile is n elements of a row.
func (p *epilogue) tile(half int, c epilogueColumns, n int) *tile {
	r := &p.own[half]
	t := &tile{n: n, vals: map[kernel.Ref][]reg{}}
	t.address = func(arg int) (reg, int64) { return p.address(half, c, arg) }
	t.load = func(in *kernel.Instr) []reg {
		at, off := t.address(int(in.Imm))
		guard := reg("")
		if moves := p.k.Args[in.Imm].Access; slices.ContainsFunc(p.p.cols, func(axis int) bool { return moves[axis] != kernel.Broadcast }) {
			guard = p.inside("", p.left, c.at)
		}
		if n == 2 && p.k.Args[in.Imm].Access[p.axis] != kernel.Broadcast {
			return p.loadVector(in.Type, n, at, off, guard)
		}
		return slices.Repeat([]reg{p.loadOne(in.Type, at, off, guard)}, n)
	}
	t.index = func(axis, lane int) reg {
		i := r.idx[axis]
		switch {
		case slices.Contains(p.p.cols, axis) && len(p.p.cols) == 1:
			i = p.to(b64, "add.s64", p.col0, fmt.Sprint(c.at))
		case slices.Contains(p.p.cols, axis):
			i = c.idx[axis]
		}
		if i == "" {
			return ""
		}
		i = p.to(b64, "add.s64", p.slotReg(slotStart, axis, 0), i)
		if axis == p.axis && lane > 0 {
			i = p.to(b64, "add.s64", i, fmt.Sprint(lane))
		}
		return i
	}
	return t
}

// epilogueTile is a tile and where it is.
type epilogueTile struct {
	*tile
	half int
	at   int // see epilogueColumns
}

// begin makes the tiles of the four groups of eight columns from the j-th on, and reads what
// they need: tiles of both rows, one behind the other.
func (p *epilogue) begin(acc []reg, j int) ([]epilogueTile, error) {
	var out []epilogueTile
	for q := j; q < min(j+4, len(acc)/4); q++ {
		for lane := 0; lane < 2; lane += p.n {
			c := p.columns(8*q + lane)
			var shared map[kernel.Ref][]reg
			for half := range p.own {
				t := p.tile(half, c, p.n)
				at := 4*q + 2*half + lane
				t.vals[p.p.dot] = acc[at : at+p.n]
				for ref, v := range p.own[half].vals {
					t.vals[ref] = v
				}
				for _, ref := range p.once {
					if v, ok := shared[ref]; ok {
						t.vals[ref] = v
					}
				}
				if err := p.evalTile(p.loads, t); err != nil {
					return nil, err
				}
				shared = t.vals
				out = append(out, epilogueTile{t, half, c.at})
			}
		}
	}
	return out, nil
}

// finish computes the rest of the tiles, and stores it.
func (p *epilogue) finish(tiles []epilogueTile, j int) error {
	var kept [2]map[int][4][]reg // pairs in a word, by argument
	for half := range kept {
		kept[half] = map[int][4][]reg{}
	}
	guarded := p.k.HasFault() || slices.ContainsFunc(p.stores(), func(r kernel.Ref) bool { return !p.exchanged(int(p.k.Body[r].Imm)) })
	for i, t := range tiles {
		half := t.half
		if guarded {
			t.guard = p.inside(p.own[half].inside, p.left, t.at)
		}
		t.store = func(in *kernel.Instr, vals []reg) {
			arg := int(in.Imm)
			if !p.exchanged(arg) {
				at, off := t.address(arg)
				p.storeVector(in.Type, vals, at, off, t.guard)
				return
			}
			k := kept[half][arg]
			k[i/2] = []reg{p.pack(in.Type, vals)}
			kept[half][arg] = k
		}
		if half > 0 {
			for _, ref := range p.once {
				t.vals[ref] = tiles[i-1].vals[ref]
			}
		}
		if err := p.evalTile(p.refs, t.tile); err != nil {
			return err
		}
	}
	if len(kept[0]) > 0 {
		p.storeExchanged(kept, j)
	}
	return nil
}

// storeExchanged stores the pairs of four groups of eight columns, from the j-th on, which
// the lanes of a quad exchange so that each has one group.
func (p *epilogue) storeExchanged(kept [2]map[int][4][]reg, j int) {
	idx := p.columnAxes(p.out0, 8*j)
	for half := range p.own {
		r := &p.own[half]
		guard := p.inside(r.inside, p.outLeft, 8*j)
		for _, ref := range p.stores() {
			arg := int(p.k.Body[ref].Imm)
			if !p.exchanged(arg) {
				continue
			}
			at, off := r.out[arg], int64(2*8*j)
			if len(p.p.cols) != 1 {
				at, off = r.ptr[arg], 0
				for _, axis := range p.p.cols {
					at = p.shifted(at, arg, axis, idx[axis])
				}
			}
			pairs := p.transposeQuad(kept[half][arg], p.quad)
			p.opIf(guard, "st.global.v4.b32", mem(at, off), group(slices.Concat(pairs[:]...)))
		}
	}
}
