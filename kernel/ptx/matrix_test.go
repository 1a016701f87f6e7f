package ptx

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// runHopper runs a product in Hopper's form on the simulator, in tiles of so many columns or,
// for 0, of those that the planner chooses, and returns its results.
func runHopper(t testing.TB, c *ptxtest.Case, cols int64) (out [][]byte, name string) {
	t.Helper()
	m, err := Generate(c.Kernel, Target{Major: 9, Multiprocessors: 3})
	if err != nil {
		t.Fatal(err)
	}
	sim, base := simulatorOf(c)
	var plan *Plan
	if cols == 0 {
		plan, err = m.Plan(c.Launch, base)
	} else {
		plan = &Plan{module: m, first: make([]uint64, len(base)), moved: make([]uint64, len(base))}
		z := m.reduceSizes(c.Launch)
		z.rows, z.cols, z.items = extent(c.Launch, m.form.rows), extent(c.Launch, m.form.cols), extent(c.Launch, m.form.batch)
		var x, w lying
		if x, w, err = m.located(plan, c.Launch, base, -1); err == nil {
			if w.turned && cols%64 != 0 {
				cols = 64
			}
			err = m.addMatrix(plan, c.Launch, base, z, x, w, int(cols))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	name = plan.Steps[len(plan.Steps)-1].Entry.Name
	if !strings.Contains(name, "_matrix") && (cols > 0 || !strings.Contains(name, "_warps")) { // few rows or columns
		t.Fatalf("%s is not in Hopper's form", name)
	}
	sim.runPlan(t, plan)
	for _, b := range c.Buffers {
		out = append(out, nil)
		if b.Out {
			out[len(out)-1] = slices.Clone(b.Bytes())
		}
	}
	return out, name
}

// TestMatrixProducts: products in Hopper's form have the bits that they have in the form of
// a warp, which TestWarpProducts compares with f64, at all sizes, in tiles of every width and
// with whatever surrounds them.
func TestMatrixProducts(t *testing.T) {
	for i, size := range [][3]int64{{1, 1, 1}, {7, 17, 129}, {129, 129, 7}, {33, 40, 72}, {136, 200, 136}, {72, 700, 264}} {
		for j, s := range ptxtest.Matrices(size[0], size[1], size[2]) {
			if (s.In[0].Type == ir.F16) != (i%3 == 2) {
				continue
			}
			widths := []int64{append(matrixWidths[:], 0)[(i+j)%(len(matrixWidths)+1)]} // each has its turn
			if j == 0 {
				widths = append(matrixWidths[:], 0)
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				sameAsWarps(t, s, widths)
			})
		}
	}
}

// sameAsWarps checks that a product has the same bits in tiles of some widths as in the form
// of a warp. It returns the name of the last entry.
func sameAsWarps(t *testing.T, s ptxtest.Spec, widths []int64) (name string) {
	t.Helper()
	c := s.Make()
	want, _ := runWarps(t, c, Target{Major: 8}, nil)
	var out [][]byte
	for _, cols := range widths {
		out, name = runHopper(t, c, cols)
		for arg, b := range c.Buffers {
			if n, at := ptxtest.Mismatches(b.Type, out[arg], want[arg]); b.Out && n > 0 {
				t.Errorf("%s: %s: argument %d: %d mismatches, %s", s.Name, name, arg, n, at)
			}
		}
	}
	return name
}

// turnedSpec is a product of matrices m×k and k×n as a gradient of a weight has it: both
// operands lie with their lines as neighbours, and the results with rows as neighbours.
func turnedSpec(out ir.DType, m, k, n int64) ptxtest.Spec {
	return ptxtest.Spec{Name: fmt.Sprintf("gradient %s %dx%dx%d", out, m, k, n), Kernel: fmt.Sprintf("gradient %s", out), Class: "matrix",
		Axes: "prp", Extents: []int64{m, k, n}, Compute: ir.F32, Text: "y = reduce_dot(x, z)",
		In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "usb", Order: []int{1, 0, 2}, Fill: ptxtest.Normal}, {Name: "z", Type: ir.BF16, Axes: "bsu", Fill: ptxtest.Normal}},
		Out: []ptxtest.Arg{{Name: "y", Type: out, Axes: "ubs", Order: []int{2, 1, 0}}}}
}

