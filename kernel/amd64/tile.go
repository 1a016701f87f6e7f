package amd64

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// TileKind is what the micro-kernels of a set multiply and add.
type TileKind uint8

// The kinds of micro-kernel.
const (
	TileF32 TileKind = iota
	TileF64
	numTileKinds
)

// tileKind describes a kind to the generator.
type tileKind struct {
	size       int // bytes of an element of A, of B and of the sums
	fma, add   asm.Op
	load, save asm.Op // under a vector mask, AVX2
	spread     asm.Op
}

var tileKinds = [numTileKinds]tileKind{
	TileF32: {4, asm.VFMADD231PS, asm.VADDPS, asm.VMASKMOVPS, asm.VMASKMOVPSST, asm.VBROADCASTSS},
	TileF64: {8, asm.VFMADD231PD, asm.VADDPD, asm.VPMASKMOVQ, asm.VPMASKMOVQST, asm.VBROADCASTSD},
}

// Tile is one call of a micro-kernel: it multiplies Rows x K elements of A by K
// rows of Cols adjacent elements of B,
//
//	C[i][j] = sum over k, ascending, by fma from +0, of A[i][k] * B[k][j]
//
// or, with Add, C[i][j] plus that sum. Steps are in bytes, and may be 0 or
// negative; Cols is at most [Tiles.Cols], Rows at most [Tiles.Rows]. The caller
// keeps the memory alive.
type Tile struct {
	A, B, C     uintptr
	ARow, AStep int64 // from one row of A to the next, and along k
	BStep, CRow int64 // from one row of B, of C, to the next
	K           int64
	Add         int64 // 0 or 1
	mask        uint64
	_           [3]int64
	lanes       [4]uint64 // the mask as a vector
	Rows, Cols  int
}

// Offsets within a Tile.
const (
	tileA = 8 * iota
	tileB
	tileC
	tileARow
	tileAStep
	tileBStep
	tileCRow
	tileK
	tileAdd
	tileMask
	tileLanes = 104
)

// Tiles are the micro-kernels of one kind and level: for every number of rows and
// of vectors of columns, with and without a mask for the last of these. They are
// generated when the first of a group is asked for, once in a process.
type Tiles struct {
	Rows, Cols int // of the largest
	Lanes      int // elements in a vector
	Size       int // bytes of an element
	level      Level
	kind       TileKind
	groups     []func() *tileGroup // by vectors and mask
}

// tileGroup is the code for all numbers of rows at one width.
type tileGroup struct {
	region *execmem.Region
	entry  []uintptr // by rows less one
}

// tileVectors is the most vectors of columns.
const tileVectors = 2

var allTiles = [2][numTileKinds]func() *Tiles{}

func init() {
	for _, level := range []Level{AVX2, AVX512} {
		for kind := range numTileKinds {
			allTiles[level][kind] = sync.OnceValue(func() *Tiles { return newTiles(level, kind) })
		}
	}
}

// TilesOf returns the micro-kernels of a kind, nil where the processor has not
// the level.
func TilesOf(level Level, kind TileKind) *Tiles {
	if !Available(level) {
		return nil
	}
	return allTiles[level][kind]()
}

func newTiles(level Level, kind TileKind) *Tiles {
	t := &Tiles{Rows: 14, level: level, kind: kind, Size: tileKinds[kind].size}
	if level == AVX2 {
		t.Rows = 6
	}
	t.Lanes = level.bytes() / t.Size
	t.Cols = tileVectors * t.Lanes
	for n := range 2 * tileVectors {
		t.groups = append(t.groups, sync.OnceValue(func() *tileGroup { return t.group(n/2+1, n%2 == 1) }))
	}
	return t
}

// group generates the micro-kernels of so many vectors.
func (t *Tiles) group(vectors int, masked bool) *tileGroup {
	a := asm.New()
	at := make([]int, t.Rows)
	for i := range at {
		a.Align(64)
		at[i] = a.Len()
		g := &tileGen{a: a, tileKind: &tileKinds[t.kind], wide: t.level == AVX512, length: asm.L256, rows: i + 1, vectors: vectors, masked: masked}
		if g.wide {
			g.length = asm.L512
		}
		g.emit()
	}
	region, err := execmem.Map(a.Finish())
	if err != nil { // memory for code was there before
		panic(fmt.Sprintf("amd64: no memory for micro-kernels: %v", err))
	}
	g := &tileGroup{region: region}
	for _, n := range at {
		g.entry = append(g.entry, region.Addr()+uintptr(n))
	}
	return g
}

