package ptx

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// smallTree makes every long-row path reachable with few elements.
var smallTree = kernel.Tree{Kind: kernel.Striped, Chunk: 128, Lanes: 32}

func specs() []ptxtest.Spec {
	var out []ptxtest.Spec
	out = append(out, ptxtest.Elementwise(600)...)
	out = append(out, ptxtest.Rows(600)...)
	for _, n := range []int64{1, 2, 5, 16, 17, 96, 128, 200, 640, 1000, 1024, 1025, 2500, 5000} {
		out = append(out, ptxtest.LastAxis(3, n, kernel.StripedTree)...)
	}
	out = append(out, ptxtest.LastAxis(2, 20000, kernel.StripedTree)...)
	for _, n := range []int64{3, 300, 3000, 20000, 140000} {
		out = append(out, ptxtest.LastAxis(2, n, smallTree)...)
	}
	for _, t := range []kernel.Tree{{Kind: kernel.Striped, Chunk: 512, Lanes: 64}, {Kind: kernel.Striped, Chunk: 2048, Lanes: 256}, {Kind: kernel.Striped, Chunk: 4096, Lanes: 128}} {
		out = append(out, ptxtest.LastAxis(2, 9000, t)...)
	}
	out = append(out, ptxtest.LastAxisTypes(3, 1500, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(2, 4000, smallTree)...)
	out = append(out, ptxtest.LastAxisTypes(150, 11, kernel.StripedTree)...)
	out = append(out, ptxtest.LastAxisTypes(5, 40, kernel.StripedTree)...)
	out = append(out, ptxtest.ReduceLayouts(700)...)
	for _, s := range ptxtest.ReduceLayouts(17000) { // long enough to be split
		if strings.HasPrefix(s.Name, "everything") || strings.HasPrefix(s.Name, "map and sum") {
			out = append(out, s)
		}
	}
	for _, n := range []int64{1, 7, 64, 65, 300, 1000} {
		out = append(out, ptxtest.FirstAxis(n, 37, kernel.ColumnsTree)...)
	}
	out = append(out, ptxtest.FirstAxis(12000, 17, kernel.Tree{Kind: kernel.Columns, Chunk: 32, Lanes: 1})...)
	out = append(out, ptxtest.FirstAxisTypes(200, 40, kernel.ColumnsTree)...)
	out = append(out, ptxtest.Products(5, 3, 7)...) // the simulator is slow at these
	out = append(out, ptxtest.Products(8, 36, 20)[3:7]...)
	out = append(out, ptxtest.Products(3, 1040, 8)[0])
	out = append(out, skinnySpecs()...)
	for _, n := range []int64{1, 9, 1024, 1025, 2500} {
		out = append(out, ptxtest.Scans(3, n)...)
	}
	return out
}

// skinnySpecs are products with few rows or columns: all forms of a few sizes, and one
// form each of those that take other ways.
func skinnySpecs() []ptxtest.Spec {
	var out []ptxtest.Spec
	for _, s := range append(ptxtest.Skinny(3, 100, 7), ptxtest.Skinny(20, 300, 20)...) { // a slab that is not full
		if strings.Contains(s.Name, "of -0") {
			out = append(out, s)
		}
	}
	out = append(out, ptxtest.Skinny(3, 300, 7)...)
	out = append(out, ptxtest.Skinny(2, 1028, 5)...)
	for _, k := range []int64{1, 255, 256, 1000, 1024, 1025, 2500} {
		out = append(out, ptxtest.Skinny(1, k, 3)[0], ptxtest.Skinny(1, k, 3)[5])
		out = append(out, ptxtest.VectorProducts(k, 9)[:2]...)
	}
	for i, s := range ptxtest.Skinny(2, 9300, 1) { // chunks in scratch memory
		if i%4 == 1 || strings.Contains(s.Name, "batches") {
			out = append(out, s)
		}
	}
	out = append(out, ptxtest.Skinny(16, 1025, 2)[:6]...)
	out = append(out, ptxtest.Skinny(5, 300, 40)...)
	out = append(out, ptxtest.Skinny(40, 300, 5)...) // few columns
	out = append(out, ptxtest.Skinny(36, 1030, 1)[9:14]...)
	out = append(out, ptxtest.Skinny(35, 1030, 16)[0])
	out = append(out, ptxtest.VectorProducts(1030, 10)...)
	out = append(out, ptxtest.VectorProducts(9300, 1)[:2]...)
	out = append(out, ptxtest.BlockProducts(1, 9, 16, 5)...)
	out = append(out, ptxtest.BlockProducts(3, 3, 64, 35)...)
	out = append(out, ptxtest.BlockProducts(2, 70, 8, 3)[0]) // of several chunks, the last not full
	out = append(out, ptxtest.BlockProducts(16, 5, 32, 3)[0])
	out = append(out, ptxtest.BlockProducts(1, 290, 16, 2)[0]) // chunks in scratch memory
	out = append(out, ptxtest.BlockProducts(2, 30, 6, 3)[0])   // stretches do not fit
	return out
}

// TestBlocksAreSkinny: few rows by codes that are decoded in the kernel are read in
// stretches, though their group has three axes, unless a stretch does not fit the last.
func TestBlocksAreSkinny(t *testing.T) {
	for _, c := range []struct {
		blocks, size int64
		want         string
	}{{12, 16, "skinny1x1x16"}, {4, 64, "skinny1x1x64"}, {12, 24, "skinny1x1x8"}, {12, 12, "tile"}} {
		x := ptxtest.BlockProducts(1, c.blocks, c.size, 5)[0].Make()
		m, err := Generate(x.Kernel, Target{Major: 9})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Plan(x.Launch, []uint64{256, 1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if name := p.Steps[0].Entry.Name; !strings.Contains(name, c.want) {
			t.Errorf("halves of %d codes: %s, expected %s", c.size, name, c.want)
		}
	}
}

// simTargets make the planner split work and not, and use clusters and not.
var simTargets = []Target{{Major: 9, Multiprocessors: 1}, {Major: 9, Multiprocessors: 132}, {Major: 8, Multiprocessors: 1}, {Major: 8, Multiprocessors: 132}}

// TestSimulated runs every case on the simulator, with targets that make the
// planner split work and that do not, and compares with the interpreter.
func TestSimulated(t *testing.T) {
	for _, s := range specs() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			c := s.Make()
			want, err := c.Reference(1)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, target := range simTargets {
				m, err := Generate(c.Kernel, target)
				if err != nil {
					t.Fatalf("%v\n%s", err, c.Kernel)
				}
				simulate(t, c, m, want, seen)
			}
		})
	}
}

