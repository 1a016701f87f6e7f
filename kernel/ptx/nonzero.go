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
	read := func(a *asm) (index, inside, holds []reg) {
		warp := a.to(b32, "shr.u32", a.tidHead(), "5")
		from := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), f.tile(), a.to(b32, "mad.lo.u32", warp, 32*f.items, a.laneHead()))
		for k := range f.items {
			i := a.to(b32, "add.u32", from, 32*k)
			in := a.to(pred, "setp.lt.u32", i, a.number32(passItems))
			index, inside = append(index, i), append(inside, in)
			holds = append(holds, a.loadOne(ir.Bool, a.walk(i, a.slotReg(slotPointer, 0, 0), len(spans), nonzeroSpans), 0, in))
		}
		return index, inside, holds
	}
	// count has how many of a lane's warp hold, up to each item and in all.
	count := func(a *asm, holds []reg) (before []reg, sum reg) {
		lower := a.def(b32, "mov.u32", "%lanemask_lt")
		sum = a.constant(b32, 0)
		for _, h := range holds {
			those := a.to(b32, "vote.sync.ballot.b32", h, "0xffffffff")
			mine := a.to(b32, "popc.b32", a.to(b32, "and.b32", those, lower))
			before = append(before, a.to(b32, "add.u32", sum, mine))
			sum = a.to(b32, "add.u32", sum, a.to(b32, "popc.b32", those))
		}
		return before, sum
	}
	// scan is of the warps' sums.
	scan := func(a *asm, sum reg) (before, all reg) {
		a.dynamic = 32 * 4
		last := a.to(pred, "setp.eq.u32", a.laneHead(), "31")
		return a.scan(a.def(b64, "mov.u64", "dyn"), a.to(b32, "selp.b32", sum, "0", last), f.threads)
	}
	variant := fmt.Sprintf("nonzero_%d", len(spans))
	c.add(variant+"_count", f.threads, func(a *asm) {
		_, _, holds := read(a)
		_, sum := count(a, holds)
		_, all := scan(a, sum)
		at := a.step(a.scratchAt(passCounts), a.to(b32, "mov.u32", "%ctaid.x"), "4")
		a.storeOne(ir.U32, all, at, 0, a.to(pred, "setp.eq.u32", a.tidHead(), "0"))
	}, blocks, 1, 0, v...)
	c.add("digits_scan", digits, emitDigitScan, 1, 1, 0, v...)
	c.add(fmt.Sprintf("%s_put_%d", variant, len(shape)), f.threads, func(a *asm) {
		index, _, holds := read(a)
		before, sum := count(a, holds)
		warps, _ := scan(a, sum)
		block := a.loadOne(ir.U32, a.step(a.scratchAt(passCounts), a.to(b32, "mov.u32", "%ctaid.x"), "4"), 0, "")
		first := a.to(b32, "add.u32", block, warps)
		for k, i := range index {
			row := a.to(b32, "add.u32", first, before[k])
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
