package faulty

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// offer sets target to f of the inner backend's capability.
func offer[T any](b *Backend, name string, target *T, f func(T) T) bool {
	return !slices.Contains(b.script.Drop, name) && backend.Pass(target, b.inner, f)
}

// As offers the capabilities of the inner backend that the script leaves.
func (b *Backend) As(target any) bool {
	switch t := target.(type) {
	case *backend.Compiler:
		return offer(b, "Compiler", t, func(c backend.Compiler) backend.Compiler { return compiler{c, b} })
	case *backend.Tiler:
		return offer(b, "Tiler", t, func(x backend.Tiler) backend.Tiler { return x })
	case *backend.Profiler:
		return offer(b, "Profiler", t, func(p backend.Profiler) backend.Profiler { return profiler{p, b} })
	case *backend.Memory:
		return offer(b, "Memory", t, func(m backend.Memory) backend.Memory { return memory{m, b} })
	case *backend.Pools:
		return offer(b, "Pools", t, func(p backend.Pools) backend.Pools { return pools{p, b} })
	case *backend.Counting:
		return offer(b, "Counting", t, func(c backend.Counting) backend.Counting { return c })
	case *backend.Routines:
		return offer(b, "Routines", t, func(r backend.Routines) backend.Routines { return routines{r, b} })
	case *backend.HostMemory:
		return offer(b, "HostMemory", t, func(h backend.HostMemory) backend.HostMemory { return hostMemory{h, b} })
	case *backend.Streams:
		return offer(b, "Streams", t, func(s backend.Streams) backend.Streams { return streams{s, b} })
	case *backend.Supporter:
		if slices.Contains(b.script.Drop, "Supporter") {
			return false
		}
		*t = supporter{b}
		return true
	}
	return false
}

type supporter struct{ b *Backend }

func (s supporter) Supports(n *ir.Node) error {
	if err := s.b.supports(n); err != nil {
		return err
	}
	if x, ok := backend.As[backend.Supporter](s.b.inner); ok {
		return x.Supports(n)
	}
	return nil
}

type routines struct {
	backend.Routines
	b *Backend
}

func (r routines) AddRoutine(row string, f backend.Routine) error {
	if err := r.b.gone(); err != nil {
		return err
	}
	return r.Routines.AddRoutine(row, f)
}

type profiler struct {
	backend.Profiler
	b *Backend
}

func (p profiler) ProfileStart() (w backend.Window, err error) {
	err = p.b.do(context.Background(), func(context.Context) (err error) { w, err = p.Profiler.ProfileStart(); return err })
	return w, err
}

type memory struct {
	backend.Memory
	b *Backend
}

func (m memory) MemoryUsage(ctx context.Context) (u backend.MemoryUsage, err error) {
	err = m.b.do(ctx, func(ctx context.Context) (err error) {
		u, err = m.Memory.MemoryUsage(ctx)
		u.Tensors += len(m.b.failed)
		return err
	})
	return u, err
}

type pools struct {
	backend.Pools
	b *Backend
}

func (p pools) PoolReport(ctx context.Context) (u []backend.PoolUsage, err error) {
	err = p.b.do(ctx, func(ctx context.Context) (err error) { u, err = p.Pools.PoolReport(ctx); return err })
	return u, err
}

func (p pools) Persistent(ctx context.Context, on bool) error {
	return p.b.do(ctx, func(ctx context.Context) error { return p.Pools.Persistent(ctx, on) })
}

type hostMemory struct {
	backend.HostMemory
	b *Backend
}

func (h hostMemory) Lend(ctx context.Context, id ir.ID) (lent backend.Lent, err error) {
	given := make(chan backend.Lent, 1)
	err = h.b.do(ctx, func(ctx context.Context) error {
		if f := h.b.failed[id]; f != nil {
			given <- backend.Lent{Err: f}
			return nil
		}
		m, err := h.HostMemory.Lend(ctx, id)
		if err == nil {
			given <- m
		}
		return err
	})
	if err != nil {
		go func() { // a loan that came too late goes back
			h.b.do(context.Background(), func(context.Context) error { return nil })
			select {
			case m := <-given:
				if m.Err == nil {
					m.Release()
				}
			default:
			}
		}()
		return lent, err
	}
	return <-given, nil
}

func (h hostMemory) Adopt(t ir.Tensor, m backend.Lent) error {
	return h.b.add(func() {
		if err := h.HostMemory.Adopt(t, m); err != nil {
			h.b.failed[t.ID] = ir.AsError(err)
			m.Release()
		}
	})
}

type streams struct {
	backend.Streams
	b *Backend
}

func (s streams) OpenRead(ctx context.Context, id ir.ID) (r backend.Reader, err error) {
	given := make(chan backend.Reader, 1)
	err = s.b.do(ctx, func(ctx context.Context) error {
		if f := s.b.failed[id]; f != nil {
			given <- failedReader{err: f}
			return nil
		}
		r, err := s.Streams.OpenRead(ctx, id)
		if err == nil {
			given <- r
		}
		return err
	})
	if err != nil {
		go func() { // as in Lend
			s.b.do(context.Background(), func(context.Context) error { return nil })
			select {
			case r := <-given:
				r.Close()
			default:
			}
		}()
		return nil, err
	}
	return <-given, nil
}

func (s streams) OpenWrite(ctx context.Context, t ir.Tensor) (backend.Writer, error) {
	if err := s.b.gone(); err != nil {
		return nil, err
	}
	w, err := s.Streams.OpenWrite(ctx, t)
	if err != nil {
		return nil, err
	}
	return writer{w, s.b}, nil
}

