package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

func init() { natives["matrix_check"] = planMatrixCheck }

// The numbers of a check.
const (
	checkItems = iota // elements that are copied
	checkInfos
	checkSpans
)

// planMatrixCheck copies a tensor. An info above 0 is a fault, which the host puts in words.
func planMatrixCheck(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	c.plan.Fault = true
	x := &c.tensors[0]
	size := x.Type.DType.Size()
	v := numbers{}
	v.add(int64(x.Type.Shape.Size()), int64(c.tensors[1].Type.Shape.Size()))
	name := fmt.Sprintf("matrix_check%d", size)
	var spans [][]span
	for _, i := range []int{0, 2, 1} {
		t := &c.tensors[i]
		s := spansOf(t.Type.Shape, t.Operand.Strides)
		v.addSpans(s, int64(t.Type.DType.Size()))
		name += fmt.Sprintf("_%d", len(s))
		spans = append(spans, s)
	}
	c.add(name, moveThreads, func(a *asm) { // there are no more infos than elements
		done := a.label()
		i := a.item(moveThreads, a.number32(checkItems), done)
		first := checkSpans
		at := func(tensor int, s []span) reg {
			p := a.walk(i, a.slotReg(slotPointer, tensor, 0), len(s), first)
			first += 2 * len(s)
			return p
		}
		element := a.loadOne(bitsOf(size), at(0, spans[0]), 0, "")
		a.storeOne(bitsOf(size), element, at(2, spans[1]), 0, "")
		a.opIf(a.to(pred, "setp.ge.u32", i, a.number32(checkInfos)), "bra", done)
		info := a.to(b64, "ld.global.b64", mem(at(1, spans[2]), 0))
		a.noteFault(kernel.DivisionByZero, a.to(pred, "setp.gt.s64", info, a.constant(b64, 0)))
		a.place(done)
	}, ceil(int64(v[checkItems]), moveThreads), 1, 0, v...)
	return c.plan, nil
}
