//go:build linux && (amd64 || arm64)

package drivertest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Fake is the driver of a machine with one GPU, a Hopper by default.
type Fake struct {
	functions map[string]uintptr // by name

	mu     sync.Mutex
	last   uintptr            // handle
	memory map[uintptr][]byte // of the device and of the host
	names  map[uintptr]string // of functions
	graphs map[uintptr]*graph
	linked map[uintptr]string // texts by the linker's handle
	image  []byte             // that was linked last

	log   []string
	early []bool // of the graph that was launched last

	Compiled, Loaded, Linked int // modules of text and of machine code, and texts that became machine code
	Fetched                  int // copies to the host

	// RefuseCode has modules of machine code refused, RefuseEdges programmatic edges of graphs,
	// and RefuseChanges changes of their kernels.
	RefuseCode, RefuseEdges, RefuseChanges bool
	// Major is that of the GPU's compute capability, 9 by default.
	Major int
	// Lacks are functions that the driver does not have.
	Lacks []string
}

// idle are fakes whose functions others may have: a process makes only so many.
var idle struct {
	mu   sync.Mutex
	list []*Fake
}

// New makes a driver.
func New() *Fake {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	n := len(idle.list) - 1
	if n < 0 {
		return &Fake{functions: map[string]uintptr{}}
	}
	f := idle.list[n]
	idle.list = idle.list[:n]
	*f = Fake{functions: f.functions}
	return f
}

// Close gives the functions back. Nobody calls them any more.
func (f *Fake) Close() {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.list = append(idle.list, f)
}

// Stream is the handle of the first stream.
const Stream = 0x57000

// Log is what went on the stream since the last call: the names of kernels, graphs as the
// names of theirs in brackets, and what Note was given.
func (f *Fake) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.log
	f.log = nil
	return l
}

// Note adds to the log.
func (f *Fake) Note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, what)
}

// Live is the number of pieces of memory that are not freed.
func (f *Fake) Live() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.memory)
}

// mostArgs is how many arguments a function has.
const mostArgs = 11

// Find gives the functions of the driver.
func (f *Fake) Find(name string) (uintptr, error) {
	if slices.Contains(f.Lacks, name) {
		return 0, fmt.Errorf("no function %s", name)
	}
	if f.functions[name] == 0 {
		f.functions[name] = purego.NewCallback(func(a, b, c, d, e, g, h, i, j, k, l uintptr) uintptr {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.call(name, [mostArgs]uintptr{a, b, c, d, e, g, h, i, j, k, l})
		})
	}
	return f.functions[name], nil
}

