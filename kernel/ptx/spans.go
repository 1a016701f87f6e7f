package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// What native kernels share that walk over tensors in memory.

// moveThreads is the block size of native kernels whose threads are all alike.
const moveThreads = 256

// maxItems bounds the work items of a native kernel, and the elements of what it walks
// over: they are counted in 32 bits.
const maxItems = math.MaxInt32 - 1<<16

// span is so many elements at one stride.
type span struct{ extent, stride int64 }

// spansOf are the axes of a shape without those of one element, neighbours that lie
// behind each other as one.
func spansOf(shape ir.Shape, strides []int64) []span {
	var out []span
	for i, n := range shape {
		if n == 1 {
			continue
		}
		s := span{int64(n), strides[i]}
		if last := len(out) - 1; last >= 0 && out[last].stride == s.extent*s.stride {
			out[last] = span{out[last].extent * s.extent, s.stride}
			continue
		}
		out = append(out, s)
	}
	return out
}

// tooLarge reports whether a tensor has more elements than are counted.
func (c *nativeCall) tooLarge() bool {
	for i := range c.tensors {
		if c.tensors[i].Type.Shape.Size() > maxItems {
			return true
		}
	}
	return false
}

// numbers are the parameters of kind slotNumber of a launch, in order.
type numbers []uint64

func (n *numbers) add(v ...int64) {
	for _, v := range v {
		*n = append(*n, uint64(v))
	}
}

// addSpans appends extents and strides in bytes, as walk wants them.
func (n *numbers) addSpans(s []span, size int64) {
	for _, s := range s {
		n.add(s.extent, s.stride*size)
	}
}

// number is a parameter of kind slotNumber, number32 its low half.
func (a *asm) number(i int) reg   { return a.slotReg(slotNumber, i, 0) }
func (a *asm) number32(i int) reg { return a.slotReg32(slotNumber, i) }

// walk is an address moved to the element of a linear number in spans, the last of which
// is the fastest: their extents and strides in bytes are the numbers from first on.
func (a *asm) walk(linear, address reg, spans, first int) reg {
	for i := spans - 1; i >= 0; i-- {
		at := linear
		if i > 0 {
			linear, at = a.split(linear, a.number32(first+2*i))
		}
		address = a.step(address, at, a.number(first+2*i+1))
	}
	return address
}

// split is a number of 32 bits divided by another: quotient and rest.
func (a *asm) split(x, by reg) (quotient, rest reg) {
	quotient = a.to(b32, "div.u32", x, by)
	return quotient, a.to(b32, "sub.u32", x, a.to(b32, "mul.lo.u32", quotient, by))
}

// step is an address moved by a number of 32 bits times bytes, a register of 64 bits or
// an immediate.
func (a *asm) step(address, n reg, bytes any) reg {
	return a.to(b64, "mad.lo.s64", a.to(b64, "cvt.u64.u32", n), bytes, address)
}

// item is the number of the thread in the grid. Threads from the bound on go to the label.
func (a *asm) item(threads int, bound reg, done string) reg {
	i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), threads, a.tidHead())
	a.opIf(a.to(pred, "setp.ge.u32", i, bound), "bra", done)
	return i
}

// noteFault notes a fault, whose place the host finds.
func (a *asm) noteFault(code kernel.FaultCode, when reg) {
	word := ^(uint64(1)<<8 | uint64(code))
	a.opIf(when, "red.global.max.u64", mem(a.slotReg(slotFault, 0, 0), 0), a.constant(b64, word))
}

// bitsOf is the unsigned type of as many bytes as an element has: what moves elements as
// they are.
func bitsOf(size int) ir.DType {
	switch size {
	case 1:
		return ir.U8
	case 2:
		return ir.U16
	case 4:
		return ir.U32
	}
	return ir.U64
}

// block is a tensor as a stack of matrices, with a stride in elements for each of their
// axes. Its memory is that of a tensor of the node, or scratch memory.
type block struct {
	tensor               int
	packed               bool
	at                   int64  // in scratch memory
	first                uint64 // address of the first element, of a tensor
	size                 int64  // of an element
	outer, row, inner    int64  // strides in elements
	outers, rows, inners int64  // extents
}

// blockOf is a tensor whose axes up to two places make those of a block. One whose
// strides do not, is packed into scratch memory first.
func (c *nativeCall) blockOf(tensor, from, to int) block {
	t := &c.tensors[tensor]
	shape, strides := t.Type.Shape, t.Operand.Strides
	b := block{tensor: tensor, size: int64(t.Type.DType.Size()), first: c.plan.first[tensor],
		outers: int64(shape[:from].Size()), rows: int64(shape[from:to].Size()), inners: int64(shape[to:].Size())}
	for i, part := range [][]span{spansOf(shape[:from], strides[:from]), spansOf(shape[from:to], strides[from:to]), spansOf(shape[to:], strides[to:])} {
		switch {
		case len(part) > 1:
			b.packed = true
		case len(part) == 1:
			*[]*int64{&b.outer, &b.row, &b.inner}[i] = part[0].stride
		}
	}
	if b.packed {
		b.at, b.first = c.pack(tensor), 0
		b.outer, b.row, b.inner = b.rows*b.inners, b.inners, 1
	}
	return b
}

// aligned reports whether elements along the inner axis can be read by vectors.
func (b *block) aligned(width int64) bool {
	bytes := width * b.size
	return (b.inner == 1 || b.inners == 1) && b.first%uint64(bytes) == 0 &&
		(b.outers == 1 || b.outer*b.size%bytes == 0) && (b.rows == 1 || b.row*b.size%bytes == 0)
}

// origin is where a block begins: in scratch memory at a number.
func (a *asm) origin(b block, number int) reg {
	if b.packed {
		return a.scratchAt(number)
	}
	return a.slotReg(slotPointer, b.tensor, 0)
}

// scratchAt is an address in scratch memory, where a number says.
func (a *asm) scratchAt(number int) reg {
	return a.once(fmt.Sprintf("scratch at %d", number), func() reg {
		return a.def(b64, "add.s64", a.slotReg(slotScratch, 0, 0), a.number(number))
	})
}

// pack copies a tensor to scratch memory, row-major.
func (c *nativeCall) pack(tensor int) (at int64) {
	t := &c.tensors[tensor]
	size, n := t.Type.DType.Size(), int64(t.Type.Shape.Size())
	spans := spansOf(t.Type.Shape, t.Operand.Strides)
	at = c.room(n * int64(size))
	p := numbers{}
	p.add(n)
	p.addSpans(spans, int64(size))
	c.add(fmt.Sprintf("pack%d_%d_of%d", size, len(spans), tensor), moveThreads, func(a *asm) {
		done := a.label()
		i := a.item(moveThreads, a.number32(0), done)
		raw := bitsOf(size)
		v := a.loadOne(raw, a.walk(i, a.slotReg(slotPointer, tensor, 0), len(spans), 1), 0, "")
		a.storeOne(raw, v, a.step(a.slotReg(slotScratch, 0, 0), i, size), 0, "")
		a.place(done)
	}, ceil(n, moveThreads), 1, at, p...)
	return at
}

// ceil is how many of a size hold n.
func ceil(n, size int64) int64 { return (n + size - 1) / size }
