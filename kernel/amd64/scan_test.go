package amd64

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestScans covers rows of several chunks and blocks, columns, one scan of
// another, and scans beside reductions.
func TestScans(t *testing.T) {
	r := rand.New(rand.NewSource(60))
	kinds := []kernel.ReduceKind{kernel.Sum, kernel.Prod, kernel.Max, kernel.Min}
	for _, d := range []ir.DType{ir.F32, ir.F64, ir.I32, ir.U64, ir.BF16} {
		for _, kind := range kinds {
			for _, chunk := range []int{1024, 7} {
				for shape := range 4 {
					axes, out := rowAxes, rowOut
					if shape == 1 {
						axes, out = colAxes, colOut
					}
					c := d.Compute()
					b := kernel.NewBuilder(fmt.Sprintf("scan.%s.%s.%d.%d", d, kind, chunk, shape), axes)
					tree := kernel.Tree{Kind: kernel.Sequential, Chunk: chunk, Lanes: 1}
					x := b.Convert(b.Load(b.AddArg(arg(d, kernel.In, rowIn...))), c)
					y := b.Scan(kind, tree, b.Op(kernel.OpAdd, c, x, x))
					if shape == 2 {
						y = b.Scan(kernel.Sum, kernel.ScanTree, b.Op(kernel.OpSub, c, y, x))
					}
					if shape == 3 {
						s := b.Reduce(kernel.Max, kernel.StripedTree, y)
						b.Store(b.AddArg(arg(d, kernel.Out, out...)), b.Convert(s, d))
						y = b.Op(kernel.OpSub, c, y, s)
					}
					b.Store(b.AddArg(arg(d, kernel.Out, rowIn...)), b.Convert(b.Op(kernel.OpMul, c, y, x), d))
					codes, in := prepare(t, b.K, true)
					for _, n := range sizes {
						extents := []int64{3, n}
						if shape == 1 {
							extents = []int64{n, 19}
						}
						agree(t, r, b.K, codes, in, extents, plainBits)
						agree(t, r, b.K, codes, in, extents, randomBits)
					}
				}
			}
		}
	}
}
