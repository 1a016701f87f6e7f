package contract

import (
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// TestRounds: a later round may meet more packed operands than the first: of the trips
// of the loops (a, b), four at a time, the first eight read one or two of the rows that
// only a tells apart.
func TestRounds(t *testing.T) {
	const p, s, u, n = kernel.Parallel, kernel.Strided, kernel.Unit, kernel.Broadcast
	b := kernel.NewBuilder("rounds", []kernel.AxisKind{p, p, p, kernel.Reduced, p}) // a, b, rows, k, columns
	x := b.Load(b.AddArg(kernel.Arg{Type: ir.I8, Dir: kernel.In, Access: []kernel.Access{s, n, s, u, n}}))
	z := b.Load(b.AddArg(kernel.Arg{Type: ir.F64, Dir: kernel.In, Access: []kernel.Access{s, s, n, s, u}}))
	v := b.Reduce(kernel.Dot, kernel.DotTree, b.Convert(x, ir.F64), z)
	b.Store(b.AddArg(kernel.Arg{Type: ir.F64, Dir: kernel.Out, Access: []kernel.Access{s, s, s, n, u}}), v)
	k := b.K
	r := rand.New(rand.NewSource(9))
	for _, level := range levels(t) {
		c, err := Compile(k, level)
		if err != nil {
			t.Fatal(err)
		}
		for _, packed := range []int64{1 << 12, 1 << 13, 1 << 14} {
			c.SetBlocking(func(Problem) Blocking { return Blocking{Tiles: 16, Strips: 18, PackBytes: packed} })
			for _, e := range [][]int64{{3, 29, 32, 2, 170}, {5, 7, 32, 3, 130}} {
				agree(t, r, c, launch(values{r, false}, k, e))
			}
		}
	}
}
