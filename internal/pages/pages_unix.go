//go:build linux || darwin

package pages

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapPages(n int64) ([]byte, error) {
	extra := int64(0)
	if n >= HugeSize/2 {
		extra = HugeSize
	}
	if n <= 0 || n > 1<<62 || int64(int(n+extra)) != n+extra {
		return nil, fmt.Errorf("pages: map %d bytes: %w", n, unix.ENOMEM)
	}
	at, err := unix.MmapPtr(-1, 0, nil, uintptr(n+extra), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("pages: map %d bytes: %w", n, err)
	}
	if extra > 0 { // keep what begins at a multiple, and return the ends
		skip := -uintptr(at) & (HugeSize - 1)
		if skip > 0 {
			_ = unix.MunmapPtr(at, skip)
			at = unsafe.Add(at, skip)
		}
		if rest := uintptr(extra) - skip; rest > 0 {
			_ = unix.MunmapPtr(unsafe.Add(at, n), rest)
		}
	}
	b := unsafe.Slice((*byte)(at), n)
	if extra > 0 {
		adviseHuge(b)
	}
	return b, nil
}

func unmapPages(b []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)))
}
