package sinter

import (
	"sync"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

// Explain calls f and returns how the device ran what was recorded meanwhile, one
// explanation per segment: the kernels, the operations of each with the user's
// lines, bytes, and what was not fused and why. Print one with String, as JSON, or as a page with
// WriteHTML. What was recorded before is run first; what f leaves recorded is run
// at its end. Work of other goroutines on the device is seen too. Nothing is waited
// for, but by f. The error is that of f, or that the device is closed.
func (d *Device) Explain(f func() error) ([]fusion.Explanation, error) {
	if d == nil || f == nil {
		return nil, &ir.Error{Kind: ir.ErrArgument, Op: "explain", Msg: "an explanation needs a device and a function"}
	}
	if err := d.client.Flush(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var runs []fusion.Run
	stop := d.client.Inspect(func(r fusion.Run) {
		mu.Lock()
		defer mu.Unlock()
		runs = append(runs, r)
	})
	err := f()
	if e := d.client.Flush(); err == nil {
		err = e
	}
	stop()
	mu.Lock()
	defer mu.Unlock()
	out := make([]fusion.Explanation, len(runs))
	for i, r := range runs {
		out[i] = r.Explain()
	}
	return out, err
}
