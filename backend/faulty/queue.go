package faulty

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// queue runs tasks in order on one goroutine. Tasks with operations wait for
// room, others are let in.
type queue struct {
	mu     sync.Mutex
	tasks  []task
	ops    int
	limit  int
	wake   chan struct{}
	room   chan struct{}
	closed bool
	done   chan struct{}
}

type task struct {
	ops int
	run func()
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit, wake: make(chan struct{}, 1), room: make(chan struct{}), done: make(chan struct{})}
	go q.loop()
	return q
}

func (q *queue) push(ctx context.Context, t task) error {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ir.Errorf(ir.ErrClosed, "the device is closed")
		}
		if t.ops == 0 || q.ops == 0 || q.ops+t.ops <= q.limit {
			q.tasks = append(q.tasks, t)
			q.ops += t.ops
			q.mu.Unlock()
			q.signal()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for room in the queue", Cause: ctx.Err()}
		}
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) loop() {
	defer close(q.done)
	for {
		q.mu.Lock()
		tasks, closed := q.tasks, q.closed
		q.tasks = nil
		q.mu.Unlock()
		if len(tasks) == 0 {
			if closed {
				return
			}
			<-q.wake
			continue
		}
		for _, t := range tasks {
			t.run()
			q.mu.Lock()
			q.ops -= t.ops
			close(q.room)
			q.room = make(chan struct{})
			q.mu.Unlock()
		}
	}
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
	<-q.done
}
