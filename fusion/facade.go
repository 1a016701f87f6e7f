package fusion

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// facade names values by ids, for those who use a client as a [backend.Backend].
type facade struct {
	mu   sync.Mutex
	ids  map[ir.ID]*owned
	last atomic.Uint64

	capture *Capture         // the open one
	before  map[ir.ID]*Value // what was there when it opened
}

// owned is a value with the number of ids that name it.
type owned struct {
	v      *Value
	owners int
}

var _ backend.Decorator = (*Client)(nil)

// Name says what the client is made of, as in "fusion<cpu>".
func (c *Client) Name() string { return "fusion<" + c.inner.Name() + ">" }

// Info describes the inner device.
func (c *Client) Info() backend.Info { return c.info }

// Usage says what the inner device can do with a dtype. It bypasses the queue.
func (c *Client) Usage(d ir.DType) backend.Usage { return c.inner.Usage(d) }

// FreshID names a tensor that nobody else names: one that [Stream.Take] is going to
// take, or that is shared. It is in the upper half, away from what clients choose.
func (c *Client) FreshID() ir.ID { return ir.ID(c.facade.last.Add(1)) | 1<<63 }

// put names a value.
func (c *Client) put(id ir.ID, v *Value) {
	c.facade.mu.Lock()
	old := c.facade.ids[id]
	c.facade.ids[id] = &owned{v, 1}
	c.facade.mu.Unlock()
	if old != nil {
		c.disown(old)
	}
}

func (c *Client) disown(o *owned) {
	c.facade.mu.Lock()
	o.owners--
	last := o.owners == 0
	c.facade.mu.Unlock()
	if last {
		o.v.Release()
	}
}

// get returns the value of an id, or one that carries an error.
func (c *Client) get(id ir.ID) *Value {
	c.facade.mu.Lock()
	defer c.facade.mu.Unlock()
	if o := c.facade.ids[id]; o != nil {
		return o.v
	}
	return c.main.ErrorValue(ir.Type{}, c.unknown(id))
}

func (c *Client) unknown(id ir.ID) *ir.Error {
	e := ir.Errorf(ir.ErrInternal, "tensor %d is not known to the device: it was freed, or never made", id)
	e.Device = c.info.ID
	return e
}

// Submit records nodes.
func (c *Client) Submit(ctx context.Context, nodes []ir.Node) error {
	if c.closed.Load() {
		return closedError(c)
	}
	if err := ctx.Err(); err != nil {
		return &ir.Error{Kind: ir.ErrCancelled, Msg: "submitting", Device: c.info.ID, Cause: err}
	}
	for i := range nodes {
		n := &nodes[i]
		in := make([]*Value, len(n.In))
		var failed *ir.Error
		for j, t := range n.In {
			in[j] = c.get(t.ID)
			if f := in[j].Failure(); f != nil && failed == nil {
				failed = f
				if f.Kind == ir.ErrInternal && f.Op == "" { // unknown: the error begins here
					e := *f
					e.Op, e.Operands, e.Site = n.Row.Name, n.InTypes(), n.Site
					failed = &e
					c.note(failed)
				}
			}
		}
		out := make([]*Value, len(n.Out))
		for j := range out {
			out[j] = new(Value)
		}
		if failed == nil {
			site := n.Site
			if err := c.main.Record(OpOf(n.Row, n.Attrs), n.Attrs, in, n.OutTypes(), out, nil, func() ir.Site { return site }); err != nil {
				failed = ir.AsError(err)
			}
		}
		for j, t := range n.Out {
			if failed != nil {
				out[j] = c.main.ErrorValue(t.Type, failed)
			}
			c.put(t.ID, out[j])
		}
	}
	return nil
}

// Upload gives a tensor its contents.
func (c *Client) Upload(t ir.Tensor, data []byte) error {
	v, err := c.main.Upload(t.Type, data)
	if err != nil {
		return err
	}
	c.put(t.ID, v)
	return nil
}

// Upload makes a value of row-major contents in the machine's byte order.
func (s *Stream) Upload(t ir.Type, data []byte) (*Value, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	b := s.c.newBase(t)
	if err := s.c.inner.Upload(ir.Tensor{ID: b.id, Type: t}, data); err != nil {
		b.gone()
		return nil, err
	}
	return s.adopt(b), nil
}

// adopt makes a value of a base and a reference to it.
func (s *Stream) adopt(b *base) *Value {
	v := &Value{typ: &b.typ, stream: s}
	v.st.Store(&stored{base: b})
	s.mu.Lock()
	s.fresh.add(b)
	if len(s.fresh.list) >= 256 { // uploads without work between
		s.watch()
	}
	s.mu.Unlock()
	return v
}

