//go:build (linux && (amd64 || arm64)) || (windows && amd64)

package cublaslt

import "github.com/ebitengine/purego"

// call is the only gate to the library. The directive moves everything that an
// argument points to onto the heap and keeps it alive until the call returns;
// callers must therefore write uintptr(unsafe.Pointer(p)) in the argument list
// itself, never before it.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
