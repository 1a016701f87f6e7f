package fusion

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/wire"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/lower"
)

// entry writes the plans of a path. It returns their number, and that of those that
// cannot be saved.
func (f *planFile) entry(e savedEntry, structures map[string]int, list *[][]byte) (b []byte, n, skipped int) {
	var w, plans planWriter
	w.flags(e.demand)
	for i := range e.variants {
		v := &e.variants[i]
		for _, bound := range slices.Backward(v.bound) { // the last used is loaded last, and so first
			st, err := bound.plan.structure.append(nil)
			if err != nil {
				skipped++
				continue
			}
			at, ok := structures[string(st)]
			if !ok {
				at = len(*list)
				structures[string(st)] = at
				*list = append(*list, st)
			}
			plans.flags(v.keep)
			plans.flags(v.dies)
			plans.int(at)
			f.segment(&plans, bound.plan)
			n++
		}
	}
	w.int(n)
	w.b = append(w.b, plans.b...)
	return w.b, n, skipped
}

// segment writes what a plan is of, and notes its kernels.
func (f *planFile) segment(w *planWriter, p *Plan) {
	s := p.Segment
	w.bytes([]byte(s.Cut))
	w.int(len(s.Inputs))
	for i, t := range s.Inputs {
		w.typ(t.Type)
		l := s.Layouts[i]
		w.flag(l.Strides != nil)
		w.signed(l.Offset)
		for _, st := range l.Strides {
			w.signed(st)
		}
		w.int(int(s.Bases[i]))
	}
	w.bytes(ir.AppendNodes(nil, s.Nodes, ir.WithSites))
	w.bytes(customRows(s.Nodes))
	w.int(len(p.Refusals))
	for _, r := range p.Refusals {
		w.int(r.Producer)
		w.int(r.Consumer)
		w.bytes([]byte(r.Rule))
		w.bytes([]byte(r.Detail))
		w.signed(int64(math.Float64bits(r.Got)))
		w.signed(int64(math.Float64bits(r.Limit)))
	}
	for i := range p.Blocks {
		for j := range p.Blocks[i].Pieces {
			f.byWire[string(p.Blocks[i].Pieces[j].Kernel.Code.Kernel().AppendWire(nil))] = 0
		}
	}
}

// customRows is the hash of the custom rows that nodes use, nil if there are none:
// their names alone do not say what they compute.
func customRows(nodes []ir.Node) []byte {
	seen := map[*ir.Row]bool{}
	h := sha256.New()
	for i := range nodes {
		if r := nodes[i].Row; r.Number == 0 && !seen[r] {
			seen[r] = true
			writeRow(h, r)
		}
	}
	if len(seen) == 0 {
		return nil
	}
	return h.Sum(nil)
}

// savedPlan is a plan as it stands in a file.
type savedPlan struct {
	keep, dies []bool
	structure  []byte    // read when the plan is restored: it takes many times the memory
	in         *instance // with bases that hold nothing
	cut        Cut
	refusals   []Refusal
}

// maxSavedNodes bounds the nodes of a segment in a file.
const maxSavedNodes = 1 << 14

func (f *planFile) readEntry(b []byte, structures [][]byte) (out []savedPlan, demand []bool, err error) {
	r := planReader{wire.Reader{B: b}}
	demand = r.flags("demands")
	for n := r.Count("plans", maxVariants*maxBound, 8); n > 0 && r.Err == nil; n-- {
		p := savedPlan{keep: r.flags("results"), dies: r.flags("inputs")}
		if i := r.int("structure", max(0, len(structures)-1)); i < len(structures) {
			p.structure = structures[i]
		} else {
			r.Fail("there are no structures")
		}
		f.readSegment(&r, &p)
		if r.Err != nil {
			break
		}
		if len(p.keep) != len(p.in.types) || p.dies != nil && len(p.dies) != len(p.in.leaves) || len(demand) != len(p.in.types) {
			r.Fail("%d results and %d inputs, marked are %d and %d, demanded %d", len(p.in.types), len(p.in.leaves), len(p.keep), len(p.dies), len(demand))
		}
		out = append(out, p)
	}
	r.End()
	return out, demand, r.Err
}

