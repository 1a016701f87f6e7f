package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// merge makes two groups one if that is legal and pays, and returns it. What it
// refuses it notes, once.
func (s *search) merge(a, b *group) *group {
	key := [2]int{a.serial, b.serial}
	if s.tried[key] {
		return nil
	}
	if s.strays(a, b) || s.strays(b, a) || max(s.last(a), s.last(b))-min(s.first(a), s.first(b)) >= s.reach {
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

// wideColumns is from how many columns side by side a product runs at full speed.
const wideColumns = 64

// spoilt refuses what takes a product off its packed tiles; where it runs on none,
// what cuts its columns short.
func (s *search) spoilt(m *group) *Refusal {
	if m.lowered.tiled {
		return nil
	}
	for _, k := range m.kids {
		if k.lowered != nil && k.lowered.tiled {
			return &Refusal{Rule: RuleWork, Detail: "the product would not run on packed tiles"}
		}
	}
	return s.narrow(m)
}

// apart reports whether the product of a group is faster apart from the rest.
func (s *search) apart(m *group) bool {
	return slices.ContainsFunc(m.lowered.block.Pieces, func(p *lower.Piece) bool { return p.Product() && s.p.Target.Apart(p) })
}

// narrow refuses what cuts the columns of a product short: a border around its
// result, above all, of which each row is then a loop of its own.
func (s *search) narrow(m *group) *Refusal {
	for _, u := range m.units {
		n := &s.g.Nodes[s.units[u].node]
		if n.Row.Access != ir.Contraction || len(n.In) < 2 {
			continue
		}
		z := n.In[1].Shape
		want := int64(min(z[len(z)-1], wideColumns))
		have := int64(0)
		for _, p := range m.lowered.block.Pieces {
			if columns, product := p.Columns(); product {
				have = max(have, columns)
			}
		}
		if have < want {
			return &Refusal{Rule: RuleWork, Got: float64(have), Limit: float64(want), Detail: "the columns of the product would be cut short"}
		}
	}
	return nil
}

// copyReuse is how often a product reads each element of its operands from which a
// copy that lies in order pays.
const copyReuse = 4

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
	if r := s.spoilt(m); r != nil {
		return r
	}
	if s.apart(m) {
		return &Refusal{Rule: RuleApart}
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
	product, copied := -1, -1 // the contraction, and the first view that only a copy makes
	for _, gr := range []*group{a, b} {
		for _, u := range gr.units {
			x := &s.units[u]
			n := &s.g.Nodes[x.node]
			switch n.Row.Access {
			case ir.Contraction:
				contractions++
				product = x.node
			case ir.View:
				if copied < 0 || x.node < copied {
					copied = x.node
				}
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
	if copied >= 0 && copied < product && !s.tiled(a) && !s.tiled(b) {
		if n := s.g.reuse(product); n >= copyReuse {
			return &Refusal{Rule: RuleWork, Got: n, Limit: copyReuse, Detail: "the product reads each element that often, and a copy lies in order"}
		}
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
