package ptx

import (
	"math"

	"github.com/sinter-go/sinter/kernel"
)

// planTiled launches a product: the larger tile where it keeps all multiprocessors
// busy.
func (m *Module) planTiled(p *Plan, l *kernel.Launch, base []uint64) error {
	z := m.reduceSizes(l)
	z.rows, z.cols = extent(l, m.form.rows), extent(l, m.form.cols)
	batch := extent(l, m.form.batch)
	if m.skinny(l, z) {
		return m.planSkinny(p, l, base, z)
	}
	if batch > math.MaxUint16 || z.rows > math.MaxUint32 || z.cols > math.MaxUint32 || z.group > math.MaxUint32 {
		return m.halve(p, l, base, m.planTiled)
	}
	f := tiledForm{rows: 4, cols: 4, one: z.chunks == 1, depth: tiledDepth}
	tiles := func(f tiledForm) int64 {
		tall, wide := int64(tiledLanes*f.rows), int64(tiledLanes*f.cols)
		return batch * ((z.rows + tall - 1) / tall) * ((z.cols + wide - 1) / wide)
	}
	f.x = m.lineupOf(l, base, m.form.x, m.form.rows)
	f.z = m.lineupOf(l, base, m.form.z, m.form.cols)
	if m.k.Body[m.form.dot].Type.Size() == 4 {
		list := [][2]int{{8, 8}, {4, 8}, {8, 4}}
		if f.z == alongTile { // rows of the second operand are copied as they are
			list = [][2]int{{4, 16}, {4, 8}}
		}
		// What a block takes for a step: products, and reading their operands from shared
		// memory; and how many blocks a multiprocessor has one after the other.
		cost := func(f tiledForm) int64 {
			return (tiles(f) + m.target.sms() - 1) / m.target.sms() * int64(f.rows*f.cols+f.rows+f.cols)
		}
		for _, c := range list {
			g := f
			g.rows, g.cols = c[0], c[1]
			if cost(g) < cost(f) {
				f = g
			}
		}
	}
	if f.rows == 4 && f.cols == 4 && tiles(f) < m.target.sms() && m.tree.Chunk%32 == 0 {
		// More multiprocessors take part, and wait for memory less often.
		f.rows, f.cols, f.depth = 2, 2, 32
		if m.k.Body[m.form.dot].Type.Size() == 4 && m.tree.Chunk%64 == 0 && z.group > 32 {
			f.depth = 64
		}
	}
	if f.cols >= 4 && m.neighbours(4, l, base, m.outside(), m.form.cols) {
		f.out = alongTile
	}
	e, err := m.tiledEntry(f)
	if err != nil {
		return err
	}
	n := tiles(f)
	if n > maxBlocks*batch {
		return m.halve(p, l, base, m.planTiled)
	}
	p.add(m, e, l, base, z, n/batch, batch)
	return nil
}

// lineupOf says how four elements of an operand are read at once.
func (m *Module) lineupOf(l *kernel.Launch, base []uint64, v kernel.Ref, axes []int) lineup {
	args := map[int]bool{}
	m.argsOf(args, v)
	switch {
	case m.neighbours(4, l, base, args, m.form.reduced):
		return alongGroup
	case m.neighbours(4, l, base, args, axes):
		return alongTile
	}
	return single
}

// argsOf collects the arguments that values are computed from, not through the
// product.
func (m *Module) argsOf(args map[int]bool, refs ...kernel.Ref) {
	need := make([]bool, len(m.k.Body))
	for _, r := range refs {
		need[r] = true
	}
	for i := len(need) - 1; i >= 0; i-- { // operands come before what uses them
		in := &m.k.Body[i]
		if !need[i] || kernel.Ref(i) == m.form.dot {
			continue
		}
		if in.Op == kernel.OpLoad || in.Op == kernel.OpStore || in.Op == kernel.OpGather {
			args[int(in.Imm)] = true
		}
		in.Operands(func(r kernel.Ref) { need[r] = true })
	}
}

// outside collects the arguments of what follows the product, results included.
func (m *Module) outside() map[int]bool {
	args := map[int]bool{}
	var stores []kernel.Ref
	for i := range m.k.Body {
		if m.k.Body[i].Op == kernel.OpStore {
			stores = append(stores, kernel.Ref(i))
		}
	}
	m.argsOf(args, stores...)
	return args
}

// neighbours reports whether n elements along the last of the axes are an aligned
// vector of every argument that moves along it, and none is cut off.
func (m *Module) neighbours(n int, l *kernel.Launch, base []uint64, args map[int]bool, axes []int) bool {
	axis := axes[len(axes)-1]
	if l.Extents[axis]%int64(n) != 0 {
		return false
	}
	for i := range args {
		switch m.k.Args[i].Access[axis] {
		case kernel.Strided:
			return false
		case kernel.Unit:
			if !aligned(m.k, l, base, i, axis, n) {
				return false
			}
		}
	}
	return true
}
