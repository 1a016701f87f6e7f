package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

func init() { natives["recurrence"] = planRecurrence }

// The numbers of a recurrence.
const (
	recurLanes = iota
	recurExtent
	recurInner
	recurStride // in bytes, of x, z and y along the axis, from one step to the next
	recurSpans  = recurStride + 3
)

// planRecurrence has a thread follow each lane, y = x + z·(the y before), in f64. Few long
// lanes are left to the host, which follows them faster.
func planRecurrence(c *nativeCall) (*Plan, error) {
	x := &c.tensors[0]
	shape := x.Type.Shape
	axis, err := ir.Axis(int(c.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	extent, inner := int64(shape[axis]), int64(shape[axis+1:].Size())
	lanes := int64(shape.Size()) / extent
	if c.tooLarge() || extent > 4096 && extent > 64*lanes {
		return nil, nil
	}
	size, reverse := int64(x.Type.DType.Size()), c.Attr("reverse").Bool()
	others := append(shape[:axis:axis], shape[axis+1:]...)
	v := numbers{}
	v.add(lanes, extent, inner)
	var spans [][]span
	for i := range c.tensors {
		strides := c.tensors[i].Operand.Strides
		spans = append(spans, spansOf(others, append(strides[:axis:axis], strides[axis+1:]...)))
		step := strides[axis] * size
		if reverse {
			step = -step
		}
		v.add(step)
	}
	name := fmt.Sprintf("recur_%s%s", x.Type.DType, mark(reverse))
	for _, s := range spans {
		v.addSpans(s, size)
		name += fmt.Sprintf("_%d", len(s))
	}
	c.add(name, recurThreads, func(a *asm) { emitRecurrence(a, x.Type.DType, reverse, spans) }, ceil(lanes, recurThreads), 1, 0, v...)
	return c.plan, nil
}

// recurThreads is small: lanes are few and long.
const recurThreads = 64

func emitRecurrence(a *asm, t ir.DType, reverse bool, spans [][]span) {
	const ahead = 8 // steps whose operands are on the way
	done := a.label()
	lane := a.item(recurThreads, a.number32(recurLanes), done)
	var at [3]reg
	first := recurSpans
	for i := range at {
		at[i] = a.to(b64, "mov.b64", a.walk(lane, a.slotReg(slotPointer, i, 0), len(spans[i]), first))
		first += 2 * len(spans[i])
		if reverse { // steps are backward: from the last one on
			last := a.to(b64, "sub.s64", a.number(recurExtent), "1")
			at[i] = a.to(b64, "sub.s64", at[i], a.to(b64, "mul.lo.s64", last, a.number(recurStride+i)))
		}
	}
	zero := a.constant(b64, 0)
	state := a.to(b64, "mov.b64", zero)
	left := a.to(b32, "mov.b32", a.number32(recurExtent))
	loop := a.label()
	a.place(loop)
	var x, z [ahead]reg
	var inside [ahead]reg
	for k := range ahead {
		inside[k] = a.to(pred, "setp.gt.u32", left, k)
		x[k], z[k] = a.loadOne(t, at[0], 0, inside[k]), a.loadOne(t, at[1], 0, inside[k])
		for i := range 2 {
			a.op("add.s64", at[i], at[i], a.number(recurStride+i))
		}
	}
	for k := range ahead {
		wide := func(r reg) reg {
			r, _ = a.floatToFloat(t, ir.F64, r) // every float widens
			return r
		}
		if t == ir.F64 {
			wide = func(r reg) reg { return r }
		}
		xk, zk := wide(x[k]), wide(z[k])
		next := a.to(b64, "fma.rn.f64", zk, state, xk)
		nothing := a.to(pred, "setp.eq.f64", zk, zero)
		nothing = a.to(pred, "or.pred", nothing, a.to(pred, "setp.eq.f64", state, zero))
		a.op("selp.b64", state, xk, next, nothing)
		y := state
		if t != ir.F64 {
			y = a.to(b32, "cvt.rn.f32.f64", state) // halves are rounded twice
			if t != ir.F32 {
				y, _ = a.floatToFloat(ir.F32, t, y)
			}
		}
		a.storeOne(t, y, at[2], 0, inside[k])
		a.op("add.s64", at[2], at[2], a.number(recurStride+2))
	}
	over := a.to(pred, "setp.le.u32", left, ahead)
	a.op("sub.u32", left, left, ahead)
	a.opUnless(over, "bra", loop)
	a.place(done)
}
