package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// unitEmitter is what the forms of a product on matrix units share: tiles of results, and
// what is done with the sums of a tile, see epilogue.
type unitEmitter struct {
	*tiledEmitter
	unit       ir.DType // what is multiplied
	tall, wide int      // rows and columns of a tile
	pairs      bool     // results and what goes with them move along columns as vectors
	whole      bool     // no tile has columns that lie outside
	warp       reg      // of those that multiply, in the block
	lane       reg
}

// tileCounts are the tiles of the matrix of results: along its rows, its columns, and all.
func (e *unitEmitter) tileCounts() (tm, tn, plane reg) {
	count := func(n reg, of int) reg { // n has 31 bits
		return e.to(b32, "div.u32", e.to(b32, "add.u32", e.to(b32, "cvt.u32.u64", n), fmt.Sprint(of-1)), fmt.Sprint(of))
	}
	tm, tn = count(e.rows, e.tall), count(e.cols, e.wide)
	return tm, tn, e.to(b32, "mul.lo.u32", tm, tn)
}

// enterTile goes to a tile by its number: e.row0 and e.col0 are its first row and column.
// It returns the number of its batch.
func (e *unitEmitter) enterTile(id, tm, tn, plane reg) (batch reg) {
	in := id
	if len(e.p.batch) == 0 {
		batch = e.to(b32, "mov.u32", "0")
	} else {
		batch = e.to(b32, "div.u32", id, plane)
		in = e.to(b32, "sub.u32", id, e.to(b32, "mul.lo.u32", batch, plane))
	}
	// Sixteen tile rows at a time share what they read of both operands.
	band := e.to(b32, "mul.lo.u32", tn, "16")
	g := e.to(b32, "div.u32", in, band)
	first := e.to(b32, "mul.lo.u32", g, "16")
	high := e.to(b32, "min.u32", e.to(b32, "sub.u32", tm, first), "16")
	in = e.to(b32, "sub.u32", in, e.to(b32, "mul.lo.u32", g, band))
	col := e.to(b32, "div.u32", in, high)
	row := e.to(b32, "add.u32", first, e.to(b32, "sub.u32", in, e.to(b32, "mul.lo.u32", col, high)))
	e.row0 = e.to(b64, "mul.wide.u32", row, fmt.Sprint(e.tall))
	e.col0 = e.to(b64, "mul.wide.u32", col, fmt.Sprint(e.wide))
	return batch
}

// stores lists the store instructions.
func (e *tiledEmitter) stores() []kernel.Ref {
	var out []kernel.Ref
	for i := range e.k.Body {
		if e.k.Body[i].Op == kernel.OpStore {
			out = append(out, kernel.Ref(i))
		}
	}
	return out
}
