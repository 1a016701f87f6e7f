// Package backendtest is the conformance suite of backends: whoever implements
// [backend.Backend], or wraps one, runs it.
//
// The rows of the op table are called with every dtype they allow, over every
// layout, and the bits compared with those of the reference interpreter; the
// reference itself is compared with definitions in float64, big numbers and
// integers that this package computes on its own. Cases follow from the
// declaration of a row, so a new row is covered without an edit here. The
// contract of the queue is tested separately: order, errors, ownership,
// cancellation, limits, closing and concurrent use.
package backendtest

import (
	"regexp"
	"testing"

	"github.com/sinter-go/sinter/backend"
)

// Setup asks for a backend with limits and routines, for the tests of them.
type Setup struct {
	Memory   int64 // bytes that tensors may take, 0 for no limit
	QueueOps int   // operations that may wait, 0 for the default
	// Opaque gives the device a routine for opaque rows by name. It may block
	// or panic.
	Opaque map[string]func(in, out [][]byte) error
}

// Option configures [Run].
type Option func(*suite)

// WithSetup says how to open a backend with limits and routines. Without it the
// tests that need one are skipped.
func WithSetup(open func(t *testing.T, s Setup) backend.Backend) Option {
	return func(s *suite) { s.setup = open }
}

// ContractOnly leaves out the rows.
func ContractOnly() Option { return func(s *suite) { s.contractOnly = true } }

// LargeOnly leaves out rows over small tensors: what a number of threads could
// change shows in large ones.
func LargeOnly() Option { return func(s *suite) { s.largeOnly = true } }

// Share leaves out all cases of rows but each n-th, from number i on: for devices that
// take long to compile, shared among processes.
func Share(i, n int) Option { return func(s *suite) { s.share, s.shares = i, n } }

// Only leaves out all rows but those whose names match.
func Only(names *regexp.Regexp) Option { return func(s *suite) { s.only = names } }

type suite struct {
	open         func(t *testing.T) backend.Backend
	setup        func(t *testing.T, s Setup) backend.Backend
	ownPace      bool
	records      bool
	contractOnly bool
	largeOnly    bool
	share        int
	shares       int
	only         *regexp.Regexp
}

// OwnPace says that operations which do not depend on each other may run in any
// order, as they do where operands have to be moved first: of two errors, the
// first that Sync returns is the first that happened, not the first submitted.
func OwnPace() Option { return func(s *suite) { s.ownPace = true } }

// Records says that Submit only records: work begins, and waits for room, with the
// next flush, read or sync.
func Records() Option { return func(s *suite) { s.records = true } }

// Run tests the backends that open returns. Each call must return a fresh one,
// on which no id is in use; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) backend.Backend, opts ...Option) {
	s := &suite{open: open}
	for _, o := range opts {
		o(s)
	}
	if !s.contractOnly {
		t.Run("Rows", s.rows)
	}
	t.Run("Contract", s.contract)
}

// client opens a backend and closes it when the test ends.
func (s *suite) client(t *testing.T) *client {
	t.Helper()
	return s.adopt(t, s.open(t))
}

func (s *suite) limited(t *testing.T, setup Setup) *client {
	t.Helper()
	if s.setup == nil {
		t.Skip("no way to open the backend with limits or routines was given")
	}
	return s.adopt(t, s.setup(t, setup))
}

func (s *suite) adopt(t *testing.T, b backend.Backend) *client {
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &client{T: t, b: b}
}
