package onnx

import (
	"slices"
	"strings"
)

// body compiles the nodes of a graph into the block of n.
func (c *compiler) body(n *names, g *Graph) {
	c.nodes(n, g.Nodes)
	for _, o := range g.Outputs {
		r, ok := n.find(o.Name)
		if !ok {
			c.problem(strings.TrimSuffix(n.prefix, " / "), "output %q of the graph %q is made by no node", o.Name, g.Name)
			r = ref{slot: -1}
		}
		n.block.outputs = append(n.block.outputs, r)
	}
	if c.problems == nil {
		n.block.prune()
	}
}

// nodes compiles nodes, in an order in which values are made before they are
// used.
func (c *compiler) nodes(n *names, nodes []*Node) {
	for _, node := range c.sorted(n, nodes) {
		if c.steps++; c.steps > maxSteps {
			if c.steps == maxSteps+1 {
				c.problem("the model", "more than %d nodes after functions are expanded", maxSteps)
			}
			return
		}
		c.node(n, node)
	}
}

// sorted returns nodes in a valid order, which most files have. Nodes on a cycle,
// or after one, are a problem and left out.
func (c *compiler) sorted(n *names, nodes []*Node) []*Node {
	made := make(map[string]int, len(nodes)) // by which node
	for i, node := range nodes {
		for _, o := range node.Outputs {
			if o == "" {
				continue
			}
			_, local := n.slots[o]
			if _, twice := made[o]; twice || local {
				c.problem(n.prefix+node.label(), "makes the value %q, which exists already", short(o))
				continue
			}
			made[o] = i
		}
	}
	waits := make([]int, len(nodes))
	users := make([][]int, len(nodes))
	inOrder := true
	for i, node := range nodes {
		eachName(node, func(name string) {
			if j, ok := made[name]; ok {
				users[j] = append(users[j], i)
				waits[i]++
				inOrder = inOrder && j < i
			}
		})
	}
	if inOrder {
		return nodes
	}
	var ready []int
	for i := range nodes {
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	out := make([]*Node, 0, len(nodes))
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		out = append(out, nodes[i])
		for _, u := range users[i] {
			if waits[u]--; waits[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	if len(out) < len(nodes) {
		var stuck []string
		for i, node := range nodes {
			if waits[i] > 0 && len(stuck) < 5 {
				stuck = append(stuck, node.label())
			}
		}
		c.problem("the model", "%d nodes need each other's outputs, or those of such nodes: %s", len(nodes)-len(out), strings.Join(stuck, ", "))
	}
	return out
}

// eachName calls f for the names of values that a node uses, those that its
// graphs take from outside included.
func eachName(node *Node, f func(string)) {
	for _, in := range node.Inputs {
		if in != "" {
			f(in)
		}
	}
	for _, a := range node.Attrs {
		if a.Graph != nil {
			freeNames(a.Graph, f)
		}
		for _, g := range a.Graphs {
			freeNames(g, f)
		}
	}
}

func freeNames(g *Graph, f func(string)) {
	own := map[string]bool{}
	for _, in := range g.Inputs {
		own[in.Name] = true
	}
	for _, t := range g.Initializers {
		own[t.Name] = true
	}
	for _, node := range g.Nodes {
		for _, o := range node.Outputs {
			own[o] = true
		}
	}
	free := func(name string) {
		if !own[name] {
			f(name)
		}
	}
	for _, node := range g.Nodes {
		eachName(node, free)
	}
	for _, o := range g.Outputs {
		free(o.Name)
	}
}

// node compiles one node: a call of a function, a constant, or a step.
func (c *compiler) node(n *names, node *Node) {
	label := n.prefix + node.label()
	in := make([]ref, len(node.Inputs))
	for i, name := range node.Inputs {
		in[i] = ref{slot: -1}
		if name == "" {
			continue
		}
		r, ok := n.find(name)
		if !ok {
			c.problem(label, "input %d, %q, is made by no node, input or initializer", i, short(name))
			continue
		}
		in[i] = r
	}
	for len(in) > 0 && node.Inputs[len(in)-1] == "" { // left out at the end
		in = in[:len(in)-1]
	}
	if f := c.funcs[funcKey{node.Domain, node.Op, node.Overload}]; f != nil {
		c.call(n, node, f, in, label)
		return
	}
	s := &step{node: node, label: label, in: in, attrs: make(map[string]*Attr, len(node.Attrs))}
	defer func() { // also after a problem, so that users of the outputs are checked
		for i, o := range node.Outputs {
			if _, ok := n.slots[o]; !ok && o != "" {
				slot := n.define(o)
				if i < len(s.out) {
					s.out[i] = slot
				}
			}
		}
		if len(c.problems) == 0 && !c.folder.fold(n, s) {
			n.block.steps = append(n.block.steps, s)
		}
	}()
	version, ok := n.opsets[node.Domain]
	if !ok {
		if version = 1; node.Domain == "" {
			c.problem(label, "the model imports no opset of ai.onnx")
			return
		}
	}
	op, err := lookup(node.Domain, node.Op, version)
	if err != nil {
		c.problem(label, "%v", err)
		return
	}
	s.op, s.opset = op, int(version)
	s.out = make([]int, len(node.Outputs))
	for i := range s.out {
		s.out[i] = -1
	}
	if !op.in.holds(len(in)) {
		c.problem(label, "has %d inputs, the operator takes %s", len(in), op.in)
	}
	for i := range min(op.in.least, len(in)) {
		if node.Inputs[i] == "" && !slices.Contains(op.optional, i) {
			c.problem(label, "input %d is left out, the operator needs it", i)
		}
	}
	if !op.out.holds(len(node.Outputs)) {
		c.problem(label, "has %d outputs, the operator makes %s", len(node.Outputs), op.out)
	}
	c.attrs(n, s, label)
}

// attrs checks the attributes of a step, with those of an enclosing function in
// the place of references, and compiles graphs.
func (c *compiler) attrs(n *names, s *step, label string) {
	for _, a := range s.node.Attrs {
		name := a.Name
		if a.Ref != "" {
			outer, ok := n.attr(a.Ref)
			if !ok {
				continue // not given and without a default: left out
			}
			a = outer
		}
		if s.attrs[name] != nil {
			c.problem(label, "has the attribute %s twice", name)
		}
		spec := s.op.spec(name)
		switch {
		case spec == nil:
			c.problem(label, "the attribute %s is not supported", name)
			continue
		case a.Kind != spec.kind:
			c.problem(label, "the attribute %s is of type %s, expected %s", name, a.Kind, spec.kind)
			continue
		case a.Kind == AttrTensor && a.Tensor == nil, a.Kind == AttrGraph && a.Graph == nil:
			c.problem(label, "the attribute %s is empty", name)
			continue
		}
		s.attrs[name] = a
		if a.Kind == AttrGraph {
			if s.blocks == nil {
				s.blocks = map[string]*block{}
			}
			s.blocks[name] = c.graph(a.Graph, n, label)
		}
	}
	for _, spec := range s.op.attrs {
		if spec.required && s.attrs[spec.name] == nil {
			c.problem(label, "the attribute %s is missing", spec.name)
		}
	}
}

func (d *opDef) spec(name string) *attrSpec {
	for i := range d.attrs {
		if d.attrs[i].name == name {
			return &d.attrs[i]
		}
	}
	return nil
}

// attr returns the attribute of the function around n.
func (n *names) attr(name string) (*Attr, bool) {
	for s := n; s != nil; s = s.outer {
		if s.inFunc {
			a, ok := s.attrs[name]
			return a, ok
		}
	}
	return nil, false
}

// call expands a function in the place of a node.
func (c *compiler) call(n *names, node *Node, f *Function, in []ref, label string) {
	define := func() {
		for _, o := range node.Outputs {
			if _, ok := n.slots[o]; !ok && o != "" {
				n.define(o)
			}
		}
	}
	if c.calls++; c.calls > maxCallNest {
		c.problem(label, "functions call each other more than %d deep", maxCallNest)
		c.calls--
		define()
		return
	}
	defer func() { c.calls-- }()
	if len(in) > len(f.Inputs) || len(node.Outputs) > len(f.Outputs) {
		c.problem(label, "has %d inputs and %d outputs, the function has %d and %d", len(in), len(node.Outputs), len(f.Inputs), len(f.Outputs))
		define()
		return
	}
	opsets := f.Opsets
	if len(opsets) == 0 {
		opsets = n.opsets
	}
	inner := &names{outer: n, block: n.block, slots: map[string]int{}, alias: map[string]ref{}, attrs: map[string]*Attr{}, inFunc: true,
		opsets: opsets, prefix: inside(label)}
	for i, name := range f.Inputs {
		r := ref{slot: -1}
		if i < len(in) {
			r = in[i]
		}
		inner.alias[name] = r
	}
	for _, a := range f.Defaults {
		inner.attrs[a.Name] = a
	}
	for _, a := range node.Attrs {
		name := a.Name
		if a.Ref != "" {
			outer, ok := n.attr(a.Ref)
			if !ok {
				continue
			}
			a = outer
		}
		inner.attrs[name] = a
	}
	for _, name := range f.Required {
		if inner.attrs[name] == nil {
			c.problem(label, "the attribute %s is missing", name)
		}
	}
	before := len(c.problems)
	c.nodes(inner, f.Nodes)
	for i, o := range node.Outputs {
		if o == "" {
			continue
		}
		r, ok := inner.find(f.Outputs[i])
		if !ok {
			if len(c.problems) == before {
				c.problem(label, "output %q of the function is made by no node", f.Outputs[i])
			}
			if _, have := n.slots[o]; !have {
				n.define(o)
			}
			continue
		}
		if n.alias == nil {
			n.alias = map[string]ref{}
		}
		if _, twice := n.slots[o]; twice {
			c.problem(label, "makes the value %q, which exists already", o)
			continue
		}
		n.alias[o] = r
	}
}
