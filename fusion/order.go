package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// step is what running one block does to memory.
type step struct {
	reads  []ir.ID // roots
	stored []ir.ID
	over   []ir.ID // per stored root: the dying root whose memory it takes, or 0; may be nil
}

// peak simulates steps with every root freed after its last use, and returns the
// most bytes of results and dying inputs alive at once, and the step at which.
func (g *graph) peak(steps []step) (peak int64, at int) {
	last := g.lastUses(steps)
	var live int64
	for _, t := range g.Inputs {
		if r := g.root[t.ID]; r == t.ID && g.dies[r] && last[r] != unread {
			live += g.bytes(r)
		}
	}
	peak, at = live, -1
	for i, st := range steps {
		for k, id := range st.stored {
			if st.over != nil && st.over[k] != 0 {
				live -= g.bytes(st.over[k])
			}
			live += g.bytes(id)
		}
		if live > peak {
			peak, at = live, i
		}
		for _, id := range st.dead(g, last, i) {
			if !slices.Contains(st.over, id) {
				live -= g.bytes(id)
			}
		}
	}
	return peak, at
}

// The last uses of roots that outlive the segment, and of those that nothing reads.
const (
	never  = 1 << 30
	unread = -1
)

// lastUses returns the step after which each root is not needed.
func (g *graph) lastUses(steps []step) []int {
	last := make([]int, len(g.tensors))
	for id := range last {
		last[id] = unread
	}
	for i, st := range steps {
		for _, id := range st.reads {
			last[id] = i
		}
		for _, id := range st.stored {
			last[id] = max(last[id], i)
		}
	}
	for id := range last {
		if g.kept[id] || g.def[id] == byInput && !g.dies[id] {
			last[id] = never
		}
	}
	return last
}

