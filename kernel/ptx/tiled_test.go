package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// plainLayouts are products whose operands lie in all orders, aligned and not, with sums
// of several chunks, the last of which is not full.
func plainLayouts(m, k, n int64) []ptxtest.Spec {
	var out []ptxtest.Spec
	for _, c := range []struct {
		name, x, z     string
		orderX, orderZ []int
		pad            int64
		t              ir.DType
	}{
		{"nn", "sub", "bsu", nil, nil, 0, ir.F32},
		{"nt", "sub", "bus", nil, []int{0, 2, 1}, 0, ir.F32},
		{"tn", "usb", "bsu", []int{1, 0, 2}, nil, 0, ir.F32},
		{"tt", "usb", "bus", []int{1, 0, 2}, []int{0, 2, 1}, 0, ir.I32},
		{"unaligned", "sub", "bus", nil, []int{0, 2, 1}, 1, ir.F32},
		{"backwards", "srb", "bsu", nil, nil, 0, ir.F32},
	} {
		out = append(out, ptxtest.Spec{
			Name: fmt.Sprintf("%s %dx%dx%d", c.name, m, k, n), Axes: "prp", Extents: []int64{m, k, n}, Compute: c.t, Tree: kernel.Tree{Kind: kernel.Sequential, Chunk: 32, Lanes: 1},
			In: []ptxtest.Arg{
				{Name: "x", Type: c.t, Axes: c.x, Order: c.orderX, Pad: c.pad, Fill: ptxtest.Normal}, {Name: "z", Type: c.t, Axes: c.z, Order: c.orderZ, Pad: c.pad, Fill: ptxtest.Normal},
				{Name: "b", Type: c.t, Axes: "bbu", Fill: ptxtest.Normal},
			},
			Out: []ptxtest.Arg{{Name: "y", Type: c.t, Axes: "sbu"}}, Text: "y = reduce_dot(x, z) + b",
		})
	}
	return out
}

// planForm plans a product in a form that the planner would not choose.
func planForm(m *Module, f tiledForm, l *kernel.Launch, base []uint64) (*Plan, error) {
	p := &Plan{module: m, first: make([]uint64, len(base)), moved: make([]uint64, len(base))}
	z := m.reduceSizes(l)
	z.rows, z.cols = extent(l, m.form.rows), extent(l, m.form.cols)
	f = f.along(m.lineupOf(l, base, m.form.x, m.form.rows), m.lineupOf(l, base, m.form.z, m.form.cols), true)
	if f.one = z.chunks == 1; m.neighbours(min(f.cols, 4), l, base, m.outside(), m.form.cols) {
		f.out = alongTile
	}
	e, err := m.tiledEntry(f)
	if err != nil {
		return nil, err
	}
	p.add(m, e, l, base, z, f.tiles(z), 1)
	return p, nil
}

func fillF32(b []byte, v float32) {
	for i := 0; i < len(b); i += 4 {
		binary.LittleEndian.PutUint32(b[i:], math.Float32bits(v))
	}
}

// TestPlainForms runs every form of operands that are memory as it is on the simulator,
// over a tile and the edges of others, and compares with the interpreter.
func TestPlainForms(t *testing.T) {
	for _, f := range append(plainForms, squareTile(4, 4), ringed) {
		tall, wide := int64(f.tall()), int64(f.wide())
		specs := plainLayouts(tall+3, 68, wide+4)
		specs = append(specs, plainLayouts(tall, 24, wide-4)[:2]...)
		specs = append(specs, plainLayouts(tall-1, 97, 7)[0])
		for _, s := range plainLayouts(tall+1, 24, wide)[:3] { // sums of -0
			s.Name += " of -0"
			s.Text, s.In = "y = reduce_dot(x, z)", s.In[:2]
			specs = append(specs, s)
		}
		for _, s := range specs {
			t.Run(fmt.Sprintf("tile of %dx%d %s", tall, wide, s.Name), func(t *testing.T) {
				t.Parallel()
				c := s.Make()
				if strings.HasSuffix(s.Name, "of -0") {
					fillF32(c.Buffers[0].Bytes(), -1e-30)
					fillF32(c.Buffers[1].Bytes(), 1e-30)
				}
				want, err := c.Reference(1)
				if err != nil {
					t.Fatal(err)
				}
				m, err := Generate(c.Kernel, Target{Major: 9})
				if err != nil {
					t.Fatal(err)
				}
				sim, base := simulatorOf(c)
				plan, err := planForm(m, f, c.Launch, base)
				if err != nil {
					t.Fatal(err)
				}
				st := plan.Steps[0]
				if err := Check(st.Entry.Text); err != nil {
					t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
				}
				pr, err := load(st.Entry.Text)
				if err != nil {
					t.Fatal(err)
				}
				pr.dynamic = st.Entry.Shared
				if err := sim.launch(pr, st.GridX, st.GridY, st.Params); err != nil {
					t.Fatalf("%s: %v", st.Entry.Name, err)
				}
				for i, b := range c.Buffers {
					if n, first := ptxtest.Mismatches(b.Type, b.Bytes(), want[i]); b.Out && n > 0 {
						t.Errorf("%s: argument %d: %d mismatches, %s", st.Entry.Name, i, n, first)
					}
				}
			})
		}
	}
}

