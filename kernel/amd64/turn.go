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
