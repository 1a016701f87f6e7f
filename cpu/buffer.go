package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// alignment of every buffer: a cache line, and the widest vector.
const alignment = 64

// maxIdle bounds the bytes that free lists keep.
const maxIdle = 256 << 20

// buffer is memory owned by one or more entries of the store. Only the device
// goroutine touches refs.
type buffer struct {
	data    []byte // aligned, of the size asked for
	class   int
	refs    int
	release func() // of adopted memory, which is not the pool's
	whole   []byte // data with the guards around it; nil unless memory is poisoned
}

// pool keeps freed buffers by size class. Buffers are not zeroed: every kernel
// writes its whole output. Only the device goroutine uses it.
type pool struct {
	free  [64][]*buffer
	idle  int64
	inUse int64
	peak  int64
	limit int64

	poison bool
	report func(*ir.Error) // told of memory that was overwritten
}

// classOf rounds sizes up to four classes per power of two, so that at most a
// quarter is wasted.
func classOf(n int64) (class int, size int64) {
	if n <= alignment {
		return 0, alignment
	}
	top := bits.Len64(uint64(n-1)) - 1 // 2^top < n <= 2^(top+1)
	step := int64(1) << max(top-2, 6)
	size = (n + step - 1) / step * step
	return min(63, top), size
}

// get returns a buffer of n bytes with one owner, or an error of kind ErrMemory.
func (p *pool) get(n int64) (*buffer, error) {
	class, size := classOf(n)
	list := p.free[class]
	for i := len(list) - 1; i >= 0; i-- {
		b := list[i]
		if int64(cap(b.data)) == size {
			p.free[class] = append(list[:i], list[i+1:]...)
			p.idle -= size
			p.account(size)
			if b.whole != nil {
				p.inspectIdle(b)
			}
			b.data = b.data[:n]
			b.refs = 1
			return b, nil
		}
	}
	if p.limit > 0 && p.inUse+size > p.limit {
		return nil, ir.Errorf(ir.ErrMemory, "%d bytes asked for, %d in use, the limit is %d", n, p.inUse, p.limit)
	}
	extra := int64(alignment)
	if p.poison {
		extra += 2 * guardBytes
	}
	raw := allocate(size + extra)
	if raw == nil {
		return nil, ir.Errorf(ir.ErrMemory, "%d bytes asked for: the system has not so much", n)
	}
	if p.poison {
		p.account(size)
		whole, data := fenced(raw, size, class)
		return &buffer{data: data[:n], class: class, refs: 1, whole: whole}, nil
	}
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (alignment - 1))
	p.account(size)
	return &buffer{data: raw[off : off+int(size) : off+int(size)][:n], class: class, refs: 1}, nil
}

// allocate makes memory, or returns nil where the runtime refuses the size. A
// size beyond physical memory ends the process on any system that commits
// lazily; the device's memory limit is the guard against that.
func allocate(n int64) (b []byte) {
	defer func() {
		if recover() != nil {
			b = nil
		}
	}()
	return make([]byte, n)
}

func (p *pool) account(size int64) {
	p.inUse += size
	p.peak = max(p.peak, p.inUse)
}

// put drops one owner, and keeps the buffer for reuse when it was the last.
func (p *pool) put(b *buffer) {
	if b.refs--; b.refs > 0 {
		return
	}
	if b.release != nil {
		b.release()
		return
	}
	size := int64(cap(b.data))
	p.inUse -= size
	if b.whole != nil {
		p.inspect(b)
		fillPoison(b.whole, b.class)
	}
	if p.idle+size > maxIdle {
		return // to the garbage collector
	}
	p.idle += size
	p.free[b.class] = append(p.free[b.class], b)
}

// trim gives up every idle buffer.
func (p *pool) trim() {
	for _, list := range p.free {
		for _, b := range list {
			if b.whole != nil {
				p.inspectIdle(b)
			}
		}
	}
	p.free = [64][]*buffer{}
	p.idle = 0
}
