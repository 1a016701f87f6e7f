package cpu

import (
	"context"
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
			d.counters.kernelTime.Add(int64(took))
		})
		defer stop() // of a run that panics too
		run()
		return
	}
	start := time.Now()
	d.labelled(name, run)
	d.counters.kernelTime.Add(int64(time.Since(start)))
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
	d    *Device
	from time.Duration // busy time when it opened
	open bool          // owned by the device goroutine
}

// ProfileStart opens a window in queue order: work queued before stays out.
func (d *Device) ProfileStart() (backend.Window, error) {
	w := &window{d: d}
	err := d.q.add(task{run: func() {
		d.windows++
		d.settleClocks()
		w.from, w.open = d.busyTime(), true
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
		took = w.d.busyTime() - w.from
		w.close()
	})
	if err != nil {
		return 0, err
	}
	return took, nil
}

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
