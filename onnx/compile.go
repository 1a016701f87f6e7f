package onnx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// Bounds of a model, which hostile files meet and others do not.
const (
	maxProblems  = 50      // listed in one error
	maxSteps     = 200_000 // nodes after functions are expanded
	maxCallNest  = 64      // functions in functions
	maxGraphNest = 64      // graphs in graphs
)

// compiler turns a model into blocks and collects what is wrong with it.
type compiler struct {
	model    *Model
	opts     options
	problems []string
	dropped  int
	steps    int
	calls    int // depth of functions
	graphs   int // depth of graphs
	funcs    map[funcKey]*Function
	folder   *folder
}

type funcKey struct{ domain, name, overload string }

// names resolves the names of values in one graph, or in one call of a function.
type names struct {
	outer  *names
	block  *block
	slots  map[string]int
	alias  map[string]ref   // parameters of a function: values of its caller
	attrs  map[string]*Attr // that references in the function stand for
	inFunc bool
	opsets map[string]int64
	prefix string // of labels
}

// Compile checks the whole model and prepares it to run. The error lists all
// that is wrong or not supported, with the names of nodes, up to a limit.
func (m *Model) Compile(opts ...Option) (*Program, error) {
	c := &compiler{model: m, funcs: map[funcKey]*Function{}}
	for _, o := range opts {
		o(&c.opts)
	}
	if len(m.Opsets) == 0 {
		c.problem("the model", "imports no opset")
	}
	if v, ok := m.Opsets[""]; ok && (v < 1 || v > newestOpset) {
		c.problem("the model", "imports opset %d; 1 to %d are supported", v, newestOpset)
	}
	for _, f := range m.Functions {
		c.funcs[funcKey{f.Domain, f.Name, f.Overload}] = f
	}
	p := &Program{model: m, defaults: map[string]*Value{}, device: c.opts.device, observe: c.opts.observe}
	c.folder = newFolder(c)
	defer c.folder.close()
	p.main = c.program(m.Graph, p)
	if err := c.err(); err != nil {
		return nil, err
	}
	p.shared, p.draws = p.main.constants(nil), sinter.NewGenerator(c.opts.seed)
	return p, nil
}

func (c *compiler) problem(where, format string, args ...any) {
	if len(c.problems) >= maxProblems {
		c.dropped++
		return
	}
	c.problems = append(c.problems, where+": "+fmt.Sprintf(format, args...))
}

func (c *compiler) err() error {
	switch {
	case len(c.problems) == 0:
		return nil
	case len(c.problems) == 1:
		return ir.Errorf(ir.ErrUnsupported, "onnx: %s", c.problems[0])
	}
	list := strings.Join(c.problems, "\n\t")
	if c.dropped > 0 {
		list += fmt.Sprintf("\n\tand %d more", c.dropped)
	}
	return ir.Errorf(ir.ErrUnsupported, "onnx: the model has %d problems:\n\t%s", len(c.problems)+c.dropped, list)
}

// program compiles the main graph.
func (c *compiler) program(g *Graph, p *Program) *block {
	b := &block{fixed: map[int]*Value{}}
	n := &names{block: b, slots: map[string]int{}, opsets: c.model.Opsets}
	inits := c.initializers(g)
	seen := map[string]bool{}
	for _, in := range g.Inputs {
		if seen[in.Name] {
			c.problem("the model", "two inputs are named %q", in.Name)
			continue
		}
		seen[in.Name] = true
		c.checkType(fmt.Sprintf("input %q", in.Name), in.Type)
		v, isInit := inits[in.Name]
		if isInit && c.model.IRVersion < 4 { // listed, but constants all the same
			continue
		}
		if isInit {
			p.defaults[in.Name] = v
			delete(inits, in.Name)
		}
		slot := n.define(in.Name)
		b.inputs = append(b.inputs, slot)
		p.inputs = append(p.inputs, in)
	}
	c.fixInits(n, g, inits)
	p.outputs = g.Outputs
	outs := map[string]bool{}
	for _, o := range g.Outputs {
		if outs[o.Name] {
			c.problem("the model", "two outputs are named %q", o.Name)
		}
		outs[o.Name] = true
	}
	c.body(n, g)
	return b
}

// graph compiles a graph of an attribute.
func (c *compiler) graph(g *Graph, outer *names, label string) *block {
	b := &block{fixed: map[int]*Value{}}
	n := &names{outer: outer, block: b, slots: map[string]int{}, opsets: outer.opsets, prefix: inside(label)}
	if c.graphs++; c.graphs > maxGraphNest {
		c.problem(label, "graphs are nested more than %d deep", maxGraphNest)
		c.graphs--
		return b
	}
	defer func() { c.graphs-- }()
	inits := c.initializers(g)
	for _, in := range g.Inputs {
		if _, twice := n.slots[in.Name]; twice {
			c.problem(label, "two inputs of its graph are named %q", in.Name)
		}
		delete(inits, in.Name)
		b.inputs = append(b.inputs, n.define(in.Name))
	}
	c.fixInits(n, g, inits)
	c.body(n, g)
	return b
}

