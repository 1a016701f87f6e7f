package fusion_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
)

// block is a small network over n rows, written out.
func network(n, k int) string {
	return fmt.Sprintf(`program p
  in %%1 f32[%[1]d,%[2]d]
  in %%2 f32[%[2]d]
  in %%3 f32[%[2]d,8]
  %%4 = max %%1 {axes=[1],keepdims=true}
  %%5 = sub %%1 %%4
  %%6 = exp %%5
  %%7 = sum %%6 {axes=[1],keepdims=true}
  %%8 = div %%6 %%7
  %%9 = mul %%8 %%2
  %%10 = matmul %%9 %%3
  %%11 = relu %%10
  %%12 = slice %%11 {starts=[%[3]d,0],sizes=[1,8],steps=[1,1]}
  %%13 = exp %%12
  out %%13 %%9
`, n, k, n-1)
}

// A plan bound to other sizes is what a fresh plan would be: the same blocks, in
// fewer lowerings, and the bits of one node at a time.
func TestRebind(t *testing.T) {
	target := newDeviceTarget(t, cpu.Options{})
	planner := &fusion.Planner{Target: target}
	old, err := planner.Plan(segmentOf(parse(t, network(5, 12))))
	if err != nil {
		t.Fatal(err)
	}
	first := ir.ID(1 << 20)
	for _, c := range [][2]int{{5, 12}, {6, 12}, {70, 200}, {2, 3}, {3, 1}} {
		p := parse(t, network(c[0], c[1]))
		s := segmentOf(p)
		plan, err := planner.Rebind(old, s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if len(plan.Blocks) != len(old.Blocks) || plan.Fused.Launches != old.Fused.Launches {
			t.Errorf("%v: %d blocks, expected %d", c, len(plan.Blocks), len(old.Blocks))
		}
		inputs := irtest.InputData(rand.New(rand.NewPCG(1, 2)), p, 0)
		a, ea, err := unfusedBits(p, target.d, inputs, first)
		if err != nil {
			t.Fatal(err)
		}
		b, eb, err := execute(plan, target.d, inputs, first+1<<20)
		if err != nil {
			t.Fatal(err)
		}
		first += 2 << 20
		if d := compare(p, a, b, ea, eb); d != "" {
			t.Errorf("%v: %s", c, d)
		}
	}
}

// Random plans bound to their own segment are what they were.
func TestRebindRandom(t *testing.T) {
	for seed := range 200 {
		_, s := randomSegment(uint64(seed), 5+seed%40, false)
		planner := &fusion.Planner{Target: paperTarget{}}
		old, err := planner.Plan(s)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Rebind(old, s)
		if err == nil {
			err = verify(plan)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if a, b := old.Explain().String(), plan.Explain().String(); a != b {
			t.Fatalf("seed %d:\n%s\nrebound:\n%s", seed, a, b)
		}
	}
}

// What does not hold for other sizes is refused, and says so.
func TestRebindGuards(t *testing.T) {
	planner := &fusion.Planner{Target: paperTarget{}}
	old, err := planner.Plan(segmentOf(parse(t, network(5, 12))))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		strings.Replace(network(5, 12), "out %13 %9", "out %13", 1),
		"program p\n  in %1 f32[5,12]\n  in %2 f32[12]\n  in %3 f32[12,8]\n  %4 = exp %1\n  out %4\n",
	} {
		if _, err := planner.Rebind(old, segmentOf(parse(t, text))); err == nil {
			t.Errorf("a plan was bound to %s", text)
		} else if ir.AsError(err).Kind != ir.ErrUnsupported {
			t.Error(err)
		}
	}
}
