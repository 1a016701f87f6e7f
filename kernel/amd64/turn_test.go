package amd64

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// transposedMatmul builds C[m,n] = sum over k of (2 A[m,k]) B[n,k], whose second
// operand is turned.
func transposedMatmul(d ir.DType) *kernel.Kernel {
	b := kernel.NewBuilder("transposed."+d.String(), []kernel.AxisKind{kernel.Parallel, kernel.Parallel, kernel.Reduced})
	c := d.Compute()
	x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Strided, kernel.Broadcast, kernel.Unit))), c)
	y := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, kernel.Broadcast, kernel.Strided, kernel.Unit))), c)
	s := b.Reduce(kernel.Dot, kernel.DotTree, b.Op(kernel.OpAdd, c, x, x), y)
	b.Store(b.AddArg(arg(d, kernel.Out, kernel.Strided, kernel.Unit, kernel.Broadcast)), b.Convert(s, d))
	return b.K
}

// TestTurned covers whole and partial tiles, lanes and chunks.
func TestTurned(t *testing.T) {
	r := rand.New(rand.NewSource(70))
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U64, ir.BF16, ir.F16, ir.I8} {
		k := transposedMatmul(d)
		codes, in := prepare(t, k, true)
		for _, n := range []int64{1, 3, 4, 5, 8, 16, 31, 64, 129} {
			for _, steps := range []int64{1, 2, 15, 16, 17, 100, 1024, 1041} {
				t.Run(fmt.Sprintf("%s.%d.%d", d, n, steps), func(t *testing.T) {
					agree(t, r, k, codes, in, []int64{2, n, steps}, plainBits)
					agree(t, r, k, codes, in, []int64{1, n, steps}, randomBits)
				})
			}
		}
	}
}
