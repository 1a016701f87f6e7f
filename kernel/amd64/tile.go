package amd64

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// TileKind is what the micro-kernels of a set multiply and add. A and B consist of
// lanes of Size bytes; a lane holds Per elements that follow each other along k.
type TileKind uint8

// The kinds of micro-kernel. Sums of integers wrap.
const (
	TileF32 TileKind = iota
	TileF64
	TileI32  // 32-bit integers
	TileI16  // pairs of i16, into i32
	TileI8   // fours, i8 in A and u8 in B, into i32; only where [HasTiles] says so
	TileBF16 // pairs of bf16, into f32: the odd element, then the even one, see [kernel.PairDot]
	numTileKinds
)

// tileKind describes a kind to the generator.
type tileKind struct {
	size, per  int
	mul        asm.Op // before the addition, where one instruction does not do both
	fma, add   asm.Op // fma without mul adds products of its own
	load, save asm.Op // under a vector mask, AVX2
	spread     asm.Op
	embeds     bool // A can be the operand in memory, spread over the lanes (AVX-512)
	rows, wide int  // in the largest tile, AVX2 and AVX-512
	emulated   bool // pairs of bf16 by f32
}

var tileKinds = [numTileKinds]tileKind{
	TileF32:  {size: 4, per: 1, fma: asm.VFMADD231PS, add: asm.VADDPS, load: asm.VMASKMOVPS, save: asm.VMASKMOVPSST, spread: asm.VBROADCASTSS, embeds: true, rows: 6, wide: 14},
	TileF64:  {size: 8, per: 1, fma: asm.VFMADD231PD, add: asm.VADDPD, load: asm.VPMASKMOVQ, save: asm.VPMASKMOVQST, spread: asm.VBROADCASTSD, embeds: true, rows: 6, wide: 14},
	TileI32:  {size: 4, per: 1, mul: asm.VPMULLD, fma: asm.VPADDD, add: asm.VPADDD, load: asm.VMASKMOVPS, save: asm.VMASKMOVPSST, spread: asm.VBROADCASTSS, embeds: true, rows: 4, wide: 12},
	TileI16:  {size: 4, per: 2, mul: asm.VPMADDWD, fma: asm.VPADDD, add: asm.VPADDD, load: asm.VMASKMOVPS, save: asm.VMASKMOVPSST, spread: asm.VBROADCASTSS, rows: 4, wide: 12},
	TileI8:   {size: 4, per: 4, fma: asm.VPDPBUSD, add: asm.VPADDD, spread: asm.VBROADCASTSS, embeds: true, wide: 14},
	TileBF16: {size: 4, per: 2, fma: asm.VDPBF16PS, add: asm.VADDPS, load: asm.VMASKMOVPS, save: asm.VMASKMOVPSST, spread: asm.VBROADCASTSS, embeds: true, rows: 4, wide: 14},
}

// kindAt returns a kind as a level has it, nil if it has not.
func kindAt(level Level, kind TileKind) *tileKind {
	k := tileKinds[kind]
	x := &cpu.X86
	switch kind {
	case TileI8:
		if level != AVX512 || !x.HasAVX512VNNI {
			return nil
		}
	case TileI16:
		if level == AVX512 && x.HasAVX512VNNI {
			k.mul, k.fma, k.embeds, k.wide = 0, asm.VPDPWSSD, true, 14
		}
	case TileBF16:
		if level != AVX512 || !x.HasAVX512BF16 {
			k.emulated, k.embeds, k.fma, k.wide = true, false, asm.VFMADD231PS, 10
		}
	}
	return &k
}

// HasTiles reports whether the processor has micro-kernels of a kind.
func HasTiles(level Level, kind TileKind) bool { return Available(level) && kindAt(level, kind) != nil }

// Tile is one call of a micro-kernel: it multiplies Rows x K lanes of A by K rows of
// Cols adjacent lanes of B,
//
//	C[i][j] = sum over k, ascending, by fma from +0, of A[i][k] * B[k][j]
//
// or, with Add, C[i][j] plus that sum, or, with a Factor, C[i][j] * Factor[i] plus
// that sum, rounded once. Steps are in bytes, and may be 0 or negative; factors are
// adjacent; Cols is at most [Tiles.Cols], Rows at most [Tiles.Rows]. The caller
// keeps the memory alive.
type Tile struct {
	A, B, C     uintptr
	ARow, AStep int64 // from one row of A to the next, and along k
	BStep, CRow int64 // from one row of B, of C, to the next
	K           int64
	Add         int64 // 0 or 1
	mask        uint64
	// Of TileI8: sums begin from Plus[j] - Minus[i], with Plus a whole vector for each
	// vector of columns, Minus one of equal lanes for each row.
	Plus, Minus uintptr
	csr         [2]uint32 // the mode of the caller, and that of the micro-kernel
	Factor      uintptr   // of TileF32 and TileF64; 0: none
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
	tilePlus
	tileMinus
	tileCSR
	tileFactor
	tileLanes
)

