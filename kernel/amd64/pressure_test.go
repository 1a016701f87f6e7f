package amd64

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestIntToHalf converts integers around the midpoints between 16-bit floats,
// where a second rounding would show.
func TestIntToHalf(t *testing.T) {
	r := rand.New(rand.NewSource(40))
	for _, from := range []ir.DType{ir.I32, ir.U32, ir.I64, ir.U64} {
		for _, to := range []ir.DType{ir.F16, ir.BF16} {
			k := opKernel(kernel.OpCvt, from, to, 1)
			codes, in := prepare(t, k, true)
			ties := func(r *rand.Rand, t ir.DType) uint64 {
				if r.Intn(8) == 0 {
					return randomBits(r, t)
				}
				v := uint64(r.Intn(1<<13)) << r.Intn(t.Bits()-8)
				v += uint64(r.Intn(5)) - 2
				if r.Intn(2) == 0 {
					v = -v
				}
				return v
			}
			for range 20 {
				agree(t, r, k, codes, in, []int64{5000}, ties)
			}
		}
	}
}

// TestPressureEverywhere has as many live values as a long fused body, around
// every conversion and the instructions that take most temporaries, with as many
// accumulators as a pass may have.
func TestPressureEverywhere(t *testing.T) {
	r := rand.New(rand.NewSource(41))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U32, ir.I64, ir.U64} {
		for _, axes := range [][]kernel.AxisKind{par1, rowAxes, colAxes} {
			tree := kernel.StripedTree
			if len(axes) == 2 && axes[0] == kernel.Reduced {
				tree = kernel.ColumnsTree
			}
			b := kernel.NewBuilder(fmt.Sprintf("pressure.%s.%v", d, axes), axes)
			element := make([]kernel.Access, len(axes))
			element[len(axes)-1] = kernel.Unit
			out := append([]kernel.Access(nil), element...)
			for i, a := range axes {
				if a == kernel.Reduced {
					out[i] = kernel.Broadcast
				}
			}
			var live []kernel.Ref
			for range 6 {
				x := b.Load(b.AddArg(arg(d, kernel.In, element...)))
				live = append(live, x, b.Op(kernel.OpMul, d, x, x))
			}
			n := len(live)
			for i, to := range ir.DTypes() {
				x, y := live[i%n], live[(i*5+1)%n]
				v := b.Convert(b.Convert(b.Op(kernel.OpAdd, d, x, y), to), d)
				v = b.Op(kernel.OpMax, d, v, y)
				if d.IsFloat() {
					v = b.Op(kernel.OpFma, d, v, x, y)
				} else {
					v = b.Op(kernel.OpShr, d, b.Op(kernel.OpMul, d, v, x), b.Const(d, 3))
				}
				live = append(live, v)
			}
			m := b.Op(kernel.OpLt, ir.Bool, live[0], live[1])
			sum := live[0]
			for _, v := range live[1:] {
				sum = b.Op(kernel.OpAdd, d, sum, b.Op(kernel.OpSelect, d, m, v, live[3]))
			}
			if len(axes) == 1 {
				b.Store(b.AddArg(arg(d, kernel.Out, element...)), sum)
			} else {
				for i := range 9 {
					s := b.Reduce([]kernel.ReduceKind{kernel.Sum, kernel.Max, kernel.Prod}[i%3], tree, live[len(live)-1-i])
					b.Store(b.AddArg(arg(d, kernel.Out, out...)), s)
					sum = b.Op(kernel.OpSub, d, sum, s)
				}
				b.Store(b.AddArg(arg(d, kernel.Out, element...)), sum)
			}
			codes, in := prepare(t, b.K, true)
			for _, n := range []int64{1, 9, 64, 131, 1030} {
				extents := []int64{n}
				if len(axes) == 2 {
					extents = []int64{3, n}
				}
				if len(axes) == 2 && axes[0] == kernel.Reduced {
					extents = []int64{70, n%50 + 1}
				}
				agree(t, r, b.K, codes, in, extents, randomBits)
				agree(t, r, b.K, codes, in, extents, plainBits)
			}
		}
	}
}
