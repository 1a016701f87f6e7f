package router

import (
	"context"
	"time"

	"github.com/sinter-go/sinter/ir"
)

// enter begins a call; leave ends it. Closing waits for those inside.
func (c *Client) enter() error {
	c.inflight.Add(1)
	if c.closed.Load() {
		c.leave()
		return &ir.Error{Kind: ir.ErrClosed, Msg: "the device is closed", Device: c.info.ID}
	}
	return nil
}

func (c *Client) leave() {
	if c.inflight.Add(-1) == 0 && c.closed.Load() {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// Close finishes the device's work, parked work included, and frees its tensors
// on the members. It waits for other devices for a limited time.
func (c *Client) Close() error {
	c.closeOnce.Do(func() {
		c.closed.Store(true)
		timer := time.AfterFunc(c.r.opt.CloseWait, c.cancel)
		defer timer.Stop()
		c.finish()
		c.cancel()
		c.mu.Lock()
		c.r.mu.Lock()
		var plain []ir.ID
		c.table.each(func(_ ir.ID, e entry) { c.forget(e, &plain) })
		c.table = table{}
		c.r.unlock()
		c.mu.Unlock()
		c.home.free(plain)
	})
	return nil
}

// finish waits for calls, parked work and moves. When the time is up, what has
// not begun becomes an error, and what has is given as long again to notice.
func (c *Client) finish() {
	for c.inflight.Load() > 0 {
		select {
		case <-c.idle:
			continue
		case <-c.ctx.Done():
		}
		break
	}
	r := c.r
	done := func() bool { return len(c.items) == 0 && c.outgoing == 0 }
	r.mu.Lock()
	defer r.unlock()
	if c.waitUntil(c.ctx, done) == nil {
		return
	}
	err := &ir.Error{Kind: ir.ErrClosed, Msg: "the device was closed before its operands arrived", Device: c.info.ID}
	for it := range c.items {
		if !it.running {
			r.fail(it, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.opt.CloseWait)
	defer cancel()
	_ = c.waitUntil(ctx, done) // in vain if a bridge does not heed its context
}
