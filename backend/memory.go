package backend

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// HostMemory is a backend whose tensors lie in memory of this process. Two such
// backends pass a tensor on without a copy: one lends, the other adopts.
type HostMemory interface {
	// Lend waits for a tensor, behind everything queued, and lends its contents:
	// the tensor's own memory where its elements lie in order, a copy where not.
	// An error that the tensor carries is in the result, and stays one that Sync
	// reports. The borrower must call Release, once.
	Lend(ctx context.Context, id ir.ID) (Lent, error)

	// Adopt gives a tensor lent contents without copying them, and takes over
	// Release. It never waits. After an error the caller keeps what it has.
	Adopt(t ir.Tensor, m Lent) error
}

// Lent is memory on loan: row-major contents that nobody changes, aligned to the
// element, until Release is called. The lender may be closed meanwhile.
type Lent struct {
	Type    ir.Type
	Bytes   []byte
	Err     *ir.Error // of the tensor; then there are no bytes and no Release
	Release func()
}

// Streams is a backend that gives and takes contents in pieces, so that a large
// tensor passes through little memory.
type Streams interface {
	// OpenRead waits for a tensor, behind everything queued. What the reader
	// gives is the tensor as it was then, whatever happens to its id.
	OpenRead(ctx context.Context, id ir.ID) (Reader, error)

	// OpenWrite begins a tensor, which is known once the writer is committed.
	OpenWrite(ctx context.Context, t ir.Tensor) (Writer, error)
}

// Reader reads the row-major contents of a tensor. One goroutine uses it.
type Reader interface {
	Type() ir.Type
	// Err is the error that the tensor carries; there is nothing to read then.
	// It stays one that Sync reports.
	Err() *ir.Error
	// ReadAt fills p from an offset in bytes.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Close()
}

// Writer writes the row-major contents of a tensor. One goroutine uses it. It
// ends with Commit or Abort; to call Abort after Commit is harmless.
type Writer interface {
	// WriteAt takes the bytes p at an offset; p may be used again afterwards.
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Commit makes the tensor known, in queue order.
	Commit() error
	Abort()
}
