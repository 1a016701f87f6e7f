package attend

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// Engine makes work of nodes. It is safe for concurrent use.
type Engine struct {
	compile func(*kernel.Kernel) (kernel.Executable, error)
	level   *amd64.Level // of micro-kernels; nil: none

	mu   sync.Mutex
	made map[string]kernel.Executable // few: dtypes, access classes, kinds of mask

	scratch sync.Pool // of *scratch
}

// New makes an engine whose kernels are compiled by a device.
func New(compile func(*kernel.Kernel) (kernel.Executable, error)) *Engine {
	return &Engine{compile: compile, made: map[string]kernel.Executable{}}
}

// UseTiles lets products run on the micro-kernels of a level, with the same bits.
// Call it before the first Work.
func (e *Engine) UseTiles(level amd64.Level) {
	e.level = &level
}

// get returns the executable of a name, which says all that the kernel depends on.
func (e *Engine) get(make func() (*kernel.Kernel, error), name string, more ...any) (kernel.Executable, error) {
	key := name + fmt.Sprint(more...)
	e.mu.Lock()
	defer e.mu.Unlock()
	if x := e.made[key]; x != nil {
		return x, nil
	}
	k, err := make()
	if err != nil {
		return nil, err
	}
	x, err := e.compile(k)
	if err != nil {
		return nil, err
	}
	e.made[key] = x
	return x, nil
}

// kernels are those that a call needs.
type kernels struct {
	micro                        *amd64.Tiles  // in place of product and add; nil for none
	panels                       *amd64.Panels // for operands of micro-kernels
	product, greatest            kernel.Executable
	add, guarded                 adder
	weights                      [2]kernel.Executable // without and with a mask
	back                         [2]kernel.Executable
	divide, stat, scaled, gather kernel.Executable
	copies                       map[[3]uint8]kernel.Executable // by dtype and access classes
}

// loader makes kernels ready and keeps the first error.
type loader struct {
	*Engine
	err error
}

func (l *loader) load(to *kernel.Executable, make func() (*kernel.Kernel, error), name string, more ...any) {
	if l.err == nil {
		*to, l.err = l.get(make, name, more...)
	}
}

func access(stride int64) kernel.Access {
	if stride == 1 {
		return unit
	}
	return any_
}

// matrix is a matrix in memory, in elements of its dtype. A vector has no columns.
type matrix struct {
	typ      ir.DType
	base     unsafe.Pointer
	size     int64 // bytes of the whole allocation
	offset   int64
	row, col int64
}

func (m matrix) rows(from int64) matrix {
	m.offset += from * m.row
	return m
}

func (m matrix) transposed() matrix {
	m.row, m.col = m.col, m.row
	return m
}

// arg is a matrix as an argument that walks its rows along one axis of the kernel
// and its columns along another; -1 for none.
type arg struct {
	m        matrix
	row, col int
}

// scratch is the memory of a task, and the launch that its kernels are run by.
type scratch struct {
	mem    []byte
	used   int64
	launch kernel.Launch
	list   [11]arg // room for the arguments of a launch
	args   [11]kernel.Operand
	stride [11][3]int64
	extent [3]int64
	tile   amd64.Tile
	panel  amd64.Panel
}

// matrix takes a row-major matrix from the scratch memory.
func (s *scratch) matrix(c ir.DType, rows, cols int64) matrix {
	at := s.used
	if s.used += (rows*cols*int64(c.Size()) + 63) &^ 63; s.used > int64(len(s.mem)) {
		panic(fmt.Sprintf("sinter: BUG: kernel/attend: %d bytes of scratch memory, %d are needed", len(s.mem), s.used))
	}
	return matrix{typ: c, base: unsafe.Pointer(unsafe.SliceData(s.mem)), size: int64(len(s.mem)), offset: at / int64(c.Size()), row: cols, col: 1}
}

// reset makes room for size bytes; what the scratch held is lost.
func (s *scratch) reset(size int64) {
	if int64(len(s.mem)) < size {
		raw := make([]byte, size+63)
		skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & 63
		s.mem = raw[skip : skip+int(size)]
	}
	s.used = 0
}

// run runs a kernel without parameters. Extents of 0 at the end are of axes that it
// does not have.
func (s *scratch) run(x kernel.Executable, extents [3]int64, args ...arg) {
	s.runWith(x, nil, extents, args)
}

func (s *scratch) runWith(x kernel.Executable, params []uint64, extents [3]int64, args []arg) {
	n := 0
	for n < 3 && extents[n] > 0 {
		n++
	}
	s.extent = extents
	for i := range args {
		a := &args[i]
		st := &s.stride[i]
		*st = [3]int64{}
		if a.row >= 0 {
			st[a.row] = a.m.row
		}
		if a.col >= 0 {
			st[a.col] = a.m.col
		}
		s.args[i] = kernel.Operand{Base: a.m.base, Size: a.m.size, Offset: a.m.offset, Strides: st[:n]}
	}
	s.launch = kernel.Launch{Extents: s.extent[:n], Args: s.args[:len(args)], Params: params}
	x.Run(&s.launch)
}