// simulate plans a case, runs it on the simulator, unless the same text was seen, and
// compares what it leaves. It returns the names of the entries.
func simulate(t *testing.T, c *ptxtest.Case, m *Module, want [][]byte, seen map[string]bool) string {
	t.Helper()
	sim, base := simulatorOf(c)
	plan, err := m.Plan(c.Launch, base)
	if err != nil {
		t.Fatal(err)
	}
	names, texts := "", ""
	for _, st := range plan.Steps {
		names += st.Entry.Name + " "
		texts += strings.Replace(st.Entry.Text, ".target sm_80", ".target sm_90", 1)
	}
	if seen[texts] {
		return names
	}
	seen[texts] = true
	word := sim.runPlan(t, plan)
	for i, b := range c.Buffers {
		if !b.Out {
			continue
		}
		if n, first := ptxtest.Mismatches(b.Type, b.Bytes(), want[i]); n > 0 {
			t.Errorf("%s: argument %d: %d mismatches, %s", names, i, n, first)
		}
	}
	if c.Launch.Fault != nil {
		wc, wl := c.Launch.Fault.First()
		if gc, gl := DecodeFault(readSized(word, 8)); gc != wc || gl != wl {
			t.Errorf("fault %v at %d, expected %v at %d", gc, gl, wc, wl)
		}
	}
	return names
}

