package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Linear algebra takes the steps of gonum's BLAS and LAPACK, which the host runs, in f64 and
// in the order in which they round; steps that do not depend on each other are taken by
// different threads. A block takes a matrix of the stack to its shared memory if it fits.
// Larger ones are worked on in scratch memory, a launch for each part of the algorithm.

// linalgLargest is the order beyond which matrices are left to the host, for their memory.
const linalgLargest = 8192

// linalgMost bounds what few blocks are made of: rows or columns of a right-hand side.
const linalgMost = 1 << 20

// linalgMatrix bounds the scratch memory of one matrix, which the host is left if it is larger.
const linalgMatrix = 2 << 30

// linalgChunk is the scratch memory of matrices that are there together. A node has
// linalgChunks at most.
const (
	linalgChunk  = 256 << 20
	linalgChunks = 16
)

// The words in front of a matrix where it is worked on.
const (
	linalgBadX   = 4 * iota // the matrix has elements that are not finite
	linalgBadZ              // the right-hand side has
	linalgPivot             // the row of the pivot, with linalgNoPivot if it is 0
	linalgInfo              // 1 + the first pivot that is 0, or not positive
	linalgOdd               // whether there was an odd number of exchanges of rows
	linalgHeader = 64
)

const linalgNoPivot = 1 << 31

// The numbers of a launch.
const (
	linalgFirst   = iota // matrix of the stack
	linalgOrder          // n
	linalgHeight         // rows of the right-hand side
	linalgWidth          // and columns
	linalgPitch          // elements from a row to the next where the matrix is worked on
	linalgFrom           // column at which a part of the algorithm begins
	linalgAt             // scratch memory
	linalgBytes          // of a matrix there
	linalgPivots         // where its pivots are there, behind the words in front
	linalgStrides        // of the rows and columns of each tensor, in bytes
)

// linalgTensor is a stack of matrices, or of numbers, among the tensors of a node.
type linalgTensor struct {
	t           ir.DType
	spans       []span // of the stack
	row, column int64  // strides in elements
}

// linalgCall is a node of linear algebra on its way to a plan.
type linalgCall struct {
	*nativeCall
	name     string
	tensors  []linalgTensor
	matrices int64
	order    int64 // n
	height   int64 // of the right-hand side
	width    int64
}

// linalgCall looks at the tensors of a node, operands and results, with as many axes of a
// matrix each; nil if they are left to the host.
func (c *nativeCall) linalgCall(axes ...int) *linalgCall {
	shape := c.tensors[0].Type.Shape
	m := &linalgCall{nativeCall: c, name: c.Row.Name, order: int64(shape[len(shape)-1]), matrices: int64(shape[:len(shape)-2].Size())}
	if c.tooLarge() || m.order > linalgLargest {
		return nil
	}
	for i, n := range axes {
		t := &c.tensors[i]
		batch := len(t.Type.Shape) - n
		x := linalgTensor{t: t.Type.DType, spans: spansOf(t.Type.Shape[:batch], t.Operand.Strides[:batch])}
		if n > 0 {
			if max(t.Type.Shape[batch], t.Type.Shape[batch+1]) > linalgMost {
				return nil
			}
			x.row, x.column = t.Operand.Strides[batch], t.Operand.Strides[batch+1]
		}
		m.tensors = append(m.tensors, x)
		m.name += fmt.Sprintf("_%s_%d", x.t, len(x.spans))
	}
	return m
}

// withRight notes the extents of a right-hand side.
func (m *linalgCall) withRight(tensor int) {
	s := m.nativeCall.tensors[tensor].Type.Shape
	m.height, m.width = int64(s[len(s)-2]), int64(s[len(s)-1])
}

// planShared has a block for each matrix, which works on so many elements in shared memory;
// false if they do not fit.
func (m *linalgCall) planShared(elements, pitch int64, write func(b *linalgBlock)) bool {
	most, shared := int64(m.target.shared()), int64(4<<10)
	if 8*elements+linalgHeader > most {
		return false
	}
	for shared < 8*elements+linalgHeader { // sizes are few, as texts are made for each
		shared = min(2*shared, most)
	}
	threads := 32
	for threads < 256 && int64(threads)*32 < elements {
		threads *= 2
	}
	m.add(fmt.Sprintf("%s_shared%d_%d", m.name, shared, threads), threads, func(a *asm) {
		a.dynamic = int(shared)
		write(m.block(a, threads, ".shared"))
	}, m.matrices, 1, 0, m.numbers(0, pitch, 0, 0, 0, 0)...)
	return true
}

