package ptx

import (
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestTF32: asked for, products of f32 run on matrix units: of numbers that tf32 has they are
// near those of the definition, with the same bits in every form and on every device, and others
// are rounded to those; wherever operands lie, and whatever surrounds them.
func TestTF32(t *testing.T) {
	targets := []Target{{Major: 8, TF32: true}, {Major: 9, TF32: true}, {Major: 12, TF32: true, Multiprocessors: 1}}
	for i, size := range [][3]int64{{1, 1, 1}, {7, 17, 129}, {129, 129, 7}, {33, 40, 72}, {17, 1000, 9}, {136, 40, 136}} {
		for j, s := range ptxtest.Matrices(size[0], size[1], size[2]) {
			if s.In[0].Type != ir.BF16 || strings.HasPrefix(s.Name, "scaled") {
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				s := ptxtest.InF32(s)
				c, exact := s.Make(), s.Make()
				exact.RoundTF32()
				want := floats(t, exact)
				first, plan := runWarps(t, exact, targets[i%3], nil)
				for arg, b := range exact.Buffers {
					for n := 0; b.Out && n < b.Size()/b.Type.Size(); n++ {
						if got := floatIn(b.Type, first[arg], n); !near(b.Type, got, want[arg][n], s.Group()) {
							t.Fatalf("%s: element %d is %v, expected %v", plan.Steps[len(plan.Steps)-1].Entry.Name, n, got, want[arg][n])
						}
					}
				}
				forms := allWarpForms()
				form := forms[(i+j)%len(forms)]
				for _, again := range []*warpForm{nil, &form} {
					out, p := runWarps(t, c, targets[(i+1)%3], again)
					for arg, b := range c.Buffers {
						if n, at := ptxtest.Mismatches(b.Type, out[arg], first[arg]); b.Out && n > 0 {
							t.Errorf("%s: argument %d: %d mismatches, %s", p.Steps[len(p.Steps)-1].Entry.Name, arg, n, at)
						}
					}
				}
			})
		}
	}
}

// TestTF32Others: what is no product of f32 alone is as it is without tf32, and so is every
// kernel where it is not asked for.
func TestTF32Others(t *testing.T) {
	for _, s := range append(ptxtest.LastAxis(3, 500, smallTree), ptxtest.Matrices(9, 17, 33)[0], ptxtest.Elementwise(600)[0]) {
		texts := func(target Target) (out []string) {
			c := s.Shape()
			m, err := Generate(c.Kernel, target)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := m.Plan(c.Launch, make([]uint64, len(c.Buffers)))
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range plan.Steps {
				out = append(out, st.Entry.Text)
			}
			return out
		}
		if !slices.Equal(texts(Target{Major: 9}), texts(Target{Major: 9, TF32: true})) {
			t.Errorf("%s differs", s.Name)
		}
	}
	s := ptxtest.InF32(ptxtest.Matrices(130, 64, 130)[0])
	m, err := Generate(s.Shape().Kernel, Target{Major: 9})
	if err != nil || m.unit != ir.Invalid || m.shape != tiled {
		t.Errorf("a product of f32 that nobody asked to round: %v, %v", m.unit, err)
	}
}
