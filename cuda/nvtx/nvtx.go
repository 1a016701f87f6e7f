// Package nvtx tells an attached profiler, such as Nsight Systems, in which range of its
// work a thread is, without cgo: it does what the header of NVTX 3 does in a program in C.
//
// A profiler names its library in [Variable]. That library is opened, and its function
// InitializeInjectionNvtx2 is called with a way to ask for tables in which it puts its own
// functions. There is no other library to be had: since version 3 the interface is a
// header, and what libnvToolsExt did was the same.
//
// Invariants that other packages rely on:
//
//   - Nothing is opened before [Attach], which reads no environment: whoever calls it has
//     found the variable there.
//   - Ranges belong to an OS thread and nest. A goroutine is locked to its thread from a
//     Push to the Pop that ends it.
//   - The tables stay where they are for as long as the process runs.
package nvtx

import (
	"fmt"
	"unsafe"
)

// Variable is the environment variable in which a profiler names its library.
const Variable = "NVTX_INJECTION64_PATH"

// entry is the function of a profiler's library that attaches it.
const entry = "InitializeInjectionNvtx2"

// Tool is an attached profiler.
type Tool struct{ push, pop uintptr }

// Attach opens the library of a profiler and attaches it, for as long as the process
// runs. A process does so once.
func Attach(library string) (*Tool, error) {
	t, err := open(library)
	if err != nil {
		return nil, fmt.Errorf("the profiler %s of %s: %w", library, Variable, err)
	}
	return t, nil
}

// attach calls a profiler's function, and takes up what it left in the tables.
func attach(initialize uintptr) (*Tool, error) {
	x := newTables()
	if uint32(call(initialize, x.export())) == 0 {
		return nil, fmt.Errorf("%s refuses", entry)
	}
	core := &x.functions[moduleCore-1]
	t := &Tool{push: core[coreRangePush], pop: core[coreRangePop]}
	if t.push == 0 || t.pop == 0 {
		return nil, fmt.Errorf("it takes no ranges")
	}
	return t, nil
}

// Push begins a range on the calling thread.
func (t *Tool) Push(name string) {
	b := append([]byte(name), 0)
	call(t.push, uintptr(unsafe.Pointer(&b[0])))
}

// Pop ends the range of the calling thread that began last.
func (t *Tool) Pop() { call(t.pop) }
