package contract

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Memory for packed operands and tiles is kept between launches, by power of two,
// until the collector wants it.
var idleBytes [48]sync.Pool

// fence takes the place of the memory below in tests, which then end where something is
// written beyond what was asked for.
var fence struct {
	take func(n int) *[]byte
	give func(*[]byte)
}

// takeBytes returns at least n bytes at a cache line. They hold anything.
func takeBytes(n int) *[]byte {
	if fence.take != nil {
		return fence.take(n)
	}
	class := bits.Len(uint(max(n, 64) - 1))
	if b, ok := idleBytes[class].Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 1<<class+63)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & 63
	b = b[skip : skip+1<<class]
	return &b
}

func giveBytes(b *[]byte) {
	if b != nil && fence.give != nil {
		fence.give(b)
	} else if b != nil {
		idleBytes[bits.Len(uint(len(*b)-1))].Put(b)
	}
}
