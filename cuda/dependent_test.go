package cuda_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/internal/metamorphic"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/irtest"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// TestDependentBits: random programs of many small kernels have the same bits whether or not
// the kernels of their graphs are launched while the one before them runs.
func TestDependentBits(t *testing.T) {
	counts := sameBits(t, cuda.Options{NoDependentLaunch: true}, func(s cuda.Stats) int64 { return s.Dependent })
	t.Log(counts)
}

// TestManyBits: they have the same bits whether or not kernels that do the same to many tensors
// are one launch.
func TestManyBits(t *testing.T) {
	counts := sameBits(t, cuda.Options{NoManyLaunch: true}, func(s cuda.Stats) int64 { return s.Shared })
	if t.Log(counts); counts.of == 0 {
		t.Error("nothing shares a launch")
	}
}

// bitCounts are what sameBits has seen.
type bitCounts struct {
	programs   int
	graphs, of int64
}

func (c bitCounts) String() string {
	return fmt.Sprintf("%d programs, %d graphs, %d of what is compared", c.programs, c.graphs, c.of)
}

// sameBits compares the bits of random programs without something and with it, which a device
// counts.
func sameBits(t *testing.T, off cuda.Options, count func(cuda.Stats) int64) (c bitCounts) {
	keepOpen(t)
	var stats []func() cuda.Stats // of the devices of the run
	way := func(name string, o cuda.Options) metamorphic.Way {
		return metamorphic.Way{Name: name, Free: true, Repeat: 12, Open: func() (backend.Backend, error) {
			d, err := cuda.New(o)
			if err != nil {
				return nil, err
			}
			stats = append(stats, d.Stats)
			return fusion.New(d, fusion.Options{}), nil
		}}
	}
	without, with := way("without", off), way("with", cuda.Options{})
	end := time.Now().Add(*randomTime)
	for s := uint64(1); time.Now().Before(end); s++ {
		o := irtest.Options{Nodes: 80, DTypes: []ir.DType{ir.F32, ir.F64, ir.BF16, ir.F16, ir.I64, ir.I32, ir.U8, ir.Bool}}
		if s%3 == 0 {
			o.MaxElements, o.Nodes = 60000, 30
		}
		p := irtest.Random(rand.New(rand.NewPCG(s, 31)), o)
		inputs := irtest.InputData(rand.New(rand.NewPCG(s, 32)), p, []float64{0, 0.1}[s%2])
		without.Seed, with.Seed = s, s
		truth, err := without.TruthOf(p, inputs)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", s, err, p)
		}
		c.programs++
		for _, of := range stats {
			if n := count(of()); n != 0 {
				t.Fatalf("seed %d: %d of what is switched off", s, n)
			}
		}
		stats = stats[:0]
		if got, err := with.RunKnowing(p, inputs, truth); err != nil {
			t.Fatalf("seed %d: %v\n%s", s, err, p)
		} else if what := truth.Compare(p, got); what != "" {
			t.Fatalf("seed %d: %s\n%s", s, what, p)
		}
		for _, of := range stats {
			c.graphs, c.of = c.graphs+of().Graphs, c.of+count(of())
		}
		stats = stats[:0]
	}
	if c.graphs == 0 {
		t.Error("no graphs")
	}
	return c
}

// chained makes a graph of a chain of kernels, each of which reads what the one before it
// wrote, and overwrites what that one read.
func (b *bench) chained(s ptxtest.Spec, n int, e driver.Edge) (*driver.Chain, error) {
	c := s.Shape()
	m, err := ptx.Generate(c.Kernel, b.target)
	if err != nil {
		return nil, err
	}
	return b.chainOf(n, e, func(i int) (*ptx.Module, *kernel.Launch, []uint64) {
		const apart = 64 << 20
		from, to := uint64(b.pool), uint64(b.pool)+apart
		if i%2 == 1 {
			from, to = to, from
		}
		return m, c.Launch, []uint64{from, to}
	})
}

// chainOf makes a graph of a chain of launches, each at addresses of its own.
func (b *bench) chainOf(n int, e driver.Edge, link func(i int) (*ptx.Module, *kernel.Launch, []uint64)) (x *driver.Chain, err error) {
	if x, err = b.ctx.NewChain(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = x.Destroy()
		}
	}()
	for i := range n {
		m, l, base := link(i)
		plan, err := m.Plan(l, base)
		if err != nil {
			return nil, err
		}
		plan.Bind(uint64(b.scrat), uint64(b.fault))
		for j := range plan.Steps {
			st := &plan.Steps[j]
			f, err := b.function(st.Entry)
			if err != nil {
				return nil, err
			}
			p, err := b.params(st)
			if err != nil {
				return nil, err
			}
			grid, block := shapeOf(st)
			if err := x.Kernel(f, grid, block, uint32(st.Entry.Shared), p, e); err != nil {
				return nil, err
			}
		}
	}
	return x, x.Ready()
}

