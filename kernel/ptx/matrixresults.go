package ptx

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// results computes what follows the product, and stores it. Of every eight columns
// the four lanes of a quad hold a pair each, of the rows lane/4 and lane/4 + 8 of
// the warp's sixteen. Vectors of results are put together by exchanging pairs
// inside the quad: after that each lane has eight columns of every thirty-two.
func (e *matrixEmitter) results(acc []reg) error {
	stores := e.stores()
	refs := e.upTo(stores...)
	n, axis := 1, -1
	if e.m.pairs {
		n, axis = 2, e.p.cols[len(e.p.cols)-1]
	}
	quad := e.to(b32, "and.b32", e.lane, "3")
	row0 := e.to(b32, "mad.lo.u32", e.warp, "16", e.to(b32, "shr.u32", e.lane, "2"))
	col0 := e.to(b64, "add.s64", e.col0, e.to(b64, "mul.wide.u32", quad, "2"))
	for half := range 2 {
		row := e.to(b64, "add.s64", e.row0, e.to(b64, "cvt.u64.u32", e.to(b32, "add.u32", row0, fmt.Sprint(8*half))))
		inside := e.to(pred, "setp.lt.s64", row, e.rows)
		idx := append([]reg(nil), e.batch...)
		e.decodeWide(row, e.p.rows, idx)
		for j := 0; j < e.m.cols/8; j += 4 {
			kept := map[int][4][]reg{} // packed pairs by argument
			for q := range 4 {
				at := 4*(j+q) + 2*half
				for lane := 0; lane < 2; lane += n {
					col := e.to(b64, "add.s64", col0, fmt.Sprint(8*(j+q)+lane))
					e.decodeWide(col, e.p.cols, idx)
					t := &tile{n: n, vals: map[kernel.Ref][]reg{e.p.dot: acc[at+lane : at+lane+n]}}
					t.guard = e.to(pred, "and.pred", inside, e.to(pred, "setp.lt.s64", col, e.cols))
					e.walk(t, append([]reg(nil), idx...), axis)
					if e.m.pairs {
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
			if e.m.pairs {
				e.storeExchanged(kept, idx, quad, inside, j)
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
func (e *matrixEmitter) words(t ir.DType, vals []reg) []reg {
	switch t.Size() {
	case 4:
		return vals
	default:
		return []reg{e.pack(t, vals)}
	}
}

// storeExchanged stores the pairs of four groups of eight columns, which the lanes of
// a quad exchange so that each has one group.
func (e *matrixEmitter) storeExchanged(kept map[int][4][]reg, idx []reg, quad, inside reg, j int) {
	col := e.to(b64, "add.s64", e.col0, e.to(b64, "mul.wide.u32", quad, "8"))
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
