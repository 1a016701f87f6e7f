package fusion

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/internal/wire"
	"github.com/sinter-go/sinter/ir"
)

// append writes the structure of a plan: its groups in order, the units of each, who
// reads whose results, and the state of optimizations.
func (st *structure) append(b []byte) ([]byte, error) {
	w := planWriter{b: b}
	at := make([]int, len(st.units)) // of a unit in the file
	n := 0
	w.int(len(st.order))
	for _, top := range st.order {
		w.flag(top.kind == packGroup)
		leaves := top.leaves()
		if top.kind == packGroup {
			w.int(len(leaves))
		}
		for _, gr := range leaves {
			w.int(int(gr.kind))
			w.flag(gr.fixed)
			w.int(len(gr.units))
			for _, u := range gr.units {
				at[u] = n
				n++
				w.int(st.units[u].node)
				w.flag(st.units[u].clone)
			}
			if gr.kind != customGroup {
				continue
			}
			state, err := gr.custom.State()
			if err != nil {
				return nil, err
			}
			w.bytes([]byte(gr.fuser))
			w.bytes(state)
			w.int(len(gr.nodes))
			for _, i := range gr.nodes {
				w.int(i)
			}
		}
	}
	for _, top := range st.order {
		for _, gr := range top.leaves() {
			for _, u := range gr.units {
				var links []link
				for _, l := range st.units[u].preds {
					if st.units[l.unit].group != nil {
						links = append(links, l)
					}
				}
				w.int(len(links))
				for _, l := range links {
					w.int(at[l.unit])
					w.int(int(l.root))
				}
			}
		}
	}
	return w.b, nil
}

// readStructure reads the structure of a plan; whether it is one of a segment,
// [structure.fits] tells.
func (f *planFile) readStructure(b []byte) (*structure, error) {
	r := planReader{wire.Reader{B: b}}
	st := &structure{}
	leafGroup := func() *group {
		gr := &group{kind: groupKind(r.int("kind of group", int(customGroup))), fixed: r.flag("fixed")}
		if gr.kind == packGroup {
			r.Fail("a pack inside a group")
		}
		for n := r.Count("units", maxSavedNodes, 2); n > 0 && r.Err == nil; n-- {
			gr.units = append(gr.units, len(st.units))
			st.units = append(st.units, unit{node: r.int("node", maxSavedNodes), clone: r.flag("clone"), group: gr})
		}
		if len(gr.units) == 0 {
			r.Fail("a group without nodes")
		}
		if gr.kind == customGroup {
			f.readCustom(&r, gr)
		}
		return gr
	}
	for n := r.Count("groups", maxSavedNodes, 4); n > 0 && r.Err == nil; n-- {
		if !r.flag("pack") {
			st.order = append(st.order, leafGroup())
			continue
		}
		m := &group{kind: packGroup}
		for k := r.Count("kernels of a launch", maxSavedNodes, 4); k > 0 && r.Err == nil; k-- {
			gr := leafGroup()
			if gr.kind != kernelGroup {
				r.Fail("a launch of what is no kernel")
			}
			gr.pack = m
			m.kids = append(m.kids, gr)
			m.units = append(m.units, gr.units...)
		}
		if len(m.kids) < 2 {
			r.Fail("a launch of %d kernels as a pack", len(m.kids))
		}
		st.order = append(st.order, m)
	}
	for u := range st.units {
		for n := r.Count("operands", maxSavedNodes, 2); n > 0 && r.Err == nil; n-- {
			l := link{unit: r.int("unit", len(st.units)-1), root: ir.ID(r.int("tensor", maxIDs))}
			st.units[u].preds = append(st.units[u].preds, l)
			if r.Err == nil {
				st.units[l.unit].succs = append(st.units[l.unit].succs, link{u, l.root})
			}
		}
	}
	r.End()
	for _, m := range st.order {
		if m.kind == packGroup {
			slices.SortStableFunc(m.units, func(x, y int) int { return st.units[x].node - st.units[y].node })
		}
	}
	return st, r.Err
}

// readCustom lets the fuser of a group make its optimization again.
func (f *planFile) readCustom(r *planReader, gr *group) {
	name, state := string(r.bytes("fuser")), r.bytes("state")
	for n := r.Count("nodes", maxSavedNodes, 1); n > 0 && r.Err == nil; n-- {
		gr.nodes = append(gr.nodes, r.int("node", maxSavedNodes))
	}
	if r.Err != nil {
		return
	}
	for _, x := range f.c.planner.Fusers {
		if x.Name() != name {
			continue
		}
		o, err := x.Restore(slices.Clone(state))
		switch {
		case err != nil:
			r.Fail("fuser %s: %w", name, err)
		case o == nil || o.Len() != len(gr.nodes):
			r.Fail("fuser %s restored no optimization of %d nodes", name, len(gr.nodes))
		default:
			gr.custom, gr.fuser, gr.fixed = o, name, true
		}
		return
	}
	r.Fail("there is no fuser %q", name)
}

