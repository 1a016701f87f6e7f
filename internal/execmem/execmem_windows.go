//go:build amd64 && windows

package execmem

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapCode(code []byte) (*Region, error) {
	const page = 4096
	size := (max(len(code), 1) + page - 1) &^ (page - 1)
	addr, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("execmem: map %d bytes: %w", size, err)
	}
	// The address is not Go memory: reinterpret it without the checks that
	// conversions from integers to pointers are subject to.
	base := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	mem := unsafe.Slice((*byte)(base), size)
	copy(mem, code)
	var old uint32
	if err := windows.VirtualProtect(addr, uintptr(size), windows.PAGE_EXECUTE_READ, &old); err != nil {
		_ = windows.VirtualFree(addr, 0, windows.MEM_RELEASE)
		return nil, fmt.Errorf("execmem: make executable: %w", err)
	}
	return &Region{mem: mem, addr: addr}, nil
}

func unmap(r *Region) { _ = windows.VirtualFree(r.addr, 0, windows.MEM_RELEASE) }
