package fusion

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// many lets independent kernels of equal height (steps to the end of the segment),
// then of equal depth, share launches: the updates of an optimizer over N tensors
// take one. What faults keeps its own launch, for the rerun node by node.
func (s *search) many() {
	for _, level := range []func() map[*group]int{s.heights, s.depths} {
		at := level()
		byLevel := map[int][]*group{}
		var levels []int
		for _, gr := range s.groups {
			if gr.kind != kernelGroup || gr.custom != nil || !s.packs(gr) {
				continue
			}
			if byLevel[at[gr]] == nil {
				levels = append(levels, at[gr])
			}
			byLevel[at[gr]] = append(byLevel[at[gr]], gr)
		}
		slices.Sort(levels)
		for _, l := range levels {
			list := byLevel[l]
			slices.SortFunc(list, func(a, b *group) int { return cmp.Compare(s.first(a), s.first(b)) })
			for len(list) > 0 {
				n, pieces := 0, 0
				for n < len(list) {
					pieces += len(list[n].lowered.block.Pieces)
					if pieces > s.p.Options.maxPieces() && n > 0 {
						break
					}
					n++
				}
				if n > 1 {
					s.packUp(list[:n])
				}
				list = list[n:]
			}
		}
	}
}

// packs reports whether a group may share a launch: elementwise kernels and
// reductions without faults.
func (s *search) packs(gr *group) bool {
	if gr.lowered == nil {
		return false
	}
	for _, u := range gr.units {
		n := &s.g.Nodes[s.units[u].node]
		switch n.Row.Access {
		case ir.Elementwise, ir.Random, ir.Reduce, ir.Join, ir.View:
		default:
			return false
		}
		if n.Row.Effects&ir.EffectFault != 0 {
			return false
		}
	}
	return true
}

// packUp puts groups into one launch: a tree of halves, so that half of it can be
// taken back.
func (s *search) packUp(list []*group) {
	var tree func(l []*group) *group
	tree = func(l []*group) *group {
		if len(l) == 1 {
			return l[0]
		}
		m := s.newGroup(nil)
		m.kind = packGroup
		m.kids = []*group{tree(l[:len(l)/2]), tree(l[len(l)/2:])}
		for _, k := range m.kids {
			m.units = append(m.units, k.units...)
		}
		slices.SortFunc(m.units, func(x, y int) int { return cmp.Compare(s.units[x].node, s.units[y].node) })
		return m
	}
	root := tree(list)
	for _, gr := range list {
		gr.pack = root
	}
	i := slices.Index(s.groups, list[0])
	s.groups[i] = root
	s.groups = slices.DeleteFunc(s.groups, func(gr *group) bool { return gr.pack == root })
}

// unpack gives the two halves of a pack launches of their own.
func (s *search) unpack(gr *group) {
	i := slices.Index(s.groups, gr)
	s.groups = slices.Replace(s.groups, i, i+1, gr.kids...)
	for _, k := range gr.kids {
		for _, l := range k.leaves() {
			l.pack = nil
			if k.kind == packGroup {
				l.pack = k
			}
		}
	}
}

// depths returns the longest way to each group from the start of the segment.
func (s *search) depths() map[*group]int {
	depth := map[*group]int{}
	for _, gr := range s.schedule(s.first) {
		s.eachUnit(gr, func(u int) {
			for _, l := range s.units[u].preds {
				if p := s.top(l.unit); p != gr {
					depth[gr] = max(depth[gr], depth[p]+1)
				}
			}
		})
	}
	return depth
}

// heights returns the longest way from each group to the end of the segment.
func (s *search) heights() map[*group]int {
	height := map[*group]int{}
	order := s.schedule(s.first)
	for i := len(order) - 1; i >= 0; i-- {
		s.eachUnit(order[i], func(u int) {
			for _, l := range s.units[u].succs {
				if p := s.top(l.unit); p != order[i] {
					height[order[i]] = max(height[order[i]], height[p]+1)
				}
			}
		})
	}
	return height
}

func (s *search) eachUnit(gr *group, f func(u int)) {
	for _, k := range gr.leaves() {
		for _, u := range k.units {
			f(u)
		}
	}
}
