package amd64

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel"
)

// Code is a compiled kernel. It implements [kernel.Executable].
type Code struct {
	*program
	region *execmem.Region
	pool   sync.Pool // of *context
	// interpreter serves the launches that the code does not cover.
	interpreter func() kernel.Executable
	// streaming is the same kernel with stores past the caches, for launches too
	// large for them; nil in such code itself.
	streaming func() *Code
	nest      *nest                                 // nil where there is none
	permuted  *permuted                             // likewise
	variants  struct{ stream atomic.Pointer[Code] } // made so far, to be saved
}

// context is the memory that generated code works in.
type context struct {
	block   []byte // 64-byte aligned
	scratch []byte
	idx     [kernel.MaxAxes]int64
}

// callWork bounds the work of one native call, in instructions times elements:
// generated code cannot be preempted, and the collector waits for it. This is
// some tens of microseconds.
const callWork = 1 << 20

// keptScratch is the most scratch memory that an idle context keeps.
const keptScratch = 1 << 20

func load(p *program) (*Code, error) {
	r, err := execmem.Map(p.code)
	if err != nil {
		return nil, &Unsupported{p.k.Name, err.Error()}
	}
	c := &Code{program: p, region: r}
	c.pool.New = func() any {
		return &context{block: aligned(p.ctxSize)}
	}
	c.interpreter = sync.OnceValue(func() kernel.Executable {
		in, err := kernel.NewInterpreter(p.k)
		if err != nil {
			panic("amd64: BUG: no interpreter for a compiled kernel: " + err.Error())
		}
		return in
	})
	c.nest, c.permuted = newNest(p.k, p.level), newPermuted(p.k, p.vAxis, p.level)
	c.streaming = sync.OnceValue(func() *Code {
		q, err := generate(p.k, p.level, true)
		if err != nil {
			return nil
		}
		s, err := load(q)
		if err != nil {
			return nil
		}
		s.alone()
		c.variants.stream.Store(s)
		return s
	})
	runtime.AddCleanup(c, (*execmem.Region).Free, r)
	return c, nil
}

// alone makes code that other code runs have no such code itself.
func (c *Code) alone() { c.streaming, c.nest, c.permuted = nil, nil, nil }

// Size returns the bytes of machine code and constants.
func (c *Code) Size() int { return len(c.code) }

// Bytes returns the machine code, for debugging.
func (c *Code) Bytes() []byte { return append([]byte(nil), c.code...) }

func aligned(n int) []byte {
	b := make([]byte, n+63)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & 63
	return b[skip : skip+n]
}

func (x *context) word(off int) *int64 { return (*int64)(unsafe.Pointer(&x.block[off])) }

func (x *context) pointer(off int) *uintptr { return (*uintptr)(unsafe.Pointer(&x.block[off])) }

// Run executes one launch.
func (c *Code) Run(l *kernel.Launch) {
	if c.faults && c.delicate(l) {
		c.interpreter().Run(l)
		return
	}
	fault := false
	if s := c.nested(l); s != nil {
		fault = c.nest.run(s, l)
	} else if s := c.permuting(l); s != nil {
		fault = c.permuted.run(s, l)
	} else {
		fault = c.run(l)
	}
	if fault && l.Fault != nil {
		// Rare: once more, to learn where. The values come out the same.
		c.interpreter().Run(l)
	}
	runtime.KeepAlive(l)
}

// run executes one launch and reports whether something in the data was at fault.
func (c *Code) run(l *kernel.Launch) (fault bool) {
	if c.streaming != nil && c.large(l) {
		if s := c.streaming(); s != nil {
			c = s
		}
	}
	x := c.pool.Get().(*context)
	c.params(x, l)
	extent := func(axis int) int64 {
		if axis < 0 {
			return 1
		}
		return l.Extents[axis]
	}
	lanes, rows, reduced := extent(c.vAxis), extent(c.uAxis), int64(1)
	if c.rAxis >= 0 {
		for axis := c.rFrom; axis <= c.rAxis; axis++ {
			reduced *= l.Extents[axis]
			*x.word(wExtent + 8*axis) = l.Extents[axis]
			*x.word(wCarry + 8*axis) = l.Extents[axis]
		}
	}
	c.memory(x, lanes, reduced)
	*x.word(wReduced) = reduced
	*x.word(wFault) = 0

	// Split rows, and long rows of kept elements, into calls of bounded work.
	group := int64(c.unroll * c.program.lanes)
	part := lanes
	if !c.byRows {
		part = min(lanes, max(group, callWork/(int64(c.cost)*reduced)/group*group))
	}
	batch := min(rows, max(1, callWork/(int64(c.cost)*reduced*max(part, 1))))

	clear(x.idx[:])
	for {
		for u := int64(0); u < rows; u += batch {
			for v := int64(0); v < lanes; v += part {
				*x.word(wRows) = min(batch, rows-u)
				*x.word(wLanes) = min(part, lanes-v)
				c.bind(x, l, u, v)
				call(c.region.Addr(), unsafe.Pointer(&x.block[0]))
			}
		}
		if !c.nextOuter(x, l) {
			break
		}
	}
	fault = c.faults && *x.word(wFault) != 0
	runtime.KeepAlive(l)
	runtime.KeepAlive(c)
	if len(x.scratch) > keptScratch {
		x.scratch = nil
	}
	c.pool.Put(x)
	return fault
}

