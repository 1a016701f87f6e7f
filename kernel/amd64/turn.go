package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// An argument whose lanes lie apart in memory while the elements of each lane's
// group are adjacent is turned: before every turnSteps steps along the reduced
// axis, that many elements of every lane are copied to a buffer in which the
// lanes of one step are adjacent. So every line of memory is read once, and no
// vector is put together from single elements that were only just stored.
const turnSteps = 16

// turned lists the arguments of a pass that are turned. All of a kernel's passes
// share the buffers.
func (c *columnPass) turned() (args []int) {
	if c.p.rFrom != c.p.rAxis {
		return nil
	}
	seen := map[int]bool{}
	for _, r := range c.list {
		in := &c.k.Body[r]
		arg := int(in.Imm)
		if in.Op != kernel.OpLoad || seen[arg] || c.along(arg, c.p.vAxis) != kernel.Strided || c.along(arg, c.p.rAxis) != kernel.Unit {
			continue
		}
		seen[arg] = true
		args = append(args, arg)
		if _, ok := c.turns[arg]; !ok {
			// Blocks of all copies come before those of one.
			size := c.k.Args[arg].Type.Size()
			c.turns[arg] = asm.Ptr(asm.DI, c.reserve(int32(turnSteps*c.copies*c.n*size)))
		}
	}
	return args
}

// turnedVector is where the lanes of a copy lie at the current step.
func (g *gen) turnedVector(arg, copy int) asm.Mem {
	size := g.k.Args[arg].Type.Size()
	g.a.Load(rTmp, g.word(wTurn))
	return asm.Idx(asm.DI, rTmp, uint8(size), g.turns[arg].Disp+int32(copy*g.n*size))
}

// fillTurns copies the elements of R15 steps, at most turnSteps, of all lanes.
func (c *columnPass) fillTurns(args []int) {
	a := c.a
	a.Store(c.word(wTurnSteps), rLoop)
	a.MovImm(rTmp, 0)
	a.Store(c.word(wTurn), rTmp)
	for _, arg := range args {
		size := int32(c.k.Args[arg].Type.Size())
		row := size * int32(c.copies*c.n) // bytes of one step
		from, to, element := rTmp, rTmp2, rAddr
		p := c.pointer(arg)
		a.Mov(to, rIdx)
		a.ImulMem(to, c.argWord(arg, argVec))
		a.Lea(from, asm.Idx(p, to, 1, 0))
		// The lanes end where the buffer's first step does, or the mask.
		if c.gen.masked {
			a.Load(to, c.word(wCount))
		} else {
			a.MovImm(to, int64(c.copies*c.n))
		}
		a.ImulImm(to, to, size)
		a.Lea(to, asm.Idx(asm.DI, to, 1, c.turns[arg].Disp))
		a.Store(c.word(wTurnEnd), to)
		a.Lea(to, c.turns[arg])

		lanes, few, next := a.Here(), a.NewLabel(), a.NewLabel()
		a.MemAluImm(asm.CMP, c.word(wTurnSteps), turnSteps)
		a.Jcc(asm.Less, few)
		if size == 4 {
			single := a.NewLabel()
			a.Lea(element, asm.Ptr(to, 4*size))
			a.AluMem(asm.CMP, element, c.word(wTurnEnd))
			a.Jcc(asm.Greater, single)
			c.turnFour(arg, row)
			a.Jmp(next)
			a.Bind(single)
		}
		for i := range int32(turnSteps) {
			c.moveElement(element, size, asm.Ptr(to, i*row), asm.Ptr(from, i*size))
		}
		a.AluMem(asm.ADD, from, c.argWord(arg, argVec))
		a.AluImm(asm.ADD, to, size)
		a.Jmp(next)
		a.Bind(few)
		a.Load(rLoop, c.word(wTurnSteps))
		again := a.Here()
		c.moveElement(element, size, asm.Ptr(to, 0), asm.Ptr(from, 0))
		a.AluImm(asm.ADD, to, row)
		a.AluImm(asm.ADD, from, size)
		a.Dec(rLoop)
		a.Jcc(asm.NotEq, again)
		a.Load(rLoop, c.word(wTurnSteps)) // back, and to the next lane
		a.ImulImm(element, rLoop, row)
		a.Alu(asm.SUB, to, element)
		a.ImulImm(element, rLoop, size)
		a.Alu(asm.SUB, from, element)
		a.AluMem(asm.ADD, from, c.argWord(arg, argVec))
		a.AluImm(asm.ADD, to, size)
		a.Bind(next)
		a.AluMem(asm.CMP, to, c.word(wTurnEnd))
		a.Jcc(asm.Less, lanes)
	}
	a.Load(rLoop, c.word(wTurnSteps))
}

// turnFour copies turnSteps elements of 4 bytes of four lanes, from AX on to DX
// on, and moves both to the next lanes.
func (c *columnPass) turnFour(arg int, row int32) {
	a := c.a
	from, to, stride, second := rTmp, rTmp2, rAddr, rLoop
	a.Load(stride, c.argWord(arg, argVec))
	a.Lea(second, asm.Idx(from, stride, 1, 0))
	for i := int32(0); i < turnSteps; i += 4 {
		var x, y [4]asm.Vec
		for j, m := range []asm.Mem{asm.Ptr(from, 4*i), asm.Ptr(second, 4*i), asm.Idx(from, stride, 2, 4*i), asm.Idx(second, stride, 2, 4*i)} {
			x[j] = c.tmp()
			a.RM(asm.VMOVUPS, asm.L128, x[j], asm.M(m))
		}
		y[0], y[1] = c.tmp(), c.tmp()
		a.RVM(asm.VUNPCKLPS, asm.L128, y[0], x[0], asm.V(x[1]))
		a.RVM(asm.VUNPCKHPS, asm.L128, y[1], x[0], asm.V(x[1]))
		y[2], y[3] = x[0], x[1]
		a.RVM(asm.VUNPCKLPS, asm.L128, y[2], x[2], asm.V(x[3]))
		a.RVM(asm.VUNPCKHPS, asm.L128, y[3], x[2], asm.V(x[3]))
		for j := range int32(4) { // low halves of a pair, then high ones
			a.RVMI(asm.VSHUFPS, asm.L128, x[2], y[j/2], asm.V(y[2+j/2]), [...]uint8{0x44, 0xee}[j%2])
			a.MR(asm.VMOVUPSST, asm.L128, asm.M(asm.Ptr(to, (i+j)*row)), x[2])
		}
		c.done()
	}
	a.Lea(from, asm.Idx(from, stride, 4, 0))
	a.AluImm(asm.ADD, to, 16)
}

// moveElement copies one element through a register.
func (g *gen) moveElement(r asm.Reg, size int32, to, from asm.Mem) {
	a := g.a
	switch size {
	case 1:
		a.LoadByte(r, from)
		a.StoreByte(to, r)
	case 2:
		a.LoadWord(r, from)
		a.StoreWord(to, r)
	case 4:
		a.Load32(r, from)
		a.Store32(to, r)
	default:
		a.Load(r, from)
		a.Store(to, r)
	}
}
