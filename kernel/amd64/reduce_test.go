package amd64

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

var (
	rowAxes = []kernel.AxisKind{kernel.Parallel, kernel.Reduced}
	colAxes = []kernel.AxisKind{kernel.Reduced, kernel.Parallel}
	rowIn   = []kernel.Access{kernel.Strided, kernel.Unit}
	rowOut  = []kernel.Access{kernel.Strided, kernel.Broadcast}
	colOut  = []kernel.Access{kernel.Broadcast, kernel.Unit}
)

// reduction builds out = reduce(x*x + w) - 1 for one kind.
func reduction(kind kernel.ReduceKind, d ir.DType, tree kernel.Tree, columns bool) *kernel.Kernel {
	axes, out := rowAxes, rowOut
	if columns {
		axes, out = colAxes, colOut
	}
	b := kernel.NewBuilder(fmt.Sprintf("reduce%d.%s.%s.%v", kind, d, tree, columns), axes)
	c := d.Compute()
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, rowIn...))), c)
	w := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, out...))), c)
	var s kernel.Ref
	if kind == kernel.Dot {
		s = b.Reduce(kind, tree, x, w)
	} else {
		s = b.Reduce(kind, tree, b.Op(kernel.OpAdd, c, b.Op(kernel.OpMul, c, x, x), w))
	}
	one := b.Const(c, kernel.Convert(c, ir.Bool, 1))
	b.Store(b.AddArg(arg(d, kernel.Out, out...)), b.Convert(b.Op(kernel.OpSub, c, s, one), d))
	return b.K
}

var reduceSizes = []int64{1, 2, 15, 16, 17, 63, 64, 65, 127, 129, 1023, 1024, 1025, 4097}

func TestReductions(t *testing.T) {
	r := rand.New(rand.NewSource(10))
	kinds := []kernel.ReduceKind{kernel.Sum, kernel.Prod, kernel.Max, kernel.Min, kernel.Dot}
	trees := []kernel.Tree{
		kernel.StripedTree, {Kind: kernel.Striped, Chunk: 512, Lanes: 64}, {Kind: kernel.Striped, Chunk: 64, Lanes: 16},
		kernel.ColumnsTree, {Kind: kernel.Columns, Chunk: 16, Lanes: 1},
		kernel.DotTree, {Kind: kernel.Sequential, Chunk: 7, Lanes: 1},
	}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U64, ir.BF16, ir.I8} {
		for _, kind := range kinds {
			for _, tree := range trees {
				for _, columns := range []bool{false, true} {
					if kind == kernel.Dot && (tree.Kind == kernel.Striped || !d.IsFloat()) {
						continue
					}
					k := reduction(kind, d, tree, columns)
					t.Run(k.Name, func(t *testing.T) {
						codes, in := prepare(t, k, true)
						for _, n := range reduceSizes {
							if columns && n > 1000 {
								continue
							}
							for _, fill := range []filler{plainBits, randomBits} {
								rows := int64(1 + r.Intn(3))
								if columns {
									agree(t, r, k, codes, in, []int64{n, int64(1 + r.Intn(200))}, fill)
									continue
								}
								agree(t, r, k, codes, in, []int64{rows, n}, fill)
							}
						}
					})
				}
			}
		}
	}
}

// TestLongRows covers trees of more than one level of chunks.
func TestLongRows(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for _, tree := range []kernel.Tree{kernel.StripedTree, {Kind: kernel.Striped, Chunk: 64, Lanes: 16}} {
		for _, d := range []ir.DType{ir.F32, ir.F64} {
			b := kernel.NewBuilder("long", rowAxes)
			x := b.Load(b.AddArg(arg(d, kernel.In, rowIn...)))
			s := b.Reduce(kernel.Sum, tree, x)
			m := b.Reduce(kernel.Max, tree, x)
			q := b.Reduce(kernel.Sum, tree, b.Op(kernel.OpMul, d, x, x))
			b.Store(b.AddArg(arg(d, kernel.Out, rowOut...)), s)
			b.Store(b.AddArg(arg(d, kernel.Out, rowOut...)), m)
			b.Store(b.AddArg(arg(d, kernel.Out, rowOut...)), q)
			codes, in := prepare(t, b.K, true)
			for _, n := range []int64{1, 1024, 64 * 64, 64*64 + 1, 64*64*64 + 17, 1024*130 + 5} {
				agree(t, r, b.K, codes, in, []int64{2, n}, plainBits)
			}
		}
	}
}

