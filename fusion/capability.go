package fusion

import (
	"context"
	"reflect"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// As sets target to a capability of the client: those of the inner backend,
// passed on with the rules of each. Windows, graphs and counts drain what is
// recorded first, without waiting for the device; clean-up and questions about
// support bypass it.
func (c *Client) As(target any) bool {
	b := c.inner
	switch t := target.(type) {
	case **Client:
		*t = c
		return true
	case *backend.Compiler:
		return backend.Pass(t, b, func(x backend.Compiler) backend.Compiler { return passCompiler{c, x} })
	case *backend.Capturer:
		if backend.Pass(t, b, func(x backend.Capturer) backend.Capturer { return passCapturer{c, x} }) {
			return true
		}
		if c.compiler == nil {
			return false
		}
		*t = ownCapturer{c}
		return true
	case *backend.Profiler:
		return backend.Pass(t, b, func(x backend.Profiler) backend.Profiler { return passProfiler{c, x} })
	case *backend.Memory:
		return backend.Pass(t, b, func(x backend.Memory) backend.Memory { return passMemory{c, x} })
	case *backend.Pools:
		return backend.Pass(t, b, func(x backend.Pools) backend.Pools { return passPools{c, x} })
	case *backend.Counting:
		return backend.Pass(t, b, func(x backend.Counting) backend.Counting { return passCounting{c, x} })
	case *backend.Routines:
		return backend.Pass(t, b, nil)
	case *backend.Supporter:
		return backend.Pass(t, b, nil)
	case *backend.Tiler:
		return backend.Pass(t, b, nil)
	case *backend.HostMemory:
		return backend.Pass(t, b, func(x backend.HostMemory) backend.HostMemory { return passHost{c, x} })
	case *backend.Streams:
		return backend.Pass(t, b, func(x backend.Streams) backend.Streams { return passStreams{c, x} })
	case *backend.Mover:
		return backend.Pass(t, b, func(x backend.Mover) backend.Mover { return passMover{c, x} })
	case *backend.Collective:
		return backend.Pass(t, b, nil)
	}
	// A concrete type, such as that of the router below, is asked for by those who
	// know it; its methods do not go through this client.
	if v := reflect.ValueOf(target); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Pointer {
		if d, ok := b.(backend.Decorator); ok {
			return d.As(target)
		}
		if x := reflect.ValueOf(b); x.Type() == v.Elem().Type() {
			v.Elem().Set(x)
			return true
		}
	}
	return false
}

// plain makes a value a row-major tensor of the inner backend and returns its id,
// with what to call when it is no longer needed.
func (c *Client) plain(ctx context.Context, v *Value) (ir.ID, func(), error) {
	st, err := v.settled(ctx)
	if err != nil {
		return 0, nil, err
	}
	if !st.base.acquire() {
		return 0, nil, released()
	}
	if st.whole(v.typ.Shape) && st.base.typ.Equal(*v.typ) {
		return st.base.id, st.base.release, nil
	}
	t := ir.Tensor{ID: c.newID(), Type: *v.typ}
	if err := c.inner.Submit(ctx, []ir.Node{stridedNode(st.base, st.layout, t)}); err != nil {
		st.base.release()
		return 0, nil, err
	}
	return t.ID, func() { c.free(t.ID); st.base.release() }, nil
}

// passCompiler launches a client's own kernels over values of the facade. A
// result whose memory a launch writes must be unknown before; arguments are made
// row-major, as the contract says.
type passCompiler struct {
	c *Client
	backend.Compiler
}

func (p passCompiler) Launch(ctx context.Context, launches []backend.Launch) error {
	if p.c.closed.Load() {
		return closedError(p.c)
	}
	inner := make([]backend.Launch, len(launches))
	var after []func()
	defer func() {
		for _, f := range after {
			f()
		}
	}()
	for i, l := range launches {
		made := map[ir.ID]ir.ID{}
		name := func(t ir.Tensor) ir.Tensor {
			id, ok := made[t.ID]
			if !ok {
				p.c.facade.mu.Lock()
				o := p.c.facade.ids[t.ID]
				p.c.facade.mu.Unlock()
				if o == nil { // a result
					b := p.c.newBase(t.Type)
					id = b.id
					p.c.put(t.ID, p.c.main.adopt(b))
				} else if plain, done, err := p.c.plain(ctx, o.v); err == nil {
					id = plain
					after = append(after, done)
				} else { // an operand that failed: a tensor that carries the error
					id = p.c.newID()
					after = append(after, func() { p.c.free(id) })
				}
				made[t.ID] = id
			}
			return ir.Tensor{ID: id, Type: t.Type}
		}
		x := l
		x.Pieces = make([]backend.Piece, len(l.Pieces))
		x.Consumes = nil
		for j, piece := range l.Pieces {
			piece.Args = append([]backend.LaunchArg(nil), piece.Args...)
			for k := range piece.Args {
				piece.Args[k].Tensor = name(piece.Args[k].Tensor)
				piece.Args[k].Over = 0
			}
			x.Pieces[j] = piece
		}
		nodes := make([]ir.Node, len(l.Nodes.List()))
		for j, n := range l.Nodes.List() {
			n.In, n.Out = append([]ir.Tensor(nil), n.In...), append([]ir.Tensor(nil), n.Out...)
			for k := range n.In {
				n.In[k] = name(n.In[k])
			}
			for k, t := range n.Out {
				if id, ok := made[t.ID]; ok {
					n.Out[k].ID = id
				} else { // an intermediate
					made[t.ID] = p.c.newID()
					n.Out[k].ID = made[t.ID]
				}
			}
			nodes[j] = n
		}
		x.Nodes = backend.NodesOf(nodes...)
		x.Also = nil
		for _, id := range l.Also {
			if o, ok := made[id]; ok {
				x.Also = append(x.Also, o)
			}
		}
		consumed := l.Consumes
		after = append(after, func() { p.c.Free(consumed...) })
		inner[i] = x
	}
	return p.Compiler.Launch(ctx, inner)
}

// passProfiler drains before a window opens; what is still recorded at its end
// stays out unless the caller flushed.
type passProfiler struct {
	c     *Client
	inner backend.Profiler
}

func (p passProfiler) ProfileStart() (backend.Window, error) {
	p.c.flush(CutFlush)
	return p.inner.ProfileStart()
}

// passMemory drains before it counts; clean-up bypasses the queue.
type passMemory struct {
	c     *Client
	inner backend.Memory
}

func (p passMemory) MemoryUsage(ctx context.Context) (backend.MemoryUsage, error) {
	p.c.flush(CutFlush)
	return p.inner.MemoryUsage(ctx)
}

func (p passMemory) Cleanup() {
	p.c.freeAll()
	p.inner.Cleanup()
}

// passPools drains before it reports, and before a window opens or closes: what was
// recorded before stays out of it, and what was recorded inside runs inside.
type passPools struct {
	c     *Client
	inner backend.Pools
}

func (p passPools) PoolReport(ctx context.Context) ([]backend.PoolUsage, error) {
	p.c.flush(CutFlush)
	return p.inner.PoolReport(ctx)
}

func (p passPools) Persistent(ctx context.Context, on bool) error {
	p.c.flush(CutFlush)
	return p.inner.Persistent(ctx, on)
}

type passCounting struct {
	c     *Client
	inner backend.Counting
}

func (p passCounting) Counters() backend.Counters {
	p.c.flush(CutFlush)
	return p.inner.Counters()
}

// passHost lends and adopts whole tensors.
type passHost struct {
	c     *Client
	inner backend.HostMemory
}

func (p passHost) Lend(ctx context.Context, id ir.ID) (backend.Lent, error) {
	if p.c.closed.Load() {
		return backend.Lent{}, closedError(p.c)
	}
	v := p.c.get(id)
	if st := v.st.Load(); st != nil && st.err != nil {
		return backend.Lent{Type: *v.typ, Err: st.err}, nil
	}
	plain, done, err := p.c.plain(ctx, v)
	if err != nil {
		return backend.Lent{}, err
	}
	defer done()
	return p.inner.Lend(ctx, plain)
}

func (p passHost) Adopt(t ir.Tensor, m backend.Lent) error {
	if p.c.closed.Load() {
		return closedError(p.c)
	}
	b := p.c.newBase(t.Type)
	if err := p.inner.Adopt(ir.Tensor{ID: b.id, Type: t.Type}, m); err != nil {
		b.gone()
		return err
	}
	p.c.put(t.ID, p.c.main.adopt(b))
	return nil
}

type passStreams struct {
	c     *Client
	inner backend.Streams
}

func (p passStreams) OpenRead(ctx context.Context, id ir.ID) (backend.Reader, error) {
	if p.c.closed.Load() {
		return nil, closedError(p.c)
	}
	v := p.c.get(id)
	if st := v.st.Load(); st != nil && st.err != nil {
		return failedReader{*v.typ, st.err}, nil
	}
	plain, done, err := p.c.plain(ctx, v)
	if err != nil {
		return nil, err
	}
	defer done()
	return p.inner.OpenRead(ctx, plain)
}

// failedReader reads a tensor that carries an error of this client.
type failedReader struct {
	typ ir.Type
	err *ir.Error
}

func (r failedReader) Type() ir.Type  { return r.typ }
func (r failedReader) Err() *ir.Error { return r.err }
func (r failedReader) Close()         {}
func (r failedReader) ReadAt(context.Context, []byte, int64) error {
	return r.err
}

func (p passStreams) OpenWrite(ctx context.Context, t ir.Tensor) (backend.Writer, error) {
	if p.c.closed.Load() {
		return nil, closedError(p.c)
	}
	b := p.c.newBase(t.Type)
	w, err := p.inner.OpenWrite(ctx, ir.Tensor{ID: b.id, Type: t.Type})
	if err != nil {
		b.gone()
		return nil, err
	}
	return &passWriter{w, p.c, t.ID, b}, nil
}

// passWriter names the tensor once it is there.
type passWriter struct {
	backend.Writer
	c  *Client
	id ir.ID
	b  *base
}

func (w *passWriter) Commit() error {
	if err := w.Writer.Commit(); err != nil {
		return err
	}
	w.c.put(w.id, w.c.main.adopt(w.b))
	return nil
}

// passMover moves between devices of one router under clients.
type passMover struct {
	c     *Client
	inner backend.Mover
}

func (p passMover) Receive(ctx context.Context, from backend.Backend, t ir.Tensor, to ir.ID) error {
	if p.c.closed.Load() {
		return closedError(p.c)
	}
	done := func() {}
	if f, ok := from.(*Client); ok { // the inner backends know each other
		v := f.get(t.ID)
		if st := v.st.Load(); st != nil && st.err != nil {
			p.c.put(to, p.c.main.ErrorValue(t.Type, st.err))
			return nil
		}
		plain, free, err := f.plain(ctx, v)
		if err != nil {
			return err
		}
		from, t.ID, done = f.inner, plain, free
	}
	defer done()
	b := p.c.newBase(t.Type)
	if err := p.inner.Receive(ctx, from, t, b.id); err != nil {
		b.gone()
		return err
	}
	p.c.put(to, p.c.main.adopt(b))
	return nil
}

func (p passMover) Meet(of []backend.Backend, types []ir.Type) (int, bool) {
	inner := make([]backend.Backend, len(of))
	for i, b := range of {
		if inner[i] = b; b != nil {
			if f, ok := b.(*Client); ok {
				inner[i] = f.inner
			}
		}
	}
	return p.inner.Meet(inner, types)
}