// Tiles are the micro-kernels of one kind and level: for every number of rows and
// of vectors of columns, with and without a mask for the last of these. They are
// generated when the first of a group is asked for, once in a process.
type Tiles struct {
	Rows, Cols int // of the largest
	Lanes      int // in a vector
	Size       int // bytes of a lane
	Per        int // elements in a lane
	level      Level
	kind       *tileKind
	groups     []func() *tileGroup // by vectors and mask; the last is half a vector (AVX-512)
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

// TilesOf returns the micro-kernels of a kind, nil where the processor has none.
func TilesOf(level Level, kind TileKind) *Tiles {
	if !HasTiles(level, kind) {
		return nil
	}
	return allTiles[level][kind]()
}

func newTiles(level Level, kind TileKind) *Tiles {
	k := kindAt(level, kind)
	t := &Tiles{Rows: k.wide, level: level, kind: k, Size: k.size, Per: k.per}
	if level == AVX2 {
		t.Rows = k.rows
	}
	t.Lanes = level.bytes() / t.Size
	t.Cols = tileVectors * t.Lanes
	for n := range 2 * tileVectors {
		t.groups = append(t.groups, sync.OnceValue(func() *tileGroup { return t.group(n/2+1, n%2 == 1, false) }))
	}
	t.groups = append(t.groups, sync.OnceValue(func() *tileGroup { return t.group(1, true, level == AVX512) }))
	return t
}

// group generates the micro-kernels of so many vectors, or of half a one.
func (t *Tiles) group(vectors int, masked, half bool) *tileGroup {
	return newTileGroup(t.Rows, func(a *asm.Asm, rows int) {
		g := &tileGen{a: a, tileKind: t.kind, wide: t.level == AVX512, length: asm.L256, rows: rows, vectors: vectors, masked: masked}
		if g.wide && !half {
			g.length = asm.L512
		}
		g.emit()
	})
}

// newTileGroup assembles micro-kernels for 1 to so many rows.
func newTileGroup(rows int, emit func(a *asm.Asm, rows int)) *tileGroup {
	a := asm.New()
	at := make([]int, rows)
	for i := range at {
		a.Align(64)
		at[i] = a.Len()
		emit(a, i+1)
	}
	g := &tileGroup{region: mapped(a)}
	for _, n := range at {
		g.entry = append(g.entry, g.region.Addr()+uintptr(n))
	}
	return g
}

// mapped makes micro-kernels executable. That there is memory for code was seen when
// the first kernel was made.
func mapped(a *asm.Asm) *execmem.Region {
	r, err := execmem.Map(a.Finish())
	if err != nil {
		panic(fmt.Sprintf("amd64: no memory for micro-kernels: %v", err))
	}
	return r
}

// Run executes one call.
func (t *Tiles) Run(x *Tile) {
	if x.K <= 0 {
		return
	}
	x.csr[1] = flushing
	vectors := (x.Cols + t.Lanes - 1) / t.Lanes
	n := 2 * (vectors - 1)
	if last := x.Cols - (vectors-1)*t.Lanes; last < t.Lanes {
		if n++; vectors == 1 && last <= t.Lanes/2 && t.level == AVX512 { // the other half would cost as much
			n = 2 * tileVectors
		}
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

// flushing is the mode of vector arithmetic in which subnormal operands and results
// count as zero, and nothing traps: that of vdpbf16ps.
const flushing = 0x9fc0

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

// Operand registers follow the sums: the vectors of B, those of A where it is not
// read in memory, one for what is between, the mask (AVX2). Emulated pairs have their
// odd elements first, then the even ones.
func (g *tileGen) b(vector int) asm.Vec { return asm.Vec(g.rows*g.vectors + vector) }
func (g *tileGen) parts() int {
	if g.emulated {
		return 2
	}
	return 1
}
func (g *tileGen) av(part int) asm.Vec { return g.b(g.vectors*g.parts() + part) }
func (g *tileGen) between() asm.Vec    { return g.av(g.parts()) }
func (g *tileGen) maskv() asm.Vec {
	if g.mul != 0 {
		return g.between() + 1
	}
	return g.between()
}

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
	if g.emulated {
		a.StoreMXCSR(word(tileCSR))
		a.LoadMXCSR(word(tileCSR + 4))
	}
	g.begin()
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
	if g.emulated {
		a.LoadMXCSR(word(tileCSR))
	}
	g.finish()
	a.VZeroUpper()
	a.Ret()
}

// begin sets the sums.
func (g *tileGen) begin() {
	if g.fma != asm.VPDPBUSD {
		for i := range g.rows * g.vectors {
			g.clear(asm.Vec(i))
		}
		return
	}
	a := g.a
	a.Load(tTmp, asm.Ptr(asm.DI, tilePlus))
	for v := range g.vectors {
		a.RM(asm.VMOVUPS, g.length, g.b(v), asm.M(asm.Ptr(tTmp, int32(v*g.length.Bytes()))))
	}
	a.Load(tTmp, asm.Ptr(asm.DI, tileMinus))
	for i := range g.rows {
		for v := range g.vectors {
			a.RVM(asm.VPSUBD, g.length, g.sum(i, v), g.b(v), asm.M(asm.Ptr(tTmp, int32(64*i))))
		}
	}
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
		if g.emulated {
			g.split(g.b(v), g.b(g.vectors+v))
		}
	}
	for i := range g.rows {
		x := asm.V(g.av(0))
		switch {
		case g.wide && g.embeds:
			x = asm.MB(g.rowOf(i))
		default:
			a.RM(g.spread, g.length, g.av(0), asm.M(g.rowOf(i)))
			if g.emulated {
				g.split(g.av(0), g.av(1))
			}
		}
		for v := range g.vectors {
			switch {
			case g.mul != 0:
				a.RVM(g.mul, g.length, g.between(), g.b(v), x)
				a.RVM(g.fma, g.length, g.sum(i, v), g.sum(i, v), asm.V(g.between()))
			case g.emulated:
				a.RVM(g.fma, g.length, g.sum(i, v), g.b(v), x)
				a.RVM(g.fma, g.length, g.sum(i, v), g.b(g.vectors+v), asm.V(g.av(1)))
			default:
				a.RVM(g.fma, g.length, g.sum(i, v), g.b(v), x)
			}
		}
	}
	a.Alu(asm.ADD, tA0, tStep)
	if g.rows > 7 {
		a.Alu(asm.ADD, tA7, tStep)
	}
	a.Alu(asm.ADD, tB, tBStep)
}

// split leaves the odd elements of pairs of bf16 in x, and the even ones in even, as
// f32.
func (g *tileGen) split(x, even asm.Vec) {
	g.a.VMI(asm.VPSLLD, g.length, even, x, 16)
	g.a.VMI(asm.VPSRLD, g.length, x, x, 16)
	g.a.VMI(asm.VPSLLD, g.length, x, x, 16)
}

// finish writes the sums, or adds them to what is there, or to that times a factor.
func (g *tileGen) finish() {
	a := g.a
	write := a.NewLabel()
	if g.per == 1 && g.mul == 0 {
		g.finishWithFactor(write)
	}
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

// finishWithFactor multiplies what is there by the factors, if there are any.
func (g *tileGen) finishWithFactor(write asm.Label) {
	a := g.a
	plain := a.NewLabel()
	a.Load(tA0, asm.Ptr(asm.DI, tileFactor))
	a.Test(tA0, tA0)
	a.Jcc(asm.Eq, plain)
	a.Mov(tTmp, tC)
	for i := range g.rows {
		a.RM(g.spread, g.length, g.av(0), asm.M(asm.Ptr(tA0, int32(i*g.size))))
		for v := range g.vectors {
			x := g.b(v)
			g.load(x, asm.Ptr(tTmp, int32(v*g.length.Bytes())), v)
			a.RVM(g.fma, g.length, g.sum(i, v), x, asm.V(g.av(0)))
		}
		if i < g.rows-1 {
			a.Alu(asm.ADD, tTmp, tCRow)
		}
	}
	a.Jmp(write)
	a.Bind(plain)
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
