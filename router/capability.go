package router

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

var _ backend.Decorator = (*Client)(nil)

// As sets target to a capability of the device: those of its member, forwarded,
// and [backend.Mover].
func (c *Client) As(target any) bool {
	b := c.home.m.b
	switch t := target.(type) {
	case **Client:
		*t = c
		return true
	case *backend.Mover:
		*t = c
		return true
	case *backend.Compiler:
		return backend.Pass(t, b, func(x backend.Compiler) backend.Compiler { return compiler{c, x} })
	case *backend.Tiler:
		return backend.Pass(t, b, nil)
	case *backend.Profiler:
		return backend.Pass(t, b, func(x backend.Profiler) backend.Profiler { return profiler{c, x} })
	case *backend.Memory:
		return backend.Pass(t, b, func(x backend.Memory) backend.Memory { return memory{c, x} })
	case *backend.Pools:
		return backend.Pass(t, b, func(x backend.Pools) backend.Pools { return pools{c, x} })
	case *backend.Capturer:
		return backend.Pass(t, b, func(x backend.Capturer) backend.Capturer { return capturer{c, x} })
	case *backend.Routines:
		return backend.Pass(t, b, func(x backend.Routines) backend.Routines { return routines{c, x} })
	case *backend.HostMemory:
		return backend.Pass(t, b, func(x backend.HostMemory) backend.HostMemory { return hostMemory{c, x} })
	case *backend.Streams:
		return backend.Pass(t, b, func(x backend.Streams) backend.Streams { return streams{c, x} })
	case *backend.Supporter:
		if !c.r.opt.Fallback && c.home.m.support == nil {
			return false
		}
		*t = supporter{c}
		return true
	case *backend.Counting:
		return backend.Pass(t, b, nil)
	case *backend.Collective:
		return backend.Pass(t, b, nil)
	}
	return false
}

// direct calls the member behind everything that is parked.
func (c *Client) direct(ctx context.Context, f func() error) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := c.drain(ctx); err != nil {
		return err
	}
	c.home.calls.other.Add(1)
	return c.home.m.ask(f)
}

// profiler forwards windows as they are: what is parked when a window opens may
// run inside it.
type profiler struct {
	c     *Client
	inner backend.Profiler
}

func (p profiler) ProfileStart() (w backend.Window, err error) {
	if err := p.c.enter(); err != nil {
		return nil, err
	}
	defer p.c.leave()
	p.c.home.calls.other.Add(1)
	err = p.c.home.m.ask(func() (err error) { w, err = p.inner.ProfileStart(); return err })
	return w, err
}

// memory reports the member's bytes and the client's own tensors: others may use
// the member too. Members that run some of the device's nodes are drained first,
// since they may hold memory on loan from this one.
type memory struct {
	c     *Client
	inner backend.Memory
}

func (m memory) MemoryUsage(ctx context.Context) (u backend.MemoryUsage, err error) {
	err = m.c.direct(ctx, func() (err error) {
		for _, l := range m.c.lanes {
			if other, ok := backend.As[backend.Memory](l.m.b); ok && l != m.c.home && l.calls.submit.Load() > 0 {
				l.calls.other.Add(1)
				_ = l.m.ask(func() error { _, err := other.MemoryUsage(ctx); return err }) // a lost one holds nothing
			}
		}
		u, err = m.inner.MemoryUsage(ctx)
		return err
	})
	u.Tensors = m.c.Live()
	return u, err
}

func (m memory) Cleanup() {
	if m.c.enter() != nil {
		return // a closed device has no memory
	}
	defer m.c.leave()
	m.c.home.calls.other.Add(1)
	_ = m.c.home.m.call(func() error { m.inner.Cleanup(); return nil }) // a lost one neither
}

// pools asks the member behind everything that is parked.
type pools struct {
	c     *Client
	inner backend.Pools
}

func (p pools) PoolReport(ctx context.Context) (u []backend.PoolUsage, err error) {
	err = p.c.direct(ctx, func() (err error) { u, err = p.inner.PoolReport(ctx); return err })
	return u, err
}

func (p pools) Persistent(ctx context.Context, on bool) error {
	return p.c.direct(ctx, func() error { return p.inner.Persistent(ctx, on) })
}

// Live returns the number of ids that the client knows.
func (c *Client) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.n
}

// capturer forwards captures behind everything parked.
type capturer struct {
	c     *Client
	inner backend.Capturer
}

func (x capturer) CaptureStart() error {
	return x.c.direct(context.Background(), x.inner.CaptureStart)
}

func (x capturer) CaptureStop() (g backend.Graph, err error) {
	err = x.c.direct(context.Background(), func() (err error) { g, err = x.inner.CaptureStop(); return err })
	return g, err
}

type routines struct {
	c     *Client
	inner backend.Routines
}

func (x routines) AddRoutine(row string, f backend.Routine) error {
	if err := x.c.enter(); err != nil {
		return err
	}
	defer x.c.leave()
	x.c.home.calls.other.Add(1)
	return x.c.home.m.ask(func() error { return x.inner.AddRoutine(row, f) })
}

// supporter says what the device lacks, with the help of others where fallback
// is allowed.
type supporter struct{ c *Client }

