package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Slide is one call of a micro-kernel for windows that share one weight per k, such
// as those of a channel of a depthwise convolution:
//
//	C[i][j] = sum over k, ascending, by fma from +0, of W[k] * B[i][Table[k] + j*step]
//
// over Rows x Cols elements, which must be within [Slides.Rows] and [Slides.Cols];
// step is that of the set. Nothing is packed: neighbouring windows read the same
// lines. All steps and offsets are in bytes. The caller keeps the memory alive, and
// may use a Slide again, for calls of one set.
type Slide struct {
	W, B, C    uintptr
	WStep      int64 // from one weight to the next
	BRow, CRow int64 // from one row to the next
	K          int64
	Table      uintptr // offsets of the ks from B, 8 bytes each
	pairMasks
	Rows, Cols int
	masked     int // Cols for which the masks were made
}

// Offsets within a Slide.
const (
	slideW = 8 * iota
	slideB
	slideC
	slideWStep
	slideBRow
	slideCRow
	slideK
	slideTable
	slideMasks
)

// Slides are the micro-kernels of one kind and level whose windows are so many
// elements apart. They are generated when they are needed first, once in a process.
type Slides struct {
	Rows, Cols int // of the largest
	Lanes      int // elements in a vector
	Size       int // bytes of an element
	step       int
	level      Level
	kind       TileKind
	groups     []func() *tileGroup // by vectors and mask
}

var allSlides [2][numTileKinds][2]func() *Slides

func init() {
	for _, level := range []Level{AVX2, AVX512} {
		for kind := range numTileKinds {
			for step := range 2 {
				allSlides[level][kind][step] = sync.OnceValue(func() *Slides { return newSlides(level, kind, 1+step) })
			}
		}
	}
}

// SlidesOf returns the micro-kernels of a kind for windows step elements apart: of
// f64 next to each other, of f32 also every second. It returns nil for others, and
// where the processor has not the level.
func SlidesOf(level Level, kind TileKind, step int64) *Slides {
	if !Available(level) || kind != TileF32 && kind != TileF64 || step != 1 && (step != 2 || kind != TileF32) {
		return nil
	}
	return allSlides[level][kind][step-1]()
}

func newSlides(level Level, kind TileKind, step int) *Slides {
	s := &Slides{Rows: 7, step: step, level: level, kind: kind, Size: tileKinds[kind].size}
	vectors := 4
	if level == AVX2 {
		s.Rows, vectors = 5, 2
	}
	s.Lanes = level.bytes() / s.Size
	s.Cols = vectors * s.Lanes
	for n := range 2 * vectors {
		s.groups = append(s.groups, sync.OnceValue(func() *tileGroup { return s.group(n/2+1, n%2 == 1) }))
	}
	return s
}

// group generates the micro-kernels of so many vectors.
func (s *Slides) group(vectors int, masked bool) *tileGroup {
	return newTileGroup(s.Rows, func(a *asm.Asm, rows int) {
		g := &slideGen{tileGen{a: a, tileKind: &tileKinds[s.kind], wide: s.level == AVX512, length: asm.L256, rows: rows, vectors: vectors, masked: masked}, s.step}
		if g.wide {
			g.length = asm.L512
		}
		g.emit()
	})
}

// Run executes one call.
func (s *Slides) Run(x *Slide) {
	if x.K <= 0 {
		return
	}
	vectors := (x.Cols + s.Lanes - 1) / s.Lanes
	n := 2 * (vectors - 1)
	// With a step of 2 the last vector is always masked: it ends before its last element.
	if last := x.Cols - (vectors-1)*s.Lanes; last < s.Lanes || s.step == 2 {
		n++
		if x.masked != x.Cols { // calls for one picture after the other differ in little
			x.masked = x.Cols
			x.set(s.level, s.Size, last, s.step)
			x.setOrder(s.level)
		}
	}
	call(s.groups[n]().entry[x.Rows-1], unsafe.Pointer(x))
}

// slideGen emits one micro-kernel. Rows of B are addressed like those of A in
// tileGen; the sums stay in registers over all k. With a step of 2, a vector of
// windows is picked from two of elements by one shuffle within 128 bits, and the
// sums are put in order at the end.
type slideGen struct {
	tileGen
	step int
}

// Registers beside those of tileGen.
const (
	sWStep = asm.CX
	sTable = asm.R8
	sB     = asm.R9
	sW     = asm.R10
)

// Predicates of the last vector: what is stored (tMask), and what is read.
const (
	sMaskLow  = asm.Mask(2)
	sMaskHigh = asm.Mask(3)
)

func (g *slideGen) weight() asm.Vec     { return asm.Vec(g.rows * g.vectors) }
func (g *slideGen) temp(i int) asm.Vec  { return g.weight() + 1 + asm.Vec(i) }
func (g *slideGen) lanes(i int) asm.Vec { return g.weight() + 3 + asm.Vec(i) } // AVX2