// inTurns launches two chains in turns, and returns the median time of each, and all, in µs as
// parts of so many.
func (b *bench) inTurns(chains [2]*driver.Chain, parts float64) (median [2]float64, times [2][]float64) {
	b.t.Helper()
	for round := range launches + 2 {
		for i, x := range chains {
			ms, err := b.between(func() error { return x.Launch(b.stream) })
			if err != nil {
				b.t.Fatal(err)
			}
			if round >= 2 { // warm
				times[i] = append(times[i], ms*1000/parts)
			}
		}
	}
	for i, list := range times {
		sort.Float64s(list)
		median[i] = list[len(list)/2]
	}
	return median, times
}

// TestMeasureDependent prints what a kernel of a chain takes, launched when the one before it
// has ended and while it runs, in turns.
func TestMeasureDependent(t *testing.T) {
	b := newBench(t, openDevice)
	if b.target.Major < 9 || !b.ctx.HasProgrammaticEdges() {
		t.Skip("skipped: no programmatic edges")
	}
	const kernels = 200
	f32 := func(name, axes string) ptxtest.Arg { return ptxtest.Arg{Name: name, Type: ir.F32, Axes: axes} }
	elementwise := func(n int64) ptxtest.Spec {
		return ptxtest.Spec{Name: fmt.Sprintf("x * 0.5 + 1 of %d", n), Axes: "p", Extents: []int64{n}, Compute: ir.F32,
			In: []ptxtest.Arg{f32("x", "u")}, Out: []ptxtest.Arg{f32("y", "u")}, Text: "y = x * 0.5 + 1"}
	}
	softmax := func(shape ...int64) ptxtest.Spec {
		return ptxtest.Spec{Name: fmt.Sprintf("softmax of %v", shape), Axes: "pr", Extents: shape, Compute: ir.F32, Tree: kernel.StripedTree,
			In: []ptxtest.Arg{f32("x", "su")}, Out: []ptxtest.Arg{f32("y", "su")}, Text: ptxtest.Softmax()}
	}
	t.Logf("%-32s %14s %14s %8s", "chain of kernels", "after, µs each", "during, µs", "share")
	for _, s := range []ptxtest.Spec{elementwise(4096), elementwise(1 << 20), elementwise(1 << 24), softmax(8, 768), softmax(256, 4096), softmax(16, 50257)} {
		var chains [2]*driver.Chain
		for i, e := range []driver.Edge{driver.Completion, driver.Programmatic} {
			x, err := b.chained(s, kernels, e)
			if err != nil {
				t.Fatalf("%s, edge %d: %v", s.Name, e, err)
			}
			defer func() { _ = x.Destroy() }()
			chains[i] = x
		}
		median, times := b.inTurns(chains, kernels)
		t.Logf("%-32s %14.2f %14.2f %7.0f%%  %.2f to %.2f, %.2f to %.2f", s.Name, median[0], median[1], 100*median[1]/median[0],
			slices.Min(times[0]), slices.Max(times[0]), slices.Min(times[1]), slices.Max(times[1]))
	}
}

// TestMeasurePrefetch prints what a product of one row takes behind a small kernel, in a graph whose
// kernels are launched while those before them run: as it is, and where it asks for the first of
// its weights before it waits.
func TestMeasurePrefetch(t *testing.T) {
	b := newBench(t, openDevice)
	if b.target.Major < 9 || !b.ctx.HasProgrammaticEdges() {
		t.Skip("skipped: no programmatic edges")
	}
	const pairs, weights = 100, 16 // in turn, so that they come from memory
	small := ptxtest.Spec{Name: "x * 0.5", Axes: "p", Extents: []int64{8192}, Compute: ir.F32, Text: "y = x * 0.5",
		In: []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "u"}}, Out: []ptxtest.Arg{{Name: "y", Type: ir.BF16, Axes: "u"}}}.Shape()
	t.Logf("%-24s %12s %12s %8s", "1 row of bf16", "as it is, µs", "ahead, µs", "share")
	for _, size := range [][2]int64{{2048, 3072}, {2048, 2048}, {2048, 8192}, {8192, 2048}, {4096, 4096}} {
		all := ptxtest.Matrices(1, size[0], size[1])
		product := all[slices.IndexFunc(all, func(s ptxtest.Spec) bool { return strings.HasPrefix(s.Name, "matrix nt") })].Shape()
		bytes := uint64(2 * size[0] * size[1])
		var chains [2]*driver.Chain
		for i := range chains {
			target := b.target
			target.Prefetch = i > 0
			before, err := ptx.Generate(small.Kernel, target)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ptx.Generate(product.Kernel, target)
			if err != nil {
				t.Fatal(err)
			}
			x, err := b.chainOf(2*pairs, driver.Programmatic, func(i int) (*ptx.Module, *kernel.Launch, []uint64) {
				const apart = 1 << 20
				row, result := uint64(b.pool), uint64(b.pool)+apart
				if i%2 == 0 {
					return before, small.Launch, []uint64{result, row}
				}
				return m, product.Launch, []uint64{row, uint64(b.pool) + 2*apart + uint64(i/2%weights)*bytes, result}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Destroy() }()
			chains[i] = x
		}
		median, _ := b.inTurns(chains, pairs)
		t.Logf("%-24s %12.2f %12.2f %7.0f%%  %.1f TB/s", fmt.Sprintf("%dx%d", size[0], size[1]), median[0], median[1], 100*median[1]/median[0], float64(bytes)/median[1]/1e6)
	}
}
