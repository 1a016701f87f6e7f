package fusion_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/fusion"
)

var update = flag.Bool("update", false, "rewrite the golden explanations")

// golden are the programs whose explanations are kept in testdata.
var golden = map[string]string{
	"mlp": `program mlp
  in %1 f32[8,4]
  in %2 f32[4,3]
  in %3 f32[3]
  %4 = matmul %1 %2 @ "model.go:12"
  %5 = add %4 %3 @ "model.go:13"
  %6 = relu %5 @ "model.go:13"
  %7 = sum %6 {axes=[1]} @ "model.go:14"
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
	"attention": `program attention
  in %1 f32[2,6,8]
  in %2 f32[2,6,8]
  in %3 f32[2,6,8]
  in %4 f32[]
  %5 = permute %2 {axes=[0,2,1]}
  %6 = matmul %1 %5
  %7 = mul %6 %4
  %8 = max %7 {axes=[2],keepdims=true}
  %9 = sub %7 %8
  %10 = exp %9
  %11 = sum %10 {axes=[2],keepdims=true}
  %12 = div %10 %11
  %13 = matmul %12 %3
  out %13
`,
}

// The golden files state the blocks of a program: its text, then its explanation
// without fusion and with it.
func TestExplainGolden(t *testing.T) {
	for name, text := range golden {
		t.Run(name, func(t *testing.T) {
			p := parse(t, text)
			got := p.String() + "\nunfused:\n" + planOf(t, segmentOf(p), fusion.PlanOptions{Unfused: true}).Explain().String() +
				"\nfused:\n" + planOf(t, segmentOf(p), fusion.PlanOptions{}).Explain().String()
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

// Peak and bytes of the baseline follow from the types by hand.
func TestUnfusedCosts(t *testing.T) {
	p := parse(t, "program p\n  in %1 f32[100]\n  %2 = neg %1\n  %3 = mul %2 %2\n  %4 = add %3 %1\n  out %4\n")
	e := planOf(t, segmentOf(p), fusion.PlanOptions{Unfused: true}).Explain()
	// Two results of 400 bytes live at once, one of which the last takes over where
	// that is allowed; mul reads its one operand once.
	if e.Unfused.Peak != 800 || e.Read != 400+400+800 || e.Written != 1200 || e.Kernels != 3 {
		t.Errorf("peak %d, read %d, written %d, kernels %d", e.Unfused.Peak, e.Read, e.Written, e.Kernels)
	}
	e = planOf(t, segmentOf(p), fusion.PlanOptions{Unfused: true, NoInPlace: true}).Explain()
	if e.Peak != 800 {
		t.Errorf("peak %d without results in place, expected 800", e.Peak)
	}
	e = planOf(t, segmentOf(p), fusion.PlanOptions{}).Explain()
	if e.Peak != 400 || e.Read != 400 || e.Written != 400 || e.Launches != 1 {
		t.Errorf("fused: %+v", e)
	}
}

func TestUndefined(t *testing.T) {
	p := parse(t, "program p\n  in %1 f32[3]\n  %2 = neg %1\n  out %2\n")
	s := &fusion.Segment{Nodes: p.Nodes}
	if _, err := (&fusion.Planner{Target: paperTarget{}}).Plan(s); err == nil {
		t.Error("a segment whose operand nobody defines was planned")
	}
	s = &fusion.Segment{Inputs: append(p.Inputs, p.Inputs...), Nodes: p.Nodes}
	if _, err := (&fusion.Planner{Target: paperTarget{}}).Plan(s); err == nil {
		t.Error("a segment that defines an input twice was planned")
	}
}

// An explanation survives JSON, and the page holds every operation, line, refusal
// and time, and asks for nothing from elsewhere.
func TestExplainForms(t *testing.T) {
	p := parse(t, strings.Replace(golden["attention"], "%13 = matmul %12 %3", `%13 = matmul %12 %3 @ "a<b>.go:7"`, 1))
	s := segmentOf(p)
	s.Cut = fusion.CutRead
	e := planOf(t, s, fusion.PlanOptions{}).Explain()
	e = e.WithTimes([]time.Duration{1500 * time.Microsecond, 0, 2 * time.Millisecond})
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back fusion.Explanation
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.String() != e.String() {
		t.Errorf("after JSON:\n%s\nbefore:\n%s", back, e)
	}
	var b strings.Builder
	if err := e.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"cut by read", "matmul f32[2,6,6]", "a&lt;b&gt;.go:7", "1.5ms", "<svg", "another reduced group", "</html>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<rect"); n != len(p.Nodes) {
		t.Errorf("%d boxes, expected one per operation: %d", n, len(p.Nodes))
	}
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	if m := regexp.MustCompile(`https?:|src=|<script|@import|url\(|<b>`).FindString(page); m != "" {
		t.Errorf("the page has %q", m)
	}
}