// linalgPartThreads is the block size of launches over parts of matrices in scratch memory,
// linalgAloneThreads of those that have one block for each matrix.
const (
	linalgPartThreads  = 256
	linalgAloneThreads = 1024
)

// linalgLaunch appends a launch for a part of the algorithm that begins at a column, of so
// many blocks for each matrix; 0 is one large block.
type linalgLaunch func(name string, from, blocks int64, write func(b *linalgBlock))

// planScratch works on so many elements of each matrix in scratch memory; nil if they are too
// many.
func (m *linalgCall) planScratch(elements, pitch int64, steps func(launch linalgLaunch)) *Plan {
	pivots := linalgHeader + 8*elements
	bytes := (pivots + 4*m.order + 255) &^ 255
	if bytes > linalgMatrix {
		return nil
	}
	chunk := min(m.matrices, max(1, linalgChunk/bytes, ceil(m.matrices, linalgChunks)))
	at := m.room(chunk * bytes)
	for first := int64(0); first < m.matrices; first += chunk {
		steps(func(name string, from, blocks int64, write func(b *linalgBlock)) {
			threads := linalgPartThreads
			if blocks == 0 {
				threads, blocks = linalgAloneThreads, 1
			}
			m.add(m.name+"_"+name, threads, func(a *asm) { write(m.block(a, threads, ".global")) },
				min(chunk, m.matrices-first), blocks, 0, m.numbers(first, pitch, from, at, bytes, pivots)...)
		})
	}
	return m.plan
}

// numbers are those of a launch.
func (m *linalgCall) numbers(first, pitch, from, at, bytes, pivots int64) numbers {
	v := numbers{}
	v.add(first, m.order, m.height, m.width, pitch, from, at, bytes, pivots)
	for _, x := range m.tensors {
		v.add(x.row*int64(x.t.Size()), x.column*int64(x.t.Size()))
	}
	for _, x := range m.tensors {
		v.addSpans(x.spans, int64(x.t.Size()))
	}
	return v
}

// linalgBlock is the text of a block that has a matrix, or a part of one.
type linalgBlock struct {
	*asm
	threads    int
	space      string
	head       reg // address of the words in front
	w          sequence
	pitch      reg
	part       reg // number of the block among those of the matrix
	lane, warp reg
	at         []reg // the matrix, or number, of each tensor
	tensors    []linalgTensor
}

func (m *linalgCall) block(a *asm, threads int, space string) *linalgBlock {
	b := &linalgBlock{asm: a, threads: threads, space: space, pitch: a.number32(linalgPitch), tensors: m.tensors}
	item := a.to(b32, "mov.u32", "%ctaid.x")
	if space == ".shared" {
		b.head = a.to(b32, "mov.u32", "dyn")
	} else {
		b.head = a.step(a.scratchAt(linalgAt), item, a.number(linalgBytes))
	}
	b.w = sequence{a, space, b.head, linalgHeader, 8}
	b.part = a.to(b32, "mov.u32", "%ctaid.y")
	b.lane = a.to(b32, "and.b32", a.tidHead(), 31)
	b.warp = a.to(b32, "shr.u32", a.tidHead(), 5)
	matrix := a.to(b32, "add.u32", item, a.number32(linalgFirst))
	first := linalgStrides + 2*len(m.tensors)
	for i, x := range m.tensors {
		b.at = append(b.at, a.walk(matrix, a.slotReg(slotPointer, i, 0), len(x.spans), first))
		first += 2 * len(x.spans)
	}
	return b
}

// share is what the block has of a range, so much for each block of the matrix.
func (b *linalgBlock) share(from any, to reg, each int) (first, last reg) {
	first = b.to(b32, "mad.lo.u32", b.part, each, b.to(b32, "mov.b32", from))
	return first, b.to(b32, "min.u32", b.plus(first, each), to)
}

func (b *linalgBlock) order() reg { return b.number32(linalgOrder) }

