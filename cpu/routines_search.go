package cpu

import (
	"github.com/sinter-go/sinter/internal/keysort"
)

func init() {
	search := byBits{searchSorted[uint8], searchSorted[uint16], searchSorted[uint32], searchSorted[uint64]}
	builtinRoutines["searchsorted"] = func(c *Call) error { return search.run(c, false) }
	distinct := byBits{unique[uint8], unique[uint16], unique[uint32], unique[uint64]}
	builtinRoutines["unique"] = func(c *Call) error { return distinct.run(c, false) }
}

// blockSize is how many elements of a tensor one task takes.
const blockSize = 1 << 14

// inBlocks shares the elements from 0 to n-1 among the threads.
func inBlocks(c *Call, n int, do func(from, to int)) {
	blocks := (n + blockSize - 1) / blockSize
	if blocks <= 1 {
		do(0, n)
		return
	}
	c.Parallel(blocks, func(b int) { do(b*blockSize, min((b+1)*blockSize, n)) })
}

func searchSorted[T keysort.Bits](c *Call, order keysort.Order[T]) error {
	right := c.Node.Attr("right").Bool()
	x, z := c.In[0].Type.Shape, c.In[1].Type.Shape
	extent, each := x[len(x)-1], z.Size() // the z that one row of x serves
	if len(x) > 1 {
		each = z[len(z)-1]
	}
	sorted, wanted, y := view[T](c.In[0].Data), view[T](c.In[1].Data), view[int64](c.Out[0].Data)
	if extent == 0 {
		clear(y)
		return nil
	}
	w, err := c.Scratch(len(c.In[0].Data))
	if err != nil {
		return err
	}
	keys := view[T](w)
	inBlocks(c, len(keys), func(from, to int) { order.Keys(keys[from:to], sorted[from:], 1) })
	inBlocks(c, len(y), func(from, to int) {
		for from < to {
			row := from / each
			end := min(to, (row+1)*each)
			keysort.Search(y[from:end], keys[row*extent:(row+1)*extent], wanted[from:end], order, right)
			from = end
		}
	})
	return nil
}

func unique[T keysort.Bits](c *Call, order keysort.Order[T]) error {
	n := c.In[0].Type.Shape.Size()
	if err := sortable(n); err != nil {
		return err
	}
	s := &laneSort[T]{order: order, extent: n, inner: 1, x: view[T](c.In[0].Data)}
	most, y := c.Out[0].Type.Shape[0], view[T](c.Out[0].Data)
	inverse, counts := view[int64](c.Out[1].Data), view[int64](c.Out[2].Data)
	if n == 0 {
		clear(y)
		clear(counts)
		clear(c.Out[3].Data)
		return nil
	}
	w, err := words(c, s.words(n))
	if err != nil {
		return err
	}
	l := s.space(w, n)
	sorted := s.sort(c, l, 0)
	keys := l.items // in order, where the sorted items are not
	if &keys[0] == &sorted[0] {
		keys = l.tmp
	}
	inBlocks(c, n, func(from, to int) {
		for i, v := range sorted[from:to] {
			if keys[from+i] = v >> 32; s.wide() {
				keys[from+i] = l.keys[uint32(v)]
			}
		}
	})
	blocks := (n + blockSize - 1) / blockSize
	first := make([]int, blocks+1) // changes before each block
	c.Parallel(blocks, func(b int) {
		from, to := b*blockSize, min((b+1)*blockSize, n)
		count := 0
		for i := max(from, 1); i < to; i++ {
			if keys[i] != keys[i-1] {
				count++
			}
		}
		first[b+1] = count
	})
	for b := range blocks {
		first[b+1] += first[b]
	}
	c.Parallel(blocks, func(b int) {
		from, to := b*blockSize, min((b+1)*blockSize, n)
		count := first[b]
		for i := from; i < to; i++ {
			at := uint32(sorted[i])
			if i == 0 || keys[i] != keys[i-1] {
				if i > 0 {
					count++
				}
				if count < most { // the first of equal ones stands for all
					y[count], counts[count] = s.x[at], int64(i)
				}
			}
			inverse[at] = int64(count)
		}
	})
	count := first[blocks] + 1
	kept := min(count, most)
	for i := range kept { // counts has where the equal ones begin
		begin, end := counts[i], int64(n)
		if i+1 < kept {
			end = counts[i+1]
		} else if kept < count {
			for end = begin + 1; keys[end] == keys[begin]; end++ {
			}
		}
		counts[i] = end - begin
	}
	clear(y[kept:])
	clear(counts[kept:])
	view[int64](c.Out[3].Data)[0] = int64(count)
	return nil
}
