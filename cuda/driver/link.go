package driver

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"
)

// linkPTX is the driver's number of the kind of input that is PTX text.
const linkPTX = 1

// maxLinked bounds the machine code of one text.
const maxLinked = 64 << 20

// Link compiles PTX text for the device of the current context, and returns the machine
// code that [Context.LoadModule] takes in its place. When the compiler refuses the text,
// its log is in the error.
func (c *Context) Link(text []byte) (image []byte, err error) {
	fn, in, o, state := &c.d.fn, terminated(text), newJITOptions(), new(uintptr)
	defer runtime.KeepAlive(o) // the linker writes to it until it is destroyed
	if err := c.d.check("cuLinkCreate", call(fn.linkCreate, uintptr(len(o.keys)),
		uintptr(unsafe.Pointer(&o.keys)), uintptr(unsafe.Pointer(&o.values)), uintptr(unsafe.Pointer(state)))); err != nil {
		return nil, o.explain(err)
	}
	defer func() { // with it goes the memory of the code
		if e := c.d.check("cuLinkDestroy", call(fn.linkDestroy, *state)); e != nil && err == nil {
			image, err = nil, e
		}
	}()
	if err := c.d.check("cuLinkAddData", call(fn.linkAddData, *state, linkPTX,
		uintptr(unsafe.Pointer(&in[0])), uintptr(len(in)), 0, 0, 0, 0)); err != nil {
		return nil, o.explain(err)
	}
	at, size := new(unsafe.Pointer), new(uintptr)
	if err := c.d.check("cuLinkComplete", call(fn.linkComplete, *state,
		uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(size)))); err != nil {
		return nil, o.explain(err)
	}
	if *at == nil || *size > maxLinked {
		return nil, fmt.Errorf("driver: cuLinkComplete: %d bytes of machine code, at most %d", *size, maxLinked)
	}
	return bytes.Clone(unsafe.Slice((*byte)(*at), *size)), nil
}
