// Package backend is the contract between those who record operations and those
// who run them: a device is a queue of operations in the intermediate
// representation, and tensors are read back by id. Fusion, routers, remote
// devices and captures are backends made of backends.
//
// Invariants between packages: ids are chosen by the client, never reused within
// a device, and name either a tensor, its error, or nothing yet; work is done in
// the order of submission as far as data can tell; an operation whose operand
// carries an error is skipped and its results carry the same error; nothing that
// a client sends can break the queue for later work.
package backend

import (
	"context"

	"github.com/sinter-go/sinter/ir"
)

// Backend is a queue of operations on one device. All methods are safe for
// concurrent use; Submit, Upload, Alias and Free never wait for the device,
// except for back-pressure, which is bounded by the context of Submit.
type Backend interface {
	// Name names the backend and what it is made of, such as "cpu" or
	// "fusion<cpu>".
	Name() string

	// Info describes the device. It does not change.
	Info() Info

	// Submit appends nodes to the queue. Every operand id must be known:
	// uploaded, aliased, or a result of an earlier node; an unknown one makes
	// the results errors of kind ir.ErrInternal. The nodes are inferred and are
	// not changed by either side afterwards. An error means that nothing was
	// queued: the device is closed, or ctx ended while waiting for room.
	Submit(ctx context.Context, nodes []ir.Node) error

	// Upload gives a tensor its contents, row-major in the machine's byte
	// order. The data is copied, or taken before Upload returns.
	Upload(t ir.Tensor, data []byte) error

	// Alias gives the tensor named from a second id, as another owner of the
	// same contents: freeing one leaves the other. It follows queued work.
	Alias(from, to ir.ID) error

	// Free says that the client will not use the ids again. It follows queued
	// work, so operands may be freed as soon as their last use is submitted.
	Free(ids ...ir.ID)

	// Read waits for tensors and returns their contents, row-major. Everything
	// queued before it is run first. errs[i] is the error that tensor i
	// carries; err is for the call as a whole (closed, cancelled). Cancelling
	// ctx ends the wait and nothing else.
	Read(ctx context.Context, ids ...ir.ID) (data []Data, errs []error, err error)

	// Flush asks for all queued work to be started, and does not wait for it.
	Flush() error

	// Sync waits until all queued work is done. It returns the first error of
	// an operation that no Sync or Read has returned before.
	Sync(ctx context.Context) error

	// Usage says what the device can do with a dtype.
	Usage(d ir.DType) Usage

	// Close ends the queue: work already queued is finished, later calls fail
	// with ir.ErrClosed, memory is returned. Closing twice is harmless.
	Close() error
}

// Data is a tensor on the host: row-major, in the machine's byte order. The
// receiver owns it.
type Data struct {
	Type  ir.Type
	Bytes []byte
}

// Info describes a device.
type Info struct {
	ID      string            // names the device for users: "cpu", "interp", "cuda:0"
	Kind    string            // what decides the bits of contractions: "cpu" for interpreter and all CPUs
	Detail  string            // the processor and how kernels run on it
	DTypes  []ir.DType        // that Usage gives anything for
	Threads int               // that a kernel may use, 0 if it does not apply
	Memory  int64             // bytes that tensors may take, 0 if unknown
	Limits  map[string]int64  // further limits by name, such as "queue_ops"
	Extra   map[string]string // further facts for people
}

// Usage is a set of things a device can do with a dtype.
type Usage uint8

// The uses of a dtype.
const (
	CanStore Usage = 1 << iota
	CanCompute
)
