package ptx

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// warpTargets are devices whose products take the form of a warp.
var warpTargets = []Target{{Major: 8}, {Major: 8, Minor: 6, Multiprocessors: 1}, {Major: 9, NoHopper: true}, {Major: 12, Multiprocessors: 1}}

// allWarpForms are forms of each kind: thin ones where one, two and four warps multiply, along
// rows and along columns.
func allWarpForms() []warpForm {
	m := &Module{target: Target{Major: 8}}
	return []warpForm{warpForms.large, warpForms.small, m.thinForm(sizes{rows: 1, cols: 100, items: 1}), m.thinForm(sizes{rows: 16, cols: 65536, items: 1}),
		m.thinForm(sizes{rows: 32, cols: 8448, items: 1}), m.thinForm(sizes{rows: 4096, cols: 20, items: 1}), m.thinForm(sizes{rows: 65536, cols: 33, items: 1}), m.thinForm(sizes{rows: 9000, cols: 1, items: 1})}
}

// runWarps runs a product of matrices on the simulator, in the form that the planner chooses
// or in one that it is told, and returns its results.
func runWarps(t testing.TB, c *ptxtest.Case, target Target, form *warpForm) (out [][]byte, plan *Plan) {
	t.Helper()
	m, err := Generate(c.Kernel, target)
	if err != nil {
		t.Fatal(err)
	}
	sim, base := simulatorOf(c)
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

// TestWarpProducts: products on matrix units of a warp are near those in f64, and their bits
// are the same in every tile and on every device, at all sizes and with whatever surrounds
// them.
func TestWarpProducts(t *testing.T) {
	for i, size := range [][3]int64{{1, 1, 1}, {7, 17, 129}, {129, 129, 7}, {17, 4097, 9}, {33, 40, 72}, {136, 40, 136}} {
		specs := ptxtest.Matrices(size[0], size[1], size[2])
		if size[1] > 1000 { // which takes long
			specs = specs[:3]
		}
		for j, s := range specs {
			if s.In[0].Type == ir.F16 && i%2 > 0 {
				continue
			}
			forms := allWarpForms()
			if j > 0 { // each has its turn
				forms = forms[(i+j)%len(forms):][:1]
			}
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
						if got := floatIn(b.Type, first[arg], j); !near(b.Type, got, want[arg][j], s.Group()) {
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

// TestPackedApart: a product one of whose packed operands would take more memory than the
// limit runs in parts that share what is below it, with the same bits.
func TestPackedApart(t *testing.T) {
	const limit = 4 << 10
	for _, s := range ptxtest.Matrices(45, 77, 51) {
		if s.In[0].Type != ir.BF16 {
			continue
		}
		c := s.Make()
		want, plan := runWarps(t, c, Target{Major: 8}, nil)
		m, err := Generate(c.Kernel, Target{Major: 8})
		if err != nil {
			t.Fatal(err)
		}
		m.packLimit = limit
		sim, base := simulatorOf(c)
		parts, err := m.Plan(c.Launch, base)
		if err != nil {
			t.Fatal(err)
		}
		if parts.Scratch > 2*(limit+256) || plan.Scratch > 2*limit && len(parts.Steps) <= len(plan.Steps) {
			t.Errorf("%s: %d bytes in %d steps, and %d in %d without a limit", s.Name, parts.Scratch, len(parts.Steps), plan.Scratch, len(plan.Steps))
		}
		sim.runPlan(t, parts)
		for i, b := range c.Buffers {
			if n, at := ptxtest.Mismatches(b.Type, b.Bytes(), want[i]); b.Out && n > 0 {
				t.Errorf("%s: argument %d: %d mismatches, %s", s.Name, i, n, at)
			}
		}
	}
}

// logical are two matrices, and how they are to lie in the memory of a case.
type logical struct {
	m, k, n int64
	x, z    []uint16 // row-major
}

func newLogical(rng *rand.Rand, m, k, n int64) logical {
	fill := func(n int64) []uint16 {
		out := make([]uint16, n)
		for i := range out {
			out[i] = kernel.BF16FromF32(float32(rng.NormFloat64()))
		}
		return out
	}
	return logical{m, k, n, fill(m * k), fill(k * n)}
}

// put writes a matrix to where an argument of a case has it, at a number of a batch.
func put(c *ptxtest.Case, arg int, values []uint16, axes [2]int, batch int, at int64) {
	o, mem := &c.Launch.Args[arg], c.Buffers[arg].Bytes()
	n := c.Launch.Extents[axes[1]]
	for i, v := range values {
		p := o.Offset + int64(i)/n*o.Strides[axes[0]] + int64(i)%n*o.Strides[axes[1]]
		if batch >= 0 {
			p += at * o.Strides[batch]
		}
		writeSized(mem[2*p:], 2, uint64(v))
	}
}

// TestWarpLayouts: the bits of a product are the same wherever operands lie, transposed,
// aligned or not, apart, backwards, in a batch or as a part of a larger product.
func TestWarpLayouts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range [][3]int64{{21, 100, 45}, {1, 77, 40}, {70, 64, 1}, {5, 8, 8}} {
		v := newLogical(rng, d[0], d[1], d[2])
		straightX, turnedX, turnedZ := []int{2, 0, 1}, []int{2, 1, 0}, []int{0, 2, 1} // the axis side by side is the last
		var want []byte
		for _, s := range []struct {
			name           string
			x, z           string
			orderX, orderZ []int
			padX, padZ     int64
			offset         int64
			packed         bool
		}{
			{name: "nn", x: "sub", z: "bsu", orderX: straightX},
			{name: "nt", x: "sub", z: "bus", orderX: straightX, orderZ: turnedZ},
			{name: "tn", x: "usb", z: "bsu", orderX: turnedX},
			{name: "tt", x: "usb", z: "bus", orderX: turnedX, orderZ: turnedZ},
			{name: "nn aligned", x: "sub", z: "bsu", orderX: straightX, padX: -d[1] & 7, padZ: -d[2] & 7},
			{name: "tt aligned", x: "usb", z: "bus", orderX: turnedX, orderZ: turnedZ, padX: -d[0] & 7, padZ: -d[1] & 7},
			{name: "nt far apart", x: "sub", z: "bus", orderX: straightX, orderZ: turnedZ, padX: -d[1]&7 + 40, padZ: -d[1]&7 + 64},
			{name: "unaligned", x: "sub", z: "bsu", orderX: straightX, offset: 3},
			{name: "backwards", x: "rub", z: "bru", orderX: straightX, padX: -d[1] & 7, padZ: -d[2] & 7},
			{name: "single elements", x: "ssb", z: "bss", orderX: straightX, padX: 1, padZ: 1},
		} {
			spec := ptxtest.Spec{Name: s.name, Axes: "prp", Extents: d[:], Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, z)",
				In: []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: s.x, Order: s.orderX, Pad: s.padX, Offset: s.offset, Fill: ptxtest.Patterns},
					{Name: "z", Type: ir.BF16, Axes: s.z, Order: s.orderZ, Pad: s.padZ, Offset: s.offset, Fill: ptxtest.Patterns}},
				Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}}
			c := spec.Make()
			put(c, 0, v.x, [2]int{0, 1}, -1, 0)
			put(c, 1, v.z, [2]int{1, 2}, -1, 0)
			out, plan := runWarps(t, c, Target{Major: 8}, nil)
			if packed := len(plan.Steps) > 1; strings.Contains(s.name, "aligned") && packed != (s.name == "unaligned") {
				t.Errorf("%v %s: %d steps", d, s.name, len(plan.Steps))
			}
			if want == nil {
				want = out[2]
			}
			if n, at := ptxtest.Mismatches(ir.F32, out[2], want); n > 0 {
				t.Errorf("%v %s: %d mismatches, %s", d, s.name, n, at)
			}
		}
		// In a batch whose second operand is one for all, and rows alone.
		batch := ptxtest.Spec{Name: "batch", Axes: "pprp", Extents: []int64{3, d[0], d[1], d[2]}, Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, z)",
			In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "ssub", Order: []int{3, 0, 1, 2}, Pad: -d[1] & 7, Fill: ptxtest.Patterns}, {Name: "z", Type: ir.BF16, Axes: "sbsu", Pad: -d[2] & 7, Fill: ptxtest.Patterns}},
			Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "ssbu"}}}
		c := batch.Make()
		put(c, 0, v.x, [2]int{1, 2}, 0, 2)
		c.Launch.Args[1].Strides[0] = 0
		put(c, 1, v.z, [2]int{2, 3}, 0, 0)
		out, plan := runWarps(t, c, Target{Major: 8}, nil)
		if len(plan.Steps) != 1 {
			t.Errorf("%v: a shared operand is packed: %d steps", d, len(plan.Steps))
		}
		if n, at := ptxtest.Mismatches(ir.F32, out[2][2*len(want):], want); n > 0 {
			t.Errorf("%v in a batch: %d mismatches, %s", d, n, at)
		}
		row := d[0] / 2
		alone := ptxtest.Spec{Name: "row", Axes: "prp", Extents: []int64{1, d[1], d[2]}, Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, z)",
			In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "sub", Fill: ptxtest.Zeros}, {Name: "z", Type: ir.BF16, Axes: "bsu", Fill: ptxtest.Zeros}},
			Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}}
		c = alone.Make()
		put(c, 0, v.x[row*d[1]:(row+1)*d[1]], [2]int{0, 1}, -1, 0)
		put(c, 1, v.z, [2]int{1, 2}, -1, 0)
		if out, _ = runWarps(t, c, Target{Major: 8}, nil); string(out[2]) != string(want[4*row*d[2]:4*(row+1)*d[2]]) {
			t.Errorf("%v: row %d alone has other bits", d, row)
		}
	}
}

