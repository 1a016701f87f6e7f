package attend

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// load makes the kernels that every call needs.
func (c *call) load(l *loader) {
	if l.level != nil {
		c.micro, c.panels = tilesOf(*l.level, c.c), amd64.PanelsOf(*l.level, c.c.Size())
		c.add.micro = c.micro
	}
	l.load(&c.product, func() (*kernel.Kernel, error) { return productKernel(c.c) }, "product", c.c)
	l.load(&c.add.x, func() (*kernel.Kernel, error) { return addKernel(c.c, false) }, "add", c.c)
	l.load(&c.guarded.x, func() (*kernel.Kernel, error) { return addKernel(c.c, true) }, "guarded", c.c)
	l.load(&c.greatest, func() (*kernel.Kernel, error) { return greatestKernel(c.c) }, "greatest", c.c)
	c.copies = map[[3]uint8]kernel.Executable{}
}

// loadCopy makes the kernel ready that copies matrices laid out like m.
func (c *call) loadCopy(l *loader, m matrix) {
	row, col := access(m.row), access(m.col)
	if row == unit && col == unit { // one row, or one column
		row = any_
	}
	var x kernel.Executable
	l.load(&x, func() (*kernel.Kernel, error) { return copyKernel(m.typ, c.c, row, col) }, "copy", m.typ, c.c, row, col)
	c.copies[[3]uint8{uint8(m.typ), uint8(row), uint8(col)}] = x
}

// copy converts a matrix into scratch memory.
func (c *call) copy(s *scratch, to, from matrix, rows, cols int64) {
	if rows == 0 || cols == 0 {
		return
	}
	row, col := access(from.row), access(from.col)
	if row == unit && col == unit {
		row = any_
	}
	s.run(c.copies[[3]uint8{uint8(from.typ), uint8(row), uint8(col)}], [3]int64{rows, cols}, arg{from, 0, 1}, arg{to, 0, 1})
}

// columns copies the n rows of a matrix as columns.
func (c *call) columns(s *scratch, to, from matrix, n, width int64) {
	if c.panels != nil && from.typ == c.c && from.col == 1 && n > 0 && width > 0 {
		s.turn(c.panels, to, from, n, width)
		return
	}
	c.copy(s, to, from.transposed(), width, n)
}

// turned takes room for columns from the scratch memory, and what turn needs beyond.
func (s *scratch) turned(c ir.DType, width int64) matrix { return s.matrix(c, width+16, Rows) }

// mask is what hides keys inside a block: the numbers of the keys in it, and per
// query the first and the last that it sees, all as floats, which hold them exactly.
type mask struct{ keys, from, to matrix }

func (c *call) newMask(s *scratch) mask {
	m := mask{s.matrix(c.c, 1, Block), s.matrix(c.c, 1, Rows), s.matrix(c.c, 1, Rows)}
	for j := range int64(Block) {
		m.keys.set(j, float64(j))
	}
	m.keys = m.keys.transposed()
	return m
}

// set writes a small number to a vector in scratch memory.
func (m matrix) set(i int64, v float64) {
	p := unsafe.Add(m.base, (m.offset+i)*int64(m.typ.Size()))
	if m.typ == ir.F64 {
		*(*float64)(p) = v
	} else {
		*(*float32)(p) = float32(v)
	}
}

func (m matrix) get(i int64) float64 {
	p := unsafe.Add(m.base, (m.offset+i)*int64(m.typ.Size()))
	if m.typ == ir.F64 {
		return *(*float64)(p)
	}
	return float64(*(*float32)(p))
}

// fill writes n adjacent elements.
func (m matrix) fill(n int64, v float64) {
	p := unsafe.Add(m.base, m.offset*int64(m.typ.Size()))
	if m.typ == ir.F64 {
		fill(unsafe.Slice((*float64)(p), n), v)
	} else {
		fill(unsafe.Slice((*float32)(p), n), float32(v))
	}
}

func fill[T float32 | float64](x []T, v T) {
	if v == 0 {
		clear(x)
		return
	}
	for i := range x {
		x[i] = v
	}
}

// at sets the mask for the block of keys from j on.
func (m *mask) at(c *call, t tile, j int64) {
	for i := range t.n {
		from, to := c.sees(t, i)
		m.from.set(i, float64(max(from-j, 0)))
		m.to.set(i, float64(max(min(to-j, Block), -1)))
	}
}

// operand is a block of keys or values: where it lies, or a copy.
func (c *call) block(s *scratch, room, whole matrix, j, n, width int64, inPlace bool) matrix {
	m := whole.rows(j)
	if inPlace {
		return m
	}
	c.copy(s, room, m, n, width)
	return room
}

// products writes x · z, for rows x [n, k] and columns z [k, m], zeros if k is 0.
func (c *call) products(s *scratch, out, x, z matrix, n, m, k int64) {
	if k == 0 {
		for i := range n {
			out.rows(i).fill(m, 0)
		}
		return
	}
	if c.micro != nil {
		s.multiply(c.micro, out, x, z, n, m, k, nil)
		return
	}
	s.run(c.product, [3]int64{n, m, k}, arg{x, 0, 2}, arg{z, 2, 1}, arg{out, 0, 1})
}

// adder is what takes products into sums.
type adder struct {
	micro *amd64.Tiles // if not nil, in place of x
	x     kernel.Executable
}

// sum is a matrix of running sums [n, width] and the room of the next ones: kernels
// of several passes do not write over what they read.
type sum struct {
	now, next matrix
	n, width  int64
	add       adder
}

func (c *call) newSum(s *scratch, rows, width int64) *sum {
	return &sum{now: s.matrix(c.c, rows, width), next: s.matrix(c.c, rows, width), width: width}
}

// reset starts again from 0, for n rows.
func (a *sum) reset(n int64, add adder) {
	a.n, a.add = n, add
	a.now.fill(n*a.width, 0)
}

// plus takes in w · x over k rows of x; the sums there are are multiplied by factor,
// a vector with an element per row.
func (a *sum) plus(s *scratch, factor, w, x matrix, k int64) {
	if a.width == 0 {
		return
	}
	if a.add.micro != nil {
		s.multiply(a.add.micro, a.now, w, x, a.n, a.width, k, &factor)
		return
	}
	s.run(a.add.x, [3]int64{a.n, a.width, k}, arg{w, 0, 2}, arg{x, 2, 1}, arg{a.now, 0, 1}, arg{factor, 0, -1}, arg{a.next, 0, 1})
	a.now, a.next = a.next, a.now
}

// hasNaN reports whether a sum is not a number. See the package comment.
func (c *call) hasNaN(s *scratch, a *sum, room matrix) bool {
	if a.n*a.width == 0 {
		return false
	}
	whole := a.now
	whole.row, whole.col = 1, 0
	s.run(c.greatest, [3]int64{a.n * a.width}, arg{whole, 0, -1}, arg{room, -1, -1})
	v := room.get(0)
	return v != v
}
