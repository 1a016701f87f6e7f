package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Linear algebra takes the steps of gonum's BLAS and LAPACK, which the host runs, in f64 and
// in the order in which they round; steps that do not depend on each other are taken by
// different threads. A block takes a matrix of the stack to its shared memory if it fits.
// Larger ones are worked on in scratch memory, a launch for each part of the algorithm.

// matrixLargest is the order beyond which matrices are left to the host, for their memory.
const matrixLargest = 8192

// matrixMost bounds what few blocks are made of: rows or columns of a right-hand side.
const matrixMost = 1 << 20

// matrixChunk is the scratch memory of matrices that are there together. A node has
// matrixChunks at most.
const (
	matrixChunk  = 256 << 20
	matrixChunks = 16
)

// The words in front of a matrix where it is worked on.
const (
	matrixBadX   = 4 * iota // the matrix has elements that are not finite
	matrixBadZ              // the right-hand side has
	matrixPivot             // the row of the pivot, with matrixNoPivot if it is 0
	matrixInfo              // 1 + the first pivot that is 0, or not positive
	matrixOdd               // whether there was an odd number of exchanges of rows
	matrixHeader = 64
)

const matrixNoPivot = 1 << 31

// The numbers of a launch.
const (
	matrixFirst   = iota // matrix of the stack
	matrixOrder          // n
	matrixHeight         // rows of the right-hand side
	matrixWidth          // and columns
	matrixPitch          // elements from a row to the next where the matrix is worked on
	matrixFrom           // column at which a part of the algorithm begins
	matrixAt             // scratch memory
	matrixBytes          // of a matrix there
	matrixPivots         // where its pivots are there, behind the words in front
	matrixStrides        // of the rows and columns of each tensor, in bytes
)

// matrixTensor is a stack of matrices, or of numbers, among the tensors of a node.
type matrixTensor struct {
	t           ir.DType
	spans       []span // of the stack
	row, column int64  // strides in elements
}

// matrixCall is a node of linear algebra on its way to a plan.
type matrixCall struct {
	*nativeCall
	name     string
	tensors  []matrixTensor
	matrices int64
	order    int64 // n
	height   int64 // of the right-hand side
	width    int64
}

