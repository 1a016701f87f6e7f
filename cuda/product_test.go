package cuda_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// forms are the target of a device and, on Hopper, the one whose products take the form of
// a warp, as they do on other devices.
func (d *device) forms() []ptx.Target {
	out := []ptx.Target{d.target}
	if d.target.Major == 9 {
		warps := d.target
		warps.NoHopper = true
		out = append(out, warps)
	}
	return out
}

// TestMatrix checks products on the matrix units, whose order of summation is their
// own, against the interpreter: what differs is less than a step of the result's
// type, and the roundings of sums of that length. Neither where operands lie nor, on
// Hopper, the form of the product changes a bit.
func TestMatrix(t *testing.T) {
	d := openDevice(t)
	for _, size := range [][3]int64{{128, 64, 256}, {256, 128, 256}, {64, 72, 40}, {200, 264, 328}, {136, 1096, 1000}, {1024, 4096, 512}, {33, 77, 51}, {1, 1000, 1}} {
		for _, s := range ptxtest.Matrices(size[0], size[1], size[2]) {
			if size[0]*size[1]*size[2] > 1<<30 && s.In[0].Type == ir.F16 && !strings.HasPrefix(s.Name, "matrix nn") {
				continue // the interpreter takes long
			}
			err := d.ctx.Do(func() error { return checkMatrix(d, s.Make(), d.forms()...) })
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
	// Codes, which few rows decode on their way, and many beforehand.
	for _, size := range [][4]int64{{1, 4096, 4096, 32}, {5, 1088, 72, 64}, {64, 512, 1000, 128}, {200, 256, 136, 16}} {
		for _, t16 := range []ir.DType{ir.BF16, ir.F16} {
			for _, s := range ptxtest.CodedMatrices(t16, size[0], size[1], size[2], size[3]) {
				if err := d.ctx.Do(func() error { return checkMatrix(d, s.Make(), d.forms()...) }); err != nil {
					t.Errorf("%s: %v", s.Name, err)
				}
			}
		}
	}
	// Tiles of all widths, with what a training step stores turned.
	for _, s := range stepProducts(256) {
		if err := d.ctx.Do(func() error { return checkMatrix(d, s.Make(), d.forms()...) }); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// runMatrix runs a product in the form of a target, whose memory begins so many bytes after
// a multiple of 256, and returns its results.
func runMatrix(d *device, target ptx.Target, c *ptxtest.Case, shift uint64) (out [][]byte, names string, err error) {
	m, err := ptx.Generate(c.Kernel, target)
	if err != nil {
		return nil, "", err
	}
	mem := &memory{ctx: d.ctx}
	defer func() { _ = mem.free() }()
	c.Poison()
	base := make([]uint64, len(c.Buffers))
	for i, b := range c.Buffers {
		p, err := mem.alloc(uint64(b.Size()) + shift)
		if err != nil {
			return nil, "", err
		}
		base[i] = uint64(p) + shift
		if err := d.ctx.CopyToDevice(driver.Ptr(base[i]), b.Bytes()); err != nil {
			return nil, "", err
		}
	}
	plan, err := m.Plan(c.Launch, base)
	if err != nil {
		return nil, "", err
	}
	names = entryNames(plan)
	last := plan.Steps[len(plan.Steps)-1].Entry
	if hopper := last.Maps > 0; hopper && target.NoHopper || !strings.Contains(last.Text, map[bool]string{true: "wgmma.mma_async", false: "mma.sync"}[hopper]) {
		return nil, names, fmt.Errorf("not on the matrix units, or not in the form of %+v: %s", target, names)
	}
	if shift > 0 && len(plan.Steps) < 3 {
		return nil, names, fmt.Errorf("nothing is packed: %s", names)
	}
	scratch, err := mem.alloc(uint64(plan.Scratch))
	if err != nil {
		return nil, names, err
	}
	if err := d.run(d.ctx.DefaultStream(), plan, scratch, 0); err != nil {
		return nil, names, err
	}
	out = make([][]byte, len(c.Buffers))
	for i, b := range c.Buffers {
		if !b.Out {
			continue
		}
		out[i] = make([]byte, b.Size())
		if err := d.ctx.CopyToHost(out[i], driver.Ptr(base[i])); err != nil {
			return nil, names, fmt.Errorf("%s: %w", names, err)
		}
	}
	return out, names, nil
}

// checkMatrix checks a product in the forms of targets.
func checkMatrix(d *device, c *ptxtest.Case, targets ...ptx.Target) error {
	want, err := c.Reference(runtime.GOMAXPROCS(0))
	if err != nil {
		return err
	}
	var outs [][]byte
	var names string
	for _, target := range targets {
		for _, shift := range []uint64{0, 4} {
			out, others, err := runMatrix(d, target, c, shift)
			if err != nil {
				return err
			}
			if outs == nil {
				outs, names = out, others
				continue
			}
			for i, b := range c.Buffers {
				if n, first := ptxtest.Mismatches(b.Type, out[i], outs[i]); b.Out && n > 0 {
					return fmt.Errorf("%d elements depend on the form, or on where operands lie: %s and %s: %s", n, names, others, first)
				}
			}
		}
	}
	for i, b := range c.Buffers {
		if !b.Out {
			continue
		}
		got := outs[i]
		k := 1.0
		for axis, kind := range c.Kernel.Axes {
			if kind == kernel.Reduced {
				k *= float64(c.Launch.Extents[axis])
			}
		}
		worst, at := 0.0, 0
		for j := range len(got) / b.Type.Size() {
			x, y := floatAt(b.Type, got, j), floatAt(b.Type, want[i], j)
			off := math.Abs(x-y) / (math.Abs(y)*step(b.Type) + k*0x1p-20)
			if math.IsNaN(off) || off > worst {
				worst, at = off, j
			}
		}
		if !(worst <= 1) {
			return fmt.Errorf("%s: element %d is %v, expected %v", names, at, floatAt(b.Type, got, at), floatAt(b.Type, want[i], at))
		}
	}
	return nil
}

// TestTF32: products of f32 that are asked to be rounded to tf32, of numbers that it has.
func TestTF32(t *testing.T) {
	d := openDevice(t)
	target := d.target
	target.TF32 = true
	for _, size := range [][3]int64{{128, 64, 256}, {64, 72, 40}, {200, 264, 328}, {1024, 512, 512}, {33, 77, 51}, {1, 1000, 1}, {1, 4096, 512}} {
		for _, s := range ptxtest.Matrices(size[0], size[1], size[2]) {
			if s.In[0].Type != ir.BF16 || strings.HasPrefix(s.Name, "scaled") {
				continue
			}
			err := d.ctx.Do(func() error {
				c := ptxtest.InF32(s).Make()
				c.RoundTF32()
				return checkMatrix(d, c, target)
			})
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

// TestMatrixRows: rows of a product have the same bits alone as among others, which run in
// another form, and so do columns.
func TestMatrixRows(t *testing.T) {
	d := openDevice(t)
	for _, half := range []ir.DType{ir.BF16, ir.F16} {
		for _, axes := range [][2]string{{"sub", "bsu"}, {"sub", "bus"}, {"usb", "bsu"}} {
			x := ptxtest.Arg{Name: "x", Type: half, Axes: axes[0]}
			z := ptxtest.Arg{Name: "z", Type: half, Axes: axes[1]}
			if axes[0] == "usb" {
				x.Order = []int{1, 0, 2}
			}
			if axes[1] == "bus" {
				z.Order = []int{0, 2, 1}
			}
			spec := func(rows, depth, cols int64) ptxtest.Spec {
				return ptxtest.Spec{Name: fmt.Sprintf("rows %s %s of %dx%dx%d", axes[0], axes[1], rows, depth, cols), Axes: "prp", Extents: []int64{rows, depth, cols},
					Compute: ir.F32, Class: "matrix", Text: "y = reduce_dot(x, z)", In: []ptxtest.Arg{x, z}, Out: []ptxtest.Arg{{Name: "y", Type: ir.F32, Axes: "sbu"}}}
			}
			const rows, depth, cols = 264, 1096, 520
			whole := spec(rows, depth, cols).Make()
			run := func(c *ptxtest.Case) (out [][]byte, names string) {
				err := d.ctx.Do(func() (err error) {
					out, names, err = runMatrix(d, d.target, c, 0)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return out, names
			}
			all, wholes := run(whole)
			// copyLines copies lines of an operand from where the whole has them.
			copyLines := func(c *ptxtest.Case, arg int, axis int, from, n int64) {
				for i := range n {
					for k := range int64(depth) {
						at := func(c *ptxtest.Case, line int64) int64 {
							o := &c.Launch.Args[arg]
							return 2 * (o.Offset + line*o.Strides[axis] + k*o.Strides[1])
						}
						a, b := at(c, i), at(whole, from+i)
						copy(c.Buffers[arg].Bytes()[a:a+2], whole.Buffers[arg].Bytes()[b:b+2])
					}
				}
			}
			for _, n := range []int64{1, 2, 7, 16, 17, 40, 64, 65} {
				for _, few := range []struct{ row, rows, col, cols int64 }{{3, n, 0, cols}, {0, rows, 5, n}} {
					c := spec(few.rows, depth, few.cols).Make()
					copyLines(c, 0, 0, few.row, few.rows)
					copyLines(c, 1, 2, few.col, few.cols)
					out, names := run(c)
					for i := range few.rows {
						for j := range few.cols {
							a, b := floatAt(ir.F32, out[2], int(i*few.cols+j)), floatAt(ir.F32, all[2], int((few.row+i)*cols+few.col+j))
							if math.Float64bits(a) != math.Float64bits(b) {
								t.Fatalf("%s of %s: element %d, %d is %v, among others %v (%s)", names, c.Kernel.Name, i, j, a, b, wholes)
							}
						}
					}
				}
			}
		}
	}
}

func step(t ir.DType) float64 {
	switch t {
	case ir.BF16:
		return 0x1p-7
	case ir.F16:
		return 0x1p-10
	}
	return 0x1p-18
}

func floatAt(t ir.DType, b []byte, i int) float64 {
	u := func(n int) (v uint64) {
		for j := range n {
			v |= uint64(b[i*n+j]) << (8 * j)
		}
		return v
	}
	switch t {
	case ir.BF16:
		return float64(kernel.BF16ToF32(uint16(u(2))))
	case ir.F16:
		return float64(kernel.F16ToF32(uint16(u(2))))
	}
	return float64(math.Float32frombits(uint32(u(4))))
}

// resources says what the code of a spec takes of a multiprocessor.
func (b *bench) resources(s ptxtest.Spec) string {
	plans, _, err := b.plans(s)
	if err != nil {
		return ""
	}
	f, err := b.function(plans[0].Steps[0].Entry)
	if err != nil {
		return ""
	}
	regs, _ := f.Attribute(driver.FunctionRegisters)
	local, _ := f.Attribute(driver.FunctionLocalBytes)
	return fmt.Sprintf(", %d registers, %d bytes spilled", regs, local)
}

// TestMeasureProducts prints the rate of products, for comparison with the vendor's
// library (bench/peers has the same sizes).
func TestMeasureProducts(t *testing.T) {
	b := newBench(t, openDevice)
	rate := func(s ptxtest.Spec) {
		ms, _, names, err := b.kernelTime(s)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			return
		}
		flops := 2.0
		for _, n := range s.Extents {
			flops *= float64(n)
		}
		t.Logf("%-44s %10.1f µs %8.1f TFLOP/s %s%s", s.Name, ms*1000, flops/ms/1e9, names, b.resources(s))
	}
	own := b.target
	for _, b.target = range b.forms() {
		t.Logf("products of bf16, without Hopper's own form: %v", b.target.NoHopper)
		for _, n := range []int64{1024, 2048, 4096, 8192} {
			all := ptxtest.Matrices(n, n, n)
			for _, s := range all {
				if strings.HasPrefix(s.Name, "rounded") || strings.HasPrefix(s.Name, "matrix nt") || n == 4096 && (strings.HasPrefix(s.Name, "biased") || strings.HasPrefix(s.Name, "matrix t")) {
					rate(s)
				}
			}
		}
		rate(ptxtest.Matrices(4096, 11008, 4096)[1])
		rate(ptxtest.Matrices(4096, 4096, 32)[1])
	}
	b.target = own
	t.Log("products of a step of GPT-2 with 4096 tokens: results of bf16, gradients of what is multiplied, and of weights, turned and of f32")
	for _, s := range stepProducts(4096) {
		rate(s)
	}
	for _, n := range []int64{1000, 1024, 2048, 4096, 8192} {
		rate(ptxtest.Products(n, n, n)[0])
	}
	rate(ptxtest.Products(4096, 4096, 4096)[4]) // transposed
	for _, s := range [][3]int64{{128, 784, 512}, {128, 512, 512}, {512, 128, 784}} {
		rate(ptxtest.Products(s[0], s[1], s[2])[0])
		rate(ptxtest.Products(s[0], s[1], s[2])[4])
	}
	rate(ptxtest.Products(2048, 2048, 2048)[1]) // f64
}

// stepProducts are the products of matrices of bf16 of a training step of GPT-2: of tokens by
// the weights of a layer, of gradients by weights turned, and of tokens by gradients, whose
// results are those of weights.
func stepProducts(tokens int64) []ptxtest.Spec {
	var out []ptxtest.Spec
	for _, w := range [][2]int64{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}} {
		from, to := w[0], w[1]
		x := ptxtest.Arg{Name: "x", Type: ir.BF16, Axes: "sub"}
		z := ptxtest.Arg{Name: "z", Type: ir.BF16, Axes: "bsu"}
		turned := ptxtest.Arg{Name: "z", Type: ir.BF16, Axes: "bus", Order: []int{0, 2, 1}}
		out = append(out,
			stepProduct("forward", tokens, from, to, x, z, ptxtest.Arg{Name: "y", Type: ir.BF16, Axes: "sbu"}),
			stepProduct("backward", tokens, to, from, x, turned, ptxtest.Arg{Name: "y", Type: ir.BF16, Axes: "sbu"}),
			stepProduct("weight", to, tokens, from, ptxtest.Arg{Name: "x", Type: ir.BF16, Axes: "usb", Order: []int{1, 0, 2}}, z,
				ptxtest.Arg{Name: "y", Type: ir.F32, Axes: "ubs", Order: []int{2, 1, 0}}))
	}
	return out
}

func stepProduct(what string, m, k, n int64, x, z, y ptxtest.Arg) ptxtest.Spec {
	x.Fill, z.Fill = ptxtest.Normal, ptxtest.Normal
	return ptxtest.Spec{Name: fmt.Sprintf("%s %dx%dx%d", what, m, k, n), Kernel: what, Class: "matrix", Axes: "prp", Extents: []int64{m, k, n},
		Compute: ir.F32, In: []ptxtest.Arg{x, z}, Out: []ptxtest.Arg{y}, Text: "y = reduce_dot(x, z)"}
}

// TestMeasureThin prints times of products with few rows as shares of what a plain copy of the
// same bytes takes: in the form that is chosen, and on Hopper in that of a warp.
func TestMeasureThin(t *testing.T) {
	b := newBench(t, openDevice)
	b.copyEngine()
	own, forms := b.target, b.forms()
	for _, s := range [][3]int64{{1, 2048, 2048}, {1, 2048, 3072}, {1, 2048, 8192}, {1, 8192, 2048}, {1, 2048, 128256}, {4, 4096, 4096},
		{16, 4096, 4096}, {17, 4096, 4096}, {32, 4096, 4096}, {64, 4096, 4096}, {32, 4096, 14336}, {64, 4096, 14336}, {64, 2048, 128256}} {
		all := ptxtest.Matrices(s[0], s[1], s[2])
		for _, name := range []string{"matrix nt", "matrix nn"} {
			i := slices.IndexFunc(all, func(s ptxtest.Spec) bool { return strings.HasPrefix(s.Name, name) })
			for _, b.target = range forms {
				b.one(all[i])
			}
		}
	}
	b.target = own
}
