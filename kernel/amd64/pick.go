package amd64

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/internal/execmem"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Pick is one call of a routine that brings every second element of rows of a matrix
// into the form that micro-kernels read: K rows of columns, one every DstRow bytes.
// The caller keeps the memory alive.
type Pick struct {
	Dst    uintptr
	DstRow int64
	K      int64
	Src    uintptr
	Table  uintptr // offsets of the rows from Src, 8 bytes each
	pairMasks
}

// Offsets within a Pick.
const (
	pickDst = 8 * iota
	pickDstRow
	pickK
	pickSrc
	pickTable
	pickMasks
)

// pairMasks are what routines that read every second element need: a vector of
// results is picked from two of elements by one shuffle within 128 bits.
type pairMasks struct {
	masks [3]uint64    // of the last vector: what is stored, and what is read of the two halves
	lanes [3][4]uint64 // the masks as vectors
	order [16]uint32   // where the results of the shuffle belong
}

// Offsets within pairMasks.
const (
	pairLanes = 3 * 8
	pairOrder = pairLanes + 3*32
)

// set makes the masks of a last vector of count results, step elements apart.
func (p *pairMasks) set(level Level, size, count, step int) {
	lanes := level.bytes() / size
	reach := (count-1)*step + 1 // from the first element read to the last one
	for i, n := range []int{count, min(reach, lanes), max(reach-lanes, 0)} {
		p.masks[i], p.lanes[i] = laneMasks(level, size, n)
	}
}

// setOrder makes the order of 4-byte elements: pairs of the two halves lie by 128
// bits, those of the first half come first.
func (p *pairMasks) setOrder(level Level) {
	lanes := level.bytes() / 4
	for i := range lanes {
		half, pair := i/(lanes/2), i%(lanes/2)/2
		p.order[i] = uint32(4*pair + 2*half + i%2)
	}
}

// Picks are the routines of a level, for elements of 4 bytes.
type Picks struct {
	Lanes  int // elements in a vector
	level  Level
	region *execmem.Region
	entry  [tileVectors]uintptr
}

var allPicks = [2]func() *Picks{
	AVX2:   sync.OnceValue(func() *Picks { return newPicks(AVX2) }),
	AVX512: sync.OnceValue(func() *Picks { return newPicks(AVX512) }),
}

// PicksOf returns the routines, nil where the processor has not the level.
func PicksOf(level Level) *Picks {
	if !Available(level) {
		return nil
	}
	return allPicks[level]()
}

func newPicks(level Level) *Picks {
	p := &Picks{Lanes: level.bytes() / 4, level: level}
	a := asm.New()
	var at [tileVectors]int
	for i := range at {
		a.Align(32)
		at[i] = a.Len()
		g := &slideGen{tileGen{a: a, tileKind: kindAt(level, TileF32), wide: level == AVX512, length: asm.L256, rows: 1, vectors: i + 1, masked: true}, 2}
		if g.wide {
			g.length = asm.L512
		}
		g.pick()
	}
	p.region = mapped(a)
	for i, off := range at {
		p.entry[i] = p.region.Addr() + uintptr(off)
	}
	return p
}

// Run picks the first cols columns, at most two vectors of them.
func (p *Picks) Run(x *Pick, cols int) {
	if x.K <= 0 {
		return
	}
	vectors := (cols + p.Lanes - 1) / p.Lanes
	x.set(p.level, 4, cols-(vectors-1)*p.Lanes, 2)
	x.setOrder(p.level)
	call(p.entry[vectors-1], unsafe.Pointer(x))
}

// pick emits the routine for so many vectors. It uses the registers of panelGen.
func (g *slideGen) pick() {
	a := g.a
	for _, r := range []struct {
		reg asm.Reg
		at  int32
	}{{pDst, pickDst}, {pDstRow, pickDstRow}, {pLeft, pickK}, {pSrc, pickSrc}, {pTable, pickTable}} {
		a.Load(r.reg, asm.Ptr(asm.DI, r.at))
	}
	g.loadMasks(pickMasks)
	a.RM(asm.VMOVUPS, g.length, g.weight(), asm.M(asm.Ptr(asm.DI, pickMasks+pairOrder)))
	a.Align(16)
	loop := a.Here()
	a.Load(pAt, asm.Ptr(pTable, 0))
	a.AluImm(asm.ADD, pTable, 8)
	for v := range g.vectors {
		g.pair(g.sum(0, v), asm.Idx(pSrc, pAt, 1, int32(v*2*g.length.Bytes())), v, pickMasks)
		a.RVM(asm.VPERMD, g.length, g.sum(0, v), g.weight(), asm.V(g.sum(0, v)))
	}
	if !g.wide {
		a.RM(asm.VMOVUPS, asm.L256, g.lanes(0), asm.M(asm.Ptr(asm.DI, pickMasks+pairLanes)))
	}
	for v := range g.vectors {
		g.write(asm.Ptr(pDst, int32(v*g.length.Bytes())), g.sum(0, v), v)
	}
	a.Alu(asm.ADD, pDst, pDstRow)
	a.Dec(pLeft)
	a.Jcc(asm.NotEq, loop)
	a.VZeroUpper()
	a.Ret()
}
