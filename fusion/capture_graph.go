package fusion

import (
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// ownCapturer captures what the client's own stream runs, for an inner backend that
// captures nothing: a graph is a list of bound plans.
//
// A replay reads the tensors that the ids have then, and gives the ids of results
// new ones. Ids that are freed when the capture ends are no part of it.
type ownCapturer struct{ c *Client }

// CaptureStart drains, and opens a capture.
func (o ownCapturer) CaptureStart() error {
	if o.c.closed.Load() {
		return closedError(o.c)
	}
	o.c.flush(CutFlush)
	k, err := o.c.main.StartCapture()
	if err != nil {
		return captureError(err)
	}
	o.c.facade.mu.Lock()
	defer o.c.facade.mu.Unlock()
	o.c.facade.capture = k
	o.c.facade.before = map[ir.ID]*Value{}
	for id, x := range o.c.facade.ids {
		o.c.facade.before[id] = x.v
	}
	return nil
}

// captureError is an error of kind [ir.ErrUnsupported].
func captureError(err error) error {
	return &ir.Error{Kind: ir.ErrUnsupported, Msg: "capturing", Cause: err}
}

// CaptureStop drains into the capture, and closes it.
func (o ownCapturer) CaptureStop() (backend.Graph, error) {
	f := &o.c.facade
	o.c.main.Flush()
	f.mu.Lock()
	k, before := f.capture, f.before
	f.capture, f.before = nil, nil
	g := &ownGraph{c: o.c}
	var inputs, outputs []*Value
	for id, v := range before {
		if v.st.Load() != nil {
			g.inputs = append(g.inputs, id)
			inputs = append(inputs, v)
		}
	}
	for id, x := range f.ids {
		if before[id] != x.v && x.v.st.Load() != nil {
			g.outputs = append(g.outputs, id)
			outputs = append(outputs, x.v)
		}
	}
	f.mu.Unlock()
	if k == nil {
		return nil, ir.Errorf(ir.ErrArgument, "no capture is open")
	}
	var err error
	if g.l, err = k.Stop(inputs, outputs, nil, nil); err != nil {
		return nil, captureError(err)
	}
	g.inputs = g.l.dropUnread(g.inputs)
	return g, nil
}

// dropUnread forgets the inputs that the work does not read, and returns the ids of
// the others.
func (l *Launches) dropUnread(ids []ir.ID) (kept []ir.ID) {
	read := l.read()
	for i := range l.inputs { // and those that must be what another one is
		if n := l.inputs[i].same; n > 0 && read[n-1] {
			read[i] = true
		}
	}
	at := make([]int32, len(ids))
	var guards []inputGuard
	for i := range ids {
		if read[i] {
			at[i] = int32(len(kept))
			g := l.inputs[i]
			if g.same > 0 {
				g.same = at[g.same-1] + 1
			}
			kept, guards = append(kept, ids[i]), append(guards, g)
		}
	}
	l.inputs = guards
	l.eachSource(func(s *source) {
		if s.kind == fromInput {
			s.at = at[s.at]
		}
	})
	return kept
}

// ownGraph is captured work by ids.
type ownGraph struct {
	c       *Client
	l       *Launches
	inputs  []ir.ID
	outputs []ir.ID
}

// Replay runs the work behind what is recorded.
func (g *ownGraph) Replay() error {
	if g.c.closed.Load() {
		return closedError(g.c)
	}
	g.c.flush(CutFlush)
	in := make([]*Value, len(g.inputs))
	for i, id := range g.inputs {
		in[i] = g.c.get(id)
	}
	out, err := g.l.Replay(in, nil, nil)
	if err != nil {
		if _, ok := err.(*CaptureRefused); ok {
			return captureError(err)
		}
		return err
	}
	for i, id := range g.outputs {
		g.c.put(id, out[i])
	}
	return nil
}

// Release gives the constants of the work back.
func (g *ownGraph) Release() { g.l.Release() }