// fits checks that the structure is one of a graph: that its groups, in order,
// compute every node that something needs, from what is there by then, and store
// each result once. Nothing that holds of every structure of a search is taken for
// granted.
func (st *structure) fits(g *graph) error {
	byNode := make([][]int, len(g.Nodes))
	for u := range st.units {
		x := &st.units[u]
		if x.node >= len(g.Nodes) || g.free[x.node] || !g.live[x.node] {
			return fmt.Errorf("unit %d is of node %d", u, x.node)
		}
		byNode[x.node] = append(byNode[x.node], u)
	}
	for i := range g.Nodes {
		if g.live[i] && !g.free[i] && len(byNode[i]) == 0 {
			return fmt.Errorf("nothing computes node %d", i)
		}
	}
	st.byNode = byNode
	if err := st.links(g); err != nil {
		return err
	}
	s := &search{g: g, units: st.units, byNode: byNode}
	place := map[*group]int{} // of the top group in the order
	for i, top := range st.order {
		for _, gr := range top.leaves() {
			place[gr] = i
		}
	}
	stored := make([]bool, len(g.tensors))
	collective := -1
	for i, top := range st.order {
		for _, gr := range top.leaves() {
			if err := st.group(g, gr); err != nil {
				return err
			}
			for _, u := range gr.units {
				for _, l := range st.units[u].preds {
					if p := st.units[l.unit].group; p != gr && place[p] >= i || p == gr && st.units[l.unit].node >= st.units[u].node {
						return fmt.Errorf("node %d comes before node %d, which it reads", st.units[u].node, st.units[l.unit].node)
					}
				}
				if n := st.units[u].node; g.Nodes[n].Row.Effects&ir.EffectCollective != 0 {
					if n < collective {
						return fmt.Errorf("collectives change their order")
					}
					collective = n
				}
			}
			for _, id := range s.stored(gr) {
				if stored[id] {
					return fmt.Errorf("%%%d is stored twice", id)
				}
				stored[id] = true
			}
		}
	}
	for id, k := range g.kept {
		if k && g.def[id] >= 0 && !stored[id] {
			return fmt.Errorf("%%%d outlives the segment and is not stored", id)
		}
	}
	return nil
}

// links checks who reads whose results.
func (st *structure) links(g *graph) error {
	for u := range st.units {
		x := &st.units[u]
		var roots []ir.ID
		for _, l := range x.preds {
			if l.root == 0 { // an order between collectives
				continue
			}
			if int(l.root) >= len(g.def) || g.def[l.root] != st.units[l.unit].node || slices.Contains(roots, l.root) {
				return fmt.Errorf("unit %d does not read %%%d of unit %d", u, l.root, l.unit)
			}
			roots = append(roots, l.root)
		}
		need := 0
		for k, t := range g.Nodes[x.node].In {
			r := g.root[t.ID]
			if g.def[r] < 0 || slices.ContainsFunc(g.Nodes[x.node].In[:k], func(o ir.Tensor) bool { return g.root[o.ID] == r }) {
				continue
			}
			if need++; !slices.Contains(roots, r) {
				return fmt.Errorf("unit %d reads %%%d, which nothing gives it", u, r)
			}
		}
		if need != len(roots) {
			return fmt.Errorf("unit %d has %d operands, expected %d", u, len(roots), need)
		}
	}
	return nil
}

// group checks that a group may be of its kind.
func (st *structure) group(g *graph, gr *group) error {
	var nodes []int
	for k, u := range gr.units {
		n := st.units[u].node
		nodes = append(nodes, n)
		switch {
		case k > 0 && nodes[k-1] > n:
			return fmt.Errorf("the nodes of a group are not in order")
		case gr.kind == kernelGroup && !g.kernel(n):
			return fmt.Errorf("node %d is no kernel", n)
		case gr.kind == routineGroup && len(gr.units) != 1:
			return fmt.Errorf("a routine of %d nodes", len(gr.units))
		case gr.kind == kernelGroup && len(gr.units) > 1 && g.solitary(n):
			return fmt.Errorf("node %d has an empty operand", n)
		}
	}
	if gr.kind != customGroup {
		return nil
	}
	var computed []int
	for k, n := range gr.nodes {
		if n >= len(g.Nodes) || k > 0 && gr.nodes[k-1] >= n {
			return fmt.Errorf("the nodes of a fuser's group are not in order")
		}
		if !g.free[n] {
			computed = append(computed, n)
		}
	}
	if !slices.Equal(computed, nodes) {
		return fmt.Errorf("a fuser's group computes nodes %v, expected %v", nodes, computed)
	}
	return nil
}
