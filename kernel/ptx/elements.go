package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// groupUnroll is how many elements of a chunk are in flight at once, where a
// thread walks a group in order.
const groupUnroll = 8

// elements calls visit for `remaining` elements from start on, in order, a few tiles
// at a time so that their loads overlap.
func (e *emitter) elements(start, remaining reg, refs []kernel.Ref, visit func(*tile)) error {
	i := e.to(b32, "mov.b32", "0")
	loop := e.label()
	e.place(loop)
	first := e.to(b64, "add.s64", start, e.to(b64, "cvt.u64.u32", i))
	place := e.placement(first)
	tiles := make([]*tile, groupUnroll)
	for u := range tiles {
		at := i
		if u > 0 {
			at = e.to(b32, "add.u32", i, fmt.Sprint(u))
		}
		t := &tile{n: 1, vals: map[kernel.Ref][]reg{}, guard: e.to(pred, "setp.lt.u32", at, remaining)}
		t.position = func(int) reg {
			if u == 0 {
				return first
			}
			return e.to(b64, "add.s64", first, fmt.Sprint(u))
		}
		place(t, u)
		if err := e.evalTile(e.loadsOf(refs), t); err != nil {
			return err
		}
		tiles[u] = t
	}
	for _, t := range tiles {
		if err := e.evalTile(refs, t); err != nil {
			return err
		}
		visit(t)
	}
	e.op("add.u32", i, i, fmt.Sprint(groupUnroll))
	e.opIf(e.to(pred, "setp.lt.u32", i, remaining), "bra", loop)
	return nil
}
