package fusion

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Found is how the plan of a segment was come by.
type Found string

// The ways to a plan.
const (
	FoundHit     Found = "hit"      // bound to these sizes already
	FoundRebound Found = "rebound"  // known, and bound to these sizes
	FoundSearch  Found = "searched" // new
)

// Run is what became of one segment.
type Run struct {
	Plan   *Plan // must not be changed
	Cut    Cut
	Found  Found
	Miss   Miss // why a plan was searched
	Recipe bool // the segment computed a virtual result
}

// Explain describes the run: its plan, and what cut the segment this time.
func (r Run) Explain() Explanation {
	e := r.Plan.Explain()
	e.Cut = r.Cut
	return e
}

// inspectors are told of each run.
type inspectors struct {
	n    atomic.Int32
	mu   sync.Mutex
	next int
	fs   map[int]func(Run)
}

// Inspect calls f for each segment from now on, when its launches are queued,
// until stop is called. f runs with locks of the client held: it must not use the
// client's values.
func (c *Client) Inspect(f func(Run)) (stop func()) {
	in := &c.inspectors
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fs == nil {
		in.fs = map[int]func(Run){}
	}
	in.next++
	id := in.next
	in.fs[id] = f
	in.n.Add(1)
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if _, ok := in.fs[id]; ok {
			delete(in.fs, id)
			in.n.Add(-1)
		}
	}
}

// tell tells the inspectors of a run.
func (c *Client) tell(b *bound, cut Cut, recipe bool) {
	if c.inspectors.n.Load() == 0 {
		return
	}
	c.cache.mu.Lock()
	r := Run{Plan: b.plan, Cut: cut, Found: b.found, Miss: b.miss, Recipe: recipe}
	c.cache.mu.Unlock()
	c.inspectors.mu.Lock()
	fs := c.inspectors.fs
	order := slices.Sorted(maps.Keys(fs))
	calls := make([]func(Run), len(order))
	for i, id := range order {
		calls[i] = fs[id]
	}
	c.inspectors.mu.Unlock()
	for _, f := range calls {
		f(r)
	}
}