// delicate reports whether a launch that may meet a fault cannot be run twice,
// because an output overlaps an input, or has an empty axis to gather from.
func (c *Code) delicate(l *kernel.Launch) bool {
	for i, a := range c.k.Args {
		if a.Gather && l.Args[i].GatherExtent <= 0 {
			return true
		}
	}
	return c.overlaps(l)
}

// nextOuter steps through the axes that no native loop covers.
func (c *Code) nextOuter(x *context, l *kernel.Launch) bool {
	for axis := len(l.Extents) - 1; axis >= 0; axis-- {
		if axis == c.vAxis || axis == c.uAxis || c.k.Axes[axis] == kernel.Reduced {
			continue
		}
		if x.idx[axis]++; x.idx[axis] < l.Extents[axis] {
			return true
		}
		x.idx[axis] = 0
	}
	return false
}

// bind writes what depends on where a call begins.
func (c *Code) bind(x *context, l *kernel.Launch, u, v int64) {
	for axis := range l.Extents {
		at := x.idx[axis]
		switch axis {
		case c.uAxis:
			at = u
		case c.vAxis:
			at = v
		}
		if l.Start != nil {
			at += l.Start[axis]
		}
		*x.word(wIndex + 8*axis) = at
	}
	for i := range l.Args {
		o := &l.Args[i]
		size := int64(c.k.Args[i].Type.Size())
		off := o.Offset
		for axis, s := range o.Strides {
			switch axis {
			case c.uAxis:
				off += u * s
			case c.vAxis:
				off += v * s
			default: // the index is 0 along reduced axes
				off += x.idx[axis] * s
			}
		}
		at := wArgs + argSize*i
		*x.pointer(at + argPtr) = uintptr(o.Base) + uintptr(off*size)
		stride := func(axis int) int64 {
			if axis < 0 {
				return 0
			}
			return o.Strides[axis] * size
		}
		*x.word(at + argRow) = stride(c.uAxis)
		*x.word(at + argVec) = stride(c.vAxis)
		*x.word(at + argRed) = stride(c.rAxis)
		if c.rAxis >= 0 {
			for axis := c.rFrom + 1; axis <= c.rAxis; axis++ {
				*x.word(at + argWrap + 8*axis) = (o.Strides[axis-1] - l.Extents[axis]*o.Strides[axis]) * size
			}
		}
		*x.word(at + argStep) = o.GatherStride * size
		*x.word(at + argEnd) = o.GatherExtent
	}
}

// params writes parameters and extents into their vectors.
func (c *Code) params(x *context, l *kernel.Launch) {
	for _, s := range c.slots {
		var bits uint64
		if s.extent {
			full := l.Full
			if full == nil || s.launch {
				full = l.Extents
			}
			bits = uint64(full[s.index])
		} else {
			bits = laneBits(s.typ, l.Params[s.index])
		}
		lane := laneSize(s.typ)
		for i := range c.program.lanes {
			p := unsafe.Pointer(&x.block[int(s.off)+i*lane])
			if lane == 8 {
				*(*uint64)(p) = bits
			} else {
				*(*uint32)(p) = uint32(bits)
			}
		}
	}
}

// memory makes room for row buffers and the results of chunks.
func (c *Code) memory(x *context, lanes, reduced int64) {
	length, copies := reduced, 1 // of what is reduced, and those that arrays need not serve
	if c.byRows {
		length = lanes
	} else if lanes < int64(c.unroll*c.program.lanes) {
		copies = c.unroll
	}
	row := int(lanes)
	if c.block > 0 {
		row = min(row, c.block)
	}
	row = (row*c.level.bytes()/c.program.lanes + 127) &^ 63
	need := row * len(c.buffers)
	for _, a := range c.arrays {
		need += a.bytes(length, copies)
	}
	if len(x.scratch) < need {
		x.scratch = aligned(need)
	}
	base := uintptr(0)
	if need > 0 {
		base = uintptr(unsafe.Pointer(&x.scratch[0]))
	}
	for _, w := range c.buffers {
		*x.pointer(int(w)), *x.pointer(int(w) + 8) = base, base
		base += uintptr(row)
	}
	for _, a := range c.arrays {
		*x.pointer(int(a.word)) = base
		base += uintptr(a.bytes(length, copies))
	}
}

// bytes returns the size of the array for a length, nothing where one chunk has
// all. It is rounded up, so that whole vectors may be read at the end. The part of
// one copy is enough where only that runs.
func (a array) bytes(length int64, copies int) int {
	chunk, size := int64(a.chunk), a.size/copies
	if a.whole {
		return int(min(length, chunk)) * size
	}
	if length <= chunk {
		return 0
	}
	return (int((length+chunk-1)/chunk)*size + 127) &^ 63
}

var _ kernel.Executable = (*Code)(nil)
