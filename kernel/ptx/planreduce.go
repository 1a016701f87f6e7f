package ptx

import (
	"math"
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
)

// reduceSizes counts the kept and the reduced elements of a launch.
func (m *Module) reduceSizes(l *kernel.Launch) sizes {
	z := sizes{items: 1, group: 1, inner: 1}
	for axis, n := range l.Extents {
		if m.k.Axes[axis] == kernel.Reduced {
			z.group *= n
		} else {
			z.items *= n
		}
	}
	c := int64(m.tree.Chunk)
	z.chunks = (z.group + c - 1) / c
	return z
}

// Limits of a resident row: the warps of a block, and the elements of a lane
// that fit into registers with room for the body's own values.
const (
	residentWarps    = 16
	residentElements = 64
	streamingWarps   = 16
	rowsPerBlock     = 4 // where a row takes one warp
	soloElements     = 16
	soloRows         = 128 // per block, where a row takes one thread
)

func (m *Module) planRows(p *Plan, l *kernel.Launch, base []uint64) error {
	z := m.reduceSizes(l)
	if z.chunks > math.MaxUint32-int64(streamingWarps) {
		return m.refuse("a reduced group of %d elements", z.group)
	}
	if from, to := m.k.ReducedAxes(); to-from > 1 && z.group > math.MaxUint32 {
		return m.refuse("a reduced group of %d elements over %d axes", z.group, to-from)
	}
	if z.items > maxBlocks {
		return m.halve(p, l, base, m.planRows)
	}
	f := rowForm{tree: m.tree, rows: 1, width: m.rowWidth(l, base, z)}
	blocks := z.items
	c := int64(m.tree.Chunk)
	switch {
	case z.group <= soloElements:
		f.resident, f.solo, f.width = true, true, 1
		f.warps, f.rows, f.limit = 1, soloRows, nextPower(z.group)
		blocks = (z.items + soloRows - 1) / soloRows
	case z.chunks <= residentWarps && c/32 <= residentElements:
		f.resident = true
		f.warps = nextPower(z.chunks)
		if f.warps == 1 {
			f.rows, f.limit = rowsPerBlock, shortRow(z.group, 32*f.width, m.tree.Chunk)
			blocks = (z.items + rowsPerBlock - 1) / rowsPerBlock
		}
	case m.clustered(z):
		f.cluster = clusterBlocks
		f.resident = z.chunks <= clusterChunks
		f.warps = residentWarps
		if f.resident {
			// As many as there are chunks: warps without one would take registers
			// that another cluster could have.
			f.warps = int((z.chunks + clusterBlocks - 1) / clusterBlocks)
		}
		blocks *= clusterBlocks
	case m.single && z.items < 2*m.target.sms() && z.chunks > residentWarps:
		return m.splitRows(p, l, base, z, f)
	default:
		f.warps = min(streamingWarps, nextPower(z.chunks))
		if z.chunks > int64(sharedChunks(m.record)) {
			f.spill = true
			p.scratch(z.items * (z.chunks + (z.chunks+c-1)/c) * int64(m.record))
		}
	}
	f.full = f.resident && z.group == f.holds()
	e, err := m.rowEntry(f)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, blocks, 1)
	return nil
}

// clustered reports whether a cluster of blocks takes each row. It keeps rows in registers
// that one block cannot, and occupies the device where rows are few; the chunks of very
// few rows of which only sums are wanted are better spread over all of it.
func (m *Module) clustered(z sizes) bool {
	if !m.target.clusters() || z.chunks <= residentWarps || z.items > maxBlocks/clusterBlocks || m.tree.Chunk/32 > residentElements {
		return false
	}
	few := z.items < m.target.sms()
	if z.chunks > clusterChunks {
		return few && !m.single && z.chunks <= int64(sharedChunks(m.record))
	}
	return !m.single || few && z.items*clusterBlocks >= m.target.sms()
}

// splitRows spreads the chunks of few long rows over the device, then reduces
// the chunk results with one block for each row.
func (m *Module) splitRows(p *Plan, l *kernel.Launch, base []uint64, z sizes, f rowForm) error {
	c := int64(m.tree.Chunk)
	p.scratch(z.items * (z.chunks + (z.chunks+c-1)/c) * int64(m.record))
	f.part, f.warps = chunks, 4
	e, err := m.rowEntry(f)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, (z.chunks+3)/4, z.items)
	f = rowForm{tree: m.tree, rows: 1, width: 1, part: finish, warps: streamingWarps}
	if e, err = m.rowEntry(f); err != nil {
		return err
	}
	p.add(m, e, l, base, z, z.items, 1)
	return nil
}

