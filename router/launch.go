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
		if k, ok := launches[i].Kernel.(*compiled); !ok || k.c != c {
			return &ir.Error{Kind: ir.ErrDevice, Device: c.info.ID, Msg: fmt.Sprintf("launch %d: the kernel was compiled by another device", i)}
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
	if len(direct) == 0 && len(launches) > 0 {
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
	return err
}

// launch translates a launch. ok is false if it was parked, or its results are
// errors; made are the tensors that it makes known. Both locks are held.
func (s *submission) launch(l backend.Launch) (inner backend.Launch, made []ir.Tensor, ok bool) {
	c, r := s.c, s.c.r
	k := l.Kernel.(*compiled)
	args := append([]backend.LaunchArg(nil), l.Args...)
	isOut := func(i int) bool { return i < len(k.Kernel().Args) && k.Kernel().Args[i].Dir == kernel.Out }
	node := ir.Node{}
	if len(l.Nodes) > 0 {
		node = l.Nodes[len(l.Nodes)-1]
	}
	var fresh, over []int
	var in []*value
	var await, before []*replica
	var failed *ir.Error
	busy := false
	for i, a := range args {
		v := s.value(a.Tensor)
		if v == nil && isOut(i) {
			fresh = append(fresh, i)
			continue
		}
		switch {
		case v == nil:
			failed = describe(c.unknown(a.Tensor.ID), &node)
			c.raise(failed)
		case v.err != nil:
			failed = v.err
		case isOut(i) && v.names > 1:
			failed = describe(ir.Errorf(ir.ErrArgument, "the launch overwrites tensor %d, which has another name", a.Tensor.ID), &node)
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
		args[i].Tensor.ID = p.id
		in = append(in, v)
		if isOut(i) {
			over = append(over, i)
			busy = busy || v.holds > 0
		}
	}
	outs := make([]ir.Tensor, len(fresh))
	for j, i := range fresh {
		outs[j] = args[i].Tensor
	}
	if failed != nil {
		for i, a := range l.Args { // what it was to overwrite goes with its last user
			if isOut(i) {
				c.define(a.Tensor.ID, entry{v: &value{typ: a.Tensor.Type, err: failed, names: 1}})
			}
		}
		return inner, nil, false
	}
	parked := len(await) > 0 || busy
	var out []*replica
	for j, i := range fresh {
		args[i].Tensor.ID = c.fresh()
		if !parked {
			c.define(outs[j].ID, entry{inner: args[i].Tensor.ID})
			continue
		}
		v := &value{typ: outs[j].Type, names: 1}
		p := &replica{v: v, l: c.home, id: args[i].Tensor.ID}
		v.replicas = []*replica{p}
		out = append(out, p)
		c.define(outs[j].ID, entry{v: v})
	}
	inner = l
	inner.Kernel, inner.Args = k.Compiled, args
	if !parked {
		return inner, outs, true
	}
	it := &item{l: c.home, node: node, launch: &inner}
	for _, i := range over {
		old, p := in[0], (*replica)(nil)
		for _, old = range in {
			if p = old.on(c.home.m); p.id == args[i].Tensor.ID {
				break
			}
		}
		out = append(out, c.succeed(l.Args[i].Tensor, old, p, it))
		in = slices.DeleteFunc(in, func(v *value) bool { return v == old })
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
