package lower

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Piece is a kernel to be: nodes of a block over one iteration space, with all
// their operands and results laid out. Its key says which compiled kernel serves it.
type Piece struct {
	Extents     []int64
	Start, Full []int64 // nil: a piece that was cut from a larger space is a space of its own
	Args        []Arg   // in the order of the kernel's arguments

	nodes  []ir.Node
	kinds  []kernel.AxisKind
	inputs int        // arguments that are read: the first ones
	types  []ir.DType // of the arguments
	walks  []*access  // of the arguments
	emits  []emit
	copies []output // stored results that are read as they are
}

// Product reports whether the piece computes a contraction.
func (p *Piece) Product() bool {
	for i := range p.emits {
		if p.nodes[p.emits[i].node].Row.Access == ir.Contraction && !p.emits[i].empty {
			return true
		}
	}
	return false
}

// Results returns how many results of a product the piece computes.
func (p *Piece) Results() int64 {
	n := int64(1)
	for i, k := range p.kinds {
		if k == kernel.Parallel {
			n *= p.Extents[i]
		}
	}
	return n
}

// Columns returns the extent of the innermost axis, and whether the piece reduces:
// of a product, the columns that a loop runs over side by side.
func (p *Piece) Columns() (extent int64, reduces bool) {
	return p.Extents[len(p.Extents)-1], slices.Contains(p.kinds, kernel.Reduced)
}

// emit is one expansion of a body in a kernel.
type emit struct {
	node   int
	in     []operand
	stored []int   // per result: the argument it is stored to, or -1
	linear *access // the logical index of the element: offset and coefficients
	tree   kernel.Tree
	also   []output // further arguments that results are stored to
	empty  bool     // a reduction of nothing: operands are not read
	count  float64  // evaluations in one run
	packed float64  // of what feeds a product: elements of the panel that it is evaluated into
}

// operand is an argument, or the result of an earlier emission.
type operand struct {
	arg          int // -1 for a result
	emit, result int
}

// output stores an argument that is read to one that is written.
type output struct{ from, to int }

// piece turns an evaluation into a kernel to be: steps that serve a stored result,
// in the order of their nodes, and arguments in order of use.
func (e *eval) piece() (*Piece, error) {
	p := &Piece{nodes: e.nodes}
	needed := make([]bool, len(e.steps))
	e.needed = needed
	for _, s := range e.stores {
		if s.load < 0 {
			needed[s.step] = true
		}
	}
	for i := len(e.steps) - 1; i >= 0; i-- {
		for _, o := range e.steps[i].in {
			if needed[i] && o.load < 0 {
				needed[o.step] = true
			}
		}
	}
	list := make([]int, 0, len(e.steps))
	for i, ok := range needed {
		if ok {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return e.steps[a].node - e.steps[b].node })
	numbers := make([]int, len(e.loads)) // argument + 1
	p.Args = make([]Arg, 0, len(e.loads)+len(e.stores))
	p.types = make([]ir.DType, 0, cap(p.Args))
	p.walks = make([]*access, 0, cap(p.Args))
	p.emits = make([]emit, 0, len(list))
	arg := func(i int) int {
		if numbers[i] == 0 {
			ld := &e.loads[i]
			p.Args = append(p.Args, Arg{Tensor: ld.tensor})
			p.types = append(p.types, ld.dtype)
			w := ld.access
			p.walks = append(p.walks, &w)
			numbers[i] = len(p.Args)
		}
		return numbers[i] - 1
	}
	sp := &space{}
	at := make([]int, len(e.steps))
	rows, elements := float64(e.rows()), float64(e.elements())
	for k, i := range list {
		s := &e.steps[i]
		at[i] = k
		m := emit{node: s.node, empty: s.empty, stored: make([]int, len(e.nodes[s.node].Out))}
		for j := range m.stored {
			m.stored[j] = -1
		}
		for _, o := range s.in {
			if o.load >= 0 {
				m.in = append(m.in, operand{arg: arg(o.load)})
			} else {
				m.in = append(m.in, operand{-1, at[o.step], o.result})
			}
		}
		if s.linear != nil {
			m.linear = &access{offset: s.linear[0], strides: s.linear[1:]}
		}
		m.count = rows
		r := e.facts[s.node].reduction
		if s.varies || r != nil && !s.empty {
			m.count = elements
		}
		m.packed = m.count
		if s.varies && r == nil {
			m.packed = e.panel(s.at)
		}
		if r != nil {
			m.tree = r.tree
			sp.along = sp.along || r.along && !s.empty
		}
		p.emits = append(p.emits, m)
	}
	slices.SortStableFunc(e.stores, func(a, b store) int { return a.want - b.want })
	for i := range e.stores {
		if s := &e.stores[i]; s.load >= 0 {
			arg(s.load)
		}
	}
	p.inputs = len(p.Args)
	for i := range e.stores {
		s := &e.stores[i]
		t := &e.wanted[s.want]
		l := e.layouts(t.ID)
		f := newMap(1, len(e.extents))[0]
		for d, st := range l.Strides {
			f.add(st, s.at[d])
		}
		number := len(p.Args)
		p.Args = append(p.Args, Arg{Tensor: t.ID})
		p.types = append(p.types, t.DType)
		p.walks = append(p.walks, &access{offset: l.Offset + f[0], strides: f[1:]})
		if s.load >= 0 {
			p.copies = append(p.copies, output{arg(s.load), number})
		} else if st := p.emits[at[s.step]].stored; st[s.result] < 0 {
			st[s.result] = number
		} else { // a view beside its operand
			p.emits[at[s.step]].also = append(p.emits[at[s.step]].also, output{s.result, number})
		}
	}
	if len(p.Args) > MaxArguments {
		return nil, refuse(ManyArguments, e.wanted[0].node, int64(len(p.Args)), MaxArguments)
	}
	e.layOut(p, sp)
	if len(p.Extents) > kernel.MaxAxes {
		return nil, refuse(ManyAxes, e.wanted[0].node, int64(len(p.Extents)), kernel.MaxAxes)
	}
	return p, nil
}

// panel returns how many points of the axes a map tells apart: the elements of the
// panel of a product that a value at the map is packed into.
func (e *eval) panel(m imap) float64 {
	n := 1.0
	for a, extent := range e.extents {
		for _, f := range m {
			if f[1+a] != 0 {
				n *= float64(extent)
				break
			}
		}
	}
	return n
}

// layOut puts the axes in loop order and merges them.
func (e *eval) layOut(p *Piece, s *space) {
	order := e.order()
	for _, a := range order {
		s.extents = append(s.extents, e.extents[a])
		kind := kernel.Parallel
		if e.reduced[a] {
			kind = kernel.Reduced
		}
		s.kinds = append(s.kinds, kind)
	}
	s.walks = append(s.walks, p.walks...)
	for i := range p.emits {
		if l := p.emits[i].linear; l != nil {
			s.walks = append(s.walks, l)
		}
	}
	backing := make([]int64, len(order)*len(s.walks))
	for k, w := range s.walks {
		st := backing[k*len(order) : (k+1)*len(order) : (k+1)*len(order)]
		for i, a := range order {
			st[i] = w.strides[a]
		}
		w.strides = st
	}
	s.collapse()
	p.Extents, p.kinds = s.extents, s.kinds
	for i, w := range p.walks {
		a := &p.Args[i]
		a.Offset, a.Strides = w.offset, w.strides
		a.GatherStride, a.GatherExtent = w.gatherStride, w.gatherExtent
	}
}
