package fusion_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// randomSegment makes a segment of a random program, some of whose inputs die.
func randomSegment(seed uint64, nodes int, faults bool) (*ir.Program, *fusion.Segment) {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := irtest.Random(rng, irtest.Options{Nodes: nodes, MaxElements: 1 + rng.IntN(4096), Faults: faults})
	s := segmentOf(p)
	keep := s.Keep
	for range p.Inputs {
		s.Dies = append(s.Dies, rng.IntN(2) == 0)
	}
	s.Bases, s.Layouts = make([]ir.ID, len(p.Inputs)), make([]ir.Layout, len(p.Inputs))
	for i, t := range p.Inputs { // some show the base of an earlier one
		s.Bases[i] = t.ID
		for j, x := range p.Inputs[:i] {
			if x.Type.Equal(t.Type) && s.Bases[j] == x.ID && rng.IntN(2) == 0 {
				s.Bases[i], s.Layouts[i] = x.ID, ir.Layout{Strides: t.Shape.Strides()}
				break
			}
		}
	}
	for i, t := range p.Inputs {
		if keep(t.ID) { // read, so its base lives
			s.Dies[slices.Index(s.Bases, s.Bases[i])] = false
		}
	}
	for i := range p.Inputs {
		s.Dies[i] = s.Dies[slices.Index(s.Bases, s.Bases[i])]
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
		_, s := randomSegment(uint64(seed), 5+seed%60, seed%2 == 0)
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

// Plans run on the processor give the bits and the errors of one node at a time.
func TestRandomBits(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 20
	}
	target := newDeviceTarget(t, cpu.Options{})
	first := ir.ID(1 << 20)
	for seed := range n {
		p, s := randomSegment(uint64(seed)+1e6, 5+seed%40, seed%2 == 0)
		planner := &fusion.Planner{Target: target}
		plan, err := planner.Plan(s)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		inputs := irtest.InputData(rand.New(rand.NewPCG(uint64(seed), 1)), p, 0.1)
		for i, b := range s.Bases {
			inputs[i] = inputs[slices.IndexFunc(p.Inputs, func(t ir.Tensor) bool { return t.ID == b })]
		}
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
		for _, x := range p.Inputs { // outputs that are inputs
			if s.Keep(x.ID) {
				got[x.ID], gotErrs[x.ID] = want[x.ID], wantErrs[x.ID]
			}
		}
		if d := compare(p, want, got, wantErrs, gotErrs); d != "" {
			t.Fatalf("seed %d: %s\n%s\n%s", seed, d, p, plan.Explain())
		}
	}
}