// initializers returns the constants of a graph by name.
func (c *compiler) initializers(g *Graph) map[string]*Value {
	out := make(map[string]*Value, len(g.Initializers))
	for _, t := range g.Initializers {
		if t.Name == "" {
			c.problem("an initializer", "has no name")
			continue
		}
		if out[t.Name] != nil {
			c.problem(fmt.Sprintf("initializer %q", t.Name), "exists twice")
			continue
		}
		v, err := c.constant(t)
		if err != nil {
			c.problem(fmt.Sprintf("initializer %q", t.Name), "%v", err)
			v = ArrayValue(Float, sinter.Array{DType: sinter.F32, Shape: []int{0}}) // nodes that use it are checked all the same
		}
		out[t.Name] = v
	}
	for _, s := range g.Sparse {
		if s.Values == nil || s.Values.Name == "" {
			c.problem("a sparse initializer", "has no name or no values")
			continue
		}
		v, err := s.dense()
		if err != nil {
			c.problem(fmt.Sprintf("initializer %q", s.Values.Name), "%v", err)
			v = ArrayValue(Float, sinter.Array{DType: sinter.F32, Shape: []int{0}})
		}
		out[s.Values.Name] = v
	}
	return out
}

func (c *compiler) fixInits(n *names, g *Graph, inits map[string]*Value) {
	fix := func(name string) {
		if v, ok := inits[name]; ok {
			delete(inits, name)
			n.fix(name, v)
		}
	}
	for _, t := range g.Initializers {
		fix(t.Name)
	}
	for _, s := range g.Sparse {
		if s.Values != nil {
			fix(s.Values.Name)
		}
	}
}

// constant makes a value of a tensor of the file.
func (c *compiler) constant(t *Tensor) (*Value, error) {
	if t.Elem == String {
		return stringsValue(t)
	}
	a, err := t.Array()
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("tensor %q: ", t.Name)))
	}
	return ArrayValue(t.Elem, a), nil
}

func stringsValue(t *Tensor) (*Value, error) {
	shape, size, err := shapeOf(t.Dims)
	if err != nil {
		return nil, err
	}
	if size != len(t.Strs) {
		return nil, fmt.Errorf("%d strings, the extents %v need %d", len(t.Strs), t.Dims, size)
	}
	return HostValue(&Host{Elem: String, Shape: shape, Strs: t.Strs}), nil
}

// checkType notes types of inputs that no value can have.
func (c *compiler) checkType(where string, t *Type) {
	switch {
	case t == nil:
	case t.Other != "":
		c.problem(where, "values of type %s are not supported", t.Other)
	case t.Sequence != nil:
		c.checkType(where, t.Sequence)
	case t.Optional != nil:
		c.checkType(where, t.Optional)
	case t.Elem != String && !t.Elem.DType().Valid():
		c.problem(where, "elements of type %s are not supported", t.Elem)
	}
}

// define makes a slot for a value of the graph.
func (n *names) define(name string) int {
	slot := n.block.slots
	n.block.slots++
	if name != "" {
		n.slots[name] = slot
	}
	return slot
}

// fix makes a slot for a constant.
func (n *names) fix(name string, v *Value) {
	slot := n.define(name)
	n.block.fix(slot, v)
}

func (b *block) fix(slot int, v *Value) {
	b.consts = append(b.consts, slotValue{slot, v})
	b.fixed[slot] = v
}

// find returns the value that a name stands for, seen from the block of n.
func (n *names) find(name string) (ref, bool) {
	up := 0
	for s := n; s != nil; s = s.outer {
		if slot, ok := s.slots[name]; ok {
			return ref{up, slot}, true
		}
		if r, ok := s.alias[name]; ok {
			if r.slot < 0 {
				return r, true
			}
			return ref{up + r.up, r.slot}, true
		}
		if s.inFunc { // functions see their parameters only
			return ref{}, false
		}
		if s.outer != nil && s.outer.block != s.block {
			up++
		}
	}
	return ref{}, false
}

// constOf returns the constant that a reference names, if it is one.
func (n *names) constOf(r ref) (*Value, bool) {
	if r.slot < 0 {
		return nil, true
	}
	b := n.block
	s := n
	for range r.up {
		for s != nil && s.block == b {
			s = s.parent()
		}
		if s == nil {
			return nil, false
		}
		b = s.block
	}
	v, ok := b.fixed[r.slot]
	return v, ok
}

// parent returns the names around n, those of a function's caller included.
func (n *names) parent() *names { return n.outer }

// newestOpset is the newest version of ai.onnx that the table was written for.
const newestOpset = 28
