package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Panel is one call of a routine that brings a strip of a matrix into the form
// that micro-kernels read: K rows of adjacent columns, one every DstRow bytes.
// Steps are in bytes. The caller keeps the memory alive.
type Panel struct {
	Dst    uintptr
	DstRow int64
	K      int64
	Src    uintptr // Copy, Fold: first row
	SrcRow int64   // Copy, Fold: from one row to the next
	Table  uintptr // CopyTable: offsets of the rows from Src, 8 bytes each
	mask   uint64
	lanes  [4]uint64
	Rows   [16]uintptr // Turn: where the K elements of each column are, side by side
	Bytes  int64       // Fold: of a row of Src, a multiple of 16
}

// Offsets within a Panel.
const (
	panelDst = 8 * iota
	panelDstRow
	panelK
	panelSrc
	panelSrcRow
	panelTable
	panelMask
	panelLanes
	panelRows  = panelLanes + 32
	panelBytes = panelRows + 16*8
)

// Panels are the routines for elements of one size.
type Panels struct {
	Lanes  int // elements in a vector
	Size   int // bytes of an element
	level  Level
	region *execmem.Region
	copies [2][2 * tileVectors]uintptr // by table; by vectors and mask
	turns  [2]uintptr                  // the second flips signs
	folds  [3]uintptr                  // pairs, fours, fours with their signs flipped
}

var allPanels = [2][2]func() *Panels{
	AVX2:   {sync.OnceValue(func() *Panels { return newPanels(AVX2, 4) }), sync.OnceValue(func() *Panels { return newPanels(AVX2, 8) })},
	AVX512: {sync.OnceValue(func() *Panels { return newPanels(AVX512, 4) }), sync.OnceValue(func() *Panels { return newPanels(AVX512, 8) })},
}

// PanelsOf returns the routines for elements of 4 or 8 bytes, nil where the
// processor has not the level.
func PanelsOf(level Level, size int) *Panels {
	if !Available(level) {
		return nil
	}
	return allPanels[level][size/8]()
}

func newPanels(level Level, size int) *Panels {
	p := &Panels{Lanes: level.bytes() / size, Size: size, level: level}
	a := asm.New()
	var at [2][2 * tileVectors]int
	for table := range at {
		for n := range at[table] {
			a.Align(32)
			at[table][n] = a.Len()
			p.gen(a, n/2+1, n%2 == 1).copyRows(table == 1)
		}
	}
	var turns, folds []int
	for n := range p.turns {
		a.Align(32)
		turns = append(turns, a.Len())
		p.gen(a, 1, true).turnRows(n == 1)
	}
	for n := range p.folds {
		a.Align(32)
		folds = append(folds, a.Len())
		p.gen(a, 1, false).foldRows(2+2*min(n, 1), n == 2)
	}
	region := mapped(a)
	p.region = region
	for n, off := range turns {
		p.turns[n] = region.Addr() + uintptr(off)
	}
	for n, off := range folds {
		p.folds[n] = region.Addr() + uintptr(off)
	}
	for table := range at {
		for n, off := range at[table] {
			p.copies[table][n] = region.Addr() + uintptr(off)
		}
	}
	return p
}

// gen lends the parts of the micro-kernels' generator that are needed here.
func (p *Panels) gen(a *asm.Asm, vectors int, masked bool) *panelGen {
	kind := TileF32
	if p.Size == 8 {
		kind = TileF64
	}
	g := &panelGen{tileGen{a: a, tileKind: kindAt(p.level, kind), wide: p.level == AVX512, length: asm.L256, rows: 1, vectors: vectors, masked: masked}}
	if g.wide {
		g.length = asm.L512
	}
	return g
}

// Copy copies the first cols columns, at most two vectors of them, of K rows.
func (p *Panels) Copy(x *Panel, cols int) { p.copyRows(x, cols, 0) }

// CopyTable is Copy with an offset for each row.
func (p *Panels) CopyTable(x *Panel, cols int) { p.copyRows(x, cols, 1) }

