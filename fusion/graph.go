package fusion

import "github.com/sinter-go/sinter/ir"

// graph is a segment, indexed by id and by node. Every id is an arrangement of a
// root: of itself, for what a node computes; of what it views; of its base, for an
// input. Views that strides express are free: they are no work, so the search sees
// only the roots, and the views come back as index maps or as aliases.
type graph struct {
	*Segment
	tensors []ir.Tensor
	def     []int   // node that defines the id; byInput or byNone
	uses    [][]int // nodes that use the id as an operand, ascending
	root    []ir.ID
	layout  []ir.Layout // of the id in the base of its root
	free    []bool      // per node: a view that strides express
	whole   []bool      // per id: a base of its own, row-major from its first byte
	kept    []bool      // per root: it, or a view of it, outlives the segment
	dies    []bool      // per root of an input: nobody needs it after the segment
	live    []bool      // per node: something needs it, or it may fault
}

const (
	byInput = -1
	byNone  = -2
)

// maxIDs bounds the ids of a segment: they index slices.
const maxIDs = 1 << 20

// newGraph indexes a segment and checks that every operand is defined before.
func newGraph(s *Segment) (*graph, error) {
	limit := ir.ID(0)
	for _, t := range s.Inputs {
		limit = max(limit, t.ID)
	}
	for i := range s.Nodes {
		for _, t := range s.Nodes[i].Out {
			limit = max(limit, t.ID)
		}
	}
	if limit > maxIDs {
		return nil, ir.Errorf(ir.ErrArgument, "the segment names tensor %%%d, expected dense ids", limit)
	}
	n := int(limit) + 1
	g := &graph{Segment: s, tensors: make([]ir.Tensor, n), def: make([]int, n), uses: make([][]int, n),
		root: make([]ir.ID, n), layout: make([]ir.Layout, n), whole: make([]bool, n), kept: make([]bool, n),
		dies: make([]bool, n), free: make([]bool, len(s.Nodes)), live: make([]bool, len(s.Nodes))}
	for i := range g.def {
		g.def[i] = byNone
	}
	if err := g.inputs(); err != nil {
		return nil, err
	}
	for i := range s.Nodes {
		if err := g.node(i); err != nil {
			return nil, err
		}
	}
	g.mark()
	return g, nil
}

func (g *graph) define(t ir.Tensor, by int) error {
	if g.def[t.ID] != byNone {
		return ir.Errorf(ir.ErrArgument, "the segment defines %%%d twice", t.ID)
	}
	g.def[t.ID], g.tensors[t.ID] = by, t
	g.root[t.ID], g.layout[t.ID] = t.ID, ir.Layout{Strides: t.Shape.Strides()}
	g.whole[t.ID] = true
	return nil
}

func (g *graph) inputs() error {
	for i, t := range g.Inputs {
		if err := g.define(t, byInput); err != nil {
			return err
		}
		if i < len(g.Layouts) {
			// A scalar has no strides: it may be an element of any base.
			if l := g.Layouts[i]; len(l.Strides) > 0 || len(t.Shape) == 0 {
				if len(l.Strides) != len(t.Shape) {
					return ir.Errorf(ir.ErrArgument, "input %d is %v, its layout has %d strides", i, t.Type, len(l.Strides))
				}
				g.layout[t.ID], g.whole[t.ID] = l, false
			}
		}
		if i < len(g.Bases) && g.Bases[i] != 0 && g.Bases[i] != t.ID {
			b := g.Bases[i]
			if b >= ir.ID(len(g.def)) || g.def[b] != byInput || g.root[b] != b {
				return ir.Errorf(ir.ErrArgument, "input %d shows the base of %%%d, expected an input before it", i, b)
			}
			g.root[t.ID] = b
		}
		if i < len(g.Dies) && g.Dies[i] {
			g.dies[g.root[t.ID]] = true
		}
	}
	return nil
}

