package sinter

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
)

// Profile is the time that a device spent on what a function asked for.
type Profile struct {
	// Time is what the device was busy for: on a processor with operations, their
	// preparation included, on a GPU with kernels, by its own clock.
	Time time.Duration
	// Kernels are the kernels and routines that ran, the one that took most time first;
	// nil if the device does not tell them apart.
	Kernels []backend.KernelTime
}

// Profile runs f and returns the time that the device spent on what f recorded, on any of
// its streams, and on what others did meanwhile. Kernels are timed one by one, so that what
// a device makes faster by running them together, such as a graph on a GPU, is slower
// here. The first run of an operation compiles: profile the second one. The error is that of
// f, or of kind [ErrUnsupported] if the device measures nothing.
func (d *Device) Profile(ctx context.Context, f func() error) (*Profile, error) {
	if d == nil || f == nil {
		return nil, &ir.Error{Kind: ir.ErrArgument, Op: "profile", Msg: "a profile needs a device and a function"}
	}
	profiler, ok := backend.As[backend.Profiler](backend.Backend(d.client))
	if !ok {
		return nil, &ir.Error{Kind: ir.ErrUnsupported, Op: "profile", Device: d.info.ID, Msg: "the device does not measure the time of its work"}
	}
	window, err := profiler.ProfileStart()
	if err != nil {
		return nil, err
	}
	if window == nil { // then between two syncs
		if err := d.Sync(ctx); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		err := d.Sync(ctx)
		return &Profile{Time: time.Since(start)}, err
	}
	over := false
	defer func() {
		if !over { // f failed, or panicked
			window.Abandon()
		}
	}()
	err = f()
	if e := d.client.Flush(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	over = true
	p := &Profile{}
	if p.Time, err = window.End(ctx); err != nil {
		return nil, err
	}
	if k, ok := window.(backend.KernelWindow); ok {
		p.Kernels = k.Kernels()
	}
	return p, nil
}

// String is a table: the share of the kernels' time, time, runs and name of each.
func (p *Profile) String() string {
	var b strings.Builder
	sum := time.Duration(0)
	for _, k := range p.Kernels {
		sum += k.Time
	}
	fmt.Fprintf(&b, "%v on the device, %v in kernels\n", p.Time.Round(time.Microsecond), sum.Round(time.Microsecond))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, k := range p.Kernels {
		fmt.Fprintf(w, "%.1f %%\t%v\t%d\t  %s\n", 100*float64(k.Time)/float64(max(sum, 1)), k.Time.Round(100*time.Nanosecond), k.Runs, k.Name)
	}
	_ = w.Flush() // to memory
	return b.String()
}
