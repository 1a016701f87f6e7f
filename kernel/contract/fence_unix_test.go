//go:build unix

package contract

import (
	"syscall"
	"unsafe"
)

// fences are the last regions of operands, each with a page behind it that nobody may
// touch. A region serves again when as many others were taken after it.
var fences [256]struct {
	whole  []byte
	usable int
}

var nextFence int

// fenced returns memory of n bytes that ends where a page begins that nobody may
// touch: what is read beyond an operand ends the test.
func fenced(n int64) unsafe.Pointer {
	page := syscall.Getpagesize()
	f := &fences[nextFence]
	nextFence = (nextFence + 1) % len(fences)
	if int64(f.usable) < n {
		if f.whole != nil {
			if err := syscall.Munmap(f.whole); err != nil {
				panic(err)
			}
		}
		f.usable = (int(n) + page - 1) / page * page
		whole, err := syscall.Mmap(-1, 0, f.usable+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err == nil {
			err = syscall.Mprotect(whole[f.usable:], syscall.PROT_NONE)
		}
		if err != nil {
			panic(err)
		}
		f.whole = whole
	}
	return unsafe.Pointer(&f.whole[f.usable-int(n)])
}
