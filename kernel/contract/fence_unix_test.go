//go:build unix

package contract

import (
	"flag"
	"os"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// TestMain puts a page that nobody may touch behind all memory of the engine, unless
// something is measured.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		fence.take, fence.give = fencedMemory.take, fencedMemory.give
	}
	os.Exit(m.Run())
}

// region maps pages with one behind them that nobody may touch.
func region(usable int) []byte {
	page := syscall.Getpagesize()
	whole, err := syscall.Mmap(-1, 0, usable+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err == nil {
		err = syscall.Mprotect(whole[usable:], syscall.PROT_NONE)
	}
	if err != nil {
		panic(err)
	}
	return whole[:usable]
}

// wholePages is n bytes, rounded up.
func wholePages(n int) int {
	page := syscall.Getpagesize()
	return (n + page - 1) / page * page
}

// regions are regions by their size, to be used again.
type regions struct {
	mu   sync.Mutex
	idle map[int][][]byte
}

var fencedMemory = regions{idle: map[int][][]byte{}}

// take returns n bytes, rounded up to a cache line, that end where a region does. They
// hold what is no number.
func (f *regions) take(n int) *[]byte {
	n = (max(n, 64) + 63) &^ 63
	size := wholePages(n)
	f.mu.Lock()
	list := f.idle[size]
	var r []byte
	if len(list) > 0 {
		r, f.idle[size] = list[len(list)-1], list[:len(list)-1]
	}
	f.mu.Unlock()
	if r == nil {
		r = region(size)
	}
	b := r[size-n:]
	for i := range b {
		b[i] = 0xff
	}
	return &b
}

func (f *regions) give(b *[]byte) {
	size := wholePages(len(*b))
	first := unsafe.Add(unsafe.Pointer(unsafe.SliceData(*b)), len(*b)-size)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle[size] = append(f.idle[size], unsafe.Slice((*byte)(first), size))
}

// fences are the last regions of operands. A region serves again when as many others
// were taken after it.
var fences [256][]byte

var nextFence int

// fenced returns memory of n bytes that ends where a page begins that nobody may
// touch: what is read beyond an operand ends the test.
func fenced(n int64) unsafe.Pointer {
	f := &fences[nextFence]
	nextFence = (nextFence + 1) % len(fences)
	if int64(len(*f)) < n {
		if *f != nil {
			if err := syscall.Munmap((*f)[:cap(*f)]); err != nil {
				panic(err)
			}
		}
		*f = region(wholePages(int(n)))
	}
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(*f)), len(*f)-int(n))
}
