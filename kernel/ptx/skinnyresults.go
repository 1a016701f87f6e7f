package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/kernel"
)

// deliver hands on the sums of the thread's chunk: to scratch memory, to the warps that
// add the chunks of the block, or to what follows the product if there is one chunk.
func (e *skinnyEmitter) deliver() error {
	switch {
	case e.f.part == chunks:
		e.storeChunk()
		return nil
	case e.f.warps > 1:
		return e.addInBlock()
	}
	for r, sum := range e.sums {
		if err := e.result(sum, e.to(b32, "mov.b32", fmt.Sprint(r))); err != nil {
			return err
		}
	}
	return nil
}

// result computes what follows the product for one of the few lines and stores it.
func (e *skinnyEmitter) result(sum, few reg) error {
	skip := e.label()
	line := e.to(b64, "cvt.u64.u32", few)
	e.opIf(e.to(pred, "setp.ge.s64", line, e.few.extent), "bra", skip)
	if err := e.follow(sum, line, e.inside); err != nil {
		return err
	}
	e.place(skip)
	return nil
}

// follow computes what follows the product, where the guard holds.
func (e *skinnyEmitter) follow(sum, few, guard reg) error {
	idx := append([]reg(nil), e.at...)
	e.locate(few, e.few, idx)
	t := &tile{n: 1, vals: map[kernel.Ref][]reg{e.p.dot: {sum}}, guard: guard}
	e.walk(t, idx, -1)
	return e.evalTile(e.upTo(e.stores()...), t)
}

// addInBlock adds the chunks of a block, the warps sharing the few lines.
func (e *skinnyEmitter) addInBlock() error {
	c := classOf(e.t)
	at := func(warp, few reg) reg {
		i := e.to(b32, "mad.lo.u32", warp, fmt.Sprint(e.f.lines), few)
		i = e.to(b32, "mad.lo.u32", i, "32", e.lane)
		return e.to(b64, "add.s64", e.base, e.to(b64, "mul.wide.u32", i, fmt.Sprint(e.size)))
	}
	e.op("bar.sync", "0") // the sums lie where the few did
	to := at(e.warp, e.constant(b32, 0))
	for r, sum := range e.sums {
		e.op("st.shared"+classType[c], mem(to, int64(32*r*e.size)), sum)
	}
	e.op("bar.sync", "0")
	few := e.to(b32, "mov.b32", e.warp)
	loop, done := e.label(), e.label()
	e.place(loop)
	e.opIf(e.to(pred, "setp.ge.s64", e.to(b64, "cvt.u64.u32", few), e.few.extent), "bra", done)
	from := at(e.constant(b32, 0), few)
	var total reg
	for w := range e.f.warps {
		v := e.to(c, "ld.shared"+classType[c], mem(from, int64(w*e.sumBytes())))
		if w == 0 {
			total = v
			continue
		}
		total, _ = e.arith(kernel.OpAdd, e.t, total, v)
	}
	if err := e.follow(total, e.to(b64, "cvt.u64.u32", few), e.inside); err != nil {
		return err
	}
	e.op("add.u32", few, few, fmt.Sprint(e.f.warps))
	e.op("bra", loop)
	e.place(done)
	return nil
}

// In scratch memory lie, for each batch and each chunk, the sums of the few lines behind
// each other, those of the many side by side.

// sumAt is the address there of a sum of chunk 0, and of the way from chunk to chunk.
func (e *skinnyEmitter) sumAt(item reg) (at, stride reg) {
	stride = e.to(b64, "mul.lo.u64", e.to(b64, "mul.lo.u64", e.few.extent, e.many.extent), fmt.Sprint(e.size))
	batch := e.to(b64, "cvt.u64.u32", e.to(b32, "mov.u32", "%ctaid.y"))
	at = e.to(b64, "mad.lo.u64", item, fmt.Sprint(e.size), e.slotReg(slotScratch, 0, 0))
	return e.to(b64, "mad.lo.u64", e.to(b64, "mul.lo.u64", batch, e.slotReg(slotChunks, 0, 0)), stride, at), stride
}

// storeChunk writes the sums of the thread's chunk to scratch memory.
func (e *skinnyEmitter) storeChunk() {
	c := classOf(e.t)
	chunk := e.to(b64, "cvt.u64.u32", e.chunkAt)
	there := e.to(pred, "and.pred", e.inside, e.to(pred, "setp.lt.u64", chunk, e.slotReg(slotChunks, 0, 0)))
	at, stride := e.sumAt(e.line)
	at = e.to(b64, "mad.lo.u64", chunk, stride, at)
	next := e.to(b64, "mul.lo.u64", e.many.extent, fmt.Sprint(e.size))
	for r, sum := range e.sums {
		if r > 0 {
			at = e.to(b64, "add.s64", at, next)
		}
		p := e.to(pred, "and.pred", there, e.to(pred, "setp.gt.s64", e.few.extent, fmt.Sprint(r)))
		e.opIf(p, "st.global"+classType[c], mem(at, 0), sum)
	}
}

// addChunks is the second step: a thread adds the chunks of one result, in order.
func (e *skinnyEmitter) addChunks() error {
	c := classOf(e.t)
	item := e.threadItem(skinnyFinish)
	done := e.label()
	e.opIf(e.to(pred, "setp.ge.u64", item, e.to(b64, "mul.lo.u64", e.few.extent, e.many.extent)), "bra", done)
	few := e.to(b64, "div.u64", item, e.many.extent)
	e.line = e.to(b64, "sub.s64", item, e.to(b64, "mul.lo.u64", few, e.many.extent))
	e.at = append([]reg(nil), e.batch...)
	e.locate(e.line, e.many, e.at)
	first, stride := e.sumAt(item)
	at := e.to(b64, "mov.b64", first)
	total := e.loadOne(e.t, at, 0, "")
	left := e.to(b64, "sub.s64", e.slotReg(slotChunks, 0, 0), "1")
	loop := e.label()
	e.place(loop)
	var vals, there [groupUnroll]reg
	for i := range vals { // on their way together
		there[i] = e.to(pred, "setp.gt.s64", left, fmt.Sprint(i))
		e.op("add.s64", at, at, stride)
		vals[i] = e.loadOne(e.t, at, 0, there[i])
	}
	for i, v := range vals {
		sum, _ := e.arith(kernel.OpAdd, e.t, total, v)
		e.op("selp"+classType[c], total, sum, total, there[i])
	}
	e.op("sub.s64", left, left, fmt.Sprint(groupUnroll))
	e.opIf(e.to(pred, "setp.gt.s64", left, "0"), "bra", loop)
	if err := e.follow(total, few, ""); err != nil {
		return err
	}
	e.place(done)
	return nil
}