// simulateSpec simulates a case, and compares with the interpreter.
func simulateSpec(t *testing.T, s ptxtest.Spec, target Target) {
	t.Helper()
	c := s.Make()
	want, err := c.Reference(1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Generate(c.Kernel, target)
	if err != nil {
		t.Fatal(err)
	}
	simulate(t, c, m, want, map[string]bool{})
}

// simulatorOf has the memory of a case, whose outputs are poisoned, at addresses far apart.
func simulatorOf(c *ptxtest.Case) (sim *simulator, base []uint64) {
	sim = &simulator{}
	c.Poison()
	for i, b := range c.Buffers {
		base = append(base, uint64(0x1_0000_0000*(i+1)))
		sim.buffers = append(sim.buffers, simBuffer{base[i], b.Bytes()})
	}
	return sim, base
}

// runPlan runs the steps of a plan, and returns the word of faults.
func (s *simulator) runPlan(t testing.TB, plan *Plan) []byte {
	t.Helper()
	const scratch, fault = 0x5_0000_0000_00, 0x6_0000_0000_00
	word := make([]byte, 8)
	s.buffers = append(s.buffers, simBuffer{scratch, make([]byte, plan.Scratch)}, simBuffer{fault, word})
	plan.Bind(scratch, fault)
	for _, st := range plan.Steps {
		if err := Check(st.Entry.Text); err != nil {
			t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
		}
		assemble(t, st.Entry)
		pr, err := load(st.Entry.Text)
		if err != nil {
			t.Fatal(err)
		}
		pr.dynamic, s.maps = st.Entry.Shared, st.Maps
		if err := s.launch(pr, st.GridX, st.GridY, st.Params); err != nil {
			t.Fatalf("%s: %v\n%s", st.Entry.Name, err, st.Entry.Text)
		}
	}
	return word
}

// TestAssembler runs the assembler of the CUDA toolkit over all texts, where
// the environment variable SINTER_PTXAS names one.
func TestAssembler(t *testing.T) {
	tool := os.Getenv("SINTER_PTXAS")
	if tool == "" {
		t.Skip("skipped: SINTER_PTXAS does not name an assembler")
	}
	dir := t.TempDir()
	done := map[string]bool{}
	for _, s := range specs() {
		c := s.Make()
		for _, target := range simTargets[:2] {
			m, err := Generate(c.Kernel, target)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := m.Plan(c.Launch, make([]uint64, len(c.Buffers)))
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range plan.Steps {
				if done[st.Entry.Text] {
					continue
				}
				done[st.Entry.Text] = true
				f := filepath.Join(dir, "k.ptx")
				if err := os.WriteFile(f, []byte(st.Entry.Text), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := exec.Command(tool, "-v", "-arch=sm_90", "-o", filepath.Join(dir, "k.cubin"), f).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s\n%s", st.Entry.Name, err, out, st.Entry.Text)
				}
				t.Logf("%s: %s", st.Entry.Name, usage(string(out)))
			}
		}
	}
}

func usage(s string) string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if strings.Contains(l, "registers") || strings.Contains(l, "spill") && !strings.Contains(l, " 0 bytes spill stores") {
			out = append(out, strings.TrimSpace(strings.TrimPrefix(l, "ptxas info    :")))
		}
	}
	return strings.Join(out, "; ")
}

