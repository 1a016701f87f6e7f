package lower

import (
	"errors"

	"github.com/sinter-go/sinter/ir"
)

// Arg is one argument of a lowered kernel: which tensor it is, and how the
// iteration space walks it.
type Arg struct {
	Tensor                     ir.ID
	Offset                     int64 // elements
	Strides                    []int64
	GatherStride, GatherExtent int64
}

// Block is a function to be: nodes, and the pieces that compute the stored
// results together.
type Block struct {
	Nodes  []ir.Node
	Pieces []*Piece
}

// Layouts gives the layout of every tensor that a block reads or stores.
type Layouts func(ir.ID) ir.Layout

// New lowers nodes in a legal order to one function that computes the results
// which stored names (nil: all of them). What one function cannot compute is a
// *[Refusal]; nodes need not be connected. The numerics do not depend on what else
// is in the block: values are rounded between rows, and the tree of a sum follows
// from the shapes of its node.
//
// Blocks grow backwards from the stored results. An element of the result that
// spans the iteration space is asked for at a map (see imap); each row asks for the
// elements of its operands that it needs, at maps that follow from its kind alone,
// until all maps have reached tensors from outside, which are loaded with the
// strides that the maps mean. Where a map is not affine over the axes, an axis is
// split or cut and the evaluation starts again.
func New(nodes []ir.Node, layouts Layouts, stored func(ir.ID) bool) (*Block, error) {
	l := &lowering{nodes: nodes, layouts: layouts, facts: make([]facts, len(nodes))}
	if len(nodes) > searched {
		l.producer = make(map[ir.ID]origin, len(nodes))
	}
	for i := range nodes {
		n := &nodes[i]
		for j, t := range n.Out {
			if j > 0 && !t.Shape.Equal(n.Out[0].Shape) {
				return nil, &Refusal{Rule: ResultsOfShapes, Node: i, Detail: n.Out[0].Shape.String() + " and " + t.Shape.String()}
			}
			if l.producer != nil {
				l.producer[t.ID] = origin{i, j}
			}
			if stored == nil || stored(t.ID) {
				l.wanted = append(l.wanted, target{i, j, t})
			}
		}
		switch n.Row.Access {
		case ir.Scatter, ir.Opaque, ir.Recurrence:
			return nil, &Refusal{Rule: NotLowered, Node: i, Detail: n.Row.Name}
		}
		if n.Row.Decompose != nil {
			return nil, &Refusal{Rule: NotLowered, Node: i, Detail: n.Row.Name + " is made of others"}
		}
	}
	if len(l.wanted) == 0 {
		return nil, ir.Errorf(ir.ErrInternal, "a block that stores nothing")
	}
	pieces, err := l.pieces()
	if err != nil {
		return nil, err
	}
	b := &Block{Nodes: nodes}
	for _, e := range pieces {
		p, err := e.piece()
		if err != nil {
			return nil, err
		}
		b.Pieces = append(b.Pieces, p)
	}
	if err := l.faults(pieces); err != nil {
		return nil, err
	}
	return b, nil
}

// origin is the node and the result that a tensor is.
type origin struct{ node, result int }

// searched is the number of nodes up to which origins are searched for.
const searched = 4

// lowering is what the pieces of a block share.
type lowering struct {
	nodes    []ir.Node
	layouts  Layouts
	producer map[ir.ID]origin // of more than a few nodes
	wanted   []target         // stored results, in order

	rootShape ir.Shape // of the result that the iteration space starts from
	facts     []facts
}

// facts are what is known of a node, filled in as it is asked for.
type facts struct {
	view      *viewMap
	boxes     []*box
	reduction *reduction
}

// origin returns what computes a tensor; inside is false if it comes from outside.
func (l *lowering) origin(id ir.ID) (o origin, inside bool) {
	if l.producer != nil {
		o, inside = l.producer[id]
		return o, inside
	}
	for i := range l.nodes {
		for j := range l.nodes[i].Out {
			if l.nodes[i].Out[j].ID == id {
				return origin{i, j}, true
			}
		}
	}
	return origin{}, false
}

