package amd64

import (
	"math/bits"

	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Lanes along a kept axis: every lane reduces a group of its own, element after
// element in logical order, so this serves every tree and any number of reduced
// axes. Where a reduction's chunk lives:
//
//   - in a register: what is added in ascending order, and what takes any order;
//   - in partials, element i in partial i mod lanes: striped sums;
//   - as a buffer of elements: deviations, which need their mean first.

// home says where a reduction's chunk lives.
type home uint8

const (
	inRegister home = iota
	inPartials
	inBuffer
)

func (g *gen) home(r kernel.Ref) home {
	in := &g.k.Body[r]
	switch {
	case g.deviations(r):
		return inBuffer
	case !g.anyOrder(in) && g.k.Reductions[in.Imm].Tree.Kind == kernel.Striped:
		return inPartials
	}
	return inRegister
}

// record says where a reduction has its part of the record of a chunk.
type record struct {
	r    kernel.Ref
	copy int
	at   int32
}

// columnPass is the state of one pass with lanes along a kept axis.
type columnPass struct {
	*gen
	*pass
	copies  int
	records []record // of the reductions whose chunks are not folded in order
	size    int32    // of all of them
	array   asm.Mem  // word with the place of the records
	masked  bool     // some reductions are not in registers
}

// block runs all stages for some vectors of kept elements.
func (g *gen) block(copies int) {
	for s := range g.last + 1 {
		g.straight(g.segment(vector, s), copies)
		from, to := g.stagePasses(s)
		for i := from; i < to; i++ {
			c := &columnPass{gen: g, pass: &g.passes[i], copies: copies}
			c.emit()
		}
	}
}

// each calls f for every reduction that lives somewhere, and copy.
func (c *columnPass) each(h home, f func(in *kernel.Instr, r kernel.Ref, copy int)) {
	for _, r := range c.reduces {
		if c.home(r) == h {
			for copy := range c.copies {
				f(&c.k.Body[r], r, copy)
			}
		}
	}
}

func (c *columnPass) slotOf(r kernel.Ref, copy int) asm.Mem { return c.gen.alloc.mem[c.value(r, copy)] }

// inArray reports whether the chunks of a reduction are recorded and folded at
// the end. The others are folded as they come, into the result's slot.
func (c *columnPass) inArray(r kernel.Ref) bool {
	return c.home(r) != inRegister || c.tree.Kind == kernel.Columns && !c.anyOrder(&c.k.Body[r])
}

// room gives the reductions their places in memory.
func (c *columnPass) room() {
	for _, r := range c.reduces {
		c.masked = c.masked || c.home(r) != inRegister
		for copy := range c.copies {
			if c.inArray(r) {
				c.records = append(c.records, record{r, copy, c.size})
				c.size += 64
				if c.deviations(r) {
					c.size += momentSize - 64
				}
			}
		}
		key := [2]int{int(r), 0}
		if _, ok := c.bufs[key]; ok || c.home(r) == inRegister {
			continue
		}
		// Blocks of all copies come before those of one, so this has room for both.
		if c.tree.Kind == kernel.Striped {
			c.bufs[key] = asm.Ptr(asm.DI, c.reserve(int32(c.tree.Lanes*64*c.copies)))
		} else {
			c.bufs[key] = asm.Mem{}
		}
		if c.deviations(r) {
			at := c.reserve(64)
			c.p.arrays = append(c.p.arrays, array{word: at, size: 64 * c.copies, chunk: c.tree.Chunk, whole: true})
			c.kept[r] = asm.Ptr(asm.DI, at)
		}
	}
	if c.size == 0 {
		return
	}
	key := [2]int{int(c.reduces[0]), 1}
	if _, ok := c.bufs[key]; !ok {
		at := c.reserve(64)
		c.p.arrays = append(c.p.arrays, array{word: at, size: int(c.size), chunk: c.tree.Chunk})
		c.bufs[key] = asm.Ptr(asm.DI, at)
	}
	c.array = c.bufs[key]
}

// emit runs the pass over the reduced axes.
func (c *columnPass) emit() {
	a := c.a
	c.room()
	prog, turned := c.program(c.list, c.copies, -1), c.turned()
	c.turning = map[int]bool{}
	for _, arg := range turned {
		c.turning[arg] = true
	}
	c.unpin()
	if c.masked {
		c.stripeMask()
	}
	c.beginScans()
	c.loadPointers(prog, true)
	c.each(inRegister, func(_ *kernel.Instr, r kernel.Ref, copy int) { c.accs[[2]int{int(r), copy}] = c.pin() })
	if !c.masked { // the end of a chunk needs registers
		c.pinInvariants(prog)
	}
	a.Load(rTmp, c.word(wReduced))
	a.Store(c.word(wLeft), rTmp)
	a.MovImm(rTmp, 0)
	a.Store(c.word(wChunks), rTmp)
	chunks := a.Here()
	c.each(inRegister, func(in *kernel.Instr, r kernel.Ref, copy int) { c.fill(in, c.accs[[2]int{int(r), copy}]) })
	if c.masked {
		a.MovImm(rTmp, 0)
		a.Store(c.word(wElement), rTmp)
		c.each(inPartials, func(_ *kernel.Instr, r kernel.Ref, copy int) {
			if copy == 0 {
				c.clearPartials(r)
			}
		})
		a.MovImm(rTmp, 0)
		a.Store(c.word(wStripe), rTmp)
	}
	a.Load(rLoop, c.word(wLeft))
	a.MovImm(rTmp, int64(c.tree.Chunk))
	a.Alu(asm.CMP, rLoop, rTmp)
	a.Cmov(asm.Greater, rLoop, rTmp)
	a.MemAlu(asm.SUB, c.word(wLeft), rLoop)
	tiles := a.NewLabel()
	if len(turned) > 0 {
		a.Store(c.word(wChunkLeft), rLoop)
		a.Bind(tiles)
		a.Load(rLoop, c.word(wChunkLeft))
		a.MovImm(rTmp, turnSteps)
		a.Alu(asm.CMP, rLoop, rTmp)
		a.Cmov(asm.Greater, rLoop, rTmp)
		a.MemAlu(asm.SUB, c.word(wChunkLeft), rLoop)
		c.fillTurns(turned)
	}
	a.Align(16)
	inner := a.Here()
	c.run(prog)
	c.stepScans()
	if len(turned) > 0 {
		a.MemAluImm(asm.ADD, c.word(wTurn), int32(c.copies*c.n))
	}
	if c.masked {
		a.MemAluImm(asm.ADD, c.word(wElement), int32(64*c.copies))
		c.nextStripe()
	}
	indexed := c.advance(prog)
	a.Dec(rLoop)
	a.Jcc(asm.NotEq, inner)
	if len(turned) > 0 {
		a.MemAluImm(asm.CMP, c.word(wChunkLeft), 0)
		a.Jcc(asm.Greater, tiles)
	}
	c.turning = nil

	c.endChunk()
	a.MemAluImm(asm.ADD, c.word(wChunks), 1)
	a.MemAluImm(asm.CMP, c.word(wLeft), 0)
	a.Jcc(asm.Greater, chunks)
	if indexed { // inner axes have come round; the outermost one goes back
		a.Load(rTmp, c.word(wExtent+8*int32(c.p.rFrom)))
		a.MemAlu(asm.SUB, c.word(wIndex+8*int32(c.p.rFrom)), rTmp)
	}
	c.foldRecords()
}

// endChunk folds the chunk in registers, partials and buffers, and joins the
// results in order to those before, or records them.
func (c *columnPass) endChunk() {
	a := c.a
	several := a.NewLabel()
	if c.masked {
		c.begin(nil)
		for _, r := range c.reduces {
			switch c.home(r) {
			case inPartials:
				c.foldPartials(r, 0, c.copies)
			case inBuffer:
				for copy := range c.copies {
					c.bufferMoments(r, copy)
				}
			}
		}
	}
	if c.size > 0 {
		// One chunk only: the array has no room, and its results are in their slots.
		a.MovImm(rTmp, int64(c.tree.Chunk))
		a.AluMem(asm.CMP, rTmp, c.word(wReduced))
		a.Jcc(asm.GreatEq, several)
		a.Load(rTmp, c.word(wChunks))
		a.ImulImm(rTmp, rTmp, c.size)
		a.AluMem(asm.ADD, rTmp, c.array)
		for _, e := range c.records {
			c.noteRecord(e)
		}
		a.Bind(several)
	}
	first := a.NewLabel()
	a.MemAluImm(asm.CMP, c.word(wChunks), 0)
	a.Jcc(asm.Eq, first)
	c.begin(nil)
	c.each(inRegister, func(in *kernel.Instr, r kernel.Ref, copy int) {
		if c.inArray(r) {
			return
		}
		acc, u := c.accs[[2]int{int(r), copy}], c.tmp()
		a.RM(asm.VMOVUPS, c.length(in.Type), u, asm.M(c.slotOf(r, copy)))
		c.arith(c.combineOp(in), in.Type, u, asm.V(acc), func() asm.Vec { return acc })
		c.done()
	})
	a.Bind(first)
	c.each(inRegister, func(in *kernel.Instr, r kernel.Ref, copy int) {
		a.MR(asm.VMOVUPSST, c.length(in.Type), asm.M(c.slotOf(r, copy)), c.accs[[2]int{int(r), copy}])
	})
}

// noteRecord writes a chunk's result to the record at AX. Results that are not
// in a register are in their slots.
func (c *columnPass) noteRecord(e record) {
	a := c.a
	in := &c.k.Body[e.r]
	l := c.length(in.Type)
	switch c.home(e.r) {
	case inRegister:
		a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(rTmp, e.at)), c.accs[[2]int{int(e.r), e.copy}])
	case inPartials:
		c.copyVector(in.Type, asm.Ptr(rTmp, e.at), c.slotOf(e.r, e.copy))
	case inBuffer:
		c.copyVector(in.Type, asm.Ptr(rTmp, e.at+momentMean), c.means(e.r, e.copy))
		c.copyVector(in.Type, asm.Ptr(rTmp, e.at+momentM2), c.slotOf(e.r, e.copy))
		x := c.tmp()
		c.elements(rTmp2)
		c.spread32(x, rTmp2)
		a.MR(asm.VMOVUPSST, c.lengthOf(4), asm.M(asm.Ptr(rTmp, e.at+momentCount)), x)
		c.done()
	}
}

