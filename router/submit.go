package router

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// submission is one call of Submit: nodes that can go at once, by lane. Nodes
// that cannot are parked on the way.
type submission struct {
	c       *Client
	nodes   []ir.Node // as recorded
	first   ir.ID     // ids of the members above it are results of this call
	locked  bool      // the router's lock is held
	tensors []ir.Tensor
	plain   []ir.ID // replaced tensors of the home member

	loads  []load
	parked int
}

// load is what a submission sends on one lane.
type load struct {
	l     *lane
	nodes []ir.Node  // with the member's ids
	out   []*replica // results that are values
}

func (s *submission) lock() {
	if !s.locked {
		s.c.r.mu.Lock()
		s.locked = true
	}
}

// Submit forwards nodes whose operands are known to the member that runs them,
// and parks the others, and what depends on them, until their operands arrive.
// It waits for room at the member, and for room among the parked.
//
// An error means that nothing was queued. Where a part was (nodes for several
// members, or some that are parked), the results of the others are errors instead.
func (c *Client) Submit(ctx context.Context, nodes []ir.Node) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := c.home.m.down(); err != nil {
		return err
	}
	if err := c.admit(ctx, nodes, 0, 0); err != nil { // returns with the client's lock
		return err
	}
	s := &submission{c: c, nodes: nodes, first: c.next}
	n := 0
	for i := range nodes {
		n += len(nodes[i].In) + len(nodes[i].Out)
	}
	s.tensors = make([]ir.Tensor, 0, n)
	for i := range nodes {
		if c.r.routes || !s.forward(&nodes[i], len(nodes)) {
			s.node(&nodes[i], len(nodes))
		}
	}
	if s.locked {
		c.r.unlock()
	}
	c.mu.Unlock()
	c.home.free(s.plain)
	return s.send(ctx)
}

// admit takes the client's lock once there is room for what would be parked: of
// nodes, and besides. It is let in, however large, when nothing is parked.
func (c *Client) admit(ctx context.Context, nodes []ir.Node, ops int, bytes int64) error {
	for {
		c.mu.Lock()
		if c.parked.Load() == 0 {
			return nil
		}
		c.r.mu.Lock()
		nodeOps, nodeBytes := c.wouldPark(nodes)
		n, more := len(c.items), ops+nodeOps
		if more == 0 || n == 0 || n+more <= c.r.opt.ParkedOps && c.parkedBytes+bytes+nodeBytes <= c.r.opt.ParkedBytes {
			c.r.mu.Unlock()
			return nil
		}
		changed := c.change()
		c.r.mu.Unlock()
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return c.cancelled(ctx, "waiting for room among the operations that wait for a move")
		case <-c.ctx.Done():
			return &ir.Error{Kind: ir.ErrClosed, Msg: "the device is closed", Device: c.info.ID}
		}
	}
}

// wouldPark counts the nodes that depend on something awaited.
func (c *Client) wouldPark(nodes []ir.Node) (ops int, bytes int64) {
	waiting := map[ir.ID]bool{}
	for i := range nodes {
		waits := false
		for _, t := range nodes[i].In {
			e, ok := c.table.get(t.ID)
			waits = waits || waiting[t.ID] || ok && e.v != nil && !e.v.isSettled()
		}
		if !waits {
			continue
		}
		ops++
		for _, t := range nodes[i].Out {
			waiting[t.ID] = true
			bytes += t.Bytes()
		}
	}
	return ops, bytes
}

func (s *submission) load(l *lane, n int) *load {
	for i := range s.loads {
		if s.loads[i].l == l {
			return &s.loads[i]
		}
	}
	s.loads = append(s.loads, load{l: l, nodes: make([]ir.Node, 0, n)})
	return &s.loads[len(s.loads)-1]
}

// forward translates a node whose operands are all plain, the common case: to
// the home member, without a value or an allocation of its own.
func (s *submission) forward(n *ir.Node, total int) bool {
	c, from := s.c, len(s.tensors)
	for _, t := range n.In {
		e, ok := c.table.get(t.ID)
		if !ok || e.v != nil {
			s.tensors = s.tensors[:from]
			return false
		}
		s.tensors = append(s.tensors, ir.Tensor{ID: e.inner, Type: t.Type})
	}
	mid := len(s.tensors)
	for _, t := range n.Out {
		id := c.fresh()
		if old, had := c.table.put(t.ID, entry{inner: id}); had {
			s.lock()
			c.forget(old, &s.plain)
		}
		s.tensors = append(s.tensors, ir.Tensor{ID: id, Type: t.Type})
	}
	l := s.load(c.home, total)
	l.nodes = append(l.nodes, ir.Node{Row: n.Row, Attrs: n.Attrs, Site: n.Site,
		In: s.tensors[from:mid:mid], Out: s.tensors[mid:len(s.tensors):len(s.tensors)]})
	return true
}

