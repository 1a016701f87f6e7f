//go:build !amd64

package amd64

import "unsafe"

func call(uintptr, unsafe.Pointer) { panic("amd64: no code can run here") }

// Available reports whether code of a level can run in this process.
func Available(Level) bool { return false }
