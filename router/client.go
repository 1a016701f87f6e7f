package router

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Client is one device of a router: a backend that orders work by data alone,
// whichever member holds the operands. It offers the capabilities of its member.
// See [backend.Backend] for the meaning of its methods.
type Client struct {
	r     *Router
	home  *lane
	lanes []*lane // by member
	info  backend.Info

	ctx    context.Context // of parked work: ends when closing takes too long
	cancel context.CancelFunc

	// mu guards the ids. It is taken before the router's lock, and never held in
	// a call to a member.
	mu        sync.Mutex
	table     table
	next, end ir.ID

	nodes, parked atomic.Int64

	// Guarded by the router's lock.
	items       map[*item]struct{}
	parkedBytes int64
	everParked  int64
	seq         uint64
	epoch       uint64
	epochs      map[uint64]int // unfinished items, by the epoch in which they came
	changed     chan struct{}  // made by those who wait; closed when an item ends
	outgoing    int            // moves of values of this client to others
	errs        []*ir.Error    // raised here and not yet returned by Sync or Read
	seen        [16]error      // returned by Read lately
	seenAt      int
	traffic     traffic

	inflight  atomic.Int64 // calls that are inside
	closed    atomic.Bool
	idle      chan struct{}
	closeOnce sync.Once
}

// maxErrors bounds the errors kept for Sync.
const maxErrors = 64

// spaces numbers the spaces of ids that clients use on members. A space is one
// client's: a member may be used directly too (by ids below 2^46), by several
// routers, and through several clients of one.
var spaces atomic.Uint64

const spaceBits = 46

func newSpace() (first, end ir.ID, err error) {
	n := spaces.Add(1)
	if n >= 1<<(64-spaceBits) {
		return 0, 0, ir.Errorf(ir.ErrMemory, "router: all %d spaces of ids are used up", n)
	}
	return ir.ID(n << spaceBits), ir.ID((n+1)<<spaceBits - 1), nil
}

func newClient(r *Router, home *member) (*Client, error) {
	first, end, err := newSpace()
	if err != nil {
		return nil, err
	}
	c := &Client{r: r, next: first, end: end, items: map[*item]struct{}{}, epochs: map[uint64]int{}, idle: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for _, m := range r.members {
		l := &lane{c: c, m: m}
		c.lanes = append(c.lanes, l)
		if m == home {
			c.home = l
		}
	}
	c.info = home.b.Info()
	c.info.ID = home.text
	c.info.DTypes = nil
	for _, d := range ir.DTypes() {
		if c.Usage(d) != 0 {
			c.info.DTypes = append(c.info.DTypes, d)
		}
	}
	return c, nil
}

// fresh returns an id for the members. The client's lock is held.
func (c *Client) fresh() ir.ID {
	if c.next == c.end {
		if first, end, err := newSpace(); err == nil {
			c.next, c.end = first, end
		}
	}
	c.next++
	return c.next
}

// ID returns the id of the device in the router.
func (c *Client) ID() ID { return c.home.m.id }

// Router returns the router that the client belongs to.
func (c *Client) Router() *Router { return c.r }

// Name returns the router's name.
func (c *Client) Name() string { return c.r.Name() }

// Info describes the device; where fallback is allowed, with the dtypes of all
// members.
func (c *Client) Info() backend.Info { return c.info }

// Usage says what the device can do with a dtype, with the help of other members
// where fallback is allowed.
func (c *Client) Usage(d ir.DType) backend.Usage {
	u := c.home.m.usage[d]
	if c.r.opt.Fallback {
		for _, m := range c.r.order {
			u |= m.usage[d]
		}
	}
	return u
}

// define gives an id its entry. Both locks are held.
func (c *Client) define(id ir.ID, e entry) {
	if old, had := c.table.put(id, e); had {
		c.forget(old, nil)
	}
}

// forget drops what an id named: a value, or a plain tensor of the home member,
// which is appended to plain if that is given. The client's lock is held.
func (c *Client) forget(e entry, plain *[]ir.ID) {
	switch {
	case e.v != nil:
		e.v.names--
		c.r.collect(e.v)
	case plain != nil:
		*plain = append(*plain, e.inner)
	}
}

// value returns what an id names as a value, nil if it names nothing. Both locks
// are held.
func (c *Client) value(t ir.Tensor) *value {
	e, ok := c.table.get(t.ID)
	if !ok {
		return nil
	}
	if e.v == nil {
		v := &value{typ: t.Type, names: 1}
		v.replicas = []*replica{{v: v, l: c.home, id: e.inner, ready: true, was: true}}
		e.v = v
	}
	if !e.v.typ.DType.Valid() { // an alias was made, which states no type
		e.v.typ = t.Type
	}
	return e.v
}

func (c *Client) unknown(id ir.ID) *ir.Error {
	return &ir.Error{Kind: ir.ErrInternal, Device: c.info.ID,
		Msg: ir.Errorf(ir.ErrInternal, "tensor %d is not known to the device: it was freed, or never made", id).Msg}
}

// raise keeps an error that began here for Sync. The router's lock is held.
func (c *Client) raise(err *ir.Error) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, err)
	}
}

// unseen keeps an error for Sync that a bridge was given in the user's stead.
func (c *Client) unseen(err *ir.Error) {
	for _, e := range c.seen {
		if e == error(err) {
			return
		}
	}
	for _, e := range c.errs {
		if e == err {
			return
		}
	}
	c.raise(err)
}

