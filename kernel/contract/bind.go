package contract

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// problem is a contraction bound to a launch. Strides of arguments count elements,
// all other steps bytes. A lane is what a micro-kernel multiplies at once: one element
// of each operand, or several of narrow ones that follow each other along k.
type problem struct {
	*Code
	l       *kernel.Launch
	fault   *kernel.Fault // of the parts; nil if they cannot note any
	ranges  [2]span       // rows and columns: what tiles cover
	ks      span
	loops   span
	extents [2]int64 // rows, columns
	k       int64
	per     int64 // elements of k in a lane
	lanes   int64 // of k, the last filled up with zeros
	chunk   int64 // lanes whose sum begins from +0
	trips   int64 // of the loops
	size    int64 // bytes of a lane, and of a product
	ops     [2]operand
	out     target

	blocking Blocking
	kept     [2]bool           // somebody keeps the side packed, or will
	constant [2]unsafe.Pointer // and where, once it is
	dry      bool              // it is looked at, not run: tables are not made
}

// mode is how an operand reaches the micro-kernels.
type mode uint8

const (
	inPlace mode = iota
	byWalk       // its part writes blocks in the order of micro-kernels
	byCopy       // columns: strips of adjacent columns are copied
	byPick       // columns: strips of every second element are copied
	byTurn       // columns: strips of columns with adjacent ks are transposed
	byBoth       // columns: its part writes adjacent ks, which are transposed
	byFold       // columns: rows of adjacent columns of narrow elements are interleaved
)

// operand is a side bound to a launch.
type operand struct {
	mode mode
	// Of a side that is a load: of the element at the origin, its strides, and the
	// steps from a row or column, and from a k, to the next, if there is one step.
	base       uintptr
	size       int64 // bytes of an element
	strides    []int64
	step, ks   int64
	oneK       bool
	table      []int64 // byCopy: offsets of the ks, if they have no one step; byPick: always
	walk       *walk
	row, kstep int64   // steps of packed rows (columns: strips)
	index      []int64 // step of the number of the operand, by axis of the loops
}

// target is where products go: in place, or to tiles in memory that a part reads.
type target struct {
	place   bool
	base    uintptr
	row     int64
	strides []int64
	walk    *walk
}

// smallWork is the number of products below which the plain code is as fast.
const smallWork = 1 << 12

func tooSmall(l *kernel.Launch) bool {
	work := int64(1)
	for _, e := range l.Extents {
		if work > 1<<40/max(e, 1) {
			work = 1 << 40
		} else {
			work *= e
		}
	}
	return work < smallWork
}

// bind decides how a launch is run; nil means by the plain code.
func (c *Code) bind(l *kernel.Launch) *problem { return c.bindAs(l, [2]bool{}, false) }

// bindAs is bind, with sides that are kept packed: columns even if they could be read
// in place.
func (c *Code) bindAs(l *kernel.Launch, kept [2]bool, dry bool) *problem {
	p := &problem{Code: c, l: l, fault: c.newFault(), size: int64(c.tiles.Size), kept: kept, dry: dry}
	p.ks = newSpan(c.ks, l.Extents)
	p.k = p.ks.size()
	p.per = int64(c.tiles.Per)
	p.lanes = (p.k + p.per - 1) / p.per
	if p.chunk = c.form.chunk / p.per; c.typ.IsInt() {
		p.chunk = intChunk // any order gives the same bits
	}
	outer := slices.Clone(c.loops)
	for i, axes := range [][]int{c.rows, c.cols} {
		s := newSpan(axes, l.Extents)
		cut := p.cut(i, s)
		outer = append(outer, s.axes[:cut]...)
		p.ranges[i] = span{s.axes[cut:], s.extents[cut:]}
		p.extents[i] = p.ranges[i].size()
	}
	p.loops = newSpan(outer, l.Extents)
	p.trips = p.loops.size()
	if p.blocking = p.choice(); kept[1] {
		p.blocking.PackFrom = 0
	}
	if !p.rowOperand() || !p.columnOperand() || !p.target() {
		return nil
	}
	return p
}

// intChunk is how many lanes of integers are summed in one go.
const intChunk = 1024

// wholeTile is how many rows or columns make a tile that is worth a loop.
const wholeTile = 128

// cut returns how many of the outer axes of a span are looped over, rather than
// covered by tiles: those beyond which tiles are large, unless the operand and the
// result walk them as one with the inner ones.
func (p *problem) cut(i int, s span) int {
	n := int64(1)
	for a := len(s.axes) - 1; a >= 0; a-- {
		if n >= wholeTile {
			inner := span{s.axes[a:], s.extents[a:]}
			for _, arg := range []int{p.sides[i].arg, p.direct} {
				one := arg >= 0
				if one {
					_, one = inner.step(p.l.Args[arg].Strides)
				}
				if !one {
					return a + 1
				}
			}
		}
		n *= s.extents[a]
	}
	return 0
}

// apart is a row of packed elements, in bytes, of a length that puts neighbouring
// rows into different sets of the caches.
func (p *problem) apart(n int64) int64 { return ((n*p.size+63)/64 | 1) * 64 }