func (p *Panels) copyRows(x *Panel, cols, table int) {
	if x.K <= 0 {
		return
	}
	vectors := (cols + p.Lanes - 1) / p.Lanes
	n := 2 * (vectors - 1)
	if last := cols - (vectors-1)*p.Lanes; last < p.Lanes {
		n++
		x.mask, x.lanes = laneMasks(p.level, p.Size, last)
	}
	call(p.copies[table][n], unsafe.Pointer(x))
}

// Turn writes one vector for each k: the elements number k of all of Rows, Lanes of
// them. It writes whole blocks of Lanes rows, so up to Lanes-1 beyond K, and reads
// nothing beyond K. With flip, which is for bytes with AVX-512, the highest bit of each
// byte is inverted.
func (p *Panels) Turn(x *Panel, flip bool) {
	if x.K <= 0 {
		return
	}
	if rest := int(x.K) % p.Lanes; rest > 0 {
		x.mask, x.lanes = laneMasks(p.level, p.Size, rest)
	}
	fn := p.turns[0]
	if flip {
		fn = p.turns[1]
	}
	call(fn, unsafe.Pointer(x))
}

// Fold writes K rows of lanes of 4 bytes, each made of per rows of Src, 2 or 4: the
// elements of a column, of 2 bytes or one, side by side. flip is as in Turn.
func (p *Panels) Fold(x *Panel, per int, flip bool) {
	if x.K <= 0 {
		return
	}
	fn := p.folds[per/4]
	if flip {
		fn = p.folds[2]
	}
	call(fn, unsafe.Pointer(x))
}

// panelGen emits the routines.
type panelGen struct{ tileGen }

// Registers of the routines.
const (
	pDst    = asm.AX
	pDstRow = asm.CX
	pLeft   = asm.DX
	pSrc    = asm.BX
	pSrcRow = asm.SI
	pTable  = asm.R8
	pAt     = asm.R9
	pTmp    = asm.R10
)

func (g *panelGen) word(at int32) asm.Mem { return asm.Ptr(asm.DI, at) }

func (g *panelGen) begin() {
	a := g.a
	a.Load(pDst, g.word(panelDst))
	a.Load(pDstRow, g.word(panelDstRow))
	a.Load(pLeft, g.word(panelK))
	if !g.masked {
		return
	}
	if g.wide {
		a.Load(pTmp, g.word(panelMask))
		a.KMov(tMask, pTmp)
	} else {
		a.RM(asm.VMOVUPS, asm.L256, g.maskv(), asm.M(g.word(panelLanes)))
	}
}

func (g *panelGen) copyRows(table bool) {
	a := g.a
	g.begin()
	a.Load(pSrc, g.word(panelSrc))
	if table {
		a.Load(pTable, g.word(panelTable))
	} else {
		a.Load(pSrcRow, g.word(panelSrcRow))
	}
	a.Align(16)
	loop := a.Here()
	from := func(v int) asm.Mem { return asm.Ptr(pSrc, int32(v*g.length.Bytes())) }
	if table {
		a.Load(pAt, asm.Ptr(pTable, 0))
		a.AluImm(asm.ADD, pTable, 8)
		from = func(v int) asm.Mem { return asm.Idx(pSrc, pAt, 1, int32(v*g.length.Bytes())) }
	}
	for v := range g.vectors {
		g.load(g.b(v), from(v), v)
	}
	for v := range g.vectors {
		g.store(asm.Ptr(pDst, int32(v*g.length.Bytes())), g.b(v), v)
	}
	if !table {
		a.Alu(asm.ADD, pSrc, pSrcRow)
	}
	a.Alu(asm.ADD, pDst, pDstRow)
	a.Dec(pLeft)
	a.Jcc(asm.NotEq, loop)
	a.VZeroUpper()
	a.Ret()
}

