package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// transposeJob is the context of the transposing routine: blocks of so many
// elements along both sides of a matrix.
type transposeJob struct {
	src, dst       unsafe.Pointer
	srcRow, dstRow int64 // bytes
	rows, columns  int64 // of the source, in blocks, at least one
}

// Sides of the blocks that are transposed in registers. Eight rows of a source
// whose stride is a power of two just fit into the ways of one set of the
// first-level cache.
const (
	side32 = 8
	side64 = 4
)

// transposers are the routines by element size, nil where there is none.
var transposers = sync.OnceValue(func() (r [9]*Routine) {
	if !Available(AVX2) {
		return r
	}
	for size, f := range map[int]func(*asm.Asm, []asm.Mem, []asm.Mem){4: transpose32, 8: transpose64} {
		a := asm.New()
		transposeLoop(a, size, f)
		r[size], _ = Assemble(a)
	}
	return r
})

// transpose writes element (i, j) of a source to (j, i) of a destination; the rows
// of both are adjacent elements of size bytes, their distances in bytes.
func transpose(dst unsafe.Pointer, dstRow int64, src unsafe.Pointer, srcRow, rows, columns int64, size int) {
	side := int64(side32)
	if size == 8 {
		side = side64
	}
	doneRows, doneColumns := int64(0), int64(0)
	if r := transposers()[size]; r != nil && rows >= side && columns >= side {
		j := transposeJob{src, dst, srcRow, dstRow, rows / side, columns / side}
		r.Call(unsafe.Pointer(&j))
		doneRows, doneColumns = rows/side*side, columns/side*side
	}
	rest := func(i, from int64) {
		if from < columns {
			n := int64(size)
			copyRun(unsafe.Add(src, i*srcRow+from*n), unsafe.Add(dst, from*dstRow+i*n), columns-from, dstRow, size, false)
		}
	}
	for i := range doneRows {
		rest(i, doneColumns)
	}
	for i := doneRows; i < rows; i++ {
		rest(i, 0)
	}
}

// transposeLoop emits the walk over the blocks: along the rows of the source, so
// that each of its lines is read while it is near.
func transposeLoop(a *asm.Asm, size int, block func(a *asm.Asm, from, to []asm.Mem)) {
	side := int32(32 / size)
	field := func(i int32) asm.Mem { return asm.Ptr(asm.DI, 8*i) }
	src, dst, srcRow, dstRow, rows := asm.SI, asm.R8, asm.R9, asm.R10, asm.R11
	src3, dst3, src4, dst4 := asm.R12, asm.R13, asm.AX, asm.BX // three rows further in bytes, and from where the fifth row begins
	columns, from, to := asm.CX, asm.DX, asm.R14
	a.Load(from, field(0))
	a.Load(to, field(1))
	a.Load(srcRow, field(2))
	a.Load(dstRow, field(3))
	a.Load(rows, field(4))
	a.Lea(src3, asm.Idx(srcRow, srcRow, 2, 0))
	a.Lea(dst3, asm.Idx(dstRow, dstRow, 2, 0))
	line := a.Here()
	a.Load(columns, field(5))
	a.Mov(src, from)
	a.Mov(dst, to)
	a.Align(16)
	next := a.Here()
	a.Lea(src4, asm.Idx(src, srcRow, 4, 0))
	a.Lea(dst4, asm.Idx(dst, dstRow, 4, 0))
	rowsOf := func(first, fifth, row, row3 asm.Reg) (m []asm.Mem) {
		for _, base := range []asm.Reg{first, fifth} {
			m = append(m, asm.Ptr(base, 0), asm.Idx(base, row, 1, 0), asm.Idx(base, row, 2, 0), asm.Idx(base, row3, 1, 0))
		}
		return m[:side]
	}
	block(a, rowsOf(src, src4, srcRow, src3), rowsOf(dst, dst4, dstRow, dst3))
	a.AluImm(asm.ADD, src, 32)
	a.ImulImm(src4, dstRow, side)
	a.Alu(asm.ADD, dst, src4)
	a.Dec(columns)
	a.Jcc(asm.NotEq, next)
	a.ImulImm(src4, srcRow, side)
	a.Alu(asm.ADD, from, src4)
	a.AluImm(asm.ADD, to, 32)
	a.Dec(rows)
	a.Jcc(asm.NotEq, line)
	a.VZeroUpper()
	a.Ret()
}

// transpose32 transposes eight rows of eight elements of 4 bytes. The halves of rows
// four apart are put together on loading, which takes no shuffles.
func transpose32(a *asm.Asm, from, to []asm.Mem) {
	shift := func(m asm.Mem) asm.Mem { m.Disp += 16; return m }
	for half := range asm.Vec(2) {
		x := func(i asm.Vec) asm.Vec { return 4*half + i }
		for i := range asm.Vec(4) {
			low, high := from[i], from[i+4]
			if half == 1 {
				low, high = shift(low), shift(high)
			}
			a.RM(asm.VMOVUPS, asm.L128, x(i), asm.M(low))
			a.RVMI(asm.VINSERTF128, asm.L256, x(i), x(i), asm.M(high), 1)
		}
		a.RVM(asm.VUNPCKLPS, asm.L256, 8, x(0), asm.V(x(1)))
		a.RVM(asm.VUNPCKHPS, asm.L256, 9, x(0), asm.V(x(1)))
		a.RVM(asm.VUNPCKLPS, asm.L256, 10, x(2), asm.V(x(3)))
		a.RVM(asm.VUNPCKHPS, asm.L256, 11, x(2), asm.V(x(3)))
		for j := range asm.Vec(4) { // low halves of a pair, then high ones
			a.RVMI(asm.VSHUFPS, asm.L256, 12, 8+j/2, asm.V(10+j/2), [...]uint8{0x44, 0xee}[j%2])
			a.MR(asm.VMOVUPSST, asm.L256, asm.M(to[4*half+j]), 12)
		}
	}
}

// transpose64 transposes four rows of four elements of 8 bytes.
func transpose64(a *asm.Asm, from, to []asm.Mem) {
	for half := range asm.Vec(2) {
		for i := range asm.Vec(2) {
			low, high := from[i], from[i+2]
			low.Disp += 16 * int32(half)
			high.Disp += 16 * int32(half)
			a.RM(asm.VMOVUPS, asm.L128, i, asm.M(low))
			a.RVMI(asm.VINSERTF128, asm.L256, i, i, asm.M(high), 1)
		}
		a.RVMI(asm.VSHUFPS, asm.L256, 2, 0, asm.V(1), 0x44)
		a.RVMI(asm.VSHUFPS, asm.L256, 3, 0, asm.V(1), 0xee)
		a.MR(asm.VMOVUPSST, asm.L256, asm.M(to[2*half]), 2)
		a.MR(asm.VMOVUPSST, asm.L256, asm.M(to[2*half+1]), 3)
	}
}
