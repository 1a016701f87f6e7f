package cpu

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// placing says where elements go to or come from: of outer blocks, row i of n, with
// inner elements, belongs to row index[i] of extent, an index that may count from
// the end. With own, each element has an index of its own: that of (o, i, j) is at
// (o·n + i)·inner + j. All indices lie in the axis, if inner is not 1.
type placing struct {
	outer, n, extent, inner int
	own                     bool
	index                   []int64
}

// split returns the extents before, of and after count axes from axis on.
func split(s ir.Shape, axis, count int) (outer, extent, inner int) {
	return s[:axis].Size(), s[axis : axis+count].Size(), s[axis+count:].Size()
}

// outside returns the position of the first index that is not one of an axis of an
// extent, or -1.
func outside(c *Call, index []int64, extent int) int {
	bad := newFirst()
	inBlocks(c, len(index), func(from, to int) {
		e := uint64(extent)
		for i, v := range index[from:to] {
			if uint64(v)+e >= 2*e {
				bad.tell(from + i)
				return
			}
		}
	})
	return bad.get()
}

// outOfRange is the error of an index that does not lie in its axis.
func outOfRange(s ir.Shape, at int, v int64, axis, extent int) error {
	return ir.Errorf(ir.ErrData, "index out of range: index%s is %d, axis %d has extent %d", position(s, int64(at)), v, axis, extent)
}

// first is the least of the positions that it is told.
type first struct{ at atomic.Int64 }

func newFirst() *first {
	f := &first{}
	f.at.Store(math.MaxInt64)
	return f
}

func (f *first) tell(at int) {
	for {
		old := f.at.Load()
		if int64(at) >= old || f.at.CompareAndSwap(old, int64(at)) {
			return
		}
	}
}

// get returns -1 if there was none.
func (f *first) get() int {
	if at := f.at.Load(); at < math.MaxInt64 {
		return int(at)
	}
	return -1
}

// putAll combines z with y. What belongs to one element of y is combined in
// ascending order of its rows, on one thread: threads share outer blocks, columns,
// or, where there are too few of both, the rows of y.
func putAll[T any](c *Call, p *placing, f combiner[T], y, z Host) (int, error) {
	d, s := view[T](y.Data), view[T](z.Data)
	if len(s) == 0 {
		return -1, nil
	}
	threads := c.Threads()
	if p.inner == 1 {
		if p.outer < threads && threads >= spreadThreads && p.n >= spreadRows {
			return putSpread(c, p, f, d, s)
		}
		bad := newFirst()
		tasks := min(p.outer, max(1, p.outer*p.n/blockSize))
		c.Parallel(tasks, func(t int) {
			for o := p.outer * t / tasks; o < p.outer*(t+1)/tasks; o++ {
				if at := f.points(d[o*p.extent:(o+1)*p.extent], p.of(o), s[o*p.n:(o+1)*p.n]); at >= 0 {
					bad.tell(p.positionOf(o, at))
				}
			}
		})
		return bad.get(), nil
	}
	// Columns are cut at multiples of 32 elements: cache lines are not shared.
	cuts := 1
	if p.outer < 4*threads && p.n*p.inner >= blockSize {
		cuts = min(threads, (p.inner+31)/32)
	}
	if len(s) < blockSize {
		putColumns(p, f, d, s, 0, p.outer, 0, p.inner)
		return -1, nil
	}
	c.Parallel(p.outer*cuts, func(t int) {
		o, k := t/cuts, t%cuts
		cut := func(k int) int { return min(p.inner, (p.inner*k/cuts+31)/32*32) }
		putColumns(p, f, d, s, o, o+1, cut(k), cut(k+1))
	})
	return -1, nil
}

// of returns the indices of an outer block.
func (p *placing) of(o int) []int64 {
	if p.own {
		return p.index[o*p.n*p.inner : (o+1)*p.n*p.inner]
	}
	return p.index
}

// positionOf is the position in p.index of the index of row i of an outer block,
// where inner is 1.
func (p *placing) positionOf(o, i int) int {
	if p.own {
		return o*p.n + i
	}
	return i
}

// putColumns combines the columns from to to of some outer blocks.
func putColumns[T any](p *placing, f combiner[T], d, s []T, first, last, from, to int) {
	for o := first; o < last; o++ {
		index := p.of(o)
		for i := range p.n {
			row := s[(o*p.n+i)*p.inner:][:p.inner]
			if !p.own {
				at := (o*p.extent + place(index[i], p.extent)) * p.inner
				f.row(d[at:][from:to], row[from:to])
				continue
			}
			f.columns(d[o*p.extent*p.inner+from:], p.extent, p.inner, index[i*p.inner:][from:to], row[from:to])
		}
	}
}

// Threads share the rows of y from so many rows of z on, and if there are so many of
// them: dividing the rows first costs about as much as combining them twice.
const (
	spreadRows    = 1 << 16
	spreadThreads = 4
)

// spread is into how many ranges the rows of y are divided.
const spread = 64

// putSpread is putAll for rows of one element: they are first brought together by
// ranges of y, in which they keep their order, and each range is one thread's.
func putSpread[T any](c *Call, p *placing, f combiner[T], d, s []T) (int, error) {
	var zero T
	w, err := c.Scratch(8 * p.n)
	if err != nil {
		return -1, err
	}
	v, err := c.Scratch(p.n * int(unsafe.Sizeof(zero)))
	if err != nil {
		return -1, err
	}
	index, values := view[int64](w), view[T](v)
	shift := max(0, bits.Len(uint(p.extent-1))-6)
	blocks := 4 * c.Threads()
	ends := make([][spread]int, blocks)
	bad := newFirst()
	for o := range p.outer {
		from, src := p.of(o), s[o*p.n:(o+1)*p.n]
		c.Parallel(blocks, func(b int) {
			e, begin := &ends[b], p.n*b/blocks
			clear(e[:])
			for i, v := range from[begin : p.n*(b+1)/blocks] {
				at := place(v, p.extent)
				if uint(at) >= uint(p.extent) {
					bad.tell(p.positionOf(o, begin+i))
					return
				}
				e[at>>shift%spread]++
			}
		})
		if at := bad.get(); at >= 0 {
			return at, nil
		}
		var begins [spread + 1]int
		sum := 0
		for r := range spread {
			begins[r] = sum
			for b := range ends {
				ends[b][r], sum = sum, sum+ends[b][r]
			}
		}
		begins[spread] = sum
		c.Parallel(blocks, func(b int) {
			e, at := &ends[b], p.n*b/blocks
			for i, v := range from[at : p.n*(b+1)/blocks] {
				r := &e[place(v, p.extent)>>shift%spread]
				index[*r], values[*r] = v, src[at+i]
				*r++
			}
		})
		out := d[o*p.extent : (o+1)*p.extent]
		c.Parallel(spread, func(r int) {
			f.points(out, index[begins[r]:begins[r+1]], values[begins[r]:begins[r+1]])
		})
	}
	return -1, nil
}
