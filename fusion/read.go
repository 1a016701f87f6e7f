package fusion

import (
	"context"
	"slices"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Store runs what the value needs, and makes it stored or an error. It does not
// wait for the device.
func (v *Value) Store() error {
	if v.st.Load() != nil {
		return nil
	}
	s := v.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demand(v, CutRead)
}

// await waits for tensors on their way that instances need, without the lock, which
// others need meanwhile. needs is called with it.
func (s *Stream) await(ctx context.Context, needs func() []*instance) error {
	for {
		var missing *arrival
		s.mu.Lock()
		for _, in := range needs() {
			for _, a := range in.awaits {
				if !a.isDone() {
					missing = a
				}
			}
		}
		s.mu.Unlock()
		if missing == nil {
			return nil
		}
		if err := missing.wait(ctx); err != nil {
			return err
		}
	}
}

// await waits for what the value needs that is on its way.
func (v *Value) await(ctx context.Context) error {
	if v.st.Load() != nil {
		return nil
	}
	return v.stream.await(ctx, func() []*instance {
		if v.st.Load() != nil || v.inst.sealed {
			return nil
		}
		return []*instance{v.inst}
	})
}

// settled waits for a value on its way.
func (v *Value) settled(ctx context.Context) (*stored, error) {
	v.stream.c.noteRead()
	if err := v.await(ctx); err != nil {
		return nil, err
	}
	if err := v.Store(); err != nil {
		return nil, err
	}
	st := v.st.Load()
	if st.constant != nil {
		return st.constant.settled(ctx, v.stream)
	}
	if st.wait != nil {
		if err := st.wait.wait(ctx); err != nil {
			return nil, err
		}
		st = st.wait.place()
	}
	if st.err != nil {
		v.stream.c.seen(st.err)
		return nil, st.err
	}
	return st, nil
}

// ReadValues waits for values and returns their contents, row-major, in one round
// trip to the device. errs[i] is the error that value i carries. What is recorded
// of other work stays recorded.
func (c *Client) ReadValues(ctx context.Context, values []*Value) ([]backend.Data, []error, error) {
	if c.closed.Load() {
		return nil, nil, closedError(c)
	}
	data, errs := make([]backend.Data, len(values)), make([]error, len(values))
	for _, v := range values {
		if err := v.await(ctx); err != nil {
			return nil, nil, err
		}
	}
	c.gather(values)
	var ids, views []ir.ID
	var at []int
	var nodes []ir.Node
	for i, v := range values {
		st, err := v.settled(ctx)
		if err != nil {
			if c.closed.Load() && ir.AsError(err).Kind == ir.ErrClosed { // meanwhile
				return nil, nil, err
			}
			errs[i] = err
			continue
		}
		if !st.base.acquire() {
			errs[i] = released()
			continue
		}
		defer st.base.release()
		id := st.base.id
		if !st.whole(v.typ.Shape) {
			t := ir.Tensor{ID: c.newID(), Type: *v.typ}
			nodes = append(nodes, stridedNode(st.base, st.layout, t))
			views = append(views, t.ID)
			id = t.ID
		}
		ids = append(ids, id)
		at = append(at, i)
	}
	if len(nodes) > 0 {
		if err := c.inner.Submit(ctx, nodes); err != nil {
			return nil, nil, err
		}
		defer c.inner.Free(views...)
	}
	c.freeAll()
	if len(ids) == 0 {
		return data, errs, nil
	}
	got, failed, err := c.inner.Read(ctx, ids...)
	if err != nil {
		return nil, nil, err
	}
	for k, i := range at {
		data[i], errs[i] = got[k], failed[k]
		if c.opt.Oracle && failed[k] != nil {
			c.seen(ir.AsError(failed[k]))
		}
		data[i].Type = *values[i].typ
	}
	return data, errs, nil
}

// gather runs what pending values need, as one segment per stream: all are asked
// for before any is run.
func (c *Client) gather(values []*Value) {
	var of []*Stream
	for _, v := range values {
		if v.st.Load() == nil && !slices.Contains(of, v.stream) {
			of = append(of, v.stream)
		}
	}
	for _, s := range of {
		s.mu.Lock()
		var open []*instance
		for _, v := range values {
			if v.stream != s || v.st.Load() != nil || v.inst.sealed || v.released.Load() {
				continue
			}
			v.inst.demand(v.pos)
			if !slices.Contains(open, v.inst) {
				open = append(open, v.inst)
			}
		}
		for _, in := range open {
			s.forget(in)
		}
		for _, in := range s.together(open) {
			s.run(in, CutRead)
		}
		s.mu.Unlock()
	}
}
