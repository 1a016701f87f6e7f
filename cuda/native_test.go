package cuda_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/cuda"
	"github.com/sinter-go/sinter/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
	"github.com/sinter-go/sinter/kernel/ptx/ptxtest"
)

// nativeCase is a node that has native kernels, at a size at which they matter. Integers of
// 64 bits are indices below a bound, if there is one. Matrices of the first operand may have
// something added to their diagonal.
type nativeCase struct {
	name     string
	row      string
	attrs    []ir.Named
	in       []ir.Type
	below    int64
	diagonal float64
}

func nativeCases() []nativeCase {
	typ := func(d ir.DType, shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
	var out []nativeCase
	add := func(name, row string, attrs []ir.Named, below int64, in ...ir.Type) {
		out = append(out, nativeCase{name: name, row: row, attrs: attrs, in: in, below: below})
	}
	scatter := func(name string, d ir.DType, n, rows, inner int, below int64) {
		add("scatter_add "+name, "scatter_add", ir.A("axis", 0), below, typ(d, rows, inner), typ(ir.I64, n), typ(d, n, inner))
	}
	scatter("8k of 50257x768 f32", ir.F32, 8192, 50257, 768, 50257)
	scatter("8k of 50257x768 bf16", ir.BF16, 8192, 50257, 768, 50257)
	scatter("64k of 50257x768 bf16", ir.BF16, 65536, 50257, 768, 50257)
	scatter("8k of 50257x768 f32, 100 hit", ir.F32, 8192, 50257, 768, 100)
	scatter("8k of 50257x768 f32, one hit", ir.F32, 8192, 50257, 768, 1)
	scatter("1M of 1M f32", ir.F32, 1<<20, 1<<20, 1, 1<<20)
	scatter("100k of 1000x5 f16", ir.F16, 100000, 1000, 5, 1000)
	add("scatter_along 1M f32", "scatter_along", ir.A("axis", 1, "mode", ir.PutAdd), 1000, typ(ir.F32, 1000, 1000), typ(ir.I64, 1000, 1000), typ(ir.F32, 1000, 1000))
	add("scatter_along last f64", "scatter_along", ir.A("axis", 0, "mode", ir.PutReplace), 3000, typ(ir.F64, 3000, 70), typ(ir.I64, 9000, 1), typ(ir.F64, 9000, 70))
	add("scatter_nd max bf16", "scatter_nd", ir.A("axis", 0, "mode", ir.PutMax), 200, typ(ir.BF16, 200, 300, 24), typ(ir.I64, 50000, 2), typ(ir.BF16, 50000, 24))
	for _, d := range []ir.DType{ir.F32, ir.I64, ir.BF16} {
		add("sort 1M "+d.String(), "sort", nil, 0, typ(d, 1<<20))
	}
	add("sort 4096x1024 f32", "sort", nil, 0, typ(ir.F32, 4096, 1024))
	add("sort 64x50257 f32", "sort", ir.A("descending", true), 0, typ(ir.F32, 64, 50257))
	add("sort 300x40x50 f16 axis 1", "sort", ir.A("axis", 1), 0, typ(ir.F16, 300, 40, 50))
	add("searchsorted 1M in 1M i32", "searchsorted", nil, 0, typ(ir.I32, 1<<20), typ(ir.I32, 1<<20))
	add("nonzero 4096x1024", "nonzero", ir.A("max", 3<<20), 0, typ(ir.Bool, 4096, 1024))
	add("unique 1M i64", "unique", ir.A("max", 1<<20), 1<<19, typ(ir.I64, 1<<20))
	add("recurrence 64x2048x64 f32", "recurrence", ir.A("axis", 1), 0, typ(ir.F32, 64, 2048, 64), typ(ir.F32, 64, 2048, 64))
	add("topk 10 of 1M f32", "topk", ir.A("k", 10), 0, typ(ir.F32, 1<<20))
	add("topk 50 of 64x50257 f32", "topk", ir.A("k", 50), 0, typ(ir.F32, 64, 50257))
	attention := func(name string, d ir.DType, attrs []ir.Named, heads, shared, l, s, width int) {
		add("attention "+name, "attention", attrs, 0, typ(d, 2, heads, l, width), typ(d, 2, shared, s, width), typ(d, 2, shared, s, width))
	}
	attention("2x8x1024x64 f32", ir.F32, nil, 8, 8, 1024, 1024, 64)
	attention("2x8x1000x64 f32, causal", ir.F32, ir.A("causal", true), 8, 8, 1000, 1000, 64)
	attention("2x8x777x128 f32, window", ir.F32, ir.A("causal", true, "window", 100), 8, 2, 777, 777, 128)
	attention("2x32x1 of 2048x64 f32", ir.F32, nil, 32, 8, 1, 2048, 64)
	attention("2x4x300x80 f16, a scale below 0", ir.F16, ir.A("scale", -0.1), 4, 4, 300, 300, 80)
	back := func(name, row string, d ir.DType, attrs []ir.Named, heads, shared, l, width int) {
		q, k, stat := typ(d, 2, heads, l, width), typ(d, 2, shared, l, width), typ(ir.F32, 2, heads, l)
		add(row+" "+name, row, attrs, 0, q, k, k, typ(d), q, stat, stat)
	}
	back("2x8x1024x64 f32, causal", "attention_grad_q", ir.F32, ir.A("causal", true), 8, 8, 1024, 64)
	back("2x8x1024x64 f32, causal", "attention_grad_kv", ir.F32, ir.A("causal", true), 8, 8, 1024, 64)
	back("2x8x500x128 f32, shared", "attention_grad_q", ir.F32, nil, 8, 2, 500, 128)
	back("2x8x500x128 f32, shared", "attention_grad_kv", ir.F32, nil, 8, 2, 500, 128)
	for _, c := range codeCases() {
		out = append(out, c.native())
	}
	return append(out, hostCases()...)
}

// node is the node, and the types of its operands and results.
func (c nativeCase) node() (n ir.Node, types []ir.Type, err error) {
	r := ir.Lookup(c.row)
	attrs, err := r.MakeAttrs(c.attrs)
	if err != nil {
		return n, nil, err
	}
	out, err := ir.Infer(r, c.in, attrs)
	if err != nil {
		return n, nil, err
	}
	n = ir.Node{Row: r, Attrs: attrs}
	for i, typ := range c.in {
		n.In = append(n.In, ir.Tensor{ID: ir.ID(i + 1), Type: typ})
	}
	for i, typ := range out {
		n.Out = append(n.Out, ir.Tensor{ID: ir.ID(100 + i), Type: typ})
	}
	return n, append(c.in[:len(c.in):len(c.in)], out...), nil
}

// make draws the node and its operands.
func (c nativeCase) make(t *testing.T, seed uint64) (n ir.Node, data [][]byte) {
	rng := rand.New(rand.NewPCG(seed, 77))
	n, _, err := c.node()
	if err != nil {
		t.Fatal(err)
	}
	for i, typ := range c.in {
		b := make([]byte, typ.Bytes())
		size := typ.DType.Size()
		drawn := len(b)
		if typ.DType != ir.I64 { // the rest is the same again
			drawn = min(drawn, 1<<20*size)
		}
		for j := 0; j < drawn; j += size {
			v := uint64(0)
			switch {
			case typ.DType == ir.I64 && c.below > 0:
				v = uint64(rng.Int64N(c.below))
			case typ.DType == ir.Bool:
				v = uint64(rng.IntN(2))
			case typ.DType.IsFloat():
				v = kernel.Convert(typ.DType, ir.F64, math.Float64bits(rng.NormFloat64()))
			default:
				v = rng.Uint64() >> rng.IntN(64)
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], v)
			copy(b[j:j+size], word[:])
		}
		for j := drawn; j < len(b); j += drawn {
			copy(b[j:], b[:drawn])
		}
		if i == 0 && c.diagonal != 0 {
			onDiagonal(typ, b, c.diagonal)
		}
		data = append(data, b)
	}
	return n, data
}

