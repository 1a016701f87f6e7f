package ptx

import (
	"github.com/sinter-go/sinter/kernel"
)

// planWarps launches a product in the form of a warp: a block for each tile.
func (m *Module) planWarps(p *Plan, l *kernel.Launch, base []uint64, z sizes) error {
	return m.planWarpForm(p, l, base, z, m.warpFormFor(z))
}

// warpFormFor decides in which tiles a product runs: in large ones, if that leaves no
// multiprocessor without, unless most of a tile would lie outside.
func (m *Module) warpFormFor(z sizes) warpForm {
	f := warpForms.small
	switch {
	case z.rows <= int64(warpForms.flat.rows):
		f = warpForms.flat
	case z.cols <= int64(warpForms.narrow.cols):
		f = warpForms.narrow
	case z.unitTiles(int64(warpForms.large.rows), int64(warpForms.large.cols)) >= m.target.sms():
		f = warpForms.large
	}
	return f
}

func (m *Module) planWarpForm(p *Plan, l *kernel.Launch, base []uint64, z sizes, f warpForm) error {
	n := z.unitTiles(int64(f.rows), int64(f.cols))
	if n > maxBlocks {
		return m.halve(p, l, base, m.planMatrix)
	}
	x, z1, err := m.located(p, l, base)
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
