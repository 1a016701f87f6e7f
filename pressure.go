package sinter

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// pressure counts the bytes of a device's tensors that nobody has released, and
// asks for garbage collections when they grow: the collector sees handles of a
// few words, not the memory behind them. Programs with scopes or Release stay
// below; for the others it is a safety net.
type pressure struct {
	live  atomic.Int64
	limit atomic.Int64 // bytes at which to look; 0 before the first look

	mu   sync.Mutex
	last time.Time
	cost time.Duration // of the last collection
}

const (
	// minPressure is what a device may hold before anyone looks.
	minPressure = 256 << 20
	// gcShare bounds the time spent on collections: after one that took d, the
	// next is at least gcShare·d later, unless memory runs out.
	gcShare = 20
)

// relieve collects garbage if live bytes have doubled since the last time, or
// three quarters of the device's memory are taken.
func (p *pressure) relieve(s *Stream) {
	live, limit := p.live.Load(), p.limit.Load()
	if limit == 0 {
		limit = p.threshold(s, 0)
		p.limit.CompareAndSwap(0, limit)
	}
	if live < limit || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	memory := s.dev.info.Memory
	tight := memory > 0 && live > memory/4*3 || live > 4*limit
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
	p.limit.Store(p.threshold(s, p.live.Load()))
	s.Flush() // the device frees what the collector found
}

// threshold is the live bytes at which to look next.
func (p *pressure) threshold(s *Stream, live int64) int64 {
	at := max(minPressure, 2*live)
	if m := s.dev.info.Memory; m > 0 {
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
