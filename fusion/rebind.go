package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// structure is what of a search does not depend on sizes: its units, and the
// groups in their order, without the tree of merges.
type structure struct {
	g      *graph
	units  []unit
	byNode [][]int
	order  []*group
}

// structureOf copies the structure of a search.
func (s *search) structureOf(order []*group) *structure {
	st := &structure{g: s.g, byNode: s.byNode}
	st.units, st.order = copyGroups(s.units, order)
	return st
}

// copyGroups copies units and groups, without what is laid out.
func copyGroups(units []unit, order []*group) ([]unit, []*group) {
	copies := map[*group]*group{}
	fresh := func(gr *group) *group {
		c := &group{units: slices.Clone(gr.units), kind: gr.kind, fixed: gr.fixed, custom: gr.custom, nodes: gr.nodes, fuser: gr.fuser}
		copies[gr] = c
		return c
	}
	out := make([]*group, len(order))
	for i, gr := range order {
		out[i] = fresh(gr)
		if gr.kind == packGroup {
			for _, k := range gr.leaves() {
				c := fresh(k)
				c.pack = out[i]
				out[i].kids = append(out[i].kids, c)
			}
		}
	}
	u := slices.Clone(units)
	for i := range u {
		u[i].group = copies[u[i].group]
	}
	return u, out
}

// Rebind makes the plan of a segment from the plan of one that differs only in
// sizes and in the values of attributes: the same groups in the same order, laid
// out and compiled for the new sizes. An error, of kind [ir.ErrUnsupported], says
// which guard failed: what of the old plan does not hold for the new sizes.
func (p *Planner) Rebind(old *Plan, seg *Segment) (*Plan, error) {
	g, err := newGraph(seg)
	if err != nil {
		return nil, err
	}
	st := old.structure
	if st == nil {
		return nil, guard("the plan has no structure")
	}
	if err := st.g.like(g); err != nil {
		return nil, err
	}
	return p.rebuild(g, st, old.Refusals)
}

// rebuild makes the plan of a graph that has the groups of a structure.
func (p *Planner) rebuild(g *graph, st *structure, refusals []Refusal) (*Plan, error) {
	s := &search{p: p, g: g, byNode: st.byNode, refusals: refusals}
	s.units, s.groups = copyGroups(st.units, st.order)
	for _, top := range s.groups {
		for _, gr := range top.leaves() {
			if gr.kind != kernelGroup {
				continue
			}
			if r := s.lower(gr); r != nil {
				return nil, guard("the nodes from %d on: %s %s", s.first(gr), r.Rule, r.Detail)
			}
			if len(gr.units) > 1 && s.apart(gr) {
				return nil, guard("the nodes from %d on: %s", s.first(gr), RuleApart)
			}
			generated, err := s.generate(gr)
			if err != nil {
				return nil, err
			}
			if !generated && len(gr.units) > 1 {
				return nil, guard("the nodes from %d on: %s", s.first(gr), RuleNotGenerated)
			}
		}
	}
	baseline := g.unfusedCost()
	plan, err := s.plan(s.groups, s.steps(s.groups), baseline)
	if err != nil {
		return nil, err
	}
	if !plan.Fused.within(baseline) {
		return nil, guard("it costs %+v, and %+v unfused", plan.Fused, baseline)
	}
	return plan, nil
}

func guard(format string, args ...any) error {
	e := ir.Errorf(ir.ErrUnsupported, format, args...)
	e.Msg = "the plan does not fit other sizes: " + e.Msg
	return e
}

// like reports what keeps a plan of one graph from being one of the other.
func (g *graph) like(o *graph) error {
	switch {
	case len(g.Nodes) != len(o.Nodes) || len(g.tensors) != len(o.tensors) || len(g.Inputs) != len(o.Inputs):
		return guard("%d nodes and %d tensors, expected %d and %d", len(o.Nodes), len(o.tensors), len(g.Nodes), len(g.tensors))
	case !slices.Equal(g.root, o.root) || !slices.Equal(g.free, o.free):
		return guard("other views need a copy")
	case !slices.Equal(g.kept, o.kept) || !slices.Equal(g.dies, o.dies) || !slices.Equal(g.live, o.live):
		return guard("other results outlive the segment")
	}
	for i := range g.Nodes {
		if g.Nodes[i].Row != o.Nodes[i].Row {
			return guard("node %d is %s, expected %s", i, o.Nodes[i].Row.Name, g.Nodes[i].Row.Name)
		}
	}
	for id := range g.tensors {
		a, b := &g.tensors[id], &o.tensors[id]
		if a.DType != b.DType || len(a.Shape) != len(b.Shape) || (a.Shape.Size() == 0) != (b.Shape.Size() == 0) {
			return guard("%%%d is %v, expected one like %v", id, b.Type, a.Type)
		}
	}
	return nil
}
