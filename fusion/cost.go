package fusion

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Cost is what a plan or a block is modelled to take.
type Cost struct {
	Launches int     `json:"launches"`
	Read     int64   `json:"bytes_read"`    // each distinct base once per block
	Written  int64   `json:"bytes_written"` // likewise
	Peak     int64   `json:"peak_bytes"`    // of results and dying inputs alive at once
	Work     float64 `json:"work"`          // scalar instructions
}

// The prices of the model, in bytes moved.
const (
	launchBytes = 16 << 10 // of one launch
	workBytes   = 0.25     // of one scalar instruction
)

// Total returns the cost as a number of bytes.
func (c Cost) Total() float64 {
	return float64(c.Launches)*launchBytes + float64(c.Read) + float64(c.Written) + c.Work*workBytes
}

// within reports whether the cost exceeds another in nothing that is promised.
func (c Cost) within(d Cost) bool {
	return c.Launches <= d.Launches && c.Read+c.Written <= d.Read+d.Written && c.Peak <= d.Peak
}

// add adds another cost, save its peak.
func (c *Cost) add(d Cost) {
	c.Launches += d.Launches
	c.Read += d.Read
	c.Written += d.Written
	c.Work += d.Work
}

// cost returns the modelled cost of a group as one launch.
func (s *search) cost(gr *group) Cost {
	c := Cost{Launches: 1, Read: s.reads(gr).total()}
	for _, id := range s.stored(gr) {
		c.Written += s.g.bytes(id)
	}
	if gr.kind == routineGroup && len(gr.units) == 1 && c.Written == 0 {
		c.Launches = 0 // nothing but empty results
	}
	if gr.lowered != nil {
		for i, w := range gr.lowered.work {
			c.Work += w * float64(instructions(&gr.lowered.block.Nodes[i]))
		}
		return c
	}
	for i, u := range gr.units {
		if i == 0 || s.units[gr.units[i-1]].node != s.units[u].node {
			c.Work += work(&s.g.Nodes[s.units[u].node])
		}
	}
	return c
}

// work estimates the scalar instructions of a node that runs alone.
func work(n *ir.Node) float64 {
	elements := n.Out[0].Shape.Size()
	if len(n.In) > 0 && n.Row.Access != ir.Gather {
		elements = max(elements, n.In[0].Shape.Size())
	}
	w := float64(elements)
	if n.Row.Access == ir.Contraction {
		x := n.In[0].Shape
		w = float64(n.Out[0].Shape.Size()) * float64(x[len(x)-1])
	}
	return w * float64(instructions(n))
}

// unfusedCost models one block per node in recorded order.
func (g *graph) unfusedCost() Cost {
	var c Cost
	var steps []step
	for i := range g.Nodes {
		if g.free[i] {
			continue
		}
		n := &g.Nodes[i]
		var in reads
		st := step{}
		for _, t := range n.In {
			in.add(g, t.ID)
		}
		for _, t := range n.Out {
			c.Written += t.Bytes()
			st.stored = append(st.stored, t.ID)
		}
		st.reads = in.roots
		if slices.ContainsFunc(n.Out, func(t ir.Tensor) bool { return t.Bytes() > 0 }) {
			c.Launches++
		}
		c.Read += in.total()
		c.Work += work(n)
		steps = append(steps, st)
	}
	c.Peak, _ = g.peak(steps)
	return c
}

// instructions counts the scalar instructions of a row's body per element, the
// rows that it calls included. A division counts as several.
func instructions(n *ir.Node) int {
	if n.Row.Access == ir.Contraction {
		return 2
	}
	out := n.OutTypes()
	if len(n.In) == 0 { // a constant is the same for all elements, and an index is at hand where a load would be
		return max(0, countRow(n.Row, n.Row.ComputeType(nil, out))-1)
	}
	return max(1, countRow(n.Row, n.Row.ComputeType(n.InTypes(), out)))
}

type bodyKey struct {
	row *ir.Row
	typ ir.DType
}

var bodySizes sync.Map // bodyKey → int; a cache of constants of the table

func countRow(r *ir.Row, t ir.DType) int {
	key := bodyKey{r, t}
	if n, ok := bodySizes.Load(key); ok {
		return n.(int)
	}
	n := 0
	if b := r.Program(t); b != nil {
		for _, st := range b.Stmts {
			n += countExpr(st.Expr, t, r)
		}
	}
	bodySizes.Store(key, n)
	return n
}

// countExpr counts an expression of a row. A row that calls itself means the
// instruction of its name.
func countExpr(e *ir.Expr, t ir.DType, self *ir.Row) int {
	if e.Kind != ir.ExprCall {
		return 0
	}
	n := 1
	for _, a := range e.Args {
		n += countExpr(a, t, self)
	}
	if e.Name == "/" {
		return n + 4
	}
	if r := ir.Lookup(e.Name); r != nil && r != self && r.Program(t) != nil {
		n += countRow(r, t)
	}
	return n
}
