package cuda_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sort"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

var measure = flag.Bool("measure", false, "measure kernels on the device")

// bench measures kernels in one pool of device memory that holds data already.
type bench struct {
	*device
	t      *testing.T
	stream driver.Stream
	pool   driver.Ptr
	size   uint64
	block  driver.Ptr // blockBytes of data that the pool is filled from
	fault  driver.Ptr
	scrat  driver.Ptr
	scratN int64
	copies map[int64]float64 // ms of a plain copy that moves so many bytes
}

const (
	poolBytes   = 6 << 30
	launches    = 11 // timed graph launches, of which the median counts
	mostCopies  = 40 // of the operands, so that small shapes do not live in the cache
	copiesBytes = 1 << 30
	blockBytes  = 16 << 20
)

// TestMeasure prints times as shares of what a plain copy of the same bytes
// takes. The values computed are checked by TestConformance.
func TestMeasure(t *testing.T) {
	b := newBench(t, openDevice)
	var specs, trees []ptxtest.Spec
	specs = append(specs, elementwiseBenches()...)
	specs = append(specs, rowBenches(kernel.StripedTree, ir.F32)...)
	specs = append(specs, rowBenches(kernel.StripedTree, ir.BF16)...)
	for _, t := range []ir.DType{ir.F32, ir.BF16} {
		specs = append(specs, rowPrograms(t)...)
	}
	specs = append(specs, columnBenches(kernel.ColumnsTree)...)
	specs = append(specs, ptxtest.Activations(1 << 28)[:2]...)
	for _, tree := range rowTrees() {
		trees = append(trees, rowBenches(tree, ir.F32)[:5]...)
	}
	for _, tree := range rowTrees() {
		trees = append(trees, rowBenches(tree, ir.BF16)[0])
	}
	for _, tree := range columnTrees() {
		trees = append(trees, columnBenches(tree)...)
	}
	start := time.Now()
	b.compile(append(specs[:len(specs):len(specs)], trees...))
	t.Logf("%d entries compiled in %.1f s", b.entries, time.Since(start).Seconds())
	b.copyEngine()
	t.Logf("%-58s %10s %10s %8s", "kernel", "µs", "copy µs", "share")
	for _, s := range specs {
		b.one(s)
	}
	t.Log("tree alternatives")
	for _, s := range trees {
		b.one(s)
	}
}

// compile makes all entries on all processors: the compiler of the driver is
// slow and runs on one thread for each module.
func (b *bench) compile(specs []ptxtest.Spec) {
	queue := make(chan ptxtest.Spec)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for s := range queue {
				err := b.ctx.Do(func() error {
					plans, _, err := b.plans(s)
					if err != nil {
						return err
					}
					for _, st := range plans[0].Steps {
						if _, err := b.function(st.Entry); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.t.Errorf("%s: %v", s.Name, err)
				}
			}
		}()
	}
	for _, s := range specs {
		queue <- s
	}
	close(queue)
	wg.Wait()
}

func elementwiseBenches() []ptxtest.Spec {
	const n = 1 << 28
	spec := func(name string, t ir.DType, text string) ptxtest.Spec {
		in := func(name string) ptxtest.Arg { return ptxtest.Arg{Name: name, Type: t, Axes: "u"} }
		s := ptxtest.Spec{
			Name: fmt.Sprintf("%s %s", name, t), Axes: "p", Extents: []int64{n}, Compute: t.Compute(),
			In: []ptxtest.Arg{in("x"), in("w"), in("b")}, Out: []ptxtest.Arg{in("y")}, Text: text,
		}
		return s
	}
	out := []ptxtest.Spec{
		spec("max(x*w+b,0)", ir.F32, "y = max(x * w + b, 0)"),
		spec("(x*w+b)/sqrt(w*w+1)", ir.F32, "y = (x * w + b) / sqrt(w * w + 1)"),
		spec("max(x*w+b,0)", ir.BF16, "y = max(x * w + b, 0)"),
		spec("max(x*w+b,0)", ir.F16, "y = max(x * w + b, 0)"),
	}
	if ir.Lookup("exp") != nil {
		out = append(out, spec("exp(x*w)+b", ir.F32, "y = exp(x * w) + b"), spec("exp(x*w)+b", ir.BF16, "y = exp(x * w) + b"))
	}
	if ir.Lookup("tanh") != nil {
		out = append(out, spec("tanh(x*w)+b", ir.F32, "y = tanh(x * w) + b"))
	}
	if ir.Lookup("erf") != nil {
		out = append(out, spec("gelu chain", ir.F32, "v = x * w + b; y = v * 0.5 * (1 + erf(v * 0x1.6a09e6p-1)) * x"))
	}
	return append(out, ptxtest.Spec{
		Name: "x + bias, rows of 1024 f32", Axes: "pp", Extents: []int64{1 << 18, 1024}, Compute: ir.F32,
		In:  []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "su"}, {Name: "b", Type: ir.F32, Axes: "bu"}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "su"}}, Text: "y = x + b",
	}, ptxtest.Spec{
		Name: "x + transposed 8192x8192 f32", Axes: "pp", Extents: []int64{8192, 8192}, Compute: ir.F32,
		In:  []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "su"}, {Name: "b", Type: ir.F32, Axes: "ss", Order: []int{1, 0}}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "su"}}, Text: "y = x + b",
	})
}

