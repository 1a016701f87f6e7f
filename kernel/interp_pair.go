package kernel

import "unsafe"

// pairAcc is PairDot: it keeps the even element of a pair until the odd one comes.
// Chunks are even, so no pair belongs to two.
type pairAcc struct {
	rows         bool
	half         bool // even elements wait
	evenA, evenB []uint16
	fold         chunkFold[float32]
	comb         combiner[float32]
}

func (p *pairAcc) begin(rows bool, width int, total int64) {
	p.rows, p.half = rows, false
	p.evenA, p.evenB = grow(p.evenA, width), grow(p.evenB, width)
	p.fold.begin(width, total)
	p.comb.begin(width, total)
}

func (p *pairAcc) push(pa, pb unsafe.Pointer, n int) {
	a, b := unsafe.Slice((*uint16)(pa), n), unsafe.Slice((*uint16)(pb), n)
	w := p.fold.w
	if p.rows {
		w = 1
	}
	for ; len(a) > 0; a, b = a[w:], b[w:] {
		if !p.half {
			copy(p.evenA, a[:w])
			copy(p.evenB, b[:w])
			p.half = true
			p.fold.pos++
			continue
		}
		p.pair(a[:w], b[:w])
		p.fold.pos++
		if p.fold.full() {
			p.flush()
		}
	}
}

// pair adds the products of the elements that wait, and of the odd ones.
func (p *pairAcc) pair(oddA, oddB []uint16) {
	for i := range oddA {
		p.fold.part[i] = PairFMA(p.fold.part[i], p.evenA[i], oddA[i], p.evenB[i], oddB[i])
	}
	p.half = false
}

func (p *pairAcc) flush() {
	if p.fold.pos == 0 {
		return
	}
	if p.half {
		zero := make([]uint16, len(p.fold.part))
		p.pair(zero, zero)
	}
	p.comb.push(p.fold.result(), int64(p.fold.pos))
	p.fold.reset()
}

func (p *pairAcc) finish(dst unsafe.Pointer) {
	p.flush()
	r := p.comb.result()
	copy(unsafe.Slice((*float32)(dst), len(r)), r)
}

func (p *pairAcc) held() int {
	return (cap(p.fold.part)+cap(p.comb.recs))*4 + (cap(p.evenA)+cap(p.evenB))*2
}
