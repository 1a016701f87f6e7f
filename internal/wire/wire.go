// Package wire reads the numbers of binary forms that may come from anywhere: each
// is a varint of the least length with a bound, and a count never asks for more
// than the bytes that are left can hold.
package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Reader reads bytes from the front. The first error sticks, and later reads give 0.
type Reader struct {
	B   []byte // what is left
	Err error
}

// Fail notes an error, unless there is one.
func (r *Reader) Fail(format string, args ...any) {
	if r.Err == nil {
		r.Err = fmt.Errorf(format, args...)
		r.B = nil
	}
}

// Uint reads a number that is at most most. what names it in errors.
func (r *Reader) Uint(what string, most uint64) uint64 {
	if r.Err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.B)
	switch {
	case n <= 0:
		r.Fail("the bytes end within: %s", what)
		return 0
	case n != max(1, (bits.Len64(v)+6)/7):
		r.Fail("%s is not encoded in the least number of bytes", what)
		return 0
	case v > most:
		r.Fail("%s is %d, at most %d is allowed", what, v, most)
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Count reads a number of things of at least size bytes each.
func (r *Reader) Count(what string, most uint64, size int) int {
	n := r.Uint("number of "+what, most)
	if n > uint64(len(r.B)/size) {
		r.Fail("%d %s do not fit in the %d bytes that are left", n, what, len(r.B))
		return 0
	}
	return int(n)
}

// End fails if anything is left.
func (r *Reader) End() {
	if r.Err == nil && len(r.B) > 0 {
		r.Fail("%d bytes follow the end", len(r.B))
	}
}
