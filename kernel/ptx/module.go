package ptx

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Module is a translated kernel: the entry points made so far and the rules
// for picking among them. It is safe for concurrent use.
type Module struct {
	k      *kernel.Kernel
	target Target
	shape  shape
	tree   kernel.Tree
	record int // bytes of all reduction states
	// single says that the last stage has only row-level values, so that the
	// work of one row may be spread over the whole device.
	single bool
	depth  []int
	form   *product // of shape tiled or matrix, and of sequential if it is a product
	unit   ir.DType // what matrix units multiply, Invalid without them
	lookup *lookup  // of shape elementwise, where the device has room for a table
	masked *masked  // of shape elementwise, if it is one

	lookupFrom int64 // elements of a launch that is worth the table

	mu      sync.Mutex
	entries map[string]*Entry
	// Those of shape matrix that compute the operands.
	packings  [2]*packing
	packLimit int64 // bytes of one of them
}

// shape is the class of a kernel.
type shape uint8

const (
	elementwise shape = iota
	rows
	columns
	sequential
	tiled
	matrix
)

// Entry is one entry point.
type Entry struct {
	Name    string
	Text    string // a complete PTX module with this entry alone
	Threads int    // of a block
	Shared  int    // bytes of dynamic shared memory that a launch gives each block
	Maps    int    // tensor maps, which stand before the other parameters
	Waits   bool   // for the kernel before it by itself, so that it may be launched before that one has ended
	slots   []slot

	mu       sync.Mutex
	capacity int            // see Capacity, 0 if nobody has asked
	many     map[int]*Entry // see Many
}

// ParamBytes is the size of the parameter block, which holds the tensor maps and then
// 8-byte values.
func (e *Entry) ParamBytes() int { return e.Maps*MapBytes + 8*len(e.slots) }

