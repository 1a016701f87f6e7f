package sinter

import "github.com/sinter-go/sinter/ir"

// Error is the error that a tensor carries: kind, operation, operand types,
// device and the caller's line. errors.As finds it, errors.Is tests its kind.
type Error = ir.Error

// The kinds of error.
var (
	ErrShape       = ir.ErrShape
	ErrDType       = ir.ErrDType
	ErrArgument    = ir.ErrArgument
	ErrData        = ir.ErrData        // a fault that depends on values, such as an index out of range
	ErrDevice      = ir.ErrDevice      // the device failed, or is not the operands'
	ErrClosed      = ir.ErrClosed      // the tensor was released, its scope or device has ended
	ErrMemory      = ir.ErrMemory      // memory or a limit is exhausted
	ErrCancelled   = ir.ErrCancelled   // a context ended before the work was submitted or waited for
	ErrUnsupported = ir.ErrUnsupported // the device does not offer it
	ErrInternal    = ir.ErrInternal    // a fault of Sinter itself
)
