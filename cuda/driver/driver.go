// Package driver is a thin Go face of the NVIDIA driver library, opened at run
// time without cgo.
//
// Invariants that other packages rely on:
//
//   - Importing the package never touches the GPU or fails: [Open] does, and on
//     a machine without a driver it returns an [*Unavailable] error that says
//     what could not be opened and why. Every platform builds; those that have
//     no NVIDIA driver at all answer with that error.
//   - Every CUresult is checked. A failing call is an [*Error] with the name of
//     the call and the driver's own name and text for the code.
//   - No Go stack address is ever handed to the driver: the call gate is marked
//     so that the compiler moves whatever its arguments point to onto the heap,
//     because a goroutine stack may move while the driver holds the address.
//   - The driver's "current context" belongs to an OS thread. Methods that need
//     one say so, and [Context.Do] is the way to have it.
package driver

import (
	"fmt"
	"sync"
	"unsafe"
)

// Driver is the opened and initialised driver library.
type Driver struct {
	fn      functions
	version int
}

// Unavailable says that the process cannot reach an NVIDIA driver.
type Unavailable struct {
	Library string // the library that was looked for; empty where the platform has none
	Reason  string
}

func (e *Unavailable) Error() string {
	if e.Library == "" {
		return "no NVIDIA driver: " + e.Reason
	}
	return fmt.Sprintf("no NVIDIA driver: %s could not be opened: %s", e.Library, e.Reason)
}

// Error is a driver call that did not succeed.
type Error struct {
	Call string // cuModuleLoadDataEx
	Code int    // the CUresult
	Name string // CUDA_ERROR_INVALID_PTX
	Text string // the driver's description
	Log  string // what the compiler of the driver said, for module loads
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
	if e.Log != "" {
		s += "\n" + e.Log
	}
	return s
}

// open runs once: a process has one driver library, and initialising it again
// would not change the answer.
var open = sync.OnceValues(func() (*Driver, error) {
	find, err := loadLibrary()
	if err != nil {
		return nil, err
	}
	return New(find)
})

// New initialises a driver whose functions are found by name. Use [Open] for that of the
// machine.
func New(find func(name string) (uintptr, error)) (*Driver, error) {
	d := &Driver{}
	if err := d.fn.find(find); err != nil {
		return nil, err
	}
	if err := d.check("cuInit", call(d.fn.init, 0)); err != nil {
		return nil, err
	}
	v := new(int32)
	if err := d.check("cuDriverGetVersion", call(d.fn.driverGetVersion, uintptr(unsafe.Pointer(v)))); err != nil {
		return nil, err
	}
	d.version = int(*v)
	return d, nil
}

// Open loads and initialises the driver. The first call takes a few hundred
// milliseconds; later calls return the same result.
func Open() (*Driver, error) { return open() }

// Version is the newest CUDA version that the driver supports, as
// 1000*major + 10*minor.
func (d *Driver) Version() int { return d.version }

// check turns a CUresult into an error.
func (d *Driver) check(name string, code uintptr) error {
	if uint32(code) == 0 {
		return nil
	}
	return d.failure(name, int(int32(code)))
}

// failure asks the driver for the name and text of a code. Codes that it does
// not know keep a numeric name.
func (d *Driver) failure(name string, code int) *Error {
	e := &Error{Call: name, Code: code, Name: fmt.Sprintf("CUresult %d", code), Text: "no description"}
	p := new(uintptr)
	if uint32(call(d.fn.getErrorName, uintptr(code), uintptr(unsafe.Pointer(p)))) == 0 && *p != 0 {
		e.Name = cString(*p)
	}
	if uint32(call(d.fn.getErrorString, uintptr(code), uintptr(unsafe.Pointer(p)))) == 0 && *p != 0 {
		e.Text = cString(*p)
	}
	return e
}

// cString copies a NUL-terminated string that the driver owns. The address is
// read through a pointer to it, since it never was a Go pointer.
func cString(addr uintptr) string {
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	n := 0
	for n < 4096 && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// bytesToString is the text of a buffer up to its first NUL.
func bytesToString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
