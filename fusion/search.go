package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// search looks for the best legal covering of a segment: groups of units merge with
// the producers of what they read, then with those over one iteration space that read
// the same, then equal depths share launches. Every merge keeps the groups free of
// cycles, and the tree of merges is kept, so that each can be taken back alone.
type search struct {
	p      *Planner
	g      *graph
	units  []unit
	byNode [][]int // units of each node
	groups []*group

	reach    int // nodes that a merged group may span in recorded order
	refusals []Refusal
	tried    map[[2]int]bool // pairs of serials that were refused
	serial   int
	attempts int // lowerings left
	laidOut  int
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
	baseline := g.unfusedCost()
	if !p.Options.Unfused {
		plan, err := p.fused(g, baseline)
		if err != nil {
			return nil, err
		}
		if plan.Fused.within(baseline) {
			return plan, nil
		} // else two rules worked against each other
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
	s.drop() // the groups of clones
	return s.finish(baseline)
}

func (p *Planner) fused(g *graph, baseline Cost) (*Plan, error) {
	s := newSearch(p, g)
	s.custom()
	for round := 0; round < maxRounds; round++ {
		s.mergeAll()
		s.unify()
		s.drop()
		s.lowerAll()
		n := len(s.groups)
		s.arrange(baseline.Peak)
		if len(s.groups) == n {
			break
		}
	}
	s.lowerAll()
	s.many()
	return s.finish(baseline)
}

// maxRounds bounds how often what was taken back for the sake of the peak may merge with
// others.
const maxRounds = 3

// mergeAll merges groups, near ones before all.
func (s *search) mergeAll() {
	for _, s.reach = range []int{near, len(s.g.Nodes)} {
		for pass := 0; pass < 3; pass++ {
			n := len(s.groups)
			s.vertical()
			s.horizontal()
			if len(s.groups) == n {
				break
			}
		}
	}
}

func newSearch(p *Planner, g *graph) *search {
	s := &search{p: p, g: g, byNode: make([][]int, len(g.Nodes)), tried: map[[2]int]bool{}, reach: len(g.Nodes)}
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
		s.units[u].group = gr
		if !g.kernel(i) {
			gr.kind, gr.fixed = routineGroup, true
		} else if g.solitary(i) || p.Options.Alone != nil && p.Options.Alone(i) {
			gr.fixed = true
		}
		gr.trivial = g.Nodes[i].Row.Access == ir.Elementwise && sameShape(&g.Nodes[i])
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
