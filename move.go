package sinter

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/internal/callsite"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/router"
)

// To returns the tensor on another device, without waiting for it: operations on
// the result are recorded at once, and run when it has arrived. t stays usable
// and may be released at once. A tensor that is on the device already is returned
// as it is, sharing its memory.
//
// The result belongs to the scope of t, and its gradient moves back to t's
// device. An error of t becomes that of the result. The context of the device's
// default stream ends the move.
//
// Between devices of one router ([router.Router]), or into one, only what needs
// the tensor waits. Between others it passes in the background too, and work of
// the stream that needs it is held back until then, within limits.
func (t *Tensor) To(d *Device) *Tensor {
	if err := t.failure(); err != nil {
		return errored(err)
	}
	raise := func(err error) *Tensor {
		e := *ir.AsError(err)
		if e.Op == "" {
			e.Op, e.Operands, e.Site = "move", []ir.Type{t.typ}, callsite.Find()
		}
		return errored(&e)
	}
	if d == nil {
		return raise(ir.Errorf(ir.ErrArgument, "the device is nil"))
	}
	from := t.h.stream.dev
	if from == d {
		c := *t
		return &c
	}
	if err := pin([]*Tensor{t}); err != nil {
		return raise(err)
	}
	defer t.h.life.unpin()
	if err := t.h.stream.wait(d.stream.ctx, t.h.id); err != nil {
		return raise(err)
	}
	if err := t.h.stream.failure(t.h.id); err != nil {
		return errored(err)
	}
	out := &Tensor{typ: t.typ, h: newHandle(d.stream, t.typ), scope: t.scope}
	var err error
	if m, ok := backend.As[backend.Mover](d.backend); ok {
		err = m.Receive(d.stream.ctx, from.backend, ir.Tensor{ID: t.h.id, Type: t.typ}, out.h.id)
	} else {
		err = d.fetch(t, out.h.id)
	}
	keepAlive(t)
	if err != nil {
		return raise(err)
	}
	if out.scope != nil {
		if err := out.scope.own([]*Tensor{out}); err != nil {
			return raise(err)
		}
	}
	track(moveRow, nil, []*Tensor{t}, []*Tensor{out}, out.scope)
	return out
}

