package ptx

import (
	"math"

	"github.com/sinter-go/sinter/kernel"
)

// skinny reports whether a product runs as one with few rows or columns.
func (m *Module) skinny(l *kernel.Launch, z sizes) bool {
	if m.form != nil && m.form.guard {
		return false
	}
	if m.form == nil || m.shape == matrix || len(m.form.reduced) != 1 || z.group < skinnyGroup || m.tree.Chunk > math.MaxInt32 {
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
	f.along = m.tree.Chunk%4 == 0 && m.neighbours(4, l, base, args, m.form.reduced)
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
