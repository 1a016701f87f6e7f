package ptx

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func init() {
	natives["scatter_add"] = planScatterAdd
	natives["scatter_along"] = planScatterAlong
	natives["scatter_nd"] = planScatterND
	natives["gather_nd"] = planGatherND
}

// placing puts elements where indices say: of outer blocks, row i of n, with inner
// elements, is combined into row key[i] of extent, in ascending order of i. The rows are
// sorted by their keys first, so that those of one key stand together; then what is not
// hit is copied, and each key's rows are folded by the threads of their own, one for each
// vector of elements.
type placing struct {
	*nativeCall
	dtype         ir.DType
	mode          int
	result        int // its tensor
	outer, n      int64
	extent, inner int64
	x, z          block
	index         indexing
	width         int64 // elements of a vector

	marks             bool  // rows of x that are hit are not copied
	hit, keys, places int64 // where marks, keys and places lie in scratch memory
	longs, long       int64 // likewise the number of long runs, and where those begin
}

// The operands of scatters, and their result.
const (
	placedX = iota
	placedIndex
	placedZ
	placedY
)

// indexing says how the keys of rows come from indices.
type indexing struct {
	spans   []span  // of the indices
	apart   int64   // stride of coordinates
	extents []int64 // of the axes that coordinates name
	// With own, each element has an index: that of (o, i, j) is number (o·each + i)·inner + j,
	// and its key (o·extent + index)·inner + j.
	own         bool
	each, inner int64
}

