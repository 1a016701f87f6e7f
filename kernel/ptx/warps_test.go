package ptx

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// warpTargets are devices whose products take the form of a warp.
var warpTargets = []Target{{Major: 8}, {Major: 8, Minor: 6, Multiprocessors: 1}, {Major: 9, NoHopper: true}, {Major: 12, Multiprocessors: 1}}

func allWarpForms() []warpForm {
	return []warpForm{warpForms.large, warpForms.small, warpForms.flat, warpForms.narrow}
}

// runWarps runs a product of matrices on the simulator, in the form that the planner chooses
// or in one that it is told, and returns its results.
func runWarps(t testing.TB, c *ptxtest.Case, target Target, form *warpForm) (out [][]byte, plan *Plan) {
	t.Helper()
	m, err := Generate(c.Kernel, target)
	if err != nil {
		t.Fatal(err)
	}
	sim := &simulator{}
	c.Poison()
	var base []uint64
	for i, b := range c.Buffers {
		base = append(base, uint64(0x1_0000_0000*(i+1)))
		sim.buffers = append(sim.buffers, simBuffer{base[i], b.Bytes()})
	}
	if form == nil {
		plan, err = m.Plan(c.Launch, base)
	} else {
		plan = &Plan{module: m, first: make([]uint64, len(base)), moved: make([]uint64, len(base))}
		z := m.reduceSizes(c.Launch)
		z.rows, z.cols, z.items = extent(c.Launch, m.form.rows), extent(c.Launch, m.form.cols), extent(c.Launch, m.form.batch)
		err = m.planWarpForm(plan, c.Launch, base, z, *form)
	}
	if err != nil {
		t.Fatal(err)
	}
	if name := plan.Steps[len(plan.Steps)-1].Entry.Name; !strings.Contains(name, "_warps") {
		t.Fatalf("%s is not in the form of a warp", name)
	}
	sim.runPlan(t, plan)
	for _, b := range c.Buffers {
		if !b.Out {
			out = append(out, nil)
			continue
		}
		out = append(out, append([]byte(nil), b.Bytes()...))
	}
	return out, plan
}

// inF64 are the results of a product computed in f64 throughout, from the same operands.
func inF64(t testing.TB, s ptxtest.Spec) [][]float64 {
	t.Helper()
	s.Class, s.Compute, s.Out = "", ir.F64, append([]ptxtest.Arg(nil), s.Out...)
	for i := range s.Out {
		s.Out[i].Type = ir.F64
	}
	return floats(t, s.Make())
}

func floats(t testing.TB, c *ptxtest.Case) (out [][]float64) {
	t.Helper()
	all, err := c.Reference(1)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range c.Buffers {
		var v []float64
		for j := 0; b.Out && j < b.Size()/b.Type.Size(); j++ {
			v = append(v, floatIn(b.Type, all[i], j))
		}
		out = append(out, v)
	}
	return out
}

func floatIn(t ir.DType, b []byte, i int) float64 {
	v := readSized(b[i*t.Size():], t.Size())
	switch t {
	case ir.F64:
		return math.Float64frombits(v)
	case ir.F32:
		return float64(f32of(v))
	}
	return float64(halfValue(t, uint16(v)))
}

// near reports whether results differ from those in f64 by less than a step of their type,
// and the roundings of a sum of so many products of numbers around 1.
func near(t ir.DType, got, want float64, terms int64) bool {
	step := map[ir.DType]float64{ir.F32: 0x1p-23, ir.F16: 0x1p-10, ir.BF16: 0x1p-7}[t]
	return math.Abs(got-want) <= math.Abs(want)*step+float64(terms)*0x1p-22
}

func group16(s ptxtest.Spec) int64 { return s.Extents[strings.IndexByte(s.Axes, 'r')] }

// TestWarpProducts: products on matrix units of a warp are near those in f64, and their bits
// are the same in every tile and on every device, at all sizes and with whatever surrounds
// them.
func TestWarpProducts(t *testing.T) {
	for i, size := range [][3]int64{{1, 1, 1}, {7, 17, 129}, {129, 129, 7}, {17, 4097, 9}, {33, 40, 72}, {136, 40, 136}} {
		specs, forms := ptxtest.Matrices(size[0], size[1], size[2]), allWarpForms()
		if size[1] > 1000 { // which takes long
			specs, forms = specs[:3], forms[1:3]
		}
		for _, s := range specs {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				c := s.Make()
				want := inF64(t, s)
				if strings.HasPrefix(s.Name, "scaled") { // its operand is rounded on the way
					want = floats(t, c)
				}
				first, plan := runWarps(t, c, warpTargets[i%len(warpTargets)], nil)
				for arg, b := range c.Buffers {
					for j := 0; b.Out && j < b.Size()/b.Type.Size(); j++ {
						if got := floatIn(b.Type, first[arg], j); !near(b.Type, got, want[arg][j], group16(s)) {
							t.Fatalf("%s: element %d is %v, expected %v", plan.Steps[len(plan.Steps)-1].Entry.Name, j, got, want[arg][j])
						}
					}
				}
				same := func(what string, out [][]byte) {
					for arg, b := range c.Buffers {
						if n, at := ptxtest.Mismatches(b.Type, out[arg], first[arg]); b.Out && n > 0 {
							t.Errorf("%s: argument %d: %d mismatches, %s", what, arg, n, at)
						}
					}
				}
				for _, f := range forms {
					out, p := runWarps(t, c, Target{Major: 8}, &f)
					same(p.Steps[len(p.Steps)-1].Entry.Name, out)
				}
			})
		}
	}
}
