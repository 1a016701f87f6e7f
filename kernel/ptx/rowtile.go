package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// tiles divides chunk c among the lanes: tile number i of a lane holds the
// elements i*lanes*width + lane*width and the width-1 after it, counted from
// the chunk's first. Tiles that were kept are returned again.
func (e *rowEmitter) tiles(c reg, keep *[]*tile) []*tile {
	if keep != nil && *keep != nil {
		return *keep
	}
	chunk, width := e.form.tree.Chunk, e.form.width
	start := e.to(b64, "mul.wide.u32", c, fmt.Sprint(chunk))
	var behind reg // elements of the chunk from the lane's first on, below 0 if there is none
	if !e.form.full {
		left := e.to(b64, "min.s64", e.to(b64, "sub.s64", e.n, start), fmt.Sprint(chunk))
		left32 := e.to(b32, "cvt.u32.u64", e.to(b64, "max.s64", left, "0"))
		behind = e.to(b32, "sub.s32", left32, e.laneAt)
	}
	first := e.to(b64, "add.s64", start, e.to(b64, "cvt.u64.u32", e.laneAt))
	place := e.placement(first)
	out := make([]*tile, e.form.tiles())
	for i := range out {
		off := i * e.form.lanes() * width
		t := &tile{n: width, vals: map[kernel.Ref][]reg{}}
		if !e.form.full {
			t.guard = e.to(pred, "setp.gt.s32", behind, fmt.Sprint(off))
		}
		t.position = func(lane int) reg {
			if off+lane == 0 {
				return first
			}
			return e.to(b64, "add.s64", first, fmt.Sprint(off+lane))
		}
		place(t, off)
		out[i] = t
	}
	if keep != nil {
		*keep = out
	}
	return out
}
