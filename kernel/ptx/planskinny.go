package ptx

import (
	"math"
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/kernel"
)

// skinny reports whether a product runs as one with few rows or columns.
func (m *Module) skinny(l *kernel.Launch, z sizes) bool {
	if m.form != nil && m.form.guard {
		return false
	}
	if m.form == nil || m.shape == matrix || !m.stretches(l, z) || z.group < skinnyGroup || m.tree.Chunk > math.MaxInt32 {
		return false
	}
	rows, cols, batch := extent(l, m.form.rows), extent(l, m.form.cols), extent(l, m.form.batch)
	few, many := min(rows, cols), max(rows, cols)
	if few > skinnyLines || batch > math.MaxUint16 || many > math.MaxInt32 || z.chunks > math.MaxInt32 {
		return false
	}
	// Warps with hardly a line are worth it only where there are too few results to keep
	// the device busy with a thread each.
	if m.shape == sequential && many < 8 && z.items >= 32*m.target.sms() {
		return false
	}
	return (many+31)/32*((z.chunks+skinnyPart-1)/skinnyPart) <= maxBlocks && few*many <= maxBlocks
}

// fewestSteps is the length of the shortest stretch.
const fewestSteps = 8

// stretches reports whether stretches lie along one axis: the only one, or the last of
// several, of which only the linear number is known then.
func (m *Module) stretches(l *kernel.Launch, z sizes) bool {
	axes := m.form.reduced
	if len(axes) < 2 {
		return len(axes) == 1
	}
	for i := range m.k.Body {
		if in := &m.k.Body[i]; in.Op == kernel.OpIndex && slices.Contains(axes, int(in.Imm)) {
			return false
		}
	}
	return l.Extents[axes[len(axes)-1]]%fewestSteps == 0 && m.tree.Chunk%fewestSteps == 0 && z.group <= math.MaxInt32
}

// stretch is the length of a stretch: as long as registers hold what it reads, and read
// again while the next one comes.
func (m *Module) stretch(l *kernel.Launch, many map[int]bool, lines int) int {
	axes := m.form.reduced
	inner := axes[len(axes)-1]
	loaded := 0
	for arg := range many {
		if a := &m.k.Args[arg]; a.Access[inner] != kernel.Broadcast {
			loaded += (a.Type.Size() + 3) / 4
		}
	}
	room := 64
	if lines > 4 {
		room = 32
	}
	words := (m.k.Body[m.form.dot].Type.Size() + 3) / 4
	steps := max(fewestSteps, 1<<(bits.Len(uint(room/max(words, loaded)))-1))
	for len(axes) > 1 && (l.Extents[inner]%int64(steps) != 0 || m.tree.Chunk%steps != 0) {
		steps /= 2
	}
	return steps
}

// along is how many steps of the many are read at once. A warp's lines lie apart, so that
// each access is one of memory for every thread: by 16 bytes there are the fewest.
func (m *Module) along(l *kernel.Launch, base []uint64, many map[int]bool, steps int) int {
	inner := m.form.reduced[len(m.form.reduced)-1]
	most := 4
	for arg := range many {
		if a := &m.k.Args[arg]; a.Access[inner] == kernel.Unit {
			most = max(most, 16/a.Type.Size())
		}
	}
	for n := min(most, steps); n >= 4; n /= 2 {
		if m.tree.Chunk%n == 0 && m.neighbours(n, l, base, many, m.form.reduced) {
			return n
		}
	}
	return 1
}

// skinnyPart is how many chunks a block sums where a second step adds them.
const skinnyPart = 4

// planSkinny launches a product with few rows or columns: in one step where a block can
// take all chunks of its lines.
func (m *Module) planSkinny(p *Plan, l *kernel.Launch, base []uint64, z sizes) error {
	z.rows, z.cols = extent(l, m.form.rows), extent(l, m.form.cols)
	batch := extent(l, m.form.batch)
	dot := &m.k.Body[m.form.dot]
	f := skinnyForm{turned: z.cols < z.rows, warps: int(min(z.chunks, skinnyWarps))}
	few, many, value := z.rows, z.cols, m.form.z
	if f.turned {
		few, many, value = z.cols, z.rows, m.form.x
	}
	f.lines = nextPower(few)
	args := map[int]bool{}
	m.argsOf(args, value)
	f.steps = m.stretch(l, args, f.lines)
	f.along = m.along(l, base, args, f.steps)
	blocks := (many + 31) / 32
	if z.chunks > skinnyWarps {
		f.part, f.warps = chunks, skinnyPart
		blocks *= (z.chunks + skinnyPart - 1) / skinnyPart
		p.scratch(batch * z.chunks * few * many * int64(dot.Type.Size()))
	}
	e, err := m.skinnyEntry(f)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, blocks, batch)
	if f.part == whole {
		return nil
	}
	if e, err = m.skinnyEntry(skinnyForm{turned: f.turned, part: finish}); err != nil {
		return err
	}
	p.add(m, e, l, base, z, (few*many+skinnyFinish-1)/skinnyFinish, batch)
	return nil
}
