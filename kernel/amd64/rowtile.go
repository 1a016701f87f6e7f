package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// RowTile is one call of the routine for a single row: it folds K elements of A,
// [RowTiles.Steps] or one, and as many rows of B into the sums of Cols adjacent
// columns, which stay in the first cache between calls. Rows of B are read whole, so
// that a matrix too large for the caches streams. Steps are in bytes; the caller
// keeps the memory alive.
type RowTile struct {
	A, B, From, To uintptr // From holds the sums so far, To takes the new ones
	AStep, BStep   int64
	Vectors        int64 // whole vectors of columns
	Zero           int64 // 1: the sums begin from +0, and From is not read
	Add            int64 // 1: what is at To is added to the new sums
	mask           uint64
	lanes          [4]uint64
	K, Cols        int
}

// Offsets within a RowTile.
const (
	rowA = 8 * iota
	rowB
	rowFrom
	rowTo
	rowAStep
	rowBStep
	rowVectors
	rowZero
	rowAdd
	rowMask
	rowLanes
)

// RowTiles are the routines of one kind and level.
type RowTiles struct {
	Steps, Lanes, Size int
	level              Level
	region             *execmem.Region
	many, one          uintptr
}

var allRowTiles = [2][TileF64 + 1]func() *RowTiles{}

func init() {
	for _, level := range []Level{AVX2, AVX512} {
		for kind := range TileF64 + 1 {
			allRowTiles[level][kind] = sync.OnceValue(func() *RowTiles { return newRowTiles(level, kind) })
		}
	}
}

// RowTilesOf returns the routines of TileF32 or TileF64, nil for other kinds and where
// the processor has not the level.
func RowTilesOf(level Level, kind TileKind) *RowTiles {
	if !Available(level) || kind > TileF64 {
		return nil
	}
	return allRowTiles[level][kind]()
}

func newRowTiles(level Level, kind TileKind) *RowTiles {
	t := &RowTiles{Steps: 8, level: level, Size: kindAt(level, kind).size}
	t.Lanes = level.bytes() / t.Size
	a := asm.New()
	g := &rowGen{tileGen: tileGen{a: a, tileKind: kindAt(level, kind), wide: level == AVX512, length: asm.L256, rows: 1, vectors: 1}}
	if g.wide {
		g.length = asm.L512
	}
	g.emit(t.Steps)
	a.Align(64)
	one := a.Len()
	g.emit(1)
	t.region = mapped(a)
	t.many, t.one = t.region.Addr(), t.region.Addr()+uintptr(one)
	return t
}

// Run executes one call.
func (t *RowTiles) Run(x *RowTile) {
	x.Vectors = int64(x.Cols / t.Lanes)
	x.mask, x.lanes = 0, [4]uint64{}
	if rest := x.Cols % t.Lanes; rest > 0 {
		x.mask, x.lanes = laneMasks(t.level, t.Size, rest)
	}
	fn := t.many
	if x.K == 1 {
		fn = t.one
	}
	call(fn, unsafe.Pointer(x))
}

// rowGen emits the routine: one element of A in each of the first registers.
type rowGen struct {
	tileGen
	steps int
}

// Registers of the routine.
const (
	rB     = asm.AX
	rB1    = asm.CX // once, 3, 5 and 7 times the step from one row of B to the next
	rB3    = asm.DX
	rB5    = asm.BX
	rB7    = asm.SI
	rFrom  = asm.R8
	rTo    = asm.R9
	rCount = asm.R10
	rWork  = asm.R11
)

func (g *rowGen) rowAt(i int) asm.Mem {
	switch i {
	case 0:
		return asm.Ptr(rB, 0)
	case 1, 2, 4:
		return asm.Idx(rB, rB1, uint8(i), 0)
	case 3, 6:
		return asm.Idx(rB, rB3, uint8(i/3), 0)
	case 5:
		return asm.Idx(rB, rB5, 1, 0)
	}
	return asm.Idx(rB, rB7, 1, 0)
}

