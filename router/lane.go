package router

import (
	"context"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// lane is the way from a client to a member. Work that had to wait is delivered
// by the lane's pump, one at a time and in the order of submission, so that a
// member that does not answer holds up its own lanes only.
type lane struct {
	c     *Client
	m     *member
	calls calls
	dirty atomic.Bool // work was sent since the last sync

	// Guarded by the router's lock.
	runnable []*item
	pumping  bool
	garbage  []ir.ID
}

// calls counts what goes to the member.
type calls struct {
	submit, upload, alias, free, flush, read, sync, launch, other atomic.Int64
}

func (l *lane) submit(ctx context.Context, nodes []ir.Node) error {
	l.calls.submit.Add(1)
	l.dirty.Store(true)
	return l.m.call(func() error { return l.m.b.Submit(ctx, nodes) })
}

func (l *lane) upload(t ir.Tensor, data []byte) error {
	l.calls.upload.Add(1)
	l.dirty.Store(true)
	return l.m.call(func() error { return l.m.b.Upload(t, data) })
}

func (l *lane) alias(from, to ir.ID) error {
	l.calls.alias.Add(1)
	return l.m.call(func() error { return l.m.b.Alias(from, to) })
}

func (l *lane) free(ids []ir.ID) {
	if len(ids) == 0 {
		return
	}
	l.calls.free.Add(1)
	// A lost member has nothing left to free.
	_ = l.m.call(func() error { l.m.b.Free(ids...); return nil })
}

func (l *lane) read(ctx context.Context, ids []ir.ID) (data []backend.Data, errs []error, err error) {
	l.calls.read.Add(1)
	err = l.m.call(func() error {
		data, errs, err = l.m.b.Read(ctx, ids...)
		return err
	})
	return data, errs, err
}

// pump delivers what can be delivered until there is nothing left.
func (l *lane) pump() {
	r := l.c.r
	for {
		r.mu.Lock()
		batch := l.batch()
		r.unlock()
		if len(batch) == 0 {
			return
		}
		for len(batch) > 0 {
			n := 1
			for batch[0].launch == nil && n < len(batch) && batch[n].launch == nil {
				n++
			}
			err := l.deliver(batch[:n])
			r.mu.Lock()
			for _, it := range batch[:n] {
				node := it.node
				for _, p := range r.finish(it) {
					if err != nil {
						r.lost(p, describe(err, &node))
					} else {
						r.arrived(p)
					}
				}
			}
			r.unlock()
			batch = batch[n:]
		}
	}
}

// batch takes the items that can go, in order of submission, with those that wait
// for nothing but items of the same batch: the member runs them in order.
func (l *lane) batch() []*item {
	r := l.c.r
	batch := l.runnable
	l.runnable = nil
	for i := 0; i < len(batch); i++ {
		for _, p := range batch[i].out {
			waiters := p.waiters
			p.waiters = nil
			for _, w := range waiters {
				if w.l != l || w.move != nil {
					p.waiters = append(p.waiters, w)
				} else if w.missing--; w.missing == 0 {
					batch = append(batch, w)
				}
			}
		}
	}
	// An operand of a chained item may have become an error meanwhile.
	live := batch[:0]
	for _, it := range batch {
		var failed *ir.Error
		for i, v := range it.in {
			if v.err != nil && (it.launch == nil || !r.spare(it, it.inIDs[i], v.err)) {
				failed = v.err
				break
			}
		}
		if failed != nil {
			r.fail(it, failed)
		} else if it.c != nil {
			live = append(live, it)
		}
	}
	sort.Slice(live, func(i, j int) bool { return live[i].seq < live[j].seq })
	if len(live) == 0 {
		l.pumping = len(l.runnable) > 0
		if l.pumping {
			return l.batch()
		}
	}
	return live
}

// deliver sends a run of nodes, or one launch.
func (l *lane) deliver(batch []*item) error {
	ctx := l.c.ctx
	if la := batch[0].launch; la != nil {
		if sound := batch[0].sound; sound != nil {
			err := l.submit(ctx, sound)
			if err == nil {
				l.free(intermediates(sound, func(id ir.ID) bool {
					return slices.ContainsFunc(batch[0].out, func(p *replica) bool { return p.id == id })
				}))
			}
			return err
		}
		return l.launch(ctx, []backend.Launch{*la})
	}
	nodes := make([]ir.Node, len(batch))
	for i, it := range batch {
		nodes[i] = it.inner
	}
	l.c.nodes.Add(int64(len(nodes)))
	return l.submit(ctx, nodes)
}

func (l *lane) launch(ctx context.Context, launches []backend.Launch) error {
	l.calls.launch.Add(1)
	l.dirty.Store(true)
	c, ok := backend.As[backend.Compiler](l.m.b)
	if !ok {
		return ir.Errorf(ir.ErrUnsupported, "the device takes no kernels")
	}
	return l.m.ask(func() error { return c.Launch(ctx, launches) })
}

// describe adds operation, operands and the user's line to an error that has none.
func describe(err error, n *ir.Node) *ir.Error {
	e := *ir.AsError(err)
	if e.Op == "" && n.Row != nil {
		e.Op, e.Operands, e.Site = n.Row.Name, n.InTypes(), n.Site
	}
	return &e
}
