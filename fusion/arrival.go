package fusion

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// arrival is a tensor on its way from another device. Those who will read it, on
// whatever stream, hold a reference before there is anything to refer to.
type arrival struct {
	done chan struct{}

	mu      sync.Mutex
	holders int32
	st      *stored // once done
}

func (a *arrival) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// end settles the arrival; only the first one counts.
func (a *arrival) end(st *stored) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.st != nil {
		return false
	}
	if st.base != nil {
		st.base.refs.Add(a.holders)
	}
	a.st = st
	close(a.done)
	return true
}

// hold takes a reference to what arrives, or has arrived.
func (a *arrival) hold() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.st == nil {
		a.holders++
		return true
	}
	return a.st.base == nil || a.st.base.acquire()
}

// unhold gives a reference back.
func (a *arrival) unhold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.st == nil:
		a.holders--
	case a.st.base != nil:
		a.st.base.release()
	}
}

// place returns where the tensor lies, or its error.
func (a *arrival) place() *stored { return a.st }

func (a *arrival) wait(ctx context.Context) *ir.Error {
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for a tensor on its way", Cause: ctx.Err()}
	}
}

// Arriving makes a value that will be here later: bring gets its id in the facade
// and puts the tensor there. Operations on it are recorded at once and held back
// until it is here.
func (s *Stream) Arriving(t ir.Type, bring func(to ir.ID) error) *Value {
	a := &arrival{done: make(chan struct{})}
	v := &Value{typ: &t, stream: s}
	v.st.Store(&stored{wait: a})
	id := s.c.FreshID()
	go func() {
		err := bring(id)
		st := &stored{}
		if err == nil {
			st, _, err = s.c.take(id)
		}
		if err != nil {
			st = &stored{err: ir.AsError(err)}
		}
		first := a.end(st) // without the lock, which someone who waits for this may hold
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flush(CutFlush)
		switch {
		case first:
			v.settle(st)
		case st.base != nil: // someone gave up waiting
			st.base.release()
		}
	}()
	return v
}
