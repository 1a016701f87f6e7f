package amd64

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// bias builds relu(x*w + b) with w and b along the row.
func bias() *kernel.Kernel {
	b := kernel.NewBuilder("relu(x*w+b)", []kernel.AxisKind{kernel.Parallel, kernel.Parallel})
	vec := []kernel.Access{kernel.Broadcast, kernel.Unit}
	x := b.Load(b.AddArg(arg(ir.F32, kernel.In, rowIn...)))
	w := b.Load(b.AddArg(arg(ir.F32, kernel.In, vec...)))
	c := b.Load(b.AddArg(arg(ir.F32, kernel.In, vec...)))
	v := b.Op(kernel.OpAdd, ir.F32, b.Op(kernel.OpMul, ir.F32, x, w), c)
	zero := b.Const(ir.F32, 0)
	v = b.Op(kernel.OpSelect, ir.F32, b.Op(kernel.OpLt, ir.Bool, v, zero), zero, v)
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, rowIn...)), v)
	return b.K
}

func unary() *kernel.Kernel {
	b := kernel.NewBuilder("relu", par1)
	x := b.Load(b.AddArg(arg(ir.F32, kernel.In, kernel.Unit)))
	zero := b.Const(ir.F32, 0)
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, kernel.Unit)), b.Op(kernel.OpSelect, ir.F32, b.Op(kernel.OpLt, ir.Bool, x, zero), zero, x))
	return b.K
}

// exp emits a polynomial exponential, for its cost rather than its last bit.
func exp(b *kernel.Builder, x kernel.Ref) kernel.Ref {
	f := func(v float64) kernel.Ref { return b.Const(ir.F32, uint64(math.Float32bits(float32(v)))) }
	t := b.Op(kernel.OpMul, ir.F32, x, f(math.Log2E))
	t = b.Op(kernel.OpSelect, ir.F32, b.Op(kernel.OpLt, ir.Bool, t, f(-126)), f(-126), t)
	n := b.Op(kernel.OpRint, ir.F32, t)
	r := b.Op(kernel.OpSub, ir.F32, t, n)
	p := f(1.5252734e-5)
	for _, c := range []float64{1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1} {
		p = b.Op(kernel.OpFma, ir.F32, p, r, f(c))
	}
	e := b.Op(kernel.OpShl, ir.I32, b.Op(kernel.OpCvt, ir.I32, n), b.Const(ir.I32, 23))
	return b.Op(kernel.OpBitcast, ir.F32, b.Op(kernel.OpAdd, ir.I32, b.Op(kernel.OpBitcast, ir.I32, p), e))
}

func realSoftmax() *kernel.Kernel {
	b := kernel.NewBuilder("softmax", rowAxes)
	x := b.Load(b.AddArg(arg(ir.F32, kernel.In, rowIn...)))
	m := b.Reduce(kernel.Max, kernel.StripedTree, x)
	e := exp(b, b.Op(kernel.OpSub, ir.F32, x, m))
	s := b.Reduce(kernel.Sum, kernel.StripedTree, e)
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, rowIn...)), b.Op(kernel.OpDiv, ir.F32, e, s))
	return b.K
}

func sumRows(tree kernel.Tree) *kernel.Kernel {
	b := kernel.NewBuilder("sum "+tree.String(), rowAxes)
	s := b.Reduce(kernel.Sum, tree, b.Load(b.AddArg(arg(ir.F32, kernel.In, rowIn...))))
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, rowOut...)), s)
	return b.K
}

func sumColumns(tree kernel.Tree) *kernel.Kernel {
	b := kernel.NewBuilder("sum "+tree.String(), colAxes)
	s := b.Reduce(kernel.Sum, tree, b.Load(b.AddArg(arg(ir.F32, kernel.In, rowIn...))))
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, colOut...)), s)
	return b.K
}

// dense makes a launch with row-major operands of moderate values.
func dense(k *kernel.Kernel, extents ...int64) (*kernel.Launch, int64) {
	r := rand.New(rand.NewSource(1))
	l := &kernel.Launch{Extents: extents}
	bytes := int64(0)
	for _, a := range k.Args {
		strides := make([]int64, len(extents))
		size := int64(1)
		for _, want := range []kernel.Access{kernel.Unit, kernel.Strided} {
			for axis := range extents {
				if a.Access[axis] == want {
					strides[axis] = size
					size *= extents[axis]
				}
			}
		}
		buf := aligned(int(size) * a.Type.Size())
		for i := 0; i < len(buf); i += a.Type.Size() {
			put(ptrAt(buf, i), a.Type.Size(), plainBits(r, a.Type))
		}
		bytes += int64(len(buf))
		l.Args = append(l.Args, kernel.Operand{Base: ptrAt(buf, 0), Size: int64(len(buf)), Strides: strides})
	}
	return l, bytes
}

