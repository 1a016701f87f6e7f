package ptx

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestWarpComputed: where codes are decoded on their way to the matrix units, products have the
// bits that they have with an operand that was decoded into memory before, and are near those
// of the interpreter: in tiles of every thin form, with lines and groups that end in the midst
// of one, and with none but whole ones.
func TestWarpComputed(t *testing.T) {
	for i, c := range []struct{ m, k, n, block int64 }{
		{1, 64, 40, 32}, {3, 608, 70, 32}, {17, 320, 33, 16}, {40, 576, 48, 64}, {1, 768, 256, 128}, {2, 16, 3, 16}, {64, 768, 65, 128},
	} {
		for j, typ := range []ir.DType{ir.BF16, ir.F16} {
			if j > 0 && i%2 == 0 {
				continue
			}
			for n, s := range ptxtest.CodedMatrices(typ, c.m, c.k, c.n, c.block) {
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					computedAsPacked(t, s, warpTargets[i%len(warpTargets)], i+j+n)
				})
			}
		}
	}
}

// computedAsPacked checks a product in the form that is planned, packed, and in one more form.
func computedAsPacked(t *testing.T, s ptxtest.Spec, target Target, turn int) {
	t.Helper()
	c := s.Make()
	want := floats(t, c)
	got, plan := runWarps(t, c, target, nil)
	name := plan.Steps[len(plan.Steps)-1].Entry.Name
	many := 1
	if strings.HasPrefix(s.Name, "codes of 8 bits by a matrix") {
		many = 0
	}
	if !strings.Contains(name, "_computed") || len(plan.Steps) != 1 {
		t.Fatalf("%s after %d steps", name, len(plan.Steps)-1)
	}
	for arg, b := range c.Buffers {
		for j := 0; b.Out && j < b.Size()/b.Type.Size(); j++ {
			if v := floatIn(b.Type, got[arg], j); !near(b.Type, v, want[arg][j], s.Group()) {
				t.Fatalf("%s: element %d is %v, expected %v", name, j, v, want[arg][j])
			}
		}
	}
	var thin []warpForm
	for _, f := range allWarpForms() {
		if f.computed = f.thin && f.many == many; f.computed {
			thin = append(thin, f)
		}
	}
	forms := []warpForm{warpForms.small, thin[turn%len(thin)]}
	for _, f := range forms {
		out, p := runWarps(t, c, target, &f)
		if entry := p.Steps[len(p.Steps)-1].Entry; strings.Contains(entry.Name, "_computed") != f.computed || (len(p.Steps) > 1) == f.computed {
			t.Fatalf("%s after %d steps", entry.Name, len(p.Steps)-1)
		}
		for arg, b := range c.Buffers {
			if n, at := ptxtest.Mismatches(b.Type, out[arg], got[arg]); b.Out && n > 0 {
				t.Errorf("%s, %s: argument %d: %d mismatches, %s", name, p.Steps[len(p.Steps)-1].Entry.Name, arg, n, at)
			}
		}
	}
}

// TestComputedText: equal kernels have equal texts, by which code is found that is there, also
// where an operand is computed of several that are read in vectors.
func TestComputedText(t *testing.T) {
	masked := ptxtest.Spec{Name: "masked weights", Axes: "prp", Extents: []int64{1, 256, 64}, Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, w * m + v)",
		In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "sub"}, {Name: "w", Type: ir.BF16, Axes: "bus", Order: []int{0, 2, 1}}, {Name: "m", Type: ir.U8, Axes: "bus", Order: []int{0, 2, 1}}, {Name: "v", Type: ir.F16, Axes: "bus", Order: []int{0, 2, 1}}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}}
	for _, s := range append(ptxtest.CodedMatrices(ir.BF16, 1, 512, 64, 32), masked) {
		text := ""
		for range 8 {
			c := s.Shape()
			m, err := Generate(c.Kernel, Target{Major: 9})
			if err != nil {
				t.Fatal(err)
			}
			base := make([]uint64, len(c.Buffers))
			for i := range base {
				base[i] = uint64(i+1) << 20
			}
			p, err := m.Plan(c.Launch, base)
			if err != nil {
				t.Fatal(err)
			}
			e := p.Steps[len(p.Steps)-1].Entry
			if !strings.Contains(e.Name, "_computed") || text != "" && e.Text != text {
				t.Fatalf("%s: another text", e.Name)
			}
			text = e.Text
		}
	}
}
