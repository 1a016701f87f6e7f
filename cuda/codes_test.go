package cuda_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/ptx"
)

// codeCase is a product of rows of x, k long, with n rows of codes.
type codeCase struct {
	rows, k, n, bits, block int
	scale                   ir.DType
	affine                  bool // zero points lie beside the scales
}

func (c codeCase) String() string {
	zeros := ""
	if c.affine {
		zeros = ", zero points"
	}
	return fmt.Sprintf("dot_codes %dx%dx%d, %d bits by %d, %s%s", c.rows, c.k, c.n, c.bits, c.block, c.scale, zeros)
}

// native is the product as a node: codes of 8 bits are signed where zero points are one.
func (c codeCase) native() nativeCase {
	bytes, blocks := c.k*c.bits/8, 1
	if c.block > 0 {
		blocks = c.k / c.block
	}
	codes, zero := ir.U8, ir.Shape{1, 1}
	if c.affine {
		zero = ir.Shape{c.n, blocks}
	} else if c.bits == 8 {
		codes = ir.I8
	}
	return nativeCase{name: c.String(), row: "dot_codes", attrs: ir.A("bits", c.bits, "block", c.block), in: []ir.Type{
		{DType: ir.I8, Shape: ir.Shape{c.rows, c.k}}, {DType: codes, Shape: ir.Shape{c.n, bytes}},
		{DType: c.scale, Shape: ir.Shape{c.n, blocks}}, {DType: codes, Shape: zero},
	}}
}

func codeCases() (out []codeCase) {
	for _, bits := range []int{8, 4} {
		for _, size := range [][3]int{{1, 4096, 4096}, {8, 4096, 11008}, {1, 4096, 11008}, {3, 4096, 4096}, {64, 4096, 4096}} {
			out = append(out,
				codeCase{rows: size[0], k: size[1], n: size[2], bits: bits, scale: ir.F32},
				codeCase{rows: size[0], k: size[1], n: size[2], bits: bits, block: 32, scale: ir.F16},
				codeCase{rows: size[0], k: size[1], n: size[2], bits: bits, block: 128, scale: ir.BF16, affine: true})
		}
		out = append(out,
			codeCase{rows: 2, k: 11008, n: 4100, bits: bits, block: 128, scale: ir.F16},
			codeCase{rows: 5, k: 1022, n: 301, bits: bits, scale: ir.F32},
			codeCase{rows: 7, k: 14336, n: 1001, bits: bits, block: 64, scale: ir.F32, affine: true},
		)
	}
	return out
}

// TestMeasureCodes prints the times of products with codes beside those of a copy that
// moves as many bytes, over so many copies of the operands that no cache holds them.
func TestMeasureCodes(t *testing.T) {
	b := newBench(t, openDevice)
	natives := ptx.NewNatives(b.target)
	if err := b.fill(); err != nil {
		t.Fatal(err)
	}
	for _, c := range codeCases() {
		n, types, err := c.native().node()
		if err != nil {
			t.Fatal(err)
		}
		moved := int64(0)
		for _, typ := range types {
			moved += typ.Bytes()
		}
		at := uintptr(b.pool)
		var plans []*ptx.Plan
		for range max(1, min(mostCopies, copiesBytes/moved)) {
			tensors, end := tensorsAt(at, types...)
			plan, err := natives.Plan(&n, tensors)
			if err != nil || plan == nil {
				t.Fatalf("%s: %v, %v", c, plan, err)
			}
			plans, at = append(plans, plan), end
		}
		ms, err := b.time(len(plans), func(i int) error { return b.run(b.stream, plans[i], b.scrat, b.fault) })
		if err != nil {
			t.Fatal(err)
		}
		copied, err := b.copyTime(moved)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-58s %10.2f %10.2f %7.1f%%  %.2f TB/s %s", c, ms*1000, copied*1000, 100*copied/ms, float64(moved)/ms/1e9, entryNames(plans[0]))
	}
}

// nodeTexts is texts with native kernels, of which nothing is computed. It counts what is
// fetched to the host and refused.
type nodeTexts struct {
	*texts
	natives *ptx.Natives
	nodes   map[string]int
	fetched atomic.Int64
	refused atomic.Int64
}

func (x *nodeTexts) Compile(k *kernel.Kernel) (cpu.Program, error) {
	p, err := x.texts.Compile(k)
	if err != nil {
		x.refused.Add(1)
	}
	return p, err
}

func (x *nodeTexts) CopyOut(dst, src []byte) error {
	x.fetched.Add(1)
	return x.texts.CopyOut(dst, src)
}

var _ cpu.NodeRunner = (*nodeTexts)(nil)

func (x *nodeTexts) RunNode(n *ir.Node, in, out []kernel.Tensor) (done bool, run int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p, err := x.natives.Plan(n, append(in[:len(in):len(in)], out...))
	if p == nil || err != nil {
		return false, 0, err
	}
	for _, s := range p.Steps {
		x.entries[s.Entry.Text] = s.Entry
	}
	x.nodes[n.Row.Name]++
	return true, 0, nil
}

// TestCodesStay: products with quantized weights run on the GPU as a whole: nothing of
// what they are recorded as is refused, and nothing is fetched.
func TestCodesStay(t *testing.T) {
	target := ptx.Target{Major: 9}
	for _, rows := range []int{1, 9} {
		for _, s := range []sinter.Scheme{{}, {Per: sinter.PerAxis}, {Bits: 4, Per: sinter.PerBlock, Block: 32}, {Bits: 4, Per: sinter.PerBlock, Block: 64, Affine: true}} {
			for _, dt := range []sinter.DType{sinter.F32, sinter.F16, sinter.BF16} {
				x := &nodeTexts{texts: &texts{target: target, entries: map[string]*ptx.Entry{}, idle: true}, natives: ptx.NewNatives(target), nodes: map[string]int{}}
				d, err := cpu.New(cpu.Options{Accelerator: x, ID: "texts"})
				if err != nil {
					t.Fatal(err)
				}
				dev := sinter.NewRuntime().Adopt(d)
				on := sinter.On(dev)
				q := on.Ones(sinter.F32, 96, 256).Quantize(s)
				a := on.Ones(dt, rows, 256)
				y := q.LinearDynamic(a)
				z := q.Linear(a)
				if err := dev.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				if y.Err() != nil || z.Err() != nil {
					t.Fatal(y.Err(), z.Err())
				}
				if x.fetched.Load() > 0 || x.refused.Load() > 0 || x.nodes["dot_codes"] != 1 {
					t.Errorf("%v, %d rows of %s: fetched %d times, %d kernels refused, native nodes %v", s, rows, dt, x.fetched.Load(), x.refused.Load(), x.nodes)
				}
				for text, e := range x.entries {
					if err := ptx.Check(text); err != nil {
						t.Errorf("%s: %v", e.Name, err)
					}
				}
				if err := dev.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