// TestWarpSpecials: numbers that are not finite, and zeros, meet no others than in the
// definition: what fills a tile is multiplied by nothing of them.
func TestWarpSpecials(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, values := range [][]float64{{inf, 1, 2, -0.5}, {nan, 1, -3, 0.25}, {inf, -inf, 1, 0}, {0, math.Copysign(0, -1), -1e-39, 1e-39}} {
		for _, axes := range [][2]string{{"sub", "bsu"}, {"usb", "bus"}} {
			s := ptxtest.Spec{Name: "specials", Axes: "prp", Extents: []int64{19, 37, 70}, Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, z)",
				In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: axes[0], Fill: ptxtest.Zeros}, {Name: "z", Type: ir.BF16, Axes: axes[1], Fill: ptxtest.Zeros}},
				Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}}
			if axes[0] == "usb" {
				s.In[0].Order, s.In[1].Order = []int{1, 0, 2}, []int{0, 2, 1}
			}
			// Ordinary numbers with a special one here and there, and both operands alike.
			x, z := make([]uint16, 19*37), make([]uint16, 37*70)
			rng := rand.New(rand.NewPCG(7, 8))
			for _, m := range [][]uint16{x, z} {
				for i := range m {
					f := rng.NormFloat64()
					if rng.IntN(60) == 0 {
						f = values[rng.IntN(len(values))]
					}
					m[i] = kernel.BF16FromF32(float32(f))
				}
			}
			c := s.Make()
			put(c, 0, x, [2]int{0, 1}, -1, 0)
			put(c, 1, z, [2]int{1, 2}, -1, 0)
			for _, f := range allWarpForms() {
				out, plan := runWarps(t, c, Target{Major: 8}, &f)
				for i := range 19 * 70 {
					want := 0.0
					for k := range 37 {
						want += float64(kernel.BF16ToF32(x[i/70*37+k])) * float64(kernel.BF16ToF32(z[k*70+i%70]))
					}
					got := floatIn(ir.F32, out[2], i)
					same := got == want || math.IsNaN(got) && math.IsNaN(want)
					if !same && (math.IsInf(want, 0) || math.IsNaN(want) || !near(ir.F32, got, want, 37)) {
						t.Fatalf("%s of %v: element %d is %v, expected %v", plan.Steps[len(plan.Steps)-1].Entry.Name, values, i, got, want)
					}
				}
			}
		}
	}
}

