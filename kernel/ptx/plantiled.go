package ptx

import (
	"math"

	"github.com/sinter-go/sinter/kernel"
)

// planTiled launches a product.
func (m *Module) planTiled(p *Plan, l *kernel.Launch, base []uint64) error {
	z := m.reduceSizes(l)
	z.rows, z.cols = extent(l, m.form.rows), extent(l, m.form.cols)
	batch := extent(l, m.form.batch)
	if m.skinny(l, z) {
		return m.planSkinny(p, l, base, z)
	}
	if batch > math.MaxUint16 || z.rows > math.MaxUint32 || z.cols > math.MaxUint32 || z.group > math.MaxInt32 {
		return m.halve(p, l, base, m.planTiled)
	}
	f := m.tileFor(z, batch, m.lineupOf(l, base, m.form.x, m.form.rows), m.lineupOf(l, base, m.form.z, m.form.cols))
	if m.neighbours(min(f.cols, 4), l, base, m.outside(), m.form.cols) {
		f.out = alongTile
	}
	e, err := m.tiledEntry(f)
	if err != nil {
		return err
	}
	n := f.tiles(z)
	if n > maxBlocks {
		return m.halve(p, l, base, m.planTiled)
	}
	p.add(m, e, l, base, z, n, batch)
	return nil
}

// tiles is how many tiles a matrix of results has.
func (f tiledForm) tiles(z sizes) int64 {
	tall, wide := int64(f.tall()), int64(f.wide())
	return (z.rows + tall - 1) / tall * ((z.cols + wide - 1) / wide)
}

// mappedForms are those, beside that of 4 by 4, in which products of 32 bits run whose
// operands are computed on their way through the registers.
var (
	mappedForms = []tiledForm{squareTile(8, 8), squareTile(4, 8), squareTile(8, 4)}
	mappedRows  = []tiledForm{squareTile(4, 16), squareTile(4, 8)} // where rows of the second operand lie as they are read
)

// plainForms are those for operands that are memory as it is. They come by copies that
// pass no registers, several slabs ahead where tiles are small, so that a multiprocessor
// with one tile does not wait for each of them. No loop is much longer than 1,200
// instructions: instruction caches hold no more.
var plainForms = []tiledForm{
	{rate: 100, rows: 8, cols: 16, down: 16, across: 16, depth: 16, stages: 2, ahead: 1, unroll: 8},
	{rate: 95, rows: 8, cols: 8, down: 16, across: 16, depth: 16, stages: 2, ahead: 1, unroll: 16, perSM: 2},
	{rate: 81, rows: 8, cols: 8, down: 8, across: 16, depth: 16, stages: 2, ahead: 1, unroll: 16, own: true},
	{rate: 72, rows: 4, cols: 8, down: 16, across: 16, depth: 32, stages: 3, ahead: 1, unroll: 32},
	{rate: 52, rows: 4, cols: 4, down: 8, across: 8, depth: 32, stages: 4, ahead: 4, unroll: 32},
	{rate: 33, rows: 2, cols: 2, down: 8, across: 16, depth: 64, stages: 3, ahead: 8, unroll: 64},
	{rate: 33, rows: 2, cols: 2, down: 8, across: 16, depth: 32, stages: 4, ahead: 8, unroll: 32},
}

// ringed is squareTile(4, 4) with slabs further ahead, for long groups.
var ringed = tiledForm{rate: 69, rows: 4, cols: 4, down: 16, across: 16, depth: 32, stages: 4, ahead: 4, unroll: 32}

const (
	// longGroup is from how many steps on slabs further ahead are worth their barriers.
	longGroup = 256
	// longBody is how many instructions a kernel may have of which a thread computes 128
	// results: more would take the compiler too long.
	longBody = 40
)

// tileFor decides in which form a product runs: in that in which the multiprocessor that
// has most of the tiles is done first. Large tiles multiply most for what they read, small
// ones let all multiprocessors take part.
func (m *Module) tileFor(z sizes, batch int64, x, zl lineup) tiledForm {
	size := m.k.Body[m.form.dot].Type.Size()
	plain := plainOperand(m.k, m.form, m.form.x, m.form.rows) && plainOperand(m.k, m.form, m.form.z, m.form.cols)
	waves := func(f tiledForm) int64 { return (batch*f.tiles(z) + m.target.sms() - 1) / m.target.sms() }
	cost := func(f tiledForm) float64 {
		slabs := (z.group + int64(f.depth) - 1) / int64(f.depth)
		return float64(waves(f)) * float64(f.tall()*f.wide()) * float64(slabs) * float64(f.depth) / float64(f.rate)
	}
	best := squareTile(4, 4)
	if plain && z.group >= longGroup && m.tree.Chunk%ringed.depth == 0 {
		best = ringed
	}
	best = best.along(x, zl, plain)
	take := func(list []tiledForm) {
		for _, f := range list {
			f = f.along(x, zl, plain)
			f.one = z.chunks == 1
			switch {
			case f.shared(size) > m.target.shared() || m.tree.Chunk%f.depth != 0:
			case f.rows*f.cols > 64 && len(m.k.Body) > longBody:
			case f.own && f.z == alongGroup: // too few threads to turn as many elements
			case cost(f) < cost(best):
				best = f
			}
		}
	}
	switch {
	case plain:
		take(plainForms)
	case size == 4 && zl == alongTile:
		take(mappedRows)
	case size == 4:
		take(mappedForms)
	}
	if !plain && best.rows == 4 && best.cols == 4 && waves(best) == 1 && m.tree.Chunk%32 == 0 {
		// More multiprocessors take part, and wait for memory less often.
		best.rows, best.cols, best.depth, best.unroll = 2, 2, 32, 32
		if size == 4 && m.tree.Chunk%64 == 0 && z.group > 32 {
			best.depth, best.unroll = 64, 64
		}
	}
	best.one = z.chunks == 1
	return best
}

// along says how a form reads its operands.
func (f tiledForm) along(x, z lineup, plain bool) tiledForm {
	f.x, f.z = x, z
	if plain && f.stages > 2 && f.unroll == f.depth { // neighbours along the group stay neighbours
		for _, l := range []*lineup{&f.x, &f.z} {
			if *l == alongGroup {
				*l = kept
			}
		}
	}
	return f
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
