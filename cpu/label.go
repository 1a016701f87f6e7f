package cpu

import (
	"context"
	"runtime/pprof"

	"github.com/sinter-go/sinter/internal/debug"
)

// labelled runs a kernel or routine with the label "kernel" of its name on all
// goroutines that it runs on, so that a profile tells generated code apart, which
// has no symbols. Labels are set while a window is open, or with SINTER_LABELS=on.
func (d *Device) labelled(name string, run func()) {
	if d.windows == 0 && !debug.Labels() {
		run()
		return
	}
	label := pprof.WithLabels(context.Background(), pprof.Labels("kernel", name))
	d.workers.team.label = label
	pprof.SetGoroutineLabels(label)
	defer func() {
		d.workers.team.label = nil
		pprof.SetGoroutineLabels(context.Background())
	}()
	run()
}
