package contract

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Constant is a second operand that would be packed for good: weights, which many
// launches read. Launches with equal keys read the same packed bytes, whatever kernel
// and number of rows they have, as long as the argument's memory holds the same.
type Constant struct {
	Arg   int   // the argument
	Bytes int64 // packed
	Key   ConstantKey
}

// ConstantKey says how an argument is packed. Keys are comparable.
type ConstantKey struct {
	level  amd64.Level
	kind   amd64.TileKind
	typ    ir.DType // of the argument
	sums   bool     // those of the columns come with it
	source string   // what is computed from the argument, "" if it is packed as it is
	offset int64
	axes   [kernel.MaxAxes + 3][2]int64 // extents and strides of ks, columns and loops, each with an end
}

// constantMin is the least size that is worth keeping, in bytes.
const constantMin = 16 << 10

// Constant returns the operand of a launch that is worth keeping packed, false if
// there is none.
func (c *Code) Constant(l *kernel.Launch) (k Constant, ok bool) {
	s := &c.sides[1]
	if k.Arg = c.single(); k.Arg < 0 || tooSmall(l) || c.slide(l) != nil {
		return k, false
	}
	p := c.bind(l)
	if p == nil || p.ops[1].mode == inPlace && (p.extents[0] < 2 || p.extents[1]*p.k*p.size < 1<<20) {
		return k, false
	}
	if p = c.bindPacked(l); p == nil {
		return k, false
	}
	k.Bytes = p.slotBytes(1, p.extents[1]) * p.packedCount()
	if k.Bytes < constantMin {
		return k, false
	}
	a := &l.Args[k.Arg]
	k.Key = ConstantKey{level: c.level, kind: c.kind, typ: c.k.Args[k.Arg].Type, sums: c.sides[0].flip, offset: a.Offset}
	if s.arg < 0 {
		k.Key.source = c.source()
	}
	n := 0
	for i, of := range []span{p.ks, p.ranges[1], p.loops} {
		for j, axis := range of.axes {
			if i < 2 || p.ops[1].index[j] != 0 {
				k.Key.axes[n] = [2]int64{of.extents[j], a.Strides[axis]}
				n++
			}
		}
		n++
	}
	return k, true
}

// single returns the one argument that the second operand is computed from, by its
// elements alone; -1 if there is more to it.
func (c *Code) single() int {
	d := c.pack[1].derived
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
func (c *Code) source() string {
	k := *c.pack[1].k
	k.Name, k.Params = "", nil
	return string(k.AppendWire(nil))
}

// bindPacked binds a launch whose columns are packed in any case.
func (c *Code) bindPacked(l *kernel.Launch) *problem { return c.bindAs(l, true) }

// packedCount is how many packed operands there are.
func (p *problem) packedCount() int64 {
	n := int64(1)
	for i, e := range p.loops.extents {
		if p.ops[1].index[i] != 0 {
			n *= e
		}
	}
	return n
}

// PackConstant returns the work of packing the constant of a launch to memory of its
// size, aligned to a cache line.
func (c *Code) PackConstant(l *kernel.Launch, to unsafe.Pointer) *kernel.Work {
	p := c.bindPacked(l)
	p.constant = to
	r := &round{problem: p, to: p.trips, rows: [2]int64{0, p.extents[0]}, cols: [2]int64{0, p.extents[1]}}
	r.place(1, nil, p.extents[1])
	r.divide(1)
	w := &kernel.Work{}
	r.packing(w, false, true)
	return w
}

// Packed is the code of a contraction for launches whose constant is packed at some
// place. It has the bits of the code itself. The caller keeps the place alive.
type Packed struct {
	code *Code
	at   unsafe.Pointer
}

// WithPacked returns the executable that reads the constant of its launches, which all
// have one and the same key, where PackConstant has packed it.
func (c *Code) WithPacked(at unsafe.Pointer) *Packed { return &Packed{c, at} }

// Run executes one launch, or a slice of one along rows, loops or columns: then the
// packed columns are another launch's, and are not read.
func (p *Packed) Run(l *kernel.Launch) { p.code.Run(l) }

// Divide returns the work of a launch that has the constant's key.
func (p *Packed) Divide(l *kernel.Launch, threads int) *kernel.Work {
	b := p.code.bindPacked(l)
	if b == nil {
		return nil
	}
	b.constant = p.at
	return b.work(threads)
}

var _ kernel.Divided = (*Packed)(nil)