// softmax builds the row program of softmax with a cheap stand-in for exp. axis
// 1 is a row, axis 0 a column.
func softmax(d ir.DType, axis int, tree kernel.Tree) *kernel.Kernel {
	axes := rowAxes
	if axis == 0 {
		axes = colAxes
	}
	c := d.Compute()
	b := kernel.NewBuilder(fmt.Sprintf("softmax.%s.%d", d, axis), axes)
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, rowIn...))), c)
	m := b.Reduce(kernel.Max, tree, x)
	e := b.Op(kernel.OpSub, c, x, m)
	third := b.Const(c, kernel.Convert(c, ir.F64, 0x3fd5555555555555))
	one := b.Const(c, kernel.Convert(c, ir.Bool, 1))
	p := one
	for range 5 {
		p = b.Op(kernel.OpFma, c, p, b.Op(kernel.OpMul, c, e, third), one)
	}
	s := b.Reduce(kernel.Sum, tree, p)
	b.Store(b.AddArg(arg(d, kernel.Out, rowIn...)), b.Convert(b.Op(kernel.OpDiv, c, p, s), d))
	return b.K
}

func TestSoftmax(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.F16} {
		for axis := range 2 {
			tree := kernel.StripedTree
			if axis == 0 {
				tree = kernel.ColumnsTree
			}
			k := softmax(d, axis, tree)
			codes, in := prepare(t, k, true)
			for _, n := range sizes {
				if axis == 1 {
					agree(t, r, k, codes, in, []int64{3, n}, randomBits)
				} else {
					agree(t, r, k, codes, in, []int64{n, 50}, randomBits)
				}
			}
		}
	}
}

// TestLayerNorm has row-level arithmetic between stages and weights along the row.
func TestLayerNorm(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	d := ir.F32
	b := kernel.NewBuilder("layernorm", []kernel.AxisKind{kernel.Parallel, kernel.Parallel, kernel.Reduced})
	in3 := []kernel.Access{kernel.Strided, kernel.Strided, kernel.Unit}
	weight := []kernel.Access{kernel.Broadcast, kernel.Broadcast, kernel.Unit}
	row := []kernel.Access{kernel.Strided, kernel.Strided, kernel.Broadcast}
	x := b.Load(b.AddArg(arg(d, kernel.In, in3...)))
	w := b.Load(b.AddArg(arg(d, kernel.In, weight...)))
	count := b.Convert(b.Convert(b.Extent(2), ir.I32), d)
	mean := b.Op(kernel.OpDiv, d, b.Reduce(kernel.Sum, kernel.StripedTree, x), count)
	dev := b.Op(kernel.OpSub, d, x, mean)
	v := b.Op(kernel.OpDiv, d, b.Reduce(kernel.Sum, kernel.StripedTree, b.Op(kernel.OpMul, d, dev, dev)), count)
	inv := b.Op(kernel.OpDiv, d, b.Const(d, 0x3f800000), b.Op(kernel.OpSqrt, d, b.Op(kernel.OpAdd, d, v, b.AddParam(d))))
	b.Store(b.AddArg(arg(d, kernel.Out, in3...)), b.Op(kernel.OpMul, d, b.Op(kernel.OpMul, d, dev, inv), w))
	b.Store(b.AddArg(arg(d, kernel.Out, row...)), mean)
	codes, in := prepare(t, b.K, true)
	for _, n := range sizes {
		agree(t, r, b.K, codes, in, []int64{2, 3, n}, plainBits)
		agree(t, r, b.K, codes, in, []int64{2, 3, n}, randomBits)
	}
}

// matmul builds C[m,n] = A[m,k] B[k,n] + bias[n] over axes m, n, k.
func matmul(d ir.DType) *kernel.Kernel {
	b := kernel.NewBuilder("matmul."+d.String(), []kernel.AxisKind{kernel.Parallel, kernel.Parallel, kernel.Reduced})
	c := d.Compute()
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Strided, kernel.Broadcast, kernel.Unit))), c)
	y := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Broadcast, kernel.Unit, kernel.Strided))), c)
	bias := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Broadcast, kernel.Unit, kernel.Broadcast))), c)
	s := b.Reduce(kernel.Dot, kernel.DotTree, x, y)
	s = b.Op(kernel.OpMax, c, b.Op(kernel.OpAdd, c, s, bias), b.Const(c, 0))
	b.Store(b.AddArg(arg(d, kernel.Out, kernel.Strided, kernel.Unit, kernel.Broadcast)), b.Convert(s, d))
	return b.K
}

func TestMatmul(t *testing.T) {
	r := rand.New(rand.NewSource(14))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.BF16} {
		k := matmul(d)
		codes, in := prepare(t, k, true)
		for _, n := range []int64{1, 7, 16, 64, 65, 129} {
			for _, kk := range []int64{1, 3, 256, 257, 700} {
				agree(t, r, k, codes, in, []int64{1 + int64(r.Intn(4)), n, kk}, plainBits)
			}
		}
	}
}

// TestFullDot has no kept axis at all.
func TestFullDot(t *testing.T) {
	r := rand.New(rand.NewSource(15))
	b := kernel.NewBuilder("dot", []kernel.AxisKind{kernel.Reduced})
	x := b.Load(b.AddArg(arg(ir.F32, kernel.In, kernel.Unit)))
	y := b.Load(b.AddArg(arg(ir.F32, kernel.In, kernel.Strided)))
	b.Store(b.AddArg(arg(ir.F32, kernel.Out, kernel.Broadcast)), b.Reduce(kernel.Dot, kernel.DotTree, x, y))
	codes, in := prepare(t, b.K, true)
	for _, n := range sizes {
		agree(t, r, b.K, codes, in, []int64{n}, plainBits)
	}
}