// node takes any other node: it chooses the member, sees to it that the operands
// get there, and forwards or parks it.
func (s *submission) node(n *ir.Node, total int) {
	s.lock()
	c, r := s.c, s.c.r
	in := make([]*value, len(n.In))
	for i, t := range n.In {
		if in[i] = s.value(t); in[i] == nil {
			err := describe(c.unknown(t.ID), n)
			c.raise(err)
			s.failed(n, err)
			return
		}
	}
	for _, v := range in { // the first error is passed on as it is
		if v.err != nil {
			s.failed(n, v.err)
			return
		}
	}
	l, err := c.choose(n)
	if err != nil {
		e := describe(err, n)
		c.raise(e)
		s.failed(n, e)
		return
	}
	inner := ir.Node{Row: n.Row, Attrs: n.Attrs, Site: n.Site, In: make([]ir.Tensor, len(n.In)), Out: make([]ir.Tensor, len(n.Out))}
	var await, before []*replica
	for i, v := range in {
		p := v.on(l.m)
		if p == nil {
			p = c.copyTo(v, l)
		}
		switch {
		case p.ready:
		case p.sending == s && p.l == l:
			before = append(before, p) // goes first, unless this one is parked
		default:
			await = append(await, p)
		}
		inner.In[i] = ir.Tensor{ID: p.id, Type: n.In[i].Type}
	}
	if len(await) > 0 {
		await = append(await, before...)
	}
	var out []*replica
	for i, t := range n.Out {
		inner.Out[i] = ir.Tensor{ID: c.fresh(), Type: t.Type}
		if len(await) == 0 && !r.routes {
			c.define(t.ID, entry{inner: inner.Out[i].ID}) // known before anyone may use it
			continue
		}
		v := &value{typ: t.Type, names: 1}
		p := &replica{v: v, l: l, id: inner.Out[i].ID}
		v.replicas = []*replica{p}
		out = append(out, p)
		c.define(t.ID, entry{v: v})
	}
	if len(await) > 0 {
		s.parked++
		r.park(c, &item{l: l, in: in, out: out, node: *n, inner: inner}, await)
		return
	}
	load := s.load(l, total)
	load.nodes = append(load.nodes, inner)
	for _, p := range out {
		p.sending = s
		load.out = append(load.out, p)
	}
}

// value returns what an operand names as a value. A plain result of the same call
// is on its way only.
func (s *submission) value(t ir.Tensor) *value {
	e, ok := s.c.table.get(t.ID)
	fresh := ok && e.v == nil && e.inner > s.first
	v := s.c.value(t)
	if fresh {
		p := v.replicas[0]
		p.ready, p.was, p.sending = false, false, s
		l := s.load(s.c.home, 1)
		l.out = append(l.out, p)
	}
	return v
}

// failed makes the results of a node errors.
func (s *submission) failed(n *ir.Node, err *ir.Error) {
	for _, t := range n.Out {
		s.c.define(t.ID, entry{v: &value{typ: t.Type, err: err, names: 1}})
	}
}

// send delivers the loads. What others wait for arrives only now.
func (s *submission) send(ctx context.Context) error {
	c := s.c
	sent := s.parked > 0
	for i := range s.loads {
		l := &s.loads[i]
		c.nodes.Add(int64(len(l.nodes)))
		err := l.l.submit(ctx, l.nodes)
		switch {
		case err == nil:
			sent = true
			if len(l.out) > 0 {
				c.r.mu.Lock()
				for _, p := range l.out {
					c.r.arrived(p)
				}
				c.r.unlock()
			}
		case !sent && len(s.loads) == 1:
			s.undo(l)
			return err
		default:
			s.fail(l, err)
		}
	}
	return nil
}

// recorded returns the nodes of a load as they were recorded: those whose results
// have the ids of the load's, in the same order. It is asked for on errors only.
func (s *submission) recorded(l *load) []*ir.Node {
	out := make([]*ir.Node, 0, len(l.nodes))
	for i := range s.nodes {
		if len(out) == len(l.nodes) {
			break
		}
		e, ok := s.c.table.get(s.nodes[i].Out[0].ID)
		if !ok {
			continue
		}
		id := e.inner
		if e.v != nil && len(e.v.replicas) > 0 {
			id = e.v.replicas[0].id
		}
		if id == l.nodes[len(out)].Out[0].ID {
			out = append(out, &s.nodes[i])
		}
	}
	return out
}

// undo forgets the results of a load that was not taken, so that it never was.
func (s *submission) undo(l *load) {
	c := s.c
	c.mu.Lock()
	c.r.mu.Lock()
	for _, n := range s.recorded(l) {
		for _, t := range n.Out {
			if e, ok := c.table.drop(t.ID); ok {
				c.forget(e, nil)
			}
		}
	}
	for _, p := range l.out {
		c.r.lost(p, ir.Errorf(ir.ErrInternal, "the node was not queued"))
	}
	c.r.unlock()
	c.mu.Unlock()
}

// fail makes the results of a load that was not taken errors.
func (s *submission) fail(l *load, err error) {
	c := s.c
	c.mu.Lock()
	c.r.mu.Lock()
	errs := make(map[ir.ID]*ir.Error, len(l.nodes))
	for i, n := range s.recorded(l) {
		e := describe(err, n)
		for j, t := range n.Out {
			errs[l.nodes[i].Out[j].ID] = e
			if old, ok := c.table.get(t.ID); ok && old.v == nil {
				c.define(t.ID, entry{v: &value{typ: t.Type, err: e, names: 1}})
			}
		}
	}
	for _, p := range l.out {
		c.r.lost(p, errs[p.id])
	}
	c.r.unlock()
	c.mu.Unlock()
}
