package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// search looks for the best legal covering of a segment: groups of units grow from
// producer to consumer, then those over one iteration space that read the same
// merge, then equal depths share launches. Every merge keeps the groups free of
// cycles, and the tree of merges is kept, so that each can be taken back alone.
type search struct {
	p      *Planner
	g      *graph
	units  []unit
	byNode [][]int // units of each node
	groups []*group

	refusals []Refusal
	tried    map[[2]int]bool // pairs of serials that were refused
	serial   int
	attempts int // lowerings left
	mark     []int
	stamp    int
}

// limits with their defaults
func (o *PlanOptions) maxNodes() int  { return orDefault(o.MaxNodes, 256) }
func (o *PlanOptions) maxPieces() int { return orDefault(o.MaxPieces, 64) }

func orDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// Plan finds a plan of the segment: the best covering that the fusers and the
// search find, and never one that is modelled worse than one block per node.
func (p *Planner) Plan(s *Segment) (*Plan, error) {
	g, err := newGraph(s)
	if err != nil {
		return nil, err
	}
	p.lowerings = 0
	baseline := g.unfusedCost()
	if !p.Options.Unfused {
		plan, err := p.fused(g, baseline)
		if err != nil {
			return nil, err
		}
		if plan.Fused.within(baseline) {
			return plan, nil
		}
	}
	return p.unfused(g, baseline)
}

// unfused plans one block per node, in recorded order.
func (p *Planner) unfused(g *graph, baseline Cost) (*Plan, error) {
	s := newSearch(p, g)
	for i := range s.byNode {
		for len(s.byNode[i]) > 1 {
			s.redirect(s.byNode[i][1], s.byNode[i][0])
			s.byNode[i] = slices.Delete(s.byNode[i], 1, 2)
		}
	}
	return s.finish(baseline)
}

func (p *Planner) fused(g *graph, baseline Cost) (*Plan, error) {
	s := newSearch(p, g)
	s.custom()
	for pass := 0; pass < 3; pass++ {
		n := len(s.groups)
		s.vertical()
		s.horizontal()
		if len(s.groups) == n {
			break
		}
	}
	s.unify()
	s.drop()
	s.lowerAll()
	s.many()
	return s.finish(baseline)
}

func newSearch(p *Planner, g *graph) *search {
	s := &search{p: p, g: g, byNode: make([][]int, len(g.Nodes)), tried: map[[2]int]bool{}}
	s.makeUnits()
	s.mark = make([]int, len(s.units))
	s.attempts = orDefault(p.Options.MaxAttempts, 24) * max(8, len(g.Nodes))
	order := make([]int, len(s.units))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(s.units[a].node, s.units[b].node), cmp.Compare(a, b)) })
	for _, u := range order {
		gr := s.newGroup([]int{u})
		i := s.units[u].node
		if !g.kernel(i) {
			gr.kind, gr.fixed = routineGroup, true
		} else if g.solitary(i) {
			gr.fixed = true
		}
		gr.trivial = g.Nodes[i].Row.Access == ir.Elementwise && sameShape(&g.Nodes[i])
		s.units[u].group = gr
		s.groups = append(s.groups, gr)
	}
	return s
}

func sameShape(n *ir.Node) bool {
	for _, t := range n.Out[1:] {
		if !t.Shape.Equal(n.Out[0].Shape) {
			return false
		}
	}
	return true
}

func (s *search) newGroup(units []int) *group {
	s.serial++
	return &group{units: units, serial: s.serial}
}

// drop forgets groups that lost their units.
func (s *search) drop() {
	s.groups = slices.DeleteFunc(s.groups, func(gr *group) bool { return len(gr.units) == 0 })
}

func (s *search) first(gr *group) int { return s.units[gr.units[0]].node }
func (s *search) last(gr *group) int  { return s.units[gr.units[len(gr.units)-1]].node }

// vertical merges groups with the producers of what they read, the one that saves
// most bytes first.
func (s *search) vertical() {
	for u := range s.order() {
		gr := s.units[u].group
		if gr.fixed {
			continue
		}
		for again := true; again; {
			again = false
			type producer struct {
				*group
				bytes int64
			}
			var list []producer
			for _, l := range s.producers(gr, u) {
				p := s.units[l.unit].group
				if p == gr || l.root == 0 {
					continue
				}
				if i := slices.IndexFunc(list, func(x producer) bool { return x.group == p }); i >= 0 {
					list[i].bytes += s.g.bytes(l.root)
				} else {
					list = append(list, producer{p, s.g.bytes(l.root)})
				}
			}
			slices.SortStableFunc(list, func(a, b producer) int { return cmp.Compare(b.bytes, a.bytes) })
			for _, p := range list {
				if m := s.merge(p.group, gr); m != nil {
					gr, again = m, true
					break
				}
			}
		}
	}
}

// producers returns the links to what a unit reads, and to what the clones in its
// group read.
func (s *search) producers(gr *group, u int) []link {
	out := s.units[u].preds
	for _, v := range gr.units {
		if s.units[v].clone && v != u {
			out = append(out[:len(out):len(out)], s.units[v].preds...)
		}
	}
	return out
}