func (g *slideGen) emit() {
	a := g.a
	for _, r := range []struct {
		reg asm.Reg
		at  int32
	}{{sW, slideW}, {sWStep, slideWStep}, {sB, slideB}, {tRow, slideBRow}, {tC, slideC}, {tCRow, slideCRow}, {tLeft, slideK}, {sTable, slideTable}} {
		a.Load(r.reg, asm.Ptr(asm.DI, r.at))
	}
	if g.rows > 3 {
		a.Lea(tRow3, asm.Idx(tRow, tRow, 2, 0))
	}
	if g.rows > 5 {
		a.Lea(tRow5, asm.Idx(tRow, tRow, 4, 0))
	}
	g.loadMasks(slideMasks)
	for i := range g.rows * g.vectors {
		g.clear(asm.Vec(i))
	}
	a.Align(32)
	loop := a.Here()
	a.Load(tA0, asm.Ptr(sTable, 0))
	a.Alu(asm.ADD, tA0, sB)
	a.RM(g.spread, g.length, g.weight(), asm.M(asm.Ptr(sW, 0)))
	for i := range g.rows {
		for v := range g.vectors {
			g.product(i, v)
		}
	}
	a.AluImm(asm.ADD, sTable, 8)
	a.Alu(asm.ADD, sW, sWStep)
	a.Dec(tLeft)
	a.Jcc(asm.NotEq, loop)
	g.finish()
	a.VZeroUpper()
	a.Ret()
}

// loadMasks reads the predicates from pairMasks at an offset.
func (g *slideGen) loadMasks(at int32) {
	if !g.masked || !g.wide {
		return
	}
	for i, mask := range []asm.Mask{tMask, sMaskLow, sMaskHigh} {
		g.a.Load(tTmp, asm.Ptr(asm.DI, at+8*int32(i)))
		g.a.KMov(mask, tTmp)
	}
}

// product adds the products of one vector.
func (g *slideGen) product(i, v int) {
	a, sum := g.a, g.sum(i, v)
	m := g.rowOf(i)
	m.Disp += int32(v * g.step * g.length.Bytes())
	switch {
	case g.step == 1 && !g.last(v):
		a.RVM(g.fma, g.length, sum, g.weight(), asm.M(m))
		return
	case g.step == 1:
		g.part(g.temp(0), m, 0, tMask, slideMasks)
	default:
		g.pair(g.temp(0), m, v, slideMasks)
	}
	a.RVM(g.fma, g.length, sum, g.weight(), asm.V(g.temp(0)))
}

// pair reads every second element of two vectors, in the order of the shuffle. The
// masks are at an offset.
func (g *slideGen) pair(dst asm.Vec, m asm.Mem, v int, masks int32) {
	a, high := g.a, m
	high.Disp += int32(g.length.Bytes())
	if !g.last(v) {
		a.RM(asm.VMOVUPS, g.length, dst, asm.M(m))
		a.RVMI(asm.VSHUFPS, g.length, dst, dst, asm.M(high), 0x88)
		return
	}
	g.part(dst, m, 1, sMaskLow, masks)
	g.part(g.temp(1), high, 2, sMaskHigh, masks)
	a.RVMI(asm.VSHUFPS, g.length, dst, dst, asm.V(g.temp(1)), 0x88)
}

// part reads what a mask leaves of a vector.
func (g *slideGen) part(dst asm.Vec, m asm.Mem, lanes int, mask asm.Mask, masks int32) {
	switch {
	case !g.wide:
		g.a.RM(asm.VMOVUPS, asm.L256, g.lanes(0), asm.M(asm.Ptr(asm.DI, masks+pairLanes+32*int32(lanes))))
		g.a.RVM(g.tileKind.load, g.length, dst, g.lanes(0), asm.M(m))
	case g.size == 8:
		g.a.Masked(mask, true).RM(asm.VMOVDQU64, g.length, dst, asm.M(m))
	default:
		g.a.Masked(mask, true).RM(asm.VMOVUPS, g.length, dst, asm.M(m))
	}
}

// finish writes the sums.
func (g *slideGen) finish() {
	a := g.a
	if g.step == 2 {
		a.RM(asm.VMOVUPS, g.length, g.weight(), asm.M(asm.Ptr(asm.DI, slideMasks+pairOrder)))
	}
	if g.masked && !g.wide {
		a.RM(asm.VMOVUPS, asm.L256, g.lanes(0), asm.M(asm.Ptr(asm.DI, slideMasks+pairLanes)))
	}
	for i := range g.rows {
		for v := range g.vectors {
			sum := g.sum(i, v)
			if g.step == 2 {
				a.RVM(asm.VPERMD, g.length, sum, g.weight(), asm.V(sum))
			}
			g.write(asm.Ptr(tC, int32(v*g.length.Bytes())), sum, v)
		}
		if i < g.rows-1 {
			a.Alu(asm.ADD, tC, tCRow)
		}
	}
}

// write stores a vector, of the last one what its mask leaves, which AVX2 has in a
// register.
func (g *slideGen) write(m asm.Mem, src asm.Vec, v int) {
	if g.last(v) && !g.wide {
		g.a.MVR(g.save, g.length, m, g.lanes(0), src)
		return
	}
	g.store(m, src, v)
}