func rowBenches(tree kernel.Tree, t ir.DType) []ptxtest.Spec {
	x := []ptxtest.Arg{{Name: "x", Type: t, Axes: "su"}}
	y := []ptxtest.Arg{{Name: "y", Type: t, Axes: "su"}}
	var out []ptxtest.Spec
	for _, shape := range [][]int64{{16384, 4096}, {4096, 768}, {64, 50257}} {
		out = append(out, ptxtest.Spec{
			Name: fmt.Sprintf("softmax %s %v %s", t, shape, tree), Kernel: fmt.Sprintf("softmax %s %s", t, tree), Axes: "pr", Extents: shape, Compute: ir.F32, Tree: tree, In: x, Out: y, Text: ptxtest.Softmax(),
		})
	}
	out = append(out, ptxtest.Spec{
		Name: fmt.Sprintf("layer norm %s [16384 4096] %s", t, tree), Axes: "pr", Extents: []int64{16384, 4096}, Compute: ir.F32, Tree: tree,
		In: append(x, ptxtest.Arg{Name: "g", Type: t, Axes: "bu"}, ptxtest.Arg{Name: "b", Type: t, Axes: "bu"}), Out: y, Text: ptxtest.LayerNorm(),
	}, ptxtest.Spec{
		Name: fmt.Sprintf("sum %s [16384 4096] %s", t, tree), Kernel: fmt.Sprintf("sum %s %s", t, tree), Axes: "pr", Extents: []int64{16384, 4096}, Compute: ir.F32, Tree: tree,
		In: x, Out: []ptxtest.Arg{{Name: "y", Type: t, Axes: "ub"}}, Text: "reduce_sum(x)",
	}, ptxtest.Spec{
		Name: fmt.Sprintf("sum of all %s 2^28 %s", t, tree), Axes: "r", Extents: []int64{1 << 28}, Compute: ir.F32, Tree: tree,
		In: []ptxtest.Arg{{Name: "x", Type: t, Axes: "u"}}, Out: []ptxtest.Arg{{Name: "y", Type: t, Axes: "b"}}, Text: "reduce_sum(x)",
	}, ptxtest.Spec{
		Name: fmt.Sprintf("sum %s [1048576 64] %s", t, tree), Kernel: fmt.Sprintf("sum %s %s", t, tree), Axes: "pr", Extents: []int64{1 << 20, 64}, Compute: ir.F32, Tree: tree,
		In: x, Out: []ptxtest.Arg{{Name: "y", Type: t, Axes: "ub"}}, Text: "reduce_sum(x)",
	})
	return out
}

// rowPrograms are softmax, layer norm and RMS norm as the op table has them, on rows that
// are short, middling, long, and too long for one block's registers.
func rowPrograms(t ir.DType) []ptxtest.Spec {
	x := ptxtest.Arg{Name: "x", Type: t, Axes: "su"}
	g, b := ptxtest.Arg{Name: "g", Type: t, Axes: "bu"}, ptxtest.Arg{Name: "b", Type: t, Axes: "bu"}
	var out []ptxtest.Spec
	for _, p := range []struct {
		name, text string
		in         []ptxtest.Arg
	}{
		{"softmax", "e = exp(x - reduce_max(x)); y = e * (1 / reduce_sum(e))", []ptxtest.Arg{x}},
		{"layer norm", "n = count(); d = x - reduce_sum(x) / n; y = fma(d * (1 / sqrt(reduce_sum(d * d) / n + 0x1p-17)), g, b)", []ptxtest.Arg{x, g, b}},
		{"RMS norm", "n = count(); y = x * (1 / sqrt(reduce_sum(x * x) / n + 0x1p-17)) * g", []ptxtest.Arg{x, g}},
	} {
		for _, shape := range [][]int64{{4096, 768}, {16384, 4096}, {64, 50257}, {2048, 32000}, {128, 128000}} {
			out = append(out, ptxtest.Spec{
				Name: fmt.Sprintf("%s of the op table %s %v", p.name, t, shape), Kernel: fmt.Sprintf("%s %s", p.name, t), Axes: "pr", Extents: shape, Compute: ir.F32, Tree: kernel.StripedTree,
				In: p.in, Out: []ptxtest.Arg{{Name: "y", Type: t, Axes: "su"}}, Text: p.text,
			})
		}
	}
	return out
}

