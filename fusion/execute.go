package fusion

import (
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// execution is one run of a bound plan: which bases its ids are.
type execution struct {
	s  *Stream
	in *instance
	tensors
	batch []backend.Launch
	frees []ir.ID
}

// tensors is what a run of a plan leaves for the device, which may ask for nodes
// when the instance is long gone: which bases its ids are, and the user's lines if they
// are not those of the plan.
type tensors struct {
	c     *Client
	b     *bound
	bases []*base // by id: leaves, then results
	sites []ir.Site
}

// execute puts the launches of a plan on the queue and returns the places of the
// results that were kept. The key buffer knows which leaves share bases. After an error, which is one of the queue (closed,
// cancelled), nothing is kept.
func (s *Stream) execute(in *instance, b *bound, keep []bool, places []*stored) ([]*stored, error) {
	x := &execution{s: s, in: in, tensors: tensors{c: s.c, b: b, bases: make([]*base, len(b.types))}}
	for i := range in.leaves {
		x.bases[i+1] = in.leaves[i].st.base
	}
	if !in.lined(b.plan) {
		x.sites = make([]ir.Site, len(in.recs))
		for j := range in.recs {
			x.sites[j] = in.recs[j].site
		}
	}
	err := x.steps()
	first := len(in.leaves) + 1
	for i := range in.types {
		base := x.bases[first+i]
		if base == nil || base.freed.Load() || !keep[i] || err != nil {
			continue
		}
		base.acquire()
		places[i] = &stored{base: base, layout: b.layouts[first+i]}
	}
	for id := first; id < len(x.bases); id++ { // the references of the run itself
		if base := x.bases[id]; base != nil && b.owned[id] && !base.freed.Load() {
			base.release()
		}
	}
	if err != nil {
		return nil, err
	}
	return places, nil
}

func (x *execution) steps() error {
	for i := range x.b.steps {
		st := &x.b.steps[i]
		for _, id := range st.block.Stored {
			x.bases[id] = x.s.c.newBase(x.b.types[id])
		}
		var err error
		switch st.block.Kind {
		case KernelBlock:
			x.launch(st)
		case RoutineBlock:
			err = x.routine(st)
		case CustomBlock:
			err = x.custom(st)
		}
		if err != nil {
			return err
		}
		for _, v := range st.block.Views {
			x.bases[v.ID] = x.bases[v.Of]
		}
		if st.block.Kind != KernelBlock {
			x.consume(st.block.Last)
		}
	}
	return x.flush()
}

// launch adds the launch of a step to the batch.
func (x *execution) launch(st *boundStep) {
	if len(st.pieces) == 0 {
		x.consume(st.block.Last)
		return
	}
	args := make([]backend.LaunchArg, 0, st.args)
	l := backend.Launch{Pieces: make([]backend.Piece, len(st.pieces))}
	for i := range st.pieces {
		ps := &st.pieces[i]
		p := ps.launch
		if len(ps.dynamic) > 0 {
			p.Params = append([]uint64(nil), p.Params...)
			for _, d := range ps.dynamic {
				p.Params[d.at] = d.ref.Bits(x.in.recs[d.rec].attrs[d.ref.Attr])
			}
		}
		from := len(args)
		for _, a := range ps.args {
			b := x.bases[a.Tensor.ID]
			a.Tensor = ir.Tensor{ID: b.id, Type: b.typ}
			if a.Over != 0 {
				a.Over = x.bases[a.Over].id
			}
			args = append(args, a)
		}
		p.Args = args[from:len(args):len(args)]
		l.Pieces[i] = p
	}
	tensors, attrs := x.tensors, x.values(st)
	l.Nodes = backend.LazyNodes(func() []ir.Node { return tensors.nodes(st, attrs) })
	for _, id := range st.also {
		l.Also = append(l.Also, x.bases[id].id)
	}
	for _, id := range st.block.Last {
		if b := x.bases[id]; x.last(b, id) {
			if l.Consumes == nil {
				l.Consumes = make([]ir.ID, 0, len(st.block.Last))
			}
			l.Consumes = append(l.Consumes, b.id)
		}
	}
	x.batch = append(x.batch, l)
}

// last takes the only reference to a base, if it is the only one: the device
// frees the tensor. Leaves are referred to once per leaf.
func (x *execution) last(b *base, id ir.ID) bool {
	n := int32(1) // of the run, for a result
	if int(id) <= len(x.in.leaves) {
		n = x.s.key.holds(int(id) - 1)
	}
	return b.refs.Load() == n && b.gone()
}

// consume frees bases after what has been queued.
func (x *execution) consume(ids []ir.ID) {
	for _, id := range ids {
		if b := x.bases[id]; x.last(b, id) {
			x.frees = append(x.frees, b.id)
		}
	}
}

// values returns the attributes of this run, of the nodes whose attributes may
// differ from those of the plan.
func (x *execution) values(st *boundStep) []ir.Attrs {
	if len(st.valued) == 0 {
		return nil
	}
	out := make([]ir.Attrs, len(st.valued))
	for i, n := range st.valued {
		out[i] = x.in.recs[n].attrs
	}
	return out
}

// nodes are those of a block with the tensors of the device, and before them what
// makes the views that they read.
func (x *tensors) nodes(st *boundStep, attrs []ir.Attrs) []ir.Node {
	seg, block := x.b.plan.Segment, st.block
	var views, out []ir.Node
	made := map[ir.ID]ir.Tensor{} // intermediates and views: ids of their own
	inside := map[ir.ID]bool{}
	for _, i := range block.Nodes {
		for _, t := range seg.Nodes[i].Out {
			inside[t.ID] = true
		}
	}
	tensor := func(from ir.Tensor) ir.Tensor {
		if t, ok := made[from.ID]; ok {
			return t
		}
		base, layout := x.bases[from.ID], x.b.layouts[from.ID]
		t := ir.Tensor{Type: from.Type}
		switch {
		case inside[from.ID] && (base == nil || !slices.Contains(block.Stored, from.ID)), base == nil:
			t.ID = x.c.newID()
		case base.typ.Equal(from.Type) && (&stored{base: base, layout: layout}).whole(from.Shape):
			t.ID = base.id
		default:
			t.ID = x.c.newID()
			views = append(views, stridedNode(base, layout, t))
		}
		made[from.ID] = t
		return t
	}
	for _, i := range block.Nodes {
		n := seg.Nodes[i]
		if k := slices.Index(st.valued, i); k >= 0 {
			n.Attrs = attrs[k]
		}
		if x.sites != nil {
			n.Site = x.sites[i]
		}
		in, results := make([]ir.Tensor, len(n.In)), make([]ir.Tensor, len(n.Out))
		for j := range in {
			in[j] = tensor(n.In[j])
		}
		for j := range results {
			results[j] = tensor(n.Out[j])
		}
		n.In, n.Out = in, results
		out = append(out, n)
	}
	return append(views, out...)
}

// stridedNode shows a base as a view.
func stridedNode(b *base, l ir.Layout, t ir.Tensor) ir.Node {
	row := ir.Lookup("strided")
	strides := l.Strides
	if len(strides) == 0 {
		strides = t.Shape.Strides()
	}
	attrs, err := row.MakeAttrs(ir.A("shape", t.Shape, "offset", l.Offset, "strides", strides))
	if err != nil {
		panic("sinter/fusion: BUG: " + err.Error())
	}
	return ir.Node{Row: row, Attrs: attrs, In: []ir.Tensor{{ID: b.id, Type: b.typ}}, Out: []ir.Tensor{t}}
}

// flush sends the batch, and what is to be freed after it.
func (x *execution) flush() error {
	if len(x.batch) > 0 {
		batch := x.batch
		x.batch = nil
		if err := x.s.c.compiler.Launch(x.s.ctx, batch); err != nil {
			for i := range batch { // nothing was queued: what it would have freed goes now
				x.frees = append(x.frees, batch[i].Consumes...)
			}
			x.s.c.inner.Free(x.frees...)
			return err
		}
	}
	if len(x.frees) > 0 {
		x.s.c.inner.Free(x.frees...)
		x.frees = nil
	}
	return nil
}

// routine submits a node that the device runs by itself.
func (x *execution) routine(st *boundStep) error {
	b := st.block
	if err := x.flush(); err != nil {
		return err
	}
	nodes := x.nodes(st, x.values(st))
	if err := x.s.c.inner.Submit(x.s.ctx, nodes); err != nil {
		return err
	}
	for i := range nodes[:len(nodes)-len(b.Nodes)] { // the views that were made
		x.frees = append(x.frees, nodes[i].Out[0].ID)
	}
	for _, n := range nodes[len(nodes)-len(b.Nodes):] { // results that nobody keeps
		for _, t := range n.Out {
			if !x.isBase(t.ID) {
				x.frees = append(x.frees, t.ID)
			}
		}
	}
	return nil
}

func (x *execution) isBase(id ir.ID) bool {
	for _, b := range x.bases {
		if b != nil && b.id == id {
			return true
		}
	}
	return false
}
