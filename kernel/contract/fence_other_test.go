//go:build !unix

package contract

import "unsafe"

// fenced returns memory of n bytes.
func fenced(n int64) unsafe.Pointer {
	b := newBuffer(n)
	return b.base()
}
