package metamorphic

import "github.com/sinter-go/sinter/ir"

// Shrink drops outputs and nodes from a program as long as it still fails, and
// returns the smallest one found, with its inputs' data.
func Shrink(p *ir.Program, inputs [][]byte, fails func(*ir.Program, [][]byte) bool) (*ir.Program, [][]byte) {
	try := func(q *ir.Program, in [][]byte) bool {
		if len(q.Outputs) == 0 || q.Verify() != nil || !fails(q, in) {
			return false
		}
		p, inputs = q, in
		return true
	}
	for again := true; again; {
		again = false
		for i := len(p.Outputs) - 1; i >= 0 && len(p.Outputs) > 1; i-- {
			q := *p
			q.Outputs = append(append([]ir.ID(nil), p.Outputs[:i]...), p.Outputs[i+1:]...)
			again = try(&q, inputs) || again
		}
		for i := len(p.Nodes) - 1; i >= 0; i-- {
			if i < len(p.Nodes) {
				q, in := without(p, inputs, i)
				again = try(q, in) || again
			}
		}
		for i := 0; i < len(p.Nodes)-1; i++ { // read an operand instead of the result
			q := *p
			q.Outputs = nil
			for _, t := range p.Nodes[i].Out {
				q.Outputs = append(q.Outputs, t.ID)
			}
			q.Nodes = p.Nodes[:i+1]
			again = try(&q, inputs) || again
		}
	}
	return unused(p, inputs)
}

// without removes a node and everything that depends on it.
func without(p *ir.Program, inputs [][]byte, at int) (*ir.Program, [][]byte) {
	gone := map[ir.ID]bool{}
	q := &ir.Program{Name: p.Name, Inputs: p.Inputs}
	for i, n := range p.Nodes {
		drop := i == at
		for _, t := range n.In {
			drop = drop || gone[t.ID]
		}
		if !drop {
			q.Nodes = append(q.Nodes, n)
			continue
		}
		for _, t := range n.Out {
			gone[t.ID] = true
		}
	}
	for _, id := range p.Outputs {
		if !gone[id] {
			q.Outputs = append(q.Outputs, id)
		}
	}
	return q, inputs
}

// unused removes inputs that nothing reads.
func unused(p *ir.Program, inputs [][]byte) (*ir.Program, [][]byte) {
	used := map[ir.ID]bool{}
	for _, n := range p.Nodes {
		for _, t := range n.In {
			used[t.ID] = true
		}
	}
	for _, id := range p.Outputs {
		used[id] = true
	}
	q := &ir.Program{Name: p.Name, Nodes: p.Nodes, Outputs: p.Outputs}
	var in [][]byte
	for i, t := range p.Inputs {
		if used[t.ID] {
			q.Inputs, in = append(q.Inputs, t), append(in, inputs[i])
		}
	}
	return q, in
}
