package router

import (
	"context"
	"sync"
)

// Budget bounds bytes on the host. Those who wait are served in order, so that a
// large request is not overtaken for ever; one above the limit is let in alone.
type Budget struct {
	mu    sync.Mutex
	limit int64
	used  int64
	queue []*claim
}

type claim struct {
	bytes   int64
	granted chan struct{}
}

// NewBudget returns a budget of bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Acquire takes bytes, waiting until they are free or ctx ends. The function
// that it returns gives them back, once.
func (b *Budget) Acquire(ctx context.Context, bytes int64) (func(), error) {
	c := &claim{bytes, make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, c)
	b.grant()
	b.mu.Unlock()
	give := sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.used -= bytes
		b.grant()
	})
	select {
	case <-c.granted:
		return give, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	for i, x := range b.queue {
		if x == c {
			b.queue = append(b.queue[:i:i], b.queue[i+1:]...)
			b.grant()
			b.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	b.mu.Unlock()
	give()
	return nil, ctx.Err()
}

func (b *Budget) grant() {
	for len(b.queue) > 0 && (b.used == 0 || b.used+b.queue[0].bytes <= b.limit) {
		b.used += b.queue[0].bytes
		close(b.queue[0].granted)
		b.queue = b.queue[1:]
	}
}