// touched is memory to copy from: untouched memory is one page of zeros, which no
// copy finds outside of the caches.
func touched(n int) []byte {
	b := aligned(n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func BenchmarkKernels(b *testing.B) {
	cases := []struct {
		k       *kernel.Kernel
		extents []int64
	}{
		{bias(), []int64{64, 1024}},
		{bias(), []int64{1024, 1024}},
		{realSoftmax(), []int64{64, 1024}},
		{realSoftmax(), []int64{1024, 1024}},
		{realSoftmax(), []int64{1024, 100}},
		{sumRows(kernel.StripedTree), []int64{64, 1024}},
		{sumRows(kernel.Tree{Kind: kernel.Striped, Chunk: 512, Lanes: 64}), []int64{64, 1024}},
		{sumRows(kernel.Tree{Kind: kernel.Striped, Chunk: 1024, Lanes: 64}), []int64{64, 1024}},
		{sumRows(kernel.Tree{Kind: kernel.Striped, Chunk: 4096, Lanes: 128}), []int64{64, 1024}},
		{sumRows(kernel.StripedTree), []int64{1024, 1024}},
		{sumRows(kernel.StripedTree), []int64{1, 1 << 20}},
		{sumColumns(kernel.ColumnsTree), []int64{64, 1024}},
		{sumColumns(kernel.ColumnsTree), []int64{1024, 1024}},
		{sumColumns(kernel.Tree{Kind: kernel.Columns, Chunk: 256, Lanes: 1}), []int64{1024, 1024}},
		{matmul(ir.F32), []int64{64, 256, 256}},
	}
	for _, c := range cases {
		l, bytes := dense(c.k, c.extents...)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(c.k, level)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s%v/%s", c.k.Name, c.extents, level), func(b *testing.B) {
				b.SetBytes(bytes)
				for b.Loop() {
					code.Run(l)
				}
			})
		}
	}
	for _, n := range []int{64 * 1024 * 4, 1024 * 1024 * 4} {
		x, y := touched(n), aligned(n)
		b.Run(fmt.Sprintf("copy%d", n), func(b *testing.B) {
			b.SetBytes(2 * int64(n))
			for b.Loop() {
				copy(y, x)
			}
		})
	}
}

// BenchmarkRatio measures kernels against a Go copy of as many bytes, both in
// turn in one run: the metric is copy time over kernel time, the median of many.
func BenchmarkRatio(b *testing.B) {
	cases := []struct {
		k       *kernel.Kernel
		extents []int64
		bytes   int64 // to copy: half of what the kernel moves
	}{
		{bias(), []int64{16, 1024}, 64 << 10},
		{bias(), []int64{1, 65536}, 256 << 10},
		{unary(), []int64{65536}, 256 << 10},
		{bias(), []int64{64, 1024}, 256 << 10},
		{bias(), []int64{1024, 1024}, 4 << 20},
		{bias(), []int64{16384, 1024}, 64 << 20},
		{realSoftmax(), []int64{64, 1024}, 256 << 10},
		{realSoftmax(), []int64{1024, 1024}, 4 << 20},
		{sumRows(kernel.StripedTree), []int64{64, 1024}, 128 << 10},
		{sumRows(kernel.StripedTree), []int64{1024, 1024}, 2 << 20},
		{sumColumns(kernel.ColumnsTree), []int64{1024, 1024}, 2 << 20},
	}
	for _, c := range cases {
		l, _ := dense(c.k, c.extents...)
		for _, level := range levels {
			if !Available(level) {
				continue
			}
			code, err := Compile(c.k, level)
			if err != nil {
				b.Fatal(err)
			}
			x, y := touched(int(c.bytes)), aligned(int(c.bytes))
			b.Run(fmt.Sprintf("%s%v/%s", c.k.Name, c.extents, level), func(b *testing.B) {
				var ratios []float64
				best := [2]time.Duration{1 << 40, 1 << 40}
				for b.Loop() {
					t0 := time.Now()
					code.Run(l)
					t1 := time.Now()
					copy(y, x)
					run, cp := t1.Sub(t0), time.Since(t1)
					best = [2]time.Duration{min(best[0], run), min(best[1], cp)}
					ratios = append(ratios, float64(cp)/float64(run))
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "of-copy")
				b.ReportMetric(float64(best[1])/float64(best[0]), "of-copy-best")
				b.ReportMetric(float64(best[0]), "ns-best")
			})
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, k := range []*kernel.Kernel{bias(), realSoftmax()} {
		b.Run(k.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := generate(k, AVX512, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSmall shows what one launch costs besides its elements.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int64{1, 16, 1024} {
		k := unary()
		l, _ := dense(k, n)
		code, err := Compile(k, AVX2)
		if err != nil {
			b.Skip(err)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				code.Run(l)
			}
		})
	}
}
