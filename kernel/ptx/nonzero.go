package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

func init() { natives["nonzero"] = planNonzero }

// The numbers of nonzero, behind those that it shares with passes of sorts: the blocks'
// counts are those of one digit.
const (
	nonzeroRows  = passOwn + iota // of the result
	nonzeroSpans                  // of x; then the extents of its axes
)

// planNonzero counts the true elements of tiles, scans the counts, and has each block write
// where its own are.
func planNonzero(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	x, rows := &c.tensors[0], int64(c.tensors[1].Type.Shape[0])
	shape := x.Type.Shape
	spans := spansOf(shape, x.Operand.Strides)
	f := passRadix(false)
	n := int64(shape.Size())
	blocks := ceil(n, f.tile())
	v := numbers{}
	v.add(n, blocks, 0, 0, 0, 0, 0, c.room(4*blocks), c.room(digits*4), rows)
	v.addSpans(spans, 1)
	for _, d := range shape {
		v.add(int64(d))
	}
	read := func(a *asm) (index, holds []reg) {
		index, inside := a.tileItems(f, a.number32(passItems))
		for k, i := range index {
			holds = append(holds, a.loadOne(ir.Bool, a.walk(i, a.slotReg(slotPointer, 0, 0), len(spans), nonzeroSpans), 0, inside[k]))
		}
		return index, holds
	}
	variant := fmt.Sprintf("nonzero_%d", len(spans))
	c.add(variant+"_count", f.threads, func(a *asm) {
		_, holds := read(a)
		a.tallyTile(f, holds)
	}, blocks, 1, 0, v...)
	c.scanTiles(v)
	c.add(fmt.Sprintf("%s_put_%d", variant, len(shape)), f.threads, func(a *asm) {
		index, holds := read(a)
		before := a.tallyBefore(f, holds)
		for k, i := range index {
			row := before[k]
			keep := a.to(pred, "and.pred", holds[k], a.to(pred, "setp.lt.u32", row, a.number32(nonzeroRows)))
			at := a.step(a.slotReg(slotPointer, 1, 0), row, 8*len(shape))
			for axis := len(shape) - 1; axis >= 0; axis-- {
				coordinate := i
				if axis > 0 {
					i, coordinate = a.split(i, a.number32(nonzeroSpans+2*len(spans)+axis))
				}
				a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", coordinate), at, int64(8*axis), keep)
			}
		}
	}, blocks, 1, 0, v...)
	c.add(fmt.Sprintf("nonzero_rest_%d", len(shape)), moveThreads, func(a *asm) {
		i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads, a.tidHead())
		n := a.loadOne(ir.U32, a.scratchAt(passSums), 0, "")
		a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", n), a.slotReg(slotPointer, 2, 0), 0, a.to(pred, "setp.eq.u32", i, "0"))
		rest := a.to(pred, "setp.ge.u32", i, n)
		rest = a.to(pred, "and.pred", rest, a.to(pred, "setp.lt.u32", i, a.number32(nonzeroRows)))
		at := a.step(a.slotReg(slotPointer, 1, 0), i, 8*len(shape))
		for axis := range shape {
			a.storeOne(ir.U64, a.constant(b64, ^uint64(0)), at, int64(8*axis), rest)
		}
	}, ceil(rows, moveThreads), 1, 0, v...)
	return c.plan, nil
}
