package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// rowValue is an element-level value that is computed in one pass over a row and
// needed again in later ones. Kept in a buffer of one row, which usually sits in
// the first-level cache, it need not be computed twice.
type rowValue struct {
	pass int     // the first that computes it
	word asm.Mem // where the buffer's address is
}

// saveCost is the number of instructions from which a value is kept: below it, a
// second evaluation costs less than the way through memory.
const saveCost = 8

// chooseSaved picks the values to keep: those that a pass shares with an earlier
// one and hands to an instruction that the earlier one does not run.
func (g *gen) chooseSaved() {
	if !g.byRows {
		return
	}
	n := len(g.k.Body)
	in := make([][]bool, len(g.passes)) // instructions that a pass runs
	for i := range g.passes {
		in[i] = make([]bool, n)
		for _, r := range g.passes[i].list {
			in[i][r] = true
		}
	}
	for late := 1; late < len(g.passes); late++ {
		list := g.closure(late)
		for early := range late {
			if g.passes[early].first {
				continue // it leaves the rest of the row out
			}
			for _, user := range list {
				if in[early][user] {
					continue
				}
				g.k.Body[user].Operands(func(r kernel.Ref) {
					r = g.alias[r]
					if _, ok := g.saved[r]; ok || !in[early][r] || g.class[r] != element || g.cost(r) < saveCost {
						return
					}
					word := g.reserve(64)
					g.p.buffers = append(g.p.buffers, word)
					g.saved[r] = rowValue{early, asm.Ptr(asm.DI, word)}
				})
			}
		}
	}
}

// cost counts the element-level instructions that a value needs.
func (g *gen) cost(r kernel.Ref) int {
	seen := map[kernel.Ref]bool{}
	n := 0
	var visit func(r kernel.Ref)
	visit = func(r kernel.Ref) {
		r = g.alias[r]
		if seen[r] || g.class[r] != element {
			return
		}
		seen[r] = true
		in := &g.k.Body[r]
		switch in.Op {
		case kernel.OpDiv, kernel.OpSqrt:
			n += 5
		default:
			n++
		}
		if in.Op != kernel.OpReduce && in.Op != kernel.OpScan {
			in.Operands(visit)
		}
	}
	visit(r)
	return n
}

// rowBuffer returns the place of a saved value for a copy. Buffers are rounded up
// to whole vectors, so no access is masked.
func (g *gen) rowBuffer(s step) asm.Mem {
	size := laneSize(g.k.Body[s.ref].Type)
	p, ok := g.ptr[-1-int(s.ref)]
	if !ok {
		word, ok := g.kept[s.ref]
		if !ok {
			word = g.saved[s.ref].word
		}
		p = rAddr
		g.a.Load(p, word)
	}
	return asm.Idx(p, rIdx, uint8(size), g.first(s.copy)*int32(size))
}
