package ptx

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Tiles reports whether the product of a kernel evaluates what feeds it once for each element,
// where its axes have these extents: it has few lines on one side, which lie in memory, and
// those of the other are computed on their way to where they are multiplied.
func Tiles(k *kernel.Kernel, target Target, extents []int64) bool {
	m, err := newModule(k, target)
	if err != nil || m.form == nil || m.form.guard || slices.Contains(extents, 0) {
		return false
	}
	l := &kernel.Launch{Extents: extents}
	rows, cols := extent(l, m.form.rows), extent(l, m.form.cols)
	few, many := 0, 1
	if cols < rows {
		few, many = many, few
	}
	if !m.plain(few) {
		return false
	}
	if m.shape == matrix { // of f32 none is computed on its way
		return min(rows, cols) <= thinLines && (m.plain(many) || m.computable(l, many))
	}
	return m.skinny(l, m.reduceSizes(l))
}

// plain reports whether an operand is what memory has, if in another type.
func (m *Module) plain(i int) bool {
	in := &m.k.Body[[]kernel.Ref{m.form.x, m.form.z}[i]]
	for in.Op == kernel.OpCvt && in.Type != ir.Bool {
		in = &m.k.Body[in.A]
	}
	return in.Op == kernel.OpLoad
}
