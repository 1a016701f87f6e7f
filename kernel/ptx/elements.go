package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// groupUnroll is how many elements of a chunk are in flight at once, where a
// thread walks a group in order, and columnUnroll where few walk columns.
const (
	groupUnroll  = 8
	columnUnroll = 16
)

// elements calls visit for `remaining` elements from start on, in order, a few tiles at a time
// so that their loads overlap; shape, if there is one, makes each of several neighbours. What
// is guarded the assembler loads one by one, to spare registers: only the last few are.
func (e *emitter) elements(start, remaining reg, unroll int, refs []kernel.Ref, shape, visit func(*tile)) error {
	i := e.to(b32, "mov.b32", "0")
	whole, rest, end := e.label(), e.label(), e.label()
	last := e.to(b32, "sub.u32", remaining, e.to(b32, "min.u32", remaining, fmt.Sprint(unroll-1)))
	e.opIf(e.to(pred, "setp.ge.u32", i, last), "bra", rest)
	e.place(whole)
	if err := e.someElements(start, i, "", unroll, refs, shape, visit); err != nil {
		return err
	}
	e.opIf(e.to(pred, "setp.lt.u32", i, last), "bra", whole)
	e.place(rest)
	e.opIf(e.to(pred, "setp.ge.u32", i, remaining), "bra", end)
	if err := e.someElements(start, i, remaining, unroll, refs, shape, visit); err != nil {
		return err
	}
	e.place(end)
	return nil
}

// someElements takes the next few elements from number i on, those below remaining
// if it is given, and moves i behind them.
func (e *emitter) someElements(start, i, remaining reg, unroll int, refs []kernel.Ref, shape, visit func(*tile)) error {
	first := e.to(b64, "add.s64", start, e.to(b64, "cvt.u64.u32", i))
	place := e.placement(first)
	tiles := make([]*tile, unroll)
	for u := range tiles {
		t := &tile{n: 1, vals: map[kernel.Ref][]reg{}}
		if remaining != "" {
			at := i
			if u > 0 {
				at = e.to(b32, "add.u32", i, fmt.Sprint(u))
			}
			t.guard = e.to(pred, "setp.lt.u32", at, remaining)
		}
		t.position = func(int) reg {
			if u == 0 {
				return first
			}
			return e.to(b64, "add.s64", first, fmt.Sprint(u))
		}
		place(t, u)
		if shape != nil {
			shape(t)
		}
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
	e.op("add.u32", i, i, fmt.Sprint(unroll))
	return nil
}
