package amd64

import (
	"maps"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// Rare blocks are branched around where no lane needs them. Both ways must leave
// the registers alike, so the block saves what they hold, and loads it again when it
// is done; its results lie in memory. Where it was left out they are what the memory
// held, and the selects on the block's mask take none of it.

// rareSteps is the number of steps from which a branch costs less than the block.
const rareSteps = 12

// rareRun returns the number of steps at the start of a program that are a rare
// block to branch around, or 0.
func (g *gen) rareRun(prog []step) int {
	if len(g.k.Rares) == 0 {
		return 0
	}
	at := slices.IndexFunc(g.k.Rares, func(r kernel.Rare) bool { return prog[0].ref >= r.From && prog[0].ref < r.To })
	if at < 0 {
		return 0
	}
	r, n := g.k.Rares[at], 0
	for n < len(prog) && prog[n].ref >= r.From && prog[n].ref < r.To && prog[n].copy == prog[0].copy {
		if s := prog[n]; s.kind != plain || g.k.Body[s.ref].Op == kernel.OpReduce || g.faulty(&g.k.Body[s.ref]) {
			return 0
		}
		n++
	}
	mask := g.value(r.Mask, prog[0].copy)
	if _, ok := g.preds[mask]; n < rareSteps || !ok && g.where[mask] < 0 {
		return 0
	}
	for _, v := range g.results(prog[:n], g.pos+n) { // none is a predicate
		if g.masks[v] {
			return 0
		}
	}
	return n
}

// results lists the values of steps that are used at a position or later.
func (g *gen) results(steps []step, from int) (list []val) {
	for _, s := range steps {
		v := g.value(s.ref, s.copy)
		for h := g.heads[v]; h >= 0; h = g.links[h].next {
			if int(g.links[h].at) >= from && !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	return list
}

// rare emits a rare block.
func (g *gen) rare(steps []step) {
	a, skip := g.a, g.a.NewLabel()
	results := g.results(steps, g.pos+len(steps))
	g.testRare(steps[0])
	a.Jcc(asm.Eq, skip)

	owner, state := g.owner, g.state
	preds, kFree, spill := maps.Clone(g.preds), slices.Clone(g.kFree), maps.Clone(g.spill)
	saved := map[int]asm.Mem{} // by register
	for r := range g.limit {
		v := g.owner[r]
		if g.state[r] != busy || v < 0 {
			continue
		}
		m, ok := g.place(v)
		if !ok {
			m = g.spillSlot()
			a.MR(asm.VMOVUPSST, g.length(g.typeOf(v)), asm.M(m), asm.Vec(r))
			g.spill[v] = m
		}
		saved[r] = m
	}
	for _, s := range steps {
		g.step(s)
	}
	for _, v := range results {
		m, ok := g.place(v)
		if !ok {
			m = g.spillSlot()
			g.spill[v] = m
			a.MR(asm.VMOVUPSST, g.length(g.typeOf(v)), asm.M(m), g.reg(v))
		}
		spill[v] = m
	}
	for r := range g.limit {
		g.forget(r)
		g.lock[r] = false
	}
	g.state = state
	for r := range g.limit {
		v := owner[r]
		if v < 0 {
			continue
		}
		if m, ok := saved[r]; ok {
			if g.next(v) == never {
				g.state[r] = free
				continue
			}
			a.RM(asm.VMOVUPS, g.length(g.typeOf(v)), asm.Vec(r), asm.M(m))
		}
		g.hold(asm.Vec(r), v)
	}
	g.preds, g.kFree, g.spill = preds, kFree, spill
	for k := asm.Mask(2); k <= 6; k++ {
		for v, p := range g.preds {
			if p == k && g.next(v) == never {
				g.kFree = append(g.kFree, k)
				delete(g.preds, v)
			}
		}
	}
	a.Bind(skip)
}

// testRare sets the zero flag if no lane needs the block of a step.
func (g *gen) testRare(s step) {
	a := g.a
	at := slices.IndexFunc(g.k.Rares, func(r kernel.Rare) bool { return s.ref >= r.From && s.ref < r.To })
	mask := g.value(g.k.Rares[at].Mask, s.copy)
	l := g.length(ir.Bool)
	if k, ok := g.preds[mask]; ok {
		a.KOrTest(k, k)
		return
	}
	r := g.reg(mask)
	g.lock[r] = false
	if g.wide {
		a.KVM(asm.VPTESTMD, l, 1, r, asm.V(r), -1)
		a.KOrTest(1, 1)
		return
	}
	a.GM(asm.VMOVMSKPS, l, rTmp, r)
	a.Test(rTmp, rTmp)
}
