package cpu

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend"
)

var _ backend.Profiler = (*Device)(nil)

// clockNodes adds the time of running nodes and launches to the device's busy
// time, while a window is open.
func (d *Device) clockNodes(run func()) {
	if d.accelerated() { // whose kernels tell their time themselves
		run()
		_ = d.accelerator().Flush() // what fails is told by whoever waits for it
		return
	}
	if d.windows == 0 {
		run()
		return
	}
	start := time.Now()
	run()
	d.busy += time.Since(start)
}

// clockKernel adds the time of a kernel or routine to the counters, while a window
// is open.
func (d *Device) clockKernel(name string, run func()) {
	if d.windows == 0 {
		d.labelled(name, run)
		return
	}
	if d.accelerated() {
		stop := d.accelerator().Clock(func(took time.Duration) {
			d.away.Add(int64(took))
			d.tell(name, took)
		})
		defer stop() // of a run that panics too
		run()
		return
	}
	start := time.Now()
	d.labelled(name, run)
	d.tell(name, time.Since(start))
}

// tell notes what a kernel took.
func (d *Device) tell(name string, took time.Duration) {
	d.counters.kernelTime.Add(int64(took))
	d.times.add(name, took)
}

// kernelTimes are totals by kernel, of all windows so far. Accelerators add to them when
// they like.
type kernelTimes struct {
	mu     sync.Mutex
	byName map[string]backend.KernelTime
}

// maxTimes bounds the kernels that are told apart; the rest is otherKernels.
const (
	maxTimes     = 4096
	otherKernels = "other kernels"
)

func (t *kernelTimes) add(name string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byName == nil {
		t.byName = map[string]backend.KernelTime{}
	}
	k, known := t.byName[name]
	if !known && len(t.byName) >= maxTimes {
		name = otherKernels
		k = t.byName[name]
	}
	t.byName[name] = backend.KernelTime{Name: name, Runs: k.Runs + 1, Time: k.Time + took}
}

func (t *kernelTimes) totals() map[string]backend.KernelTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.byName)
}

// since lists what was added since there were some totals, most time first.
func (t *kernelTimes) since(before map[string]backend.KernelTime) []backend.KernelTime {
	var out []backend.KernelTime
	for name, k := range t.totals() {
		b := before[name]
		if k.Runs -= b.Runs; k.Runs > 0 {
			k.Time -= b.Time
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b backend.KernelTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// busyTime is the time spent so far while windows were open.
func (d *Device) busyTime() time.Duration { return d.busy + time.Duration(d.away.Load()) }

// settleClocks waits until an accelerator has told all times.
func (d *Device) settleClocks() {
	if d.accelerated() && d.windows > 0 {
		_ = d.accelerator().Sync() // what failed is told by Sync
	}
}

// window measures the time that the device spends on nodes and launches.
type window struct {
	d       *Device
	from    time.Duration // busy time when it opened
	before  map[string]backend.KernelTime
	kernels []backend.KernelTime // when it is over
	open    bool                 // owned by the device goroutine
}

var _ backend.KernelWindow = (*window)(nil)

// ProfileStart opens a window in queue order: work queued before stays out.
func (d *Device) ProfileStart() (backend.Window, error) {
	w := &window{d: d}
	err := d.q.add(task{run: func() {
		d.windows++
		d.settleClocks()
		w.from, w.before, w.open = d.busyTime(), d.times.totals(), true
	}})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// End closes the window behind everything queued and returns the time inside.
func (w *window) End(ctx context.Context) (time.Duration, error) {
	var took time.Duration
	err := w.d.do(ctx, func() {
		w.d.settleClocks()
		took, w.kernels = w.d.busyTime()-w.from, w.d.times.since(w.before)
		w.close()
	})
	if err != nil {
		return 0, err
	}
	return took, nil
}

// Kernels returns the times of kernels inside, once End has returned.
func (w *window) Kernels() []backend.KernelTime { return w.kernels }

// Abandon closes the window in queue order.
func (w *window) Abandon() {
	_ = w.d.q.add(task{run: w.close}) // a closed device has no windows
}

func (w *window) close() {
	if w.open {
		w.open = false
		w.d.windows--
	}
}
