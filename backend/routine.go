package backend

import "github.com/sinter-go/sinter/ir"

// Host is a tensor as a routine sees it: row-major bytes.
type Host struct {
	Type ir.Type
	Data []byte
}

// Routine computes an opaque operation on the host: it reads contiguous operands
// and fills the results, which are not zeroed. It runs on the device's goroutine
// and must not keep the slices. An error, or a panic, marks the results.
type Routine func(n *ir.Node, in, out []Host) error

// Routines is a backend that takes routines for opaque rows.
type Routines interface {
	// AddRoutine says how the device computes the row of a name, from the next
	// Submit on.
	AddRoutine(row string, r Routine) error
}
