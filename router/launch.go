package router

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// compiler is the Compiler of a client whose member has one. Kernels run on the
// member itself: placement and fallback are for nodes.
type compiler struct {
	c     *Client
	inner backend.Compiler
}

// compiled is a kernel with the client for whom it was made. Launches that are
// parked hold it: the member sees the release behind the last of them.
type compiled struct {
	backend.Compiled
	c        *Client
	holds    atomic.Int64 // parked pieces, and 1 until it is released
	released sync.Once
}

// Release gives the kernel back once launches of it have gone to the member.
func (k *compiled) Release() {
	k.released.Do(func() {
		if k.holds.Add(-1) == 0 {
			k.release()
		}
	})
}

func (k *compiled) release() {
	// A lost member has no code left.
	_ = k.c.home.m.call(func() error { k.Compiled.Release(); return nil })
}

func (x compiler) Compile(k *kernel.Kernel) (out backend.Compiled, err error) {
	if err := x.c.enter(); err != nil {
		return nil, err
	}
	defer x.c.leave()
	x.c.home.calls.other.Add(1)
	var inner backend.Compiled
	if err := x.c.home.m.ask(func() (err error) { inner, err = x.inner.Compile(k); return err }); err != nil {
		return nil, err
	}
	made := &compiled{Compiled: inner, c: x.c}
	made.holds.Store(1)
	return made, nil
}

// parcel is what a call of Launch sends to the member: a launch, or what can be
// computed of one whose operand failed, as nodes; then what is freed.
type parcel struct {
	launch *backend.Launch
	nodes  []ir.Node
	frees  []ir.ID

	made  []ir.Tensor // what becomes known, by the client's ids
	taken []consumed
	held  []*value // what it reads, and gave up its name of
}

// consumed is an entry that a launch takes along.
type consumed struct {
	id ir.ID
	e  entry
}

// Launch forwards launches whose operands are there and parks those that wait:
// for an operand, or, where they overwrite a tensor, for those who still read it.
func (x compiler) Launch(ctx context.Context, launches []backend.Launch) error {
	c := x.c
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	for i := range launches {
		for j := range launches[i].Pieces {
			if k, ok := launches[i].Pieces[j].Kernel.(*compiled); !ok || k.c != c {
				return &ir.Error{Kind: ir.ErrDevice, Device: c.info.ID,
					Msg: fmt.Sprintf("launch %d: the kernel of piece %d was compiled by another device", i, j)}
			}
		}
	}
	if err := c.admit(ctx, nil, 0, 0); err != nil { // returns with the client's lock
		return err
	}
	s := &submission{c: c, first: c.next}
	var parcels []parcel
	for i := range launches {
		p, ok := s.plainLaunch(&launches[i])
		if !ok {
			s.lock()
			p, ok = s.launch(&launches[i])
		}
		if ok {
			parcels = append(parcels, p)
		}
	}
	var pending []*replica // plain results of this call that parked work waits for
	if s.locked {
		pending = s.load(c.home, 0).out
		c.r.unlock()
	}
	c.mu.Unlock()
	if len(parcels) == 0 && len(launches) > 0 {
		return nil
	}
	sent, err := c.home.parcels(ctx, parcels)
	c.giveUp(parcels)
	if err == nil && len(pending) == 0 {
		return nil
	}
	c.mu.Lock()
	c.r.mu.Lock()
	left := map[*value]bool{} // what the member did not take
	for _, p := range parcels[sent:] {
		s.withdraw(&p, sent > 0, err, left)
	}
	for _, p := range pending {
		if left[p.v] {
			c.r.lost(p, ir.AsError(err))
		} else {
			c.r.arrived(p)
		}
	}
	c.r.unlock()
	c.mu.Unlock()
	if sent > 0 {
		return nil // those that were not taken are errors of their results
	}
	return err
}

// giveUp lets go of what parcels hold, once they are on their way.
func (c *Client) giveUp(parcels []parcel) {
	locked := false
	for i := range parcels {
		for _, v := range parcels[i].held {
			if !locked {
				c.r.mu.Lock()
				defer c.r.unlock()
				locked = true
			}
			c.r.release(v)
		}
	}
}

// withdraw undoes a parcel that the member did not take. If others of the call
// were taken, the results are errors, and what it consumed is gone all the same.
// The values of its results are added to left.
// Both locks are held.
func (s *submission) withdraw(p *parcel, begun bool, err error, left map[*value]bool) {
	c := s.c
	for _, t := range p.made {
		if e, ok := c.table.drop(t.ID); ok {
			if e.v != nil {
				left[e.v] = true
			}
			c.forget(e, nil)
		}
		if begun {
			c.define(t.ID, entry{v: &value{typ: t.Type, err: ir.AsError(err), names: 1}})
		}
	}
	if begun {
		return
	}
	for _, x := range p.taken {
		if x.e.v != nil {
			x.e.v.names++
			x.e.v.replicas[0].given = false
		}
		c.define(x.id, x.e)
	}
}

// parcels sends parcels in order, runs of launches in one call, and returns how
// many the member took.
func (l *lane) parcels(ctx context.Context, list []parcel) (sent int, err error) {
	if len(list) == 0 { // nothing to launch: whether the member is there
		return 0, l.launch(ctx, nil)
	}
	for sent < len(list) {
		p := &list[sent]
		n := 1
		switch {
		case p.launch != nil:
			launches := []backend.Launch{*p.launch}
			for sent+n < len(list) && list[sent+n].launch != nil && len(list[sent+n-1].frees) == 0 {
				launches = append(launches, *list[sent+n].launch)
				n++
			}
			err = l.launch(ctx, launches)
		case len(p.nodes) > 0:
			err = l.submit(ctx, p.nodes)
		}
		if err != nil {
			return sent, err
		}
		sent += n
		l.free(list[sent-1].frees)
	}
	return sent, nil
}