// TestMatrixTurned: where the rows of results are neighbours in memory, operands change
// places, results are stored as vectors, and each has the bits of the product as it stands.
func TestMatrixTurned(t *testing.T) {
	for _, out := range []ir.DType{ir.F32, ir.BF16} {
		for _, size := range [][3]int64{{136, 200, 72}, {40, 64, 264}, {33, 77, 51}} {
			s := turnedSpec(out, size[0], size[1], size[2])
			name := sameAsWarps(t, s, []int64{64, 0, 128})
			if pairs := name[len(name)-2] == '1'; pairs != (size[0]%8 == 0) {
				t.Errorf("%s: %s", s.Name, name)
			}
			straight := s
			straight.Out = []ptxtest.Arg{{Name: "y", Type: out, Axes: "sbu"}}
			a, b := s.Make(), straight.Make()
			turned, _ := runHopper(t, a, 0)
			plain, _ := runHopper(t, b, 0)
			m, n := size[0], size[2]
			width := int64(out.Size())
			for i := range m * n {
				p, q := turned[2][(i%n*m+i/n)*width:][:width], plain[2][i*width:][:width]
				if string(p) != string(q) {
					t.Fatalf("%s: row %d, column %d: %x, expected %x", s.Name, i/n, i%n, p, q)
				}
			}
		}
	}
}

// TestTurnedForm: results that lie differently are decided for by their bytes; rows and
// columns stay if no more lie along rows.
func TestTurnedForm(t *testing.T) {
	along, across := []int{2, 1, 0}, []int(nil)
	for _, c := range []struct {
		types  []ir.DType
		orders [][]int
		want   bool
	}{
		{[]ir.DType{ir.F32}, [][]int{along}, true},
		{[]ir.DType{ir.F32}, [][]int{across}, false},
		{[]ir.DType{ir.BF16, ir.F32}, [][]int{across, along}, true},
		{[]ir.DType{ir.BF16, ir.F32}, [][]int{along, across}, false},
		{[]ir.DType{ir.F32, ir.F32}, [][]int{along, across}, false},
		{[]ir.DType{ir.BF16, ir.BF16, ir.BF16}, [][]int{along, across, along}, true},
	} {
		s := turnedSpec(ir.F32, 40, 24, 48)
		s.Out, s.Text = nil, ""
		for i, dt := range c.types {
			a := ptxtest.Arg{Name: string(rune('a' + i)), Type: dt, Axes: "sbu"}
			if c.orders[i] != nil {
				a.Axes, a.Order = "ubs", c.orders[i]
			}
			s.Out = append(s.Out, a)
			s.Text += fmt.Sprintf("%c = reduce_dot(x, z) * %d\n", 'a'+i, i+1)
		}
		s.Text = strings.ReplaceAll("v = reduce_dot(x, z)\n"+s.Text, "= reduce_dot(x, z) *", "= v *")
		m, err := Generate(s.Shape().Kernel, Target{Major: 9})
		if err != nil {
			t.Fatal(err)
		}
		if turned := m.form.rows[0] == 2; turned != c.want {
			t.Errorf("%v: turned %v", c.types, turned)
		}
		sameAsWarps(t, s, []int64{0})
	}
}

