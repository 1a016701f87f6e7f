package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// accumulator is the state of one reduction over one tile. In the form for rows
// a push brings consecutive elements of one row; else it brings the next element
// of every lane.
type accumulator interface {
	begin(rows bool, width int, total int64)
	push(a, b unsafe.Pointer, n int)
	finish(dst unsafe.Pointer)
	held() int // bytes
}

func newAccumulator(s accSpec) accumulator {
	t := s.red.Tree
	switch s.red.Kind {
	case Sum, Prod, Dot, M2, PairDot:
		if t.Chunk < 1 || t.Kind > Sequential || t.Kind == Striped && (t.Chunk < 2 || t.Lanes < 1 || t.Lanes&(t.Lanes-1) != 0) {
			return nil
		}
	}
	switch s.typ {
	case ir.BF16:
		if s.red.Kind == PairDot {
			return &pairAcc{fold: chunkFold[float32]{tree: t, kind: Sum}, comb: combiner[float32]{tree: t, kind: Sum}}
		}
	case ir.Bool:
		if s.red.Kind == Max || s.red.Kind == Min || s.red.Kind == ArgMax || s.red.Kind == ArgMin {
			return newAcc[uint8](s, 0, 1)
		}
	case ir.I32:
		return newAcc[int32](s, -1<<31, 1<<31-1)
	case ir.I64:
		return newAcc[int64](s, -1<<63, 1<<63-1)
	case ir.U32:
		return newAcc[uint32](s, 0, 1<<32-1)
	case ir.U64:
		return newAcc[uint64](s, 0, 1<<64-1)
	case ir.F32:
		return newFloatAcc[float32](s)
	case ir.F64:
		return newFloatAcc[float64](s)
	}
	return nil
}

func newFloatAcc[T float](s accSpec) accumulator {
	if s.red.Kind == M2 {
		return &m2Acc[T]{fold: chunkFold[T]{tree: s.red.Tree, kind: Sum}, comb: combiner[T]{tree: s.red.Tree, kind: M2}}
	}
	return newAcc(s, T(negInf), T(posInf))
}

func newAcc[T number](s accSpec, least, greatest T) accumulator {
	switch s.red.Kind {
	case Sum, Prod, Dot:
		kind := s.red.Kind
		if kind == Dot {
			kind = Sum
		}
		return &foldAcc[T]{dot: s.red.Kind == Dot, fold: chunkFold[T]{tree: s.red.Tree, kind: kind}, comb: combiner[T]{tree: s.red.Tree, kind: kind}}
	case Max:
		return &extremumAcc[T]{kind: Max, zero: least}
	case Min:
		return &extremumAcc[T]{kind: Min, zero: greatest}
	case ArgMax, ArgMin:
		return &argAcc[T]{kind: s.red.Kind}
	}
	return nil
}

// stateBytes estimates the state a reduction keeps per lane when the lanes run
// along kept axes.
func stateBytes(r Reduction, total int64) int64 {
	switch r.Kind {
	case Max, Min, ArgMax, ArgMin:
		return 16
	}
	chunk := int64(max(r.Tree.Chunk, 1))
	n := int64(32)
	switch r.Tree.Kind {
	case Striped:
		n += 16 * min(total, int64(r.Tree.Lanes))
		if total > chunk {
			n *= 2
		}
	case Columns:
		n += 16 * (total + chunk - 1) / chunk
	}
	if r.Kind == M2 {
		n += 8 * min(chunk, total)
	}
	return n
}

