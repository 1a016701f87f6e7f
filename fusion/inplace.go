package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// overwrite finds which stored roots of a group may take the memory of a base that
// dies there: the base is whole and of the same size, nothing reads it after the
// result is computed, and one piece alone reads it and writes the result, walking
// both alike. The device has the last word, and allocates where it disagrees.
func (s *search) overwrite(gr *group, st *step, dead []ir.ID) {
	if s.p.Options.NoInPlace || gr.kind != kernelGroup && gr.kind != packGroup {
		return
	}
	for _, k := range gr.leaves() {
		if k.lowered == nil || !s.elementByElement(k) {
			continue
		}
		for _, id := range k.lowered.stored {
			if slices.Contains(dead, id) {
				continue
			}
			best, used := ir.ID(0), -1
			for _, base := range dead {
				if slices.Contains(st.over, base) || !s.g.whole[base] || s.g.bytes(base) != s.g.bytes(id) {
					continue
				}
				if u := s.lastRead(k, base); u > used && u <= s.g.def[id] && s.after(k, id, base) && s.sameWalk(gr, k, id, base) {
					best, used = base, u
				}
			}
			if best != 0 {
				if st.over == nil {
					st.over = make([]ir.ID, len(st.stored))
				}
				st.over[slices.Index(st.stored, id)] = best
			}
		}
	}
}

// lastRead returns the last node of a group that reads a base, -1 if none does.
func (s *search) lastRead(gr *group, base ir.ID) int {
	last := -1
	for _, u := range gr.units {
		for _, t := range s.g.Nodes[s.units[u].node].In {
			if s.g.root[t.ID] == base {
				last = max(last, s.units[u].node)
			}
		}
	}
	return last
}

// after reports whether every reduction of a group that depends on a base goes into
// the result, so that none still wants the base when the result is written.
func (s *search) after(gr *group, id, base ir.ID) bool {
	depends, into := map[int]bool{}, map[int]bool{}
	for i := len(gr.units) - 1; i >= 0; i-- { // what the result is made of
		x := &s.units[gr.units[i]]
		if into[x.node] = into[x.node] || x.node == s.g.def[id]; !into[x.node] {
			continue
		}
		for _, l := range x.preds {
			if s.units[l.unit].group == x.group {
				into[s.units[l.unit].node] = true
			}
		}
	}
	for _, u := range gr.units { // what is made of the base
		x := &s.units[u]
		n := &s.g.Nodes[x.node]
		for _, t := range n.In {
			r := s.g.root[t.ID]
			depends[x.node] = depends[x.node] || r == base || s.inside(x, r) && depends[s.g.def[r]]
		}
		reduces := n.Row.Access == ir.Reduce || n.Row.Access == ir.Contraction
		if reduces && depends[x.node] && !into[x.node] {
			return false
		}
	}
	return true
}

// elementByElement reports whether a group reads what it walks like a result for
// the element or row of that result alone, and without a fault after which its
// nodes would run again.
func (s *search) elementByElement(gr *group) bool {
	for _, u := range gr.units {
		n := &s.g.Nodes[s.units[u].node]
		switch n.Row.Access {
		case ir.Elementwise, ir.Random, ir.View, ir.Reduce, ir.Contraction:
		default:
			return false
		}
		if n.Row.Effects&(ir.EffectFault|ir.EffectCollective) != 0 {
			return false
		}
	}
	return true
}

// sameWalk reports whether the only piece that touches the base also writes the
// result, the only one to do so, and walks every read like the write.
func (s *search) sameWalk(top, gr *group, id, base ir.ID) bool {
	if slices.Contains(gr.lowered.stored, base) || s.g.tensors[id].DType.Size() != s.g.tensors[base].DType.Size() {
		return false
	}
	found := false
	for _, k := range top.leaves() {
		if k.lowered == nil {
			return false
		}
		for _, p := range k.lowered.block.Pieces {
			out := -1
			for i, a := range p.Args {
				if a.Tensor == id {
					out = i
				}
			}
			for _, a := range p.Args {
				if s.g.root[a.Tensor] != base || a.Tensor == id {
					continue
				}
				if out < 0 || !equalWalk(&a, &p.Args[out], p.Extents) {
					return false
				}
				found = true
			}
			if out >= 0 && p.Start != nil { // a part of a larger space
				return false
			}
		}
	}
	return found
}

func equalWalk(a, b *lower.Arg, extents []int64) bool {
	if a.Offset != b.Offset || a.GatherExtent != 0 || len(a.Strides) != len(b.Strides) {
		return false
	}
	for i := range a.Strides {
		if a.Strides[i] != b.Strides[i] && extents[i] != 1 {
			return false
		}
	}
	return true
}
