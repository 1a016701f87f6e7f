package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

func init() { natives["searchsorted"] = planSearch }

// The numbers of a search.
const (
	searchItems  = iota // elements that are looked for
	searchEach          // of them in a row
	searchExtent        // of the sorted axis
	searchStride        // of it, in bytes
	searchSpans
)

// planSearch has a thread look for each element, by halves: the same steps as those of the
// processor, so that what is not sorted gives the same place.
func planSearch(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	x, z := &c.tensors[0], &c.tensors[1]
	last := len(x.Type.Shape) - 1
	rows := spansOf(x.Type.Shape[:last], x.Operand.Strides[:last])
	wanted := spansOf(z.Type.Shape, z.Operand.Strides)
	order, right := order{t: x.Type.DType}, c.Attr("right").Bool()
	size := int64(order.t.Size())
	each := int64(z.Type.Shape.Size())
	if last > 0 {
		each = int64(z.Type.Shape[last])
	}
	v := numbers{}
	v.add(int64(z.Type.Shape.Size()), each, int64(x.Type.Shape[last]), x.Operand.Strides[last]*size)
	v.addSpans(rows, size)
	v.addSpans(wanted, size)
	c.add(fmt.Sprintf("search_%s_%d_%d%s", order, len(rows), len(wanted), mark(right)), moveThreads, func(a *asm) {
		done := a.label()
		i := a.item(moveThreads, a.number32(searchItems), done)
		t, unsigned := bitsOf(order.t.Size()), ".u32"
		if order.wide() {
			unsigned = ".u64"
		}
		key := order.key(a, a.loadOne(t, a.walk(i, a.slotReg(slotPointer, 1, 0), len(wanted), searchSpans+2*len(rows)), 0, ""))
		sorted := a.slotReg(slotPointer, 0, 0)
		if len(rows) > 0 {
			row, _ := a.split(i, a.number32(searchEach))
			sorted = a.walk(row, sorted, len(rows), searchSpans)
		}
		before := func(at reg) reg { // whether element at-1 lies before
			k := order.key(a, a.loadOne(t, a.step(sorted, a.to(b32, "sub.u32", at, "1"), a.number(searchStride)), 0, ""))
			if right {
				return a.to(pred, "setp.le"+unsigned, k, key)
			}
			return a.to(pred, "setp.lt"+unsigned, k, key)
		}
		at, n := a.to(b32, "mov.b32", "0"), a.to(b32, "mov.b32", a.number32(searchExtent))
		loop, end := a.label(), a.label()
		a.place(loop)
		a.opIf(a.to(pred, "setp.le.u32", n, "1"), "bra", end)
		half := a.to(b32, "shr.u32", n, "1")
		next := a.to(b32, "add.u32", at, half)
		a.op("selp.b32", at, next, at, before(next))
		a.op("sub.u32", n, n, half)
		a.op("bra", loop)
		a.place(end)
		next = a.to(b32, "add.u32", at, "1")
		a.op("selp.b32", at, next, at, before(next))
		a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", at), a.step(a.slotReg(slotPointer, 2, 0), i, "8"), 0, "")
		a.place(done)
	}, ceil(int64(v[searchItems]), moveThreads), 1, 0, v...)
	return c.plan, nil
}
