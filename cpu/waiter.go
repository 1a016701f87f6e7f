package cpu

import (
	"context"
	"sync"
	"sync/atomic"
)

// waiter waits for one task of the device goroutine.
type waiter struct {
	state atomic.Int32
	err   error
	ended chan struct{} // to one who sleeps
}

// The states of a waiter.
const (
	running int32 = iota
	sleeping
	ended
)

var waiters = sync.Pool{New: func() any { return &waiter{ended: make(chan struct{}, 1)} }}

func newWaiter() *waiter {
	w := waiters.Get().(*waiter)
	w.err = nil
	w.state.Store(running)
	return w
}

// done ends the task; the first call counts.
func (w *waiter) done(err error) {
	if w.state.Load() == ended {
		return
	}
	w.err = err
	if w.state.Swap(ended) == sleeping {
		w.ended <- struct{}{}
	}
}

// wait returns the error of the task, or false if ctx ended before it. The waiter
// is not used afterwards.
func (w *waiter) wait(ctx context.Context) (ok bool, err error) {
	if w.state.CompareAndSwap(running, sleeping) {
		select {
		case <-w.ended:
		case <-ctx.Done():
			return false, nil // the task still has it
		}
	}
	err = w.err
	waiters.Put(w)
	return true, err
}