// Run executes one call.
func (t *Tiles) Run(x *Tile) {
	if x.K <= 0 {
		return
	}
	vectors := (x.Cols + t.Lanes - 1) / t.Lanes
	n := 2 * (vectors - 1)
	if last := x.Cols - (vectors-1)*t.Lanes; last < t.Lanes {
		n++
		x.mask, x.lanes = laneMasks(t.level, t.Size, last)
	}
	call(t.groups[n]().entry[x.Rows-1], unsafe.Pointer(x))
}

// laneMasks returns the masks of the first n lanes.
func laneMasks(level Level, size, n int) (bits uint64, lanes [4]uint64) {
	if level == AVX512 {
		return 1<<n - 1, lanes
	}
	for i := range n * size {
		lanes[i/8] |= 0xff << (8 * (i % 8))
	}
	return 1<<n - 1, lanes
}

// tileGen emits one micro-kernel. Rows 0 to 6 of A are addressed from one
// register, rows 7 to 13 from a second, with once, three and five times the row
// step in others; the sums stay in registers over all k.
type tileGen struct {
	a *asm.Asm
	*tileKind
	wide    bool
	length  asm.Len
	rows    int
	vectors int
	masked  bool
}

// Registers of a micro-kernel.
const (
	tA0    = asm.AX
	tA7    = asm.CX
	tRow   = asm.DX
	tRow3  = asm.BX
	tRow5  = asm.SI
	tStep  = asm.R8
	tB     = asm.R9
	tBStep = asm.R10
	tLeft  = asm.R11
	tC     = asm.R12
	tCRow  = asm.R13
	tTmp   = asm.R14
)

// Predicate of the last vector.
const tMask = asm.Mask(1)

// tileUnroll is how many steps of k one turn of the loop makes.
const tileUnroll = 4

func (g *tileGen) sum(row, vector int) asm.Vec { return asm.Vec(row*g.vectors + vector) }

// operand registers follow the sums: the vectors of B, then one of A (AVX2), then
// the mask (AVX2).
func (g *tileGen) b(vector int) asm.Vec { return asm.Vec(g.rows*g.vectors + vector) }
func (g *tileGen) av() asm.Vec          { return g.b(g.vectors) }
func (g *tileGen) maskv() asm.Vec       { return g.b(g.vectors + 1) }

func (g *tileGen) emit() {
	a := g.a
	word := func(at int32) asm.Mem { return asm.Ptr(asm.DI, at) }
	for _, r := range []struct {
		reg asm.Reg
		at  int32
	}{{tA0, tileA}, {tRow, tileARow}, {tStep, tileAStep}, {tB, tileB}, {tBStep, tileBStep}, {tC, tileC}, {tCRow, tileCRow}, {tLeft, tileK}} {
		a.Load(r.reg, word(r.at))
	}
	if g.rows > 3 {
		a.Lea(tRow3, asm.Idx(tRow, tRow, 2, 0))
	}
	if g.rows > 5 {
		a.Lea(tRow5, asm.Idx(tRow, tRow, 4, 0))
	}
	if g.rows > 7 {
		a.Lea(tA7, asm.Idx(tA0, tRow3, 2, 0))
		a.Alu(asm.ADD, tA7, tRow)
	}
	if g.masked {
		g.loadMask()
	}
	for i := range g.rows * g.vectors {
		g.clear(asm.Vec(i))
	}
	few, loop, done := a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.AluImm(asm.SUB, tLeft, tileUnroll)
	a.Jcc(asm.Less, few)
	a.Align(32)
	a.Bind(loop)
	for range tileUnroll {
		g.step()
	}
	a.AluImm(asm.SUB, tLeft, tileUnroll)
	a.Jcc(asm.GreatEq, loop)
	a.Bind(few)
	a.AluImm(asm.ADD, tLeft, tileUnroll)
	a.Jcc(asm.Eq, done)
	one := a.Here()
	g.step()
	a.Dec(tLeft)
	a.Jcc(asm.NotEq, one)
	a.Bind(done)
	g.finish()
	a.VZeroUpper()
	a.Ret()
}

