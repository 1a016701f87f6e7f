package data

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Loader makes batches of samples ahead of whoever consumes them. Which samples
// are in a batch, and in which order batches come, depends on Len, Batch, Seed
// and the epoch alone, however many are made at a time.
type Loader[S, B any] struct {
	Len   int    // samples, numbered from 0
	Batch int    // samples of a batch; below 1: all
	Seed  uint64 // of the order

	InOrder  bool // samples come as they are numbered
	DropLast bool // no batch with fewer than Batch samples

	// Ahead is how many batches are made at the same time, on goroutines of
	// their own, before they are asked for: they are all that the loader holds.
	// With 0, each is made when it is asked for, by the caller's goroutine.
	Ahead int

	// Get returns a sample, and Collate makes a batch of samples. With Ahead
	// above 1 they must be safe for concurrent use.
	Get     func(ctx context.Context, i int) (S, error)
	Collate func(samples []S) (B, error)
}

// Batches returns the number of batches of an epoch.
func (l *Loader[S, B]) Batches() int { return len(l.rows(0)) }

// rows returns the samples of each batch.
func (l *Loader[S, B]) rows(epoch int) [][]int {
	if l.Len <= 0 {
		return nil
	}
	size := l.Batch
	if size < 1 {
		size = l.Len
	}
	var order []int
	if l.InOrder {
		order = make([]int, l.Len)
		for i := range order {
			order[i] = i
		}
	} else {
		order = permutation(l.Len, l.Seed, uint64(epoch))
	}
	out := slices.Collect(slices.Chunk(order, size))
	if l.DropLast && len(out[len(out)-1]) < size {
		out = out[:len(out)-1]
	}
	return out
}

// made is a batch, or why there is none.
type made[B any] struct {
	batch B
	err   error
}

// Epoch returns an iterator over the batches of an epoch. It ends after the first
// error, which names the sample, or is the context's when that ends. When the
// iteration is over, for whatever reason, no goroutine of it runs.
func (l *Loader[S, B]) Epoch(ctx context.Context, epoch int) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var none B
		if l.Get == nil || l.Collate == nil {
			yield(none, fmt.Errorf("data: a loader needs Get and Collate"))
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()

		rows := l.rows(epoch)
		var queue []chan made[B] // of the batches that were begun, in order
		for len(rows) > 0 || len(queue) > 0 {
			for len(rows) > 0 && len(queue) < max(l.Ahead, 1) {
				done, batch := make(chan made[B], 1), rows[0]
				queue, rows = append(queue, done), rows[1:]
				if l.Ahead < 1 {
					done <- l.make(ctx, batch)
				} else {
					running.Go(func() { done <- l.make(ctx, batch) })
				}
			}
			var m made[B]
			select {
			case m = <-queue[0]:
			case <-ctx.Done():
				m.err = context.Cause(ctx)
			}
			queue = queue[1:]
			if !yield(m.batch, m.err) || m.err != nil {
				return
			}
		}
	}
}

// make makes a batch.
func (l *Loader[S, B]) make(ctx context.Context, rows []int) (m made[B]) {
	samples := make([]S, len(rows))
	for i, r := range rows {
		if ctx.Err() != nil {
			m.err = context.Cause(ctx)
			return m
		}
		var err error
		if samples[i], err = l.Get(ctx, r); err != nil {
			m.err = fmt.Errorf("data: sample %d: %w", r, err)
			return m
		}
	}
	if m.batch, m.err = l.Collate(samples); m.err != nil {
		m.err = fmt.Errorf("data: batch of samples %d to %d: %w", rows[0], rows[len(rows)-1], m.err)
	}
	return m
}
