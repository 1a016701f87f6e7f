package sinter

import (
	"context"
	"runtime"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// Budgets of a stream: recorded work is submitted when either is reached.
const (
	maxPendingOps   = 256
	maxPendingBytes = 64 << 20

	// Beyond maxHeldOps, recording waits for the tensors that held nodes need.
	maxHeldOps = 16 * maxPendingOps
)

// Stream is an ordered record of operations for one device. Recording never
// waits for results; work is submitted on a read, a sync, a flush, the end of a
// top-level scope, or when a budget is reached, never by a timer. It is safe for
// concurrent use.
type Stream struct {
	dev *Device
	ctx context.Context

	mu      sync.Mutex
	pending []ir.Node
	bytes   int64
	held    int // of pending, nodes that wait for a tensor on its way, at the front
	frees   []ir.ID
	failed  map[ir.ID]*ir.Error // results of work that could not be submitted
	cuts    Cuts

	heldBytes int64
}

// Cuts counts why recorded work was submitted.
type Cuts struct {
	Flush, Ops, Bytes int64
}

// Device returns the stream's device.
func (s *Stream) Device() *Device { return s.dev }

// Cuts returns the counts so far.
func (s *Stream) Cuts() Cuts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cuts
}

// record appends a node. The borrowed ids are freed after it.
func (s *Stream) record(n ir.Node, borrowed []ir.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, n)
	s.frees = append(s.frees, borrowed...)
	for _, t := range n.Out {
		s.bytes += t.Bytes()
	}
	switch {
	case len(s.pending)-s.held >= maxPendingOps:
		s.cuts.Ops++
		s.submit()
	case s.bytes-s.heldBytes >= maxPendingBytes:
		s.cuts.Bytes++
		s.submit()
	}
}

// Flush submits what was recorded, and does not wait for it.
func (s *Stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > 0 {
		s.cuts.Flush++
	}
	s.submit()
}

// adopt gives a tensor of another stream of the device a second id, to be freed
// after the node that uses it: the owner may release its own at any time.
func (s *Stream) adopt(h *handle) (ir.ID, error) {
	if err := h.stream.wait(s.ctx, h.id); err != nil { // what made it goes first
		return 0, err
	}
	if err := h.stream.failure(h.id); err != nil {
		return 0, err
	}
	id := s.dev.newID()
	if err := s.dev.backend.Alias(h.id, id); err != nil {
		return 0, err
	}
	runtime.KeepAlive(h)
	return id, nil
}

// submit hands pending nodes and frees to the backend. The lock is held, so that
// the order of the queue is the order of recording. It returns what nodes wait for
// that are held back, nil if none is.
func (s *Stream) submit() *arrival {
	awaits := s.submitReady()
	for s.held > maxHeldOps && awaits.wait(s.ctx) == nil {
		awaits = s.submitReady()
	}
	if len(s.frees) > 0 && s.held == 0 {
		ids := s.frees
		s.frees = nil
		for _, id := range ids {
			delete(s.failed, id)
		}
		s.dev.backend.Free(s.dev.withoutArriving(ids)...)
	}
	return awaits
}

func (s *Stream) submitReady() (awaits *arrival) {
	if len(s.pending) == 0 {
		return nil
	}
	nodes, awaits := s.take()
	nodes = s.withoutFailed(nodes)
	if len(nodes) == 0 {
		return awaits
	}
	err := s.ctx.Err()
	if err != nil {
		err = &ir.Error{Kind: ir.ErrCancelled, Msg: "the stream's context ended before the work was submitted", Cause: err}
	} else {
		err = s.dev.backend.Submit(s.ctx, nodes)
	}
	if err != nil {
		s.poison(nodes, ir.AsError(err))
	}
	return awaits
}

// lose remembers the error of a tensor that never reached the device.
func (s *Stream) lose(id ir.ID, err *ir.Error) {
	if s.failed == nil {
		s.failed = map[ir.ID]*ir.Error{}
	}
	s.failed[id] = err
}

// withoutFailed drops nodes whose operands never reached the device; the first
// error is passed on to their results.
func (s *Stream) withoutFailed(nodes []ir.Node) []ir.Node {
	if len(s.failed) == 0 {
		return nodes
	}
	kept := nodes[:0]
	for _, n := range nodes {
		var err *ir.Error
		for _, t := range n.In {
			if err == nil {
				err = s.failed[t.ID]
			}
		}
		if err == nil {
			kept = append(kept, n)
			continue
		}
		for _, t := range n.Out {
			s.failed[t.ID] = err
		}
	}
	return kept
}

// poison remembers the results of nodes that never reached the device.
func (s *Stream) poison(nodes []ir.Node, err *ir.Error) {
	for i := range nodes {
		e := *err
		e.Op, e.Operands, e.Site, e.Device = nodes[i].Row.Name, nodes[i].InTypes(), nodes[i].Site, s.dev.ID()
		for _, t := range nodes[i].Out {
			s.lose(t.ID, &e)
		}
	}
}

// failure returns the error of a result that never reached the device.
func (s *Stream) failure(id ir.ID) *ir.Error {
	if a := s.dev.arrival(id); a != nil && a.isDone() {
		return a.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[id]
}

// free drops an id after the work that was recorded before.
func (s *Stream) free(id ir.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frees = append(s.frees, id)
	if len(s.pending) == 0 && len(s.frees) >= 64 {
		s.submit()
	}
}
