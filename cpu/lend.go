package cpu

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

var (
	_ backend.HostMemory = (*Device)(nil)
	_ backend.Streams    = (*Device)(nil)
)

// Lend lends the memory of a tensor. The loan is one more owner of the buffer, so
// that it outlives the tensor, and the device as well: a slab is returned to the
// system after the last of its buffers.
func (d *Device) Lend(ctx context.Context, id ir.ID) (backend.Lent, error) {
	if d.accelerated() {
		return backend.Lent{}, d.notHost()
	}
	return d.borrow(ctx, id)
}

// notHost is the error of those who ask an accelerated device for its memory.
func (d *Device) notHost() error {
	return &ir.Error{Kind: ir.ErrUnsupported, Device: d.opt.ID, Msg: "its tensors do not lie in memory of the host"}
}

// borrow is Lend; of an accelerated device the bytes stand for addresses.
func (d *Device) borrow(ctx context.Context, id ir.ID) (backend.Lent, error) {
	var m backend.Lent
	var state atomic.Int32 // 0 until the device (1) or the caller (2) is done with it
	done := make(chan error, 1)
	err := d.q.add(task{
		run: func() {
			lent := d.lend(id)
			if !state.CompareAndSwap(0, 1) { // nobody waits any more
				if lent.Err == nil {
					lent.Release()
				}
				return
			}
			m = lent
			done <- nil
		},
		fail: func(err error) { done <- err },
	})
	if err != nil {
		return m, err
	}
	select {
	case err = <-done:
		return m, err
	case <-ctx.Done():
	}
	if state.CompareAndSwap(0, 2) {
		return backend.Lent{}, &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for the device", Device: d.opt.ID, Cause: ctx.Err()}
	}
	err = <-done
	return m, err
}

// lend makes a loan on the device goroutine. A small part of a large buffer is
// copied, so that a loan holds at most about twice what it shows.
func (d *Device) lend(id ir.ID) backend.Lent {
	d.settleDoubts()
	e := d.store[id]
	if e == nil {
		return backend.Lent{Err: unknown(id)}
	}
	if e.err != nil {
		return backend.Lent{Type: e.typ, Err: e.err}
	}
	n := e.typ.Bytes()
	own := e.share()
	if !e.contiguous() || int64(cap(e.buf.data)) > 2*n+4096 {
		c, err := d.newEntry(e.typ)
		if err == nil {
			if err = d.copyInto(id, e, c.buf, c.layout); err != nil {
				d.pool.put(c.buf)
			}
		}
		d.pool.put(own.buf)
		if err != nil {
			return backend.Lent{Type: e.typ, Err: ir.AsError(err)}
		}
		own = c
	}
	var once sync.Once
	return backend.Lent{Type: e.typ, Bytes: own.bytes(), Release: func() {
		once.Do(func() {
			d.giveBack(own.buf)
		})
	}}
}

// giveBack drops an owner from outside the device goroutine. On a closed device
// that goroutine is gone, and buffers may still be another device's.
func (d *Device) giveBack(b *buffer) {
	if d.q.add(task{run: func() { d.pool.put(b) }}) == nil {
		return
	}
	go func() {
		<-d.q.done
		d.closing.Lock()
		defer d.closing.Unlock()
		d.pool.put(b)
	}()
}

// Adopt makes a tensor of lent memory. It does not count against the device's
// limit: the lender holds it.
func (d *Device) Adopt(t ir.Tensor, m backend.Lent) error {
	if d.accelerated() {
		return d.notHost()
	}
	if err := t.Check(); err != nil {
		return err
	}
	if int64(len(m.Bytes)) != t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "%d bytes for %s, expected %d", len(m.Bytes), t.Type, t.Bytes())
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(m.Bytes)))
	if len(m.Bytes) == 0 || at%uintptr(t.DType.Size()) != 0 {
		err := d.Upload(t, m.Bytes)
		if err == nil {
			m.Release()
		}
		return err
	}
	return d.q.add(task{run: func() {
		d.adoptBuffer(t, &buffer{data: m.Bytes, refs: 1, release: m.Release})
	}})
}

// reader reads a loan; the copies are made by its user's goroutine.
type reader struct {
	d *Device
	m backend.Lent
}

// OpenRead borrows a tensor for reading in pieces.
func (d *Device) OpenRead(ctx context.Context, id ir.ID) (backend.Reader, error) {
	m, err := d.borrow(ctx, id)
	if err != nil {
		return nil, err
	}
	return &reader{d, m}, nil
}

func (r *reader) Type() ir.Type  { return r.m.Type }
func (r *reader) Err() *ir.Error { return r.m.Err }

func (r *reader) ReadAt(_ context.Context, p []byte, off int64) error {
	if off < 0 || off+int64(len(p)) > int64(len(r.m.Bytes)) {
		return ir.Errorf(ir.ErrArgument, "bytes %d to %d of %d", off, off+int64(len(p)), len(r.m.Bytes))
	}
	if r.d.accelerated() {
		return r.d.accelerator().CopyOut(p, r.m.Bytes[off:off+int64(len(p))])
	}
	copy(p, r.m.Bytes[off:])
	return nil
}

func (r *reader) Close() {
	if r.m.Release != nil {
		r.m.Release()
	}
	r.m.Bytes, r.m.Release = nil, nil // the memory may be gone
}

// writer fills an entry that no id names yet.
type writer struct {
	d *Device
	t ir.Tensor
	e *entry // nil once given away
}

// OpenWrite allocates a tensor to be written in pieces.
func (d *Device) OpenWrite(ctx context.Context, t ir.Tensor) (backend.Writer, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	var state atomic.Int32 // as in Lend
	var e *entry
	done := make(chan error, 1)
	err := d.q.add(task{
		run: func() {
			fresh, err := d.newEntry(t.Type)
			if d.again(err) {
				fresh, err = d.newEntry(t.Type)
			}
			if !state.CompareAndSwap(0, 1) {
				if err == nil {
					d.pool.put(fresh.buf)
				}
				return
			}
			e = fresh
			done <- err
		},
		fail: func(err error) { done <- err },
	})
	if err != nil {
		return nil, err
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		if state.CompareAndSwap(0, 2) {
			return nil, &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for the device", Device: d.opt.ID, Cause: ctx.Err()}
		}
		err = <-done
	}
	if err != nil {
		return nil, err
	}
	return &writer{d, t, e}, nil
}

func (w *writer) WriteAt(_ context.Context, p []byte, off int64) error {
	if w.e == nil || off < 0 || off+int64(len(p)) > w.t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "bytes %d to %d of %d", off, off+int64(len(p)), w.t.Bytes())
	}
	return w.d.copyIn(w.e.buf.data[off:off+int64(len(p))], p)
}

func (w *writer) Commit() error {
	e := w.e
	if e == nil {
		return ir.Errorf(ir.ErrArgument, "the writer has ended")
	}
	err := w.d.q.add(task{run: func() { w.d.setEntry(w.t.ID, e) }})
	if err == nil {
		w.e = nil
	}
	return err
}

func (w *writer) Abort() {
	if e := w.e; e != nil {
		w.e = nil
		w.d.giveBack(e.buf)
	}
}