// writer commits in queue order.
type writer struct {
	backend.Writer
	b *Backend
}

func (w writer) Commit() error {
	return w.b.do(context.Background(), func(context.Context) error { return w.Writer.Commit() })
}

type failedReader struct {
	backend.Reader
	err *ir.Error
}

func (r failedReader) Err() *ir.Error { return r.err }
func (r failedReader) Type() ir.Type  { return ir.Type{} }
func (r failedReader) Close()         {}

type compiler struct {
	backend.Compiler
	b *Backend
}

// compiled is a kernel of the inner device.
type compiled struct {
	backend.Compiled
	b *Backend
}

// Release returns the code behind the launches that are queued.
func (k *compiled) Release() {
	if k.b.add(k.Compiled.Release) != nil { // nothing is queued any more
		k.Compiled.Release()
	}
}

func (c compiler) Compile(k *kernel.Kernel) (backend.Compiled, error) {
	if err := c.b.gone(); err != nil {
		return nil, err
	}
	inner, err := c.Compiler.Compile(k)
	if err != nil {
		return nil, err
	}
	return &compiled{inner, c.b}, nil
}

func (c compiler) Launch(ctx context.Context, launches []backend.Launch) error {
	if err := c.b.gone(); err != nil {
		return err
	}
	if err := c.Compiler.Launch(ctx, nil); err != nil { // closed
		return err
	}
	inner := make([]backend.Launch, len(launches))
	for i, l := range launches {
		l.Pieces = slices.Clone(l.Pieces)
		for j := range l.Pieces {
			p := &l.Pieces[j]
			k, ok := p.Kernel.(*compiled)
			if !ok || k.b != c.b {
				return ir.Errorf(ir.ErrDevice, "launch %d: the kernel of piece %d was compiled by another device", i, j)
			}
			if err := p.Check(); err != nil {
				return err
			}
			p.Kernel = k.Compiled
		}
		inner[i] = l
	}
	return c.b.q.push(ctx, task{ops: len(inner), run: func() {
		if c.b.gone() != nil {
			return
		}
		if err := c.run(inner); err != nil && c.b.gone() == nil {
			c.b.disconnect(&ir.Error{Kind: ir.ErrDevice, Msg: "the inner device is gone", Cause: err})
		}
	}})
}

// run passes launches through the script, on the device's goroutine. An error is
// that of an inner device that is gone, or of one that the script disconnects.
func (c compiler) run(launches []backend.Launch) error {
	ctx := c.b.ctx
	var sound []backend.Launch
	flush := func() error {
		if len(sound) == 0 {
			return nil
		}
		err := c.Compiler.Launch(ctx, sound)
		sound = nil
		return err
	}
	for _, l := range launches {
		good, whole := c.nodes(&l, flush)
		if !whole { // what is left of it runs as nodes
			if err := flush(); err != nil {
				return err
			}
			if len(good) > 0 {
				if err := c.b.inner.Submit(ctx, good); err != nil {
					return err
				}
			}
			c.forget(&l)
			c.b.inner.Free(l.Consumes...)
			continue
		}
		for _, id := range l.Consumes {
			delete(c.b.failed, id)
		}
		sound = append(sound, l)
		if c.b.nodes += len(l.Nodes.List()); c.b.script.DisconnectAfter > 0 && c.b.nodes >= c.b.script.DisconnectAfter {
			err := flush()
			c.b.disconnect(ir.Errorf(ir.ErrDevice, "the connection was lost after %d nodes", c.b.nodes))
			return err
		}
	}
	return flush()
}

// nodes passes the nodes of a launch through the script. whole is true if nothing
// happens to any of them; else good are those that can be computed, and the
// results of the others have their errors.
func (c compiler) nodes(l *backend.Launch, flush func() error) (good []ir.Node, whole bool) {
	whole = true
	for i := range l.Nodes.List() {
		n := &l.Nodes.List()[i]
		if c.b.fails(n) {
			whole = false
			continue
		}
		c.b.stall(n, func() { _ = flush() }) // a lost device says so to the next call
		if err := c.b.misfortune(n); err != nil {
			c.b.raise(n, err)
			whole = false
			continue
		}
		good = append(good, *n)
	}
	if len(l.Nodes.List()) > 0 {
		return good, whole
	}
	for _, t := range arguments(l, kernel.In) { // nothing is known but its operands
		if err := c.b.failed[t.ID]; err != nil {
			for _, y := range arguments(l, kernel.Out) {
				c.b.failed[y.ID] = err
			}
			return nil, false
		}
	}
	return nil, true
}

// forget drops the intermediates of a launch that was run as nodes, and the errors
// of what it consumes.
func (c compiler) forget(l *backend.Launch) {
	kept := map[ir.ID]bool{}
	for _, t := range arguments(l, kernel.Out) {
		kept[t.ID] = true
	}
	var gone []ir.ID
	for i := range l.Nodes.List() {
		for _, t := range l.Nodes.List()[i].Out {
			if !kept[t.ID] {
				gone = append(gone, t.ID)
				delete(c.b.failed, t.ID)
			}
		}
	}
	for _, id := range l.Consumes {
		delete(c.b.failed, id)
	}
	c.b.inner.Free(gone...)
}

// arguments lists the tensors that the pieces read or write.
func arguments(l *backend.Launch, dir kernel.Direction) (out []ir.Tensor) {
	for i := range l.Pieces {
		args := l.Pieces[i].Kernel.Kernel().Args
		for j, a := range l.Pieces[i].Args {
			if j < len(args) && args[j].Dir == dir {
				out = append(out, a.Tensor)
			}
		}
	}
	return out
}
