package backend

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// Mover is a backend that takes tensors from others while work goes on: what
// needs such a tensor waits for it, and nothing else does.
type Mover interface {
	// Receive makes the tensor t of another backend known here under the id to,
	// as it is once all work queued there is done. The caller may free t at once.
	// Receive waits for room only, as Submit does; the end of ctx also ends the
	// move, and the tensor is then an error of kind [ir.ErrCancelled]. An error of
	// t becomes the error of the new tensor. An error of the call means that
	// nothing was begun.
	Receive(ctx context.Context, from Backend, t ir.Tensor, to ir.ID) error

	// Meet returns the operand to whose device an operation's operands shall
	// move, given the backend and type of each, or false if operands on different
	// devices are an error. The caller moves them.
	Meet(of []Backend, types []ir.Type) (int, bool)
}
