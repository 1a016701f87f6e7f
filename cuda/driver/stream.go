package driver

import (
	"math"
	"unsafe"
)

// Stream is an ordered queue of device work. The zero Stream of a context is
// its default stream.
type Stream struct {
	d      *Driver
	handle uintptr
}

// streamNonBlocking keeps the stream from waiting for the default stream.
const streamNonBlocking = 1

// DefaultStream is the stream that blocking copies use.
func (c *Context) DefaultStream() Stream { return Stream{d: c.d} }

// NewStream makes a stream that runs beside the default stream.
func (c *Context) NewStream() (Stream, error) {
	h := new(uintptr)
	err := c.d.check("cuStreamCreate", call(c.d.fn.streamCreate, uintptr(unsafe.Pointer(h)), streamNonBlocking))
	return Stream{d: c.d, handle: *h}, err
}

// Handle is the CUstream, for libraries that put work on it.
func (s Stream) Handle() uintptr { return s.handle }

// Destroy frees the stream once its work is done.
func (s Stream) Destroy() error {
	return s.d.check("cuStreamDestroy", call(s.d.fn.streamDestroy, s.handle))
}

// Synchronize waits for all work of the stream and reports its first fault.
func (s Stream) Synchronize() error {
	return s.d.check("cuStreamSynchronize", call(s.d.fn.streamSynchronize, s.handle))
}

// Wait makes later work of the stream wait for the event.
func (s Stream) Wait(e Event) error {
	return s.d.check("cuStreamWaitEvent", call(s.d.fn.streamWaitEvent, s.handle, e.handle, 0))
}

// CopyToDevice queues a copy. src must be page-locked memory from AllocHost and
// must stay unchanged until the stream has passed the copy.
func (s Stream) CopyToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return s.d.check("cuMemcpyHtoDAsync", call(s.d.fn.memcpyHtoDAsync,
		uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), s.handle))
}

// CopyToHost queues a copy. dst must be page-locked memory from AllocHost and
// holds the bytes once the stream has passed the copy.
func (s Stream) CopyToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return s.d.check("cuMemcpyDtoHAsync", call(s.d.fn.memcpyDtoHAsync,
		uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), s.handle))
}

// Copy queues a copy within device memory.
func (s Stream) Copy(dst, src Ptr, size uint64) error {
	if size == 0 {
		return nil
	}
	return s.d.check("cuMemcpyDtoDAsync", call(s.d.fn.memcpyDtoDAsync,
		uintptr(dst), uintptr(src), uintptr(size), s.handle))
}

// Fill queues setting size bytes to one value.
func (s Stream) Fill(dst Ptr, value byte, size uint64) error {
	if size == 0 {
		return nil
	}
	return s.d.check("cuMemsetD8Async", call(s.d.fn.memsetD8Async,
		uintptr(dst), uintptr(value), uintptr(size), s.handle))
}

// Fill32 queues setting count 4-byte words to one value.
func (s Stream) Fill32(dst Ptr, value uint32, count uint64) error {
	if count == 0 {
		return nil
	}
	return s.d.check("cuMemsetD32Async", call(s.d.fn.memsetD32Async,
		uintptr(dst), uintptr(value), uintptr(count), s.handle))
}

// Event marks a point in a stream.
type Event struct {
	d      *Driver
	handle uintptr
}

// NewEvent makes an event that records the time.
func (c *Context) NewEvent() (Event, error) {
	h := new(uintptr)
	err := c.d.check("cuEventCreate", call(c.d.fn.eventCreate, uintptr(unsafe.Pointer(h)), 0))
	return Event{d: c.d, handle: *h}, err
}

// Destroy frees the event.
func (e Event) Destroy() error {
	return e.d.check("cuEventDestroy", call(e.d.fn.eventDestroy, e.handle))
}

// Record queues the event behind all work of the stream so far.
func (s Stream) Record(e Event) error {
	return s.d.check("cuEventRecord", call(s.d.fn.eventRecord, e.handle, s.handle))
}

// Synchronize waits until the event has happened.
func (e Event) Synchronize() error {
	return e.d.check("cuEventSynchronize", call(e.d.fn.eventSynchronize, e.handle))
}

// Since is the time from an earlier event to this one in milliseconds, with a
// resolution of about half a microsecond. Both must have happened.
func (e Event) Since(start Event) (float64, error) {
	bits := new(uint32)
	err := e.d.check("cuEventElapsedTime", call(e.d.fn.eventElapsedTime,
		uintptr(unsafe.Pointer(bits)), start.handle, e.handle))
	return float64(math.Float32frombits(*bits)), err
}
