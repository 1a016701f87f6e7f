package fusion

import (
	"errors"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/lower"
)

// lowered is a group as package lower lays it out.
type lowered struct {
	block   *lower.Block
	nodes   []int     // positions in the segment of the nodes given to lower
	stored  []ir.ID   // which the block writes
	work    []float64 // evaluations of each node
	kernels []*Kernel // of the pieces, once compiled
	tiled   bool      // it has a product, which the device runs on packed tiles
}

// lower lays out a kernel group, once. The refusal is that of package lower.
func (s *search) lower(gr *group) *Refusal {
	if gr.lowered != nil {
		return nil
	}
	l, err := s.layOut(gr)
	if err == nil {
		gr.lowered = l
		return nil
	}
	var r *lower.Refusal
	if errors.As(err, &r) {
		out := &Refusal{Rule: string(r.Rule), Got: r.Got, Limit: r.Limit, Detail: r.Detail}
		return out
	}
	return &Refusal{Rule: RuleLowering, Detail: err.Error()}
}

func (s *search) layOut(gr *group) (*lowered, error) {
	l := &lowered{nodes: s.members(gr), stored: s.stored(gr)}
	nodes := make([]ir.Node, len(l.nodes))
	for i, n := range l.nodes {
		nodes[i] = s.g.Nodes[n]
	}
	s.laidOut++
	var err error
	l.block, err = lower.New(nodes, s.layouts, func(id ir.ID) bool { return slices.Contains(l.stored, id) })
	if err != nil {
		return nil, err
	}
	for _, p := range l.block.Pieces {
		if p.Product() {
			if l.tiled = s.p.Target.Tiles(p); !l.tiled {
				break
			}
		}
	}
	l.work = l.block.Work(l.tiled)
	return l, nil
}

// tiled reports whether a group has a product that the device runs on packed tiles:
// then views, casts and scales before it cost once per panel, in any layout.
func (s *search) tiled(gr *group) bool {
	return gr.kind == kernelGroup && s.lower(gr) == nil && gr.lowered.tiled
}

// layouts gives what a block reads its place in its base, and what it stores one
// of its own.
func (s *search) layouts(id ir.ID) ir.Layout { return s.g.layout[id] }

// members returns the nodes of a group in recorded order: those of its units, and
// the views between them.
func (s *search) members(gr *group) []int {
	if gr.nodes != nil {
		return gr.nodes
	}
	out := make([]int, 0, len(gr.units)+4)
	for _, u := range gr.units {
		x := &s.units[u]
		out = append(out, x.node)
		for _, t := range s.g.Nodes[x.node].In {
			if r := s.g.root[t.ID]; r != t.ID && s.inside(x, r) {
				out = append(out, s.g.chain(t.ID)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lowerAll lays out every kernel group. Those that the search took for granted and
// lower refuses are taken apart, down to single nodes; a single one that it
// refuses is left to a routine of the device.
func (s *search) lowerAll() {
	for again := true; again; {
		again = false
		for _, top := range slices.Clone(s.groups) {
			for _, gr := range top.leaves() {
				if gr.kind != kernelGroup || gr.parent != nil {
					continue
				}
				r := s.lower(gr)
				if r == nil {
					continue
				}
				s.single(gr)
				s.abandon(gr, *r)
				again = true
				break // the groups of this pack are no longer those of it
			}
			if again {
				break
			}
		}
	}
}

// abandon takes a group apart that does not become kernels; a single node is left
// to a routine of the device.
func (s *search) abandon(gr *group, why Refusal) {
	if len(gr.kids) > 0 {
		s.split(gr, why)
		return
	}
	gr.kind, gr.fixed, gr.lowered = routineGroup, true, nil
	why.Producer, why.Consumer = s.first(gr), s.first(gr)
	s.refusals = append(s.refusals, why)
}

// single takes the packs apart in which a group shares a launch.
func (s *search) single(gr *group) {
	for gr.pack != nil {
		s.unpack(gr.pack)
	}
}

// compile asks the target for the kernels of every group. A fused kernel that the
// device would interpret is taken apart, if the device would generate its parts.
func (s *search) compile() (split bool) {
	for _, top := range slices.Clone(s.groups) {
		for _, gr := range top.leaves() {
			if gr.kind != kernelGroup {
				continue
			}
			generated, err := s.generate(gr)
			if err != nil { // a fault of lowering, or of the device: the parts may do
				s.single(gr)
				s.abandon(gr, Refusal{Rule: RuleLowering, Detail: err.Error()})
				return true
			}
			if generated || len(gr.kids) == 0 {
				continue
			}
			parts := true
			for _, k := range gr.kids {
				parts = parts && s.partGenerated(gr, k)
			}
			if !parts {
				continue
			}
			s.single(gr)
			s.split(gr, Refusal{Rule: RuleNotGenerated})
			return true
		}
	}
	return false
}

// generate compiles a group and reports whether the device generates all of it.
func (s *search) generate(gr *group) (bool, error) {
	l := gr.lowered
	if l.kernels == nil {
		kernels := make([]*Kernel, len(l.block.Pieces))
		for i, p := range l.block.Pieces {
			k, err := s.p.Target.Kernel(p)
			if err != nil {
				return false, err
			}
			kernels[i] = k
		}
		l.kernels = kernels
	}
	for _, k := range l.kernels {
		if k != nil && k.Code != nil && !k.Code.Generated() {
			return false, nil
		}
	}
	return true, nil
}

// partGenerated reports whether a part of a group, or what it would be taken apart
// to, is generated: whether there is a gain in taking the group apart.
func (s *search) partGenerated(gr, part *group) bool {
	was := slices.Clone(part.units)
	part.units = slices.DeleteFunc(part.units, func(u int) bool { return s.units[u].group != gr })
	defer func() { part.units = was }()
	if len(part.units) == 0 {
		return true
	}
	s.adopt(part)
	defer s.adopt(gr)
	l, err := s.layOut(part)
	if err != nil {
		return false // nothing that lower takes alone
	}
	if ok, err := s.generate(&group{lowered: l}); err == nil && ok {
		return true
	}
	for _, k := range part.kids {
		if s.partGenerated(part, k) {
			return true
		}
	}
	return false
}
