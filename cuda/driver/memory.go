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
