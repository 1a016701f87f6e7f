package router

import (
	"context"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// compiler is the Compiler of a client whose member has one. Kernels run on the
// member itself: placement and fallback are for nodes.
type compiler struct {
	c     *Client
	inner backend.Compiler
}

// compiled is a kernel with the client for whom it was made.
type compiled struct {
	backend.Compiled
	c *Client
}

func (x compiler) Compile(k *kernel.Kernel) (out backend.Compiled, err error) {
	if err := x.c.enter(); err != nil {
		return nil, err
	}
	defer x.c.leave()
	x.c.home.calls.other.Add(1)
	var inner backend.Compiled
	if err := x.c.home.m.ask(func() (err error) { inner, err = x.inner.Compile(k); return err }); err != nil {
		return nil, err
	}
	return &compiled{inner, x.c}, nil
}

// Launch forwards launches whose operands are there, in one call, and parks those
// that wait: for an operand, or, where they overwrite a tensor, for those who
// still read it.
func (x compiler) Launch(ctx context.Context, launches []backend.Launch) error {
	c := x.c
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	for i := range launches {
		for j := range launches[i].Pieces {
			if k, ok := launches[i].Pieces[j].Kernel.(*compiled); !ok || k.c != c {
				return &ir.Error{Kind: ir.ErrDevice, Device: c.info.ID,
					Msg: fmt.Sprintf("launch %d: the kernel of piece %d was compiled by another device", i, j)}
			}
		}
	}
	if err := c.admit(ctx, nil, 0, 0); err != nil {
		return err
	}
	s := &submission{c: c, first: c.next}
	s.lock()
	var direct []backend.Launch
	var out []ir.Tensor
	for i := range launches {
		if l, made, ok := s.launch(launches[i]); ok {
			direct, out = append(direct, l), append(out, made...)
		}
	}
	pending := s.load(c.home, 0).out
	c.r.unlock()
	c.mu.Unlock()
	var consumed []ir.ID
	for i := range launches {
		consumed = append(consumed, launches[i].Consumes...)
	}
	if len(direct) == 0 && len(launches) > 0 {
		c.Free(consumed...)
		return nil
	}
	err := c.home.launch(ctx, direct)
	c.mu.Lock()
	c.r.mu.Lock()
	for _, p := range pending {
		if err == nil {
			c.r.arrived(p)
		} else {
			c.r.lost(p, ir.AsError(err))
		}
	}
	if err != nil {
		for _, t := range out {
			if e, ok := c.table.drop(t.ID); ok {
				c.forget(e, nil)
			}
		}
	}
	c.r.unlock()
	c.mu.Unlock()
	if err == nil {
		c.Free(consumed...) // parked launches hold what they use
	}
	return err
}

// use is a tensor of a launch: an operand, a result, or both.
type use struct {
	t   ir.Tensor
	out bool
}

// uses returns the distinct tensors that the pieces of a launch read and write.
func uses(l *backend.Launch) []use {
	var all []use
	for i := range l.Pieces {
		p := &l.Pieces[i]
		args := p.Kernel.Kernel().Args
		for j, a := range p.Args {
			out := j < len(args) && args[j].Dir == kernel.Out
			if k := slices.IndexFunc(all, func(u use) bool { return u.t.ID == a.Tensor.ID }); k >= 0 {
				all[k].out = all[k].out || out
				continue
			}
			all = append(all, use{a.Tensor, out})
		}
	}
	return all
}

// rename returns the launch with the member's kernels and ids. The client frees
// what it consumes.
func rename(l *backend.Launch, ids map[ir.ID]ir.ID) backend.Launch {
	out := backend.Launch{Pieces: slices.Clone(l.Pieces), Nodes: l.Nodes}
	for i := range out.Pieces {
		p := &out.Pieces[i]
		p.Kernel, p.Args = p.Kernel.(*compiled).Compiled, slices.Clone(p.Args)
		for j := range p.Args {
			p.Args[j].Tensor.ID, p.Args[j].Over = ids[p.Args[j].Tensor.ID], 0
		}
	}
	return out
}

// launch translates a launch. ok is false if it was parked, or its results are
// errors; made are the tensors that it makes known. Both locks are held.
func (s *submission) launch(l backend.Launch) (inner backend.Launch, made []ir.Tensor, ok bool) {
	c, r := s.c, s.c.r
	node := ir.Node{}
	if len(l.Nodes) > 0 {
		node = l.Nodes[len(l.Nodes)-1]
	}
	ids := map[ir.ID]ir.ID{}
	var fresh, over []ir.Tensor
	var in []*value
	var await, before []*replica
	var failed *ir.Error
	busy := false
	all := uses(&l)
	for _, u := range all {
		v := s.value(u.t)
		if v == nil && u.out {
			fresh = append(fresh, u.t)
			continue
		}
		switch {
		case v == nil:
			failed = describe(c.unknown(u.t.ID), &node)
			c.raise(failed)
		case v.err != nil:
			failed = v.err
		case u.out && v.names > 1:
			failed = describe(ir.Errorf(ir.ErrArgument, "the launch overwrites tensor %d, which has another name", u.t.ID), &node)
			c.raise(failed)
		}
		if failed != nil {
			break
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
		in = append(in, v)
		if u.out {
			over = append(over, u.t)
			busy = busy || v.holds > 0
		}
	}
	if failed != nil {
		for _, u := range all { // what it was to overwrite goes with its last user
			if u.out {
				c.define(u.t.ID, entry{v: &value{typ: u.t.Type, err: failed, names: 1}})
			}
		}
		return inner, nil, false
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
		p := &replica{v: v, l: c.home, id: ids[t.ID]}
		v.replicas = []*replica{p}
		out = append(out, p)
		c.define(t.ID, entry{v: v})
	}
	inner = rename(&l, ids)
	if !parked {
		return inner, fresh, true
	}
	it := &item{l: c.home, node: node, launch: &inner}
	for _, t := range over {
		i := slices.IndexFunc(in, func(v *value) bool { return v.on(c.home.m).id == ids[t.ID] })
		old := in[i]
		out = append(out, c.succeed(t, old, old.on(c.home.m), it))
		in = slices.Delete(in, i, i+1)
	}
	it.in, it.out = in, out
	r.park(c, it, append(await, before...))
	return inner, nil, false
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
