package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// finish lays out what is left, orders it under the peak of the baseline, compiles
// it, and writes the plan.
func (s *search) finish(baseline Cost) (*Plan, error) {
	for {
		s.lowerAll()
		order, steps := s.arrange(baseline.Peak)
		if len(order) != len(s.groups) {
			return nil, ir.Errorf(ir.ErrInternal, "the groups of a plan depend on each other")
		}
		if s.unlowered() { // what was taken apart
			continue
		}
		if !s.compile() {
			return s.plan(order, steps, baseline)
		}
	}
}

func (s *search) unlowered() bool {
	return slices.ContainsFunc(s.groups, func(top *group) bool {
		return slices.ContainsFunc(top.leaves(), func(gr *group) bool { return gr.kind == kernelGroup && gr.lowered == nil })
	})
}

// plan writes the blocks of the groups in order, with the views that somebody
// needs after the block that stores their root.
func (s *search) plan(order []*group, steps []step, baseline Cost) (*Plan, error) {
	g := s.g
	p := &Plan{Segment: g.Segment, Unfused: baseline, structure: s.structureOf(order)}
	last := g.lastUses(steps)
	views := s.outsideViews()
	place := func(root ir.ID) { // the views of a root, once it is there
		for _, i := range views[root] {
			t := g.Nodes[i].Out[0]
			p.Blocks = append(p.Blocks, Block{Kind: ViewBlock, Nodes: []int{i}, Routine: -1,
				Views: []ViewOf{{ID: t.ID, Of: root, Layout: g.layout[t.ID]}}})
		}
	}
	if b := s.unneeded(order, last, views); b != nil {
		p.Blocks = append(p.Blocks, *b)
	}
	for _, t := range g.Inputs {
		if g.root[t.ID] == t.ID {
			place(t.ID)
		}
	}
	for i, gr := range order {
		b, err := s.block(gr, steps[i])
		if err != nil {
			return nil, err
		}
		b.Last = steps[i].dead(g, last, i)
		c := s.stepCost(gr, steps[i])
		b.Launches, b.Read, b.Written = c.Launches, c.Read, c.Written
		p.Fused.add(c)
		p.Blocks = append(p.Blocks, *b)
		for _, id := range b.Stored {
			place(id)
		}
	}
	p.Peak, _ = g.peak(steps)
	p.Fused.Peak = p.Peak
	p.Lowerings = s.laidOut
	s.settleRefusals(p)
	return p, nil
}

// outsideViews returns, per root, the free view nodes whose results are needed
// outside the group that computes the root, or are kept, in recorded order.
func (s *search) outsideViews() map[ir.ID][]int {
	g := s.g
	need := make([]bool, len(g.Nodes))
	mark := func(id ir.ID) {
		for _, i := range g.chain(id) {
			need[i] = true
		}
	}
	for i := range g.Nodes {
		if g.free[i] && g.keeps(g.Nodes[i].Out[0].ID) {
			mark(g.Nodes[i].Out[0].ID)
		}
	}
	for u := range s.order() {
		x := &s.units[u]
		for _, t := range g.Nodes[x.node].In {
			if !s.inside(x, g.root[t.ID]) {
				mark(t.ID)
			}
		}
	}
	out := map[ir.ID][]int{}
	for i, n := range need {
		if n {
			r := g.root[g.Nodes[i].Out[0].ID]
			out[r] = append(out[r], i)
		}
	}
	return out
}

// block writes the block of a group.
func (s *search) block(gr *group, st step) (*Block, error) {
	b := &Block{Kind: KernelBlock, Stored: st.stored, Routine: -1, Fuser: s.fuserName(gr)}
	switch gr.kind {
	case routineGroup:
		b.Kind, b.Routine, b.Nodes = RoutineBlock, s.first(gr), []int{s.first(gr)}
		return b, nil // a device that lacks the operation says so itself, and the others run
	case customGroup:
		b.Kind, b.Optimization, b.Fuser = CustomBlock, gr.custom, gr.fuser
		b.Nodes = s.members(gr)
		return b, nil
	}
	for _, k := range gr.leaves() {
		l := k.lowered
		b.Nodes = append(b.Nodes, l.nodes...)
		for i, p := range l.block.Pieces {
			bound := BoundPiece{Piece: p, Nodes: l.nodes, Over: make([]ir.ID, len(p.Args))}
			if l.kernels != nil {
				bound.Kernel = l.kernels[i]
			}
			for j, a := range p.Args {
				if at := slices.Index(st.stored, a.Tensor); at >= 0 && st.over != nil {
					bound.Over[j] = st.over[at]
				}
			}
			b.Pieces = append(b.Pieces, bound)
		}
	}
	slices.Sort(b.Nodes)
	b.Nodes = slices.Compact(b.Nodes)
	return b, nil
}

