package kernel

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

var negInf, posInf = math.Inf(-1), math.Inf(1)

// combiner folds the results of chunks as the tree says, as they arrive. A
// record is the result of one chunk: w values, which for M2 are the means and
// then the sums of squared deviations; the count is common to all.
type combiner[T number] struct {
	tree   Tree
	kind   ReduceKind // Sum, Prod or M2
	w      int
	chunks int // records pushed
	recs   []T
	counts []int64 // of elements in a record; 0: an empty one
	levels []level // Striped only: a cascade, each level fed by the one before
}

// level is a partly filled chunk of chunk results.
type level struct {
	first, n int // its partials among the records
	pos      int // records so far
	total    int // records it will get at most
}

func (c *combiner[T]) begin(w int, total int64) {
	c.w, c.chunks = w, 0
	chunk := int64(c.tree.Chunk)
	n := int((total + chunk - 1) / chunk)
	need := 1
	c.levels = c.levels[:0]
	switch c.tree.Kind {
	case Columns:
		need = n
	case Striped:
		need = 0
		for left := int64(n); ; left = (left + chunk - 1) / chunk {
			l := level{first: need, n: lanesFor(c.tree, left), total: int(left)}
			c.levels = append(c.levels, l)
			need += l.n
			if left <= chunk {
				break
			}
		}
	}
	c.recs, c.counts = grow(c.recs, need*w), grow(c.counts, need)
	for i := range c.levels {
		c.resetLevel(&c.levels[i])
	}
}

func (c *combiner[T]) resetLevel(l *level) {
	zero := T(0)
	if c.kind == Prod {
		zero = 1
	}
	setAll(c.recs[l.first*c.w:(l.first+l.n)*c.w], zero)
	clear(c.counts[l.first : l.first+l.n])
	l.pos = 0
}

func (c *combiner[T]) rec(i int) []T { return c.recs[i*c.w : (i+1)*c.w] }

// push takes the result of the next chunk, of count elements.
func (c *combiner[T]) push(x []T, count int64) {
	switch c.tree.Kind {
	case Columns:
		copy(c.rec(c.chunks), x)
		c.counts[c.chunks] = count
	case Sequential:
		if c.chunks == 0 {
			copy(c.rec(0), x)
			c.counts[0] = count
		} else {
			c.into(0, x, count)
		}
	default:
		c.feed(0, x, count)
	}
	c.chunks++
}

// feed gives a record to a level of the cascade and passes full chunks on.
func (c *combiner[T]) feed(i int, x []T, count int64) {
	l := &c.levels[i]
	c.into(l.first+l.pos&(l.n-1), x, count)
	l.pos++
	if l.pos == c.tree.Chunk && l.total > c.tree.Chunk {
		c.closeLevel(i)
	}
}

func (c *combiner[T]) closeLevel(i int) {
	l := &c.levels[i]
	c.halve(l)
	c.feed(i+1, c.rec(l.first), c.counts[l.first])
	c.resetLevel(l)
}

func (c *combiner[T]) halve(l *level) {
	for h := l.n / 2; h > 0; h /= 2 {
		for j := l.first; j < l.first+h; j++ {
			c.into(j, c.rec(j+h), c.counts[j+h])
		}
	}
}

// result returns the record of the whole, once all chunks are in.
func (c *combiner[T]) result() []T {
	switch c.tree.Kind {
	case Columns:
		w := 1
		for 2*w < c.chunks {
			w *= 2
		}
		for n := c.chunks; w > 0 && n > 1; n, w = w, w/2 {
			for i := 0; i < w && i+w < n; i++ {
				c.into(i, c.rec(i+w), c.counts[i+w])
			}
		}
	case Striped:
		for i := range c.levels {
			l := &c.levels[i]
			if i == len(c.levels)-1 {
				c.halve(l)
				return c.rec(l.first)
			}
			if l.pos > 0 {
				c.closeLevel(i)
			}
		}
	}
	return c.rec(0)
}

// into folds a record into record i.
func (c *combiner[T]) into(i int, x []T, count int64) {
	d := c.rec(i)
	if c.kind != M2 {
		combine(c.kind, d, x)
		return
	}
	na, n := c.counts[i], c.counts[i]+count
	switch {
	case count == 0:
		return
	case na == 0:
		copy(d, x)
	default:
		h := c.w / 2
		// Of the side b: its share of the elements, and the harmonic weight.
		share := T(count) / T(n)
		weight := T(T(na)*T(count)) / T(n)
		for k := range h {
			delta := x[k] - d[k]
			d[k] += T(delta * share)
			d[h+k] = T(d[h+k]+x[h+k]) + T(T(delta*delta)*weight)
		}
	}
	c.counts[i] = n
}

// extremumAcc is Max and Min; any order gives the same bits.
type extremumAcc[T number] struct {
	kind ReduceKind
	zero T
	rows bool
	best []T
}

func (e *extremumAcc[T]) begin(rows bool, width int, _ int64) {
	e.rows = rows
	e.best = grow(e.best, width)
	setAll(e.best, e.zero)
}

func (e *extremumAcc[T]) push(pa, _ unsafe.Pointer, n int) {
	a := unsafe.Slice((*T)(pa), n)
	if e.rows {
		e.best[0] = chain(e.kind, e.best[0], a)
	} else {
		combine(e.kind, e.best, a)
	}
}

func (e *extremumAcc[T]) finish(dst unsafe.Pointer) {
	copy(unsafe.Slice((*T)(dst), len(e.best)), e.best)
}