func (g *rowGen) emit(steps int) {
	a := g.a
	g.steps = steps
	word := func(at int32) asm.Mem { return asm.Ptr(asm.DI, at) }
	a.Load(rB, word(rowA))
	a.Load(rB1, word(rowAStep))
	for i := range steps {
		a.RM(g.spread, g.length, asm.Vec(i), asm.M(asm.Ptr(rB, 0)))
		a.Alu(asm.ADD, rB, rB1)
	}
	a.Load(rB, word(rowB))
	a.Load(rB1, word(rowBStep))
	a.Lea(rB3, asm.Idx(rB1, rB1, 2, 0))
	a.Lea(rB5, asm.Idx(rB1, rB1, 4, 0))
	a.Lea(rB7, asm.Idx(rB5, rB1, 2, 0))
	a.Load(rFrom, word(rowFrom))
	a.Load(rTo, word(rowTo))
	a.Load(rCount, word(rowVectors))
	if g.wide {
		a.Load(rWork, word(rowMask))
		a.KMov(tMask, rWork)
	} else {
		a.RM(asm.VMOVUPS, asm.L256, g.maskv(), asm.M(word(rowLanes)))
	}
	adds, done := a.NewLabel(), a.NewLabel()
	a.MemAluImm(asm.CMP, word(rowAdd), 0)
	a.Jcc(asm.NotEq, adds)
	for _, add := range []bool{false, true} {
		if add {
			a.Bind(adds)
		}
		zeros := a.NewLabel()
		a.MemAluImm(asm.CMP, word(rowZero), 0)
		a.Jcc(asm.NotEq, zeros)
		g.columns(false, add)
		a.Jmp(done)
		a.Bind(zeros)
		g.columns(true, add)
		a.Jmp(done)
	}
	a.Bind(done)
	a.VZeroUpper()
	a.Ret()
}

// The registers after the elements of A: sums, what is added, the mask (AVX2).
func (g *rowGen) acc() asm.Vec   { return 8 }
func (g *rowGen) tmp() asm.Vec   { return 9 }
func (g *rowGen) maskv() asm.Vec { return 10 }

// columns walks the columns, the last of them under the mask.
func (g *rowGen) columns(zero, add bool) {
	a := g.a
	rest, done := a.NewLabel(), a.NewLabel()
	a.Test(rCount, rCount)
	a.Jcc(asm.Eq, rest)
	a.Align(32)
	loop := a.Here()
	g.vector(zero, add, false)
	for _, r := range []asm.Reg{rB, rFrom, rTo} {
		a.AluImm(asm.ADD, r, int32(g.length.Bytes()))
	}
	a.Dec(rCount)
	a.Jcc(asm.NotEq, loop)
	a.Bind(rest)
	a.MemAluImm(asm.CMP, asm.Ptr(asm.DI, rowMask), 0)
	a.Jcc(asm.Eq, done)
	g.vector(zero, add, true)
	a.Bind(done)
}

func (g *rowGen) read(dst asm.Vec, m asm.Mem, masked bool) {
	switch {
	case !masked:
		g.a.RM(asm.VMOVUPS, g.length, dst, asm.M(m))
	case !g.wide:
		g.a.RVM(g.tileKind.load, g.length, dst, g.maskv(), asm.M(m))
	case g.size == 8:
		g.a.Masked(tMask, true).RM(asm.VMOVDQU64, g.length, dst, asm.M(m))
	default:
		g.a.Masked(tMask, true).RM(asm.VMOVUPS, g.length, dst, asm.M(m))
	}
}

func (g *rowGen) vector(zero, add, masked bool) {
	a := g.a
	if zero {
		g.clear(g.acc())
	} else {
		g.read(g.acc(), asm.Ptr(rFrom, 0), masked)
	}
	for i := range g.steps {
		if masked {
			g.read(g.tmp(), g.rowAt(i), true)
			a.RVM(g.fma, g.length, g.acc(), asm.Vec(i), asm.V(g.tmp()))
		} else {
			a.RVM(g.fma, g.length, g.acc(), asm.Vec(i), asm.M(g.rowAt(i)))
		}
	}
	if add {
		g.read(g.tmp(), asm.Ptr(rTo, 0), masked)
		a.RVM(g.add, g.length, g.acc(), g.tmp(), asm.V(g.acc()))
	}
	switch m := asm.Ptr(rTo, 0); {
	case !masked:
		a.MR(asm.VMOVUPSST, g.length, asm.M(m), g.acc())
	case !g.wide:
		a.MVR(g.save, g.length, m, g.maskv(), g.acc())
	case g.size == 8:
		a.Masked(tMask, false).MR(asm.VMOVDQU64ST, g.length, asm.M(m), g.acc())
	default:
		a.Masked(tMask, false).MR(asm.VMOVUPSST, g.length, asm.M(m), g.acc())
	}
}
