//go:build !linux && !darwin && !windows

package pages

import (
	"errors"
	"unsafe"
)

const pageSize = 4096

var errMemory = errors.New("pages: the runtime refuses the size")

// mapPages takes memory of the heap, which the collector returns.
func mapPages(n int64) (b []byte, err error) {
	defer func() {
		if recover() != nil {
			b, err = nil, errMemory
		}
	}()
	if n <= 0 || int64(int(n+pageSize)) != n+pageSize {
		return nil, errMemory
	}
	raw := make([]byte, n+pageSize)
	off := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (pageSize - 1)
	return raw[off:][:n:n], nil
}

func unmapPages([]byte) {}
