package amd64

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var sizes = []int64{1, 2, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 4097}

func arg(t ir.DType, dir kernel.Direction, access ...kernel.Access) kernel.Arg {
	return kernel.Arg{Type: t, Dir: dir, Access: access}
}

var par1 = []kernel.AxisKind{kernel.Parallel}

// each runs every instruction of the table on one compute type.
func opKernel(op kernel.Op, t, result ir.DType, arity int) *kernel.Kernel {
	b := kernel.NewBuilder(fmt.Sprintf("%s.%s", op, t), par1)
	var args []kernel.Ref
	for range arity {
		args = append(args, b.Load(b.AddArg(arg(t, kernel.In, kernel.Unit))))
	}
	b.Store(b.AddArg(arg(result, kernel.Out, kernel.Unit)), b.Op(op, result, args...))
	return b.K
}

func TestInstructions(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	try := func(k *kernel.Kernel, must bool) {
		t.Run(k.Name, func(t *testing.T) {
			codes, in := prepare(t, k, must)
			for _, n := range sizes {
				agree(t, r, k, codes, in, []int64{n}, randomBits)
			}
		})
	}
	arith := []kernel.Op{kernel.OpAdd, kernel.OpSub, kernel.OpMul, kernel.OpMin, kernel.OpMax}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U32, ir.I64, ir.U64} {
		for _, op := range arith {
			try(opKernel(op, d, d, 2), true)
		}
		for _, op := range []kernel.Op{kernel.OpNeg, kernel.OpAbs} {
			try(opKernel(op, d, d, 1), true)
		}
		for _, op := range []kernel.Op{kernel.OpEq, kernel.OpNe, kernel.OpLt, kernel.OpLe} {
			try(opKernel(op, d, ir.Bool, 2), true)
		}
		if d.IsFloat() {
			try(opKernel(kernel.OpDiv, d, d, 2), true)
			try(opKernel(kernel.OpFma, d, d, 3), true)
			for _, op := range []kernel.Op{kernel.OpSqrt, kernel.OpFloor, kernel.OpCeil, kernel.OpTrunc, kernel.OpRint} {
				try(opKernel(op, d, d, 1), true)
			}
			continue
		}
		for _, op := range []kernel.Op{kernel.OpAnd, kernel.OpOr, kernel.OpXor, kernel.OpShl, kernel.OpShr} {
			try(opKernel(op, d, d, 2), true)
		}
		try(opKernel(kernel.OpNot, d, d, 1), true)
	}
	try(opKernel(kernel.OpMulHi, ir.U32, ir.U32, 2), true)
	for _, op := range []kernel.Op{kernel.OpAnd, kernel.OpOr, kernel.OpXor} {
		try(opKernel(op, ir.Bool, ir.Bool, 2), true)
	}
	try(opKernel(kernel.OpNot, ir.Bool, ir.Bool, 1), true)
}

func TestConversions(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for _, from := range ir.DTypes() {
		for _, to := range ir.DTypes() {
			if from == to {
				continue
			}
			k := opKernel(kernel.OpCvt, from, to, 1)
			k.Name += "." + to.String()
			t.Run(k.Name, func(t *testing.T) {
				codes, in := prepare(t, k, true)
				for _, n := range sizes {
					agree(t, r, k, codes, in, []int64{n}, randomBits)
				}
			})
		}
	}
}

func TestSelect(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, c := range []ir.DType{ir.F32, ir.F64, ir.I64, ir.U32} {
		for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U64} {
			b := kernel.NewBuilder(fmt.Sprintf("select.%s.%s", c, d), par1)
			x := b.Load(b.AddArg(arg(c, kernel.In, kernel.Unit)))
			y := b.Load(b.AddArg(arg(c, kernel.In, kernel.Broadcast)))
			u := b.Load(b.AddArg(arg(d, kernel.In, kernel.Unit)))
			v := b.AddParam(d)
			m := b.Op(kernel.OpLt, ir.Bool, x, y)
			b.Store(b.AddArg(arg(d, kernel.Out, kernel.Unit)), b.Op(kernel.OpSelect, d, m, u, v))
			b.Store(b.AddArg(arg(ir.Bool, kernel.Out, kernel.Unit)), b.Op(kernel.OpNot, ir.Bool, m))
			codes, in := prepare(t, b.K, true)
			for _, n := range sizes {
				agree(t, r, b.K, codes, in, []int64{n}, randomBits)
			}
		}
	}
}

