package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// unitEmitter is what the forms of a product on matrix units share: tiles of results, and
// what is done with the sums of a tile.
type unitEmitter struct {
	*tiledEmitter
	unit       ir.DType // what is multiplied
	tall, wide int      // rows and columns of a tile
	pairs      bool     // results and what goes with them move along columns as vectors
	warp       reg      // of those that multiply, in the block
	lane       reg
}

// tileCounts are the tiles of the matrix of results: along its rows, its columns, and all.
func (e *unitEmitter) tileCounts() (tm, tn, plane reg) {
	count := func(n reg, of int) reg {
		return e.to(b32, "cvt.u32.u64", e.to(b64, "div.u64", e.to(b64, "add.u64", n, fmt.Sprint(of-1)), fmt.Sprint(of)))
	}
	tm, tn = count(e.rows, e.tall), count(e.cols, e.wide)
	return tm, tn, e.to(b32, "mul.lo.u32", tm, tn)
}

// enterTile goes to a tile by its number: e.row0 and e.col0 are its first row and column.
// It returns the number of its batch.
func (e *unitEmitter) enterTile(id, tm, tn, plane reg) (batch reg) {
	batch = e.to(b32, "div.u32", id, plane)
	in := e.to(b32, "sub.u32", id, e.to(b32, "mul.lo.u32", batch, plane))
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

// results computes what follows the product for sixteen rows of a warp, and stores it: from
// row `first` of the tile on, and a column of the matrix. Of every eight columns the four
// lanes of a quad hold a pair each, of the rows lane/4 and lane/4 + 8. Vectors of results are
// put together by exchanging pairs inside the quad: after that each lane has eight columns of
// every thirty-two. Of a warp with sixteen columns each lane stores its pairs.
func (e *unitEmitter) results(acc []reg, first, col reg) error {
	stores := e.stores()
	refs := e.upTo(stores...)
	n, axis := 1, -1
	if e.pairs {
		n, axis = 2, e.p.cols[len(e.p.cols)-1]
	}
	quad := e.to(b32, "and.b32", e.lane, "3")
	row0 := e.to(b32, "add.u32", first, e.to(b32, "shr.u32", e.lane, "2"))
	col0 := e.to(b64, "add.s64", col, e.to(b64, "mul.wide.u32", quad, "2"))
	for half := range 2 {
		row := e.to(b64, "add.s64", e.row0, e.to(b64, "cvt.u64.u32", e.to(b32, "add.u32", row0, fmt.Sprint(8*half))))
		inside := e.to(pred, "setp.lt.s64", row, e.rows)
		idx := append([]reg(nil), e.batch...)
		e.decodeWide(row, e.p.rows, idx)
		for j := 0; j < len(acc)/4; j += 4 {
			kept := map[int][4][]reg{} // packed pairs by argument
			groups := min(4, len(acc)/4-j)
			for q := range groups {
				at := 4*(j+q) + 2*half
				for lane := 0; lane < 2; lane += n {
					col := e.to(b64, "add.s64", col0, fmt.Sprint(8*(j+q)+lane))
					e.decodeWide(col, e.p.cols, idx)
					t := &tile{n: n, vals: map[kernel.Ref][]reg{e.p.dot: acc[at+lane : at+lane+n]}}
					t.guard = e.to(pred, "and.pred", inside, e.to(pred, "setp.lt.s64", col, e.cols))
					e.walk(t, append([]reg(nil), idx...), axis)
					if e.pairs && groups == 4 {
						t.store = func(in *kernel.Instr, vals []reg) {
							k := kept[int(in.Imm)]
							k[q] = e.words(in.Type, vals)
							kept[int(in.Imm)] = k
						}
					}
					if err := e.evalTile(refs, t); err != nil {
						return err
					}
				}
			}
			if e.pairs && groups == 4 {
				e.storeExchanged(kept, idx, quad, inside, col, j)
			}
		}
	}
	return nil
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

// words is a pair of results as it lies in memory, in words of 4 bytes.
func (e *unitEmitter) words(t ir.DType, vals []reg) []reg {
	switch t.Size() {
	case 4:
		return vals
	default:
		return []reg{e.pack(t, vals)}
	}
}

// storeExchanged stores the pairs of four groups of eight columns, from the j-th behind a
// column of the matrix on, which the lanes of a quad exchange so that each has one group.
func (e *unitEmitter) storeExchanged(kept map[int][4][]reg, idx []reg, quad, inside, first reg, j int) {
	col := e.to(b64, "add.s64", first, e.to(b64, "mul.wide.u32", quad, "8"))
	if j > 0 {
		col = e.to(b64, "add.s64", col, fmt.Sprint(8*j))
	}
	guard := e.to(pred, "and.pred", inside, e.to(pred, "setp.lt.s64", col, e.cols))
	at := append([]reg(nil), idx...)
	e.decodeWide(col, e.p.cols, at)
	for i := range e.k.Body {
		in := &e.k.Body[i]
		if in.Op != kernel.OpStore {
			continue
		}
		pairs := e.transposeQuad(kept[int(in.Imm)], quad)
		t := &tile{n: 8}
		e.walk(t, at, -1)
		p, _ := t.address(int(in.Imm))
		words := make([]reg, 0, 8)
		for _, w := range pairs {
			words = append(words, w...)
		}
		for w := 0; w < len(words); w += 4 {
			e.opIf(guard, "st.global.v4.b32", mem(p, int64(4*w)), group(words[w:w+4]))
		}
	}
}