// foldRows interleaves rows, 16 bytes of each at a time.
func (g *panelGen) foldRows(per int, flip bool) {
	a := g.a
	if flip && !g.wide {
		a.Ret()
		return
	}
	step2, step3, bytes := pTable, pTmp, asm.R11
	dst := asm.R12
	a.Load(pDst, g.word(panelDst))
	a.Load(pDstRow, g.word(panelDstRow))
	a.Load(pLeft, g.word(panelK))
	a.Load(pSrc, g.word(panelSrc))
	a.Load(pSrcRow, g.word(panelSrcRow))
	a.Load(bytes, g.word(panelBytes))
	a.Lea(step3, asm.Idx(pSrcRow, pSrcRow, 2, 0))
	a.Lea(step2, asm.Idx(pSrcRow, pSrcRow, 1, 0))
	loop := a.Here()
	a.MovImm(pAt, 0)
	a.Mov(dst, pDst)
	inner := a.Here()
	from := asm.R13
	a.Lea(from, asm.Idx(pSrc, pAt, 1, 0))
	rows := []asm.Mem{asm.Ptr(from, 0), asm.Idx(from, pSrcRow, 1, 0), asm.Idx(from, step2, 1, 0), asm.Idx(from, step3, 1, 0)}
	for i := range per {
		a.RM(asm.VMOVUPS, asm.L128, asm.Vec(i), asm.M(rows[i]))
	}
	pair := func(low, high asm.Op, dst, x, y asm.Vec) {
		a.RVM(low, asm.L128, dst, x, asm.V(y))
		a.RVM(high, asm.L128, dst+1, x, asm.V(y))
	}
	first := asm.Vec(4)
	if per == 2 {
		pair(asm.VPUNPCKLWD, asm.VPUNPCKHWD, 4, 0, 1)
	} else {
		pair(asm.VPUNPCKLBW, asm.VPUNPCKHBW, 4, 0, 1)
		pair(asm.VPUNPCKLBW, asm.VPUNPCKHBW, 6, 2, 3)
		pair(asm.VPUNPCKLWD, asm.VPUNPCKHWD, 8, 4, 6)
		pair(asm.VPUNPCKLWD, asm.VPUNPCKHWD, 10, 5, 7)
		first = 8
	}
	for i := range per {
		x := first + asm.Vec(i)
		if flip {
			a.RVM(asm.VPXOR, asm.L128, x, x, asm.MB(a.Const32(signs)))
		}
		a.MR(asm.VMOVUPSST, asm.L128, asm.M(asm.Ptr(dst, int32(16*i))), x)
	}
	a.AluImm(asm.ADD, dst, int32(16*per))
	a.AluImm(asm.ADD, pAt, 16)
	a.Alu(asm.CMP, pAt, bytes)
	a.Jcc(asm.Less, inner)
	a.Alu(asm.ADD, pDst, pDstRow)
	a.Alu(asm.ADD, pSrc, step2)
	if per == 4 {
		a.Alu(asm.ADD, pSrc, step2)
	}
	a.Dec(pLeft)
	a.Jcc(asm.NotEq, loop)
	a.VZeroUpper()
	a.Ret()
}

// signs are the highest bits of four bytes.
const signs = 0x80808080

// turnRows transposes blocks of as many columns as a vector has lanes.
func (g *panelGen) turnRows(flip bool) {
	if flip && !g.wide {
		g.a.Ret()
		return
	}
	a := g.a
	n := g.length.Bytes() / g.size
	a.Load(pDst, g.word(panelDst))
	a.Load(pDstRow, g.word(panelDstRow))
	a.Load(pLeft, g.word(panelK))
	a.MovImm(pAt, 0)
	rest, done := a.NewLabel(), a.NewLabel()
	a.AluImm(asm.SUB, pLeft, int32(n))
	a.Jcc(asm.Less, rest)
	a.Align(16)
	loop := a.Here()
	g.masked = false
	g.turnBlock(n, flip)
	a.AluImm(asm.ADD, pAt, int32(g.length.Bytes()))
	a.AluImm(asm.SUB, pLeft, int32(n))
	a.Jcc(asm.GreatEq, loop)
	a.Bind(rest)
	a.AluImm(asm.ADD, pLeft, int32(n))
	a.Jcc(asm.Eq, done)
	g.masked = true
	if g.wide {
		a.Load(pTmp, g.word(panelMask))
		a.KMov(tMask, pTmp)
	}
	g.turnBlock(n, flip)
	a.Bind(done)
	a.VZeroUpper()
	a.Ret()
}

