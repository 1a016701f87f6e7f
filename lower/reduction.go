package lower

import (
	"strings"
	"sync"

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
	depth int  // reductions in a row
}

var traitsCache sync.Map // *ir.Block to traits

func traitsOf(b *ir.Block) traits {
	if t, ok := traitsCache.Load(b); ok {
		return t.(traits)
	}
	var t traits
	depth := map[string]int{}
	var walk func(e *ir.Expr) int
	walk = func(e *ir.Expr) int {
		d := 0
		for _, a := range e.Args {
			d = max(d, walk(a))
		}
		switch {
		case e.Kind == ir.ExprName:
			d = depth[e.Name]
		case e.Kind != ir.ExprCall:
		case e.Name == "index":
			t.index = true
		case strings.HasPrefix(e.Name, "reduce_"):
			d++
			switch e.Name {
			case "reduce_sum", "reduce_prod", "reduce_m2":
				t.sums = true
			}
		}
		return d
	}
	for _, s := range b.Stmts {
		depth[s.Name] = walk(s.Expr)
		t.depth = max(t.depth, depth[s.Name])
	}
	traitsCache.Store(b, t)
	return t
}