// rowWidth is the widest access along the reduced axis that all arguments which
// vary along it allow.
func (m *Module) rowWidth(l *kernel.Launch, base []uint64, z sizes) int {
	from, to := m.k.ReducedAxes()
	if to-from > 1 {
		return 1
	}
	largest := 1
	for _, a := range m.k.Args {
		switch a.Access[from] {
		case kernel.Strided:
			return 1
		case kernel.Unit:
			largest = max(largest, a.Type.Size())
		}
	}
	width := min(16/largest, m.tree.Lanes/32)
	if width <= 1 || z.group%int64(width) != 0 {
		return 1
	}
	for arg, a := range m.k.Args {
		if a.Access[from] == kernel.Unit && !aligned(m.k, l, base, arg, from, width) {
			return 1
		}
	}
	return width
}

func (m *Module) planColumns(p *Plan, l *kernel.Launch, base []uint64) error {
	const warps = 16
	z := m.reduceSizes(l)
	if from, to := m.k.ReducedAxes(); z.chunks > math.MaxUint32-warps || to-from > 1 && z.group > math.MaxUint32 {
		return m.refuse("a reduced group of %d elements", z.group)
	}
	if z.items > maxBlocks {
		return m.halve(p, l, base, m.planColumns)
	}
	blocks := (z.items + 31) / 32
	f := columnForm{tree: m.tree, warps: min(warps, nextPower(z.chunks)), width: 1}
	groups := (z.chunks + 7) / 8
	if m.single && blocks < 2*m.target.sms() && z.chunks > 1 && groups <= math.MaxUint16 {
		p.scratch(z.items * z.chunks * int64(m.record))
		width := m.columnWidth(l, base)
		// A thread walks its columns one element after the other: few that walk take long.
		for width > 1 && (blocks+int64(width)-1)/int64(width)*groups < m.target.sms() {
			width /= 2
		}
		e, err := m.columnEntry(columnForm{tree: m.tree, warps: 8, width: width, part: chunks})
		if err != nil {
			return err
		}
		p.add(m, e, l, base, z, (blocks+int64(width)-1)/int64(width), groups)
		f.part = finish
	} else {
		f.crowd = blocks >= 8*m.target.sms()
		if f.spill = z.chunks > int64(sharedColumnChunks(m.record)); f.spill {
			p.scratch(z.items * z.chunks * int64(m.record))
		}
	}
	e, err := m.columnEntry(f)
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, blocks, 1)
	return nil
}

// columnWidth is how many neighbouring columns a thread takes, where it makes chunk
// results: of types below 4 bytes, of which a warp would read less than a line at a time,
// as many as 16 bytes have, if all operands let it and no value of the body that elements
// use differs from column to column.
func (m *Module) columnWidth(l *kernel.Launch, base []uint64) int {
	k, last, largest := m.k, len(m.k.Axes)-1, 1
	for arg, a := range k.Args {
		if a.Access[last] == kernel.Unit && k.ArgLevel(arg) == kernel.ElementLevel {
			largest = max(largest, a.Type.Size())
		}
	}
	width := 16 / largest
	if largest >= 4 {
		return 1
	}
	fits := k.Axes[last] == kernel.Parallel && l.Extents[last]%int64(width) == 0
	for arg, a := range k.Args {
		if k.ArgLevel(arg) != kernel.ElementLevel {
			continue
		}
		switch a.Access[last] {
		case kernel.Unit:
			fits = fits && !a.Gather && aligned(k, l, base, arg, last, width)
		case kernel.Broadcast:
			fits = fits && !a.Gather && a.Dir == kernel.In
		default:
			fits = false
		}
	}
	for i := range k.Body {
		if m.depth[i] >= elementDepth {
			k.Body[i].Operands(func(r kernel.Ref) { fits = fits && m.depth[r] != int(kernel.RowLevel) })
		}
	}
	if !fits {
		return 1
	}
	return width
}

func (m *Module) planSequential(p *Plan, l *kernel.Launch, base []uint64) error {
	z := m.reduceSizes(l)
	if m.skinny(l, z) {
		return m.planSkinny(p, l, base, z)
	}
	if from, to := m.k.ReducedAxes(); to-from > 1 && z.group > math.MaxUint32 {
		return m.refuse("a reduced group of %d elements", z.group)
	}
	if z.items > math.MaxUint32 {
		return m.halve(p, l, base, m.planSequential)
	}
	e, err := m.sequentialEntry()
	if err != nil {
		return err
	}
	p.add(m, e, l, base, z, (z.items+sequentialThreads-1)/sequentialThreads, 1)
	return nil
}

// shortRow is the size of the tiles for a row of n elements: a power of two or
// three quarters of one, so that few variants serve all lengths; 0 for a chunk.
func shortRow(n int64, unit, chunk int) int {
	limit := max(unit, nextPower(n))
	if q := limit / 4 * 3; int64(q) >= n && q%unit == 0 {
		limit = q
	}
	if limit >= chunk {
		return 0
	}
	return limit
}

// scratch asks for at least n bytes: steps run one after the other and share.
func (p *Plan) scratch(n int64) { p.Scratch = max(p.Scratch, n) }

// nextPower is the least power of two that is not below n.
func nextPower(n int64) int { return 1 << bits.Len64(uint64(n-1)) }
