package onnx

import (
	"sort"
)

// OperatorUse is an operator with the number of nodes that apply it, graphs of
// attributes and bodies of functions included.
type OperatorUse struct {
	Domain   string // "" is ai.onnx
	Name     string
	Opset    int64 // that the model imports of the domain; 0 if it imports none
	Count    int
	Function bool  // the model defines it
	Err      error // why it does not run; nil if it does
}

// Operators returns the operators of the model in the order of domains and
// names.
func (m *Model) Operators() []OperatorUse {
	funcs := map[opKey]bool{}
	for _, f := range m.Functions {
		funcs[opKey{f.Domain, f.Name}] = true
	}
	type use struct {
		opKey
		opset int64
	}
	found := map[use]*OperatorUse{}
	m.eachNode(func(n *Node, opsets map[string]int64) {
		k := use{opKey{n.Domain, n.Op}, opsets[n.Domain]}
		u := found[k]
		if u == nil {
			u = &OperatorUse{Domain: n.Domain, Name: n.Op, Opset: k.opset, Function: funcs[k.opKey]}
			if !u.Function {
				version := k.opset
				if version == 0 && n.Domain != "" {
					version = 1
				}
				_, u.Err = lookup(n.Domain, n.Op, version)
			}
			found[k] = u
		}
		u.Count++
	})
	out := make([]OperatorUse, 0, len(found))
	for _, u := range found {
		out = append(out, *u)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.Domain != b.Domain {
			return a.Domain < b.Domain
		}
		if a.Name != b.Name {
			return a.Name < b.Name
		}
		return a.Opset < b.Opset
	})
	return out
}

// eachNode calls f for all nodes, with the opsets that hold for them.
func (m *Model) eachNode(f func(*Node, map[string]int64)) {
	var nodes func([]*Node, map[string]int64)
	nodes = func(list []*Node, opsets map[string]int64) {
		for _, n := range list {
			f(n, opsets)
			for _, a := range n.Attrs {
				if a.Graph != nil {
					nodes(a.Graph.Nodes, opsets)
				}
				for _, g := range a.Graphs {
					nodes(g.Nodes, opsets)
				}
			}
		}
	}
	nodes(m.Graph.Nodes, m.Opsets)
	for _, fn := range m.Functions {
		opsets := fn.Opsets
		if len(opsets) == 0 {
			opsets = m.Opsets
		}
		nodes(fn.Nodes, opsets)
	}
}

// Release gives up the tensors of a value that a run returned. An output that is
// an input of the run as it was shares the input's tensor.
func (v *Value) Release() {
	if v == nil {
		return
	}
	if v.fixed == nil && v.tensor != nil {
		v.tensor.Release()
	}
	for _, e := range v.seq {
		e.Release()
	}
}
