package cpu

import (
	"sync"
	"sync/atomic"
	"time"
)

// Copies of parallelCopy bytes and more are shared, in pieces of copyPiece: fresh
// pages above all cost more than one processor's time.
const (
	parallelCopy = 4 << 20
	copyPiece    = 1 << 20
)

// copyPace is what a byte of a large copy takes, in nanoseconds.
const copyPace = 0.1

// copyOut returns the contents of a contiguous entry.
func (d *Device) copyOut(e *entry) ([]byte, error) {
	if !d.accelerated() {
		return d.cloneBytes(e.bytes()), nil
	}
	out := make([]byte, e.typ.Bytes())
	return out, d.accelerator().CopyOut(out, e.bytes())
}

// copyIn copies from the memory of a caller, on his goroutine.
func (d *Device) copyIn(dst, src []byte) error {
	if d.accelerated() {
		return d.accelerator().CopyIn(dst, src)
	}
	d.copyBytes(dst, src)
	return nil
}

// copyBytes copies on the goroutine of a caller and, if it is much, on others.
func (d *Device) copyBytes(dst, src []byte) {
	if len(src) < parallelCopy || d.opt.Threads == 1 {
		copy(dst, src)
		return
	}
	var next atomic.Int64
	work := func() {
		for {
			from := (next.Add(1) - 1) * copyPiece
			if from >= int64(len(src)) {
				return
			}
			end := min(from+copyPiece, int64(len(src)))
			copy(dst[from:end], src[from:end])
		}
	}
	var wg sync.WaitGroup
	for range min(d.opt.Threads, 4) - 1 { // memory is not faster for more
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// cloneBytes copies memory of the device for a reader, on the device goroutine and
// its helpers.
func (d *Device) cloneBytes(src []byte) []byte {
	if len(src) < parallelCopy || d.opt.Threads == 1 {
		return append([]byte{}, src...) // not cleared first, as make does
	}
	dst := make([]byte, len(src))
	claims := int64(len(src)+copyPiece-1) / copyPiece
	d.workers.team.run(claims, time.Duration(float64(len(src))*copyPace), func(n int64, _ int) {
		end := min((n+1)*copyPiece, int64(len(src)))
		copy(dst[n*copyPiece:end], src[n*copyPiece:end])
	})
	return dst
}