// readSegment reads a segment as the instance that it was.
func (f *planFile) readSegment(r *planReader, p *savedPlan) {
	p.cut = Cut(r.bytes("cut"))
	in := &instance{sealed: true}
	p.in = in
	var bases []*base
	for n := r.Count("inputs", maxSavedNodes, 4); n > 0 && r.Err == nil; n-- {
		t := r.typ()
		l := ir.Layout{}
		strides := r.flag("strides")
		l.Offset = r.signed("offset")
		for i := 0; strides && i < len(t.Shape); i++ {
			l.Strides = append(l.Strides, r.signed("stride"))
		}
		if strides && l.Strides == nil {
			l.Strides = []int64{}
		}
		at, b := r.int("base", len(in.leaves)+1), &base{baseState: &baseState{id: ir.ID(len(in.leaves) + 1)}}
		switch {
		case r.Err != nil:
			return
		case at == 0 || at <= len(in.leaves) && bases[at-1] != in.leaves[at-1].st.base:
			r.Fail("input %d shows the base of input %d", len(in.leaves)+1, at)
			return
		case at <= len(in.leaves):
			b = bases[at-1]
		}
		bases = append(bases, b)
		in.leaves = append(in.leaves, leaf{&stored{base: b, layout: l}, &t})
	}
	text, hash := r.bytes("nodes"), r.bytes("custom operations")
	for n := r.Count("refusals", maxSavedNodes, 6); n > 0 && r.Err == nil; n-- {
		x := Refusal{Producer: r.int("producer", maxSavedNodes), Consumer: r.int("consumer", maxSavedNodes),
			Rule: string(r.bytes("rule")), Detail: string(r.bytes("detail"))}
		x.Got, x.Limit = math.Float64frombits(uint64(r.signed("figure"))), math.Float64frombits(uint64(r.signed("limit")))
		p.refusals = append(p.refusals, x)
	}
	if r.Err != nil {
		return
	}
	nodes, err := ir.DecodeNodes(text, f.table)
	switch {
	case err != nil:
		r.Fail("%w", err)
	case len(nodes) > maxSavedNodes:
		r.Fail("%d nodes, at most %d", len(nodes), maxSavedNodes)
	case string(customRows(nodes)) != string(hash):
		r.Fail("custom operations differ from those saved")
	}
	for i := range nodes {
		if r.Err == nil {
			f.record(r, in, &nodes[i])
		}
	}
	for _, x := range p.refusals {
		if x.Producer >= len(nodes) || x.Consumer >= len(nodes) {
			r.Fail("a refusal of nodes %d and %d, there are %d", x.Producer, x.Consumer, len(nodes))
		}
	}
}

// record appends a node to an instance, as a stream would have.
func (f *planFile) record(r *planReader, in *instance, n *ir.Node) {
	x := rec{op: OpOf(n.Row, n.Attrs), attrs: n.Attrs, site: n.Site, out: int32(len(in.types))}
	known := ir.ID(len(in.leaves) + len(in.types))
	for _, t := range n.In {
		switch {
		case t.ID == 0 || t.ID > known:
			r.Fail("%s reads %%%d of %d tensors", n.Row.Name, t.ID, known)
			return
		case t.ID <= ir.ID(len(in.leaves)):
			x.in = append(x.in, ^int32(t.ID-1))
		default:
			x.in = append(x.in, int32(t.ID)-int32(len(in.leaves))-1)
		}
		if is := in.tensor(x.in[len(x.in)-1]).Type; !is.Equal(t.Type) {
			r.Fail("%s reads %%%d as %v, which is %v", n.Row.Name, t.ID, t.Type, is)
			return
		}
	}
	for i, t := range n.Out {
		if t.ID != known+ir.ID(i)+1 {
			r.Fail("%s defines %%%d, expected %%%d", n.Row.Name, t.ID, known+ir.ID(i)+1)
			return
		}
		in.types = append(in.types, t.Type)
	}
	in.recs = append(in.recs, x)
}