// TestDeviations covers M2 over one chunk, several, and more than there are lanes.
func TestDeviations(t *testing.T) {
	r := rand.New(rand.NewSource(16))
	for _, tree := range []kernel.Tree{kernel.StripedTree, {Kind: kernel.Striped, Chunk: 64, Lanes: 16}} {
		for _, d := range []ir.DType{ir.F32, ir.F64} {
			b := kernel.NewBuilder("deviations", rowAxes)
			x := b.Load(b.AddArg(arg(d, kernel.In, rowIn...)))
			y := b.Op(kernel.OpAdd, d, x, x)
			m2 := b.Reduce(kernel.M2, tree, y)
			s := b.Reduce(kernel.Sum, tree, x)
			other := b.Reduce(kernel.M2, tree, x)
			b.Store(b.AddArg(arg(d, kernel.Out, rowOut...)), m2)
			b.Store(b.AddArg(arg(d, kernel.Out, rowOut...)), other)
			b.Store(b.AddArg(arg(d, kernel.Out, rowIn...)), b.Op(kernel.OpFma, d, x, s, m2))
			codes, in := prepare(t, b.K, true)
			for _, n := range append(sizes, 64*16, 64*16+1, 64*17+3, 64*64, 64*64+1, 64*100) {
				agree(t, r, b.K, codes, in, []int64{2, n}, plainBits)
				agree(t, r, b.K, codes, in, []int64{2, n}, randomBits)
			}
		}
	}
}

func TestArgMax(t *testing.T) {
	r := rand.New(rand.NewSource(17))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U32, ir.BF16, ir.Bool} {
		for _, columns := range []bool{false, true} {
			axes, out := rowAxes, rowOut
			if columns {
				axes, out = colAxes, colOut
			}
			b := kernel.NewBuilder(fmt.Sprintf("argmax.%s.%v", d, columns), axes)
			x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, rowIn...))), d.Compute())
			b.Store(b.AddArg(arg(ir.I64, kernel.Out, out...)), b.Reduce(kernel.ArgMax, kernel.StripedTree, x))
			b.Store(b.AddArg(arg(ir.I64, kernel.Out, out...)), b.Reduce(kernel.ArgMin, kernel.StripedTree, x))
			codes, in := prepare(t, b.K, true)
			few := func(r *rand.Rand, t ir.DType) uint64 { // many ties, zeros of both signs, seldom NaN
				if t.IsFloat() && r.Intn(300) > 0 {
					return uint64(r.Intn(2)) << (t.Bits() - 1)
				}
				return randomBits(r, t)
			}
			for _, n := range sizes {
				for _, fill := range []filler{plainBits, randomBits, few} {
					if !columns {
						agree(t, r, b.K, codes, in, []int64{3, n}, fill)
					} else if n < 200 {
						agree(t, r, b.K, codes, in, []int64{n, 37}, fill)
					}
				}
			}
		}
	}
}

// TestManyReducedAxes reduces over axes that cannot be walked as one.
func TestManyReducedAxes(t *testing.T) {
	r := rand.New(rand.NewSource(18))
	p, x := kernel.Parallel, kernel.Reduced
	for trial, axes := range [][]kernel.AxisKind{{p, x, x}, {x, x, p}, {p, x, x, x, p}, {x, x}} {
		for _, tree := range []kernel.Tree{kernel.ColumnsTree, {Kind: kernel.Columns, Chunk: 8, Lanes: 1}, kernel.DotTree} {
			b := kernel.NewBuilder(fmt.Sprintf("axes%d.%s", trial, tree), axes)
			m := &maker{Rand: r, b: b}
			u := b.Load(b.AddArg(arg(ir.F32, kernel.In, m.access(axes, true, false)...)))
			v := b.Load(b.AddArg(arg(ir.F32, kernel.In, m.access(axes, true, true)...)))
			out := m.access(axes, false, true)
			s := b.Reduce(kernel.Sum, tree, b.Op(kernel.OpMul, ir.F32, u, v))
			d := b.Reduce(kernel.Dot, tree, u, v)
			e := b.Op(kernel.OpAdd, ir.F32, b.Op(kernel.OpSub, ir.F32, s, d), u)
			b.Store(b.AddArg(arg(ir.F32, kernel.Out, out...)), s)
			b.Store(b.AddArg(arg(ir.F32, kernel.Out, out...)), d)
			b.Store(b.AddArg(arg(ir.F32, kernel.Out, m.access(axes, true, true)...)), e)
			codes, in := prepare(t, b.K, true)
			for range 20 {
				extents := make([]int64, len(axes))
				for i := range extents {
					extents[i] = 1 + int64(r.Intn(12))
				}
				extents[len(extents)-1] = 1 + int64(r.Intn(70))
				agree(t, r, b.K, codes, in, extents, plainBits)
			}
		}
	}
}
