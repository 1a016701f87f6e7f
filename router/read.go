package router

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Read waits for tensors and returns their contents: one read per member that
// holds some, side by side.
func (c *Client) Read(ctx context.Context, ids ...ir.ID) ([]backend.Data, []error, error) {
	if err := c.enter(); err != nil {
		return nil, nil, err
	}
	defer c.leave()
	inner := make([]ir.ID, len(ids))
	values := make([]*value, len(ids))
	errs := make([]error, len(ids))
	slow := false
	c.mu.Lock()
	for i, id := range ids {
		e, ok := c.table.get(id)
		switch {
		case !ok:
			errs[i], slow = c.unknown(id), true
		case e.v == nil:
			inner[i] = e.inner
		default:
			values[i], slow = e.v, true
		}
	}
	if !slow {
		c.mu.Unlock()
		data, errs, err := c.home.read(ctx, inner)
		if err == nil {
			c.reported(errs)
		}
		return data, errs, err
	}
	c.r.mu.Lock()
	for _, v := range values {
		if v != nil {
			v.holds++
		}
	}
	c.r.mu.Unlock()
	c.mu.Unlock()
	defer func() {
		c.r.mu.Lock()
		for _, v := range values {
			if v != nil {
				c.r.release(v)
			}
		}
		c.r.unlock()
	}()
	if err := c.await(ctx, values); err != nil { // returns with the router's lock
		return nil, nil, err
	}
	data := make([]backend.Data, len(ids))
	places := map[*lane][]int{}
	var lanes []*lane
	at := func(l *lane, i int) {
		if places[l] == nil {
			lanes = append(lanes, l)
		}
		places[l] = append(places[l], i)
	}
	for i, v := range values {
		switch {
		case errs[i] != nil:
		case v == nil:
			at(c.home, i)
		case v.err != nil:
			errs[i] = v.err
		default:
			p := v.readyReplica(c.home.m)
			inner[i] = p.id
			at(c.lanes[c.r.index(p.l.m)], i)
		}
	}
	c.r.mu.Unlock()
	var failed []error
	if len(lanes) > 0 {
		failed = c.each(lanes, func(l *lane) error {
			want := make([]ir.ID, len(places[l]))
			for j, i := range places[l] {
				want[j] = inner[i]
			}
			d, e, err := l.read(ctx, want)
			if err != nil {
				return err
			}
			for j, i := range places[l] {
				data[i], errs[i] = d[j], e[j]
			}
			return nil
		})
	}
	for j, err := range failed {
		if err == nil {
			continue
		}
		if ctx.Err() != nil || lanes[j] == c.home && len(lanes) == 1 {
			return nil, nil, err
		}
		for _, i := range places[lanes[j]] { // a lost member takes only its own tensors along
			errs[i] = err
		}
	}
	c.reported(errs)
	return data, errs, nil
}

// await waits until it is known what values are, and takes the router's lock.
func (c *Client) await(ctx context.Context, values []*value) error {
	for {
		var done <-chan struct{}
		c.r.mu.Lock()
		for _, v := range values {
			if v != nil && !v.isSettled() {
				done = v.done()
				break
			}
		}
		if done == nil {
			return nil
		}
		c.r.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return c.cancelled(ctx, "waiting for the device")
		}
	}
}

// index returns the place of a member of the router.
func (r *Router) index(m *member) int {
	for i, x := range r.members {
		if x == m {
			return i
		}
	}
	return 0
}
