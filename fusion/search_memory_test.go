package fusion_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/lower"
)

// TestInPlace: a result takes the memory of an operand that dies, where one piece
// reads each element before it writes the one in its place, and nowhere else.
func TestInPlace(t *testing.T) {
	target := newDeviceTarget(t, cpu.Options{})
	first := ir.ID(1 << 20)
	for _, c := range []struct {
		name string
		dies bool // the first input
		want int
		text string
	}{
		{"chain", true, 1, "\n  in %1 f32[64,8]\n  %2 = neg %1\n  %3 = exp %2\n  out %3"},
		{"lives on", false, 0, "\n  in %1 f32[64,8]\n  %2 = neg %1\n  %3 = exp %2\n  out %3"},
		{"bias", true, 1, "\n  in %1 f32[64,8]\n  in %2 f32[8]\n  %3 = add %1 %2\n  out %3"},
		{"extents of one", true, 1, "\n  in %1 f32[4,1,8]\n  in %2 f32[1,1,8]\n  %3 = add %1 %2\n  out %3"},
		{"other dtype, same size", true, 1, "\n  in %1 f32[64]\n  %2 = cast %1 {dtype=i32}\n  out %2"},
		{"other size", true, 0, "\n  in %1 f32[64]\n  %2 = cast %1 {dtype=f64}\n  out %2"},
		{"broadcast to more", true, 0, "\n  in %1 f32[8]\n  in %2 f32[4,8]\n  %3 = add %1 %2\n  out %3"},
		{"read transposed too", true, 0, "\n  in %1 f32[8,8]\n  %2 = permute %1 {axes=[1,0]}\n  %3 = add %1 %2\n  out %3"},
		{"read reversed too", true, 0, "\n  in %1 f32[8]\n  %2 = slice %1 {starts=[7],sizes=[8],steps=[-1]}\n  %3 = add %1 %2\n  out %3"},
		{"read transposed alone", true, 0, "\n  in %1 f32[8,8]\n  %2 = permute %1 {axes=[1,0]}\n  %3 = exp %2\n  out %3"},
		{"one row for all", true, 0, "\n  in %1 f32[8,8]\n  %2 = slice %1 {starts=[0,0],sizes=[1,8],steps=[1,1]}\n  %3 = add %1 %2\n  out %3"},
		{"two results, one operand", true, 1, "\n  in %1 f32[64]\n  %2 = neg %1\n  %3 = exp %1\n  out %2 %3"},
		{"a row program", true, 1, "\n  in %1 f32[8,8]\n  %2 = softmax %1\n  out %2"},
		{"the epilogue of a product", true, 1, "\n  in %1 f32[8,8]\n  in %2 f32[8,8]\n  in %3 f32[8,8]\n  %4 = matmul %2 %3\n  %5 = add %1 %4\n  out %5"},
		{"a reduction beside it", true, 0, "\n  in %1 f32[8,8]\n  %2 = argmax %1 {axis=1}\n  %3 = exp %1\n  out %2 %3"},
		{"an operand of a product", true, 0, "\n  in %1 f32[8,8]\n  in %2 f32[8,8]\n  %3 = matmul %1 %2\n  out %3"},
		{"a sum of what it was", true, 0, "\n  in %1 f32[8,1]\n  in %2 f32[8,8]\n  %3 = mul %1 %2\n  %4 = sum %3 {axes=[0],keepdims=true}\n  %5 = reshape %4 {shape=[8,1]}\n  out %5"},
		{"may fault", true, 0, "\n  in %1 i32[8]\n  in %2 i32[8]\n  %3 = floor_div %1 %2\n  out %3"},
		{"reshaped", true, 1, "\n  in %1 f32[8,8]\n  %2 = reshape %1 {shape=[64]}\n  %3 = exp %2\n  out %3"},
		{"kept as a view", true, 0, "\n  in %1 f32[8,8]\n  %2 = reshape %1 {shape=[64]}\n  %3 = exp %2\n  out %2 %3"},
	} {
		p := parse(t, program(c.text))
		s := segmentOf(p)
		s.Dies = make([]bool, len(s.Inputs))
		s.Dies[0] = c.dies
		for _, opt := range []fusion.PlanOptions{{}, {NoInPlace: true}} {
			plan, err := (&fusion.Planner{Target: target, Options: opt}).Plan(s)
			if err == nil {
				err = verify(plan)
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			got := 0
			for _, b := range plan.Explain().Blocks {
				got += b.InPlace
			}
			want := c.want
			if opt.NoInPlace {
				want = 0
			}
			if got != want {
				t.Errorf("%s: %d results in place, expected %d\n%s", c.name, got, want, plan.Explain())
			}
			inputs := irtest.InputData(rand.New(rand.NewPCG(1, 2)), p, 0)
			a, ea, err := unfusedBits(p, target.d, inputs, first)
			if err != nil {
				t.Fatal(err)
			}
			before := target.d.Counters().InPlace
			b, eb, err := execute(plan, target.d, inputs, first+1<<20)
			if err != nil {
				t.Fatal(err)
			}
			first += 2 << 20
			if d := compare(p, a, b, ea, eb); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			if taken := target.d.Counters().InPlace - before; taken != int64(want) {
				t.Errorf("%s: the device took %d over, expected %d", c.name, taken, want)
			}
		}
	}
}

// blocksOf returns the number of blocks that compute the node, and whether any
// stores it.
func blocksOf(p *fusion.Plan, node int) (n int, stored bool) {
	for _, b := range p.Blocks {
		if slices.Contains(b.Nodes, node) && (b.Kind == fusion.KernelBlock || b.Kind == fusion.RoutineBlock) {
			n++
			stored = stored || slices.Contains(b.Stored, p.Segment.Nodes[node].Out[0].ID)
		}
	}
	return n, stored
}

// TestRecompute: a cheap value that two kernels need is computed in both and never
// stored, unless it is dear, or reads more than it gives, or outlives the segment.
func TestRecompute(t *testing.T) {
	for _, c := range []struct {
		name   string
		blocks int
		stored bool
		text   string
	}{
		{"cast", 2, false, "\n  in %1 f16[4096]\n  %2 = cast %1 {dtype=f32}\n  %3 = neg %2\n  %4 %5 = sort %3\n  %6 = mul %2 %4\n  out %6"},
		{"dear", 1, true, "\n  in %1 f32[4096]\n  %2 = erf %1\n  %3 = neg %2\n  %4 %5 = sort %3\n  %6 = mul %2 %4\n  out %6"},
		{"two operands", 1, true, "\n  in %1 f32[4096]\n  in %7 f32[4096]\n  %2 = mul %1 %7\n  %3 = neg %2\n  %4 %5 = sort %3\n  %6 = mul %2 %4\n  out %6"},
		{"kept", 1, true, "\n  in %1 f16[4096]\n  %2 = cast %1 {dtype=f32}\n  %3 = neg %2\n  %4 %5 = sort %3\n  %6 = mul %2 %4\n  out %6 %2"},
		{"a routine reads it", 1, true, "\n  in %1 f16[4096]\n  %2 = cast %1 {dtype=f32}\n  %4 %5 = sort %2\n  %6 = mul %2 %4\n  out %6"},
		{"a constant", 2, false, "\n  in %1 f32[64]\n  %2 = full {shape=[64],dtype=f32,value=f32:2}\n  %3 = mul %2 %1\n  %4 %5 = sort %3\n  %6 = mul %2 %4\n  out %6"},
	} {
		p := parse(t, program(c.text))
		plan := planOf(t, segmentOf(p), fusion.PlanOptions{})
		if n, stored := blocksOf(plan, 0); n != c.blocks || stored != c.stored {
			t.Errorf("%s: computed in %d blocks, stored %v; expected %d, %v\n%s", c.name, n, stored, c.blocks, c.stored, plan.Explain())
		}
	}
}

// TestWork: what a contraction would compute again for each column stays out of it,
// unless there are few.
func TestWork(t *testing.T) {
	text := func(columns string) string {
		return program("\n  in %1 f32[64,64]\n  in %2 f32[64," + columns + "]\n  %3 = exp %1\n  %4 = matmul %3 %2\n  out %4")
	}
	if e := planOf(t, segmentOf(parse(t, text("1"))), fusion.PlanOptions{}).Explain(); e.Launches != 1 {
		t.Errorf("one column: %s", e)
	}
	e := planOf(t, segmentOf(parse(t, text("256"))), fusion.PlanOptions{}).Explain()
	if e.Launches != 2 || len(e.Refusals) != 1 || e.Refusals[0].Rule != fusion.RuleWork {
		t.Errorf("256 columns: %s", e)
	}
}

// interpreting is a target that interprets kernels with some row, and generates
// all others.
type interpreting struct {
	paperTarget
	rows [2]string // that it interprets when both are in one kernel
}

func (x interpreting) Kernel(p *lower.Piece) (*fusion.Kernel, error) {
	k, err := x.paperTarget.Kernel(p)
	if err != nil {
		return nil, err
	}
	name := k.Code.Kernel().Name
	if strings.Contains(name, x.rows[0]) && strings.Contains(name, x.rows[1]) {
		k.Code = interpreted{k.Code.(paperCode)}
	}
	return k, nil
}

type interpreted struct{ paperCode }

func (interpreted) Generated() bool { return false }

// TestNotGenerated: a fused kernel that the device would interpret is taken apart
// if its parts are generated; one whose parts are interpreted as well stays.
func TestNotGenerated(t *testing.T) {
	s := segmentOf(parse(t, program("\n  in %1 f32[64]\n  %2 = neg %1\n  %3 = exp %2\n  %4 = abs %3\n  %5 = sin %4\n  out %5")))
	plan, err := (&fusion.Planner{Target: interpreting{rows: [2]string{"exp", "sin"}}}).Plan(s)
	if err == nil {
		err = verify(plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(plan.Refusals, func(r fusion.Refusal) bool { return r.Rule == fusion.RuleNotGenerated })
	if plan.Fused.Launches != 2 || !found {
		t.Errorf("exp and sin apart: %s", plan.Explain())
	}
	plan, err = (&fusion.Planner{Target: interpreting{rows: [2]string{"exp", "exp"}}}).Plan(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range plan.Blocks { // exp is interpreted however it runs; the rest need not be
		if slices.Contains(b.Nodes, 1) && len(b.Nodes) == 4 {
			t.Errorf("exp slows down the rest: %s", plan.Explain())
		}
	}
}