func planScatterAdd(c *nativeCall) (*Plan, error) {
	shape, index := c.tensors[placedX].Type.Shape, &c.tensors[placedIndex]
	axis, err := ir.Axis(int(c.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	p := &placing{nativeCall: c, mode: ir.PutAdd}
	p.index = indexing{spans: spansOf(index.Type.Shape, index.Operand.Strides), extents: []int64{int64(shape[axis])}}
	return p.run(axis, axis+1, axis+1)
}

func planScatterND(c *nativeCall) (*Plan, error) {
	index, axis, to, err := coordinates(c)
	if err != nil {
		return nil, err
	}
	p := &placing{nativeCall: c, mode: int(c.Attr("mode").Int), index: index}
	return p.run(axis, to, axis+len(c.tensors[placedIndex].Type.Shape)-1)
}

// coordinates says how the last axis of the indices names rows of x: those of the axes
// from one to another.
func coordinates(c *nativeCall) (x indexing, from, to int, err error) {
	shape, index := c.tensors[placedX].Type.Shape, &c.tensors[placedIndex]
	if from, err = ir.Axis(int(c.Attr("axis").Int), len(shape)); err != nil {
		return x, 0, 0, err
	}
	last := len(index.Type.Shape) - 1
	to = from + index.Type.Shape[last]
	x = indexing{spans: spansOf(index.Type.Shape[:last], index.Operand.Strides[:last]), apart: index.Operand.Strides[last]}
	for _, n := range shape[from:to] {
		x.extents = append(x.extents, int64(n))
	}
	return x, from, to, nil
}

// planGatherND takes rows of x: each thread a vector.
func planGatherND(c *nativeCall) (*Plan, error) {
	if c.tooLarge() {
		return nil, nil
	}
	index, from, to, err := coordinates(c)
	if err != nil {
		return nil, err
	}
	const result = 2
	lead := c.tensors[placedIndex].Type.Shape
	p := &placing{nativeCall: c, dtype: bitsOf(c.tensors[placedX].Type.DType.Size()), index: index, x: c.blockOf(placedX, from, to), result: result}
	p.outer, p.extent, p.n, p.inner = p.x.outers, p.x.rows, int64(lead[:len(lead)-1].Size()), p.x.inners
	p.width = p.vector()
	c.plan.Fault = true
	v := p.numbers(p.n)
	v[putOuter] = uint64(p.n * p.inner * int64(p.dtype.Size()))
	p.index.put(&v)
	p.add(fmt.Sprintf("%s_%s", p.name("taken"), p.index.String()), moveThreads, func(a *asm) {
		done := a.label()
		item := a.item(moveThreads, a.number32(putItems), done)
		outer, i, vec := p.decode(a, item)
		key := p.index.keys(a, []reg{i}, []reg{""}, putIndices)[0]
		x := p.load(a, p.dtype, p.reading(&p.x), p.element(a, a.origin(p.x, putX), outer, key, vec, putXOuter), putXInner, "")
		a.storeVector(p.dtype, x, p.to(a, outer, i, vec), 0, "")
		a.place(done)
	}, ceil(int64(v[putItems]), moveThreads), 1, 0, v...)
	return c.plan, nil
}

func planScatterAlong(c *nativeCall) (*Plan, error) {
	x, index, z := &c.tensors[placedX], &c.tensors[placedIndex], &c.tensors[placedZ]
	axis, err := ir.Axis(int(c.Attr("axis").Int), len(x.Type.Shape))
	if err != nil {
		return nil, err
	}
	strides := append([]int64(nil), index.Operand.Strides...)
	for i, n := range index.Type.Shape {
		if n == 1 {
			strides[i] = 0
		}
	}
	p := &placing{nativeCall: c, mode: int(c.Attr("mode").Int)}
	p.index = indexing{spans: spansOf(z.Type.Shape, strides), extents: []int64{int64(x.Type.Shape[axis])}, own: true,
		each: int64(z.Type.Shape[axis]), inner: int64(z.Type.Shape[axis+1:].Size())}
	return p.run(0, len(x.Type.Shape), len(x.Type.Shape))
}

// run plans a placing: from is the first axis of rows, in x up to one axis, in z up to
// another.
func (p *placing) run(from, toX, toZ int) (*Plan, error) {
	c := p.nativeCall
	if c.tooLarge() {
		return nil, nil
	}
	p.result = placedY
	p.dtype = c.tensors[placedX].Type.DType
	p.x, p.z = c.blockOf(placedX, from, toX), c.blockOf(placedZ, from, toZ)
	p.outer, p.extent, p.n, p.inner = p.x.outers, p.x.rows, p.z.rows, p.x.inners
	p.width = p.vector()
	c.plan.Fault = true
	p.hit = c.room(p.extent)
	if p.splits() {
		p.longs, p.long = c.room(4), c.room(4*ceil(p.n, longRun))
	}
	// Leaving out what is hit must save more than the time of two kernels.
	p.marks = 2*min(p.n, p.extent)*p.outer*p.inner*int64(p.dtype.Size()) >= p.marksFrom
	if p.n <= largestSort {
		p.sortShort()
	} else {
		p.sortLong()
	}
	return c.plan, p.fold()
}

// vector is how many elements of the inner axis move at once.
func (p *placing) vector() int64 {
	n := 16 / int64(p.dtype.Size())
	for p.inner%n != 0 {
		n /= 2
	}
	return n
}

// keyBits is how many bits keys have.
func (p *placing) keyBits() int64 { return int64(max(1, bits.Len64(uint64(p.extent-1)))) }

func (x *indexing) String() string {
	return fmt.Sprintf("%d_%d%s", len(x.spans), len(x.extents), mark(x.own))
}

// put appends the numbers that key wants.
func (x *indexing) put(p *numbers) {
	p.add(x.apart * 8)
	p.add(x.extents...)
	p.add(x.each*x.inner, x.inner)
	p.addSpans(x.spans, 8)
}

// fetch loads the indices of an item, if it is inside, or there is no such guard: their numbers are those from first on.
func (x *indexing) fetch(a *asm, item, inside reg, first int) (values []reg) {
	at := a.walk(item, a.slotReg(slotPointer, placedIndex, 0), len(x.spans), first+len(x.extents)+3)
	for k := range x.extents {
		if k > 0 {
			at = a.to(b64, "add.s64", at, a.number(first))
		}
		values = append(values, a.loadOne(ir.I64, at, 0, inside))
	}
	return values
}

// key makes a key of what was fetched. An index out of range is noted, and stands for 0.
func (x *indexing) key(a *asm, item, inside reg, values []reg, first int) reg {
	own := first + 1 + len(x.extents)
	var row reg
	for k, v := range values {
		extent := a.number(first + 1 + k)
		fromEnd := a.to(b64, "add.s64", v, extent)
		v = a.to(b64, "selp.b64", fromEnd, v, a.to(pred, "setp.lt.s64", v, "0"))
		outside := a.to(pred, "setp.ge.u64", v, extent)
		v = a.to(b64, "selp.b64", "0", v, outside)
		fault := outside
		if inside != "" {
			fault = a.to(pred, "and.pred", outside, inside)
		}
		a.noteFault(kernel.IndexOutOfRange, fault)
		place := a.to(b32, "cvt.u32.u64", v)
		if k == 0 {
			row = place
			continue
		}
		row = a.to(b32, "mad.lo.u32", row, a.number32(first+1+k), place)
	}
	if !x.own {
		return row
	}
	outer, _ := a.split(item, a.number32(own))
	_, j := a.split(item, a.number32(own+1))
	row = a.to(b32, "mad.lo.u32", outer, a.number32(first+1), row)
	return a.to(b32, "mad.lo.u32", row, a.number32(own+1), j)
}

// keys are those of items. All indices are on the way before the first is looked at.
func (x *indexing) keys(a *asm, items, inside []reg, first int) (keys []reg) {
	var values [][]reg
	for k, i := range items {
		values = append(values, x.fetch(a, i, inside[k], first))
	}
	for k, i := range items {
		keys = append(keys, x.key(a, i, inside[k], values[k], first))
	}
	return keys
}

// sortShort has one block sort the rows by their keys while others copy the rest of x.
func (p *placing) sortShort() {
	if p.marks {
		p.mark()
	}
	f := blockRadix(p.n, false)
	p.keys, p.places = p.room(p.n*4), p.room(p.n*4)
	resident := p.target.sms() * int64(min(2048/f.threads, residentShared/f.sorting()))
	blocks := max(1, min(resident, ceil(p.outer*p.extent*(p.inner/p.width), copied*int64(f.threads))))
	v := p.numbers(p.extent)
	v[putKeyBits] = uint64(p.keyBits())
	v[putSorted] = uint64(p.n)
	v[putStride] = uint64(copied * int64(f.threads) * blocks)
	p.index.put(&v)
	p.add(fmt.Sprintf("place_%s_%s_%s%s", f, p.index.String(), p.name(""), mark(p.splits())), f.threads, func(a *asm) {
		block := a.def(b32, "mov.u32", "%ctaid.x")
		others, end := a.label(), a.label()
		a.opIf(a.to(pred, "setp.gt.u32", block, "0"), "bra", others)
		p.forgetLong(a, a.tidHead())
		emitBlockSort(a, f, a.number32(putSorted), a.number32(putKeyBits), func(i, inside []reg) []reg { return p.index.keys(a, i, inside, putIndices) }, func(i, inside, key, place reg) {
			a.storeOne(ir.U32, key, a.step(a.scratchAt(putKeys), i, "4"), 0, inside)
			a.storeOne(ir.U32, place, a.step(a.scratchAt(putPlaces), i, "4"), 0, inside)
		})
		a.op("bra", end)
		a.place(others)
		from := a.to(b32, "mad.lo.u32", a.to(b32, "sub.u32", block, "1"), copied*f.threads, a.tidHead())
		loop := a.label()
		a.place(loop)
		p.copyVectors(a, from, f.threads)
		a.op("add.u32", from, from, a.number32(putStride))
		a.opIf(a.to(pred, "setp.lt.u32", from, a.number32(putItems)), "bra", loop)
		a.place(end)
	}, 1+blocks, 1, 0, v...)
}

// residentShared is the shared memory of a multiprocessor that blocks can share.
const residentShared = 200 << 10

// mark notes which keys are hit.
func (p *placing) mark() {
	v := p.numbers(p.n)
	p.index.put(&v)
	v[putSorted] = uint64(p.n)
	v[putStride] = uint64(p.extent)
	p.add("place_clear", moveThreads, func(a *asm) {
		i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads, a.tidHead())
		p.clear(a, i)
	}, ceil(p.extent, 16*moveThreads), 1, 0, v...)
	p.add("place_mark_"+p.index.String(), moveThreads, func(a *asm) {
		i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads, a.tidHead())
		inside := a.to(pred, "setp.lt.u32", i, a.number32(putSorted))
		key := p.index.keys(a, []reg{i}, []reg{inside}, putIndices)[0]
		a.opIf(inside, "st.global.u8", mem(a.step(a.scratchAt(putHit), key, "1"), 0), a.constant(b32, 1))
	}, ceil(p.n, moveThreads), 1, 0, v...)
}

