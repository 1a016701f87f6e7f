package fusion

import "github.com/sinter-go/sinter/ir"

// graph is a segment, indexed. Ids index its slices.
type graph struct {
	*Segment
	tensors []ir.Tensor
	def     []int   // node that defines the id; -1 for inputs, -2 for unknown ids
	uses    [][]int // nodes that use the id as an operand, ascending
}

const (
	byInput = -1
	byNone  = -2
)

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
	if limit > 1<<20 {
		return nil, ir.Errorf(ir.ErrArgument, "the segment names tensor %%%d, expected dense ids", limit)
	}
	g := &graph{Segment: s, tensors: make([]ir.Tensor, limit+1), def: make([]int, limit+1), uses: make([][]int, limit+1)}
	for i := range g.def {
		g.def[i] = byNone
	}
	define := func(t ir.Tensor, by int) error {
		if g.def[t.ID] != byNone {
			return ir.Errorf(ir.ErrArgument, "the segment defines %%%d twice", t.ID)
		}
		g.def[t.ID], g.tensors[t.ID] = by, t
		return nil
	}
	for _, t := range s.Inputs {
		if err := define(t, byInput); err != nil {
			return nil, err
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		for _, t := range n.In {
			if t.ID > limit || g.def[t.ID] == byNone {
				return nil, ir.Errorf(ir.ErrArgument, "node %d (%s) uses %%%d, which the segment does not define before", i, n.Row.Name, t.ID)
			}
			if u := g.uses[t.ID]; len(u) == 0 || u[len(u)-1] != i {
				g.uses[t.ID] = append(u, i)
			}
		}
		for _, t := range n.Out {
			if err := define(t, i); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}
