// Package nvml reads figures of NVIDIA GPUs, such as temperature, power and
// clocks, from NVIDIA's management library, opened at run time without cgo.
//
// Invariants that other packages rely on:
//
//   - Importing the package never touches the GPU or fails: [Open] does, and on
//     a machine without the library it returns an [*Unavailable] error that says
//     what could not be opened and why. Every platform builds; those that have
//     no such library at all answer with that error.
//   - A call that fails is an [*Error] with its name and the library's text for
//     the code; only a figure that a GPU does not tell is no error.
//   - No Go stack address is ever handed to the library: see the call gate.
//   - Nothing of a GPU is ever changed. The library may be used from all
//     goroutines, and needs no CUDA context.
package nvml

import (
	"fmt"
	"sync"
	"unsafe"
)

// Library is the opened and initialised management library.
type Library struct {
	fn functions
}

// Unavailable says that the process cannot reach the management library.
type Unavailable struct {
	Library string // the library that was looked for; empty where the platform has none
	Reason  string
}

func (e *Unavailable) Error() string {
	if e.Library == "" {
		return "no NVIDIA management library: " + e.Reason
	}
	return fmt.Sprintf("no NVIDIA management library: %s could not be opened: %s", e.Library, e.Reason)
}

// Error is a call of the library that did not succeed.
type Error struct {
	Call string // nvmlInit_v2
	Code int    // the nvmlReturn_t
	Text string // the library's description
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code) }

// open runs once: a process has one management library. It stays open until the
// process ends.
var open = sync.OnceValues(func() (*Library, error) {
	l := &Library{}
	if err := loadLibrary(&l.fn); err != nil {
		return nil, err
	}
	if err := l.check("nvmlInit_v2", call(l.fn.init)); err != nil {
		return nil, err
	}
	return l, nil
})

// Open loads and initialises the library. Later calls return the same result.
func Open() (*Library, error) { return open() }

// check turns an nvmlReturn_t into an error.
func (l *Library) check(name string, code uintptr) error {
	if uint32(code) == 0 {
		return nil
	}
	e := &Error{Call: name, Code: int(int32(code)), Text: "no description"}
	if p := call(l.fn.errorString, uintptr(uint32(code))); p != 0 {
		e.Text = cString(p)
	}
	return e
}

// cString copies a NUL-terminated string that the library owns. The address is
// read through a pointer to it, since it never was a Go pointer.
func cString(addr uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
