// Package cublaslt is a thin Go face of NVIDIA's library of matrix products, opened at run
// time without cgo. It knows problems of package gemm, and device memory by its address.
//
// Invariants that other packages rely on:
//
//   - Importing the package never opens anything: [Open] does, and on a machine without
//     the library it returns an [*Unavailable] error that says what could not be opened.
//     Every platform builds.
//   - A call that fails is an [*Error] with its name, the status and the problem. That the
//     library has no way for a problem is no error, but no [Plan].
//   - No Go stack address is ever handed to the library: see the call gate.
//   - The context of the device is current on the calling OS thread in every call.
package cublaslt

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sinter-go/sinter/kernel/gemm"
)

// Library is the opened library.
type Library struct {
	fn   functions
	name string
}

// Unavailable says that the process cannot reach the library.
type Unavailable struct {
	Libraries []string // of which none could be opened; nil if one was, or the platform has none
	Reason    string   // for the first of them
}

func (e *Unavailable) Error() string {
	if len(e.Libraries) == 0 {
		return "no cuBLASLt: " + e.Reason
	}
	return fmt.Sprintf("no cuBLASLt: none of %s could be opened: %s", strings.Join(e.Libraries, ", "), e.Reason)
}

// Error is a call of the library that did not succeed.
type Error struct {
	Call    string // cublasLtMatmul
	Status  int    // the cublasStatus_t
	Problem *gemm.Problem
}

func (e *Error) Error() string {
	name := statusNames[e.Status]
	if name == "" {
		name = "unknown status"
	}
	s := fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Status)
	if e.Problem != nil {
		s += ": " + e.Problem.String()
	}
	return s
}

// open runs once: a process has one such library, which stays open until it ends.
var open = sync.OnceValues(func() (*Library, error) {
	find, name, err := loadLibrary()
	if err != nil {
		return nil, err
	}
	return New(name, find)
})

// Open opens the library, the latest version that is there. Later calls return the same
// result.
func Open() (*Library, error) { return open() }

// New is a library of a name whose functions are found by name. Use [Open] for that of the
// machine.
func New(name string, find func(name string) (uintptr, error)) (*Library, error) {
	l := &Library{name: name}
	if err := l.fn.find(name, find); err != nil {
		return nil, err
	}
	return l, nil
}

// Name is the file of the library, which has its major version.
func (l *Library) Name() string { return l.name }

// Version is the number that the library gives itself.
func (l *Library) Version() uint64 { return uint64(call(l.fn.getVersion)) }

func check(name string, p *gemm.Problem, status uintptr) error {
	if s := int(int32(status)); s != success {
		return &Error{Call: name, Status: s, Problem: p}
	}
	return nil
}
