package lower

import (
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// reduction is what a node reduces: the extents of its group in logical order, and
// how operand and result lie to it.
type reduction struct {
	shape       ir.Shape // of the first operand
	axes        []int    // reduced ones of that shape, ascending
	isReduced   [ir.MaxRank]bool
	extents     []int // of the axes
	count       int
	along       bool // the result has the reduced axes too: scans and row programs
	keepdims    bool // it has them with extent 1
	contraction bool
	tree        kernel.Tree
	sums        bool // the body uses the tree
}

func reductionOf(n *ir.Node) (*reduction, error) {
	r := &reduction{shape: n.In[0].Shape, count: 1}
	if n.Row.Access == ir.Contraction {
		r.contraction = true
		r.axes = []int{len(r.shape) - 1}
		r.tree = kernel.DotTree
	} else {
		axes, err := ir.ReduceAxes(n.Row, n.In[0].Type, n.Attrs)
		if err != nil {
			return nil, err
		}
		r.axes = axes
		y := n.Out[0].Shape
		r.along = y.Equal(r.shape) && !n.Row.HasAttr("keepdims")
		r.keepdims = !r.along && len(y) == len(r.shape)
		inside, last := int64(1), -1
		for _, a := range axes {
			last = a
		}
		for i := last + 1; i < len(r.shape); i++ {
			inside *= int64(r.shape[i])
		}
		r.tree = kernel.SumTree(inside)
	}
	for _, a := range r.axes {
		r.isReduced[a] = true
		r.extents = append(r.extents, r.shape[a])
		r.count *= r.shape[a]
	}
	t := n.Row.ComputeType(n.InTypes(), n.OutTypes())
	if program := n.Row.Program(t); program != nil {
		r.sums = traitsOf(program).sums && !r.contraction
	}
	return r, nil
}

// kept returns the coordinates of the kept dimensions of the first operand for an
// element of the result, with constants in place of the reduced ones.
func (r *reduction) kept(m imap, axes int) imap {
	out := newMap(len(r.shape), axes)
	k := 0
	for d := range r.shape {
		switch {
		case r.along || r.keepdims:
			if !r.isReduced[d] {
				copy(out[d], m[d])
			}
		case !r.isReduced[d]:
			copy(out[d], m[k])
			k++
		}
	}
	return out
}

// traits say what a body uses of its surroundings.
type traits struct {
	index bool // the logical index of its element
	sums  bool // the tree of sums
}

// traitsCache maps *ir.Block to traits, which follow from the block alone. It is
// emptied at maxTraits: bodies of custom rows come and go with their tables.
var (
	traitsCache sync.Map
	traitsCount atomic.Int64
)

const maxTraits = 4096

func traitsOf(b *ir.Block) traits {
	if t, ok := traitsCache.Load(b); ok {
		return t.(traits)
	}
	if traitsCount.Add(1) > maxTraits {
		traitsCache.Clear()
		traitsCount.Store(1)
	}
	var t traits
	var walk func(e *ir.Expr)
	walk = func(e *ir.Expr) {
		for _, a := range e.Args {
			walk(a)
		}
		if e.Kind != ir.ExprCall {
			return
		}
		switch e.Name {
		case "index":
			t.index = true
		case "reduce_sum", "reduce_prod", "reduce_m2":
			t.sums = true
		}
	}
	for _, s := range b.Stmts {
		walk(s.Expr)
	}
	traitsCache.Store(b, t)
	return t
}
