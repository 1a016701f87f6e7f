package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// unit is one computation of a node that is no free view. A cheap node with
// several consumers has a unit for each, so that each may take it in: recomputed
// instead of stored. Units of one node in one group are one computation.
type unit struct {
	node  int
	preds []link // whose results it reads
	succs []link // who reads its results
	group *group
	clone bool // of another unit of the node, for one consumer
}

// link is an edge between units through a root; root 0 orders effects.
type link struct {
	unit int
	root ir.ID
}

// group is a set of units that run as one, and how it came about.
type group struct {
	units  []int // by node
	kids   []*group
	parent *group // into which it was merged
	pack   *group // whose launch it shares
	kind   groupKind
	fixed  bool // takes no part in further merges
	serial int  // for memoised refusals
	seen   int  // stamp of the last walk over groups

	custom  Optimization
	nodes   []int // of a customGroup: all that its fuser took, views too
	fuser   string
	lowered *lowered
	trivial bool // elementwise nodes of one shape, without views between
}

// groupKind says what a group is.
type groupKind uint8

const (
	kernelGroup  groupKind = iota
	packGroup              // kids are kernels of one launch
	routineGroup           // one node
	customGroup            // an optimization of a third party's fuser
)

// cheapInstructions is the most a recomputed node may take per element.
const cheapInstructions = 6

// maxClones bounds the consumers that recompute one node.
const maxClones = 8

// makeUnits makes the units of a segment, and their links.
func (s *search) makeUnits() {
	g := s.g
	consumers := make([][]int, len(g.Nodes)) // units that read the node, by node
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if g.free[i] || !g.live[i] {
			continue
		}
		n := &g.Nodes[i]
		readers := consumers[i]
		slices.Sort(readers)
		readers = slices.Compact(readers)
		var made []int
		if s.clonable(i, readers) {
			for _, r := range readers {
				u := s.addUnit(i)
				s.units[u].clone = true
				s.connect(u, r)
				made = append(made, u)
			}
		} else {
			u := s.addUnit(i)
			for _, r := range readers {
				s.connect(u, r)
			}
			made = append(made, u)
		}
		for _, t := range n.In {
			if d := g.def[g.root[t.ID]]; d >= 0 {
				consumers[d] = append(consumers[d], made...)
			}
		}
	}
	last := -1 // collectives keep their order
	for i := range g.Nodes {
		if g.Nodes[i].Row.Effects&ir.EffectCollective == 0 || !g.live[i] {
			continue
		}
		u := s.byNode[i][0]
		if last >= 0 {
			s.link(last, u, 0)
		}
		last = u
	}
}

func (s *search) addUnit(node int) int {
	s.units = append(s.units, unit{node: node})
	u := len(s.units) - 1
	s.byNode[node] = append(s.byNode[node], u)
	return u
}

// connect links a producer with a consumer for each root that passes.
func (s *search) connect(from, to int) {
	var seen []ir.ID
	for _, t := range s.g.Nodes[s.units[to].node].In {
		r := s.g.root[t.ID]
		if s.g.def[r] == s.units[from].node && !slices.Contains(seen, r) {
			seen = append(seen, r)
			s.link(from, to, r)
		}
	}
}

func (s *search) link(from, to int, root ir.ID) {
	s.units[from].succs = append(s.units[from].succs, link{to, root})
	s.units[to].preds = append(s.units[to].preds, link{from, root})
}

// clonable reports whether each reader of a node may recompute it: it is cheap,
// cannot fault, draws nothing, and reads no more bytes than it gives.
func (s *search) clonable(i int, readers []int) bool {
	g := s.g
	n := &g.Nodes[i]
	if len(readers) < 2 || len(readers) > maxClones || n.Row.Access != ir.Elementwise || n.Row.Effects != 0 || len(n.Out) != 1 || !g.kernel(i) {
		return false
	}
	out := n.Out[0].ID
	if g.kept[out] || instructions(n) > cheapInstructions {
		return false
	}
	for _, r := range readers {
		if !g.kernel(s.units[r].node) || g.Nodes[s.units[r].node].Row.Access == ir.Contraction {
			return false
		}
	}
	var in reads
	for _, t := range n.In {
		in.add(g, t.ID)
	}
	return in.total() <= g.bytes(out)
}

// stored returns the roots of a group that others need, in order of definition.
func (s *search) stored(gr *group) []ir.ID {
	var out []ir.ID
	for _, u := range gr.units {
		out = s.storedOf(out, u)
	}
	return out
}

func (s *search) storedOf(out []ir.ID, u int) []ir.ID {
	x := &s.units[u]
	n := &s.g.Nodes[x.node]
	if x.group.kind == routineGroup { // gives all its results
		for _, t := range n.Out {
			out = append(out, t.ID)
		}
		return out
	}
	any := false
	for _, t := range n.Out {
		need := s.g.kept[t.ID] && !x.clone
		for _, l := range x.succs {
			if l.root == t.ID && s.units[l.unit].group != x.group {
				need = true
			}
		}
		if need {
			any = true
			if !slices.Contains(out, t.ID) {
				out = append(out, t.ID)
			}
		}
	}
	if !any && len(x.succs) == 0 { // runs for its faults alone
		out = append(out, n.Out[0].ID)
	}
	return out
}

// unify makes units of one node that stand alone one, so that none is computed
// twice to be stored. Those in a group with their reader stay: they are part of it.
func (s *search) unify() {
	for i := range s.byNode {
		if len(s.byNode[i]) < 2 {
			continue
		}
		alone := -1
		kept := s.byNode[i][:0]
		for _, u := range s.byNode[i] {
			gr := s.units[u].group
			switch {
			case len(gr.units) > 1 || gr.kind != kernelGroup:
			case alone < 0:
				alone = u
			default:
				s.single(gr)
				s.single(s.units[alone].group)
				s.redirect(u, alone)
				continue
			}
			kept = append(kept, u)
		}
		s.byNode[i] = kept
	}
}

// redirect lets the readers of unit u read unit v of the same node, and ends u.
func (s *search) redirect(u, v int) {
	for _, l := range s.units[u].succs {
		s.units[v].succs = append(s.units[v].succs, l)
		for k, p := range s.units[l.unit].preds {
			if p.unit == u {
				s.units[l.unit].preds[k].unit = v
			}
		}
	}
	for _, l := range s.units[u].preds {
		s.units[l.unit].succs = slices.DeleteFunc(s.units[l.unit].succs, func(x link) bool { return x.unit == u })
	}
	gr := s.units[u].group
	gr.units = slices.DeleteFunc(gr.units, func(x int) bool { return x == u })
	gr.lowered = nil
	s.units[u].succs, s.units[u].preds = nil, nil
	s.units[u].group = nil
}
