package ptx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

func init() {
	natives["sort"] = func(c *nativeCall) (*Plan, error) { return planSort(c, c.Attr("descending").Bool()) }
	natives["topk"] = func(c *nativeCall) (*Plan, error) { return planSort(c, c.Attr("largest").Bool()) }
}

// sorting sorts lanes along an axis, and keeps the first of each, up to room. A lane is sorted
// by keys that have the order of its elements, in one block or in passes; elements are
// then taken from where they were.
type sorting struct {
	*nativeCall
	order         order
	lanes, extent int64
	room, inner   int64
	others        []span // of the operand, without the axis
	stride        int64  // of the axis, in bytes
}

// The operand and the results of a sort.
const (
	sortedX = iota
	sortedY
	sortedIndex
)

func planSort(c *nativeCall, descending bool) (*Plan, error) {
	x := &c.tensors[sortedX]
	shape, strides := x.Type.Shape, x.Operand.Strides
	axis, err := ir.Axis(int(c.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	others := append(shape[:axis:axis], shape[axis+1:]...)
	s := &sorting{nativeCall: c, order: order{x.Type.DType, descending}, lanes: int64(others.Size()), extent: int64(shape[axis]),
		room: int64(c.tensors[sortedY].Type.Shape[axis]), inner: int64(shape[axis+1:].Size()),
		others: spansOf(others, append(strides[:axis:axis], strides[axis+1:]...)), stride: strides[axis] * int64(x.Type.DType.Size())}
	if c.tooLarge() {
		return nil, nil
	}
	if s.extent <= largestSort {
		s.inBlocks()
		return c.plan, nil
	}
	if s.lanes > math.MaxUint16 {
		return nil, nil
	}
	for part := int64(2048); part <= largestSort; part *= 2 {
		if kept := ceil(s.extent, part) * s.room; kept <= largestSort/2 {
			s.inParts(part, kept)
			return c.plan, nil
		}
	}
	s.inPasses()
	return c.plan, nil
}

// order is that of the elements of a dtype: of numbers, with -0 equal to +0, and NaN, equal to
// itself, after everything else; or its reverse.
type order struct {
	t          ir.DType
	descending bool
}

func (o order) wide() bool { return o.t.Size() == 8 }

func (o order) String() string { return fmt.Sprintf("%s%s", o.t, mark(o.descending)) }

// key makes a key of the bits of an element: an unsigned number, in as many bits.
func (o order) key(a *asm, bits reg) reg {
	c, u, width := b32, ".u32", 8*o.t.Size()
	if o.wide() {
		c, u = b64, ".u64"
	}
	t := classType[c]
	all := ^uint64(0) >> (64 - width)
	sign := uint64(1) << (width - 1)
	key := bits
	switch {
	case o.t.IsFloat():
		inf := map[ir.DType]uint64{ir.F16: 0x7c00, ir.BF16: 0x7f80, ir.F32: 0x7f800000, ir.F64: 0x7ff0000000000000}[o.t]
		magnitude := a.to(c, "and"+t, bits, a.constant(c, sign-1))
		negative := a.to(pred, "setp.ne"+u, a.to(c, "and"+t, bits, a.constant(c, sign)), "0")
		// Numbers above 0 get the sign bit, those below are inverted.
		key = a.to(c, "xor"+t, bits, a.to(c, "selp"+t, a.constant(c, all), a.constant(c, sign), negative))
		key = a.to(c, "selp"+t, a.constant(c, sign), key, a.to(pred, "setp.eq"+u, magnitude, "0"))
		key = a.to(c, "selp"+t, a.constant(c, all), key, a.to(pred, "setp.gt"+u, magnitude, a.constant(c, inf)))
	case o.t.Kind() == ir.KindInt:
		key = a.to(c, "xor"+t, bits, a.constant(c, sign))
	}
	if o.descending {
		key = a.to(c, "xor"+t, key, a.constant(c, all))
	}
	return key
}

// The numbers of kernels that read lanes, and of those that write them.
const (
	laneExtent = iota
	laneBits
	laneStride
	laneRoom
	laneInner
	laneItems
	laneKeys // where keys and places lie
	lanePlaces
	laneSpans
)

func (s *sorting) numbers(items, keys, places int64) numbers {
	size := int64(s.order.t.Size())
	v := numbers{}
	v.add(s.extent, 8*size, s.stride, s.room, s.inner, items, keys, places)
	v.addSpans(s.others, size)
	return v
}

func (s *sorting) name(what string) string {
	return fmt.Sprintf("%s_%s_%d", what, s.order, len(s.others))
}

// lane is the address of the first element of a lane of the operand.
func (s *sorting) lane(a *asm, lane reg) reg {
	return a.walk(lane, a.slotReg(slotPointer, sortedX, 0), len(s.others), laneSpans)
}

// put writes element number i of a lane of the results, taken from a place.
func (s *sorting) put(a *asm, lane, x, i, place, inside reg) {
	t := bitsOf(s.order.t.Size())
	inside = a.to(pred, "and.pred", inside, a.to(pred, "setp.lt.u32", i, a.number32(laneRoom)))
	v := a.loadOne(t, a.step(x, place, a.number(laneStride)), 0, inside)
	outer, j := lane, reg("")
	if s.inner > 1 {
		outer, j = a.split(lane, a.number32(laneInner))
	}
	at := a.to(b32, "mad.lo.u32", outer, a.number32(laneRoom), i)
	if j != "" {
		at = a.to(b32, "mad.lo.u32", at, a.number32(laneInner), j)
	}
	a.storeOne(t, v, a.step(a.slotReg(slotPointer, sortedY, 0), at, t.Size()), 0, inside)
	a.storeOne(ir.U64, a.to(b64, "cvt.u64.u32", place), a.step(a.slotReg(slotPointer, sortedIndex, 0), at, "8"), 0, inside)
}

// inBlocks sorts each lane in a block.
func (s *sorting) inBlocks() {
	f := blockRadix(s.extent, s.order.wide())
	s.add(fmt.Sprintf("%s_%s%s", s.name("sort"), f, mark(s.inner > 1)), f.threads, func(a *asm) {
		lane := a.to(b32, "mov.u32", "%ctaid.x")
		x := s.lane(a, lane)
		emitBlockSort(a, f, a.number32(laneExtent), a.number32(laneBits), func(index, inside []reg) []reg { return s.keys(a, x, index, inside) },
			func(i, inside, _, place reg) { s.put(a, lane, x, i, place, inside) })
	}, s.lanes, 1, 0, s.numbers(0, 0, 0)...)
}

// keys are those of elements of a lane. All are on the way before the first is looked at.
func (s *sorting) keys(a *asm, x reg, index, inside []reg) (keys []reg) {
	for k, i := range index {
		keys = append(keys, a.loadOne(bitsOf(s.order.t.Size()), a.step(x, i, a.number(laneStride)), 0, inside[k]))
	}
	for k := range keys {
		keys[k] = s.order.key(a, keys[k])
	}
	return keys
}

// inParts sorts parts of each lane in blocks, and then the first ones of all its parts:
// as many as are kept of a lane. What fills the last part up stands behind all.
func (s *sorting) inParts(part, kept int64) {
	f, g := blockRadix(part, s.order.wide()), blockRadix(kept, s.order.wide())
	stored := bitsOf(f.keyBytes())
	v := s.numbers(kept, 0, 0)
	v[laneKeys], v[lanePlaces] = uint64(s.nativeCall.room(s.lanes*kept*int64(stored.Size()))), uint64(s.nativeCall.room(s.lanes*kept*4))
	s.add(fmt.Sprintf("%s_%s", s.name("sort_part"), f), f.threads, func(a *asm) {
		lane, number := a.to(b32, "mov.u32", "%ctaid.y"), a.to(b32, "mov.u32", "%ctaid.x")
		from := a.to(b32, "mul.lo.u32", number, part)
		n := a.to(b32, "min.u32", a.to(b32, "sub.u32", a.number32(laneExtent), from), part)
		x := a.step(s.lane(a, lane), from, a.number(laneStride))
		first := a.to(b32, "mad.lo.u32", number, a.number32(laneRoom), a.to(b32, "mul.lo.u32", lane, a.number32(laneItems)))
		emitBlockSort(a, f, n, a.number32(laneBits), func(index, inside []reg) []reg { return s.keys(a, x, index, inside) },
			func(i, _, key, place reg) {
				kept := a.to(pred, "setp.lt.u32", i, a.number32(laneRoom))
				at := a.to(b32, "add.u32", first, i)
				a.storeOne(stored, key, a.step(a.scratchAt(laneKeys), at, stored.Size()), 0, kept)
				a.storeOne(ir.U32, a.to(b32, "add.u32", from, place), a.step(a.scratchAt(lanePlaces), at, "4"), 0, kept)
			})
	}, ceil(s.extent, part), s.lanes, 0, v...)
	s.add(fmt.Sprintf("%s_%s%s", s.name("sort_parts"), g, mark(s.inner > 1)), g.threads, func(a *asm) {
		lane := a.to(b32, "mov.u32", "%ctaid.x")
		first := a.to(b32, "mul.lo.u32", lane, a.number32(laneItems))
		x := s.lane(a, lane)
		at := func(array int, i reg, bytes int) reg {
			return a.step(a.scratchAt(array), a.to(b32, "add.u32", first, i), bytes)
		}
		emitBlockSort(a, g, a.number32(laneItems), a.number32(laneBits), func(index, inside []reg) (keys []reg) {
			for k, i := range index {
				keys = append(keys, a.loadOne(stored, at(laneKeys, i, stored.Size()), 0, inside[k]))
			}
			return keys
		}, func(i, inside, _, place reg) {
			inside = a.to(pred, "and.pred", inside, a.to(pred, "setp.lt.u32", i, a.number32(laneRoom)))
			s.put(a, lane, x, i, a.loadOne(ir.U32, at(lanePlaces, place, 4), 0, inside), inside)
		})
	}, s.lanes, 1, 0, v...)
}

// inPasses sorts the lanes in passes.
func (s *sorting) inPasses() {
	wide := s.order.wide()
	r := s.longSort(s.lanes, s.extent, int64(8*s.order.t.Size()), wide)
	t, kept := bitsOf(s.order.t.Size()), bitsOf(r.keyBytes())
	// Items of a lane lie along the grid's first axis, lanes along its second.
	grid := func(items int64) int64 { return ceil(items, moveThreads) }
	start := func(a *asm, end string) (i, lane reg) {
		i = a.item(moveThreads, a.number32(laneItems), end)
		return i, a.to(b32, "mov.u32", "%ctaid.y")
	}
	array := func(a *asm, which int, lane, i reg, bytes int) reg {
		at := a.to(b64, "mul.lo.u64", a.to(b64, "cvt.u64.u32", lane), a.number(laneExtent))
		return a.step(a.to(b64, "mad.lo.s64", at, bytes, a.scratchAt(which)), i, bytes)
	}
	s.add(s.name("sort_keys"), moveThreads, func(a *asm) {
		end := a.label()
		i, lane := start(a, end)
		v := a.loadOne(t, a.step(s.lane(a, lane), i, a.number(laneStride)), 0, "")
		a.storeOne(kept, s.order.key(a, v), array(a, laneKeys, lane, i, kept.Size()), 0, "")
		a.place(end)
	}, grid(s.extent), s.lanes, 0, s.numbers(s.extent, r.keys[0], 0)...)
	_, places := r.run(s.nativeCall, "", nil)
	s.add(s.name("sort_take")+mark(s.inner > 1), moveThreads, func(a *asm) {
		end := a.label()
		i, lane := start(a, end)
		inside := a.to(pred, "setp.lt.u32", i, a.number32(laneItems))
		place := a.loadOne(ir.U32, array(a, lanePlaces, lane, i, 4), 0, "")
		s.put(a, lane, s.lane(a, lane), i, place, inside)
		a.place(end)
	}, grid(s.room), s.lanes, 0, s.numbers(s.room, 0, places)...)
}
