package cpu

import "unsafe"

// view reads bytes of an aligned buffer as elements.
func view[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// addressIn and addressOfBytes are where a slice begins.
func addressIn(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func addressOfBytes(b []byte) int { return int(uintptr(addressIn(b))) }