// CopyTo is [Tensor.To] that waits until the tensor is there, and returns its error.
func (t *Tensor) CopyTo(ctx context.Context, d *Device) (*Tensor, error) {
	c := t.To(d)
	if err := c.failure(); err != nil {
		return nil, err
	}
	if _, err := Read(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// moveRow is what the origin of a moved tensor says. It is in no table: devices
// do not run it, and nothing else records it.
var moveRow = &ir.Row{
	Name: "move", Doc: "y = x, on another device.", Access: ir.View,
	Operands: []ir.Operand{{Name: "x", Class: ir.AnyType}},
	Infer:    func(_ *ir.Row, in []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return in, nil },
}

func init() { // To refers to the row, and its gradient to To
	moveRow.GradFunc = func(g *ir.GradContext) []ir.Value {
		dy, ok := g.DOut[0].(*Tensor)
		x, isTensor := g.In[0].(*Tensor)
		if !ok || !isTensor || x.h == nil {
			return []ir.Value{nil}
		}
		return []ir.Value{dy.To(x.h.stream.dev)}
	}
}

// together returns operands on one device: as they are, or moved by the rule of
// the router that they share. Others are an error that names both devices.
func together(in []*Tensor) ([]*Tensor, error) {
	apart := 0
	for i, t := range in {
		if t.h.stream.dev != in[0].h.stream.dev {
			apart = i
			break
		}
	}
	if apart == 0 {
		return in, nil
	}
	if m, ok := backend.As[backend.Mover](in[0].h.stream.dev.backend); ok {
		of := make([]backend.Backend, len(in))
		for i, t := range in {
			of[i] = t.h.stream.dev.backend
		}
		if at, ok := m.Meet(of, typesOf(in)); ok {
			d := in[at].h.stream.dev
			moved := make([]*Tensor, len(in))
			for i, t := range in {
				if moved[i] = t; t.h.stream.dev != d {
					moved[i] = t.To(d)
				}
				if err := moved[i].failure(); err != nil {
					return nil, err
				}
			}
			return moved, nil
		}
	}
	return nil, ir.Errorf(ir.ErrDevice, "operand %d is on %s, the first is on %s; move one with To", apart, in[apart].h.stream.dev, in[0].h.stream.dev)
}

// arrivals are the tensors on their way to a device that does not order work by
// data itself: nodes that need one are held back by their streams.
type arrivals struct {
	mu  sync.Mutex
	ids map[ir.ID]*arrival
}

type arrival struct {
	done  chan struct{}
	err   *ir.Error // once done; the entry then stays until the id is freed
	freed bool
}

// fetch moves a tensor here in the background.
func (d *Device) fetch(t *Tensor, to ir.ID) error {
	from := t.h.stream.dev
	src := ir.Tensor{ID: from.newID(), Type: t.typ}
	if err := from.backend.Alias(t.h.id, src.ID); err != nil {
		return err
	}
	a := &arrival{done: make(chan struct{})}
	d.arriving.mu.Lock()
	if d.arriving.ids == nil {
		d.arriving.ids = map[ir.ID]*arrival{}
	}
	d.arriving.ids[to] = a
	d.arriving.mu.Unlock()
	d.awaited.Add(1)
	go func() {
		carried, err := router.Transfer(d.stream.ctx, from.backend, src, d.backend, to, d.runtime.host)
		from.backend.Free(src.ID)
		d.arriving.mu.Lock()
		switch {
		case carried != nil:
			a.err = carried
		case err != nil:
			a.err = ir.AsError(err)
		default:
			delete(d.arriving.ids, to)
		}
		freed := a.freed
		if freed {
			delete(d.arriving.ids, to)
		}
		if a.err == nil || freed {
			d.awaited.Add(-1)
		}
		close(a.done)
		d.arriving.mu.Unlock()
		if freed && a.err == nil {
			d.backend.Free(to)
		}
		d.stream.Flush()
	}()
	return nil
}

// arrival returns the arrival of an id, nil if it does not arrive or is here.
func (d *Device) arrival(id ir.ID) *arrival {
	if d.awaited.Load() == 0 {
		return nil
	}
	d.arriving.mu.Lock()
	defer d.arriving.mu.Unlock()
	return d.arriving.ids[id]
}

// isDone reports whether the tensor is here, or known not to come.
func (a *arrival) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// withoutArriving takes the ids that are still on their way out of a list to be
// freed; they are freed when they come.
func (d *Device) withoutArriving(ids []ir.ID) []ir.ID {
	if d.awaited.Load() == 0 {
		return ids
	}
	d.arriving.mu.Lock()
	defer d.arriving.mu.Unlock()
	kept := ids[:0]
	for _, id := range ids {
		a := d.arriving.ids[id]
		switch {
		case a == nil:
			kept = append(kept, id)
		case a.isDone(): // it failed
			delete(d.arriving.ids, id)
			d.awaited.Add(-1)
		default:
			a.freed = true
		}
	}
	return kept
}

// take returns the pending nodes that can be submitted, and holds the others
// back: those that need a tensor on its way, and what depends on them. It returns
// what they wait for.
func (s *Stream) take() (ready []ir.Node, awaits *arrival) {
	nodes := s.pending
	if s.dev.awaited.Load() == 0 {
		s.pending, s.held, s.bytes, s.heldBytes = nil, 0, 0, 0
		return nodes, nil
	}
	held := map[ir.ID]bool{}
	var kept []ir.Node
	s.bytes = 0
	for _, n := range nodes {
		waits := false
		for _, t := range n.In {
			a := s.dev.arrival(t.ID)
			switch {
			case held[t.ID]:
				waits = true
			case a == nil:
			case !a.isDone():
				waits, awaits = true, a
			default:
				s.lose(t.ID, a.err)
			}
		}
		if !waits {
			ready = append(ready, n)
			continue
		}
		kept = append(kept, n)
		for _, t := range n.Out {
			held[t.ID] = true
			s.bytes += t.Bytes()
		}
	}
	s.pending, s.held = kept, len(kept)
	s.heldBytes = s.bytes
	return ready, awaits
}

// wait submits what was recorded and waits until nothing that makes a tensor is
// held back any more.
func (s *Stream) wait(ctx context.Context, id ir.ID) error {
	s.Flush()
	if s.dev.awaited.Load() == 0 && !s.holding() {
		return nil
	}
	for {
		s.mu.Lock()
		awaits := s.submit()
		if !s.holds(id) {
			if awaits = s.dev.arrival(id); awaits != nil && awaits.isDone() { // it failed
				awaits = nil
			}
		}
		s.mu.Unlock()
		if awaits == nil {
			return nil
		}
		if err := awaits.wait(ctx); err != nil {
			return err
		}
	}
}

// holding reports whether any node is held back.
func (s *Stream) holding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held > 0
}

// holds reports whether a node that makes a tensor is held back.
func (s *Stream) holds(id ir.ID) bool {
	for i := range s.pending {
		for _, t := range s.pending[i].Out {
			if t.ID == id {
				return true
			}
		}
	}
	return false
}

func (a *arrival) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for a tensor that moves", Cause: ctx.Err()}
	}
}

// arrived waits for all tensors on their way.
func (d *Device) arrived(ctx context.Context) error {
	for d.awaited.Load() > 0 {
		var next *arrival
		d.arriving.mu.Lock()
		for _, a := range d.arriving.ids {
			if !a.isDone() {
				next = a
			}
		}
		d.arriving.mu.Unlock()
		if next == nil {
			break
		}
		if err := next.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
