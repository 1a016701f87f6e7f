package fusion

import (
	"cmp"
	"slices"
)

// A candidate is a group that a fuser would take.
type candidate struct {
	fuser   Fuser
	builder Builder
	nodes   []int // those of the best ready state
	extra   int   // added after it, to be undone
	score   uint64
}

// custom lets the planner's fusers take nodes before the search: each is started at
// every node and offered those that follow, as long as the group could still run as
// one. The best scores win; the search covers what is left.
func (s *search) custom() {
	if len(s.p.Fusers) == 0 {
		return
	}
	var list []candidate
	for _, f := range s.p.Fusers {
		for i := range s.g.Nodes {
			if !s.g.live[i] || s.g.free[i] {
				continue
			}
			if b := f.Start(s.g.Segment, i); b != nil {
				if c := s.grow(f, b, i); c.nodes != nil {
					list = append(list, c)
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(b.nodes), len(a.nodes)), cmp.Compare(a.nodes[0], b.nodes[0]))
	})
	taken := make([]bool, len(s.g.Nodes))
	for _, c := range list {
		if slices.ContainsFunc(c.nodes, func(i int) bool { return taken[i] }) {
			continue
		}
		for range c.extra {
			c.builder.Undo()
		}
		if !s.separable(c.nodes) {
			s.refusals = append(s.refusals, Refusal{Producer: c.nodes[0], Consumer: c.nodes[len(c.nodes)-1], Rule: RuleCycle, Detail: c.fuser.Name()})
			continue
		}
		o, err := c.builder.Finish()
		if err != nil || o == nil {
			detail := c.fuser.Name() + " did not finish"
			if err != nil {
				detail = c.fuser.Name() + ": " + err.Error()
			}
			s.refusals = append(s.refusals, Refusal{Producer: c.nodes[0], Consumer: c.nodes[len(c.nodes)-1], Rule: RuleFuser, Detail: detail})
			continue
		}
		for _, i := range c.nodes {
			taken[i] = true
		}
		s.take(c, o)
	}
	s.drop()
}

// grow offers nodes to a builder and remembers its best ready state.
func (s *search) grow(f Fuser, b Builder, start int) candidate {
	c := candidate{fuser: f, builder: b}
	nodes := []int{start}
	note := func() {
		if p := b.Properties(); p.Ready && (c.nodes == nil || p.Score >= c.score) {
			c.nodes, c.score, c.extra = slices.Clone(nodes), p.Score, 0
		}
	}
	note()
	for j := start + 1; j < len(s.g.Nodes) && b.Status() == Open && len(nodes) < s.p.Options.maxNodes(); j++ {
		if !s.g.live[j] {
			continue
		}
		if !s.convex(append(slices.Clone(nodes), j)) {
			continue
		}
		if r := b.Add(j); r != nil {
			if s.readsOneOf(j, nodes) {
				r.Producer, r.Consumer = nodes[len(nodes)-1], j
				s.refusals = append(s.refusals, *r)
			}
			continue
		}
		nodes = append(nodes, j)
		c.extra++
		note()
	}
	return c
}

// readsOneOf reports whether a node reads a result of one of the others.
func (s *search) readsOneOf(j int, nodes []int) bool {
	for _, t := range s.g.Nodes[j].In {
		if slices.Contains(nodes, s.g.def[t.ID]) {
			return true
		}
	}
	return false
}

// convex reports whether no node outside lies on a way between nodes of the list,
// which is ascending.
func (s *search) convex(nodes []int) bool {
	inside := make(map[int]bool, len(nodes))
	for _, i := range nodes {
		inside[i] = true
	}
	after := map[int]bool{} // outside, and dependent on the group
	for i := nodes[0]; i <= nodes[len(nodes)-1]; i++ {
		depends := false
		for _, t := range s.g.Nodes[i].In {
			d := s.g.def[t.ID]
			if after[d] {
				if inside[i] {
					return false
				}
				depends = true
			}
			depends = depends || inside[d]
		}
		if depends && !inside[i] {
			after[i] = true
		}
	}
	return true
}

// separable reports whether nodes can become a group beside those already taken.
func (s *search) separable(nodes []int) bool {
	m := s.newGroup(nil)
	old := map[int]*group{}
	for _, i := range nodes {
		for _, u := range s.byNode[i] {
			old[u] = s.units[u].group
			m.units = append(m.units, u)
		}
	}
	if len(m.units) == 0 {
		return false
	}
	for u := range old {
		s.units[u].group = m
	}
	ok := !s.cyclic(m, m)
	for u, gr := range old {
		s.units[u].group = gr
	}
	return ok
}

// take makes a group of the nodes of a finished optimization.
func (s *search) take(c candidate, o Optimization) {
	m := s.newGroup(nil)
	m.kind, m.fixed, m.custom, m.fuser, m.nodes = customGroup, true, o, c.fuser.Name(), c.nodes
	for _, i := range c.nodes {
		if s.g.free[i] {
			continue
		}
		for len(s.byNode[i]) > 1 {
			s.redirect(s.byNode[i][1], s.byNode[i][0])
			s.byNode[i] = slices.Delete(s.byNode[i], 1, 2)
		}
		u := s.byNode[i][0]
		s.units[u].clone = false
		m.units = append(m.units, u)
		m.kids = append(m.kids, s.units[u].group)
	}
	for _, k := range m.kids {
		k.parent = m
	}
	i := slices.Index(s.groups, m.kids[0])
	s.groups[i] = m
	s.groups = slices.DeleteFunc(s.groups, func(gr *group) bool { return gr.parent == m })
	s.adopt(m)
}