// clear zeros the 16 marks of a thread, of putStride in all. Those up to the next 16 are
// zeroed too.
func (p *placing) clear(a *asm, i reg) {
	zero := a.constant(b32, 0)
	at := a.to(b32, "shl.b32", i, "4")
	a.opIf(a.to(pred, "setp.lt.u32", at, a.number32(putStride)), "st.global.v4.b32",
		mem(a.step(a.scratchAt(putHit), at, "1"), 0), group([]reg{zero, zero, zero, zero}))
}

// sortLong sorts by passes, and copies the rest of x then.
func (p *placing) sortLong() {
	p.marks = true
	s := p.longSort(1, p.n, p.keyBits(), false)
	p.keys, p.places = s.keys[0], s.places[0]
	v := p.numbers(p.n)
	p.index.put(&v)
	v[putSorted] = uint64(p.n)
	v[putStride] = uint64(p.extent)
	p.add("place_keys_"+p.index.String()+mark(p.splits()), moveThreads, func(a *asm) {
		i := a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads, a.tidHead())
		p.clear(a, i)
		p.forgetLong(a, i)
		inside := a.to(pred, "setp.lt.u32", i, a.number32(putSorted))
		key := p.index.keys(a, []reg{i}, []reg{inside}, putIndices)[0]
		a.storeOne(ir.U32, key, a.step(a.scratchAt(putKeys), i, "4"), 0, inside)
	}, ceil(max(p.n, ceil(p.extent, 16)), moveThreads), 1, 0, v...)
	p.keys, p.places = s.run(p.nativeCall, "hit", func(a *asm, key, inside reg) {
		a.opIf(inside, "st.global.u8", mem(a.step(a.scratchAt(passOwn), key, "1"), 0), a.constant(b32, 1))
	}, p.hit)
	v = p.numbers(p.extent)
	p.add(p.name("unplaced"), moveThreads, func(a *asm) {
		p.copyVectors(a, a.to(b32, "mad.lo.u32", a.to(b32, "mov.u32", "%ctaid.x"), moveThreads*copied, a.tidHead()), moveThreads)
	}, ceil(int64(v[putItems]), copied*moveThreads), 1, 0, v...)
}