// TestWarpBarriers: the simulator finds a wait for copies or a barrier that is missing.
func TestWarpBarriers(t *testing.T) {
	c := ptxtest.Matrices(130, 1000, 72)[0].Make()
	m, err := Generate(c.Kernel, Target{Major: 8})
	if err != nil {
		t.Fatal(err)
	}
	run := func(remove string) []byte {
		t.Helper()
		sim, base := simulatorOf(c)
		plan, err := m.Plan(c.Launch, base)
		if err != nil || len(plan.Steps) != 1 {
			t.Fatalf("%v, %d steps", err, len(plan.Steps))
		}
		plan.Bind(0, 0)
		st := plan.Steps[0]
		pr, err := load(strings.ReplaceAll(st.Entry.Text, remove, ""))
		if err != nil {
			t.Fatal(err)
		}
		pr.dynamic = st.Entry.Shared
		if err := sim.launch(pr, st.GridX, st.GridY, st.Params); err != nil {
			t.Fatal(err)
		}
		return append([]byte(nil), c.Buffers[2].Bytes()...)
	}
	want := run("\x00")
	for _, s := range []string{"\tbar.sync 0;\n", "\tcp.async.wait_group 3;\n"} {
		if n, _ := ptxtest.Mismatches(ir.F32, run(s), want); n == 0 {
			t.Errorf("nothing differs without %q", s)
		}
	}
}

