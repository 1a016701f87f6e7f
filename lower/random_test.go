package lower_test

import (
	"flag"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

var (
	programs = flag.Int("programs", 300, "random programs whose blocks are compared")
	seed     = flag.Uint64("seed", 1, "of the random programs")
)

// TestRandomBlocks: every part of a random program either is refused or gives, as
// one function, the bits of its nodes one by one; and equal keys have equal kernels.
func TestRandomBlocks(t *testing.T) {
	var rows []*ir.Row
	for _, r := range ir.Rows() {
		if r.Access != ir.Scatter && r.Access != ir.Opaque && r.Access != ir.Recurrence && r.Decompose == nil {
			rows = append(rows, r)
		}
	}
	kernels := map[string]built{}
	rules, blocks, several := map[string]int{}, 0, 0
	for p := range *programs {
		rng := rand.New(rand.NewPCG(*seed, uint64(p)))
		prog := irtest.Random(rng, irtest.Options{Nodes: 14, MaxElements: 3000, Rows: rows})
		m := &machine{values: map[ir.ID]*tensor{}, refused: map[string]int{}, compile: p%4 == 0, kernels: kernels}
		m.fill(rng, prog, 0.1)
		for i := range prog.Nodes {
			if err := m.node(&prog.Nodes[i]); err != nil {
				t.Fatalf("program %d: %s: %v", p, text(prog.Nodes[i:i+1]), err)
			}
		}
		for range 12 {
			list := convex(rng, prog.Nodes)
			stored := storedOf(rng, prog, list)
			if r := compare(t, m, prog.Nodes, list, stored); r != nil {
				rules[string(r.Rule)]++
			} else if len(list) > 1 {
				several++
			}
			blocks++
			if t.Failed() {
				t.Fatalf("program %d of seed %d", p, *seed)
			}
		}
	}
	t.Logf("%d blocks, %d of several nodes lowered; refused: %v", blocks, several, rules)
	if several < blocks/10 {
		t.Errorf("only %d of %d blocks are of several nodes and lowered", several, blocks)
	}
}

// convex returns a run of nodes, or a random set that no path leaves and enters
// again.
func convex(rng *rand.Rand, nodes []ir.Node) []int {
	var list []int
	if rng.IntN(4) == 0 {
		from := rng.IntN(len(nodes))
		for i := from; i < min(len(nodes), from+1+rng.IntN(8)); i++ {
			list = append(list, i)
		}
		return list
	}
	// Grow along edges.
	in := map[int]bool{rng.IntN(len(nodes)): true}
	want := 1 + rng.IntN(7)
	for try := 0; try < 60 && len(in) < want; try++ {
		i := rng.IntN(len(nodes))
		for j := range nodes {
			if in[j] && (joined(&nodes[i], &nodes[j]) || joined(&nodes[j], &nodes[i])) {
				in[i] = true
				break
			}
		}
	}
	// A node between two members is a member.
	below, above := make([]bool, len(nodes)), make([]bool, len(nodes))
	for i := range nodes {
		for j := range i {
			if joined(&nodes[j], &nodes[i]) && (in[j] || below[j]) {
				below[i] = true
			}
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		for j := i + 1; j < len(nodes); j++ {
			if joined(&nodes[i], &nodes[j]) && (in[j] || above[j]) {
				above[i] = true
			}
		}
	}
	for i := range nodes {
		if in[i] || below[i] && above[i] {
			list = append(list, i)
		}
	}
	sort.Ints(list)
	return list
}

// joined reports whether b uses a result of a.
func joined(a, b *ir.Node) bool {
	for _, x := range a.Out {
		for _, y := range b.In {
			if x.ID == y.ID {
				return true
			}
		}
	}
	return false
}

// storedOf picks what a block stores: what is used outside it, and some more.
func storedOf(rng *rand.Rand, p *ir.Program, list []int) func(ir.ID) bool {
	in := map[int]bool{}
	for _, i := range list {
		in[i] = true
	}
	inner := map[ir.ID]bool{}
	for i := range p.Nodes {
		for _, t := range p.Nodes[i].In {
			if in[i] {
				inner[t.ID] = true
			}
		}
	}
	keep := map[ir.ID]bool{}
	last := ir.ID(0)
	for _, i := range list {
		for _, t := range p.Nodes[i].Out {
			last = t.ID
			keep[t.ID] = !inner[t.ID] || rng.IntN(6) == 0
		}
	}
	keep[last] = true
	return func(id ir.ID) bool { return keep[id] }
}