// restore puts a plan into the cache: its blocks are laid out as the file says, and
// checked as those of a search would be. fresh says that it was not known.
func (f *planFile) restore(p savedPlan, demand []bool) (fresh bool, err error) {
	c := f.c
	defer func() {
		if r := recover(); r != nil {
			err = &PlansRefused{Reason: PlansStale, Cause: fmt.Errorf("the planner failed: %v\n%s", r, debug.Stack())}
		}
	}()
	var key keyBuffer
	key.fill(p.in)
	if c.knows(&key, &p) {
		return false, nil
	}
	st, err := f.readStructure(p.structure)
	if err != nil {
		return false, refusedContent(err)
	}
	st.g, err = newGraph(p.in.segment(p.dies, p.keep, p.cut))
	g := st.g
	if err == nil {
		err = st.fits(g)
	}
	if err != nil {
		return false, &PlansRefused{Reason: PlansStale, Cause: err}
	}
	planner := *c.planner
	planner.Target = &loadTarget{(*target)(c), f}
	c.planning.Lock()
	plan, err := planner.rebuild(g, st, p.refusals)
	c.planning.Unlock()
	if err != nil {
		return false, &PlansRefused{Reason: PlansStale, Cause: err}
	}
	if err := c.warm(plan, g); err != nil {
		return false, &PlansRefused{Reason: PlansStale, Cause: err}
	}
	b := bind(plan, key.dims)
	cc := &c.cache
	cc.mu.Lock()
	defer cc.mu.Unlock()
	e := cc.find(key.path, nil)
	if e == nil {
		if cc.count >= cc.limit {
			return false, &PlansRefused{Reason: PlansStale, Cause: fmt.Errorf("the client keeps %d plans", cc.limit)}
		}
		e = &entry{path: slices.Clone(key.path), demand: make([]bool, len(p.in.types)), used: cc.clock, loaded: true}
		h := hashPath(e.path)
		cc.entries[h] = append(cc.entries[h], e)
		cc.count++
	}
	for i, d := range demand {
		if d && !e.demand[i] {
			e.demand[i] = true
			e.demands++
		}
	}
	v := e.variant(p.keep, p.dies)
	if v == nil {
		if len(e.variants) >= maxVariants {
			return false, &PlansRefused{Reason: PlansStale, Cause: errors.New("the client keeps other results of these operations")}
		}
		v = &variant{keep: p.keep, dies: p.dies}
		e.variants = append(e.variants, v)
	}
	v.promote(b)
	cc.stats.Loaded++
	return true, nil
}

// warm lets the device compile what it makes itself for the nodes of a plan.
func (c *Client) warm(p *Plan, g *graph) error {
	w, ok := backend.As[backend.Warmer](c.inner)
	if !ok {
		return nil
	}
	for i := range p.Blocks {
		if p.Blocks[i].Kind != RoutineBlock {
			continue
		}
		n := &g.Nodes[p.Blocks[i].Routine]
		layouts := make([]ir.Layout, len(n.In))
		for k, t := range n.In {
			st := stored{base: &base{typ: g.tensors[g.root[t.ID]].Type}, layout: g.layout[t.ID]}
			if !st.whole(t.Shape) {
				layouts[k] = st.layout
			}
		}
		if err := w.Warm(n, layouts); err != nil {
			return err
		}
	}
	return nil
}

// full reports whether the cache takes no more plans.
func (c *Client) full() bool {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	return c.cache.count >= c.cache.limit
}

func reasonIs(err error, reason PlansReason) bool {
	var r *PlansRefused
	return errors.As(err, &r) && r.Reason == reason
}

// knows reports whether a plan is in the cache.
func (c *Client) knows(k *keyBuffer, p *savedPlan) bool {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	e := c.cache.find(k.path, nil)
	if e == nil {
		return false
	}
	v := e.variant(p.keep, p.dies)
	return v != nil && slices.ContainsFunc(v.bound, func(b *bound) bool { return slices.Equal(b.dims, k.dims) })
}

// loadTarget gives the kernels of plans that are loaded: only those that the file
// has too, and their code from it, where it is trusted.
type loadTarget struct {
	*target
	f *planFile
}

func (t *loadTarget) Kernel(p *lower.Piece) (*Kernel, error) {
	return t.kernel(p, func(k *kernel.Kernel) (backend.Compiled, error) {
		i, ok := t.f.byWire[string(k.AppendWire(nil))]
		if !ok {
			return nil, fmt.Errorf("kernel %s is not that of the file", k.Name)
		}
		if t.f.trusted && i < len(t.f.codes) && len(t.f.codes[i]) > 0 {
			keeper, _ := backend.As[backend.CodeKeeper](t.inner)
			code, err := keeper.LoadCode(k, t.f.codes[i])
			if err == nil {
				t.f.loaded++
				return code, nil
			}
			t.f.codeErr = &PlansRefused{Reason: PlansCode, Cause: err}
		}
		t.f.made++
		return t.compiler.Compile(k)
	})
}
