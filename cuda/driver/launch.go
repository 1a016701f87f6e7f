package driver

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"unsafe"
)

// Dim is the shape of a grid or of a block.
type Dim struct{ X, Y, Z uint32 }

// maxParamBytes is the driver's limit on the parameters of one kernel for code
// compiled for any architecture.
const maxParamBytes = 4096

// Params is the packed parameter block of one launch. Build it once, change
// values, launch again: the driver copies the block during the call. The block
// sits inside the struct so that one heap object holds all that the driver
// reads.
type Params struct {
	size uintptr
	// list is the launch's "extra" list: marker, address, marker, address, end.
	// The markers are small integers, so the slots are integers; buf and size
	// are kept alive by the struct that the call itself keeps alive.
	list [5]uintptr
	buf  [maxParamBytes]byte

	// Where a block holds tensor maps, the driver is given the place of each parameter:
	// how far apart it wants them depends on their alignment.
	starts []int
	each   []uintptr
}

const (
	extraEnd    = 0
	extraBuffer = 1
	extraSize   = 2
)

// NewParams makes a zeroed block of the given size in bytes, at most 4096.
func NewParams(size int) *Params {
	if size > maxParamBytes {
		panic("driver: kernel parameters above 4096 bytes")
	}
	return &Params{size: uintptr(size)}
}

// NewMapParams makes a block that begins with tensor maps, followed by values of 8
// bytes.
func NewMapParams(maps, values int) *Params {
	p := NewParams(maps*TensorMapBytes + 8*values)
	for i := range maps {
		p.starts = append(p.starts, i*TensorMapBytes)
	}
	for i := range values {
		p.starts = append(p.starts, maps*TensorMapBytes+8*i)
	}
	p.each = make([]uintptr, len(p.starts))
	return p
}

// Reset makes the block one of tensor maps, followed by values of 8 bytes, which hold
// what they did before: the caller fills them in.
func (p *Params) Reset(maps, values int) error {
	n := maps*TensorMapBytes + 8*values
	if n > maxParamBytes {
		return fmt.Errorf("driver: %d bytes of kernel parameters, at most %d", n, maxParamBytes)
	}
	p.size, p.starts, p.each = uintptr(n), p.starts[:0], p.each[:0]
	if maps == 0 {
		return nil
	}
	for i := range maps {
		p.starts = append(p.starts, i*TensorMapBytes)
	}
	for i := range values {
		p.starts = append(p.starts, maps*TensorMapBytes+8*i)
	}
	p.each = slices.Grow(p.each, len(p.starts))[:len(p.starts)]
	return nil
}

// PutU32 stores a 4-byte value at a byte offset.
func (p *Params) PutU32(offset int, v uint32) { binary.LittleEndian.PutUint32(p.buf[offset:], v) }

// PutU64 stores an 8-byte value at a byte offset.
func (p *Params) PutU64(offset int, v uint64) { binary.LittleEndian.PutUint64(p.buf[offset:], v) }

// PutBytes stores bytes at an offset.
func (p *Params) PutBytes(offset int, b []byte) { copy(p.buf[offset:p.size], b) }

// Bytes is the block itself.
func (p *Params) Bytes() []byte { return p.buf[:p.size] }

// Launch submits a kernel to a stream. The context of the function must be
// current.
func (f Function) Launch(s Stream, grid, block Dim, shared uint32, p *Params) error {
	each, extra := p.point()
	code := call(f.d.fn.launchKernel, f.handle,
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z),
		uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(shared), s.handle, uintptr(each), uintptr(extra))
	runtime.KeepAlive(p)
	if uint32(code) == 0 {
		return nil
	}
	return f.d.failure("cuLaunchKernel", int(int32(code)))
}

// point takes the addresses that the driver is given: of the list of parameters, or of
// the block. What it returns goes to the call gate, so that p lies on the heap, where
// objects do not move.
func (p *Params) point() (each, extra unsafe.Pointer) {
	if len(p.starts) > 0 {
		for i, at := range p.starts {
			p.each[i] = uintptr(unsafe.Pointer(&p.buf[at]))
		}
		return unsafe.Pointer(&p.each[0]), nil
	}
	p.list = [5]uintptr{
		extraBuffer, uintptr(unsafe.Pointer(&p.buf)),
		extraSize, uintptr(unsafe.Pointer(&p.size)),
		extraEnd,
	}
	return nil, unsafe.Pointer(&p.list)
}
