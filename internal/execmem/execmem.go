// Package execmem places machine code into memory that can be executed.
//
// Pages are written once and then made executable; no page is ever writable and
// executable at the same time, and a page that has run is never rewritten, so
// processors need no instruction cache maintenance beyond what the change of
// protection does. Every batch of code gets fresh pages.
package execmem

import (
	"errors"
	"sync"
)

// ErrUnsupported says that this platform or this process may not execute
// generated code.
var ErrUnsupported = errors.New("execmem: executable memory is not available")

// Region is a piece of executable memory. It stays valid until Free.
type Region struct {
	mem  []byte
	addr uintptr
}

// Addr returns the address of the first byte, which is page aligned.
func (r *Region) Addr() uintptr { return r.addr }

// Size returns the number of bytes reserved, a multiple of the page size.
func (r *Region) Size() int { return len(r.mem) }

// Map copies code into fresh pages and makes them executable.
func Map(code []byte) (*Region, error) {
	if !Supported() {
		return nil, ErrUnsupported
	}
	return mapCode(code)
}

// Free returns the pages to the system. The caller guarantees that no goroutine
// is inside the code or will enter it. Free may be called once.
func (r *Region) Free() {
	unmap(r)
	r.mem, r.addr = nil, 0
}

// Supported reports whether executable mappings work here. The first call
// tries one: hardened systems refuse the change of protection.
func Supported() bool { return probe() }

var probe = sync.OnceValue(func() bool {
	r, err := mapCode([]byte{0xc3})
	if err != nil {
		return false
	}
	r.Free()
	return true
})
