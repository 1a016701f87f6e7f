package cpu

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// physicalMemory returns the bytes of the machine's memory.
func physicalMemory() int64 {
	status := struct { // MEMORYSTATUSEX of the Windows API
		length, load                     uint32
		total, free                      uint64
		totalPage, freePage              uint64
		totalVirtual, freeVirtual, extra uint64
	}{}
	status.length = uint32(unsafe.Sizeof(status))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := call.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.total)
}
