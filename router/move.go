package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

var _ backend.Mover = (*Client)(nil)

// move is a tensor on its way to another member: the single input of its item,
// to the single result of it.
type move struct {
	it   *item
	ctx  context.Context // whose end ends the move
	v    *value
	to   *lane
	id   ir.ID
	typ  ir.Type
	from *Client // whose errors the source's are; nil for a backend outside
}

// noted adds to a report of an error that the tensor it marks was moved. The
// error's line is unchanged.
func (m *move) noted(err *ir.Error) *ir.Error {
	where := "elsewhere"
	if p := m.v.primary(); p != nil {
		where = p.l.m.text
	} else if m.from != nil {
		where = m.from.info.ID
	}
	return noted(err, where, m.to.m.text)
}

func noted(err *ir.Error, from, to string) *ir.Error {
	e := *err
	note := "moved from " + from + " to " + to
	if e.Detail != "" {
		note = e.Detail + "\n" + note
	}
	e.Detail = note
	return &e
}

// run moves the tensor, on a goroutine of its own.
func (m *move) run() {
	c := m.to.c
	r := c.r
	ctx, cancel := context.WithCancel(m.ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	defer func() { stop(); cancel() }()
	r.mu.Lock()
	src := m.v.readyReplica(m.to.m)
	r.mu.Unlock()
	carried, err := r.transfer(ctx, m, src)
	if err == nil && carried == nil {
		m.to.dirty.Store(true)
	}
	if m.ctx.Err() != nil && err != nil {
		err = c.cancelled(m.ctx, "moving the tensor")
	}
	r.mu.Lock()
	defer r.unlock()
	var failed *ir.Error
	switch {
	case carried != nil:
		failed = m.noted(carried)
	case err != nil:
		e := *ir.AsError(err)
		if e.Op == "" {
			e.Op, e.Operands = "move", []ir.Type{m.typ}
		}
		failed = &e
		c.raise(failed)
	}
	for _, p := range r.finish(m.it) {
		if failed != nil {
			r.lost(p, failed)
		} else {
			r.arrived(p)
		}
	}
}

// transfer asks the bridge of the pair, and notices which side was lost on the way.
func (r *Router) transfer(ctx context.Context, m *move, src *replica) (carried *ir.Error, err error) {
	from, to := src.l.m, m.to.m
	for _, side := range []*member{from, to} {
		if e := side.down(); e != nil {
			return nil, e
		}
	}
	b := r.bridge(from.b, to.b)
	defer func() {
		if p := recover(); p != nil {
			err = &ir.Error{Kind: ir.ErrInternal, Msg: fmt.Sprintf("bridge %s from %s to %s panicked: %v", b.Name(), from.text, to.text, p), Detail: string(debug.Stack())}
		}
	}()
	src.l.calls.other.Add(1)
	m.to.calls.other.Add(1)
	r.mu.Lock()
	m.to.c.traffic.moved(b.Name(), m.typ.Bytes())
	if m.from != nil {
		m.from.traffic.left(m.typ.Bytes())
	}
	r.mu.Unlock()
	carried, err = b.Move(ctx, Move{From: from.b, Tensor: ir.Tensor{ID: src.id, Type: m.typ}, To: to.b, ID: m.id,
		Chunk: r.opt.Chunk, Acquire: r.host.Acquire, Unseen: func(e *ir.Error) {
			if m.from != nil {
				r.mu.Lock()
				m.from.unseen(e)
				r.mu.Unlock()
			}
		}})
	if err != nil && lost(err) {
		for _, side := range []*member{from, to} {
			if gone := side.probe(); gone != nil {
				return nil, gone
			}
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = m.to.c.cancelled(ctx, "moving the tensor")
	}
	return carried, err
}

// copyTo begins to copy a value of the client to another member. Both locks are
// held.
func (c *Client) copyTo(v *value, l *lane) *replica {
	p := &replica{v: v, l: l, id: c.fresh()}
	src := v.readyReplica(l.m)
	v.replicas = append(v.replicas, p)
	c.begin(c.ctx, v, src, p, nil)
	return p
}

// begin parks the move of a value to the place of a replica, behind what makes
// the value.
func (c *Client) begin(ctx context.Context, v *value, src *replica, p *replica, from *Client) {
	m := &move{ctx: ctx, v: v, to: p.l, id: p.id, typ: v.typ, from: from}
	m.it = &item{l: p.l, in: []*value{v}, out: []*replica{p}, move: m}
	var await []*replica
	if src == nil {
		await = append(await, v.primary())
	}
	if from != nil {
		from.outgoing++
	}
	c.r.park(c, m.it, await)
}

// Receive makes a tensor of another backend known here: of a device of the same
// router, of a member by its own ids, or of any other backend.
func (c *Client) Receive(ctx context.Context, from backend.Backend, t ir.Tensor, to ir.ID) error {
	return c.receive(ctx, ctx, from, t, to)
}

// receive waits for room until ctx ends; life ends the move.
func (c *Client) receive(ctx, life context.Context, from backend.Backend, t ir.Tensor, to ir.ID) error {
	if err := t.Check(); err != nil {
		return err
	}
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := c.home.m.down(); err != nil {
		return err
	}
	src, ok := from.(*Client)
	switch {
	case ok && src == c:
		return c.Alias(t.ID, to)
	case ok && src.r == c.r:
		return c.receiveClient(ctx, life, src, t, to)
	case from == c.home.m.b:
		return c.Adopt(from, t, to)
	}
	return c.receiveForeign(ctx, life, from, t, to)
}

// receiveClient takes a tensor of another device of the router. The value is held
// at its source, so that the source's user may free it at once.
func (c *Client) receiveClient(ctx, life context.Context, src *Client, t ir.Tensor, to ir.ID) error {
	if err := src.enter(); err != nil {
		return err
	}
	defer src.leave()
	src.mu.Lock()
	c.r.mu.Lock()
	v := src.value(t)
	if v == nil {
		v = &value{typ: t.Type, err: src.unknown(t.ID)}
		src.raise(v.err)
	}
	v.holds++
	c.r.mu.Unlock()
	src.mu.Unlock()
	return c.take(ctx, life, v, t, to, src)
}

// receiveForeign takes a tensor of a backend that is no device of the router,
// under an id of its own there.
func (c *Client) receiveForeign(ctx, life context.Context, from backend.Backend, t ir.Tensor, to ir.ID) error {
	m := &member{text: from.Info().ID, b: from}
	for _, x := range c.r.members {
		if x.b == from {
			m = x
		}
	}
	l := &lane{c: c, m: m}
	c.mu.Lock()
	id := c.fresh()
	c.mu.Unlock()
	if err := l.alias(t.ID, id); err != nil {
		return err
	}
	v := &value{typ: t.Type, holds: 1}
	v.replicas = []*replica{{v: v, l: l, id: id, ready: true, was: true}}
	return c.take(ctx, life, v, t, to, nil)
}

// take begins the move of a value that the caller holds, and gives the hold up.
func (c *Client) take(ctx, life context.Context, v *value, t ir.Tensor, to ir.ID, src *Client) error {
	r := c.r
	drop := func(err error) error {
		r.mu.Lock()
		r.release(v)
		r.unlock()
		return err
	}
	if err := c.admit(ctx, nil, 1, t.Bytes()); err != nil {
		return drop(err)
	}
	r.mu.Lock()
	dst := &value{typ: t.Type, names: 1}
	if v.err != nil {
		dst.err = noted(v.err, srcName(src), c.info.ID)
		c.define(to, entry{v: dst})
		r.release(v)
		r.unlock()
		c.mu.Unlock()
		return nil
	}
	p := &replica{v: dst, l: c.home, id: c.fresh()}
	dst.replicas = []*replica{p}
	c.define(to, entry{v: dst})
	c.begin(life, v, v.readyReplica(c.home.m), p, src)
	r.release(v)
	r.unlock()
	c.mu.Unlock()
	return nil
}

func srcName(src *Client) string {
	if src == nil {
		return "another backend"
	}
	return src.info.ID
}

// Adopt takes a tensor that the member already knows, under an id of the
// member's own, as a tensor of this device, without a copy. from must be the
// member's backend: a handle of another is an error of kind [ir.ErrDevice]. The
// other id stays valid.
func (c *Client) Adopt(from backend.Backend, t ir.Tensor, to ir.ID) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if from != c.home.m.b {
		name := "nil"
		if from != nil {
			name = from.Info().ID
		}
		return &ir.Error{Kind: ir.ErrDevice, Op: "adopt", Operands: []ir.Type{t.Type}, Device: c.info.ID,
			Msg: fmt.Sprintf("tensor %d belongs to backend %s, which is not the one behind this device; Receive moves it", t.ID, name)}
	}
	c.mu.Lock()
	id := c.fresh()
	c.mu.Unlock()
	if err := c.home.alias(t.ID, id); err != nil {
		return err
	}
	c.mu.Lock()
	c.r.mu.Lock()
	c.define(to, entry{inner: id})
	c.r.unlock()
	c.mu.Unlock()
	return nil
}