// TestLayouts runs one chain over three axes with every kind of access.
func TestLayouts(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	kinds := []kernel.Access{kernel.Strided, kernel.Unit, kernel.Broadcast}
	axes := []kernel.AxisKind{kernel.Parallel, kernel.Parallel, kernel.Parallel}
	for trial := range 60 {
		for _, d := range []ir.DType{ir.F32, ir.F64, ir.BF16, ir.U8} {
			access := func(out bool) []kernel.Access {
				a := make([]kernel.Access, 3)
				unit := r.Intn(4)
				for i := range a {
					a[i] = kinds[r.Intn(2)*2]
					if out {
						a[i] = kernel.Strided
					}
					if i == unit {
						a[i] = kernel.Unit
					}
				}
				return a
			}
			b := kernel.NewBuilder(fmt.Sprintf("layout%d", trial), axes)
			c := d.Compute()
			x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, access(false)...))), c)
			y := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, access(false)...))), c)
			z := b.Convert(b.Load(b.AddArg(arg(ir.I32, kernel.In, access(false)...))), c)
			v := b.Op(kernel.OpAdd, c, b.Op(kernel.OpMul, c, x, y), z)
			b.Store(b.AddArg(arg(d, kernel.Out, access(true)...)), b.Convert(v, d))
			if trial%3 == 0 && (d == ir.F64 || Available(AVX512)) {
				i := b.Op(kernel.OpAdd, ir.I64, b.Index(r.Intn(3)), b.Index(2))
				b.Store(b.AddArg(arg(ir.I64, kernel.Out, access(true)...)), b.Op(kernel.OpMul, ir.I64, i, b.Extent(0)))
			}
			codes, in := prepare(t, b.K, true)
			for _, n := range []int64{1, 7, 16, 33, 130} {
				agree(t, r, b.K, codes, in, []int64{int64(1 + r.Intn(3)), int64(1 + r.Intn(5)), n}, randomBits)
				agree(t, r, b.K, codes, in, []int64{n, int64(1 + r.Intn(5)), int64(1 + r.Intn(3))}, randomBits)
			}
		}
	}
}

