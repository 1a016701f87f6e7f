package fusion

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// execution is one run of a bound plan: which bases its ids are.
type execution struct {
	s *Stream
	b *bound
	tensors
	batch []backend.Launch
	frees []ir.ID
}

// tensors is what a run of an instance needs of it: which bases its ids are. It
// outlives the instance where the device asks for nodes late.
type tensors struct {
	c       *Client
	leaves  []leaf
	recs    []rec
	types   []ir.Type
	bases   []*base     // by id: leaves, then results
	layouts []ir.Layout // in their bases; of leaves, and of results that are views
}

// execute puts the launches of a plan on the queue and returns the places of the
// results that were kept. After an error, which is one of the queue (closed,
// cancelled), nothing is kept.
func (s *Stream) execute(in *instance, b *bound, keep []bool) ([]*stored, error) {
	n := len(in.leaves) + len(in.types)
	x := &execution{s: s, b: b, tensors: tensors{s.c, in.leaves, in.recs, in.types, make([]*base, n+1), make([]ir.Layout, n+1)}}
	for i := range in.leaves {
		x.bases[i+1] = in.leaves[i].st.base
		x.layouts[i+1] = in.leaves[i].st.layout
	}
	err := x.steps()
	places := make([]*stored, len(in.types))
	viewed := map[*base]bool{}
	for i := range in.types {
		id := len(in.leaves) + 1 + i
		base := x.bases[id]
		if base == nil || base.freed.Load() {
			continue
		}
		if !keep[i] || err != nil {
			continue
		}
		base.acquire()
		viewed[base] = true
		places[i] = &stored{base: base, layout: x.layouts[id]}
	}
	for i := len(in.leaves) + 1; i <= n; i++ { // the references of the run itself
		if base := x.bases[i]; base != nil && x.owns(i) && !base.freed.Load() {
			base.release()
		}
	}
	if err != nil {
		return nil, err
	}
	return places, nil
}

// owns reports whether a result has a base of its own, of which the run holds a
// reference.
func (x *execution) owns(id int) bool {
	for _, b := range x.b.plan.Blocks {
		for _, s := range b.Stored {
			if int(s) == id {
				return true
			}
		}
	}
	return false
}

func (x *execution) steps() error {
	for i := range x.b.steps {
		st := &x.b.steps[i]
		for _, id := range st.block.Stored {
			x.bases[id] = x.s.c.newBase(x.typeOf(id))
		}
		var err error
		switch st.block.Kind {
		case KernelBlock:
			x.launch(st)
		case RoutineBlock:
			err = x.routine(st.block)
		case CustomBlock:
			err = x.custom(st.block)
		}
		if err != nil {
			return err
		}
		for _, v := range st.block.Views {
			x.bases[v.ID], x.layouts[v.ID] = x.bases[v.Of], v.Layout
		}
		if st.block.Kind != KernelBlock {
			x.consume(st.block.Last)
		}
	}
	return x.flush()
}

func (x *tensors) typeOf(id ir.ID) ir.Type {
	if int(id) <= len(x.leaves) {
		return x.leaves[id-1].typ
	}
	return x.types[int(id)-len(x.leaves)-1]
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
				p.Params[d.at] = d.ref.Bits(x.recs[d.rec].attrs[d.ref.Attr])
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
	block, tensors := st.block, x.tensors
	l.Nodes = backend.LazyNodes(func() []ir.Node { return tensors.nodes(block) })
	for _, id := range st.also {
		l.Also = append(l.Also, x.bases[id].id)
	}
	for _, id := range st.block.Last {
		if b := x.bases[id]; x.last(b, id) {
			l.Consumes = append(l.Consumes, b.id)
		}
	}
	x.batch = append(x.batch, l)
}

// last takes the only reference to a base, if it is the only one: the device
// frees the tensor. Leaves are referred to once per leaf.
func (x *execution) last(b *base, id ir.ID) bool {
	n := int32(0)
	if int(id) > len(x.leaves) {
		n = 1
	}
	for i := range x.leaves {
		if x.leaves[i].st.base == b {
			n++
		}
	}
	if b.refs.Load() != n || !b.freed.CompareAndSwap(false, true) {
		return false
	}
	x.s.c.live.Add(-b.bytes)
	return true
}

// consume frees bases after what has been queued.
func (x *execution) consume(ids []ir.ID) {
	for _, id := range ids {
		if b := x.bases[id]; x.last(b, id) {
			x.frees = append(x.frees, b.id)
		}
	}
}

// nodes are those of a block with the tensors of the device, and before them what
// makes the views that they read.
func (x *tensors) nodes(b *Block) []ir.Node {
	var views, out []ir.Node
	made := map[int32]ir.Tensor{} // intermediates and views: ids of their own
	inside := map[int32]bool{}
	for _, i := range b.Nodes {
		r := &x.recs[i]
		for j := 0; j < r.op.Row.NumResults(); j++ {
			inside[r.out+int32(j)] = true
		}
	}
	tensor := func(ref int32) ir.Tensor {
		if t, ok := made[ref]; ok {
			return t
		}
		id := int(ref) + len(x.leaves) + 1
		if ref < 0 {
			id = int(^ref) + 1
		}
		typ := x.typeOf(ir.ID(id))
		base := x.bases[id]
		var t ir.Tensor
		switch {
		case inside[ref] && (base == nil || !x.stores(b, ir.ID(id))), base == nil:
			t = ir.Tensor{ID: x.c.newID(), Type: typ}
		case base.typ.Equal(typ) && (&stored{base: base, layout: x.layouts[id]}).whole(typ.Shape):
			t = ir.Tensor{ID: base.id, Type: typ}
		default:
			t = ir.Tensor{ID: x.c.newID(), Type: typ}
			views = append(views, stridedNode(base, x.layouts[id], t))
		}
		made[ref] = t
		return t
	}
	for _, i := range b.Nodes {
		out = append(out, x.recs[i].node(tensor))
	}
	return append(views, out...)
}

func (x *tensors) stores(b *Block, id ir.ID) bool {
	for _, s := range b.Stored {
		if s == id {
			return true
		}
	}
	return false
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
func (x *execution) routine(b *Block) error {
	if err := x.flush(); err != nil {
		return err
	}
	nodes := x.nodes(b)
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
