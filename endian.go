package sinter

import "unsafe"

// bigEndian reports the machine's byte order.
var bigEndian = func() bool {
	v := uint16(1)
	return *(*byte)(unsafe.Pointer(&v)) == 0
}()
