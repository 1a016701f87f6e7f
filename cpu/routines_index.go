package cpu

import (
	"github.com/sinter-go/sinter/ir"
)

func init() {
	builtinRoutines["scatter_add"] = scatterAdd
	builtinRoutines["scatter_along"] = scatterAlong
	builtinRoutines["scatter_nd"] = scatterND
	builtinRoutines["gather_nd"] = gatherND
}

// scatterAdd adds the slices of z to those of x in ascending source order, each
// sum rounded to the dtype: a left fold, whatever the threads.
func scatterAdd(c *Call) error {
	shape := c.In[0].Type.Shape
	axis, err := ir.Axis(int(c.Node.Attr("axis").Int), len(shape))
	if err != nil {
		return err
	}
	p := &placing{index: view[int64](c.In[1].Data)}
	p.n = len(p.index)
	p.outer, p.extent, p.inner = split(shape, axis, 1)
	at := -1
	if p.outer*p.inner != 1 {
		at = outside(c, p.index, p.extent)
	}
	if at < 0 {
		copyAll(c, c.Out[0].Data, c.In[0].Data)
		at, err = p.put(c, ir.PutAdd, c.Out[0], c.In[2])
	}
	if at >= 0 {
		return ir.Errorf(ir.ErrData, "index out of range: index[%d] is %d, the axis has extent %d", at, p.index[at], p.extent)
	}
	return err
}

// copyAll copies bytes, in blocks that threads share.
func copyAll(c *Call, to, from []byte) {
	const block = 1 << 20
	blocks := (len(to) + block - 1) / block
	c.Parallel(blocks, func(b int) {
		end := min((b+1)*block, len(to))
		copy(to[b*block:end], from[b*block:end])
	})
}

func scatterAlong(c *Call) error {
	x, index, z := c.In[0], c.In[1], c.In[2]
	shape := z.Type.Shape
	axis, err := ir.Axis(int(c.Node.Attr("axis").Int), len(shape))
	if err != nil {
		return err
	}
	p := &placing{n: shape[axis], own: true, index: view[int64](index.Data)}
	p.outer, p.extent, p.inner = split(x.Type.Shape, axis, 1)
	same := index.Type.Shape.Equal(shape)
	at := -1
	if shape.Size() > 0 && !(same && p.inner == 1) {
		at = outside(c, p.index, p.extent)
	}
	if at < 0 {
		if !same {
			if p.index, err = expand(c, p.index, index.Type.Shape, shape); err != nil {
				return err
			}
		}
		copyAll(c, c.Out[0].Data, x.Data)
		at, err = p.put(c, int(c.Node.Attr("mode").Int), c.Out[0], z)
	}
	if at >= 0 {
		return outOfRange(index.Type.Shape, at, p.index[at], axis, p.extent)
	}
	return err
}

// expand broadcasts an index to a shape.
func expand(c *Call, index []int64, from, to ir.Shape) ([]int64, error) {
	all, err := indices(c, to.Size())
	if err != nil || len(all) == 0 {
		return nil, err
	}
	strides := from.Strides()
	for i, d := range from {
		if d == 1 {
			strides[i] = 0
		}
	}
	last := len(to) - 1
	at, rows := make([]int, last), all
	for len(rows) > 0 {
		p := int64(0)
		for i, a := range at {
			p += int64(a) * strides[i]
		}
		for j := range to[last] {
			rows[j] = index[p+int64(j)*strides[last]]
		}
		rows = rows[to[last]:]
		for i := last - 1; i >= 0; i-- {
			if at[i]++; at[i] < to[i] {
				break
			}
			at[i] = 0
		}
	}
	return all, nil
}

// indices returns workspace for indices.
func indices(c *Call, n int) ([]int64, error) {
	b, err := c.Scratch(8 * n)
	return view[int64](b), err
}

// rowsOf finds the rows that the coordinates in the last axis of index name.
func rowsOf(c *Call, x, index Host) (*placing, error) {
	shape, s := x.Type.Shape, index.Type.Shape
	axis, err := ir.Axis(int(c.Node.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	count := s[len(s)-1]
	p := &placing{n: s[:len(s)-1].Size()}
	p.outer, p.extent, p.inner = split(shape, axis, count)
	if p.outer*p.n*p.inner == 0 {
		p.n = 0
		return p, nil
	}
	values := view[int64](index.Data)
	if count == 1 {
		if at := outside(c, values, p.extent); at >= 0 {
			return nil, outOfRange(s, at, values[at], axis, p.extent)
		}
		p.index = values
		return p, nil
	}
	if p.index, err = indices(c, p.n); err != nil {
		return nil, err
	}
	axes := shape[axis : axis+count]
	inside := func(at, axis int) bool {
		return uint64(values[at])+uint64(axes[axis]) < 2*uint64(axes[axis])
	}
	faults := make([]bool, (p.n+blockSize-1)/blockSize)
	inBlocks(c, p.n, func(from, to int) {
		fault := false
		for i := from; i < to; i++ {
			row := 0
			for k, v := range values[i*count : (i+1)*count] {
				fault = fault || !inside(i*count+k, k)
				row = row*axes[k] + place(v, axes[k])
			}
			p.index[i] = int64(row)
		}
		faults[from/blockSize] = fault
	})
	for b, fault := range faults {
		for i := b * blockSize * count; fault; i++ { // the first one in the block
			if k := i % count; !inside(i, k) {
				return nil, outOfRange(s, i, values[i], axis+k, axes[k])
			}
		}
	}
	return p, nil
}

func gatherND(c *Call) error {
	p, err := rowsOf(c, c.In[0], c.In[1])
	if err != nil {
		return err
	}
	x, y, size := c.In[0].Data, c.Out[0].Data, c.In[0].Type.DType.Size()
	switch row := p.inner * size; row {
	case 1:
		takeElements[uint8](c, p, y, x)
	case 2:
		takeElements[uint16](c, p, y, x)
	case 4:
		takeElements[uint32](c, p, y, x)
	case 8:
		takeElements[uint64](c, p, y, x)
	default:
		rows := max(1, blockSize/max(1, row))
		blocks := (p.n + rows - 1) / rows
		c.Parallel(p.outer*blocks, func(t int) {
			o, b := t/blocks, t%blocks
			for i := b * rows; i < min((b+1)*rows, p.n); i++ {
				from := (o*p.extent + place(p.index[i], p.extent)) * row
				copy(y[(o*p.n+i)*row:][:row], x[from:][:row])
			}
		})
	}
	return nil
}

// takeElements takes rows that are as long as a T.
func takeElements[T any](c *Call, p *placing, y, x []byte) {
	to, from := view[T](y), view[T](x)
	for o := range p.outer {
		to, from := to[o*p.n:(o+1)*p.n], from[o*p.extent:(o+1)*p.extent]
		inBlocks(c, p.n, func(first, last int) {
			to := to[first:last]
			for i, v := range p.index[first:last] {
				to[i] = from[place(v, p.extent)]
			}
		})
	}
}

func scatterND(c *Call) error {
	p, err := rowsOf(c, c.In[0], c.In[1])
	if err != nil {
		return err
	}
	copyAll(c, c.Out[0].Data, c.In[0].Data)
	_, err = p.put(c, int(c.Node.Attr("mode").Int), c.Out[0], c.In[2])
	return err
}