// matrixCall looks at the tensors of a node, operands and results, with as many axes of a
// matrix each; nil if they are left to the host.
func (c *nativeCall) matrixCall(axes ...int) *matrixCall {
	shape := c.tensors[0].Type.Shape
	m := &matrixCall{nativeCall: c, name: c.Row.Name, order: int64(shape[len(shape)-1]), matrices: int64(shape[:len(shape)-2].Size())}
	if c.tooLarge() || m.order > matrixLargest {
		return nil
	}
	for i, n := range axes {
		t := &c.tensors[i]
		batch := len(t.Type.Shape) - n
		x := matrixTensor{t: t.Type.DType, spans: spansOf(t.Type.Shape[:batch], t.Operand.Strides[:batch])}
		if n > 0 {
			if max(t.Type.Shape[batch], t.Type.Shape[batch+1]) > matrixMost {
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
func (m *matrixCall) withRight(tensor int) {
	s := m.nativeCall.tensors[tensor].Type.Shape
	m.height, m.width = int64(s[len(s)-2]), int64(s[len(s)-1])
}

// planShared has a block for each matrix, which works on so many elements in shared memory;
// false if they do not fit.
func (m *matrixCall) planShared(elements, pitch int64, write func(b *matrixBlock)) bool {
	most, shared := int64(m.target.shared()), int64(4<<10)
	if 8*elements+matrixHeader > most {
		return false
	}
	for shared < 8*elements+matrixHeader { // sizes are few, as texts are made for each
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

// matrixPartThreads is the block size of launches over parts of matrices in scratch memory,
// matrixAloneThreads of those that have one block for each matrix.
const (
	matrixPartThreads  = 256
	matrixAloneThreads = 1024
)

// matrixLaunch appends a launch for a part of the algorithm that begins at a column, of so
// many blocks for each matrix; 0 is one large block.
type matrixLaunch func(name string, from, blocks int64, write func(b *matrixBlock))

// planScratch works on so many elements of each matrix in scratch memory.
func (m *matrixCall) planScratch(elements, pitch int64, steps func(launch matrixLaunch)) {
	pivots := matrixHeader + 8*elements
	bytes := (pivots + 4*m.order + 255) &^ 255
	chunk := min(m.matrices, max(1, matrixChunk/bytes, ceil(m.matrices, matrixChunks)))
	at := m.room(chunk * bytes)
	for first := int64(0); first < m.matrices; first += chunk {
		steps(func(name string, from, blocks int64, write func(b *matrixBlock)) {
			threads := matrixPartThreads
			if blocks == 0 {
				threads, blocks = matrixAloneThreads, 1
			}
			m.add(m.name+"_"+name, threads, func(a *asm) { write(m.block(a, threads, ".global")) },
				min(chunk, m.matrices-first), blocks, 0, m.numbers(first, pitch, from, at, bytes, pivots)...)
		})
	}
}

// numbers are those of a launch.
func (m *matrixCall) numbers(first, pitch, from, at, bytes, pivots int64) numbers {
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

// matrixBlock is the text of a block that has a matrix, or a part of one.
type matrixBlock struct {
	*asm
	threads    int
	space      string
	head       reg // address of the words in front
	w          sequence
	pitch      reg
	part       reg // number of the block among those of the matrix
	lane, warp reg
	at         []reg // the matrix, or number, of each tensor
	tensors    []matrixTensor
}

func (m *matrixCall) block(a *asm, threads int, space string) *matrixBlock {
	b := &matrixBlock{asm: a, threads: threads, space: space, pitch: a.number32(matrixPitch), tensors: m.tensors}
	item := a.to(b32, "mov.u32", "%ctaid.x")
	if space == ".shared" {
		b.head = a.to(b32, "mov.u32", "dyn")
	} else {
		b.head = a.step(a.scratchAt(matrixAt), item, a.number(matrixBytes))
	}
	b.w = sequence{a, space, b.head, matrixHeader, 8}
	b.part = a.to(b32, "mov.u32", "%ctaid.y")
	b.lane = a.to(b32, "and.b32", a.tidHead(), 31)
	b.warp = a.to(b32, "shr.u32", a.tidHead(), 5)
	matrix := a.to(b32, "add.u32", item, a.number32(matrixFirst))
	first := matrixStrides + 2*len(m.tensors)
	for i, x := range m.tensors {
		b.at = append(b.at, a.walk(matrix, a.slotReg(slotPointer, i, 0), len(x.spans), first))
		first += 2 * len(x.spans)
	}
	return b
}

// share is what the block has of a range, so much for each block of the matrix.
func (b *matrixBlock) share(from any, to reg, each int) (first, last reg) {
	first = b.to(b32, "mad.lo.u32", b.part, each, b.to(b32, "mov.b32", from))
	return first, b.to(b32, "min.u32", b.plus(first, each), to)
}

func (b *matrixBlock) order() reg { return b.number32(matrixOrder) }

// word and setWord are of those in front of the matrix.
func (b *matrixBlock) word(at int) reg { return b.to(b32, "ld"+b.space+".b32", mem(b.head, int64(at))) }

func (b *matrixBlock) setWord(at int, v reg, when reg) {
	b.opIf(when, "st"+b.space+".b32", mem(b.head, int64(at)), v)
}

func (b *matrixBlock) barrier() { b.op("bar.sync", "0") }

// element is where the matrix has its element of a row and a column.
func (b *matrixBlock) element(row, column reg) place {
	return b.w.from(b.to(b32, "mad.lo.u32", row, b.pitch, column))
}

// addressClass is the kind of registers that have places.
func (b *matrixBlock) addressClass() class {
	if b.space == ".shared" {
		return b32
	}
	return b64
}

// below is the place so many rows below another.
func (b *matrixBlock) below(p place, rows int) place {
	bytes := b.to(b32, "mul.lo.u32", b.pitch, 8*rows)
	if b.space == ".shared" {
		return place{p.sequence, b.plus(p.address, bytes)}
	}
	return place{p.sequence, b.to(b64, "add.s64", p.address, b.to(b64, "cvt.u64.u32", bytes))}
}

// of is the address of an element of a tensor.
func (b *matrixBlock) of(tensor int, row, column reg) reg {
	at := b.step(b.at[tensor], row, b.number(matrixStrides+2*tensor))
	return b.step(at, column, b.number(matrixStrides+2*tensor+1))
}

// plus and minus are of numbers of 32 bits.
func (a *asm) plus(x reg, y any) reg  { return a.to(b32, "add.u32", x, y) }
func (a *asm) minus(x reg, y any) reg { return a.to(b32, "sub.u32", x, y) }

// turns counts a register from a number up to another, which it may not reach, by steps.
func (a *asm) turns(from any, to reg, step int, body func(i reg)) {
	i := a.to(b32, "mov.b32", from)
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.ge.u32", i, to), "bra", done)
	body(i)
	a.op("add.u32", i, i, step)
	a.op("bra", again)
	a.place(done)
}

// downward counts a register from a number down to 0; from the number minus 1 on.
func (a *asm) downward(from reg, body func(i reg)) {
	i := a.to(b32, "mov.b32", from)
	again, done := a.label(), a.label()
	a.place(again)
	a.opIf(a.to(pred, "setp.eq.u32", i, 0), "bra", done)
	a.op("sub.u32", i, i, 1)
	body(i)
	a.op("bra", again)
	a.place(done)
}

// spread has each thread take every so manieth number from one up to another.
func (b *matrixBlock) spread(from any, to reg, body func(i reg)) {
	b.turns(b.plus(b.tidHead(), from), to, b.threads, body)
}

// cells gives each warp every so manieth row, and each lane every 32nd column of it; of a
// row, begin comes first.
func (b *matrixBlock) cells(fromRow any, toRow reg, fromColumn any, toColumn reg, begin func(row reg), body func(row, column reg)) {
	b.turns(b.plus(b.warp, fromRow), toRow, b.threads/32, func(row reg) {
		if begin != nil {
			begin(row)
		}
		b.turns(b.plus(b.lane, fromColumn), toColumn, 32, func(column reg) { body(row, column) })
	})
}

// only runs a body in one branch.
func (a *asm) only(when reg, body func()) {
	done := a.label()
	a.opUnless(when, "bra", done)
	body()
	a.place(done)
}

// start clears the words in front of the matrix.
func (b *matrixBlock) start() {
	first := b.to(pred, "setp.eq.u32", b.tidHead(), 0)
	for _, at := range []int{matrixBadX, matrixBadZ, matrixPivot, matrixInfo, matrixOdd} {
		b.setWord(at, b.constant(b32, 0), first)
	}
	b.barrier()
}

// unfinite notes an element that is infinite or NaN in a word.
func (b *matrixBlock) unfinite(v reg, word int) {
	b.setWord(word, b.constant(b32, 1), b.to(pred, "setp.ge.u64", b.absF64(v), b.constant(b64, 0x7ff<<52)))
}

// loadRows copies rows of a tensor's matrix to where it is worked on, from a column on.
func (b *matrixBlock) loadRows(tensor int, from any, to, columns reg, column reg, word int) {
	b.cells(from, to, 0, columns, nil, func(i, j reg) {
		v := b.loadWide(b.tensors[tensor].t, b.of(tensor, i, j))
		b.unfinite(v, word)
		b.element(i, b.plus(j, column)).setReal(0, v)
	})
}

// isSet is whether a word in front is not 0.
func (b *matrixBlock) isSet(word int) reg { return b.to(pred, "setp.ne.u32", b.word(word), 0) }

// nanWhen is NaN where something is bad.
func (b *matrixBlock) nanWhen(bad, v reg) reg {
	return b.to(b64, "selp.b64", b.constant(b64, 0x7ff8<<48), v, bad)
}

// storeInfo writes what became of the matrix, by the first thread.
func (b *matrixBlock) storeInfo(tensor int, info reg) {
	b.storeOne(ir.I64, b.to(b64, "cvt.u64.u32", info), b.at[tensor], 0, b.to(pred, "setp.eq.u32", b.tidHead(), 0))
}