func columnBenches(tree kernel.Tree) []ptxtest.Spec {
	var out []ptxtest.Spec
	for _, shape := range [][]int64{{16384, 4096}, {1 << 20, 64}, {128, 1 << 19}} {
		x := []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "su"}}
		out = append(out, ptxtest.Spec{
			Name: fmt.Sprintf("column sum f32 %v %s", shape, tree), Kernel: "column sum " + tree.String(), Axes: "rp", Extents: shape, Compute: ir.F32, Tree: tree,
			In: x, Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "bu"}}, Text: "reduce_sum(x)",
		})
	}
	return append(out, ptxtest.Spec{
		Name: fmt.Sprintf("column sum bf16 [16384 4096] %s", tree), Axes: "rp", Extents: []int64{16384, 4096}, Compute: ir.F32, Tree: tree,
		In:  []ptxtest.Arg{{Name: "x", Type: ir.BF16, Axes: "su"}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.BF16, Axes: "bu"}}, Text: "reduce_sum(x)",
	}, ptxtest.Spec{
		Name: fmt.Sprintf("column softmax f32 [4096 4096] %s", tree), Axes: "rp", Extents: []int64{4096, 4096}, Compute: ir.F32, Tree: tree,
		In:  []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "su"}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "su"}}, Text: ptxtest.Softmax(),
	})
}

// newBench skips unless times are asked for. The goroutine keeps its thread, which has
// the device's context.
func newBench(t *testing.T, open func(*testing.T) *device) *bench {
	if !*measure {
		t.Skip("skipped: measures only with -measure")
	}
	b := &bench{device: open(t), t: t, copies: map[int64]float64{}}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	if err := b.ctx.SetCurrent(); err != nil {
		t.Fatal(err)
	}
	if err := b.prepare(); err != nil {
		t.Fatal(err)
	}
	return b
}

