package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

func init() { natives["unique"] = planUnique }

// The operand and the results of unique.
const (
	uniqueX = iota
	uniqueY
	uniqueInverse
	uniqueCounts
	uniqueCount
)

// The numbers of unique, behind those that it shares with passes of sorts.
const (
	uniqueMost   = passOwn + iota // how many are kept
	uniqueAt                      // where x lies, if it is in scratch memory
	uniqueStride                  // of x, in bytes
	uniqueBegins                  // where those that are kept begin, and the one after them
	uniqueBits
)

// planUnique sorts all elements by their keys. Where the key changes, a new one begins:
// those beginnings are counted by tiles, which numbers the distinct elements.
func planUnique(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	shape, most := c.tensors[uniqueX].Type.Shape, int64(c.tensors[uniqueY].Type.Shape[0])
	n, order := int64(shape.Size()), order{t: c.tensors[uniqueX].Type.DType}
	size := int64(order.t.Size())
	x, f := c.blockOf(uniqueX, 0, len(shape)), passRadix(order.wide())
	element := bitsOf(order.t.Size())
	stored := bitsOf(f.keyBytes())
	v := numbers{}
	v.add(n, ceil(n, f.tile()), 0, 0, 0, 0, 0, 0, 0, most, x.at, x.row*size, c.room(4*(most+1)), 8*size)
	at := func(a *asm, i reg) reg { return a.step(a.origin(x, uniqueAt), i, a.number(uniqueStride)) }
	read := func(a *asm, index, inside []reg) (keys []reg) {
		for k, i := range index {
			keys = append(keys, a.loadOne(element, at(a, i), 0, inside[k]))
		}
		for k := range keys {
			keys[k] = order.key(a, keys[k])
		}
		return keys
	}
	name := func(what string) string { return fmt.Sprintf("unique_%s_%s%s", what, order, mark(x.packed)) }
	if n <= largestSort {
		v[passKeys], v[passPlaces] = uint64(c.room(n*int64(f.keyBytes()))), uint64(c.room(n*4))
		v[passCounts], v[passSums] = uint64(c.room(4*ceil(n, f.tile()))), uint64(c.room(4*digits))
		b := blockRadix(n, order.wide())
		c.add(name("sort")+b.String(), b.threads, func(a *asm) {
			emitBlockSort(a, b, a.number32(passItems), a.number32(uniqueBits), func(index, inside []reg) []reg { return read(a, index, inside) },
				func(i, inside, key, place reg) {
					a.storeOne(stored, key, a.step(a.scratchAt(passKeys), i, stored.Size()), 0, inside)
					a.storeOne(ir.U32, place, a.step(a.scratchAt(passPlaces), i, "4"), 0, inside)
				})
		}, 1, 1, 0, v...)
	} else {
		s := c.longSort(1, n, 8*size, order.wide())
		v[passKeys], v[passCounts], v[passSums] = uint64(s.keys[0]), uint64(s.counts), uint64(s.sums)
		c.add(name("keys"), f.threads, func(a *asm) {
			index, inside := a.tileItems(f, a.number32(passItems))
			for k, key := range read(a, index, inside) {
				a.storeOne(stored, key, a.step(a.scratchAt(passKeys), index[k], stored.Size()), 0, inside[k])
			}
		}, ceil(n, f.tile()), 1, 0, v...)
		keys, places := s.run(c, "", nil)
		v[passKeys], v[passPlaces] = uint64(keys), uint64(places)
	}
	begins := func(a *asm) (index, inside, holds []reg) {
		index, inside = a.tileItems(f, a.number32(passItems))
		for k, i := range index {
			first := a.to(pred, "setp.eq.u32", i, "0")
			p := a.step(a.scratchAt(passKeys), i, stored.Size())
			before := a.to(pred, "and.pred", inside[k], a.to(pred, "not.pred", first))
			key, last := a.loadOne(stored, p, 0, inside[k]), a.loadOne(stored, p, int64(-stored.Size()), before)
			changed := a.to(pred, "setp.ne"+suffix(stored), key, last)
			holds = append(holds, a.to(pred, "and.pred", inside[k], a.to(pred, "or.pred", first, changed)))
		}
		return index, inside, holds
	}
	wide := mark(order.wide())
	c.add("unique_count"+wide, f.threads, func(a *asm) {
		_, _, holds := begins(a)
		a.tallyTile(f, holds)
	}, ceil(n, f.tile()), 1, 0, v...)
	c.scanTiles(v)
	c.add(name("put"), f.threads, func(a *asm) {
		index, inside, holds := begins(a)
		before := a.tallyBefore(f, holds)
		for k, i := range index {
			// One that begins is the next; the others are still the last that began.
			number := a.to(b32, "sub.u32", before[k], a.to(b32, "selp.b32", "0", "1", holds[k]))
			place := a.loadOne(ir.U32, a.step(a.scratchAt(passPlaces), i, "4"), 0, inside[k])
			to := a.step(a.slotReg(slotPointer, uniqueInverse, 0), place, "8")
			a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", number), to, 0, inside[k])
			begin := a.to(pred, "and.pred", holds[k], a.to(pred, "setp.le.u32", number, a.number32(uniqueMost)))
			a.storeOne(ir.U32, i, a.step(a.scratchAt(uniqueBegins), number, "4"), 0, begin)
			keep := a.to(pred, "and.pred", holds[k], a.to(pred, "setp.lt.u32", number, a.number32(uniqueMost)))
			value := a.loadOne(element, at(a, place), 0, keep)
			a.storeOne(element, value, a.step(a.slotReg(slotPointer, uniqueY, 0), number, element.Size()), 0, keep)
		}
	}, ceil(n, f.tile()), 1, 0, v...)
	c.add(fmt.Sprintf("unique_rest%d", size), moveThreads, func(a *asm) {
		i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads, a.tidHead())
		count := a.loadOne(ir.U32, a.scratchAt(passSums), 0, "")
		a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", count), a.slotReg(slotPointer, uniqueCount, 0), 0, a.to(pred, "setp.eq.u32", i, "0"))
		inside := a.to(pred, "setp.lt.u32", i, a.number32(uniqueMost))
		there := a.to(pred, "and.pred", inside, a.to(pred, "setp.lt.u32", i, count))
		p := a.step(a.scratchAt(uniqueBegins), i, "4")
		last := a.to(pred, "setp.eq.u32", a.to(b32, "add.u32", i, "1"), count)
		from, to := a.loadOne(ir.U32, p, 0, there), a.loadOne(ir.U32, p, 4, there)
		to = a.to(b32, "selp.b32", a.number32(passItems), to, last)
		n := a.to(b32, "selp.b32", a.to(b32, "sub.u32", to, from), "0", there)
		a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", n), a.step(a.slotReg(slotPointer, uniqueCounts, 0), i, "8"), 0, inside)
		none := a.to(pred, "and.pred", inside, a.to(pred, "not.pred", there))
		zero := a.constant(classOf(element), 0)
		a.storeOne(element, zero, a.step(a.slotReg(slotPointer, uniqueY, 0), i, element.Size()), 0, none)
	}, ceil(most, moveThreads), 1, 0, v...)
	return c.plan, nil
}