func (g *graph) node(i int) error {
	n := &g.Nodes[i]
	for _, t := range n.In {
		if t.ID >= ir.ID(len(g.def)) || g.def[t.ID] == byNone {
			return ir.Errorf(ir.ErrArgument, "node %d (%s) uses %%%d, which the segment does not define before", i, n.Row.Name, t.ID)
		}
		if u := g.uses[t.ID]; len(u) == 0 || u[len(u)-1] != i {
			g.uses[t.ID] = append(u, i)
		}
	}
	for _, t := range n.Out {
		if err := g.define(t, i); err != nil {
			return err
		}
	}
	if n.Row.Access != ir.View {
		return nil
	}
	from, to := n.In[0], n.Out[0]
	if l, ok := n.Row.View(n.Row, from.Type, g.layout[from.ID], n.Attrs, to.Type); ok {
		g.free[i], g.whole[to.ID] = true, false
		g.root[to.ID], g.layout[to.ID] = g.root[from.ID], l
	}
	return nil
}

// mark finds which roots are kept and which nodes are live. What is dead and
// cannot fault is not run at all.
func (g *graph) mark() {
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		g.live[i] = n.Row.Effects&(ir.EffectFault|ir.EffectCollective) != 0 || n.Row.Access == ir.Opaque
		for _, t := range n.Out {
			if g.keeps(t.ID) {
				g.live[i], g.kept[g.root[t.ID]] = true, true
			}
			for _, u := range g.uses[t.ID] {
				g.live[i] = g.live[i] || g.live[u]
			}
		}
	}
}

// bytes returns the size of a root.
func (g *graph) bytes(root ir.ID) int64 { return g.tensors[root].Bytes() }

// footprint returns how many bytes of its base an id shows, each once.
func (g *graph) footprint(id ir.ID) int64 {
	t := g.tensors[id]
	n := int64(1)
	for i, s := range g.layout[id].Strides {
		if s != 0 || t.Shape[i] == 0 {
			n *= int64(t.Shape[i])
		}
	}
	return n * t.Bytes() / max(1, int64(t.Shape.Size()))
}

// reads sums the bytes that distinct ids read: of each base at most all.
type reads struct {
	ids   []ir.ID
	roots []ir.ID
	bytes []int64
}

func (r *reads) add(g *graph, id ir.ID) {
	for _, x := range r.ids {
		if x == id {
			return
		}
	}
	r.ids = append(r.ids, id)
	root, n := g.root[id], g.footprint(id)
	for i, x := range r.roots {
		if x == root {
			r.bytes[i] += n
			if g.whole[root] {
				r.bytes[i] = min(r.bytes[i], g.bytes(root))
			}
			return
		}
	}
	if g.whole[root] {
		n = min(n, g.bytes(root))
	}
	r.roots, r.bytes = append(r.roots, root), append(r.bytes, n)
}

func (r *reads) total() (n int64) {
	for _, b := range r.bytes {
		n += b
	}
	return n
}

// chain returns the view nodes that lead from a root to an id, the first applied
// first.
func (g *graph) chain(id ir.ID) []int {
	var out []int
	for g.root[id] != id && g.def[id] >= 0 {
		out = append(out, g.def[id])
		id = g.Nodes[g.def[id]].In[0].ID
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// kernel reports whether a node lowers to a kernel.
func (g *graph) kernel(i int) bool {
	n := &g.Nodes[i]
	switch n.Row.Access {
	case ir.Scatter, ir.Opaque, ir.Recurrence:
		return false
	}
	if n.Row.Effects&ir.EffectCollective != 0 {
		return false
	}
	for _, t := range n.Out {
		if t.Shape.Size() == 0 {
			return false
		}
	}
	return true
}

// solitary reports whether a node is a kernel, but never one with others.
func (g *graph) solitary(i int) bool {
	for _, t := range g.Nodes[i].In {
		if t.Shape.Size() == 0 {
			return true
		}
	}
	return false
}

// reuse returns how often a contraction reads each element of the operand that it
// reads least often.
func (g *graph) reuse(i int) float64 {
	n := &g.Nodes[i]
	x := n.In[0].Shape
	products := float64(n.Out[0].Shape.Size()) * float64(x[len(x)-1])
	least := products
	for _, t := range n.In {
		least = min(least, products/float64(max(t.Shape.Size(), 1)))
	}
	return least
}