// begin fills in what both sides have.
func (p *problem) begin(i int) (o *operand, one bool) {
	s := &p.sides[i]
	o = &p.ops[i]
	o.size = int64(s.typ.Size())
	o.index = make([]int64, len(p.loops.axes))
	count := int64(1)
	for j := len(o.index) - 1; j >= 0; j-- {
		if s.varies[p.loops.axes[j]] {
			o.index[j] = count
			count *= p.loops.extents[j]
		}
	}
	if s.arg < 0 {
		return o, false
	}
	a := &p.l.Args[s.arg]
	o.strides = a.Strides
	o.base = uintptr(a.Base) + uintptr(a.Offset*o.size)
	o.step, one = p.ranges[i].step(a.Strides)
	o.ks, o.oneK = p.ks.step(a.Strides)
	o.step, o.ks = o.step*o.size, o.ks*o.size
	return o, one
}

// rowOperand decides how rows are read. Micro-kernels take any two steps.
func (p *problem) rowOperand() bool {
	o, one := p.begin(0)
	whole := p.per == 1 || o.ks == o.size && p.k%p.per == 0 && !p.sides[0].flip
	if one && o.oneK && whole && !p.conflicts(o) {
		o.row, o.kstep = o.step, o.ks*p.per
		return true
	}
	o.mode = byWalk
	o.row, o.kstep = p.apart(p.lanes), p.size
	steps := [2]int64{o.row / o.size, 1}
	if p.sides[0].along {
		rows := p.extents[0]
		if !p.kept[0] {
			rows = min(rows, p.blockRows())
		}
		o.row, o.kstep = p.size, p.apart(rows)
		steps = [2]int64{1, o.kstep / p.size}
	}
	o.walk = p.pack[0].newWalk(p, [2]span{p.ranges[0], p.ks}, steps)
	return o.walk != nil
}

// conflicts reports whether the rows of a tile fall into few sets of the caches, and
// are read often enough for a copy to pay.
func (p *problem) conflicts(o *operand) bool {
	bad := func(step int64) bool { return step != 0 && step%2048 == 0 }
	return p.extents[0] > 4 && p.k >= 64 && p.extents[1] >= 4*int64(p.tiles.Cols) && (bad(o.step) || bad(o.ks))
}

// columnOperand decides how columns are read: micro-kernels take adjacent columns
// with any step of k.
func (p *problem) columnOperand() bool {
	o, one := p.begin(1)
	s := &p.sides[1]
	cols := p.ranges[1]
	if s.arg >= 0 {
		adjacent := func(s span) bool {
			return len(s.axes) == 0 || o.strides[s.axes[len(s.axes)-1]] == 1
		}
		switch {
		case p.per > 1:
			inner := p.k
			if !o.oneK {
				inner = p.ks.extents[len(p.ks.extents)-1]
			}
			switch {
			case adjacent(p.ks) && inner%p.per == 0:
				o.mode = byTurn
			case adjacent(cols) && o.oneK:
				o.mode = byFold
			default:
				o.mode = byBoth
			}
		case one && o.oneK && (o.step == p.size || p.extents[1] == 1) && !p.packingPays():
			o.kstep = o.ks
			return true
		case adjacent(cols):
			if o.mode = byCopy; !o.oneK && !p.dry {
				o.table = p.offsets(o.strides)
			}
		case p.second(cols, o.strides):
			if o.mode = byPick; !p.dry {
				o.table = p.offsets(o.strides)
			}
		case adjacent(p.ks):
			o.mode = byTurn
		default:
			o.mode = byBoth
		}
	} else if o.mode = byBoth; s.along {
		o.mode = byWalk
	}
	o.kstep = int64(p.tiles.Cols) * p.size
	o.row = p.stripRows(p.lanes) * o.kstep
	steps := [2]int64{1, int64(p.tiles.Cols)}
	switch o.mode {
	case byBoth:
		steps = [2]int64{turnRow * p.per, 1}
	case byCopy, byPick, byTurn, byFold:
		return true
	}
	o.walk = p.pack[1].newWalk(p, [2]span{cols, p.ks}, steps)
	return o.walk != nil
}

// second reports whether columns are every second element of f32.
func (p *problem) second(cols span, strides []int64) bool {
	n := len(cols.axes)
	return p.kind == amd64.TileF32 && n > 0 && strides[cols.axes[n-1]] == 2
}

// stripRows is how many rows of lanes a packed strip takes: what turning writes beyond
// its end, and the sums of its columns, come last.
func (p *problem) stripRows(lanes int64) int64 { return lanes + int64(p.panels.Lanes) + 1 }

// turnKs is how many lanes of k of a strip are computed before they are transposed,
// turnRow how far apart its columns are meanwhile.
const (
	turnKs  = 256
	turnRow = turnKs + 16
)

// packingPays reports whether columns that could be read in place are read often
// enough to be packed.
func (p *problem) packingPays() bool { return p.extents[0] >= p.blocking.PackFrom }

// offsets lists where the ks are, in bytes.
func (p *problem) offsets(strides []int64) []int64 {
	out := make([]int64, p.k)
	for i := range out {
		out[i] = p.ks.at(int64(i), strides) * p.size
	}
	return out
}

// target decides where products go.
func (p *problem) target() bool {
	t := &p.out
	if p.direct >= 0 {
		a := &p.l.Args[p.direct]
		row, rows := p.ranges[0].step(a.Strides)
		col, cols := p.ranges[1].step(a.Strides)
		if rows && cols && (col == 1 || p.extents[1] == 1) {
			t.place = true
			t.base, t.row, t.strides = uintptr(a.Base)+uintptr(a.Offset*p.size), row*p.size, a.Strides
			return true
		}
	}
	t.row = p.apart(min(p.extents[1], p.blocking.Strips*int64(p.tiles.Cols)))
	t.walk = p.epilogue.newWalk(p, p.ranges, [2]int64{t.row / p.size, 1})
	return t.walk != nil
}