func TestRefusals(t *testing.T) {
	b := kernel.NewBuilder("mixed", []kernel.AxisKind{kernel.Reduced})
	b.AddArg(kernel.Arg{Type: 12, Access: []kernel.Access{kernel.Unit}})
	b.AddArg(kernel.Arg{Type: 12, Dir: kernel.Out, Access: []kernel.Access{kernel.Unit}})
	x := b.Scan(kernel.Sum, kernel.ScanTree, b.Load(0))
	b.Store(1, b.Op(kernel.OpAdd, b.Type(x), x, b.Reduce(kernel.Sum, kernel.StripedTree, b.Load(0))))
	_, err := Generate(b.K, Target{Major: 9})
	var u *Unsupported
	if !errors.As(err, &u) {
		t.Fatalf("want Unsupported, have %v", err)
	}
	if want := "ptx: kernel mixed is not supported: reductions along different trees, striped(1024,128) and sequential(1024)"; err.Error() != want {
		t.Fatalf("have %q, want %q", err, want)
	}
}

func TestCheckRefuses(t *testing.T) {
	head := ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(\n\t.param .u64 a0\n)\n.maxntid 32, 1, 1\n{\n\t.reg .b32 %r<4>;\n\t.reg .pred %p<2>;\n"
	for _, c := range []struct{ body, want string }{
		{"mul.f32 %r1, %r1, %r1;", "without .rn"},
		{"mul.rn.ftz.f32 %r1, %r1, %r1;", ".ftz"},
		{"mul.bf16x2 %r1, %r1, %r1;", "without .rn"},
		{"mad.rn.f32 %r1, %r1, %r1, %r1;", "mad"},
		{"div.full.f32 %r1, %r1, %r1;", ".full"},
		{"sqrt.approx.f32 %r1, %r1;", ".approx"},
		{"max.f32 %r1, %r1, %r1;", "NaN"},
		{"add.s32 %r1, %r2, 1;", "before it is written"},
		{"mov.b32 %r9, 0;", "not declared"},
		{"mov.b32 %p1, 0;", "expected class"},
		{"bra L1;", "label"},
		{"cvt.s32.f32 %r1, %r1;", ".rzi"},
		{"ex2.rn.f32 %r1, %r1;", "outside"},
		{"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [a0];", "2 registers, expected 4"},
		{"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r1}, [%r2];", "before it is written"},
		{"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [a0];", "outside"},
		{"mov.b32 %r1, 0;\n\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1, %r1, %r1, %r1}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r2};", "before it is written"},
		{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r1};", "2 registers, expected 4"},
		{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1}, {%r1, %r1, %r1, %r1};", "outside"},
		{"cp.async.cg.shared.global [a0], [a0], 8, 8;", "copies of 8 bytes"},
		{"cp.async.cg.shared.global [%r1], [a0], 16, 8;", "before it is written"},
		{"cp.async.wait_group -1;", "number of groups"},
		{"cp.async.commit;", "unknown type"},
	} {
		err := Check(head + "\t" + c.body + "\n\tret;\n}\n")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: have %v, want %q", c.body, err, c.want)
		}
	}
	if err := Check(head + fmt.Sprintf("\tmov.b32 %%r1, %d;\n\tret;\n}\n", 3)); err != nil {
		t.Error(err)
	}
}

