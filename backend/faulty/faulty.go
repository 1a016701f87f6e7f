package faulty

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Backend is a backend that misbehaves. See [backend.Backend] for the meaning of
// its methods.
type Backend struct {
	inner  backend.Backend
	script Script
	q      *queue
	info   backend.Info

	ctx    context.Context // of calls to the inner backend, until closing
	cancel context.CancelFunc
	lost   atomic.Pointer[ir.Error]
	taken  atomic.Int64 // nodes that Submit took, for PanicAfter

	open    chan struct{} // closed by Open
	held    chan struct{} // closed when the first hold is reached
	opening sync.Once

	// Owned by the queue's goroutine.
	failed map[ir.ID]*ir.Error
	errs   []*ir.Error
	count  map[string]int
	nodes  int
}

var _ backend.Decorator = (*Backend)(nil)

// New wraps a backend, which it closes when it is closed.
func New(inner backend.Backend, s Script) *Backend {
	limit := int(inner.Info().Limits["queue_ops"])
	if limit == 0 {
		limit = 4096
	}
	b := &Backend{inner: inner, script: s, q: newQueue(limit), open: make(chan struct{}), held: make(chan struct{}),
		failed: map[ir.ID]*ir.Error{}, count: map[string]int{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.info = inner.Info()
	b.info.DTypes = slices.DeleteFunc(slices.Clone(b.info.DTypes), func(d ir.DType) bool { return b.Usage(d) == 0 })
	return b
}

// Open lets operations go that are held, now and later.
func (b *Backend) Open() { b.opening.Do(func() { close(b.open) }) }

// Held is closed when an operation is held for the first time.
func (b *Backend) Held() <-chan struct{} { return b.held }

// Disconnect loses the device: queued work is dropped, and every call fails.
func (b *Backend) Disconnect() { b.disconnect(ir.Errorf(ir.ErrDevice, "the connection was lost")) }

func (b *Backend) disconnect(err *ir.Error) {
	err.Device = b.info.ID
	b.lost.CompareAndSwap(nil, err)
	b.cancel()
}

// gone returns the error of a lost device.
func (b *Backend) gone() error {
	if err := b.lost.Load(); err != nil {
		return err
	}
	return nil
}

// Name returns "faulty<inner>".
func (b *Backend) Name() string { return "faulty<" + b.inner.Name() + ">" }

// Info describes the inner device, less the dtypes that the script takes away.
func (b *Backend) Info() backend.Info { return b.info }

// Usage is that of the inner backend, nothing for dtypes that the script takes away.
func (b *Backend) Usage(d ir.DType) backend.Usage {
	if slices.Contains(b.script.LackDTypes, d) {
		return 0
	}
	return b.inner.Usage(d)
}

// add appends a task that waits for nothing.
func (b *Backend) add(run func()) error {
	if err := b.gone(); err != nil {
		return err
	}
	return b.q.push(context.Background(), task{run: run})
}

// do runs f in queue order and waits for it.
func (b *Backend) do(ctx context.Context, f func(context.Context) error) error {
	done := make(chan error, 1)
	if err := b.add(func() {
		if err := b.gone(); err != nil {
			done <- err
			return
		}
		done <- f(ctx)
	}); err != nil {
		return err
	}
	select {
	case err := <-done:
		if gone := b.gone(); gone != nil && err != nil {
			return gone
		}
		return err
	case <-ctx.Done():
		return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for the device", Device: b.info.ID, Cause: ctx.Err()}
	}
}

// Submit appends nodes to the queue.
func (b *Backend) Submit(ctx context.Context, nodes []ir.Node) error {
	if err := b.gone(); err != nil {
		return err
	}
	if n := b.taken.Add(int64(len(nodes))); b.script.PanicAfter > 0 && n > int64(b.script.PanicAfter) {
		panic(fmt.Sprintf("faulty: %d nodes were taken", b.script.PanicAfter))
	}
	return b.q.push(ctx, task{ops: len(nodes), run: func() {
		var batch []ir.Node
		flush := func() {
			if len(batch) > 0 && b.gone() == nil {
				if err := b.inner.Submit(b.ctx, batch); err != nil {
					b.disconnect(&ir.Error{Kind: ir.ErrDevice, Msg: "the inner device is gone", Cause: err})
				}
			}
			batch = nil
		}
		for i := range nodes {
			if b.gone() != nil {
				return
			}
			n := &nodes[i]
			if b.fails(n) {
				continue
			}
			b.stall(n, flush)
			if err := b.misfortune(n); err != nil {
				b.raise(n, err)
				continue
			}
			batch = append(batch, *n)
			b.nodes++
			if b.nodes == b.script.DisconnectAfter {
				flush()
				b.disconnect(ir.Errorf(ir.ErrDevice, "the connection was lost after %d nodes", b.nodes))
				return
			}
		}
		flush()
	}})
}

// fails passes an operand's error on.
func (b *Backend) fails(n *ir.Node) bool {
	for _, t := range n.In {
		if err := b.failed[t.ID]; err != nil {
			for _, o := range n.Out {
				b.failed[o.ID] = err
			}
			return true
		}
	}
	return false
}

// matching calls f for the rules of a node.
func (b *Backend) matching(n *ir.Node, f func(Rule)) {
	for _, r := range b.script.Rules {
		nth := b.count[n.Row.Name]
		if r.Op == "*" {
			nth = b.count["*"]
		}
		if (r.Op == "*" || r.Op == n.Row.Name) && (r.Nth == 0 || r.Nth == nth) {
			f(r)
		}
	}
}

// stall counts a node and waits as the script says.
func (b *Backend) stall(n *ir.Node, flush func()) {
	b.count[n.Row.Name]++
	b.count["*"]++
	b.matching(n, func(r Rule) {
		switch r.Do {
		case "delay":
			flush()
			select {
			case <-time.After(r.Delay):
			case <-b.ctx.Done():
			}
		case "hold":
			flush()
			select {
			case <-b.held:
			default:
				close(b.held)
			}
			select {
			case <-b.open:
			case <-b.ctx.Done():
			}
		}
	})
}

// misfortune returns the error that a node meets.
func (b *Backend) misfortune(n *ir.Node) (err *ir.Error) {
	if lack := b.supports(n); lack != nil {
		return lack
	}
	b.matching(n, func(r Rule) {
		if r.Do == "fail" && err == nil {
			err = &ir.Error{Kind: r.Kind, Msg: r.Msg}
		}
	})
	return err
}

func (b *Backend) raise(n *ir.Node, err *ir.Error) {
	e := *err
	e.Op, e.Operands, e.Site, e.Device = n.Row.Name, n.InTypes(), n.Site, b.info.ID
	for _, o := range n.Out {
		b.failed[o.ID] = &e
	}
	if len(b.errs) < 64 {
		b.errs = append(b.errs, &e)
	}
}

// supports says what the script takes away of a node.
func (b *Backend) supports(n *ir.Node) *ir.Error {
	if slices.Contains(b.script.LackOps, n.Row.Name) {
		return &ir.Error{Kind: ir.ErrUnsupported, Op: n.Row.Name, Device: b.info.ID, Msg: "it lacks the operation " + n.Row.Name}
	}
	for _, t := range slices.Concat(n.In, n.Out) {
		if slices.Contains(b.script.LackDTypes, t.DType) {
			return &ir.Error{Kind: ir.ErrUnsupported, Op: n.Row.Name, Device: b.info.ID, Msg: "it lacks the dtype " + t.DType.String()}
		}
	}
	return nil
}

// Upload gives a tensor its contents.
func (b *Backend) Upload(t ir.Tensor, data []byte) error {
	if err := t.Check(); err != nil {
		return err
	}
	if int64(len(data)) != t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "%d bytes for %s, expected %d", len(data), t.Type, t.Bytes())
	}
	if b.Usage(t.DType) == 0 {
		return ir.Errorf(ir.ErrUnsupported, "the device does not store %s", t.DType)
	}
	data = slices.Clone(data)
	return b.add(func() {
		if err := b.inner.Upload(t, data); err != nil {
			b.failed[t.ID] = ir.AsError(err)
		}
	})
}

