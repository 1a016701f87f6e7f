package router

import (
	"context"
	"errors"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Bridge is a way to move tensors between two backends. Whoever knows a faster
// one than the built-in ways lists it in [Options.Bridges].
//
// The built-in ones, in the order in which they are tried: "alias" within one
// backend, "router" between two devices of an inner router, "shared" between
// backends with [backend.HostMemory], which copies nothing where the elements lie
// in order, and "bytes" for all others, in pieces where both sides have
// [backend.Streams].
type Bridge interface {
	// Name names the bridge in [Stats].
	Name() string

	// Connects reports whether the bridge serves a pair of backends.
	Connects(from, to backend.Backend) bool

	// Move makes the tensor known to the destination, and returns when it is, or
	// when ctx has ended; it runs on a goroutine of its own. The router holds the
	// tensor at the source meanwhile, and nothing at the destination uses the new
	// id before. carried is the error that the tensor carries. err is the failure
	// of the move; then the destination knows nothing of the id.
	Move(ctx context.Context, m Move) (carried *ir.Error, err error)
}

// Move is what a bridge is asked to do.
type Move struct {
	From   backend.Backend
	Tensor ir.Tensor // at the source; all work that makes it is queued there
	To     backend.Backend
	ID     ir.ID // at the destination
	Chunk  int   // bytes of a piece, for bridges that work in pieces

	// Acquire takes bytes of host memory from the router's budget, waiting until
	// they are free, and returns what gives them back.
	Acquire func(ctx context.Context, bytes int64) (func(), error)

	// Unseen is told of an error that reading the tensor took from those that
	// Sync would return.
	Unseen func(*ir.Error)
}

// builtin are the bridges that every router has. The last connects everything.
var builtin = []Bridge{aliasBridge{}, routerBridge{}, sharedBridge{}, bytesBridge{}}

// bridge returns the first bridge that serves a pair.
func (r *Router) bridge(from, to backend.Backend) Bridge {
	for _, b := range r.opt.Bridges {
		if b.Connects(from, to) {
			return b
		}
	}
	for _, b := range builtin {
		if b.Connects(from, to) {
			return b
		}
	}
	return bytesBridge{}
}

// Transfer moves a tensor between two backends that share no router, through a
// built-in bridge, and returns when the destination knows it: see [Bridge]. host
// bounds the bytes that pass.
func Transfer(ctx context.Context, from backend.Backend, t ir.Tensor, to backend.Backend, id ir.ID, host *Budget) (carried *ir.Error, err error) {
	r := &Router{}
	return r.bridge(from, to).Move(ctx, Move{From: from, Tensor: t, To: to, ID: id, Chunk: defaultChunk,
		Acquire: host.Acquire, Unseen: func(*ir.Error) {}})
}

// aliasBridge serves a backend and itself.
type aliasBridge struct{}

func (aliasBridge) Name() string                           { return "alias" }
func (aliasBridge) Connects(from, to backend.Backend) bool { return from == to }
func (aliasBridge) Move(_ context.Context, m Move) (*ir.Error, error) {
	return nil, m.To.Alias(m.Tensor.ID, m.ID)
}

// routerBridge serves two devices of one inner router, which knows best how to
// move between them. The inner device orders by data, so the move need not be over.
type routerBridge struct{}

func (routerBridge) Name() string { return "router" }

func (routerBridge) Connects(from, to backend.Backend) bool {
	f, ok := backend.As[*Client](from)
	t, ok2 := backend.As[*Client](to)
	return ok && ok2 && f.r == t.r
}

func (routerBridge) Move(ctx context.Context, m Move) (*ir.Error, error) {
	to, _ := backend.As[*Client](m.To)
	from, _ := backend.As[*Client](m.From)
	// The move outlives this call, so it is not bound to its context: the inner
	// tensor goes when the outer one is freed.
	return nil, to.receive(ctx, context.WithoutCancel(ctx), from, m.Tensor, m.ID)
}

// sharedBridge serves backends in memory of this process: one lends, the other
// adopts.
type sharedBridge struct{}

func (sharedBridge) Name() string { return "shared" }

func (sharedBridge) Connects(from, to backend.Backend) bool {
	_, ok := backend.As[backend.HostMemory](from)
	_, ok2 := backend.As[backend.HostMemory](to)
	return ok && ok2
}

func (sharedBridge) Move(ctx context.Context, m Move) (*ir.Error, error) {
	from, _ := backend.As[backend.HostMemory](m.From)
	to, _ := backend.As[backend.HostMemory](m.To)
	lent, err := from.Lend(ctx, m.Tensor.ID)
	if err != nil || lent.Err != nil {
		return lent.Err, err
	}
	if err = ctx.Err(); err == nil {
		err = to.Adopt(ir.Tensor{ID: m.ID, Type: lent.Type}, lent)
	}
	if err != nil {
		lent.Release()
	}
	return nil, err
}

// bytesBridge passes contents through the host: in pieces, reading one while
// writing the other, or, where a side cannot, whole.
type bytesBridge struct{}

func (bytesBridge) Name() string                       { return "bytes" }
func (bytesBridge) Connects(_, _ backend.Backend) bool { return true }

func (b bytesBridge) Move(ctx context.Context, m Move) (*ir.Error, error) {
	from, ok := backend.As[backend.Streams](m.From)
	to, ok2 := backend.As[backend.Streams](m.To)
	if !ok || !ok2 || m.Tensor.Bytes() <= int64(m.Chunk) {
		return b.whole(ctx, m)
	}
	release, err := m.Acquire(ctx, 2*int64(m.Chunk))
	if err != nil {
		return nil, err
	}
	defer release()
	src, err := from.OpenRead(ctx, m.Tensor.ID)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if err := src.Err(); err != nil {
		return err, nil
	}
	dst, err := to.OpenWrite(ctx, ir.Tensor{ID: m.ID, Type: src.Type()})
	if err != nil {
		return nil, err
	}
	defer dst.Abort()
	if err := pieces(ctx, src, dst, src.Type().Bytes(), m.Chunk); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, dst.Commit()
}

// piece is a part of a tensor between reader and writer.
type piece struct {
	b   []byte
	off int64
	err error
}

// pieces copies n bytes through two buffers: one is filled while the other is
// written.
func pieces(ctx context.Context, src backend.Reader, dst backend.Writer, n int64, chunk int) error {
	ctx, cancel := context.WithCancel(ctx)
	empty, full := make(chan []byte, 2), make(chan piece)
	for range 2 {
		empty <- make([]byte, chunk)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(full)
		for off := int64(0); off < n; {
			var b []byte
			select {
			case b = <-empty:
			case <-ctx.Done():
				return
			}
			b = b[:min(int64(chunk), n-off)]
			err := src.ReadAt(ctx, b, off)
			select {
			case full <- piece{b, off, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
			off += int64(len(b))
		}
	}()
	defer func() { cancel(); <-done }() // nothing reads when src is closed
	for p := range full {
		if p.err != nil {
			return p.err
		}
		if err := dst.WriteAt(ctx, p.b, p.off); err != nil {
			return err
		}
		empty <- p.b[:cap(p.b)]
	}
	return ctx.Err()
}

// whole passes a tensor on in one piece.
func (bytesBridge) whole(ctx context.Context, m Move) (*ir.Error, error) {
	release, err := m.Acquire(ctx, m.Tensor.Bytes())
	if err != nil {
		return nil, err
	}
	defer release()
	data, errs, err := m.From.Read(ctx, m.Tensor.ID)
	if err != nil {
		return nil, err
	}
	if errs[0] != nil {
		carried := &ir.Error{Kind: ir.ErrInternal, Cause: errs[0]}
		errors.As(errs[0], &carried)
		m.Unseen(carried)
		return carried, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, m.To.Upload(ir.Tensor{ID: m.ID, Type: data[0].Type}, data[0].Bytes)
}