func (g *tileGen) clear(v asm.Vec) {
	if v < 16 {
		g.a.RVM(asm.VPXOR, asm.L128, v, v, asm.V(v))
		return
	}
	g.a.RVM(asm.VPXOR, asm.L512, v, v, asm.V(v))
}

func (g *tileGen) loadMask() {
	if g.wide {
		g.a.Load(tTmp, asm.Ptr(asm.DI, tileMask))
		g.a.KMov(tMask, tTmp)
		return
	}
	g.a.RM(asm.VMOVUPS, asm.L256, g.maskv(), asm.M(asm.Ptr(asm.DI, tileLanes)))
}

// last reports whether a vector is the one under the mask.
func (g *tileGen) last(vector int) bool { return g.masked && vector == g.vectors-1 }

// load reads a vector of B or C.
func (g *tileGen) load(dst asm.Vec, m asm.Mem, vector int) {
	switch {
	case !g.last(vector):
		g.a.RM(asm.VMOVUPS, g.length, dst, asm.M(m))
	case !g.wide:
		g.a.RVM(g.tileKind.load, g.length, dst, g.maskv(), asm.M(m))
	case g.size == 8:
		g.a.Masked(tMask, true).RM(asm.VMOVDQU64, g.length, dst, asm.M(m))
	default:
		g.a.Masked(tMask, true).RM(asm.VMOVUPS, g.length, dst, asm.M(m))
	}
}

// rowOf is the element of A in a row.
func (g *tileGen) rowOf(i int) asm.Mem {
	base := tA0
	if i >= 7 {
		base, i = tA7, i-7
	}
	switch i {
	case 0:
		return asm.Ptr(base, 0)
	case 1, 2, 4:
		return asm.Idx(base, tRow, uint8(i), 0)
	case 3, 6:
		return asm.Idx(base, tRow3, uint8(i/3), 0)
	}
	return asm.Idx(base, tRow5, 1, 0)
}

// step adds the products of one k.
func (g *tileGen) step() {
	a := g.a
	for v := range g.vectors {
		g.load(g.b(v), asm.Ptr(tB, int32(v*g.length.Bytes())), v)
	}
	for i := range g.rows {
		if g.wide {
			for v := range g.vectors {
				a.RVM(g.fma, g.length, g.sum(i, v), g.b(v), asm.MB(g.rowOf(i)))
			}
			continue
		}
		a.RM(g.spread, g.length, g.av(), asm.M(g.rowOf(i)))
		for v := range g.vectors {
			a.RVM(g.fma, g.length, g.sum(i, v), g.b(v), asm.V(g.av()))
		}
	}
	a.Alu(asm.ADD, tA0, tStep)
	if g.rows > 7 {
		a.Alu(asm.ADD, tA7, tStep)
	}
	a.Alu(asm.ADD, tB, tBStep)
}

// finish writes the sums, or adds them to what is there.
func (g *tileGen) finish() {
	a := g.a
	write := a.NewLabel()
	a.MemAluImm(asm.CMP, asm.Ptr(asm.DI, tileAdd), 0)
	a.Jcc(asm.Eq, write)
	a.Mov(tTmp, tC)
	for i := range g.rows {
		for v := range g.vectors {
			x := g.b(v)
			g.load(x, asm.Ptr(tTmp, int32(v*g.length.Bytes())), v)
			a.RVM(g.add, g.length, g.sum(i, v), x, asm.V(g.sum(i, v)))
		}
		if i < g.rows-1 {
			a.Alu(asm.ADD, tTmp, tCRow)
		}
	}
	a.Bind(write)
	for i := range g.rows {
		for v := range g.vectors {
			g.store(asm.Ptr(tC, int32(v*g.length.Bytes())), g.sum(i, v), v)
		}
		if i < g.rows-1 {
			a.Alu(asm.ADD, tC, tCRow)
		}
	}
}

func (g *tileGen) store(m asm.Mem, src asm.Vec, vector int) {
	switch {
	case !g.last(vector):
		g.a.MR(asm.VMOVUPSST, g.length, asm.M(m), src)
	case !g.wide:
		g.a.MVR(g.save, g.length, m, g.maskv(), src)
	case g.size == 8:
		g.a.Masked(tMask, false).MR(asm.VMOVDQU64ST, g.length, asm.M(m), src)
	default:
		g.a.Masked(tMask, false).MR(asm.VMOVUPSST, g.length, asm.M(m), src)
	}
}
