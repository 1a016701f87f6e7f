package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// foldTree reduces the records of chunks, wChunks of size bytes each, along a
// tree to the first of them. join folds the record at its second register into
// the one at its first and may use vector registers and AX and DX only. Partials
// that start from nothing begin with their first record: a result of a sum is
// never -0, so that adding it to +0 would change nothing.
func (g *gen) foldTree(tree kernel.Tree, array asm.Mem, size int32, join func(p, q asm.Reg)) {
	g.unpin()
	switch tree.Kind {
	case kernel.Striped:
		g.foldStriped(tree, array, size, join)
	case kernel.Columns:
		g.foldHalves(array, size, join)
	default:
		g.foldAscending(array, size, join)
	}
}

// foldAscending joins the records to the first in order.
func (g *gen) foldAscending(array asm.Mem, size int32, join func(p, q asm.Reg)) {
	a, p, q := g.a, asm.SI, asm.R8
	again, done := a.NewLabel(), a.NewLabel()
	a.Load(rLoop, g.word(wChunks))
	a.Load(p, array)
	a.Mov(q, p)
	a.Bind(again)
	a.Dec(rLoop)
	a.Jcc(asm.Eq, done)
	a.AluImm(asm.ADD, q, size)
	join(p, q)
	a.Jmp(again)
	a.Bind(done)
}

// foldHalves joins record i+w to record i, with w the largest power of two below
// their number, then half of it, down to one.
func (g *gen) foldHalves(array asm.Mem, size int32, join func(p, q asm.Reg)) {
	a, p, q, w, n, i := g.a, asm.SI, asm.R8, asm.R9, rLoop, asm.R10
	done, grown := a.NewLabel(), a.NewLabel()
	a.Load(n, g.word(wChunks))
	a.AluImm(asm.CMP, n, 1)
	a.Jcc(asm.Eq, done)
	a.MovImm(w, 1)
	grow := a.Here()
	a.Lea(i, asm.Idx(w, w, 1, 0))
	a.Alu(asm.CMP, i, n)
	a.Jcc(asm.GreatEq, grown)
	a.Mov(w, i)
	a.Jmp(grow)
	a.Bind(grown)
	level := a.Here()
	a.Load(p, array)
	a.ImulImm(q, w, size)
	a.Alu(asm.ADD, q, p)
	a.Mov(i, n) // pairs: n-w, which never exceeds w
	a.Alu(asm.SUB, i, w)
	g.joinRun(p, q, i, size, join)
	a.Mov(n, w)
	a.ShiftImm(asm.SHR, w, 1)
	a.Jcc(asm.NotEq, level)
	a.Bind(done)
}

// joinRun joins i records from q on to those from p on.
func (g *gen) joinRun(p, q, i asm.Reg, size int32, join func(p, q asm.Reg)) {
	pair := g.a.Here()
	join(p, q)
	g.a.AluImm(asm.ADD, p, size)
	g.a.AluImm(asm.ADD, q, size)
	g.a.Dec(i)
	g.a.Jcc(asm.NotEq, pair)
}

// foldStriped reduces the records like the elements of a striped sum, chunk by
// chunk, and the results again, until one is left.
func (g *gen) foldStriped(tree kernel.Tree, array asm.Mem, size int32, join func(p, q asm.Reg)) {
	a, p, q, n, w, i := g.a, asm.SI, asm.R8, rLoop, asm.R9, asm.R10
	base, out, left := asm.R11, asm.R12, asm.R13
	lanes := int64(tree.Lanes)
	done, again := a.NewLabel(), a.Here()
	a.Load(left, g.word(wChunks))
	a.AluImm(asm.CMP, left, 1)
	a.Jcc(asm.Eq, done)
	a.Load(base, array)
	a.Mov(out, base)
	a.MovImm(n, 0)
	a.Store(g.word(wChunks), n)

	chunk := a.Here()
	a.Mov(n, left)
	a.MovImm(rTmp, int64(tree.Chunk))
	a.Alu(asm.CMP, n, rTmp)
	a.Cmov(asm.Greater, n, rTmp)
	a.Alu(asm.SUB, left, n)

	a.MovImm(i, lanes) // beyond the first of every partial
	few, more := a.NewLabel(), a.Here()
	a.Alu(asm.CMP, i, n)
	a.Jcc(asm.GreatEq, few)
	a.Mov(p, i)
	a.AluImm(asm.AND, p, int32(lanes-1))
	a.ImulImm(p, p, size)
	a.Alu(asm.ADD, p, base)
	a.ImulImm(q, i, size)
	a.Alu(asm.ADD, q, base)
	join(p, q)
	a.AluImm(asm.ADD, i, 1)
	a.Jmp(more)
	a.Bind(few)
	a.MovImm(rTmp, lanes)
	a.Alu(asm.CMP, n, rTmp)
	a.Cmov(asm.Greater, n, rTmp)

	if lanes > 1 {
		a.MovImm(w, lanes/2)
		level, next := a.Here(), a.NewLabel()
		a.Mov(i, n)
		a.Alu(asm.SUB, i, w) // partials with a partner
		a.AluImm(asm.CMP, i, 0)
		a.Jcc(asm.LessEq, next)
		a.Mov(p, base)
		a.ImulImm(q, w, size)
		a.Alu(asm.ADD, q, p)
		g.joinRun(p, q, i, size, join)
		a.Mov(n, w)
		a.Bind(next)
		a.ShiftImm(asm.SHR, w, 1)
		a.Jcc(asm.NotEq, level)
	}

	x := g.tmp()
	for at := int32(0); at < size; at += 32 {
		a.RM(asm.VMOVUPS, asm.L256, x, asm.M(asm.Ptr(base, at)))
		a.MR(asm.VMOVUPSST, asm.L256, asm.M(asm.Ptr(out, at)), x)
	}
	g.done()
	a.AluImm(asm.ADD, out, size)
	a.MovImm(rTmp, int64(tree.Chunk)*int64(size))
	a.Alu(asm.ADD, base, rTmp)
	a.MemAluImm(asm.ADD, g.word(wChunks), 1)
	a.AluImm(asm.CMP, left, 0)
	a.Jcc(asm.Greater, chunk)
	a.Jmp(again)
	a.Bind(done)
}