// reported takes errors that Read returns off the list for Sync.
func (c *Client) reported(errs []error) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	for _, err := range errs {
		if err == nil {
			continue
		}
		c.seen[c.seenAt%len(c.seen)] = err
		c.seenAt++
		for i, e := range c.errs {
			if error(e) == err {
				c.errs = append(c.errs[:i:i], c.errs[i+1:]...)
				break
			}
		}
	}
}

// Upload gives a tensor its contents, on another member if fallback is allowed
// and the device does not store the dtype.
func (c *Client) Upload(t ir.Tensor, data []byte) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := t.Check(); err != nil {
		return err
	}
	if int64(len(data)) != t.Bytes() {
		return ir.Errorf(ir.ErrArgument, "%d bytes for %s, expected %d", len(data), t.Type, t.Bytes())
	}
	l := c.home
	if c.r.opt.Fallback {
		l = c.storing(t.DType)
	}
	c.mu.Lock()
	id := c.fresh()
	c.mu.Unlock()
	if err := l.upload(ir.Tensor{ID: id, Type: t.Type}, data); err != nil {
		return err
	}
	c.mu.Lock()
	c.r.mu.Lock()
	c.define(t.ID, c.entry(t.Type, l, id))
	c.r.unlock()
	c.mu.Unlock()
	return nil
}

// entry returns the entry of a tensor that a member knows.
func (c *Client) entry(t ir.Type, l *lane, id ir.ID) entry {
	if l == c.home {
		return entry{inner: id}
	}
	v := &value{typ: t, names: 1}
	v.replicas = []*replica{{v: v, l: l, id: id, ready: true, was: true}}
	return entry{v: v}
}

// Alias gives a tensor a second id. Both name one value, so that no member is
// asked, whatever the value waits for.
func (c *Client) Alias(from, to ir.ID) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := c.home.m.down(); err != nil {
		return err
	}
	c.mu.Lock()
	c.r.mu.Lock()
	v := c.value(ir.Tensor{ID: from})
	if v == nil {
		v = &value{err: c.unknown(from)}
		c.raise(v.err)
	}
	v.names++
	c.define(to, entry{v: v})
	c.r.unlock()
	c.mu.Unlock()
	return nil
}

// Free drops ids. What parked work and moves still use goes with the last of them.
func (c *Client) Free(ids ...ir.ID) {
	if c.enter() != nil {
		return // a closed device has no tensors left
	}
	defer c.leave()
	plain := make([]ir.ID, 0, len(ids))
	locked := false
	c.mu.Lock()
	for _, id := range ids {
		e, ok := c.table.drop(id)
		if !ok {
			continue
		}
		if e.v != nil && !locked {
			c.r.mu.Lock()
			locked = true
		}
		c.forget(e, &plain)
	}
	if locked {
		c.r.unlock()
	}
	c.mu.Unlock()
	c.home.free(plain)
}

// Flush asks the members for queued work to be started.
func (c *Client) Flush() error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	for _, l := range c.lanes {
		if l == c.home || l.dirty.Load() {
			l.calls.flush.Add(1)
			if err := l.m.probe(); err != nil && l == c.home {
				return err
			}
		}
	}
	return nil
}

// cancelled is the error of a wait that ctx ended.
func (c *Client) cancelled(ctx context.Context, what string) *ir.Error {
	return &ir.Error{Kind: ir.ErrCancelled, Msg: what, Device: c.info.ID, Cause: context.Cause(ctx)}
}

// drain waits until everything parked so far is delivered.
func (c *Client) drain(ctx context.Context) error {
	r := c.r
	r.mu.Lock()
	defer r.unlock()
	mine := c.epoch
	c.epoch++
	return c.waitUntil(ctx, func() bool { return !c.unfinished(mine) })
}

// waitUntil waits until something holds that the end of an item brings about. The
// router's lock is held, except while waiting.
func (c *Client) waitUntil(ctx context.Context, holds func() bool) error {
	r := c.r
	for !holds() {
		changed := c.change()
		r.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = c.cancelled(ctx, "waiting for the device")
		}
		r.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) unfinished(epoch uint64) bool {
	for e := range c.epochs {
		if e <= epoch {
			return true
		}
	}
	return false
}

// wake wakes those who wait for the end of an item.
func (c *Client) wake() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// change returns a channel that is closed when the next item ends.
func (c *Client) change() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Sync waits until all queued work is done, parked work and moves to the device
// included, on every member that had a part in it.
func (c *Client) Sync(ctx context.Context) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	if err := c.drain(ctx); err != nil {
		return err
	}
	var busy []*lane
	for _, l := range c.lanes {
		if l.dirty.Swap(false) || l == c.home {
			busy = append(busy, l)
		}
	}
	errs := c.each(busy, func(l *lane) error {
		l.calls.sync.Add(1)
		return l.m.ask(func() error { return l.m.b.Sync(ctx) })
	})
	if err := c.home.m.down(); err != nil {
		return err
	}
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if len(c.errs) > 0 {
		first := c.errs[0]
		c.errs = nil
		return first
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls f for lanes, side by side if there are several.
func (c *Client) each(lanes []*lane, f func(*lane) error) []error {
	errs := make([]error, len(lanes))
	var wg sync.WaitGroup
	for i, l := range lanes[1:] {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i+1] = f(l)
		}()
	}
	errs[0] = f(lanes[0])
	wg.Wait()
	return errs
}
