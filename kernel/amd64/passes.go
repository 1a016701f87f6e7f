package amd64

import (
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64/asm"
)

// pass is one walk over the reduced axes. A stage has as many as its reductions
// need: those of one tree share a pass, as far as there are registers for their
// accumulators. The stores of a stage belong to its last pass.
type pass struct {
	stage   int
	roots   []kernel.Ref // stores, reductions, and what may note a fault unused
	reduces []kernel.Ref
	scans   []kernel.Ref
	tree    kernel.Tree
	first   bool         // stops at the first hit: runs for nothing else
	list    []kernel.Ref // all instructions, in order
}

// accumulators is how many vector registers accumulators may take.
func (g *gen) accumulators() int {
	if g.wide {
		return 8
	}
	return 4
}

// anyTree stands for the tree of reductions that need none.
func (g *gen) anyTree() kernel.Tree {
	if g.byRows { // one chunk, however long
		return kernel.Tree{Kind: kernel.Striped, Chunk: 1 << 30, Lanes: kernel.StripedTree.Lanes}
	}
	return kernel.Tree{Kind: kernel.Sequential, Chunk: 1 << 30, Lanes: 1}
}

// makePasses divides the element-level work into passes and chooses the values
// that row buffers keep between them.
func (g *gen) makePasses() {
	needed := g.needed()
	for s := range g.last + 1 {
		first := len(g.passes)
		for i := range g.k.Body {
			in := &g.k.Body[i]
			if needed[i] && in.Op == kernel.OpReduce && g.stage[i] == s+1 {
				g.joinPass(first, s, kernel.Ref(i))
			}
		}
		var stores []kernel.Ref
		for i := range g.k.Body {
			if g.k.Body[i].Op == kernel.OpStore && g.class[i] == element && g.stage[i] == s {
				stores = append(stores, kernel.Ref(i))
			}
		}
		g.addRoots(first, s, stores)
		if g.byRows {
			g.rowScans(first, s)
		}
	}
	for i := range g.passes {
		g.passes[i].list = g.closure(i)
	}
	g.addFaults()
	g.chooseSaved()
	for i := range g.passes {
		p := &g.passes[i]
		p.list = g.closure(i)
		for _, r := range p.list {
			if g.k.Body[r].Op == kernel.OpScan && !g.byRows {
				p.scans = append(p.scans, r)
			}
		}
	}
}

// rowScans adds the scans of the next stage to a stage, whose passes begin at
// first. With lanes along the row, a pass fills a scan's row buffer, which is
// scanned in place when the pass ends, and later passes read the buffer.
func (g *gen) rowScans(first, stage int) {
	var scans []kernel.Ref
	for i, needed := range g.needed() {
		if needed && g.k.Body[i].Op == kernel.OpScan && g.stage[i] == stage+1 {
			scans = append(scans, kernel.Ref(i))
		}
	}
	g.addRoots(first, stage, scans)
	for _, r := range scans {
		word := g.reserve(64)
		g.p.buffers = append(g.p.buffers, word)
		g.passes[len(g.passes)-1].scans = scans
		g.saved[r] = rowValue{len(g.passes) - 1, asm.Ptr(asm.DI, word)}
	}
}

// joinPass gives a reduction to the first pass of its stage that has its tree
// and room for it. Passes of the stage begin at first.
func (g *gen) joinPass(first, stage int, r kernel.Ref) {
	in := &g.k.Body[r]
	if g.k.Reductions[in.Imm].Kind == firstHit {
		g.passes = append(g.passes, pass{stage: stage, first: true, reduces: []kernel.Ref{r}, roots: []kernel.Ref{r}})
		return
	}
	free, tree := g.anyOrder(in), g.anyTree()
	if !free {
		tree = g.k.Reductions[in.Imm].Tree
	}
	for i := first; i < len(g.passes); i++ {
		p := &g.passes[i]
		fixed := false
		for _, o := range p.reduces {
			fixed = fixed || !g.anyOrder(&g.k.Body[o])
		}
		if p.first || len(p.reduces) >= g.accumulators() || !free && fixed && p.tree != tree {
			continue
		}
		if !free {
			p.tree = tree
		}
		p.reduces = append(p.reduces, r)
		p.roots = append(p.roots, r)
		return
	}
	g.passes = append(g.passes, pass{stage: stage, tree: tree, reduces: []kernel.Ref{r}, roots: []kernel.Ref{r}})
}

// addRoots adds instructions to the last pass of a stage, whose passes begin at
// first, or makes one for them.
func (g *gen) addRoots(first, stage int, roots []kernel.Ref) {
	if len(roots) == 0 {
		return
	}
	if len(g.passes) == first || g.passes[len(g.passes)-1].first {
		g.passes = append(g.passes, pass{stage: stage, tree: g.anyTree()})
	}
	p := &g.passes[len(g.passes)-1]
	p.roots = append(p.roots, roots...)
}

// addFaults makes sure that everything that may note a fault runs in some pass.
func (g *gen) addFaults() {
	runs := make([]bool, len(g.k.Body))
	for _, p := range g.passes {
		for _, r := range p.list {
			runs[r] = true
		}
	}
	for i := range g.k.Body {
		if !g.faulty(&g.k.Body[i]) || g.class[i] != element || runs[i] {
			continue
		}
		at := -1
		for j := range g.passes {
			if g.passes[j].stage == g.stage[i] && !g.passes[j].first {
				at = j
			}
		}
		if at < 0 { // passes stay in the order of their stages
			at = 0
			for at < len(g.passes) && g.passes[at].stage < g.stage[i] {
				at++
			}
			g.passes = append(g.passes, pass{})
			copy(g.passes[at+1:], g.passes[at:])
			for r, v := range g.saved {
				if v.pass >= at {
					g.saved[r] = rowValue{v.pass + 1, v.word}
				}
			}
			g.passes[at] = pass{stage: g.stage[i], tree: g.anyTree()}
		}
		g.passes[at].roots = append(g.passes[at].roots, kernel.Ref(i))
	}
}

// closure lists what a pass runs: its roots and the element-level values that
// they need, less those that come from row buffers of earlier passes.
func (g *gen) closure(number int) (list []kernel.Ref) {
	want := make([]bool, len(g.k.Body))
	for _, r := range g.passes[number].roots {
		want[r] = true
	}
	for i := len(g.k.Body) - 1; i >= 0; i-- {
		if !want[i] {
			continue
		}
		if v, ok := g.saved[kernel.Ref(i)]; ok && v.pass < number {
			continue
		}
		g.k.Body[i].Operands(func(r kernel.Ref) {
			r = g.alias[r]
			want[r] = want[r] || g.class[r] == element
		})
	}
	for i := range want {
		if want[i] {
			list = append(list, kernel.Ref(i))
		}
	}
	return list
}

// stagePasses returns the numbers of the passes of a stage, in order.
func (g *gen) stagePasses(stage int) (from, to int) {
	for from < len(g.passes) && g.passes[from].stage < stage {
		from++
	}
	for to = from; to < len(g.passes) && g.passes[to].stage == stage; to++ {
	}
	return from, to
}
