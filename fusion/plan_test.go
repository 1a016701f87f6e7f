package fusion_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/ir"
)

var update = flag.Bool("update", false, "rewrite the golden explanations")

// The golden files state the kernels of a program: its text, then its explanation.
func TestExplainGolden(t *testing.T) {
	programs := map[string]string{
		"mlp": `program mlp
  in %1 f32[8,4]
  in %2 f32[4,3]
  in %3 f32[3]
  %4 = matmul %1 %2
  %5 = add %4 %3
  %6 = relu %5
  %7 = sum %6 {axes=[1]}
  out %7
`,
		"views": `program views
  in %1 f32[2,6]
  %2 = reshape %1 {shape=[3,4]}
  %3 = permute %2 {axes=[1,0]}
  %4 = reshape %3 {shape=[12]}
  %5 = neg %4
  %6 = concat %4 %5 {axis=0}
  out %6
`,
	}
	for name, text := range programs {
		t.Run(name, func(t *testing.T) {
			p, err := ir.ParseProgram(text, nil)
			if err != nil {
				t.Fatal(err)
			}
			keep := map[ir.ID]bool{}
			for _, id := range p.Outputs {
				keep[id] = true
			}
			plan, err := fusion.Unfused(&fusion.Segment{Inputs: p.Inputs, Nodes: p.Nodes, Keep: func(id ir.ID) bool { return keep[id] }})
			if err != nil {
				t.Fatal(err)
			}
			got := p.String() + "\n" + plan.Explain().String()
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// Peak and bytes follow from the types by hand.
func TestUnfusedCosts(t *testing.T) {
	p, err := ir.ParseProgram("program p\n  in %1 f32[100]\n  %2 = neg %1\n  %3 = mul %2 %2\n  %4 = add %3 %1\n  out %4\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fusion.Unfused(&fusion.Segment{Inputs: p.Inputs, Nodes: p.Nodes, Keep: func(id ir.ID) bool { return id == p.Outputs[0] }})
	if err != nil {
		t.Fatal(err)
	}
	e := plan.Explain()
	// Two results of 400 bytes live at once; mul reads its one operand once.
	if e.Peak != 800 || e.Read != 400+400+800 || e.Written != 1200 || e.Kernels != 3 {
		t.Errorf("peak %d, read %d, written %d, kernels %d", e.Peak, e.Read, e.Written, e.Kernels)
	}
}

func TestUnfusedUndefined(t *testing.T) {
	p, err := ir.ParseProgram("program p\n  in %1 f32[3]\n  %2 = neg %1\n  out %2\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fusion.Unfused(&fusion.Segment{Nodes: p.Nodes}); err == nil {
		t.Error("a segment whose operand nobody defines was planned")
	}
}