// TestCheckWaits: since sm_90 an entry waits for the kernel before it before it touches
// global memory, branches or ends; before that it knows no such words.
func TestCheckWaits(t *testing.T) {
	const head = ".version 7.8\n.target %s\n.address_size 64\n.visible .entry k(\n\t.param .u64 a0\n)\n.maxntid 32, 1, 1\n{\n\t.reg .b32 %%r<4>;\n\t.reg .b64 %%d<4>;\n\t.reg .pred %%p<2>;\n"
	const launch, wait, param = "griddepcontrol.launch_dependents;", "griddepcontrol.wait;", "ld.param.u64 %d1, [a0];"
	for _, c := range []struct {
		arch string
		body []string
		want string
	}{
		{"sm_90", []string{launch, param, wait, "ld.global.b32 %r1, [%d1];"}, ""},
		{"sm_90a", []string{wait, launch, param, "st.global.b32 [%d1], %r1;"}, "before it is written"},
		{"sm_90a", []string{wait, launch, param, "st.global.b64 [%d1], %d1;"}, ""},
		{"sm_80", []string{param, "ld.global.b32 %r1, [%d1];"}, ""},
		{"sm_80", []string{wait, param}, "unknown to sm_80"},
		{"sm_80", []string{param, launch}, "unknown to sm_80"},
		{"sm_90", []string{launch, param}, "ret before the kernel before has ended"},
		{"sm_90", []string{param, "ld.global.b32 %r1, [%d1];", wait}, "ld.global.b32 before the kernel before has ended"},
		{"sm_90", []string{param, "st.global.b64 [%d1], %d1;", wait}, "st.global.b64 before"},
		{"sm_90", []string{param, "atom.global.add.u64 %d2, [%d1], %d1;", wait}, "atom.global.add.u64 before"},
		{"sm_90", []string{param, "mov.b32 %r1, 16;", "cp.async.cg.shared.global [%d1], [%d1], 16, %r1;", wait}, "cp.async.cg.shared.global before"},
		{"sm_90", []string{"mov.b32 %r1, 0;", "setp.ne.u32 %p1, %r1, 0;", "@%p1 ret;", wait}, "ret before"},
		{"sm_90", []string{"mov.b32 %r1, 0;", "setp.ne.u32 %p1, %r1, 0;", "@%p1 " + wait}, "griddepcontrol.wait before"},
		{"sm_90", []string{"bra L1;", wait, "L1:"}, "bra before"},
		{"sm_90", []string{"L1:", wait}, "L1 before"},
		{"sm_90", []string{"griddepcontrol.other;", wait}, "unknown type"},
	} {
		err := Check(fmt.Sprintf(head, c.arch) + "\t" + strings.Join(c.body, "\n\t") + "\n\tret;\n}\n")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: have %v, want %q", c.arch, c.body, err, c.want)
		}
	}
}

// TestMatrixText: every product of bf16 or f16 is one of the matrix units, with what packs its
// operands before it: in Hopper's form, but for those of few rows or columns.
func TestMatrixText(t *testing.T) {
	for _, size := range [][3]int64{{128, 64, 256}, {33, 77, 51}, {1, 1000, 1}} {
		for _, s := range ptxtest.Matrices(size[0], size[1], size[2]) {
			c := s.Shape()
			m, err := Generate(c.Kernel, Target{Major: 9})
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			base := make([]uint64, len(c.Buffers))
			for i := range base {
				base[i] = uint64(i+1) << 32
			}
			plan, err := m.Plan(c.Launch, base)
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			last := plan.Steps[len(plan.Steps)-1]
			maps, want := 2, fmt.Sprintf("k16.f32.%[1]s.%[1]s ", halfName(s.In[0].Type))
			if min(extent(c.Launch, m.form.rows), extent(c.Launch, m.form.cols)) <= thinHopper {
				maps, want = 0, fmt.Sprintf("mma.sync.aligned.m16n8k16.row.col.f32.%[1]s.%[1]s.f32", halfName(s.In[0].Type))
			}
			if last.Entry.Maps != maps || len(last.Maps) != maps {
				t.Errorf("%s: not in the form that it should have: %s", s.Name, last.Entry.Name)
			}
			if !strings.Contains(last.Entry.Text, want) {
				t.Errorf("%s: no %s", s.Name, want)
			}
			for _, st := range plan.Steps {
				if err := Check(st.Entry.Text); err != nil {
					t.Errorf("%s: %s: %v", s.Name, st.Entry.Name, err)
				}
			}
			plan.Bind(0x9_0000_0000, 0)
			for i, m := range last.Maps {
				if m.Base%16 != 0 || m.Arg < 0 && m.Base < 0x9_0000_0000 {
					t.Errorf("%s: map %d at %#x", s.Name, i, m.Base)
				}
			}
		}
	}
}