// word and setWord are of those in front of the matrix.
func (b *linalgBlock) word(at int) reg { return b.to(b32, "ld"+b.space+".b32", mem(b.head, int64(at))) }

func (b *linalgBlock) setWord(at int, v reg, when reg) {
	b.opIf(when, "st"+b.space+".b32", mem(b.head, int64(at)), v)
}

func (b *linalgBlock) barrier() { b.op("bar.sync", "0") }

// element is where the matrix has its element of a row and a column.
func (b *linalgBlock) element(row, column reg) place {
	return b.w.from(b.to(b32, "mad.lo.u32", row, b.pitch, column))
}

// addressClass is the kind of registers that have places.
func (b *linalgBlock) addressClass() class {
	if b.space == ".shared" {
		return b32
	}
	return b64
}

// below is the place so many rows below another.
func (b *linalgBlock) below(p place, rows int) place {
	bytes := b.to(b32, "mul.lo.u32", b.pitch, 8*rows)
	if b.space == ".shared" {
		return place{p.sequence, b.plus(p.address, bytes)}
	}
	return place{p.sequence, b.to(b64, "add.s64", p.address, b.to(b64, "cvt.u64.u32", bytes))}
}

// of is the address of an element of a tensor.
func (b *linalgBlock) of(tensor int, row, column reg) reg {
	at := b.step(b.at[tensor], row, b.number(linalgStrides+2*tensor))
	return b.step(at, column, b.number(linalgStrides+2*tensor+1))
}

// plus and minus are of numbers of 32 bits.
func (a *asm) plus(x reg, y any) reg  { return a.to(b32, "add.u32", x, y) }
func (a *asm) minus(x reg, y any) reg { return a.to(b32, "sub.u32", x, y) }

// spread has each thread take every so manieth number from one up to another.
func (b *linalgBlock) spread(from any, to reg, body func(i reg)) {
	b.turns(b.plus(b.tidHead(), from), to, b.threads, body)
}

// cells gives each warp every so manieth row, and each lane every 32nd column of it; of a
// row, begin comes first.
func (b *linalgBlock) cells(fromRow any, toRow reg, fromColumn any, toColumn reg, begin func(row reg), body func(row, column reg)) {
	b.turns(b.plus(b.warp, fromRow), toRow, b.threads/32, func(row reg) {
		if begin != nil {
			begin(row)
		}
		b.turns(b.plus(b.lane, fromColumn), toColumn, 32, func(column reg) { body(row, column) })
	})
}

// start clears the words in front of the matrix.
func (b *linalgBlock) start() {
	first := b.to(pred, "setp.eq.u32", b.tidHead(), 0)
	for _, at := range []int{linalgBadX, linalgBadZ, linalgPivot, linalgInfo, linalgOdd} {
		b.setWord(at, b.constant(b32, 0), first)
	}
	b.barrier()
}

// unfinite notes an element that is infinite or NaN in a word.
func (b *linalgBlock) unfinite(v reg, word int) {
	b.setWord(word, b.constant(b32, 1), b.to(pred, "setp.ge.u64", b.absF64(v), b.constant(b64, 0x7ff<<52)))
}

// loadRows copies rows of a tensor's matrix to where it is worked on, from a column on.
func (b *linalgBlock) loadRows(tensor int, from any, to, columns reg, column reg, word int) {
	b.cells(from, to, 0, columns, nil, func(i, j reg) {
		v := b.loadWide(b.tensors[tensor].t, b.of(tensor, i, j))
		b.unfinite(v, word)
		b.element(i, b.plus(j, column)).setReal(0, v)
	})
}

// isSet is whether a word in front is not 0.
func (b *linalgBlock) isSet(word int) reg { return b.to(pred, "setp.ne.u32", b.word(word), 0) }

// nanWhen is NaN where something is bad.
func (b *linalgBlock) nanWhen(bad, v reg) reg {
	return b.to(b64, "selp.b64", b.constant(b64, 0x7ff8<<48), v, bad)
}

// storeInfo writes what became of the matrix, by the first thread.
func (b *linalgBlock) storeInfo(tensor int, info reg) {
	b.storeOne(ir.I64, b.to(b64, "cvt.u64.u32", info), b.at[tensor], 0, b.to(pred, "setp.eq.u32", b.tidHead(), 0))
}