// Alias gives a tensor a second id.
func (b *Backend) Alias(from, to ir.ID) error {
	return b.add(func() {
		if err := b.failed[from]; err != nil {
			b.failed[to] = err
			return
		}
		if err := b.inner.Alias(from, to); err != nil {
			b.failed[to] = ir.AsError(err)
		}
	})
}

// Free drops ids.
func (b *Backend) Free(ids ...ir.ID) {
	ids = slices.Clone(ids)
	_ = b.add(func() { // a lost device has nothing to free
		for _, id := range ids {
			delete(b.failed, id)
		}
		b.inner.Free(ids...)
	})
}

// Read waits for tensors and returns their contents.
func (b *Backend) Read(ctx context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	var data []backend.Data
	var errs []error
	err := b.do(ctx, func(ctx context.Context) error {
		d, e, err := b.inner.Read(ctx, ids...)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if f := b.failed[id]; f != nil {
				d[i], e[i] = backend.Data{}, f
				b.errs = slices.DeleteFunc(b.errs, func(x *ir.Error) bool { return x == f })
			}
		}
		data, errs = d, e
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return data, errs, nil
}

// Flush asks for queued work to be started.
func (b *Backend) Flush() error {
	return b.add(func() { _ = b.inner.Flush() }) // its queue starts by itself
}

// Sync waits for queued work and returns the first error that nobody has seen.
func (b *Backend) Sync(ctx context.Context) error {
	var first error
	err := b.do(ctx, func(ctx context.Context) error {
		err := b.inner.Sync(ctx)
		if len(b.errs) > 0 {
			err, b.errs = b.errs[0], nil
		}
		first = err
		return nil
	})
	if err != nil {
		return err
	}
	return first
}

// Close finishes queued work and closes the inner backend. What is held goes on.
func (b *Backend) Close() error {
	b.Open()
	b.q.close()
	b.cancel()
	return b.inner.Close()
}
