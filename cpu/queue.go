package cpu

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// task is one entry of the queue: its cost in operations, what to run, and what
// to do with a panic.
type task struct {
	ops  int
	run  func()
	fail func(error)
}

// queue hands tasks to the device goroutine, in order, holding at most limit
// operations. Out of tasks, the goroutine parks at once: one who makes work and
// waits for it then hands his processor over, which takes a microsecond, where one
// that looks for work on another processor would have to be there.
type queue struct {
	mu     sync.Mutex
	tasks  []task
	spare  []task // memory for the next tasks
	ops    int
	limit  int
	parked bool          // the goroutine waits for wake
	wake   chan struct{} // buffered: something to do
	room   chan struct{} // closed when room appears; nil if nobody waits for some
	busy   bool          // the goroutine has tasks in hand
	closed bool
	done   chan struct{} // the goroutine ended
}

func newQueue(limit int) *queue {
	return &queue{limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

var errClosed = ir.Errorf(ir.ErrClosed, "the device is closed")

// add appends a task that costs no operations; it never waits.
func (q *queue) add(t task) error {
	_, err := q.try(t, true)
	return err
}

// push appends a task, waiting for room until ctx ends. A task larger than the
// limit is let in when the queue is empty.
func (q *queue) push(ctx context.Context, t task) error {
	for {
		room, err := q.try(t, false)
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return &ir.Error{Kind: ir.ErrCancelled, Msg: "waiting for room in the queue", Cause: ctx.Err()}
		}
	}
}

// try appends a task if there is room, or returns a channel that is closed when
// some appears.
func (q *queue) try(t task, always bool) (<-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errClosed
	}
	if !always && t.ops > 0 && q.ops > 0 && q.ops+t.ops > q.limit {
		if q.room == nil {
			q.room = make(chan struct{})
		}
		return q.room, nil
	}
	q.tasks = append(q.tasks, t)
	q.ops += t.ops
	q.rouse()
	return nil, nil
}

// rouse wakes the device goroutine if it is parked. The lock is held.
func (q *queue) rouse() {
	if q.parked {
		q.parked = false
		q.wake <- struct{}{}
	}
}

// loop is the body of the device goroutine.
func (q *queue) loop() {
	defer close(q.done)
	for {
		q.mu.Lock()
		tasks := q.tasks
		q.busy = len(tasks) > 0
		if q.busy {
			q.tasks, q.spare = q.spare[:0], nil
		}
		q.parked = !q.busy && !q.closed
		parked := q.parked
		q.mu.Unlock()
		if parked {
			<-q.wake
			continue
		}
		if len(tasks) == 0 {
			return
		}
		for i := range tasks {
			runTask(&tasks[i])
			q.mu.Lock()
			q.ops -= tasks[i].ops
			tasks[i] = task{}
			if q.room != nil {
				close(q.room)
				q.room = nil
			}
			q.mu.Unlock()
		}
		if cap(tasks) <= maxSpare {
			q.mu.Lock()
			q.spare = tasks[:0]
			q.mu.Unlock()
		}
	}
}

// maxSpare bounds the tasks whose memory is kept.
const maxSpare = 1024

// runTask runs a task; a panic in it is a fault of ours and becomes an error of
// the tensors concerned, so that the next task runs.
func runTask(t *task) {
	defer func() {
		if p := recover(); p != nil {
			err := &ir.Error{Kind: ir.ErrInternal, Msg: fmt.Sprintf("panic on the device goroutine: %v", p), Detail: string(debug.Stack())}
			if t.fail != nil {
				t.fail(err)
			}
		}
	}()
	t.run()
}

// whenIdle runs a short f if nothing is queued or running, and reports whether it
// did. The goroutine takes no task meanwhile: f may touch what it owns.
func (q *queue) whenIdle(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.busy || len(q.tasks) > 0 {
		return false
	}
	f()
	return true
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// close lets queued tasks finish and stops the goroutine.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.rouse()
	q.mu.Unlock()
	<-q.done
}
