package pages

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Huge pages need a privilege here that few processes have.
func mapPages(n int64) ([]byte, error) {
	if n <= 0 || int64(int(n)) != n {
		return nil, fmt.Errorf("pages: map %d bytes: %w", n, windows.ERROR_NOT_ENOUGH_MEMORY)
	}
	addr, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("pages: map %d bytes: %w", n, err)
	}
	// The address is not Go memory: reinterpret it without the checks that
	// conversions from integers to pointers are subject to.
	base := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	return unsafe.Slice((*byte)(base), n), nil
}

func unmapPages(b []byte) {
	_ = windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, windows.MEM_RELEASE)
}