// elements computes how many elements the current chunk has.
func (c *columnPass) elements(r asm.Reg) {
	c.a.Load(r, c.word(wElement))
	c.a.ShiftImm(asm.SHR, r, uint8(bits.TrailingZeros(uint(64*c.copies))))
}

// foldRecords folds the records of several chunks into the slots.
func (c *columnPass) foldRecords() {
	if c.size == 0 {
		return
	}
	a, single := c.a, c.a.NewLabel()
	a.MemAluImm(asm.CMP, c.word(wChunks), 1)
	a.Jcc(asm.Eq, single)
	c.foldTree(c.tree, c.array, c.size, func(p, q asm.Reg) {
		for _, e := range c.records {
			in := &c.k.Body[e.r]
			if c.deviations(e.r) {
				c.joinMoments(in.Type, p, q, e.at)
				continue
			}
			u, l := c.tmp(), c.length(in.Type)
			a.RM(asm.VMOVUPS, l, u, asm.M(asm.Ptr(p, e.at)))
			c.arith(c.combineOp(in), in.Type, u, asm.M(asm.Ptr(q, e.at)), func() asm.Vec { return u })
			a.MR(asm.VMOVUPSST, l, asm.M(asm.Ptr(p, e.at)), u)
			c.done()
		}
	})
	a.Load(asm.SI, c.array)
	for _, e := range c.records {
		at := e.at
		if c.deviations(e.r) {
			at += momentM2
		}
		c.copyVector(c.k.Body[e.r].Type, c.slotOf(e.r, e.copy), asm.Ptr(asm.SI, at))
	}
	a.Bind(single)
}
