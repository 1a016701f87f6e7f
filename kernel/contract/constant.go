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

// Constant returns the operand on a side of a launch if it is worth keeping packed.
func (c *Code) Constant(l *kernel.Launch, side int) (k Constant, ok bool) {
	s := &c.sides[side]
	k.Side = side
	if k.Arg = c.single(side); k.Arg < 0 || tooSmall(l) || c.slide(l) != nil {
		return k, false
	}
	p := c.bind(l)
	if p == nil || !p.keepingPays(side) {
		return k, false
	}
	var kept [2]bool
	kept[side] = true
	if p = c.bindAs(l, kept); p == nil { // how it is packed when it is kept
		return k, false
	}
	k.Bytes = p.slotBytes(side, p.extents[side]) * p.packedCount(side)
	if k.Bytes < constantMin {
		return k, false
	}
	a := &l.Args[k.Arg]
	k.Key = ConstantKey{side: side, level: c.level, kind: c.kind, typ: c.k.Args[k.Arg].Type, sums: c.sides[0].flip, offset: a.Offset}
	if s.arg < 0 {
		k.Key.source = c.source(side)
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
	return k, true
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

// single returns the one argument that an operand is computed from, by its elements
// alone; -1 if there is more to it.
func (c *Code) single(side int) int {
	d := c.pack[side].derived
	if len(d.args) != 1 || len(d.extents) > 0 || d.k.HasFault() {
		return -1
	}
	for i := range d.k.Body {
		if op := d.k.Body[i].Op; op == kernel.OpParam || op == kernel.OpIndex {
			return -1
		}
	}
	return d.args[0]
}

// source names what is computed from the argument.
func (c *Code) source(side int) string {
	k := *c.pack[side].k
	k.Name, k.Params = "", nil
	return string(k.AppendWire(nil))
}

// packedCount is how many packed operands there are on a side.
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
	p := c.bindAs(l, kept)
	p.constant[side] = to
	r := &round{problem: p, to: p.trips, rows: [2]int64{0, p.extents[0]}, cols: [2]int64{0, p.extents[1]}}
	r.place(side, nil, p.extents[side])
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
	b := p.code.bindAs(l, [2]bool{p.at[0] != nil, p.at[1] != nil})
	if b == nil {
		return nil
	}
	b.constant = p.at
	return b.work(threads)
}

var _ kernel.Divided = (*Packed)(nil)