// TestMatrixWidth: products of a GPT-2 training step, and square ones, on 132 multiprocessors.
func TestMatrixWidth(t *testing.T) {
	for _, c := range []struct {
		rows, group, cols int64
		turned            bool
		want              int
	}{
		{768, 4096, 3072, true, 192}, {3072, 4096, 768, true, 192}, // 96 tiles
		{768, 4096, 2304, true, 128}, {2304, 4096, 768, true, 128}, // 108
		{768, 4096, 768, true, 64},                                // 72
		{4096, 768, 768, true, 192}, {4096, 3072, 768, true, 192}, // 128
		{4096, 768, 2304, true, 192},                                  // 384, of which no multiprocessor has more than three
		{4096, 768, 3072, true, 256},                                  // 384
		{1024, 1024, 1024, true, 64},                                  // 128
		{2048, 2048, 2048, true, 256}, {2048, 2048, 2048, false, 256}, // 128
		{4096, 4096, 4096, true, 256}, {8192, 8192, 8192, true, 256},
		{1, 1, 1, true, 64}, {128, 4096, 12288, true, 128},
	} {
		m := &Module{target: Target{Major: 9}}
		z := sizes{rows: c.rows, cols: c.cols, group: c.group, items: 1}
		got := m.matrixWidth(z, c.turned)
		if got != c.want {
			t.Errorf("%dx%dx%d: %d columns", c.rows, c.group, c.cols, got)
		}
	}
	for _, cols := range matrixWidths {
		f := matrixForm{cols: int(cols)}
		if n := f.stages(); n < 4 || n*f.slab()+16*n+1024 > (Target{Major: 9}).shared() {
			t.Errorf("%d columns: %d slabs of %d bytes", cols, n, f.slab())
		}
		if cols%32 != 0 {
			t.Errorf("%d columns are no multiple of those that a warp finishes at once", cols)
		}
	}
}

// TestMatrixEpilogues: what follows a product, along rows, along columns and along both, in
// vectors and not, to several results and where columns are several axes.
func TestMatrixEpilogues(t *testing.T) {
	arg := func(name string, dt ir.DType, axes string, order ...int) ptxtest.Arg {
		return ptxtest.Arg{Name: name, Type: dt, Axes: axes, Order: order, Fill: ptxtest.Normal}
	}
	const text = "v = (reduce_dot(x, z) + r * 2) * c + f\ny = v\n"
	x, z := arg("x", ir.BF16, "sub"), arg("z", ir.BF16, "bsu")
	r, c, f := arg("r", ir.F32, "ubb"), arg("c", ir.BF16, "bbu"), arg("f", ir.BF16, "sbu")
	y, w := arg("y", ir.F32, "sbu"), arg("w", ir.BF16, "sbu")
	turned := func(a ptxtest.Arg) ptxtest.Arg {
		a.Axes, a.Order = "ubs", []int{2, 1, 0}
		return a
	}
	for _, size := range [][3]int64{{136, 72, 192}, {40, 64, 104}, {33, 40, 50}} {
		m, k, n := size[0], size[1], size[2]
		flat, heads := []int64{m, k, n}, []int64{m, k, n / 2, 8}
		for _, s := range []ptxtest.Spec{
			{Name: "all", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, r, c, f}, Out: []ptxtest.Arg{y}, Text: text},
			{Name: "two results", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, r, c, f}, Out: []ptxtest.Arg{y, w}, Text: text + "w = max(v, 0)"},
			{Name: "turned results", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, r, c, turned(f)}, Out: []ptxtest.Arg{turned(y), turned(w)}, Text: text + "w = max(v, 0)"},
			{Name: "operand turned", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, r, c, turned(f)}, Out: []ptxtest.Arg{y}, Text: text},
			{Name: "results apart", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, r, c, f}, Out: []ptxtest.Arg{arg("y", ir.F32, "sbs", 2, 1, 0)}, Text: text},
			{Name: "heads", Axes: "prpp", Extents: heads, In: []ptxtest.Arg{arg("x", ir.BF16, "subb"), arg("z", ir.BF16, "bssu"), arg("c", ir.F32, "bbsu"), arg("g", ir.F32, "bbub"), arg("f", ir.BF16, "sbsu", 2, 0, 1, 3)},
				Out: []ptxtest.Arg{arg("y", ir.BF16, "sbsu", 2, 0, 1, 3)}, Text: "y = reduce_dot(x, z) * c + f * g"},
			{Name: "batch of all", Axes: "pprp", Extents: []int64{2, m, k, n}, In: []ptxtest.Arg{arg("x", ir.BF16, "ssub"), arg("z", ir.BF16, "sbsu"), arg("r", ir.F32, "bubb"), arg("c", ir.BF16, "sbbu"), arg("f", ir.BF16, "ssbu")},
				Out: []ptxtest.Arg{arg("y", ir.F32, "ssbu")}, Text: text},
			{Name: "steps aside", Axes: "prp", Extents: flat, In: []ptxtest.Arg{x, z, f}, Out: []ptxtest.Arg{y}, Text: "v = reduce_dot(x, z)\ny = v * erf(f * v)"},
		} {
			s.Compute, s.Class, s.Kernel = ir.F32, "matrix", s.Name
			s.Name = fmt.Sprintf("%s %v", s.Name, size)
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				made := s.Make()
				want, err := made.Reference(1)
				if err != nil {
					t.Fatal(err)
				}
				sameAsWarps(t, s, []int64{96, 256})
				out, name := runHopper(t, made, 0)
				for i, b := range made.Buffers {
					for j := 0; b.Out && j < b.Size()/b.Type.Size(); j++ {
						got, want := floatIn(b.Type, out[i], j), floatIn(b.Type, want[i], j)
						if !near(b.Type, got, want, 16*k) { // the interpreter rounds otherwise
							t.Fatalf("%s: argument %d, element %d is %v, expected %v", name, i, j, got, want)
						}
					}
				}
			})
		}
	}
}

