package cpu

import (
	"context"
	"sync"
	"time"

	"github.com/sinter-go/sinter/cpu/tune"
	"github.com/sinter-go/sinter/ir"
)

// idleTuner measures products that a device meets, while it is idle. A run that has
// begun delays work that arrives meanwhile by its own time, which is bounded.
type idleTuner struct {
	met  chan productClass
	seen sync.Map // of classes that were met
	end  context.CancelFunc
	done chan struct{}
}

// Bounds of what is measured beside other work, and how long a device is idle before.
const (
	maxIdleProduct = 1 << 30 // multiplications
	idleTime       = 2 * time.Millisecond
)

func newIdleTuner(d *Device) *idleTuner {
	ctx, end := context.WithCancel(context.Background())
	t := &idleTuner{met: make(chan productClass, 64), end: end, done: make(chan struct{})}
	go t.loop(ctx, d)
	return t
}

// meet notes a class, once. It does not wait: where too many are waiting, the next
// launch of the class notes it.
func (t *idleTuner) meet(c productClass) {
	if c.size != ir.F32.Size() || c.trips != 1 || c.rows*c.cols > maxIdleProduct/c.k {
		return
	}
	if _, before := t.seen.LoadOrStore(c, nil); before {
		return
	}
	select {
	case t.met <- c:
	default:
		t.seen.Delete(c)
	}
}

func (t *idleTuner) loop(ctx context.Context, d *Device) {
	defer close(t.done)
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-t.met:
			if len(d.tuned.table.Get(blockChoice.Name, c.bucket())) > 0 {
				continue
			}
			o := TuneOptions{Rounds: 3, Note: func(string, string, []tune.Measured) {}}
			if d.tuneProduct(ctx, o, [3]int64{c.rows, c.cols, c.k}, d.whileIdle) != nil {
				continue // what cannot be measured stays as it is
			}
			_ = d.do(ctx, func() { d.tuned.blank.Clear() }) // a closed device chooses nothing more
		}
	}
}

// whileIdle waits until the device has done nothing for a while.
func (d *Device) whileIdle(ctx context.Context) error {
	last, since := d.counters.kernels.Load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(idleTime / 4):
		}
		now := d.counters.kernels.Load()
		if now != last || !d.q.whenIdle(func() {}) {
			last, since = now, time.Now()
		} else if time.Since(since) >= idleTime {
			return nil
		}
	}
}

// close ends the measurements.
func (t *idleTuner) close() {
	t.end()
	<-t.done
}
