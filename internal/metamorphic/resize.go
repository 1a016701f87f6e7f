package metamorphic

import (
	"math/rand/v2"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Resized returns a program of the same operations with another extent in the place
// of one of its own, in all inputs and in the attributes that speak of sizes: what
// a plan for the one is bound to next. It returns nil where no extent can change.
func Resized(rng *rand.Rand, p *ir.Program) *ir.Program {
	var extents []int
	for _, t := range p.Inputs {
		for _, d := range t.Shape {
			if d > 1 && !slices.Contains(extents, d) {
				extents = append(extents, d)
			}
		}
	}
	rng.Shuffle(len(extents), func(i, j int) { extents[i], extents[j] = extents[j], extents[i] })
	for _, from := range extents {
		for _, to := range []int{from + 1, from - 1, from + 16, 2 * from} {
			if to < 1 || slices.Contains(extents, to) {
				continue
			}
			if q := withExtent(p, from, to); q != nil {
				return q
			}
		}
	}
	return nil
}

func withExtent(p *ir.Program, from, to int) *ir.Program {
	q := &ir.Program{Name: p.Name, Outputs: p.Outputs}
	types := map[ir.ID]ir.Type{}
	for _, t := range p.Inputs {
		t.Shape = slices.Clone(t.Shape)
		for i, d := range t.Shape {
			if d == from {
				t.Shape[i] = to
			}
		}
		types[t.ID] = t.Type
		q.Inputs = append(q.Inputs, t)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		m := ir.Node{Row: n.Row, Attrs: slices.Clone(n.Attrs), Site: n.Site}
		for k := range m.Attrs {
			if name := n.Row.Attrs[k].Name; name == "shape" || name == "sizes" {
				m.Attrs[k].List = slices.Clone(m.Attrs[k].List)
				for j, d := range m.Attrs[k].List {
					if d == int64(from) {
						m.Attrs[k].List[j] = int64(to)
					}
				}
			}
		}
		for _, t := range n.In {
			m.In = append(m.In, ir.Tensor{ID: t.ID, Type: types[t.ID]})
		}
		out, err := ir.Infer(n.Row, m.InTypes(), m.Attrs)
		if err != nil || len(out) != len(n.Out) {
			return nil
		}
		for j, t := range n.Out {
			if out[j].Shape.Size() > 1<<18 {
				return nil
			}
			types[t.ID] = out[j]
			m.Out = append(m.Out, ir.Tensor{ID: t.ID, Type: out[j]})
		}
		q.Nodes = append(q.Nodes, m)
	}
	if q.Verify() != nil {
		return nil
	}
	return q
}