// Alias names a value a second time.
func (c *Client) Alias(from, to ir.ID) error {
	if c.closed.Load() {
		return closedError(c)
	}
	c.facade.mu.Lock()
	o := c.facade.ids[from]
	if o == nil {
		c.facade.mu.Unlock()
		c.put(to, c.main.ErrorValue(ir.Type{}, c.note(c.unknown(from))))
		return nil
	}
	o.owners++
	old := c.facade.ids[to]
	c.facade.ids[to] = o
	c.facade.mu.Unlock()
	if old != nil {
		c.disown(old)
	}
	return nil
}

// Free drops ids.
func (c *Client) Free(ids ...ir.ID) {
	var last []*Value
	c.facade.mu.Lock()
	for _, id := range ids {
		o := c.facade.ids[id]
		if o == nil {
			continue
		}
		delete(c.facade.ids, id)
		if o.owners--; o.owners == 0 {
			last = append(last, o.v)
		}
	}
	c.facade.mu.Unlock()
	for _, v := range last {
		v.Release()
	}
}

// take gives the value of an id away: its place, with the reference, and its type.
func (c *Client) take(id ir.ID) (*stored, ir.Type, error) {
	c.facade.mu.Lock()
	o := c.facade.ids[id]
	delete(c.facade.ids, id)
	c.facade.mu.Unlock()
	switch {
	case o == nil:
		return nil, ir.Type{}, c.unknown(id)
	case o.owners > 1:
		return nil, ir.Type{}, ir.Errorf(ir.ErrInternal, "tensor %d has other names", id)
	}
	if err := o.v.Store(); err != nil {
		return nil, ir.Type{}, err
	}
	return o.v.st.Load(), *o.v.typ, nil
}

// Read waits for tensors and returns their contents.
func (c *Client) Read(ctx context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	values := make([]*Value, len(ids))
	for i, id := range ids {
		values[i] = c.get(id)
	}
	return c.ReadValues(ctx, values)
}

// Flush runs what was recorded, and does not wait for it.
func (c *Client) Flush() error {
	c.flush(CutFlush)
	return c.inner.Flush()
}

// Sync waits until all work is done and returns the first error that nobody has
// seen yet.
func (c *Client) Sync(ctx context.Context) error {
	for _, s := range c.streams.all() {
		if err := s.await(ctx, func() []*instance { return s.open }); err != nil {
			return err
		}
	}
	c.flush(CutSync)
	err := c.inner.Sync(ctx)
	if own := c.unseen(); own != nil && (err == nil || ir.AsError(err).Kind != ir.ErrClosed) {
		return own
	}
	return err
}

// Close runs what was recorded and closes the inner backend.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		return c.inner.Close()
	}
	c.flush(CutFlush)
	return c.inner.Close()
}

func closedError(c *Client) *ir.Error {
	return &ir.Error{Kind: ir.ErrClosed, Device: c.info.ID, Msg: "the device is closed"}
}

// maxErrors bounds the errors kept for Sync.
const maxErrors = 64

// note keeps an error that began in this package for Sync.
func (c *Client) note(err error) *ir.Error {
	e := ir.AsError(err)
	c.facade.mu.Lock()
	defer c.facade.mu.Unlock()
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, e)
	}
	return e
}

// noteOnce keeps an error of the device for Sync, unless it is kept already.
func (c *Client) noteOnce(err error) {
	e := ir.AsError(err)
	c.facade.mu.Lock()
	defer c.facade.mu.Unlock()
	if len(c.errs) < maxErrors && !slices.Contains(c.errs, e) {
		c.errs = append(c.errs, e)
	}
}

// unseen returns the first error that nobody has seen, and forgets all.
func (c *Client) unseen() error {
	c.facade.mu.Lock()
	defer c.facade.mu.Unlock()
	if len(c.errs) == 0 {
		return nil
	}
	e := c.errs[0]
	c.errs = nil
	return e
}

// seen forgets an error that a read returned.
func (c *Client) seen(err *ir.Error) {
	c.facade.mu.Lock()
	defer c.facade.mu.Unlock()
	if i := slices.Index(c.errs, err); i >= 0 {
		c.errs = slices.Delete(c.errs, i, i+1)
	}
}

// Share names a value in the facade, as another owner of the same contents, for
// the methods of [backend.Backend] and its capabilities. What makes the value is
// run; a value on its way is waited for. The caller frees the id. The error is
// that of a value that never reached the device.
func (c *Client) Share(ctx context.Context, v *Value) (ir.ID, error) {
	st, err := v.settled(ctx)
	if err != nil {
		return 0, err
	}
	if !st.base.acquire() {
		return 0, released()
	}
	w := &Value{typ: v.typ, stream: v.stream}
	w.st.Store(st)
	id := c.FreshID()
	c.put(id, w)
	return id, nil
}

// Take returns the value of an id of the facade as one of the stream. The id, which
// no other names the value beside, is free again.
func (s *Stream) Take(id ir.ID) (*Value, error) {
	st, typ, err := s.c.take(id)
	if err != nil {
		return nil, err
	}
	v := &Value{typ: &typ, stream: s}
	v.st.Store(st)
	return v, nil
}
