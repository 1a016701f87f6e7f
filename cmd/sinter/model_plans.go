package main

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/fusion"
)

// plansOf runs a function and returns the plans of the work that it had the
// device do, in order; none where the device does not fuse.
func plansOf(ctx context.Context, dev *sinter.Device, f func(context.Context) error) ([]fusion.Explanation, error) {
	client, ok := backend.As[*fusion.Client](dev.Backend())
	if !ok {
		return nil, f(ctx)
	}
	var mu sync.Mutex
	var plans []fusion.Explanation
	stop := client.Inspect(func(r fusion.Run) {
		mu.Lock()
		defer mu.Unlock()
		plans = append(plans, r.Explain())
	})
	err := f(ctx)
	stop()
	mu.Lock()
	defer mu.Unlock()
	return plans, err
}
