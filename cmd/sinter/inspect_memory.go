package main

import (
	"maps"

	"github.com/sinter-go/sinter/onnx"
)

// liveness counts the bytes of values between the node that makes them and the
// last one of its graph that uses them.
type liveness struct {
	of   map[*onnx.Node]*graphValues // the graph of each node
	now  int64
	peak int64
	at   string // the node at which the peak was reached first
}

// graphValues are the values of one graph while it runs.
type graphValues struct {
	uses map[string]int  // by nodes of the graph
	kept map[string]bool // inputs, the caller's, and outputs
	left map[string]int  // uses still to come
	size map[string]int64
	ran  map[*onnx.Node]bool
}

func newLiveness(m *onnx.Model) *liveness {
	l := &liveness{of: map[*onnx.Node]*graphValues{}}
	l.graph(m.Graph)
	return l
}

func (l *liveness) graph(g *onnx.Graph) {
	v := &graphValues{uses: map[string]int{}, kept: map[string]bool{}}
	for _, n := range g.Nodes {
		for name := range usedNames(n) {
			v.uses[name]++
		}
		l.of[n] = v
		for _, a := range n.Attrs {
			if a.Graph != nil {
				l.graph(a.Graph)
			}
		}
	}
	for _, list := range [][]*onnx.ValueInfo{g.Inputs, g.Outputs} {
		for _, o := range list {
			v.kept[o.Name] = true
		}
	}
	l.begin(v)
}

// begin forgets what an execution of a graph has made.
func (l *liveness) begin(v *graphValues) {
	for _, n := range v.size {
		l.now -= n
	}
	v.left, v.size, v.ran = maps.Clone(v.uses), map[string]int64{}, map[*onnx.Node]bool{}
}

// end forgets what the graphs inside of a node have made.
func (l *liveness) end(n *onnx.Node) {
	for _, a := range n.Attrs {
		if a.Graph == nil {
			continue
		}
		for _, inner := range a.Graph.Nodes {
			l.end(inner)
			l.begin(l.of[inner])
		}
	}
}

// usedNames are the values that a node uses, graphs inside of it included.
func usedNames(n *onnx.Node) map[string]bool {
	names := map[string]bool{}
	var add func(*onnx.Node)
	add = func(n *onnx.Node) {
		for _, in := range n.Inputs {
			if in != "" {
				names[in] = true
			}
		}
		for _, a := range n.Attrs {
			if a.Graph == nil {
				continue
			}
			for _, inner := range a.Graph.Nodes {
				add(inner)
			}
			for _, o := range a.Graph.Outputs {
				names[o.Name] = true
			}
		}
	}
	add(n)
	return names
}

// step notes a node that has run. Nodes of functions count as one, with the node
// that calls them.
func (l *liveness) step(s onnx.Step) {
	g := l.of[s.Node]
	if g == nil {
		return
	}
	if g.ran[s.Node] { // the next turn of a loop
		l.begin(g)
	}
	g.ran[s.Node] = true
	for i, v := range s.Outputs {
		if i >= len(s.Node.Outputs) || v == nil || s.Host || v.IsSequence() || v.IsNone() || v.Elem == onnx.String {
			continue
		}
		n := int64(v.Size()) * int64(v.Elem.DType().Size())
		g.size[s.Node.Outputs[i]] = n
		l.now += n
	}
	if l.now > l.peak {
		l.peak, l.at = l.now, s.Label
	}
	l.end(s.Node)
	for name := range usedNames(s.Node) {
		if g.left[name]--; g.left[name] == 0 && !g.kept[name] {
			l.now -= g.size[name]
			delete(g.size, name)
		}
	}
}
