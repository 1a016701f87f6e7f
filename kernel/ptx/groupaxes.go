package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// placement prepares the addressing of tiles whose first element, before the
// tile's offset, is `first`. It returns the function that gives a tile its
// addresses and indices.
func (e *emitter) placement(first reg) func(t *tile, off int) {
	if e.toAxis-e.fromAxis == 1 {
		return e.placeAlongAxis(first)
	}
	return e.placeDecoded
}

// placeAlongAxis serves one reduced axis.
func (e *emitter) placeAlongAxis(first reg) func(t *tile, off int) {
	axis := e.fromAxis
	base := make([]reg, len(e.k.Args))
	for arg, a := range e.k.Args {
		base[arg] = e.ptr[arg]
		switch a.Access[axis] {
		case kernel.Unit:
			base[arg] = e.to(b64, "mad.lo.s64", first, fmt.Sprint(a.Type.Size()), e.ptr[arg])
		case kernel.Strided:
			base[arg] = e.to(b64, "mad.lo.s64", first, e.slotReg(slotStride, arg, axis), e.ptr[arg])
		}
	}
	return func(t *tile, off int) {
		moved := map[int]reg{}
		t.address = func(arg int) (reg, int64) {
			a := e.k.Args[arg]
			switch {
			case a.Access[axis] == kernel.Unit:
				return base[arg], int64(off * a.Type.Size())
			case a.Access[axis] == kernel.Strided && off > 0:
				if _, ok := moved[arg]; !ok {
					moved[arg] = e.to(b64, "mad.lo.s64", e.slotReg(slotStride, arg, axis), fmt.Sprint(off), base[arg])
				}
				return moved[arg], 0
			}
			return base[arg], 0
		}
		t.index = func(ax, lane int) reg {
			if ax != axis {
				return ""
			}
			return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), t.position(lane))
		}
	}
}

// placeDecoded serves several reduced axes, one element at a time.
func (e *emitter) placeDecoded(t *tile, _ int) {
	// Decoded here and not when first asked for: that might be inside a branch.
	var axes []int
	for axis := e.fromAxis; axis < e.toAxis; axis++ {
		axes = append(axes, axis)
	}
	idx := make([]reg, len(e.k.Axes))
	e.decode(e.to(b32, "cvt.u32.u64", t.position(0)), axes, idx)
	cache := map[int]reg{}
	t.address = func(arg int) (reg, int64) {
		if r, ok := cache[arg]; ok {
			return r, 0
		}
		p := e.ptr[arg]
		for axis := e.fromAxis; axis < e.toAxis; axis++ {
			switch e.k.Args[arg].Access[axis] {
			case kernel.Unit:
				p = e.to(b64, "mad.lo.s64", idx[axis], fmt.Sprint(e.k.Args[arg].Type.Size()), p)
			case kernel.Strided:
				p = e.to(b64, "mad.lo.s64", idx[axis], e.slotReg(slotStride, arg, axis), p)
			}
		}
		cache[arg] = p
		return p, 0
	}
	t.index = func(axis, _ int) reg {
		if axis < e.fromAxis || axis >= e.toAxis {
			return ""
		}
		return e.to(b64, "add.s64", e.slotReg(slotStart, axis, 0), idx[axis])
	}
}