func address[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

func bytesAt(p uintptr, n uintptr) []byte { return unsafe.Slice(address[byte](p), n) }

func set[T any](p uintptr, v T) uintptr {
	*address[T](p) = v
	return 0
}

func (f *Fake) handle() uintptr {
	f.last += 16
	return f.last
}

func (f *Fake) alloc(out, n uintptr) uintptr {
	b := make([]byte, n+255)
	b = b[-int(uintptr(unsafe.Pointer(&b[0])))&255:][:n]
	if f.memory == nil {
		f.memory = map[uintptr][]byte{}
	}
	p := uintptr(unsafe.Pointer(&b[0]))
	f.memory[p] = b
	return set(out, p)
}

func (f *Fake) free(p uintptr) uintptr {
	if f.memory[p] == nil {
		return invalidValue
	}
	delete(f.memory, p)
	return 0
}

// text is a string of C.
func text(p uintptr) string {
	n := uintptr(0)
	for *address[byte](p + n) != 0 {
		n++
	}
	return string(bytesAt(p, n))
}

// code is a text as machine code: an ELF file for GPUs with one section, the text.
func code(text string) []byte {
	b := make([]byte, 128)
	copy(b, "\x7fELF\x02\x01")
	binary.LittleEndian.PutUint16(b[18:], 190)                  // for GPUs
	binary.LittleEndian.PutUint64(b[40:], 64)                   // sections are described here
	binary.LittleEndian.PutUint16(b[58:], 64)                   // in so many bytes
	binary.LittleEndian.PutUint16(b[60:], 1)                    // each
	binary.LittleEndian.PutUint64(b[64+24:], 128)               // where the section begins
	binary.LittleEndian.PutUint64(b[64+32:], uint64(len(text))) // and its size
	return append(b, text...)
}

// load makes a module of text or of code.
func (f *Fake) load(out, image uintptr) uintptr {
	if string(bytesAt(image, 4)) != "\x7fELF" {
		f.Compiled++
		return set(out, f.handle())
	}
	if f.RefuseCode {
		return 200 // CUDA_ERROR_INVALID_IMAGE
	}
	f.Loaded++
	return set(out, f.handle())
}

// call is a function of the driver. What has no case does nothing, and succeeds.
func (f *Fake) call(name string, a [mostArgs]uintptr) uintptr {
	switch name {
	case "cuDriverGetVersion":
		return set[int32](a[0], 12040)
	case "cuGetErrorName", "cuGetErrorString":
		return 1
	case "cuDeviceGetCount":
		return set[int32](a[0], 1)
	case "cuDeviceGetName":
		copy(bytesAt(a[0], a[1]), "a GPU that is none\x00")
	case "cuDeviceGetPCIBusId":
		copy(bytesAt(a[0], a[1]), "0000:01:00.0\x00")
	case "cuDeviceGetAttribute":
		return set(a[0], map[uintptr]int32{16: 132, 38: 50 << 20, 75: int32(cmp.Or(f.Major, 9))}[a[1]])
	case "cuDeviceTotalMem_v2":
		return set[uint64](a[0], 1<<32)
	case "cuMemGetInfo_v2":
		set[uint64](a[0], 1<<32)
		return set[uint64](a[1], 1<<32)
	case "cuStreamCreate":
		return set[uintptr](a[0], Stream)
	case "cuDevicePrimaryCtxRetain", "cuEventCreate", "cuDeviceGetDefaultMemPool":
		return set(a[0], f.handle())
	case "cuModuleLoadDataEx":
		return f.load(a[0], a[1])
	case "cuLinkCreate_v2":
		return set(a[3], f.handle())
	case "cuLinkAddData_v2":
		if f.linked == nil {
			f.linked = map[uintptr]string{}
		}
		f.linked[a[0]] = string(bytesAt(a[2], a[3]-1))
	case "cuLinkComplete":
		f.Linked++
		f.image = code(f.linked[a[0]])
		set(a[1], uintptr(unsafe.Pointer(&f.image[0])))
		return set(a[2], uintptr(len(f.image)))
	case "cuEventElapsedTime":
		return set[float32](a[0], 0.5)
	case "cuModuleGetFunction":
		if f.names == nil {
			f.names = map[uintptr]string{}
		}
		h := f.handle()
		f.names[h] = text(a[2])
		return set(a[0], h)
	case "cuMemAllocAsync":
		return f.alloc(a[0], a[1])
	case "cuMemAllocHost_v2":
		return f.alloc(a[0], a[1])
	case "cuMemFreeAsync", "cuMemFreeHost":
		return f.free(a[0])
	case "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2":
		if name == "cuMemcpyDtoHAsync_v2" {
			f.Fetched++
		}
		copy(bytesAt(a[0], a[2]), bytesAt(a[1], a[2]))
	case "cuMemsetD32Async":
		for i := range uintptr(uint32(a[2])) {
			set(a[0]+4*i, uint32(a[1]))
		}
	case "cuLaunchKernel":
		f.log = append(f.log, f.names[a[0]])
	case "cuGraphCreate":
		if f.graphs == nil {
			f.graphs = map[uintptr]*graph{}
		}
		h := f.handle()
		f.graphs[h] = &graph{}
		return set(a[0], h)
	case "cuGraphAddKernelNode_v2": // node, graph, list, number, kernel
		return f.addKernel(a[0], f.graphs[a[1]], a[2], a[3], a[4])
	case "cuGraphAddDependencies_v2": // graph, from, to, descriptions, number
		return f.addEdge(f.graphs[a[0]], a[1], a[2], a[3], a[4])
	case "cuGraphInstantiateWithFlags": // executable, graph, flags
		if !f.graphs[a[1]].chained() {
			return invalidValue
		}
		return set(a[0], a[1])
	case "cuGraphExecKernelNodeSetParams_v2": // executable, node, kernel
		return f.setKernel(f.graphs[a[0]], a[1], a[2])
	case "cuGraphExecDestroy": // which is the graph here
	case "cuGraphDestroy":
		delete(f.graphs, a[0])
	case "cuGraphLaunch":
		g := f.graphs[a[0]]
		f.log = append(f.log, fmt.Sprint(g.names()))
		f.early = g.early()
	}
	return 0
}
