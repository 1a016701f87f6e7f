package driver

import (
	"errors"
	"strings"
	"unsafe"
)

// Module is loaded device code; it lives in the context that was current when
// it was loaded.
type Module struct {
	d      *Driver
	handle uintptr
}

// Options of cuModuleLoadDataEx, by the driver's numbers. Each option value is
// a pointer-sized slot; small numbers are stored in the slot itself.
const (
	jitInfoLogBuffer  = 3
	jitInfoLogSize    = 4
	jitErrorLogBuffer = 5
	jitErrorLogSize   = 6

	jitLogBytes = 16 << 10
)

// jitOptions ask the compiler of the driver for its words. The driver writes to them until
// the call, or the linker that was given them, has ended: whoever passes them on keeps
// them alive for as long.
type jitOptions struct {
	keys [4]uint32
	// Pointer-typed slots keep the buffers visible to the collector; the sizes
	// are integers and stand in slots of their own kind.
	values struct {
		log     unsafe.Pointer
		logLen  uintptr
		info    unsafe.Pointer
		infoLen uintptr
	}
	log, info [jitLogBytes]byte
}

func newJITOptions() *jitOptions {
	o := &jitOptions{keys: [4]uint32{jitErrorLogBuffer, jitErrorLogSize, jitInfoLogBuffer, jitInfoLogSize}}
	o.values.log, o.values.logLen = unsafe.Pointer(&o.log), jitLogBytes
	o.values.info, o.values.infoLen = unsafe.Pointer(&o.info), jitLogBytes
	return o
}

// explain adds what the compiler said to an error of a call that had the options.
func (o *jitOptions) explain(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.Log = strings.TrimSpace(bytesToString(o.log[:]) + "\n" + bytesToString(o.info[:]))
	}
	return err
}

// terminated is a copy that ends with the NUL that the driver wants.
func terminated(text []byte) []byte {
	b := make([]byte, len(text)+1)
	copy(b, text)
	return b
}

// LoadModule compiles PTX text, or loads a binary image, into the current
// context. When the compiler refuses the text, its log is in the error.
func (c *Context) LoadModule(image []byte) (*Module, error) {
	text, o, h := terminated(image), newJITOptions(), new(uintptr)
	err := c.d.check("cuModuleLoadDataEx", call(c.d.fn.moduleLoadDataEx,
		uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&text[0])), uintptr(len(o.keys)),
		uintptr(unsafe.Pointer(&o.keys)), uintptr(unsafe.Pointer(&o.values))))
	if err != nil {
		return nil, o.explain(err)
	}
	return &Module{d: c.d, handle: *h}, nil
}

// Unload frees the module's code; its functions must not be used again.
func (m *Module) Unload() error {
	return m.d.check("cuModuleUnload", call(m.d.fn.moduleUnload, m.handle))
}

// Function is an entry point of a module.
type Function struct {
	d      *Driver
	handle uintptr
}

// Function finds an entry point by name.
func (m *Module) Function(name string) (Function, error) {
	b := append([]byte(name), 0)
	h := new(uintptr)
	err := m.d.check("cuModuleGetFunction("+name+")", call(m.d.fn.moduleGetFunction,
		uintptr(unsafe.Pointer(h)), m.handle, uintptr(unsafe.Pointer(&b[0]))))
	return Function{d: m.d, handle: *h}, err
}

// FunctionAttribute names a property of compiled code by the driver's number.
type FunctionAttribute int

// The function attributes in use.
const (
	FunctionMaxThreads   FunctionAttribute = 0
	FunctionStaticShared FunctionAttribute = 1
	FunctionLocalBytes   FunctionAttribute = 3
	FunctionRegisters    FunctionAttribute = 4
	FunctionMaxDynShared FunctionAttribute = 8
)

// Attribute reads one property of the compiled code.
func (f Function) Attribute(a FunctionAttribute) (int, error) {
	n := new(int32)
	err := f.d.check("cuFuncGetAttribute", call(f.d.fn.funcGetAttribute,
		uintptr(unsafe.Pointer(n)), uintptr(a), f.handle))
	return int(*n), err
}

// AllowDynamicShared raises the amount of dynamic shared memory that a launch
// may ask for; above 48 KB the driver wants to be told.
func (f Function) AllowDynamicShared(bytes int) error {
	return f.d.check("cuFuncSetAttribute", call(f.d.fn.funcSetAttribute,
		f.handle, uintptr(FunctionMaxDynShared), uintptr(bytes)))
}

// ActiveBlocks is the number of blocks of the given shape that run at once on
// one multiprocessor.
func (f Function) ActiveBlocks(threads, shared int) (int, error) {
	n := new(int32)
	err := f.d.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", call(f.d.fn.occupancyMaxActiveBlocks,
		uintptr(unsafe.Pointer(n)), f.handle, uintptr(threads), uintptr(shared)))
	return int(*n), err
}

// ID tells functions of a process apart.
func (f Function) ID() uint64 { return uint64(f.handle) }
