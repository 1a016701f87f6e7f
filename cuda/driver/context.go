package driver

import (
	"runtime"
	"unsafe"
)

// Context is the primary context of a device: the one that every library in
// the process shares. Release it as often as it was retained.
type Context struct {
	d      *Driver
	dev    Device
	handle uintptr
}

// Retain opens the primary context of the device, or counts one more user.
func (v Device) Retain() (*Context, error) {
	h := new(uintptr)
	if err := v.d.check("cuDevicePrimaryCtxRetain", call(v.d.fn.primaryCtxRetain,
		uintptr(unsafe.Pointer(h)), uintptr(v.handle))); err != nil {
		return nil, err
	}
	return &Context{d: v.d, dev: v, handle: *h}, nil
}

// Device is the device that the context belongs to.
func (c *Context) Device() Device { return c.dev }

// Release gives up one use of the primary context.
func (c *Context) Release() error {
	return c.d.check("cuDevicePrimaryCtxRelease", call(c.d.fn.primaryCtxRelease, uintptr(c.dev.handle)))
}

// SetCurrent makes the context current on the calling OS thread. The goroutine
// must be locked to its thread for as long as it relies on that.
func (c *Context) SetCurrent() error {
	return c.d.check("cuCtxSetCurrent", call(c.d.fn.ctxSetCurrent, c.handle))
}

// Do runs f on a locked OS thread on which the context is current.
func (c *Context) Do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.SetCurrent(); err != nil {
		return err
	}
	return f()
}

// Synchronize waits for everything submitted to the current context, and
// reports a fault that any of it had.
func (c *Context) Synchronize() error {
	return c.d.check("cuCtxSynchronize", call(c.d.fn.ctxSynchronize))
}

// MemoryInfo is the free and total memory of the device in bytes; the context
// must be current.
func (c *Context) MemoryInfo() (free, total uint64, err error) {
	p := new([2]uint64)
	err = c.d.check("cuMemGetInfo", call(c.d.fn.memGetInfo,
		uintptr(unsafe.Pointer(&p[0])), uintptr(unsafe.Pointer(&p[1]))))
	return p[0], p[1], err
}