func (l *lowering) view(i int) (*viewMap, error) {
	f := &l.facts[i]
	if f.view == nil {
		v, ok := viewOf(&l.nodes[i])
		if !ok { // it knows addresses, not coordinates
			return nil, &Refusal{Rule: NotAffine, Node: i, Detail: l.nodes[i].Row.Name}
		}
		f.view = v
	}
	return f.view, nil
}

func (l *lowering) boxes(i int) (_ []*box, err error) {
	f := &l.facts[i]
	if f.boxes == nil {
		f.boxes, err = boxesOf(i, &l.nodes[i])
	}
	return f.boxes, err
}

// reduction returns what a node reduces, nil if it does not.
func (l *lowering) reduction(i int) (_ *reduction, err error) {
	n := &l.nodes[i]
	switch n.Row.Access {
	case ir.Reduce, ir.Scan, ir.Contraction:
	default:
		return nil, nil
	}
	f := &l.facts[i]
	if f.reduction == nil {
		f.reduction, err = reductionOf(n)
	}
	return f.reduction, err
}

// usesIndex reports whether the body of a node asks for the index of its element.
func (l *lowering) usesIndex(i int) bool {
	n := &l.nodes[i]
	program := n.Row.Program(n.Row.ComputeType(n.InTypes(), n.OutTypes()))
	return program != nil && traitsOf(program).index
}

// pieces evaluates the block over an iteration space that starts from a stored
// result: the largest that is not a view, the last of equal ones. If that does not
// cover the others, smaller ones are tried: a reduction spans its operand, too.
func (l *lowering) pieces() ([]*eval, error) {
	tried := make([]bool, len(l.wanted))
	var first error
	for range min(len(l.wanted), maxRoots) {
		root := -1
		for w := range l.wanted {
			if !tried[w] && (root < 0 || l.before(w, root)) {
				root = w
			}
		}
		tried[root] = true
		for w := range l.wanted { // one start per shape
			tried[w] = tried[w] || l.wanted[w].Shape.Equal(l.wanted[root].Shape) && l.isView(w) == l.isView(root)
		}
		pieces, err := l.from(root)
		if err == nil {
			return pieces, nil
		}
		var r *Refusal
		if !errors.As(err, &r) {
			return nil, err
		}
		if first == nil {
			first = err
		}
		left := false
		for _, t := range tried {
			left = left || !t
		}
		if !left {
			break
		}
	}
	return nil, first
}

// maxRoots is how many stored results an iteration space is tried to start from.
const maxRoots = 4

func (l *lowering) isView(w int) bool { return l.nodes[l.wanted[w].node].Row.Access == ir.View }

// before says which of two stored results is tried first.
func (l *lowering) before(a, b int) bool {
	if x, y := l.isView(a), l.isView(b); x != y {
		return y
	}
	return l.wanted[a].Shape.Size() > l.wanted[b].Shape.Size() || l.wanted[a].Shape.Size() == l.wanted[b].Shape.Size() && a > b
}

// from evaluates the block over a space that starts from a stored result.
func (l *lowering) from(root int) ([]*eval, error) {
	l.rootShape = l.wanted[root].Shape
	queue := []*domain{startDomain(l.rootShape)}
	var done []*eval
	for restarts := 0; len(queue) > 0; restarts++ {
		node := l.wanted[root].node
		if restarts > maxRestarts {
			return nil, refuse(NotAffine, node, int64(restarts), maxRestarts)
		}
		d := queue[0]
		e, err := l.evaluate(d, root)
		switch r := err.(type) {
		case nil:
			done, queue = append(done, e), queue[1:]
		case *splitAxis:
			queue[0] = d.split(r)
		case *regrouped:
			queue[0] = r.domain
		case *cutAxis:
			low, high := d.cut(r)
			queue = append([]*domain{low, high}, queue[1:]...)
			if n := len(done) + len(queue); n > MaxPieces {
				return nil, refuse(ManyPieces, node, int64(n), MaxPieces)
			}
		default:
			return nil, err
		}
	}
	if len(l.wanted) == 1 && len(done) == 1 {
		return done, nil
	}
	return done, l.cover(done)
}
