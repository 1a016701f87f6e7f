package driver

import "unsafe"

// Ptr is an address in device memory; 0 is none.
type Ptr uint64

// Alloc takes device memory in the current context, aligned to at least 256
// bytes. Size 0 gives address 0.
func (c *Context) Alloc(size uint64) (Ptr, error) {
	if size == 0 {
		return 0, nil
	}
	p := new(Ptr)
	err := c.d.check("cuMemAlloc", call(c.d.fn.memAlloc, uintptr(unsafe.Pointer(p)), uintptr(size)))
	return *p, err
}

// Free returns device memory; address 0 is ignored.
func (c *Context) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	return c.d.check("cuMemFree", call(c.d.fn.memFree, uintptr(p)))
}

// AllocHost takes page-locked host memory, which copies run at full speed
// from and to. The slice is not Go memory: it is valid until FreeHost.
func (c *Context) AllocHost(size int) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	p := new(unsafe.Pointer)
	if err := c.d.check("cuMemAllocHost", call(c.d.fn.memAllocHost, uintptr(unsafe.Pointer(p)), uintptr(size))); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(*p), size), nil
}

// FreeHost returns memory taken by AllocHost.
func (c *Context) FreeHost(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return c.d.check("cuMemFreeHost", call(c.d.fn.memFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(b)))))
}

// CopyToDevice copies host bytes to device memory and returns when src may be
// changed again.
func (c *Context) CopyToDevice(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	return c.d.check("cuMemcpyHtoD", call(c.d.fn.memcpyHtoD,
		uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src))))
}

// CopyToHost copies device memory to host bytes, after all earlier work of the
// default stream.
func (c *Context) CopyToHost(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return c.d.check("cuMemcpyDtoH", call(c.d.fn.memcpyDtoH,
		uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst))))
}

// Copy copies within device memory.
func (c *Context) Copy(dst, src Ptr, size uint64) error {
	if size == 0 {
		return nil
	}
	return c.d.check("cuMemcpyDtoD", call(c.d.fn.memcpyDtoD, uintptr(dst), uintptr(src), uintptr(size)))
}

// Alloc takes device memory, aligned to at least 256 bytes, in stream order: work of the
// stream from here on may use it. Size 0 gives address 0.
func (s Stream) Alloc(size uint64) (Ptr, error) {
	if size == 0 {
		return 0, nil
	}
	p := new(Ptr)
	err := s.d.check("cuMemAllocAsync", call(s.d.fn.memAllocAsync, uintptr(unsafe.Pointer(p)), uintptr(size), s.handle))
	return *p, err
}

// Free returns memory that Alloc took, behind the stream's work so far; address 0 is
// ignored.
func (s Stream) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	return s.d.check("cuMemFreeAsync", call(s.d.fn.memFreeAsync, uintptr(p), s.handle))
}

// poolReleaseThreshold is the attribute of a memory pool that says how many bytes it
// keeps from one synchronisation to the next.
const poolReleaseThreshold = 4

// KeepFreed makes the device's pool keep memory that streams freed, up to so many bytes,
// instead of returning it at the next synchronisation.
func (v Device) KeepFreed(bytes uint64) error {
	pool, err := v.pool()
	if err != nil {
		return err
	}
	n := new(uint64)
	*n = bytes
	return v.d.check("cuMemPoolSetAttribute", call(v.d.fn.memPoolSetAttribute, pool, poolReleaseThreshold, uintptr(unsafe.Pointer(n))))
}

// TrimFreed returns memory that streams freed to the system, but for so many bytes.
func (v Device) TrimFreed(keep uint64) error {
	pool, err := v.pool()
	if err != nil {
		return err
	}
	return v.d.check("cuMemPoolTrimTo", call(v.d.fn.memPoolTrimTo, pool, uintptr(keep)))
}

func (v Device) pool() (uintptr, error) {
	p := new(uintptr)
	err := v.d.check("cuDeviceGetDefaultMemPool", call(v.d.fn.deviceGetDefaultMemPool, uintptr(unsafe.Pointer(p)), uintptr(v.handle)))
	return *p, err
}