// turnBlock transposes n columns of n elements: within pairs of rows, within fours,
// then the 128-bit parts of vectors against each other.
func (g *panelGen) turnBlock(n int, flip bool) {
	a := g.a
	x := func(i int) asm.Vec { return asm.Vec(i) }
	y := func(i int) asm.Vec { return asm.Vec(n + i) }
	if g.masked && !g.wide {
		a.RM(asm.VMOVUPS, asm.L256, y(0), asm.M(g.word(panelLanes)))
	}
	for i := range n {
		a.Load(pTmp, g.word(panelRows+8*int32(i)))
		m := asm.Idx(pTmp, pAt, 1, 0)
		switch {
		case !g.masked:
			a.RM(asm.VMOVUPS, g.length, x(i), asm.M(m))
		case !g.wide:
			a.RVM(g.tileKind.load, g.length, x(i), y(0), asm.M(m))
		case g.size == 8:
			a.Masked(tMask, true).RM(asm.VMOVDQU64, g.length, x(i), asm.M(m))
		default:
			a.Masked(tMask, true).RM(asm.VMOVUPS, g.length, x(i), asm.M(m))
		}
	}
	for i := range n {
		if flip {
			a.RVM(asm.VPXOR, g.length, x(i), x(i), asm.MB(a.Const32(signs)))
		}
	}
	shuffle := func(dst, p, q asm.Vec, imm uint8) { a.RVMI(asm.VSHUFPS, g.length, dst, p, asm.V(q), imm) }
	if g.size == 4 {
		for i := 0; i < n; i += 2 {
			a.RVM(asm.VUNPCKLPS, g.length, y(i), x(i), asm.V(x(i+1)))
			a.RVM(asm.VUNPCKHPS, g.length, y(i+1), x(i), asm.V(x(i+1)))
		}
		for i := 0; i < n; i += 4 {
			for half := range 2 {
				shuffle(x(i+2*half), y(i+half), y(i+2+half), 0x44)
				shuffle(x(i+2*half+1), y(i+half), y(i+2+half), 0xee)
			}
		}
	} else {
		for i := 0; i < n; i += 2 {
			shuffle(y(i), x(i), x(i+1), 0x44)
			shuffle(y(i+1), x(i), x(i+1), 0xee)
		}
		x, y = y, x
	}
	per := 16 / g.size // columns in a 128-bit part
	for j := range per {
		v := func(part int) asm.Vec { return x(per*part + j) }
		if !g.wide {
			a.RVMI(asm.VPERM2F128, g.length, y(j), v(0), asm.V(v(1)), 0x20)
			a.RVMI(asm.VPERM2F128, g.length, y(per+j), v(0), asm.V(v(1)), 0x31)
			continue
		}
		lanes := func(dst, p, q asm.Vec, imm uint8) { a.RVMI(asm.VSHUFF32X4, g.length, dst, p, asm.V(q), imm) }
		even, odd := y(j), y(per+j)
		even2, odd2 := y(2*per+j), y(3*per+j)
		lanes(even, v(0), v(1), 0x88)
		lanes(odd, v(0), v(1), 0xdd)
		lanes(even2, v(2), v(3), 0x88)
		lanes(odd2, v(2), v(3), 0xdd)
		lanes(v(0), even, even2, 0x88)
		lanes(v(2), even, even2, 0xdd)
		lanes(v(1), odd, odd2, 0x88)
		lanes(v(3), odd, odd2, 0xdd)
	}
	if !g.wide {
		x = y
	}
	for i := range n {
		a.MR(asm.VMOVUPSST, g.length, asm.M(asm.Ptr(pDst, 0)), x(i))
		a.Alu(asm.ADD, pDst, pDstRow)
	}
}
