package fusion_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// randomSegment makes a segment of a random program, some of whose inputs die.
func randomSegment(seed uint64, nodes int) (*ir.Program, *fusion.Segment) {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := irtest.Random(rng, irtest.Options{Nodes: nodes, MaxElements: 1 + rng.IntN(4096)})
	s := segmentOf(p)
	keep := s.Keep
	input := map[ir.ID]bool{}
	for range p.Inputs {
		s.Dies = append(s.Dies, rng.IntN(2) == 0)
	}
	for i, t := range p.Inputs {
		input[t.ID] = true
		if keep(t.ID) { // read, so it lives
			s.Dies[i] = false
		}
	}
	return p, s
}

// Plans of random programs are legal and never worse than one block per node.
func TestRandomPlans(t *testing.T) {
	n := 3000
	if testing.Short() {
		n = 300
	}
	for seed := range n {
		_, s := randomSegment(uint64(seed), 5+seed%60)
		planner := &fusion.Planner{Target: paperTarget{}}
		plan, err := planner.Plan(s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// Plans run on the processor give the bits of one node at a time.
func TestRandomBits(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 20
	}
	target := newDeviceTarget(t, cpu.Options{})
	first := ir.ID(1 << 20)
	for seed := range n {
		p, s := randomSegment(uint64(seed)+1e6, 5+seed%40)
		planner := &fusion.Planner{Target: target}
		plan, err := planner.Plan(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		inputs := irtest.InputData(rand.New(rand.NewPCG(uint64(seed), 1)), p, 0.1)
		want, wantErrs, err := unfusedBits(p, target.d, inputs, first)
		if err != nil {
			t.Fatal(err)
		}
		first += 1 << 20
		got, gotErrs, err := execute(plan, target.d, inputs, first)
		if err != nil {
			t.Fatal(err)
		}
		first += 1 << 20
		for i, x := range p.Inputs { // outputs that are inputs
			if s.Keep(x.ID) {
				got[x.ID], gotErrs[x.ID] = want[x.ID], wantErrs[x.ID]
				_ = i
			}
		}
		if d := compare(p, want, got, wantErrs, gotErrs); d != "" {
			t.Fatalf("seed %d: %s\n%s\n%s", seed, d, p, plan.Explain())
		}
	}
}