func (e *extremumAcc[T]) held() int { return 0 }

// argAcc is ArgMax and ArgMin.
type argAcc[T number] struct {
	kind ReduceKind
	rows bool
	pos  int64
	best []T
	at   []int64
}

func (r *argAcc[T]) begin(rows bool, width int, _ int64) {
	r.rows, r.pos = rows, 0
	r.best, r.at = grow(r.best, width), grow(r.at, width)
}

func (r *argAcc[T]) push(pa, _ unsafe.Pointer, n int) {
	a := unsafe.Slice((*T)(pa), n)
	if r.pos == 0 {
		setAll(r.at, 0)
		copy(r.best, a)
	}
	if !r.rows {
		for i, v := range a {
			if b := r.best[i]; r.beats(v, b) {
				r.best[i], r.at[i] = v, r.pos
			}
		}
		r.pos++
		return
	}
	b, at := r.best[0], r.at[0]
	for i, v := range a {
		if r.beats(v, b) {
			b, at = v, r.pos+int64(i)
		}
	}
	r.best[0], r.at[0] = b, at
	r.pos += int64(n)
}

// beats reports whether v takes the place of an earlier b.
func (r *argAcc[T]) beats(v, b T) bool {
	if v <= b && v >= b || isNaN(b) {
		return false
	}
	return isNaN(v) || (v > b) == (r.kind == ArgMax)
}

func isNaN[T number](v T) bool {
	w := v
	return v != w
}

func (r *argAcc[T]) finish(dst unsafe.Pointer) {
	copy(unsafe.Slice((*int64)(dst), len(r.at)), r.at)
}

func (r *argAcc[T]) held() int { return 0 }

// scanner is the state of one inclusive scan along the logical order of the
// reduced group.
type scanner interface {
	begin(rows bool, width int)
	step(dst, src unsafe.Pointer, n int)
}

func newScanner(s accSpec) scanner {
	if s.red.Tree.Kind != Sequential || s.red.Tree.Chunk < 1 {
		return nil
	}
	switch s.typ {
	case ir.I32:
		return newScan[int32](s, -1<<31, 1<<31-1)
	case ir.I64:
		return newScan[int64](s, -1<<63, 1<<63-1)
	case ir.U32:
		return newScan[uint32](s, 0, 1<<32-1)
	case ir.U64:
		return newScan[uint64](s, 0, 1<<64-1)
	case ir.F32:
		return newScan(s, float32(negInf), float32(posInf))
	case ir.F64:
		return newScan(s, negInf, posInf)
	}
	return nil
}

func newScan[T number](s accSpec, least, greatest T) scanner {
	sc := &scan[T]{kind: s.red.Kind, chunk: s.red.Tree.Chunk}
	switch s.red.Kind {
	case Sum:
	case Prod:
		sc.zero = 1
	case Max:
		sc.zero = least
	case Min:
		sc.zero = greatest
	default:
		return nil
	}
	return sc
}

type scan[T number] struct {
	kind  ReduceKind
	zero  T
	chunk int
	rows  bool
	first bool // in the first chunk: there is no carry
	pos   int  // elements of the chunk so far
	part  []T  // fold of those
	carry []T  // left fold of the chunks before
}

func (s *scan[T]) begin(rows bool, width int) {
	s.rows, s.first, s.pos = rows, true, 0
	s.part, s.carry = grow(s.part, width), grow(s.carry, width)
	setAll(s.part, s.zero)
}

func (s *scan[T]) step(dst, src unsafe.Pointer, n int) {
	d, x := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
	if !s.rows {
		combine(s.kind, s.part, x)
		if s.first {
			copy(d, s.part)
		} else {
			copy(d, s.carry)
			combine(s.kind, d, s.part)
		}
		s.advance(1)
		return
	}
	for len(d) > 0 {
		m := min(len(d), s.chunk-s.pos)
		s.part[0] = inclusive(s.kind, s.part[0], d[:m], x[:m])
		if !s.first {
			s.carried(d[:m])
		}
		s.advance(m)
		d, x = d[m:], x[m:]
	}
}

// inclusive writes the running fold from acc and returns the last.
func inclusive[T number](kind ReduceKind, acc T, d, x []T) T {
	x = x[:len(d)]
	switch kind {
	case Sum:
		for i := range d {
			acc += x[i]
			d[i] = acc
		}
	case Prod:
		for i := range d {
			acc *= x[i]
			d[i] = acc
		}
	case Max:
		for i := range d {
			acc = max(acc, x[i])
			d[i] = acc
		}
	case Min:
		for i := range d {
			acc = min(acc, x[i])
			d[i] = acc
		}
	}
	return acc
}

// carried folds the carry into every element of the one lane.
func (s *scan[T]) carried(d []T) {
	c := s.carry[0]
	switch s.kind {
	case Sum:
		for i := range d {
			d[i] = c + d[i]
		}
	case Prod:
		for i := range d {
			d[i] = c * d[i]
		}
	case Max:
		for i := range d {
			d[i] = max(c, d[i])
		}
	case Min:
		for i := range d {
			d[i] = min(c, d[i])
		}
	}
}

func (s *scan[T]) advance(n int) {
	s.pos += n
	if s.pos < s.chunk {
		return
	}
	if s.first {
		copy(s.carry, s.part)
	} else {
		combine(s.kind, s.carry, s.part)
	}
	s.first, s.pos = false, 0
	setAll(s.part, s.zero)
}
