package backend

import "github.com/sinter-go/sinter/ir"

// Host is a tensor as a routine sees it: row-major bytes.
type Host struct {
	Type ir.Type
	Data []byte
}

// Call is one call of a routine.
type Call struct {
	Node *ir.Node
	In   []Host // contiguous operands, to be read only
	Out  []Host // the results, which the routine fills; they are not zeroed
	Helpers
}

// Helpers is what a routine may use of its device while it runs.
type Helpers interface {
	// Threads is the number of threads that Parallel may use, at least 1. Results
	// must not depend on it.
	Threads() int
	// Parallel calls do for each task from 0 to tasks-1, some of them at the same
	// time, and returns when all are done. A panic of one of them goes on here.
	Parallel(tasks int, do func(task int))
	// Scratch returns memory aligned to 64 bytes, not zeroed, that goes back to the
	// device when the routine returns; an error of kind ErrMemory if there is not
	// so much. It is not to be called by the tasks of Parallel.
	Scratch(bytes int) ([]byte, error)
}

// Routine computes an opaque operation on the host. It runs on the device's
// goroutine and must not keep what the call holds. An error, or a panic, marks the
// results.
type Routine func(c *Call) error

// Routines is a backend that takes routines for opaque rows.
type Routines interface {
	// AddRoutine says how the device computes the row of a name, from the next
	// Submit on.
	AddRoutine(row string, r Routine) error
}