// grow returns a slice of n elements, x itself if it is large enough.
func grow[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

func setAll[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// combine folds x into d.
func combine[T number](kind ReduceKind, d, x []T) {
	x = x[:len(d)]
	switch kind {
	case Sum:
		for i := range d {
			d[i] += x[i]
		}
	case Prod:
		for i := range d {
			d[i] *= x[i]
		}
	case Max:
		for i := range d {
			d[i] = max(d[i], x[i])
		}
	case Min:
		for i := range d {
			d[i] = min(d[i], x[i])
		}
	}
}

// chain folds the elements of x into acc in ascending order.
func chain[T number](kind ReduceKind, acc T, x []T) T {
	switch kind {
	case Sum:
		for _, v := range x {
			acc += v
		}
	case Prod:
		for _, v := range x {
			acc *= v
		}
	case Max:
		for _, v := range x {
			acc = max(acc, v)
		}
	case Min:
		for _, v := range x {
			acc = min(acc, v)
		}
	}
	return acc
}

// lanesFor is the number of partials a Striped chunk needs: those beyond the
// elements would add nothing (a partial is never -0, so +0 leaves it alone).
func lanesFor(t Tree, total int64) int {
	if t.Kind != Striped {
		return 1
	}
	n := 1
	for n < t.Lanes && int64(n) < total {
		n *= 2
	}
	return n
}

// chunkFold folds the elements of one chunk, of w lanes each.
type chunkFold[T number] struct {
	tree Tree
	kind ReduceKind // Sum or Prod
	w    int
	n    int // partials
	pos  int // elements so far
	part []T // partial j of lane i at j*w+i
}

func (c *chunkFold[T]) begin(w int, total int64) {
	c.w, c.n = w, lanesFor(c.tree, total)
	c.part = grow(c.part, c.n*w)
	c.reset()
}

func (c *chunkFold[T]) reset() {
	c.pos = 0
	zero := T(0)
	if c.kind == Prod {
		zero = 1
	}
	setAll(c.part, zero)
}

func (c *chunkFold[T]) full() bool { return c.pos == c.tree.Chunk }

// lanes adds the next element of every lane: a, or a*b by fma.
func (c *chunkFold[T]) lanes(a, b []T) {
	j := c.pos & (c.n - 1) * c.w
	if p := c.part[j : j+c.w]; b != nil {
		fmaInto(p, a, b)
	} else {
		combine(c.kind, p, a)
	}
	c.pos++
}

// row adds the next elements of the one lane there is, and returns how many the
// chunk took.
func (c *chunkFold[T]) row(a, b []T) int {
	took := min(len(a), c.tree.Chunk-c.pos)
	a = a[:took]
	c.pos += took
	if c.n == 1 {
		if b != nil {
			c.part[0] = fmaChain(c.part[0], a, b)
		} else {
			c.part[0] = chain(c.kind, c.part[0], a)
		}
		return took
	}
	j := (c.pos - took) & (c.n - 1)
	for len(a) > 0 {
		m := min(len(a), c.n-j)
		if p := c.part[j : j+m]; b != nil {
			fmaInto(p, a[:m], b[:m])
			b = b[m:]
		} else {
			combine(c.kind, p, a[:m])
		}
		a, j = a[m:], 0
	}
	return took
}

// result folds the partials by halves.
func (c *chunkFold[T]) result() []T {
	for h := c.n / 2; h > 0; h /= 2 {
		combine(c.kind, c.part[:h*c.w], c.part[h*c.w:2*h*c.w])
	}
	return c.part[:c.w]
}

// foldAcc is Sum, Prod and Dot.
type foldAcc[T number] struct {
	dot  bool
	rows bool
	fold chunkFold[T]
	comb combiner[T]
}

func (f *foldAcc[T]) begin(rows bool, width int, total int64) {
	f.rows = rows
	f.fold.begin(width, total)
	f.comb.begin(width, total)
}

func (f *foldAcc[T]) push(pa, pb unsafe.Pointer, n int) {
	a := unsafe.Slice((*T)(pa), n)
	var b []T
	if f.dot {
		b = unsafe.Slice((*T)(pb), n)
	}
	if !f.rows {
		f.fold.lanes(a, b)
		if f.fold.full() {
			f.flush()
		}
		return
	}
	for len(a) > 0 {
		took := f.fold.row(a, b)
		a = a[took:]
		if f.dot {
			b = b[took:]
		}
		if f.fold.full() {
			f.flush()
		}
	}
}

func (f *foldAcc[T]) flush() {
	if f.fold.pos > 0 {
		f.comb.push(f.fold.result(), int64(f.fold.pos))
		f.fold.reset()
	}
}

func (f *foldAcc[T]) finish(dst unsafe.Pointer) {
	f.flush()
	r := f.comb.result()
	copy(unsafe.Slice((*T)(dst), len(r)), r)
}

func (f *foldAcc[T]) held() int {
	return (cap(f.fold.part) + cap(f.comb.recs)) * int(unsafe.Sizeof(T(0)))
}

// m2Acc keeps the elements of a chunk, because the mean must be known before
// the deviations are squared.
type m2Acc[T float] struct {
	rows bool
	w    int
	pos  int
	buf  []T
	rec  []T // mean, then M2, of every lane
	fold chunkFold[T]
	comb combiner[T]
}

func (m *m2Acc[T]) begin(rows bool, width int, total int64) {
	m.rows, m.w, m.pos = rows, width, 0
	m.buf = grow(m.buf, int(min(total, int64(m.fold.tree.Chunk)))*width)
	m.rec = grow(m.rec, 2*width)
	m.fold.begin(width, total)
	m.comb.begin(2*width, total)
}

func (m *m2Acc[T]) push(pa, _ unsafe.Pointer, n int) {
	a := unsafe.Slice((*T)(pa), n)
	for len(a) > 0 {
		took := copy(m.buf[m.pos*m.w:], a)
		m.pos += took / m.w
		a = a[took:]
		if m.pos == m.fold.tree.Chunk {
			m.flush()
		}
	}
}

func (m *m2Acc[T]) flush() {
	if m.pos == 0 {
		return
	}
	x := m.buf[:m.pos*m.w]
	mean, m2 := m.rec[:m.w], m.rec[m.w:]
	m.sum(mean, x)
	for i := range mean {
		mean[i] /= T(m.pos)
	}
	for j := 0; j < len(x); j += m.w {
		row := x[j : j+m.w]
		for i, c := range mean {
			d := row[i] - c
			row[i] = T(d * d)
		}
	}
	m.sum(m2, x)
	m.comb.push(m.rec, int64(m.pos))
	m.pos = 0
}

// sum adds the elements of the chunk x along the tree.
func (m *m2Acc[T]) sum(dst, x []T) {
	m.fold.reset()
	if m.rows {
		m.fold.row(x, nil)
	} else {
		for ; len(x) > 0; x = x[m.w:] {
			m.fold.lanes(x[:m.w], nil)
		}
	}
	copy(dst, m.fold.result())
}

func (m *m2Acc[T]) finish(dst unsafe.Pointer) {
	m.flush()
	copy(unsafe.Slice((*T)(dst), m.w), m.comb.result()[m.w:])
}

func (m *m2Acc[T]) held() int {
	return (cap(m.buf) + cap(m.fold.part) + cap(m.comb.recs)) * int(unsafe.Sizeof(T(0)))
}
