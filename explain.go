package sinter

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/fusion"
)

// Explain calls f and returns how the device ran what was recorded meanwhile, one
// explanation per segment: the kernels, the operations of each with the user's
// lines, bytes, and what was not fused and why. Print one with String, as JSON, or as a page with
// WriteHTML. What was recorded before is run first; what f leaves recorded is run
// at its end. Work of other goroutines on the device is seen too.
//
// The error is that of f, or the first one that the device has for nobody else.
func (d *Device) Explain(ctx context.Context, f func() error) ([]fusion.Explanation, error) {
	if err := d.Sync(ctx); err != nil {
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
	if e := d.Sync(ctx); err == nil {
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