// TestSlices checks that no result depends on how a launch is split.
func TestSlices(t *testing.T) {
	b := kernel.NewBuilder("slices", []kernel.AxisKind{kernel.Parallel, kernel.Parallel})
	x := b.Load(b.AddArg(arg(ir.F32, kernel.In, kernel.Strided, kernel.Unit)))
	i := b.Op(kernel.OpAdd, ir.I64, b.Index(0), b.Index(1))
	v := b.Op(kernel.OpSelect, ir.F32, b.Op(kernel.OpLt, ir.Bool, i, b.Extent(1)), x, b.Const(ir.F32, 0))
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, kernel.Strided, kernel.Unit)), v)
	codes, in := prepare(t, b.K, true)
	r := rand.New(rand.NewSource(5))
	l := launch(r, b.K, []int64{9, 300}, randomBits)
	ref, want := withOutputs(b.K, l)
	in.Run(ref)
	for _, c := range codes {
		ll, got := withOutputs(b.K, l)
		for row := int64(0); row < 9; row += 2 {
			part := ll.Slice(0, row, min(row+2, 9))
			c.Run(part.Slice(1, 0, 77))
			c.Run(part.Slice(1, 77, 300))
		}
		if err := equalOutputs(b.K, want, got); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPressure runs a chain with more live values than registers.
func TestPressure(t *testing.T) {
	r := rand.New(rand.NewSource(6))
	for _, d := range []ir.DType{ir.F32, ir.F64} {
		b := kernel.NewBuilder("pressure", par1)
		var v []kernel.Ref
		for range 9 {
			v = append(v, b.Load(b.AddArg(arg(d, kernel.In, kernel.Unit))))
		}
		for i := range 60 {
			c := b.Const(d, kernel.Convert(d, ir.I32, uint64(i)))
			v = append(v, b.Op(kernel.OpFma, d, v[i%9], v[(i*7)%len(v)], c))
		}
		for len(v) > 1 {
			var next []kernel.Ref
			for i := 0; i+1 < len(v); i += 2 {
				op := []kernel.Op{kernel.OpMax, kernel.OpAdd, kernel.OpSub}[i%3]
				next = append(next, b.Op(op, d, v[i], v[len(v)-1-i]))
			}
			v = next
		}
		b.Store(b.AddArg(arg(d, kernel.Out, kernel.Unit)), v[0])
		codes, in := prepare(t, b.K, true)
		for _, n := range sizes {
			agree(t, r, b.K, codes, in, []int64{n}, randomBits)
		}
	}
}

// TestStreaming runs the variant for large launches on small ones.
func TestStreaming(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	kernels := []*kernel.Kernel{bias(), softmax(ir.F64, 1, kernel.StripedTree), softmax(ir.F32, 0, kernel.ColumnsTree), realSoftmax()}
	for _, k := range kernels {
		codes, in := prepare(t, k, true)
		for _, n := range []int64{16, 64, 144, 1024 + 32} {
			l, _ := dense(k, 5, n)
			for i, a := range k.Args {
				if a.Dir == kernel.In {
					for at := int64(0); at < l.Args[i].Size; at += int64(a.Type.Size()) {
						put(unsafe.Add(l.Args[i].Base, at), a.Type.Size(), randomBits(r, a.Type))
					}
				}
			}
			out := len(k.Args) - 1
			o := l.Args[out]
			run := func(x kernel.Executable) [][]byte {
				b := unsafe.Slice((*byte)(o.Base), o.Size)
				clear(b)
				x.Run(l)
				return [][]byte{append(make([]byte, guard), b...)}
			}
			want := run(in)
			for _, c := range codes {
				if !c.streamable(l) {
					t.Fatalf("%s of %d is not streamable", k.Name, n)
				}
				if err := equalOutputs(k, want, run(c.streaming())); err != nil {
					t.Fatalf("%s of %d: %v", k.Name, n, err)
				}
			}
		}
	}
}

// TestHalfTies converts the midpoints between neighbouring 16-bit values, and the
// values right beside them, where a second rounding would show.
func TestHalfTies(t *testing.T) {
	for _, from := range []ir.DType{ir.F32, ir.F64} {
		for _, to := range []ir.DType{ir.F16, ir.BF16} {
			k := opKernel(kernel.OpCvt, from, to, 1)
			codes, _ := prepare(t, k, true)
			var in []float64
			for h := uint64(0); h < 0xffff; h++ {
				value := func(h uint64) float64 { return math.Float64frombits(kernel.Convert(ir.F64, to, h)) }
				a, b := value(h), value(h+1)
				m := a/2 + b/2
				in = append(in, a, m, math.Nextafter(m, a), math.Nextafter(m, b), math.Nextafter(a, b))
			}
			n := int64(len(in))
			x, y := make([]byte, n*8), make([]byte, n*2)
			size := from.Size()
			for i, v := range in {
				put(unsafe.Pointer(&x[i*size]), size, kernel.Convert(from, ir.F64, math.Float64bits(v))) // rounded to from
			}
			one := []int64{1}
			for _, c := range codes {
				c.Run(&kernel.Launch{Extents: []int64{n}, Args: []kernel.Operand{
					{Base: unsafe.Pointer(&x[0]), Size: n * int64(size), Strides: one},
					{Base: unsafe.Pointer(&y[0]), Size: n * 2, Strides: one},
				}})
				for i := range in {
					bits := get(unsafe.Pointer(&x[i*size]), size)
					want, got := kernel.Convert(to, from, bits), get(unsafe.Pointer(&y[i*2]), 2)
					if want != got && !(isNaN(to, want) && isNaN(to, got)) {
						t.Fatalf("%s to %s at %d lanes: %x gives %x, want %x", from, to, c.lanes, bits, got, want)
					}
				}
			}
		}
	}
}