// prepare takes the pool and fills it with normal numbers: zeros would flatter.
func (b *bench) prepare() error {
	var err error
	if b.stream, err = b.ctx.NewStream(); err != nil {
		return err
	}
	b.size = poolBytes
	if b.pool, err = b.ctx.Alloc(b.size); err != nil {
		return err
	}
	if b.fault, err = b.ctx.Alloc(8); err != nil {
		return err
	}
	b.scratN = 256 << 20
	if b.scrat, err = b.ctx.Alloc(uint64(b.scratN)); err != nil {
		return err
	}
	if b.block, err = b.ctx.Alloc(blockBytes); err != nil {
		return err
	}
	data := make([]byte, blockBytes)
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < blockBytes; i += 4 {
		v := math.Float32bits(float32(r.NormFloat64()))
		v = v&0xffff0000 | math.Float32bits(float32(r.NormFloat64()))>>16 // both halves are sensible bf16 numbers too
		data[i], data[i+1], data[i+2], data[i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	}
	if err := b.ctx.CopyToDevice(b.block, data); err != nil {
		return err
	}
	return b.fill()
}

// fill restores the pool, which the kernels before wrote their results into.
func (b *bench) fill() error {
	if err := b.ctx.Copy(b.pool, b.block, blockBytes); err != nil {
		return err
	}
	for have := uint64(blockBytes); have < b.size; have *= 2 {
		if err := b.ctx.Copy(b.pool+driver.Ptr(have), b.pool, min(have, b.size-have)); err != nil {
			return err
		}
	}
	return b.ctx.Synchronize()
}

// copyEngine logs what the driver's own copy does.
func (b *bench) copyEngine() {
	const n = 1 << 30
	ms, err := b.time(1, func(int) error { return b.stream.Copy(b.pool+n, b.pool, n) })
	if err != nil {
		b.t.Error(err)
		return
	}
	b.t.Logf("driver copy of 1 GiB: %.1f µs, %.2f TB/s read and written", ms*1000, 2*n/ms/1e9)
}

// time runs the launches as one graph and returns the median time of one.
func (b *bench) time(n int, launch func(i int) error) (float64, error) {
	for i := range n { // compiles and warms up
		if err := launch(i); err != nil {
			return 0, err
		}
	}
	if err := b.stream.Synchronize(); err != nil {
		return 0, err
	}
	g, err := b.stream.Capture(func() error {
		for i := range n {
			if err := launch(i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = g.Destroy() }()
	var times []float64
	for i := range launches + 2 {
		ms, err := b.between(func() error { return g.Launch(b.stream) })
		if err != nil {
			return 0, err
		}
		if i >= 2 {
			times = append(times, ms/float64(n))
		}
	}
	sort.Float64s(times)
	return times[len(times)/2], nil
}

// between is the time in ms of what a function puts on the stream.
func (b *bench) between(submit func() error) (ms float64, err error) {
	from, err := b.ctx.NewEvent()
	if err != nil {
		return 0, err
	}
	defer func() { _ = from.Destroy() }()
	to, err := b.ctx.NewEvent()
	if err != nil {
		return 0, err
	}
	defer func() { _ = to.Destroy() }()
	if err := b.stream.Record(from); err != nil {
		return 0, err
	}
	if err := submit(); err != nil {
		return 0, err
	}
	if err := b.stream.Record(to); err != nil {
		return 0, err
	}
	if err := to.Synchronize(); err != nil {
		return 0, err
	}
	return to.Since(from)
}

// plans lays copies of the operands of one spec out in the pool.
func (b *bench) plans(s ptxtest.Spec) (plans []*ptx.Plan, moved int64, err error) {
	c := s.Shape()
	var total uint64
	var at []uint64
	for _, buf := range c.Buffers {
		at = append(at, total)
		total += (uint64(buf.Size()) + 511) / 512 * 512
	}
	if total > b.size {
		return nil, 0, fmt.Errorf("%d bytes do not fit the pool", total)
	}
	m, err := ptx.Generate(c.Kernel, b.target)
	if err != nil {
		return nil, 0, err
	}
	plans = make([]*ptx.Plan, max(1, min(mostCopies, copiesBytes/total)))
	for i := range plans {
		var base []uint64
		for _, a := range at {
			base = append(base, uint64(b.pool)+uint64(i)*total+a)
		}
		if plans[i], err = m.Plan(c.Launch, base); err != nil {
			return nil, 0, err
		}
		if plans[i].Scratch > b.scratN {
			return nil, 0, fmt.Errorf("%d bytes of scratch", plans[i].Scratch)
		}
	}
	return plans, c.Moved, nil
}

// kernelTime measures one spec over several copies of its operands.
func (b *bench) kernelTime(s ptxtest.Spec) (ms float64, moved int64, names string, err error) {
	plans, moved, err := b.plans(s)
	if err != nil {
		return 0, 0, "", err
	}
	if err := b.fill(); err != nil {
		return 0, 0, "", err
	}
	ms, err = b.time(len(plans), func(i int) error { return b.run(b.stream, plans[i], b.scrat, b.fault) })
	return ms, moved, entryNames(plans[0]), err
}

// one prints a line: a kernel against a copy kernel that moves as many bytes.
func (b *bench) one(s ptxtest.Spec) {
	ms, moved, names, err := b.kernelTime(s)
	if err != nil {
		b.t.Errorf("%s: %v", s.Name, err)
		return
	}
	copied, err := b.copyTime(moved)
	if err != nil {
		b.t.Error(err)
		return
	}
	b.t.Logf("%-58s %10.2f %10.2f %7.1f%%  %.2f TB/s %s", s.Name, ms*1000, copied*1000, 100*copied/ms, float64(moved)/ms/1e9, names)
}

// copyTime is the time of y = x that reads and writes the given bytes in all.
func (b *bench) copyTime(moved int64) (float64, error) {
	elements := (moved/8 + 1023) / 1024 * 1024
	if ms, ok := b.copies[elements]; ok {
		return ms, nil
	}
	ms, _, _, err := b.kernelTime(ptxtest.Spec{
		Name: "copy", Axes: "p", Extents: []int64{elements}, Compute: ir.F32,
		In:  []ptxtest.Arg{{Name: "x", Type: ir.F32, Axes: "u"}},
		Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "u"}}, Text: "y = x",
	})
	b.copies[elements] = ms
	return ms, err
}

// tensorsAt are tensors in device memory from an address on, and where the next may lie.
func tensorsAt(at uintptr, types ...ir.Type) (tensors []kernel.Tensor, end uintptr) {
	for _, t := range types {
		o := kernel.Operand{Base: *(*unsafe.Pointer)(unsafe.Pointer(&at)), Size: t.Bytes(), Strides: t.Shape.Strides()}
		tensors = append(tensors, kernel.Tensor{Type: t, Operand: o})
		at += uintptr(t.Bytes()+511) &^ 511
	}
	return tensors, at
}
