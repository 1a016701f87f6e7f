package cpu

import "math/bits"

func init() { builtinRoutines["nonzero"] = nonzero }

// nonzero counts the true elements of each block, so that every block knows where
// its coordinates go.
func nonzero(c *Call) error {
	shape, x := c.In[0].Type.Shape, c.In[0].Data
	rows, rank := c.Out[0].Type.Shape[0], len(shape)
	coords := view[int64](c.Out[0].Data)
	blocks := (len(x) + blockSize - 1) / blockSize
	before := make([]int, blocks+1)
	c.Parallel(blocks, func(b int) { before[b+1] = trues(x[b*blockSize : min((b+1)*blockSize, len(x))]) })
	for b := range blocks {
		before[b+1] += before[b]
	}
	count := before[blocks]
	if rank > 0 {
		c.Parallel(blocks, func(b int) {
			first, last := before[b], min(before[b+1], rows)
			if first < last {
				from := b * blockSize
				locate(coords[first*rank:last*rank], x[from:min(from+blockSize, len(x))], shape, from)
			}
		})
	}
	for i := min(count, rows) * rank; i < rows*rank; i++ {
		coords[i] = -1
	}
	view[int64](c.Out[1].Data)[0] = int64(count)
	return nil
}

// trues counts the bytes that are not 0.
func trues(x []byte) int {
	const low = 0x7f7f7f7f7f7f7f7f
	n := 0
	words := view[uint64](x[:len(x)/8*8])
	for _, w := range words {
		n += bits.OnesCount64(((w&low + low) | w) &^ low)
	}
	for _, v := range x[len(words)*8:] {
		if v != 0 {
			n++
		}
	}
	return n
}

// locate writes the coordinates of the true elements of x, whose first has the
// number from in a tensor of the shape, until there is no more room.
func locate(coords []int64, x []byte, shape []int, from int) {
	rank := len(shape)
	last := shape[rank-1]
	at := make([]int64, rank) // of the beginning of the row; the last one is not used
	for i, rest := rank-2, from/last; i >= 0; i-- {
		at[i], rest = int64(rest%shape[i]), rest/shape[i]
	}
	column := from % last
	for {
		row := x[:min(len(x), last-column)]
		for j, v := range row {
			if v == 0 {
				continue
			}
			if rank > 1 {
				copy(coords, at[:rank-1])
			}
			coords[rank-1] = int64(column + j)
			if coords = coords[rank:]; len(coords) == 0 {
				return
			}
		}
		x, column = x[len(row):], 0
		for i := rank - 2; i >= 0; i-- {
			if at[i]++; at[i] < int64(shape[i]) {
				break
			}
			at[i] = 0
		}
	}
}
