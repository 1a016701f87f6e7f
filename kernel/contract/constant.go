package contract

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Constant is an operand that would be packed for good: weights, which many launches
// read. Launches with equal keys read the same packed bytes, whatever kernel they have,
// and whatever the extent of the other side, as long as the argument's memory holds the
// same.
type Constant struct {
	Side  int   // 0 for rows, 1 for columns
	Arg   int   // the argument
	Bytes int64 // packed
	Key   ConstantKey
}

// ConstantKey says how an argument is packed. Keys are comparable.
type ConstantKey struct {
	side   int
	level  amd64.Level
	kind   amd64.TileKind
	typ    ir.DType // of the argument
	sums   bool     // those of the columns come with it
	source string   // what is computed from the argument, "" if it is packed as it is
	offset int64
	axes   [kernel.MaxAxes + 3][2]int64 // extents and strides of ks, the side and loops, each with an end
}

// constantMin is the least size that is worth keeping, in bytes.
const constantMin = 16 << 10

// Constants returns the operands of a launch, by side, that are worth keeping packed;
// one that is not has no bytes.
func (c *Code) Constants(l *kernel.Launch) (ks [2]Constant) {
	if c.single[0] < 0 && c.single[1] < 0 || tooSmall(l) || c.slide(l) != nil {
		return ks
	}
	p := c.bindAs(l, [2]bool{}, true)
	if p == nil {
		return ks
	}
	for side := range ks {
		if c.single[side] < 0 || !p.keepingPays(side) {
			continue
		}
		q := p
		// Columns that were read in place are packed when they are kept, and where a
		// step of k spans rows, it spans all of them.
		if side == 1 && p.ops[1].mode == inPlace || side == 0 && c.sides[0].along {
			var kept [2]bool
			kept[side] = true
			if q = c.bindAs(l, kept, true); q == nil {
				continue
			}
		}
		if k := q.asConstant(side); k.Bytes >= constantMin {
			ks[side] = k
		}
	}
	return ks
}

// asConstant describes an operand as it is packed when it is kept.
func (p *problem) asConstant(side int) Constant {
	k := Constant{Side: side, Arg: p.single[side], Bytes: p.slotBytes(side, p.extents[side]) * p.packedCount(side)}
	a := &p.l.Args[k.Arg]
	k.Key = ConstantKey{side: side, level: p.level, kind: p.kind, typ: p.Code.k.Args[k.Arg].Type, sums: p.sides[0].flip, offset: a.Offset}
	if p.sides[side].arg < 0 {
		k.Key.source = p.source[side]()
	}
	n := 0
	for i, of := range []span{p.ks, p.ranges[side], p.loops} {
		for j, axis := range of.axes {
			if i < 2 || p.ops[side].index[j] != 0 {
				k.Key.axes[n] = [2]int64{of.extents[j], a.Strides[axis]}
				n++
			}
		}
		n++
	}
	return k
}

// keepingPays reports whether a side that is kept packed saves more than it takes:
// columns that are packed, or read in place from far apart; rows that are packed, but
// for those that come with sums, which are the other side's.
func (p *problem) keepingPays(side int) bool {
	if side == 0 {
		return p.ops[0].mode != inPlace && !p.sides[1].flip
	}
	return p.ops[1].mode != inPlace || p.extents[0] >= 2 && p.extents[1]*p.k*p.size >= 1<<20
}

// singleOf returns the one argument that an operand is computed from, by its elements
// alone; -1 if there is more to it.
func singleOf(p *part) int {
	d := p.derived
	if len(d.Args) != 1 || len(d.Extents) > 0 || d.K.HasFault() {
		return -1
	}
	for i := range d.K.Body {
		if op := d.K.Body[i].Op; op == kernel.OpParam || op == kernel.OpIndex {
			return -1
		}
	}
	return d.Args[0]
}

// sourceOf names what is computed from the argument.
func sourceOf(p *part) string {
	k := *p.K
	k.Name, k.Params = "", nil
	return string(k.AppendWire(nil))
}

// packedCount is how many different packed operands the loops meet on a side.
func (p *problem) packedCount(side int) int64 {
	n := int64(1)
	for i, e := range p.loops.extents {
		if p.ops[side].index[i] != 0 {
			n *= e
		}
	}
	return n
}

// PackConstant returns the work of packing the constant on a side of a launch to memory
// of its size, aligned to a cache line.
func (c *Code) PackConstant(l *kernel.Launch, side int, to unsafe.Pointer) *kernel.Work {
	var kept [2]bool
	kept[side] = true
	p := c.bindAs(l, kept, false)
	p.constant[side] = to
	r := &round{problem: p, to: p.trips, rows: [2]int64{0, p.extents[0]}, cols: [2]int64{0, p.extents[1]}}
	r.place(side, nil, p.extents[side], p.trips)
	r.divide(1)
	w := &kernel.Work{}
	r.packing(w, side == 0, side == 1)
	return w
}

// Packed is the code of a contraction for launches whose constants are packed at some
// place. It has the bits of the code itself. The caller keeps the places alive.
type Packed struct {
	code *Code
	at   [2]unsafe.Pointer
}

// WithPacked returns the executable that reads the constants of its launches, by side,
// which all have one and the same key, where PackConstant has packed them; nil for a
// side that is not constant.
func (c *Code) WithPacked(at [2]unsafe.Pointer) *Packed { return &Packed{c, at} }

// Run executes one launch, or a slice of one along rows, loops or columns: then what is
// packed is another launch's, and is not read.
func (p *Packed) Run(l *kernel.Launch) { p.code.Run(l) }

// Divide returns the work of a launch that has the constants' keys.
func (p *Packed) Divide(l *kernel.Launch, threads int) *kernel.Work {
	b := p.code.bindAs(l, [2]bool{p.at[0] != nil, p.at[1] != nil}, false)
	if b == nil {
		return nil
	}
	b.constant = p.at
	return b.work(threads)
}

var _ kernel.Divided = (*Packed)(nil)
