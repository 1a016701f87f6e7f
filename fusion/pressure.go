package fusion

import (
	"runtime"
	"sync"
	"time"
)

// pressure asks for garbage collections when the bytes of a device's tensors grow:
// the collector sees bases of a few words, not the memory behind them. Programs
// with scopes or Release stay below; for the others it is a safety net.
type pressure struct {
	mu    sync.Mutex
	limit int64 // bytes at which to look; 0 before the first look
	last  time.Time
	cost  time.Duration // of the last collection
}

const (
	// minPressure is what a device may hold before anyone looks.
	minPressure = 256 << 20
	// gcShare bounds the time spent on collections: after one that took d, the
	// next is at least gcShare·d later, unless memory runs out.
	gcShare = 20
)

// relieve collects garbage if live bytes have doubled since the last time, or
// three quarters of the device's memory are taken. The lock of the stream that is
// about to run something is held.
func (s *Stream) relieve() {
	c, p := s.c, &s.c.pressure
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	live, memory := c.live.Load(), c.info.Memory
	if p.limit == 0 {
		p.limit = c.threshold(0)
	}
	if live < p.limit {
		return
	}
	tight := memory > 0 && live > memory/4*3 || live > 4*p.limit
	if !tight && time.Since(p.last) < gcShare*p.cost {
		return
	}
	start := time.Now()
	patience := 20 * time.Millisecond
	if tight { // failing would be worse than waiting
		patience = time.Second
	}
	collect(patience)
	p.last, p.cost = time.Now(), time.Since(start)
	p.limit = c.threshold(c.live.Load())
	c.freeAll()
}

// threshold is the live bytes at which to look next.
func (c *Client) threshold(live int64) int64 {
	at := max(minPressure, 2*live)
	if m := c.info.Memory; m > 0 {
		at = min(at, max(m/2, live+m/8))
	}
	return at
}

// collect runs a collection and waits for its cleanups, no longer than patience:
// they are queued in no particular order, so one of our own tells roughly when
// they ran.
func collect(patience time.Duration) {
	done := make(chan struct{})
	func() {
		mark := new([16]byte)
		runtime.AddCleanup(mark, func(c chan struct{}) { close(c) }, done)
	}()
	runtime.GC()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		runtime.Gosched()
	case <-timer.C:
	}
}
