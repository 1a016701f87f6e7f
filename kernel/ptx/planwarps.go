package ptx

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// warpFormFor decides in which tiles a product runs: in large ones, if that leaves no
// multiprocessor without.
func (m *Module) warpFormFor(z sizes) warpForm {
	switch {
	case min(z.rows, z.cols) <= thinLines:
		return m.thinForm(z)
	case z.unitTiles(int64(warpForms.large.rows), int64(warpForms.large.cols)) >= m.target.sms():
		return warpForms.large
	}
	return warpForms.small
}

const (
	thinLines = 64       // rows or columns up to which a product is thin
	thinSlab  = 24 << 10 // bytes that a slab of it may have
)

// thinForm is the form of a product with few rows, or few columns. It does little with the
// other operand but read it, so its tiles have all of the few lines, and as few of the many
// as give each multiprocessor two blocks: memory is busy where many reads are on their way.
// Sixteen are worth it only where a third of the multiprocessors would have none otherwise:
// of thirty-two that lie side by side a step reads whole lines of memory.
func (m *Module) thinForm(z sizes) warpForm {
	few, lines := max(16, nextPower(min(z.rows, z.cols))), max(z.rows, z.cols)
	many := max(16, nextPower(min(lines, 128)))
	tiles := func() int64 { return z.items * ((lines + int64(many) - 1) / int64(many)) }
	for many > 32 && tiles() < 2*m.target.sms() || many > 16 && tiles() < m.target.sms()*2/3 {
		many /= 2
	}
	f := warpForm{thin: true, prefetch: m.target.Prefetch && m.target.waits(), many: 1, rows: few, cols: many, down: 1, across: min(4, many/16), depth: 256}
	for f.slab() > thinSlab {
		f.depth /= 2
	}
	if z.cols < z.rows {
		f.many, f.rows, f.cols, f.down, f.across = 0, f.cols, f.rows, f.across, f.down
	}
	return f
}

// longComputed is how many instructions compute an element of an operand on its way to a
// slab at most: the text has them for each element of a thread's part of a slab.
const longComputed = 64

// computes reports whether an operand of a thin product is computed where it is multiplied:
// from what lies in vectors along the group.
func (m *Module) computes(l *kernel.Launch, base []uint64, i int) bool {
	if _, ok := m.inPlace(l, base, i); ok {
		return false
	}
	args := map[int]bool{}
	m.argsOf(args, m.operand(i))
	return len(args) > 0 && m.computable(l, i) && m.neighbours(copyHalves, l, base, args, m.form.reduced)
}

// computable reports whether an operand has one axis of lines, or none, takes few instructions,
// none of which may note a fault, and reads vectors along the group, if they are aligned.
func (m *Module) computable(l *kernel.Launch, i int) bool {
	inner := m.form.reduced[len(m.form.reduced)-1]
	if len(m.side(i)) > 1 || m.unit == ir.F32 || l.Extents[inner]%copyHalves != 0 {
		return false
	}
	instructions := 0
	for r, needed := range m.k.Closure(m.operand(i)) {
		if !needed {
			continue
		}
		instructions++
		switch in := &m.k.Body[r]; in.Op {
		case kernel.OpGather, kernel.OpIndex, kernel.OpScan, kernel.OpReduce:
			return false
		case kernel.OpLoad:
			if m.k.Args[in.Imm].Access[inner] == kernel.Strided {
				return false
			}
		case kernel.OpDiv, kernel.OpRem:
			if !in.Type.IsFloat() {
				return false
			}
		}
	}
	return instructions <= longComputed
}

// planWarpForm launches a product in the form of a warp: a block for each tile.
func (m *Module) planWarpForm(p *Plan, l *kernel.Launch, base []uint64, z sizes, f warpForm) error {
	n := z.unitTiles(int64(f.rows), int64(f.cols))
	if n > maxBlocks {
		return m.halve(p, l, base, m.planMatrix)
	}
	if f.computed {
		f.prefetch = false
		f.full = []bool{z.rows%int64(f.rows) == 0, z.cols%int64(f.cols) == 0}[f.many]
	}
	x, z1, err := m.located(p, l, base, f.notPacked())
	if err != nil {
		return err
	}
	f = f.ring(m.target.shared())
	f.turnX, f.turnZ, f.pairs = x.turned, z1.turned, m.vectorResults(l, base)
	e, err := m.warpEntry(f)
	if err != nil {
		return err
	}
	z.operands = []lying{x, z1}
	p.add(m, e, l, base, z, n, 1)
	return nil
}
