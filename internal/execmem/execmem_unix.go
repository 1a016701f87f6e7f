//go:build amd64 && (linux || darwin)

package execmem

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

func mapCode(code []byte) (*Region, error) {
	page := os.Getpagesize()
	size := (max(len(code), 1) + page - 1) &^ (page - 1)
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("execmem: map %d bytes: %w", size, err)
	}
	copy(mem, code)
	if err := syscall.Mprotect(mem, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		_ = syscall.Munmap(mem)
		return nil, fmt.Errorf("execmem: make executable: %w", err)
	}
	return &Region{mem: mem, addr: uintptr(unsafe.Pointer(&mem[0]))}, nil
}

func unmap(r *Region) { _ = syscall.Munmap(r.mem) }
