package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Chunks are the results of the chunks of one reduction, which somebody computed
// apart. A record is the result of one chunk: Width values side by side, one for
// each lane that is reduced alike; for M2 the means of the lanes, then their sums
// of squared deviations.
type Chunks struct {
	Reduction Reduction
	Type      ir.DType       // of the values
	Records   unsafe.Pointer // N of them, one after the other
	N, Width  int
	Size      int64 // elements in each record but the last, which may have fewer
	Total     int64 // elements in all
}

// Fold folds the records as the tree of the reduction says and writes one record.
// Striped trees take at most Chunk records at a time: the results of such groups
// are records again, with Size times as many elements. Extremes are folded in
// order, which any order equals.
func (c *Chunks) Fold(dst unsafe.Pointer) {
	switch c.Type {
	case ir.Bool:
		foldChunks[uint8](c, dst)
	case ir.I32:
		foldChunks[int32](c, dst)
	case ir.I64:
		foldChunks[int64](c, dst)
	case ir.U32:
		foldChunks[uint32](c, dst)
	case ir.U64:
		foldChunks[uint64](c, dst)
	case ir.F32:
		foldChunks[float32](c, dst)
	case ir.F64:
		foldChunks[float64](c, dst)
	}
}

func foldChunks[T number](c *Chunks, dst unsafe.Pointer) {
	kind, w := c.Reduction.Kind, c.Width
	switch {
	case kind == M2:
		w *= 2
	case kind.Binary(): // the sums of chunks are added, however products were
		kind = Sum
	}
	out, x := unsafe.Slice((*T)(dst), w), unsafe.Slice((*T)(c.Records), c.N*w)
	switch {
	case c.N == 1:
		copy(out, x)
	case kind == Max || kind == Min:
		copy(out, x)
		if w == 1 {
			out[0] = chain(kind, out[0], x[1:])
			return
		}
		for x = x[w:]; len(x) > 0; x = x[w:] {
			combine(kind, out, x[:w])
		}
	case kind != M2 && w == 1 && c.Reduction.Tree.Kind == Striped: // the records are elements
		f := chunkFold[T]{tree: c.Reduction.Tree, kind: kind}
		f.begin(1, int64(c.N))
		f.row(x, nil)
		copy(out, f.result())
	default:
		f := combiner[T]{tree: c.Reduction.Tree, kind: kind}
		f.begin(w, int64(c.N)*int64(f.tree.Chunk))
		for left := c.Total; len(x) > 0; x = x[w:] {
			n := min(left, c.Size)
			f.push(x[:w], n)
			left -= n
		}
		copy(out, f.result())
	}
}

// FoldArg folds the results of chunks of an ArgMax or ArgMin, given the extreme
// value of each (by Max or Min, of the type Type) as records, and its place inside
// the chunk; it writes the places in the whole.
func (c *Chunks) FoldArg(dst, places unsafe.Pointer) {
	switch c.Type {
	case ir.Bool:
		foldArg[uint8](c, dst, places)
	case ir.I32:
		foldArg[int32](c, dst, places)
	case ir.I64:
		foldArg[int64](c, dst, places)
	case ir.U32:
		foldArg[uint32](c, dst, places)
	case ir.U64:
		foldArg[uint64](c, dst, places)
	case ir.F32:
		foldArg[float32](c, dst, places)
	case ir.F64:
		foldArg[float64](c, dst, places)
	}
}

func foldArg[T number](c *Chunks, dst, places unsafe.Pointer) {
	w := c.Width
	out, at := unsafe.Slice((*int64)(dst), w), unsafe.Slice((*int64)(places), c.N*w)
	x := unsafe.Slice((*T)(c.Records), c.N*w)
	r := argAcc[T]{kind: c.Reduction.Kind}
	for lane := range w {
		best, place := x[lane], at[lane]
		for i := 1; i < c.N; i++ {
			if v := x[i*w+lane]; r.beats(v, best) {
				best, place = v, int64(i)*c.Size+at[i*w+lane]
			}
		}
		out[lane] = place
	}
}

// Carry writes, for each chunk of a scan but the first, the left fold of the
// totals of the chunks before it; those of the first chunk are not written.
func (c *Chunks) Carry(dst unsafe.Pointer) {
	switch c.Type {
	case ir.I32:
		carry[int32](c, dst)
	case ir.I64:
		carry[int64](c, dst)
	case ir.U32:
		carry[uint32](c, dst)
	case ir.U64:
		carry[uint64](c, dst)
	case ir.F32:
		carry[float32](c, dst)
	case ir.F64:
		carry[float64](c, dst)
	}
}

func carry[T number](c *Chunks, dst unsafe.Pointer) {
	w := c.Width
	out, x := unsafe.Slice((*T)(dst), c.N*w), unsafe.Slice((*T)(c.Records), c.N*w)
	for i := 1; i < c.N; i++ {
		before := out[(i-1)*w : i*w]
		to := out[i*w : (i+1)*w]
		if i == 1 {
			copy(to, x[:w])
			continue
		}
		copy(to, before)
		combine(c.Reduction.Kind, to, x[(i-1)*w:i*w])
	}
}
