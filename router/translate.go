package router

import (
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// use is a tensor of a launch: an operand, a result, or both.
type use struct {
	t   ir.Tensor
	out bool
}

// uses returns the distinct tensors that the pieces of a launch read and write,
// and those that only its nodes read: its results depend on them too.
func uses(l *backend.Launch) []use {
	var all []use
	add := func(t ir.Tensor, out bool) {
		for i := range all {
			if all[i].t.ID == t.ID {
				all[i].out = all[i].out || out
				return
			}
		}
		all = append(all, use{t, out})
	}
	for i := range l.Pieces {
		p := &l.Pieces[i]
		args := p.Kernel.Kernel().Args
		for j, a := range p.Args {
			add(a.Tensor, j < len(args) && args[j].Dir == kernel.Out)
		}
	}
	nodes := l.Nodes.List()
	for i := range nodes {
		for _, t := range nodes[i].In {
			if !made(nodes[:i], t.ID) {
				add(t, false)
			}
		}
	}
	return all
}

// made reports whether a node gives a tensor.
func made(nodes []ir.Node, id ir.ID) bool {
	for i := len(nodes) - 1; i >= 0; i-- {
		if slices.ContainsFunc(nodes[i].Out, func(t ir.Tensor) bool { return t.ID == id }) {
			return true
		}
	}
	return false
}

// rename returns the launch with the member's kernels and ids. Intermediates of
// the nodes get ids of their own. What ids lacks in Consumes stays the client's.
func (c *Client) rename(l *backend.Launch, ids map[ir.ID]ir.ID, consumes map[ir.ID]ir.ID) *backend.Launch {
	out := &backend.Launch{Pieces: slices.Clone(l.Pieces), Nodes: backend.NodesOf(c.renameNodes(l.Nodes.List(), ids)...)}
	for i := range out.Pieces {
		p := &out.Pieces[i]
		p.Kernel, p.Args = p.Kernel.(*compiled).Compiled, slices.Clone(p.Args)
		for j := range p.Args {
			p.Args[j].Tensor.ID, p.Args[j].Over = ids[p.Args[j].Tensor.ID], consumes[p.Args[j].Over]
		}
	}
	for _, id := range l.Also {
		out.Also = append(out.Also, ids[id])
	}
	for _, id := range l.Consumes {
		if inner, ok := consumes[id]; ok {
			out.Consumes = append(out.Consumes, inner)
		}
	}
	return out
}

func (c *Client) renameNodes(nodes []ir.Node, ids map[ir.ID]ir.ID) []ir.Node {
	if len(nodes) == 0 {
		return nil
	}
	out := slices.Clone(nodes)
	for i := range out {
		n := &out[i]
		n.In, n.Out = slices.Clone(n.In), slices.Clone(n.Out)
		for j := range n.In {
			n.In[j].ID = ids[n.In[j].ID]
		}
		for j := range n.Out {
			id, ok := ids[n.Out[j].ID]
			if !ok {
				id = c.fresh()
				ids[n.Out[j].ID] = id
			}
			n.Out[j].ID = id
		}
	}
	return out
}

// plainLaunch translates a launch whose operands are all plain, the common case.
// The client's lock is held.
func (s *submission) plainLaunch(l *backend.Launch) (parcel, bool) {
	c := s.c
	ids := map[ir.ID]ir.ID{}
	var p parcel
	for _, u := range uses(l) {
		e, ok := c.table.get(u.t.ID)
		switch {
		case ok && e.v == nil:
			ids[u.t.ID] = e.inner
		case !ok && u.out:
			p.made = append(p.made, u.t)
		default:
			return parcel{}, false
		}
	}
	for _, id := range l.Consumes {
		if e, ok := c.table.get(id); ok && e.v != nil {
			return parcel{}, false
		}
	}
	for _, t := range p.made {
		ids[t.ID] = c.fresh()
		c.table.put(t.ID, entry{inner: ids[t.ID]})
	}
	p.launch = c.rename(l, ids, s.consume(l, &p))
	return p, true
}

// consume takes the entries that a launch consumes off the client, and returns
// the member's ids of those that nobody else owns: the member frees these, and
// may put results there. The others are freed with their last owner. The router's
// lock is held where any of them is a value.
func (s *submission) consume(l *backend.Launch, p *parcel) map[ir.ID]ir.ID {
	c := s.c
	inner := make(map[ir.ID]ir.ID, len(l.Consumes))
	for _, id := range l.Consumes {
		e, ok := c.table.drop(id)
		if !ok {
			continue
		}
		v := e.v
		switch {
		case v == nil:
			inner[id] = e.inner
		case v.names == 1 && v.holds == 0 && len(v.replicas) == 1 && v.replicas[0].ready && !v.replicas[0].given && v.replicas[0].l == c.home:
			v.replicas[0].given = true
			inner[id] = v.replicas[0].id
			c.forget(e, nil)
		default: // freed with its last owner, and not before the launch is on its way
			v.holds++
			p.held = append(p.held, v)
			c.forget(e, nil)
			continue
		}
		p.taken = append(p.taken, consumed{id, e})
	}
	return inner
}

// launch translates a launch. ok is false if it was parked. Both locks are held.
func (s *submission) launch(l *backend.Launch) (p parcel, ok bool) {
	c, r := s.c, s.c.r
	node := ir.Node{}
	if nodes := l.Nodes.List(); len(nodes) > 0 {
		node = nodes[len(nodes)-1]
	}
	ids := map[ir.ID]ir.ID{}
	var fresh, over []ir.Tensor
	var in []*value
	var inIDs []ir.ID
	var await, before []*replica
	failed := map[ir.ID]*ir.Error{} // operands; nil for those that nobody knows
	busy := false
	all := uses(l)
	for _, u := range all {
		v := s.value(u.t)
		switch {
		case v == nil && u.out:
			fresh = append(fresh, u.t)
			continue
		case v == nil:
			failed[u.t.ID] = nil
			continue
		case v.err != nil:
			failed[u.t.ID] = v.err
			continue
		case u.out && v.names > 1:
			err := describe(ir.Errorf(ir.ErrArgument, "the launch overwrites tensor %d, which has another name", u.t.ID), &node)
			c.raise(err)
			s.spoil(all, err)
			return s.consumeOnly(l), true
		}
		p := v.on(c.home.m)
		if p == nil {
			p = c.copyTo(v, c.home)
		}
		switch {
		case p.ready:
		case p.sending == s && p.l == c.home:
			before = append(before, p)
		default:
			await = append(await, p)
		}
		ids[u.t.ID] = p.id
		in, inIDs = append(in, v), append(inIDs, p.id)
		if u.out {
			over = append(over, u.t)
			busy = busy || v.holds > 0
		}
	}
	nodes := l.Nodes.List()
	if len(failed) > 0 {
		if len(nodes) == 0 {
			s.spoil(all, s.firstFailure(all, failed))
			return s.consumeOnly(l), true
		}
		nodes, fresh = s.sound(nodes, all, fresh, failed)
		if len(nodes) == 0 {
			return s.consumeOnly(l), true
		}
	}
	parked := len(await) > 0 || busy
	var out []*replica
	for _, t := range fresh {
		ids[t.ID] = c.fresh()
		if !parked {
			c.define(t.ID, entry{inner: ids[t.ID]})
			continue
		}
		v := &value{typ: t.Type, names: 1}
		q := &replica{v: v, l: c.home, id: ids[t.ID]}
		v.replicas = []*replica{q}
		out = append(out, q)
		c.define(t.ID, entry{v: v})
	}
	if !parked {
		p.made = fresh
		if len(failed) > 0 {
			p.nodes = c.renameNodes(nodes, ids)
			p.frees = intermediates(p.nodes, func(id ir.ID) bool { return isUse(all, ids, id) })
			for _, id := range s.consume(l, &p) {
				p.frees = append(p.frees, id)
			}
			return p, true
		}
		p.launch = c.rename(l, ids, s.consume(l, &p))
		return p, true
	}
	it := &item{l: c.home, node: node}
	if len(failed) > 0 {
		it.sound = c.renameNodes(nodes, ids)
		it.launch = &backend.Launch{}
	} else {
		it.launch = c.rename(l, ids, nil)
	}
	for _, t := range over {
		i := slices.Index(inIDs, ids[t.ID])
		old := in[i]
		out = append(out, c.succeed(t, old, old.on(c.home.m), it))
		in, inIDs = slices.Delete(in, i, i+1), slices.Delete(inIDs, i, i+1)
	}
	it.in, it.inIDs, it.out = in, inIDs, out
	for i := range l.Pieces {
		k := l.Pieces[i].Kernel.(*compiled)
		k.holds.Add(1)
		it.kernels = append(it.kernels, k)
	}
	r.park(c, it, append(await, before...))
	for _, id := range l.Consumes { // the item holds what it uses
		if e, ok := c.table.drop(id); ok {
			if e.v == nil {
				p.frees = append(p.frees, e.inner)
			}
			c.forget(e, nil)
		}
	}
	return p, len(p.frees) > 0
}

// isUse reports whether the member's id is that of a tensor of a launch.
func isUse(all []use, ids map[ir.ID]ir.ID, inner ir.ID) bool {
	return slices.ContainsFunc(all, func(u use) bool { return ids[u.t.ID] == inner })
}

// intermediates lists what nodes give and nobody keeps.
func intermediates(nodes []ir.Node, kept func(ir.ID) bool) (ids []ir.ID) {
	for i := range nodes {
		for _, t := range nodes[i].Out {
			if !kept(t.ID) {
				ids = append(ids, t.ID)
			}
		}
	}
	return ids
}

// consumeOnly is the parcel of a launch that computes nothing.
func (s *submission) consumeOnly(l *backend.Launch) (p parcel) {
	for _, id := range s.consume(l, &p) {
		p.frees = append(p.frees, id)
	}
	return p
}

// spoil makes the results of a launch errors: what it was to overwrite goes with
// its last user.
func (s *submission) spoil(all []use, err *ir.Error) {
	for _, u := range all {
		if u.out {
			s.c.define(u.t.ID, entry{v: &value{typ: u.t.Type, err: err, names: 1}})
		}
	}
}

// firstFailure returns the error of the first operand that has one.
func (s *submission) firstFailure(all []use, failed map[ir.ID]*ir.Error) *ir.Error {
	for _, u := range all {
		if err, ok := failed[u.t.ID]; ok {
			if err == nil {
				err = s.c.unknown(u.t.ID)
				s.c.raise(err)
			}
			return err
		}
	}
	return nil
}

// sound returns the nodes that depend on no failed operand, and the fresh results
// among theirs. Results of the others are errors, each as it would be unfused.
func (s *submission) sound(nodes []ir.Node, all []use, fresh []ir.Tensor, failed map[ir.ID]*ir.Error) (good []ir.Node, left []ir.Tensor) {
	c := s.c
	bad := map[ir.ID]*ir.Error{}
	for i := range nodes {
		n := &nodes[i]
		var err *ir.Error
		for _, t := range n.In {
			e, lost := bad[t.ID]
			if !lost && !made(nodes[:i], t.ID) {
				if e, lost = failed[t.ID]; lost && e == nil {
					e = describe(c.unknown(t.ID), n)
					c.raise(e)
				}
			}
			if lost {
				err = e
				break
			}
		}
		if err == nil {
			good = append(good, *n)
			continue
		}
		for _, t := range n.Out {
			bad[t.ID] = err
			if slices.ContainsFunc(all, func(u use) bool { return u.out && u.t.ID == t.ID }) {
				c.define(t.ID, entry{v: &value{typ: t.Type, err: err, names: 1}})
			}
		}
	}
	for _, t := range fresh {
		if bad[t.ID] == nil {
			left = append(left, t)
		}
	}
	return good, left
}

// succeed gives a name, whose tensor an item is to overwrite, a value of its own:
// what the tensor is afterwards. Those who hold the old value still read it as it
// was, and the item waits for the last of them.
func (c *Client) succeed(t ir.Tensor, old *value, p *replica, it *item) *replica {
	v := &value{typ: old.typ, names: 1}
	next := &replica{v: v, l: c.home, id: p.id, was: true}
	v.replicas = []*replica{next}
	p.given = true
	if old.holds > 0 {
		it.missing++
		old.idle = append(old.idle, it)
	}
	c.define(t.ID, entry{v: v})
	return next
}

// spare takes a failed operand out of a parked launch: what depends on it becomes
// an error, and the rest is run as nodes. It returns false if nothing is left, or
// the item is no launch with nodes. The router's lock is held.
func (r *Router) spare(it *item, operand ir.ID, err *ir.Error) bool {
	if it.launch == nil || it.c == nil {
		return false
	}
	nodes := it.sound
	if nodes == nil {
		nodes = it.launch.Nodes.List()
	}
	bad := map[ir.ID]bool{operand: true}
	good := []ir.Node{}
	for i := range nodes {
		if slices.ContainsFunc(nodes[i].In, func(t ir.Tensor) bool { return bad[t.ID] }) {
			for _, t := range nodes[i].Out {
				bad[t.ID] = true
			}
			continue
		}
		good = append(good, nodes[i])
	}
	var left, gone []*replica
	for _, p := range it.out {
		if made(good, p.id) {
			left = append(left, p)
		} else {
			gone = append(gone, p)
		}
	}
	if len(left) == 0 {
		return false
	}
	it.sound, it.out = good, left
	for _, p := range gone {
		r.lost(p, err)
	}
	return true
}
