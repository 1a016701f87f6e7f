package sinter

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// turn is a mutex for which one waits no longer than a context. The zero value is free.
type turn struct {
	once sync.Once
	room chan struct{}
}

// take waits until the turn is free; the error is that of the context.
func (t *turn) take(ctx context.Context) error {
	t.once.Do(func() { t.room = make(chan struct{}, 1) })
	select {
	case t.room <- struct{}{}:
		return nil
	default:
	}
	select {
	case t.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelledStep(ctx.Err())
	}
}

func (t *turn) give() { <-t.room }

func cancelledStep(err error) error {
	return &ir.Error{Kind: ir.ErrCancelled, Msg: "before a step", Cause: err}
}
