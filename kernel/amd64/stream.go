package amd64

import (
	"math/bits"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Large results are stored past the caches: they would be evicted before anyone
// reads them, and need not be read before they are written.

// DefaultStreamFrom stands for the size of the processor's largest cache.
const DefaultStreamFrom = -1

// streamFrom is the number of bytes, of all operands of the unsliced launch, from
// which results are stored past the caches.
var streamFrom = func() *atomic.Int64 {
	v := new(atomic.Int64)
	v.Store(DefaultStreamFrom)
	return v
}()

// SetStreamFrom sets the number of bytes from which launches store past the caches,
// for all code of the process, and returns the one before. Bits do not depend on it.
func SetStreamFrom(bytes int64) (before int64) { return streamFrom.Swap(bytes) }

// streams reports whether vectors of a type are stored past the caches.
func streams(t ir.DType) bool { return t.Size() >= 4 }

// streamRow is the number of bytes of a row from which it may begin anywhere in a
// line: its head and tail are masked steps.
const streamRow = 4096

// large reports whether a launch should and may use streaming stores: it exceeds
// the caches, writes over none of its inputs, and the whole vectors of all its
// results can be aligned at once.
func (c *Code) large(l *kernel.Launch) bool {
	full := l.Full
	if full == nil {
		full = l.Extents
	}
	total := int64(0)
	for i := range l.Args {
		bytes := int64(c.k.Args[i].Type.Size())
		for axis, s := range l.Args[i].Strides {
			if s != 0 {
				bytes *= full[axis]
			}
		}
		total += bytes
	}
	from := streamFrom.Load()
	if from == DefaultStreamFrom {
		from = cacheBytes()
	}
	return total >= from && c.streamable(l)
}

// streamed reports whether whole vectors of an argument are stored past the caches.
func streamed(a *kernel.Arg, lanes int) bool {
	return a.Dir == kernel.Out && streams(a.Type) && a.Access[lanes] == kernel.Unit
}

func (c *Code) streamable(l *kernel.Launch) bool {
	if c.vAxis < 0 || c.overlaps(l) {
		return false
	}
	first := -1
	at := func(i int) int64 {
		return int64(uintptr(l.Args[i].Base)) + l.Args[i].Offset*int64(c.k.Args[i].Type.Size())
	}
	for i := range c.k.Args {
		a, o := &c.k.Args[i], &l.Args[i]
		if !streamed(a, c.vAxis) {
			continue
		}
		size := int64(a.Type.Size())
		if first < 0 {
			first = i
		}
		if f := &c.k.Args[first]; a.Type.Size() != f.Type.Size() || (at(i)-at(first))%64 != 0 || at(i)%size != 0 {
			return false
		}
		whole := at(i)%64 == 0
		for axis, s := range o.Strides {
			if axis == c.vAxis {
				continue
			}
			if (s-l.Args[first].Strides[axis])*size%64 != 0 {
				return false
			}
			whole = whole && s*size%64 == 0
		}
		// Only elementwise sweeps have a head: passes that reduce may store too.
		if !whole && (l.Extents[c.vAxis]*size < streamRow || c.rAxis >= 0 || c.byRows) {
			return false
		}
	}
	return first >= 0
}

// head runs the lanes of a row up to where whole vectors of its results are
// aligned, and leaves their number in CX.
func (g *gen) head(steps int, body func()) {
	a := g.a
	for arg := range g.k.Args {
		if !streamed(&g.k.Args[arg], g.p.vAxis) {
			continue
		}
		size := g.k.Args[arg].Type.Size()
		a.Load(rTmp, g.argWord(arg, argPtr))
		a.Neg(rTmp)
		a.AluImm(asm.AND, rTmp, 63)
		a.ShiftImm(asm.SHR, rTmp, uint8(bits.TrailingZeros(uint(size))))
		a.Load(rTmp2, g.word(wLanes))
		a.Alu(asm.CMP, rTmp, rTmp2)
		a.Cmov(asm.Greater, rTmp, rTmp2)
		a.Store(g.word(wChunkFrom), rTmp)
		g.stream = false
		g.remainder(wChunkFrom, steps, body)
		g.stream = true
		a.Load(rIdx, g.word(wChunkFrom))
		return
	}
}

// fetchAhead is how many bytes ahead of a load its line is asked for, in code whose
// data comes from memory: a few lines give the processor's own prefetching a start
// on every page.
const fetchAhead = 256

// fetch asks for the line that a load of an argument gets to next, unless all rows
// read the same.
func (g *gen) fetch(arg int, m asm.Mem) {
	if g.stream && !g.masked && (g.p.uAxis < 0 || g.along(arg, g.p.uAxis) != kernel.Broadcast) {
		m.Disp += fetchAhead
		g.a.PrefetchNTA(m)
	}
}

// overlaps reports whether an output shares memory with an input.
func (c *Code) overlaps(l *kernel.Launch) bool {
	for i, a := range c.k.Args {
		for j, b := range c.k.Args {
			if a.Dir != kernel.Out || b.Dir != kernel.In {
				continue
			}
			p, q := uintptr(l.Args[i].Base), uintptr(l.Args[j].Base)
			if p < q+uintptr(l.Args[j].Size) && q < p+uintptr(l.Args[i].Size) {
				return true
			}
		}
	}
	return false
}
