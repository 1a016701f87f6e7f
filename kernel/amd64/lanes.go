package amd64

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Instructions without a vector form run lane by lane, through the lane buffers.
// They are also those that data can be at fault for. Generated code only notes
// that there was a fault; where, the interpreter finds out.

// eachLane emits f for every lane. Lanes beyond the mask are left out where each
// copy has lanes of its own; values common to all lanes need them all.
func (g *gen) eachLane(own bool, f func(i int32)) {
	end := g.a.NewLabel()
	for i := range int32(g.n) {
		if g.masked && own && i > 0 {
			g.a.MemAluImm(asm.CMP, g.word(wCount), i)
			g.a.Jcc(asm.LessEq, end)
		}
		f(i)
	}
	g.a.Bind(end)
}

func lane(m asm.Mem, i, size int32) asm.Mem {
	m.Disp += i * size
	return m
}

// gather reads the elements that the lanes of idx select into the lane buffer.
func (g *gen) gather(arg, copy int, idx asm.Vec, own bool) {
	a := g.a
	size := int32(g.k.Args[arg].Type.Size())
	a.MR(asm.VMOVUPSST, g.lengthOf(8), asm.M(g.laneB), idx)
	if g.along(arg, g.p.vAxis) == kernel.Broadcast {
		copy = shared
	}
	g.eachLane(own, func(i int32) {
		inside, low := a.NewLabel(), a.NewLabel()
		a.Load(rTmp, lane(g.laneB, i, 8))
		a.AluMem(asm.CMP, rTmp, g.argWord(arg, argEnd))
		a.Jcc(asm.Below, inside)
		a.Store(g.word(wFault), asm.DI) // anything but zero
		a.Mov(rTmp2, rTmp)
		a.MovImm(rTmp, 0)
		a.Alu(asm.CMP, rTmp2, rTmp)
		a.Jcc(asm.Less, low)
		a.Load(rTmp, g.argWord(arg, argEnd))
		a.Dec(rTmp)
		a.Bind(low)
		a.Bind(inside)
		a.ImulMem(rTmp, g.argWord(arg, argStep))
		if copy != shared {
			a.Lea(rTmp2, asm.Ptr(rIdx, g.first(copy)+i))
			a.ImulMem(rTmp2, g.argWord(arg, argVec))
			a.Alu(asm.ADD, rTmp, rTmp2)
		}
		a.Alu(asm.ADD, rTmp, g.pointer(arg))
		g.copyElement(size, lane(g.lane, i, size), asm.Ptr(rTmp, 0))
	})
}

// divide64 leaves the quotients or remainders in the lane buffer. 32-bit operands
// are extended, so that only the 64-bit minimum divided by -1 can overflow.
func (g *gen) divide64(op kernel.Op, t ir.DType, x, y asm.Vec, own bool) {
	a, l := g.a, g.length(t)
	size := int32(laneSize(t))
	signed := t.Kind() == ir.KindInt
	a.MR(asm.VMOVUPSST, l, asm.M(g.lane), x)
	a.MR(asm.VMOVUPSST, l, asm.M(g.laneB), y)
	load := func(r asm.Reg, m asm.Mem) {
		switch {
		case size == 8:
			a.Load(r, m)
		case signed:
			a.LoadInt32(r, m)
		default:
			a.Load32(r, m)
		}
	}
	g.eachLane(own, func(i int32) {
		divide, done := a.NewLabel(), a.NewLabel()
		load(rAddr, lane(g.laneB, i, size))
		load(rTmp, lane(g.lane, i, size))
		a.Test(rAddr, rAddr)
		if signed {
			ordinary := a.NewLabel()
			a.Jcc(asm.NotEq, ordinary)
			a.Store(g.word(wFault), asm.DI)
			a.MovImm(rTmp, 0)
			a.Jmp(done)
			a.Bind(ordinary)
			a.AluImm(asm.CMP, rAddr, -1)
			a.Jcc(asm.NotEq, divide)
			if op == kernel.OpDiv {
				a.Neg(rTmp)
			} else {
				a.MovImm(rTmp, 0)
			}
			a.Jmp(done)
			a.Bind(divide)
			a.Cqo()
			a.Idiv(rAddr)
		} else {
			a.Jcc(asm.NotEq, divide)
			a.Store(g.word(wFault), asm.DI)
			a.MovImm(rTmp, 0)
			a.Jmp(done)
			a.Bind(divide)
			a.MovImm(rTmp2, 0)
			a.Div(rAddr)
		}
		if op == kernel.OpRem {
			a.Mov(rTmp, rTmp2)
		}
		a.Bind(done)
		if size == 8 {
			a.Store(lane(g.lane, i, size), rTmp)
		} else {
			a.Store32(lane(g.lane, i, size), rTmp)
		}
	})
}
