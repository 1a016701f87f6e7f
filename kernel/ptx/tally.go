package ptx

import (
	"github.com/sinter-go/sinter/ir"
)

// Items that hold are counted by tiles. A first kernel notes the count of each tile, where
// passes of a sort note those of the tiles' first digit; emitDigitScan makes them those of the
// tiles before, and their sum that of the first digit; then a tile knows the number of each of
// its items among all that hold.

// tileItems are the numbers of a thread's items, in the order in which [radix] has them.
func (a *asm) tileItems(f radix, n reg) (index, inside []reg) {
	warp := a.to(b32, "shr.u32", a.tidHead(), "5")
	from := a.to(b32, "mad.lo.u32", warp, 32*f.items, a.laneHead())
	from = a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), f.tile(), from)
	for k := range f.items {
		i := a.to(b32, "add.u32", from, 32*k)
		index, inside = append(index, i), append(inside, a.to(pred, "setp.lt.u32", i, n))
	}
	return index, inside
}

// tallyWarp is how many items of the warp hold: before each of the lane's, and in all.
func (a *asm) tallyWarp(holds []reg) (before []reg, sum reg) {
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

// tallyWarps is how many items of the warps before hold, and of the tile.
func (a *asm) tallyWarps(f radix, sum reg) (before, all reg) {
	a.dynamic = 32 * 4
	last := a.to(pred, "setp.eq.u32", a.laneHead(), "31")
	return a.scan(a.def(b64, "mov.u64", "dyn"), a.to(b32, "selp.b32", sum, "0", last), f.threads)
}

// tileCount is the address of the tile's count.
func (a *asm) tileCount() reg {
	return a.step(a.scratchAt(passCounts), a.to(b32, "mov.u32", "%ctaid.x"), "4")
}

// tallyTile notes how many items of the tile hold.
func (a *asm) tallyTile(f radix, holds []reg) {
	_, sum := a.tallyWarp(holds)
	_, all := a.tallyWarps(f, sum)
	a.storeOne(ir.U32, all, a.tileCount(), 0, a.to(pred, "setp.eq.u32", a.tidHead(), "0"))
}

// tallyBefore is how many of all items hold before each of the thread's.
func (a *asm) tallyBefore(f radix, holds []reg) []reg {
	before, sum := a.tallyWarp(holds)
	warps, _ := a.tallyWarps(f, sum)
	first := a.to(b32, "add.u32", a.loadOne(ir.U32, a.tileCount(), 0, ""), warps)
	for k := range before {
		before[k] = a.to(b32, "add.u32", first, before[k])
	}
	return before
}

// scanTiles appends the scan of the tiles' counts.
func (c *nativeCall) scanTiles(v numbers) { c.add("digits_scan", digits, emitDigitScan, 1, 1, 0, v...) }