// resultsOn are the results of a node on a device, again and again.
func resultsOn(t *testing.T, d backend.Backend, n ir.Node, data [][]byte, times int) [][]byte {
	t.Helper()
	for i, x := range n.In {
		if err := d.Upload(x, data[i]); err != nil {
			t.Fatal(err)
		}
	}
	var out [][]byte
	for k := range times {
		again := n
		again.Out = append([]ir.Tensor(nil), n.Out...)
		for i := range again.Out {
			again.Out[i].ID += ir.ID(1000 * k)
		}
		if err := d.Submit(t.Context(), []ir.Node{again}); err != nil {
			t.Fatal(err)
		}
		for _, o := range again.Out {
			got, errs, err := d.Read(t.Context(), o.ID)
			if err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
			out = append(out, got[0].Bytes)
		}
	}
	return out
}

// TestNatives: native kernels give the bits of the processor at sizes that no simulator
// reaches, each time.
func TestNatives(t *testing.T) {
	keepOpen(t)
	for i, c := range nativeCases() {
		t.Run(c.name, func(t *testing.T) {
			n, data := c.make(t, uint64(i))
			g := open(t, cuda.Options{})
			defer g.Close()
			host, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			want := resultsOn(t, host, n, data, 1)
			for j, got := range resultsOn(t, g, n, data, 3) {
				k := j % len(want)
				if bad, first := ptxtest.Mismatches(n.Out[k].DType, got, want[k]); bad > 0 {
					t.Errorf("result %d: %d mismatches, %s", k, bad, first)
				}
			}
			if s := g.Stats(); s.Kernels == 0 {
				t.Error("no kernel ran")
			}
		})
	}
}