// TestMatrixBarriers: the simulator finds waits that are missing in Hopper's form, and bytes
// that are not those of the slabs.
func TestMatrixBarriers(t *testing.T) {
	c := ptxtest.Matrices(130, 1400, 72)[1].Make() // more slabs than a ring has
	m, err := Generate(c.Kernel, Target{Major: 9})
	if err != nil {
		t.Fatal(err)
	}
	c.Poison()
	sim := &simulator{}
	var base []uint64
	for i, b := range c.Buffers {
		base = append(base, uint64(0x1_0000_0000*(i+1)))
		sim.buffers = append(sim.buffers, simBuffer{base[i], b.Bytes()})
	}
	plan, err := m.Plan(c.Launch, base)
	if err != nil || len(plan.Steps) != 1 {
		t.Fatalf("%v, %d steps", err, len(plan.Steps))
	}
	plan.Bind(0, 0)
	st := plan.Steps[0]
	run := func(change func(string) string) (string, error) {
		pr, err := load(change(st.Entry.Text))
		if err != nil {
			t.Fatal(err)
		}
		c.Poison()
		pr.dynamic, sim.maps = st.Entry.Shared, st.Maps
		err = sim.launch(pr, st.GridX, st.GridY, st.Params)
		return string(c.Buffers[2].Bytes()), err
	}
	want, err := run(func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	wait := regexp.MustCompile(`(?m)^\tmbarrier\.try_wait.*(%p\d+), .*\n`)
	for name, change := range map[string]func(string) string{
		"no wait for a slab that is used": func(s string) string { // the first in the text
			at := wait.FindStringSubmatchIndex(s)
			return s[:at[0]] + "\tsetp.eq.u32 " + s[at[2]:at[3]] + ", 0, 0;\n" + s[at[1]:]
		},
		"too few bytes": func(s string) string { return strings.Replace(s, ", 24576;", ", 24560;", 1) },
		"no barriers": func(s string) string {
			return strings.Replace(s, "\tmbarrier.init", "\t//", 1)
		},
	} {
		if out, err := run(change); err == nil && out == want {
			t.Errorf("%s: nothing differs", name)
		}
	}
}