// stepCost is the cost of a block: of a pack, one launch that reads each base once.
func (s *search) stepCost(gr *group, st step) Cost {
	if gr.kind != packGroup {
		return s.cost(gr)
	}
	c := Cost{}
	for _, k := range gr.leaves() {
		c.add(s.cost(k))
	}
	c.Launches = 1
	r := &reads{}
	s.eachUnit(gr, func(u int) {
		x := &s.units[u]
		for _, t := range s.g.Nodes[x.node].In {
			if !s.inside(x, s.g.root[t.ID]) {
				r.add(s.g, t.ID)
			}
		}
	})
	c.Read = r.total()
	return c
}

// unneeded returns the block of the nodes that nothing needs, which frees the dying
// inputs that nothing reads; nil if there are neither.
func (s *search) unneeded(order []*group, last []int, views map[ir.ID][]int) *Block {
	covered := make([]bool, len(s.g.Nodes))
	for _, gr := range order {
		for _, k := range gr.leaves() {
			for _, i := range s.members(k) {
				covered[i] = true
			}
		}
	}
	for _, list := range views {
		for _, i := range list {
			covered[i] = true
		}
	}
	b := &Block{Kind: DeadBlock, Routine: -1}
	for i, c := range covered {
		if !c {
			b.Nodes = append(b.Nodes, i)
		}
	}
	for _, t := range s.g.Inputs {
		if s.g.root[t.ID] == t.ID && s.g.dies[t.ID] && last[t.ID] == unread {
			b.Last = append(b.Last, t.ID)
		}
	}
	if b.Nodes == nil && b.Last == nil {
		return nil
	}
	return b
}

// settleRefusals keeps the refusals between nodes that ended in different blocks,
// the last of each pair and rule, and gives the blocks theirs.
func (s *search) settleRefusals(p *Plan) {
	home := make([]int, len(s.g.Nodes))
	for i := range home {
		home[i] = -1
	}
	for k, b := range p.Blocks {
		for _, i := range b.Nodes {
			if b.Kind != ViewBlock && home[i] < 0 {
				home[i] = k
			}
		}
	}
	type pair struct {
		a, b int
		rule string
	}
	seen := map[pair]bool{}
	for i := len(s.refusals) - 1; i >= 0; i-- {
		r := s.refusals[i]
		a, b := home[r.Producer], home[r.Consumer]
		k := pair{a, b, r.Rule}
		if a < 0 || b < 0 || a == b && r.Producer != r.Consumer || seen[k] {
			continue
		}
		seen[k] = true
		p.Refusals = append(p.Refusals, r)
		p.Blocks[a].Refusals = append(p.Blocks[a].Refusals, r)
	}
	slices.Reverse(p.Refusals)
}

// fuserName names what kind of kernel a group is.
func (s *search) fuserName(gr *group) string {
	if gr.kind == packGroup {
		return "many tensors"
	}
	if gr.kind != kernelGroup || len(gr.units) < 2 {
		return ""
	}
	name := "elementwise"
	rank := map[string]int{"elementwise": 0, "join": 1, "gather": 2, "reduce": 3, "row program": 4, "scan": 5, "contraction": 6}
	reduces := 0
	for _, u := range gr.units {
		n := &s.g.Nodes[s.units[u].node]
		is := "elementwise"
		switch n.Row.Access {
		case ir.Join:
			is = "join"
		case ir.Gather:
			is = "gather"
		case ir.Reduce:
			is = "reduce"
			if reduces++; reduces > 1 || !n.Row.HasAttr("keepdims") {
				is = "row program"
			}
		case ir.Scan:
			is = "scan"
		case ir.Contraction:
			is = "contraction"
		}
		if rank[is] > rank[name] {
			name = is
		}
	}
	return name
}
