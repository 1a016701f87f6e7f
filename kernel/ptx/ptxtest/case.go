package ptxtest

import (
	"bytes"
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Case is a kernel with one launch and its data.
type Case struct {
	Name     string
	Class    string // groups cases in reports
	Kernel   *kernel.Kernel
	Launch   *kernel.Launch
	Buffers  []*Buffer // one per argument
	Elements int64     // of the iteration space
	Moved    int64     // bytes that must be read or written at least once
}

// Buffer is the memory of one argument. Words keeps it aligned.
type Buffer struct {
	Type  ir.DType
	Out   bool
	words []uint64
	bytes int
}

func newBuffer(t ir.DType, elements int64, out, data bool) *Buffer {
	n := int(elements) * t.Size()
	b := &Buffer{Type: t, Out: out, bytes: n}
	if data {
		b.words = make([]uint64, (n+7)/8+2)
	}
	return b
}

// Size is the number of bytes.
func (b *Buffer) Size() int { return b.bytes }

func (b *Buffer) pointer() unsafe.Pointer {
	if b.words == nil {
		return nil
	}
	return unsafe.Pointer(&b.words[0])
}

// Bytes is the content.
func (b *Buffer) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.words[0])), b.bytes)
}

// view is the content as elements of T.
func view[T any](b *Buffer) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b.words[0])), b.bytes/int(unsafe.Sizeof(zero)))
}

// Poison fills the outputs with a pattern that no kernel writes, so that an
// element left out is seen.
func (c *Case) Poison() {
	for _, b := range c.Buffers {
		if b.Out {
			for i := range b.words {
				b.words[i] = 0xa5a5a5a5a5a5a5a5
			}
		}
	}
}

// Reference runs the interpreter on `workers` goroutines and returns the
// content of every output buffer, in argument order (nil for inputs).
func (c *Case) Reference(workers int) ([][]byte, error) {
	x, err := kernel.NewInterpreter(c.Kernel)
	if err != nil {
		return nil, err
	}
	c.Poison()
	axis := -1
	for i, k := range c.Kernel.Axes {
		if k == kernel.Parallel && (axis < 0 || c.Launch.Extents[i] > c.Launch.Extents[axis]) {
			axis = i
		}
	}
	if axis < 0 || workers < 2 {
		x.Run(c.Launch)
	} else {
		var wg sync.WaitGroup
		n := c.Launch.Extents[axis]
		per := max(1, (n+int64(workers)-1)/int64(workers))
		for from := int64(0); from < n; from += per {
			part := c.Launch.Slice(axis, from, min(n, from+per))
			wg.Add(1)
			go func() {
				defer wg.Done()
				x.Run(part)
			}()
		}
		wg.Wait()
	}
	out := make([][]byte, len(c.Buffers))
	for i, b := range c.Buffers {
		if b.Out {
			out[i] = append([]byte(nil), b.Bytes()...)
		}
	}
	return out, nil
}

// Mismatches counts the elements that differ, any NaN being equal to any, and
// describes the first.
func Mismatches(t ir.DType, got, want []byte) (n int, first string) {
	const stretch = 4096 // most are equal, and comparing many at once is quick
	for at := 0; at < len(want); at += stretch {
		end := min(at+stretch, len(want))
		if bytes.Equal(got[at:end], want[at:end]) {
			continue
		}
		m, f := mismatches(t, got[at:end], want[at:end], at)
		if n == 0 {
			first = f
		}
		n += m
	}
	return n, first
}

// mismatches compares bytes that stand `at` bytes behind the first.
func mismatches(t ir.DType, got, want []byte, at int) (n int, first string) {
	size := t.Size()
	for i := 0; i+size <= len(want); i += size {
		g, w := bitsAt(got[i:], size), bitsAt(want[i:], size)
		if g == w || isNaN(t, g) && isNaN(t, w) {
			continue
		}
		if n == 0 {
			first = fmt.Sprintf("element %d: %#x, expected %#x", (at+i)/size, g, w)
		}
		n++
	}
	return n, first
}

func bitsAt(b []byte, size int) uint64 {
	var v uint64
	for i := range size {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func isNaN(t ir.DType, v uint64) bool {
	switch t {
	case ir.F16:
		return v&0x7fff > 0x7c00
	case ir.BF16:
		return v&0x7fff > 0x7f80
	case ir.F32:
		return v&0x7fffffff > 0x7f800000
	case ir.F64:
		return v&(1<<63-1) > math.Float64bits(math.Inf(1))
	}
	return false
}