func (s supporter) Supports(n *ir.Node) error {
	reason := s.c.home.m.lacks(n)
	if reason == "" {
		return nil
	}
	if s.c.r.opt.Fallback {
		for _, m := range s.c.r.order {
			if m.down() == nil && m.lacks(n) == "" {
				return nil
			}
		}
	}
	return &ir.Error{Kind: ir.ErrUnsupported, Op: n.Row.Name, Device: s.c.info.ID, Msg: reason}
}

// hostMemory lends tensors that lie on the device's own member.
type hostMemory struct {
	c     *Client
	inner backend.HostMemory
}

func (h hostMemory) Lend(ctx context.Context, id ir.ID) (lent backend.Lent, err error) {
	failed, err := h.c.use(ctx, id, func(inner ir.ID) (err error) { lent, err = h.inner.Lend(ctx, inner); return err })
	if failed != nil {
		return backend.Lent{Err: failed}, nil
	}
	return lent, err
}

func (h hostMemory) Adopt(t ir.Tensor, m backend.Lent) error {
	return h.c.bring(t, func(t ir.Tensor) error { return h.inner.Adopt(t, m) })
}

// use calls f with the id on the home member of a tensor, once it is there. It
// returns the error of one that has no such id.
func (c *Client) use(ctx context.Context, id ir.ID, f func(ir.ID) error) (*ir.Error, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	c.mu.Lock()
	e, ok := c.table.get(id)
	if !ok {
		c.mu.Unlock()
		return c.unknown(id), nil
	}
	if e.v == nil {
		inner := e.inner
		c.mu.Unlock()
		c.home.calls.read.Add(1)
		return nil, c.home.m.call(func() error { return f(inner) })
	}
	v := e.v
	c.r.mu.Lock()
	p := (*replica)(nil)
	if v.err == nil {
		if p = v.on(c.home.m); p == nil {
			p = c.copyTo(v, c.home)
		}
	}
	v.holds++
	c.r.mu.Unlock()
	c.mu.Unlock()
	defer func() {
		c.r.mu.Lock()
		c.r.release(v)
		c.r.unlock()
	}()
	if p == nil {
		return v.err, nil
	}
	var inner ir.ID
	c.r.mu.Lock()
	err := c.waitUntil(ctx, func() bool {
		inner = p.id
		return p.ready || v.err != nil || v.on(c.home.m) != p
	})
	failed := v.err
	if failed == nil && err == nil && !p.ready {
		failed = ir.Errorf(ir.ErrDevice, "the tensor did not arrive on %s", c.info.ID)
	}
	c.r.mu.Unlock()
	if err != nil || failed != nil {
		return failed, err
	}
	c.home.calls.read.Add(1)
	return nil, c.home.m.call(func() error { return f(inner) })
}

// bring defines a tensor that f makes known to the home member.
func (c *Client) bring(t ir.Tensor, f func(ir.Tensor) error) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	c.mu.Lock()
	id := c.fresh()
	c.mu.Unlock()
	c.home.calls.upload.Add(1)
	c.home.dirty.Store(true)
	if err := c.home.m.call(func() error { return f(ir.Tensor{ID: id, Type: t.Type}) }); err != nil {
		return err
	}
	c.mu.Lock()
	c.r.mu.Lock()
	c.define(t.ID, entry{inner: id})
	c.r.unlock()
	c.mu.Unlock()
	return nil
}

type streams struct {
	c     *Client
	inner backend.Streams
}

func (s streams) OpenRead(ctx context.Context, id ir.ID) (r backend.Reader, err error) {
	failed, err := s.c.use(ctx, id, func(inner ir.ID) (err error) { r, err = s.inner.OpenRead(ctx, inner); return err })
	if failed != nil {
		return failedReader{err: failed}, nil
	}
	return r, err
}

func (s streams) OpenWrite(ctx context.Context, t ir.Tensor) (backend.Writer, error) {
	if err := s.c.enter(); err != nil {
		return nil, err
	}
	defer s.c.leave()
	s.c.mu.Lock()
	id := s.c.fresh()
	s.c.mu.Unlock()
	s.c.home.calls.upload.Add(1)
	var w backend.Writer
	if err := s.c.home.m.call(func() (err error) { w, err = s.inner.OpenWrite(ctx, ir.Tensor{ID: id, Type: t.Type}); return err }); err != nil {
		return nil, err
	}
	return &writer{w, s.c, t, id}, nil
}

// writer makes the client's id known with the member's.
type writer struct {
	backend.Writer
	c  *Client
	t  ir.Tensor
	id ir.ID
}

func (w *writer) Commit() error {
	if err := w.c.enter(); err != nil {
		return err
	}
	defer w.c.leave()
	if err := w.c.home.m.call(w.Writer.Commit); err != nil {
		return err
	}
	w.c.mu.Lock()
	w.c.r.mu.Lock()
	w.c.define(w.t.ID, entry{inner: w.id})
	w.c.r.unlock()
	w.c.mu.Unlock()
	return nil
}

// failedReader is the reader of a tensor that carries an error no member knows of.
type failedReader struct {
	backend.Reader
	err *ir.Error
}

func (r failedReader) Err() *ir.Error { return r.err }
func (r failedReader) Type() ir.Type  { return ir.Type{} }
func (r failedReader) Close()         {}