// TestWarpFormFor: products with many tiles take large ones, those with few more of small
// ones, and those of few rows or columns have all of these in a tile, and tiles enough; no
// form takes more shared memory than a device gives.
func TestWarpFormFor(t *testing.T) {
	thin := func(many, rows, cols, down, across, depth int) warpForm {
		return warpForm{thin: true, many: many, rows: rows, cols: cols, down: down, across: across, depth: depth}
	}
	for _, c := range []struct {
		m, n, batch int64
		want        warpForm
	}{
		{4096, 4096, 1, warpForms.large}, {512, 512, 8, warpForms.large}, {1024, 1024, 1, warpForms.small}, {256, 4096, 1, warpForms.small}, {65, 65536, 1, warpForms.large},
		{1, 2048, 1, thin(1, 16, 16, 1, 1, 256)}, {1, 8192, 1, thin(1, 16, 32, 1, 2, 256)}, {16, 65536, 1, thin(1, 16, 128, 1, 4, 64)}, {17, 65536, 1, thin(1, 32, 128, 1, 4, 64)},
		{64, 4096, 1, thin(1, 64, 32, 1, 2, 128)}, {64, 2048, 1, thin(1, 64, 16, 1, 1, 128)}, {4096, 1, 1, thin(0, 32, 16, 2, 1, 256)}, {65536, 32, 1, thin(0, 128, 32, 4, 1, 64)}, {1, 1, 1000, thin(1, 16, 16, 1, 1, 256)},
	} {
		m := &Module{target: Target{Major: 8, Multiprocessors: 108}}
		if f := m.warpFormFor(sizes{rows: c.m, cols: c.n, items: c.batch}); f != c.want {
			t.Errorf("%dx%d of %d: %+v", c.m, c.n, c.batch, f)
		}
	}
	for _, target := range append(warpTargets, Target{Major: 8, Minor: 9}, Target{Major: 10}) {
		for _, f := range allWarpForms() {
			if f = f.ring(target.shared()); f.stages < 2 || f.stages*f.slab() > target.shared() {
				t.Errorf("%d.%d: %d slabs of %d bytes", target.Major, target.Minor, f.stages, f.slab())
			}
		}
	}
}

// TestWarpRebound: a plan of a product follows its operands, and leaves those in scratch
// memory alone.
func TestWarpRebound(t *testing.T) {
	for _, s := range []ptxtest.Spec{ptxtest.Matrices(40, 64, 48)[1], ptxtest.Matrices(40, 63, 48)[1]} {
		c := s.Make()
		want, plan := runWarps(t, c, Target{Major: 8}, nil)
		sim := &simulator{}
		c.Poison()
		var base []uint64
		for i, b := range c.Buffers {
			base = append(base, uint64(0x11_0000_0000*(i+1)))
			sim.buffers = append(sim.buffers, simBuffer{base[i], b.Bytes()})
		}
		plan.Rebind(c.Launch, base)
		sim.runPlan(t, plan)
		if n, at := ptxtest.Mismatches(ir.BF16, c.Buffers[2].Bytes(), want[2]); n > 0 {
			t.Errorf("%s: %d mismatches, %s", s.Name, n, at)
		}
	}
}

// TestWarpPrefetch: thin products that ask for what they will read before they wait for the
// kernel before them ask for what there is, and have the same bits.
func TestWarpPrefetch(t *testing.T) {
	for _, size := range [][3]int64{{1, 1000, 264}, {17, 40, 129}, {200, 520, 9}, {3, 4096, 48}} {
		for _, s := range ptxtest.Matrices(size[0], size[1], size[2])[:6] {
			if strings.HasPrefix(s.Name, "scaled") { // what is computed is not asked for
				continue
			}
			c := s.Make()
			want, _ := runWarps(t, c, Target{Major: 9}, nil)
			got, plan := runWarps(t, c, Target{Major: 9, Prefetch: true}, nil)
			e := plan.Steps[len(plan.Steps)-1].Entry
			before, _, waits := strings.Cut(e.Text, waitForGrids)
			if !waits || !strings.Contains(before, prefetchLine) || !strings.HasSuffix(e.Name, "_ahead") {
				t.Errorf("%s asks for nothing", e.Name)
			}
			for arg, b := range c.Buffers {
				if n, at := ptxtest.Mismatches(b.Type, got[arg], want[arg]); b.Out && n > 0 {
					t.Errorf("%s: %d mismatches, %s", e.Name, n, at)
				}
			}
		}
	}
}