// strays reports whether the group is a clone that is not with its reader, which
// it joins first or not at all: so that two groups never compute it for others.
func (s *search) strays(gr, other *group) bool {
	if len(gr.units) != 1 || !s.units[gr.units[0]].clone {
		return false
	}
	for _, l := range s.units[gr.units[0]].succs {
		if s.units[l.unit].group == other && !s.strays(other, nil) {
			return false
		}
	}
	return true
}

// order yields the units by node.
func (s *search) order() func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range s.byNode {
			for _, u := range s.byNode[i] {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// horizontal merges groups that read the same and do not depend on each other.
func (s *search) horizontal() {
	readers := map[ir.ID][]*group{}
	var roots []ir.ID
	for u := range s.order() {
		gr := s.units[u].group
		if gr.fixed {
			continue
		}
		for _, t := range s.g.Nodes[s.units[u].node].In {
			r := s.g.root[t.ID]
			if readers[r] == nil {
				roots = append(roots, r)
			}
			if !slices.Contains(readers[r], gr) {
				readers[r] = append(readers[r], gr)
			}
		}
	}
	slices.SortStableFunc(roots, func(a, b ir.ID) int { return cmp.Compare(s.g.bytes(b), s.g.bytes(a)) })
	for _, r := range roots {
		list := readers[r]
		for i := range list {
			for list[i] != nil && s.gone(list[i]) {
				list[i] = list[i].into()
			}
		}
		for i := 0; i < len(list); i++ {
			for j := i + 1; j < len(list) && j < i+maxNeighbours; j++ {
				a, b := list[i], list[j]
				if a == b || s.gone(a) || s.gone(b) || !s.alike(a, b) {
					continue
				}
				if m := s.merge(a, b); m != nil {
					for k := range list {
						if list[k] == a || list[k] == b {
							list[k] = m
						}
					}
				}
			}
		}
	}
}

// maxNeighbours bounds the pairs of readers of one root that are tried.
const maxNeighbours = 16

// gone reports whether a group was merged into another.
func (s *search) gone(gr *group) bool { return gr.parent != nil }

func (gr *group) into() *group { return gr.parent }

// alike reports whether groups iterate over as many elements and share a good part
// of what they read.
func (s *search) alike(a, b *group) bool {
	if s.space(a) != s.space(b) {
		return false
	}
	ra, rb := s.reads(a), s.reads(b)
	shared := int64(0)
	for i, r := range ra.roots {
		if j := slices.Index(rb.roots, r); j >= 0 {
			shared += min(ra.bytes[i], rb.bytes[j])
		}
	}
	return shared*3 >= min(ra.total(), rb.total())
}

// space returns the elements that a group iterates over.
func (s *search) space(gr *group) (n int) {
	for _, u := range gr.units {
		x := &s.g.Nodes[s.units[u].node]
		for _, t := range x.Out {
			n = max(n, t.Shape.Size())
		}
		if x.Row.Access == ir.Reduce {
			n = max(n, x.In[0].Shape.Size())
		}
	}
	return n
}

// reads sums what a group reads from outside.
func (s *search) reads(gr *group) *reads {
	r := &reads{}
	for _, u := range gr.units {
		x := &s.units[u]
		for _, t := range s.g.Nodes[x.node].In {
			if !s.inside(x, s.g.root[t.ID]) {
				r.add(s.g, t.ID)
			}
		}
	}
	return r
}

// inside reports whether a unit reads the root from a unit of its own group.
func (s *search) inside(x *unit, root ir.ID) bool {
	for _, l := range x.preds {
		if l.root == root {
			return s.units[l.unit].group == x.group
		}
	}
	return false
}

// merge makes two groups one if that is legal and pays, and returns it. What it
// refuses it notes, once.
func (s *search) merge(a, b *group) *group {
	key := [2]int{a.serial, b.serial}
	if s.tried[key] {
		return nil
	}
	if s.strays(a, b) || s.strays(b, a) {
		return nil
	}
	m, r := s.propose(a, b)
	if r != nil {
		s.tried[key] = true
		s.refuse(a, b, *r)
		return nil
	}
	a.parent, b.parent = m, m
	i := slices.Index(s.groups, a)
	s.groups[i] = m
	s.groups = slices.Delete(s.groups, slices.Index(s.groups, b), slices.Index(s.groups, b)+1)
	return m
}

// refuse notes a refusal between two groups.
func (s *search) refuse(a, b *group, r Refusal) {
	r.Producer, r.Consumer = s.last(a), s.first(b)
	for _, l := range b.units { // the first that reads a
		for _, p := range s.units[l].preds {
			if s.units[p.unit].group == a {
				r.Producer, r.Consumer = s.units[p.unit].node, s.units[l].node
				s.refusals = append(s.refusals, r)
				return
			}
		}
	}
	s.refusals = append(s.refusals, r)
}

// propose checks a merge and makes it, or leaves everything as it was.
func (s *search) propose(a, b *group) (*group, *Refusal) {
	switch {
	case a.kind == routineGroup || b.kind == routineGroup:
		return nil, &Refusal{Rule: RuleRoutine}
	case a.fixed || b.fixed:
		return nil, &Refusal{Rule: RuleFixed}
	}
	if n := len(a.units) + len(b.units); n > s.p.Options.maxNodes() {
		return nil, &Refusal{Rule: RuleSize, Got: float64(n), Limit: float64(s.p.Options.maxNodes())}
	}
	if r := s.unlikely(a, b); r != nil {
		return nil, r
	}
	if s.cyclic(a, b) || s.cyclic(b, a) {
		return nil, &Refusal{Rule: RuleCycle}
	}
	units := make([]int, 0, len(a.units)+len(b.units))
	units = append(append(units, a.units...), b.units...)
	slices.SortFunc(units, func(x, y int) int { return cmp.Or(cmp.Compare(s.units[x].node, s.units[y].node), cmp.Compare(x, y)) })
	m := s.newGroup(units)
	m.kids = []*group{a, b}
	before := s.cost(a)
	before.add(s.cost(b))
	s.adopt(m)
	r := s.judge(m, before)
	if r != nil {
		s.adopt(a)
		s.adopt(b)
		return nil, r
	}
	return m, nil
}

// adopt makes a group the one of its units.
func (s *search) adopt(gr *group) {
	for _, u := range gr.units {
		s.units[u].group = gr
	}
}

// judge decides on a merge that is in place.
func (s *search) judge(m *group, before Cost) *Refusal {
	a, b := m.kids[0], m.kids[1]
	x, y := &s.g.Nodes[s.first(a)], &s.g.Nodes[s.first(b)]
	m.trivial = a.trivial && b.trivial && x.Out[0].Shape.Equal(y.Out[0].Shape) && s.direct(m)
	if n := s.arguments(m); n > maxArguments && !s.joins(m) {
		return &Refusal{Rule: RuleArguments, Got: float64(n), Limit: maxArguments}
	}
	if m.trivial {
		return nil
	}
	if s.attempts--; s.attempts < 0 {
		return &Refusal{Rule: RuleBudget}
	}
	if r := s.lower(m); r != nil {
		return r
	}
	after := s.cost(m)
	if after.Total() > before.Total() {
		rule := RuleWork
		if after.Read+after.Written > before.Read+before.Written {
			rule = RuleBytes
		}
		return &Refusal{Rule: rule, Got: after.Total(), Limit: before.Total()}
	}
	return nil
}

// maxArguments is how many arguments the search gives a kernel.
const maxArguments = 24

// arguments counts what a group reads and stores.
func (s *search) arguments(gr *group) int {
	return len(s.reads(gr).ids) + len(s.stored(gr))
}

// direct reports whether units of the group read each other without views.
func (s *search) direct(gr *group) bool {
	for _, u := range gr.units {
		x := &s.units[u]
		for _, t := range s.g.Nodes[x.node].In {
			if r := s.g.root[t.ID]; r != t.ID && s.inside(x, r) {
				return false
			}
		}
	}
	return true
}

func (s *search) joins(gr *group) bool {
	return slices.ContainsFunc(gr.units, func(u int) bool { return s.g.Nodes[s.units[u].node].Row.Access == ir.Join })
}

// unlikely refuses at once what lowering would refuse.
func (s *search) unlikely(a, b *group) *Refusal {
	contractions, reduces := 0, 0
	for _, gr := range []*group{a, b} {
		for _, u := range gr.units {
			x := &s.units[u]
			n := &s.g.Nodes[x.node]
			switch n.Row.Access {
			case ir.Contraction:
				contractions++
			case ir.Reduce, ir.Scan:
				reduces++
			case ir.Gather: // its operand is picked from, so it must be stored
				for _, l := range x.preds {
					if o := s.units[l.unit].group; (o == a || o == b) && l.root == s.g.root[n.In[0].ID] {
						return &Refusal{Rule: RuleGather}
					}
				}
			}
		}
	}
	if contractions > 1 || contractions > 0 && reduces > 0 {
		return &Refusal{Rule: RuleGroups, Got: float64(contractions + reduces), Limit: 1}
	}
	return nil
}

// cyclic reports whether b depends on a through others; of one group: whether it
// depends on itself through others.
func (s *search) cyclic(a, b *group) bool {
	s.stamp++
	var stack []int
	push := func(u int) bool {
		for _, l := range s.units[u].succs {
			x := &s.units[l.unit]
			if x.group == b {
				return true
			}
			if x.group == a || s.mark[l.unit] == s.stamp {
				continue
			}
			s.mark[l.unit] = s.stamp
			stack = append(stack, l.unit)
		}
		return false
	}
	for _, u := range a.units {
		for _, l := range s.units[u].succs { // the first step must leave both
			if g := s.units[l.unit].group; g != a && g != b && s.mark[l.unit] != s.stamp {
				s.mark[l.unit] = s.stamp
				stack = append(stack, l.unit)
			}
		}
	}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		gr := s.units[u].group
		if gr.seen == s.stamp {
			continue
		}
		gr.seen = s.stamp
		for _, v := range gr.units { // a group runs as one
			if push(v) {
				return true
			}
		}
	}
	return false
}