// Generate looks at a verified kernel and says whether and how it runs on the
// target. The error is [*Unsupported] for what is not covered.
func Generate(k *kernel.Kernel, target Target) (*Module, error) {
	m, err := newModule(k, target)
	if err != nil {
		return nil, err
	}
	// Making the smallest entry now finds instructions that are not covered
	// while the caller can still choose another way.
	switch m.shape {
	case elementwise:
		_, err = m.elementwiseEntry(1, 0)
	case rows:
		_, err = m.rowEntry(rowForm{tree: m.tree, warps: 1, rows: soloRows, width: 1, resident: true, solo: true, limit: 1})
	case columns:
		_, err = m.columnEntry(columnForm{tree: m.tree, warps: 1, width: 1})
	case sequential:
		_, err = m.sequentialEntry()
	case tiled:
		_, err = m.tiledEntry(squareTile(4, 4))
	case matrix:
		if m.onHopper() {
			_, err = m.matrixEntry(matrixForm{cols: 128})
		} else {
			_, err = m.warpEntry(warpForms.small.ring(target.shared()))
		}
		if err == nil {
			_, err = m.sequentialEntry()
		}
		for i := 0; i < 2 && err == nil; i++ {
			_, err = m.packingOf(i, m.liesTurned(i))
		}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// newModule looks at a kernel and makes no entry. There is a module beside an error.
func newModule(k *kernel.Kernel, target Target) (*Module, error) {
	// The order of products of bf16 and f16 is that of the matrix units here.
	m := &Module{k: shortenExp(k.Widened(kernel.PairDot, kernel.HalfDot)), target: target, unit: unitType(k, target), packLimit: packLimit, entries: map[string]*Entry{}}
	if target.Major < 8 {
		return m, m.refuse("devices below compute capability 8.0 lack conversions in use")
	}
	return m, m.classify()
}

func (m *Module) refuse(format string, args ...any) error {
	return &Unsupported{Kernel: m.k.Name, Reason: fmt.Sprintf(format, args...)}
}

// classify picks the shape of the kernel and its tree.
func (m *Module) classify() error {
	k := m.k
	from, to := k.ReducedAxes()
	if from == to {
		m.shape, m.masked = elementwise, maskedOf(k)
		if m.target.Major == 9 {
			e := newEmitter(k)
			e.setInnermostDepths()
			m.lookup, m.lookupFrom = lookupOf(k, e.depth), lookupElements
		}
		return nil
	}
	e := newEmitter(k)
	e.setLevelDepths()
	m.depth = e.depth
	reds, record, err := e.reductions()
	if err != nil {
		return m.refuse("%v", err)
	}
	m.record = record
	if chunk, err := e.sequentialChunk(); err != nil {
		return m.refuse("%v", err)
	} else if chunk > 0 {
		return m.classifySequential(reds, chunk)
	}
	found := false
	for _, r := range reds {
		if r.associative() {
			continue
		}
		t := k.Reductions[k.Body[r.ref].Imm].Tree
		if found && t != m.tree {
			return m.refuse("reductions along different trees, %s and %s", m.tree, t)
		}
		m.tree, found = t, true
	}
	if !found {
		// Any order is right; neighbours along the last axis want to be read
		// together.
		m.tree = kernel.StripedTree
		if to < len(k.Axes) {
			m.tree = kernel.ColumnsTree
		}
	}
	switch t := m.tree; {
	case t.Kind == kernel.Striped && t.Lanes >= 32 && t.Lanes&(t.Lanes-1) == 0 && t.Chunk%t.Lanes == 0 && t.Chunk <= 4096:
		m.shape = rows
	case t.Kind == kernel.Columns && t.Chunk > 0:
		m.shape = columns
	default:
		return m.refuse("reductions along the tree %s", t)
	}
	m.single = true
	for i := range k.Body {
		if e.stage[i] > 1 || e.stage[i] == 1 && k.Body[i].Op == kernel.OpStore && e.depth[i] >= elementDepth {
			m.single = false
		}
	}
	return nil
}

// classifySequential takes kernels all of whose folds are ordered, or take any
// order.
func (m *Module) classifySequential(reds []*reduction, chunk int) error {
	for _, r := range reds {
		if t := m.k.Reductions[m.k.Body[r.ref].Imm].Tree; !r.associative() && (t.Kind != kernel.Sequential || r.kind == kernel.M2) {
			return m.refuse("reductions along different trees, %s and sequential(%d)", t, chunk)
		}
	}
	if m.unit != ir.Invalid {
		if m.form = productOf(m.k, true); m.form == nil {
			return m.refuse("a product of %s with more than matrix units do, whose bits are theirs", m.unit)
		}
		m.form.turn(m.k)
		m.shape = matrix
	} else {
		m.shape = sequential
		if p := productOf(m.k, false); p != nil && m.k.Body[p.dot].Type.Size() >= 4 {
			p.turn(m.k)
			m.form = p
			if len(p.rows) > 0 && len(p.cols) > 0 && chunk%tiledDepth == 0 {
				m.shape = tiled
			}
		}
	}
	m.tree = kernel.Tree{Kind: kernel.Sequential, Chunk: chunk, Lanes: 1}
	return nil
}

func (m *Module) sequentialEntry() (*Entry, error) {
	return m.entry("seq", sequentialThreads, func() (*emitter, error) { return emitSequential(m.k) })
}

func (m *Module) tiledEntry(f tiledForm) (*Entry, error) {
	name := fmt.Sprintf("tile%dx%d_%dx%d_%dx%d_%s%s%s", f.tall(), f.wide(), f.rows, f.cols, f.depth, f.stages, f.x, f.z, f.out)
	if f.one {
		name += "_one"
	}
	return m.entry(name, f.threads(), func() (*emitter, error) { return emitTiled(m.k, m.form, f) })
}

func (m *Module) skinnyEntry(f skinnyForm) (*Entry, error) {
	name := "skinny" + f.part.String() + mark(f.turned)
	if f.part != finish {
		name = fmt.Sprintf("skinny%dx%dx%d%s_%s%d", f.lines, f.warps, f.steps, f.part, mark(f.turned), f.along)
	}
	return m.entry(name, f.threads(), func() (*emitter, error) { return emitSkinny(m.k, m.form, f) })
}

func (m *Module) matrixEntry(f matrixForm) (*Entry, error) {
	name := fmt.Sprintf("matrix%d_%s%s%s%s", f.cols, mark(f.turnX), mark(f.turnZ), mark(f.pairs), mark(f.whole))
	return m.entry(name, matrixThreads, func() (*emitter, error) { return emitMatrix(m.k, m.form, m.unit, f) })
}

func (m *Module) warpEntry(f warpForm) (*Entry, error) {
	name := fmt.Sprintf("warps%dx%d_%dx%d_%s%s%s", f.rows, f.cols, f.depth, f.stages, mark(f.turnX), mark(f.turnZ), mark(f.pairs))
	if f.computed {
		name += "_computed" + mark(f.full)
	}
	if f.prefetch {
		name += "_ahead"
	}
	return m.entry(name, warpThreads, func() (*emitter, error) { return emitWarps(m.k, m.form, m.unit, f) })
}

func (m *Module) elementwiseEntry(width int, loose argSet) (*Entry, error) {
	name := fmt.Sprintf("v%d", width)
	if loose != 0 {
		name += fmt.Sprintf("_loose%x", uint64(loose))
	}
	return m.entry(name, elementwiseThreads, func() (*emitter, error) { return emitElementwise(m.k, m.target, width, loose) })
}

func (m *Module) rowEntry(f rowForm) (*Entry, error) {
	name := fmt.Sprintf("row%d_w%d_v%d%s", f.rows, f.warps, f.width, f.part)
	if f.cluster > 1 {
		name += fmt.Sprintf("_cluster%d", f.cluster)
	}
	if f.resident {
		name += "_resident"
	}
	if f.limit > 0 {
		name += fmt.Sprintf("_n%d", f.limit)
	}
	if f.full {
		name += "_full"
	}
	if f.solo {
		name += "_solo"
	}
	if f.spill {
		name += "_spill"
	}
	return m.entry(name, f.threads(), func() (*emitter, error) { return emitRows(m.k, m.target, f) })
}

func (m *Module) columnEntry(f columnForm) (*Entry, error) {
	name := fmt.Sprintf("col_w%d%s", f.warps, f.part)
	if f.width > 1 {
		name += fmt.Sprintf("_v%d", f.width)
	}
	if f.spill {
		name += "_spill"
	}
	if f.crowd {
		name += "_crowd"
	}
	return m.entry(name, f.threads(), func() (*emitter, error) { return emitColumns(m.k, f) })
}

// String is the part's mark in entry names.
func (p part) String() string { return [...]string{"", "_chunks", "_finish"}[p] }

// maxParamBytes is what a kernel takes on every architecture.
const maxParamBytes = 4096

// entry returns the entry with the given variant name, made if needed.
func (m *Module) entry(variant string, threads int, make func() (*emitter, error)) (*Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[variant]; ok {
		return e, nil
	}
	em, err := make()
	if err != nil {
		return nil, m.refuse("%v", err)
	}
	name := "k_" + identifier(m.k.Name) + "_" + variant
	e := &Entry{Name: name, Text: em.finish(m.target, name, threads), Threads: threads, Shared: em.dynamic, Maps: em.maps, Waits: m.target.waits(), slots: em.slots}
	if n := e.ParamBytes(); n > maxParamBytes {
		return nil, m.refuse("%d bytes of parameters, at most %d", n, maxParamBytes)
	}
	m.entries[variant] = e
	return e, nil
}

// identifier keeps what PTX allows in a name.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
}