// dead returns the roots that step i frees: those it reads or stores for the last
// time.
func (st *step) dead(g *graph, last []int, i int) []ir.ID {
	var out []ir.ID
	add := func(id ir.ID) {
		if last[id] == i && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, id := range st.reads {
		add(id)
	}
	for _, id := range st.stored {
		add(id)
	}
	return out
}

// top returns the group as which a unit is scheduled.
func (s *search) top(u int) *group {
	gr := s.units[u].group
	if gr.pack != nil {
		return gr.pack
	}
	return gr
}

// schedule returns the groups in a legal order: always the ready one of least key.
func (s *search) schedule(key func(*group) int) []*group {
	waits := map[*group]int{}
	deps := map[*group]map[*group]bool{}
	for u := range s.order() {
		to := s.top(u)
		for _, l := range s.units[u].preds {
			from := s.top(l.unit)
			if from == to {
				continue
			}
			if deps[from] == nil {
				deps[from] = map[*group]bool{}
			}
			if !deps[from][to] {
				deps[from][to] = true
				waits[to]++
			}
		}
	}
	ready := slices.DeleteFunc(slices.Clone(s.groups), func(gr *group) bool { return waits[gr] > 0 })
	var out []*group
	for len(ready) > 0 {
		best := 0
		for i, gr := range ready {
			if c := cmp.Compare(key(gr), key(ready[best])); c < 0 || c == 0 && s.first(gr) < s.first(ready[best]) {
				best = i
			}
		}
		gr := ready[best]
		ready = slices.Delete(ready, best, best+1)
		out = append(out, gr)
		for to := range deps[gr] {
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return out
}

// steps returns what the groups do to memory, in order.
func (s *search) steps(order []*group) []step {
	steps := make([]step, len(order))
	for i, gr := range order {
		steps[i] = s.step(gr)
	}
	last := s.g.lastUses(steps)
	for i, gr := range order {
		s.overwrite(gr, &steps[i], steps[i].dead(s.g, last, i))
	}
	return steps
}

func (s *search) step(gr *group) step {
	if gr.kind != packGroup {
		return step{reads: s.reads(gr).roots, stored: s.stored(gr)}
	}
	var st step
	for _, k := range gr.leaves() {
		for _, r := range s.reads(k).roots {
			if !slices.Contains(st.reads, r) {
				st.reads = append(st.reads, r)
			}
		}
		st.stored = append(st.stored, s.stored(k)...)
	}
	return st
}

// leaves returns the kernels of a pack, or the group itself.
func (gr *group) leaves() []*group {
	if gr.kind != packGroup {
		return []*group{gr}
	}
	var out []*group
	for _, k := range gr.kids {
		out = append(out, k.leaves()...)
	}
	return out
}

// arrange picks the order of least peak. While that is above the limit, it takes
// merges back, at the step where most is alive: with all of them taken back, the
// recorded order is the baseline.
func (s *search) arrange(limit int64) ([]*group, []step) {
	for round := 0; ; round++ {
		var order []*group
		var steps []step
		best, at := int64(-1), 0
		for _, key := range []func(*group) int{s.first, s.last} {
			o := s.schedule(key)
			st := s.steps(o)
			if p, i := s.g.peak(st); best < 0 || p < best {
				order, steps, best, at = o, st, p, i
			}
		}
		if best <= limit {
			return order, steps
		}
		victims := s.victims(order, steps, at, 1+round/16) // more, the longer it takes
		if len(victims) == 0 {
			return order, steps
		}
		for _, gr := range victims {
			if slices.Contains(s.groups, gr) { // still as it was
				s.split(gr, Refusal{Rule: RulePeak, Got: float64(best), Limit: float64(limit)})
			}
		}
	}
}

// victims picks merges to take back: those for whose sake something is alive at the
// step of the peak that would not be in the recorded order, else that at the step,
// then the nearest ones around it.
func (s *search) victims(order []*group, steps []step, at, n int) []*group {
	out := s.culprits(order, steps, at)
	if len(out) > 0 {
		return out[:min(len(out), n)]
	}
	for d := 0; d < len(order) && len(out) < n; d++ {
		for _, i := range []int{at - d, at + d} {
			if i >= 0 && i < len(order) && len(order[i].kids) > 0 && !slices.Contains(out, order[i]) {
				out = append(out, order[i])
				break
			}
		}
	}
	return out
}

// culprits returns the merged groups that keep roots alive at a step: they read them
// late, or make them early, compared with the recorded order. Those of most bytes
// come first. What runs at the step may itself span much of the recorded order, as
// kernels that share a launch do: then it is to blame, and not what lies in its span.
func (s *search) culprits(order []*group, steps []step, at int) []*group {
	g := s.g
	if at < 0 {
		return nil
	}
	last := g.lastUses(steps)
	recorded := make([]int, len(g.tensors)) // the last node that reads a root
	for i := range g.Nodes {
		for _, t := range g.Nodes[i].In {
			if g.live[i] && !g.free[i] {
				recorded[g.root[t.ID]] = i
			}
		}
	}
	from, to := s.first(order[at]), s.last(order[at]) // what runs at the step
	blame := map[*group]int64{}
	var out []*group
	add := func(gr *group, id ir.ID) {
		if len(gr.kids) == 0 {
			return
		}
		if blame[gr] == 0 {
			out = append(out, gr)
		}
		blame[gr] += g.bytes(id)
	}
	for i, st := range steps[:at+1] {
		for _, id := range st.stored {
			if last[id] <= at || last[id] == unread {
				continue
			}
			if i < at && g.def[id] > to {
				add(order[i], id)
			}
			if last[id] < len(order) && recorded[id] < from {
				add(order[last[id]], id)
			}
		}
	}
	for _, t := range g.Inputs {
		if r := g.root[t.ID]; r == t.ID && g.dies[r] && last[r] > at && last[r] < len(order) && recorded[r] < from {
			add(order[last[r]], r)
		}
	}
	slices.SortStableFunc(out, func(a, b *group) int { return cmp.Compare(blame[b], blame[a]) })
	return out
}

// split takes a merge back and notes why.
func (s *search) split(gr *group, why Refusal) {
	if gr.kind == packGroup {
		s.unpack(gr)
	} else {
		i := slices.Index(s.groups, gr)
		s.groups = slices.Replace(s.groups, i, i+1, gr.kids...)
		for _, k := range gr.kids {
			k.parent, k.lowered = nil, nil
			// Units may have been unified since the merge.
			k.units = slices.DeleteFunc(k.units, func(u int) bool { return s.units[u].group != gr })
		}
		if len(gr.kids) == 2 { // not again
			a, b := gr.kids[0].serial, gr.kids[1].serial
			s.tried[[2]int{a, b}], s.tried[[2]int{b, a}] = true, true
		}
		for _, k := range gr.kids {
			s.adopt(k)
		}
		s.unify()
		s.drop()
	}
	if len(gr.kids) > 1 && len(gr.kids[0].units) > 0 && len(gr.kids[1].units) > 0 {
		s.refuse(gr.kids[0], gr.kids[1], why)
	}
}