// TestMeasureNatives prints the times of native kernels: of all of a node, and what each adds.
func TestMeasureNatives(t *testing.T) {
	b := newBench(t, openDevice)
	d := b.device
	natives := ptx.NewNatives(d.target)
	for i, c := range nativeCases() {
		n, data := c.make(t, uint64(i))
		mem := &memory{ctx: d.ctx}
		alloc := func(size int64) driver.Ptr {
			p, err := mem.alloc(uint64(size))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		var tensors []kernel.Tensor
		for j, x := range append(n.In[:len(n.In):len(n.In)], n.Out...) {
			at := alloc(x.Bytes())
			if j < len(data) {
				if err := d.ctx.CopyToDevice(at, data[j]); err != nil {
					t.Fatal(err)
				}
			}
			o := kernel.Operand{Size: x.Bytes(), Strides: x.Shape.Strides()}
			*(*driver.Ptr)(unsafe.Pointer(&o.Base)) = at
			tensors = append(tensors, kernel.Tensor{Type: x.Type, Operand: o})
		}
		plan, err := natives.Plan(&n, tensors)
		if err != nil || plan == nil {
			t.Fatalf("%s: %v, %v", c.name, plan, err)
		}
		scratch, fault := alloc(plan.Scratch), alloc(8)
		measured := func(p ptx.Plan) float64 {
			ms, err := b.time(1, func(int) error { return d.run(b.stream, &p, scratch, fault) })
			if err != nil {
				t.Fatal(err)
			}
			return 1000 * ms
		}
		t.Logf("%-34s %8.1f µs, %d steps, %d KiB of scratch memory", c.name, measured(*plan), len(plan.Steps), plan.Scratch>>10)
		before := 0.0
		steps := plan.Steps
		if len(steps) > 20 { // too many to be told one by one
			steps = nil
		}
		for j, s := range steps {
			until := *plan
			until.Steps = plan.Steps[:j+1]
			us := measured(until)
			t.Logf("    %8.1f µs %s", us-before, s.Entry.Name)
			before = us
		}
		if err := mem.free(); err != nil {
			t.Fatal(err)
		}
	}
}