// TestTileFor: products with many tiles take large ones, which a multiprocessor has one
// of; those with few tiles take small ones, of which there are as many as multiprocessors;
// and no form takes more shared memory than a device gives.
func TestTileFor(t *testing.T) {
	hopper, ada := Target{Major: 9, Multiprocessors: 132}, Target{Major: 8, Minor: 9, Multiprocessors: 128}
	for _, c := range []struct {
		target     Target
		m, k, n    int64
		layout     int
		tall, wide int
		x, z       lineup
	}{
		{hopper, 4096, 4096, 4096, 0, 128, 256, alongGroup, alongTile},
		{hopper, 4097, 4097, 4097, 1, 128, 128, single, single},
		{hopper, 2048, 2048, 2048, 1, 128, 256, alongGroup, alongGroup},
		{hopper, 1024, 1024, 1024, 0, 64, 128, alongGroup, alongTile},
		{hopper, 1024, 1024, 1024, 1, 64, 128, kept, kept},
		{hopper, 128, 784, 512, 1, 16, 32, kept, kept},
		{hopper, 128, 10, 512, 0, 16, 32, single, alongTile},
		{hopper, 512, 128, 512, 2, 32, 32, alongTile, alongTile},
		{hopper, 784, 128, 512, 2, 64, 64, alongTile, alongTile},
		{hopper, 784, 512, 512, 1, 64, 64, kept, kept},
		{ada, 4096, 4096, 4096, 0, 128, 128, alongGroup, alongTile},
	} {
		s := plainLayouts(c.m, c.k, c.n)[c.layout]
		s.Tree = kernel.DotTree
		l := s.Shape()
		m, err := Generate(l.Kernel, c.target)
		if err != nil {
			t.Fatal(err)
		}
		base := make([]uint64, len(l.Buffers))
		z := m.reduceSizes(l.Launch)
		z.rows, z.cols = c.m, c.n
		f := m.tileFor(z, 1, m.lineupOf(l.Launch, base, m.form.x, m.form.rows), m.lineupOf(l.Launch, base, m.form.z, m.form.cols))
		if f.tall() != c.tall || f.wide() != c.wide || f.x != c.x || f.z != c.z {
			t.Errorf("%s on %d.%d: %+v", s.Name, c.target.Major, c.target.Minor, f)
		}
		if n := f.shared(4); n > c.target.shared() {
			t.Errorf("%s: %d bytes of shared memory", s.Name, n)
		}
	}
}

// TestTurned: where neighbouring rows of the results are neighbours in memory, rows and
// columns change places, so that results are stored four at a time.
func TestTurned(t *testing.T) {
	found := false
	for _, s := range ptxtest.Products(32, 64, 128) {
		m, err := Generate(s.Shape().Kernel, Target{Major: 9})
		if err != nil {
			t.Fatal(err)
		}
		if s.In[0].Axes[0] == 'b' { // has no rows
			continue
		}
		want := s.Axes == "prp" && s.Out[0].Axes == "ubs"
		found = found || want
		if m.form == nil || len(m.form.rows) != 1 || (m.form.rows[0] == 2) != want {
			t.Errorf("%s: %+v", s.Name, m.form)
		}
	}
	if !found {
		t.Error("no product has turned results")
	}
}

// TestRepeatedOperands: products one of whose operands is the same along the group, or for
// all rows or columns, have the bits of the interpreter in whatever form is planned.
func TestRepeatedOperands(t *testing.T) {
	for _, e := range [][]int64{{64, 32, 64}, {70, 96, 76}, {20, 64, 20}, {40, 30, 44}, {3, 512, 100}, {100, 512, 3}} {
		for _, c := range [][2]string{{"sbb", "bsu"}, {"ubb", "bsu"}, {"bsb", "bsu"}, {"bub", "bsu"}, {"sub", "bbu"}, {"sub", "bsb"}, {"sub", "bub"}, {"bbb", "bsu"}, {"sub", "bbb"}} {
			s := ptxtest.Spec{Name: fmt.Sprint(c, e), Axes: "prp", Extents: e, Compute: ir.F32, Tree: kernel.Tree{Kind: kernel.Sequential, Chunk: 1024, Lanes: 1},
				In:  []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: c[0], Fill: ptxtest.Normal}, {Name: "z", Type: ir.F32, Axes: c[1], Fill: ptxtest.Normal}},
				Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}, Text: "y = reduce_dot(x, z)"}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				simulateSpec(t, s, Target{Major: 9})
			})
		}
	}
}
