package ptx

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden pins the text of one kernel of each kind: what the generator
// writes should change only when someone meant it to.
func TestGolden(t *testing.T) {
	pick := func(list []ptxtest.Spec, name string) ptxtest.Spec {
		for _, s := range list {
			if s.Name == name {
				return s
			}
		}
		t.Fatalf("no case %q", name)
		return ptxtest.Spec{}
	}
	small := ptxtest.LastAxis(2, 500, smallTree)
	targets := map[string]Target{"matrix_warps": {Major: 8}} // the others are of Hopper
	for file, s := range map[string]ptxtest.Spec{
		"elementwise_f32":     pick(ptxtest.Elementwise(600), "chain f32"),
		"elementwise_bf16":    pick(ptxtest.Elementwise(600), "chain bf16"),
		"elementwise_layout":  pick(ptxtest.Elementwise(600), "transposed"),
		"rare":                pick(ptxtest.Elementwise(600), "rare block"),
		"row_softmax":         small[1],
		"row_softmax_cluster": ptxtest.LastAxis(2, 3000, smallTree)[1],
		"row_sum_streamed":    ptxtest.LastAxis(300, 5000, smallTree)[0],
		"row_sum_split":       ptxtest.LastAxis(2, 5000, smallTree)[0],
		"column_softmax":      ptxtest.FirstAxis(300, 40, kernel.ColumnsTree)[1],
		"matrix":              ptxtest.Matrices(65, 77, 83)[0],
		"matrix_gradient":     turnedSpec(ir.F32, 128, 72, 72),
		"matrix_warps":        ptxtest.Matrices(33, 80, 24)[1],
		"matrix_codes":        ptxtest.CodedMatrices(ir.BF16, 1, 128, 20, 32)[4],
		"column_sum_split":    ptxtest.FirstAxis(300, 40, kernel.ColumnsTree)[0],
	} {
		t.Run(file, func(t *testing.T) {
			c := s.Make()
			target := Target{Major: 9}
			if other, ok := targets[file]; ok {
				target = other
			}
			m, err := Generate(c.Kernel, target)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := m.Plan(c.Launch, make([]uint64, len(c.Buffers)))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, l := range strings.Split(strings.TrimSpace(c.Kernel.String()), "\n") {
				fmt.Fprintf(&b, "// %s\n", l)
			}
			fmt.Fprintf(&b, "// extents %v, scratch %d\n", c.Launch.Extents, plan.Scratch)
			for _, st := range plan.Steps {
				fmt.Fprintf(&b, "\n// grid %d,%d\n%s", st.GridX, st.GridY, st.Entry.Text)
			}
			path := filepath.Join("testdata", file+".ptx")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != b.String() {
				t.Errorf("%s differs; run the test with -update and look at the changes", path)
			}
		})
	}
}