// TestWarpText: on every other device, and on Hopper where its own text is not taken, every
// product of bf16 or f16 is one of a warp's matrix units.
func TestWarpText(t *testing.T) {
	for _, target := range warpTargets {
		for _, s := range append(ptxtest.Matrices(33, 77, 51), ptxtest.CodedMatrices(ir.F16, 3, 128, 72, 32)...) {
			c := s.Shape()
			m, err := Generate(c.Kernel, target)
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			plan, err := m.Plan(c.Launch, make([]uint64, len(c.Buffers)))
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			for i, st := range plan.Steps {
				if err := Check(st.Entry.Text); err != nil {
					t.Errorf("%s: %s: %v", s.Name, st.Entry.Name, err)
				}
				want := multiplyBF16
				if s.In[0].Type == ir.F16 {
					want = multiplyF16
				}
				if last := i == len(plan.Steps)-1; last && !strings.Contains(st.Entry.Text, want) || strings.Contains(st.Entry.Text, "wgmma") {
					t.Errorf("%s on %d.%d: %s", s.Name, target.Major, target.Minor, st.Entry.Name)
				}
			}
		}
	}
}

// TestPackedTable: the table of a function by which an operand is computed has memory of its
// own beside the operands.
func TestPackedTable(t *testing.T) {
	s := ptxtest.Matrices(128, 72, 80)[0]
	s.Text = "y = reduce_dot(erf(erf(x)), z)"
	c := s.Shape()
	m, err := Generate(c.Kernel, Target{Major: 9})
	if err != nil {
		t.Fatal(err)
	}
	if m.packings[0].module.lookup == nil {
		t.Fatal("the operand is not looked up")
	}
	m.packings[0].module.lookupFrom = 0
	base := []uint64{1 << 32, 2 << 32, 3 << 32}
	plan, err := m.Plan(c.Launch, base)
	if err != nil {
		t.Fatal(err)
	}
	plan.Bind(0x9_0000_0000, 0)
	operand, tables := plan.Steps[len(plan.Steps)-1].Maps[0], 0
	for _, st := range plan.Steps {
		for i, sl := range st.Entry.slots {
			if sl.kind != slotScratch {
				continue
			}
			tables++
			if at := st.Params[i]; at < operand.Base+128*72*2 && at+lookupBytes > operand.Base || at+lookupBytes > 0x9_0000_0000+uint64(plan.Scratch) {
				t.Errorf("%s has its table at %#x, the operand is at %#x", st.Entry.Name, at, operand.Base)
			}
		}
	}
	if tables == 0 {
		t.Error("nothing has a table")
	}
}

// TestGuarded: products that leave out what is multiplied by 0 are tiled ones.
func TestGuarded(t *testing.T) {
	for _, s := range ptxtest.Products(5, 3, 7) {
		m, err := Generate(s.Shape().Kernel, Target{Major: 9})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Contains(s.Name, "of what is not 0")
		if m.form == nil || m.form.guard != want || want && m.shape != tiled {
			t.Errorf("%s: shape %d, %+v", s.Name, m.shape, m.form)
		}
	}
}

// TestApart: a bias and a relu stay with their product, a gelu with a small one.
func TestApart(t *testing.T) {
	s := ptxtest.Matrices(256, 128, 256)[2]
	if !strings.HasPrefix(s.Name, "biased") {
		t.Fatal(s.Name)
	}
	long := "y = reduce_dot(x, z) + b\n" + strings.Repeat("y = y * y - 1\n", 10)
	for text, want := range map[string]bool{s.Text: false, long: true} {
		s.Text = text
		for results, large := range map[int64]bool{256 * 256: false, 4096 * 4096: true} {
			if got := Apart(s.Shape().Kernel, Target{Major: 9}, results); got != (want && large) {
				t.Errorf("%s, %d results: apart %v", text, results, got)
			}
		}
	}
}
