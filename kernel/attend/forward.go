package attend

import (
	"math"

	"github.com/sinter-go/sinter/kernel"
)

// forward is y and lse, a task per tile of queries.
func (e *Engine) forward(c *call, out []Tensor) (*kernel.Work, error) {
	l := &loader{Engine: e}
	c.load(l)
	for masked := range 2 {
		l.load(&c.weights[masked], func() (*kernel.Kernel, error) { return weightsKernel(c.c, c.bias, masked > 0) }, "weights", c.c, c.bias, masked)
	}
	l.load(&c.divide, func() (*kernel.Kernel, error) { return divideKernel(c.t, c.c) }, "divide", c.t, c.c)
	l.load(&c.stat, func() (*kernel.Kernel, error) { return statKernel(c.c) }, "lse", c.c)
	per, heads := c.tiles()
	c.loadCopy(l, c.queries(c.q, tile{folded: c.folds}).transposed())
	c.loadSides(l)
	if l.err != nil {
		return nil, l.err
	}
	f := &forward{call: c, engine: e, y: out[0], lse: out[1]}
	return &kernel.Work{Phases: []kernel.Phase{{Tasks: per * heads * c.batches(), Cost: c.cost(c.d + c.e + 16), Do: f.task}}}, nil
}

// loadSides makes the copies of keys, values and bias ready.
func (c *call) loadSides(l *loader) {
	if !c.inPlaceK {
		c.loadCopy(l, c.head(c.k, 0, 0))
	}
	if !c.inPlaceV {
		c.loadCopy(l, c.head(c.v, 0, 0))
	}
	if c.bias != noBias {
		c.loadCopy(l, c.biasOf(tile{folded: c.folds}, 0))
	}
}

// biasOf is the bias of a tile from key j on, [keys, queries].
func (c *call) biasOf(at tile, j int64) matrix { return c.queries(c.b, at).transposed().rows(j) }

type forward struct {
	*call
	engine *Engine
	y, lse Tensor
}

// room is the scratch memory of a task over a tile of queries.
type room struct {
	*scratch
	q             matrix // transposed
	k, v, x, p, b matrix
	kt            matrix // keys as columns
	mask          mask
	m, l          [2]matrix
	a, one        matrix
	acc           *sum
}

func (f *forward) newRoom(s *scratch) *room {
	c := f.c
	size := int64(c.Size())
	s.reset(size*(2*(f.d+16)*Rows+Block*(f.d+f.e+3*Rows)+2*Rows*f.e+16*Rows) + 32*64)
	r := &room{scratch: s, q: s.turned(c, f.d), k: s.matrix(c, Block, f.d), kt: s.turned(c, f.d), v: s.matrix(c, Block, f.e),
		x: s.matrix(c, Block, Rows), p: s.matrix(c, Block, Rows), b: s.matrix(c, Block, Rows), mask: f.newMask(s),
		a: s.matrix(c, 1, Rows), one: s.matrix(c, 1, 8), acc: f.newSum(s, Rows, f.e)}
	for i := range 2 {
		r.m[i], r.l[i] = s.matrix(c, 1, Rows), s.matrix(c, 1, Rows)
	}
	return r
}

func (f *forward) task(n int64) {
	s, _ := f.engine.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	defer f.engine.scratch.Put(s)
	at := f.tile(n)
	r := f.newRoom(s)
	f.columns(s, r.q, f.queries(f.q, at), at.n, f.d)
	f.walk(r, at, f.add)
	if f.hasNaN(s, r.acc, r.one) {
		f.walk(r, at, f.guarded)
	}
	l := r.l[0].transposed() // by rows
	if f.e > 0 {
		s.run(f.divide, [3]int64{at.n, f.e}, arg{r.acc.now, 0, 1}, arg{l, 0, -1}, arg{f.queries(f.y, at), 0, 1})
	}
	s.run(f.stat, [3]int64{at.n}, arg{r.m[0].transposed(), 0, -1}, arg{l, 0, -1}, arg{f.queries(f.lse, at), 0, -1})
}

// walk runs the recurrence of a tile over the blocks of keys. The greatest scores
// and the sums end in m[0] and l[0].
func (f *forward) walk(r *room, at tile, add adder) {
	head := at.head / f.group
	k, v := f.head(f.k, at.batch, head), f.head(f.v, at.batch, head)
	r.acc.reset(at.n, add)
	r.m[0].fill(at.n, math.Inf(-1))
	r.l[0].fill(at.n, 0)
	from, to := f.blocks(at)
	for b := from; b < to; b++ {
		j := b * Block
		n := min(Block, f.s-j)
		kb := f.block(r.scratch, r.k, k, j, n, f.d, f.inPlaceK)
		x := r.x
		if at.n == 1 && f.panels != nil && kb.col == 1 && f.d > 0 { // lanes are keys
			x.row = 1
			r.turn(f.panels, r.kt, kb, n, f.d)
			r.multiply(f.micro, x.transposed(), r.q.transposed(), r.kt, 1, n, f.d, nil)
		} else {
			f.products(r.scratch, x, kb, r.q, n, at.n, f.d)
		}
		args := append(f.sides(r.scratch, &r.mask, r.b, x, at, j, n),
			arg{r.m[0], -1, 1}, arg{r.l[0], -1, 1}, arg{r.p, 0, 1}, arg{r.m[1], -1, 1}, arg{r.l[1], -1, 1}, arg{r.a, -1, 1})
		masked, _ := f.masked(at, j, n)
		r.runWith(f.weights[index(masked)], f.factor, [3]int64{n, at.n}, args)
		r.m[0], r.m[1], r.l[0], r.l[1] = r.m[1], r.m[0], r.l[1], r.l[0]
		vb := f.block(r.scratch, r.v, v, j, n, f.e, f.inPlaceV)
		r.acc.plus(r.scratch, r.a.transposed(), r.p.transposed(), vb, n)
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sides are the arguments of what the scores of a block of keys are made of, with room
// for more.
func (c *call) sides(s *scratch, m *mask, room, x matrix, at tile, j, n int64) []arg {
	args := append(s.list[:0], arg{x, 0, 1})
	if c.bias != noBias {
		b := c.biasOf(at, j)
		if c.bias == keyBias { // a column
			room.row = 1
			c.copy(s, room, b, n, 1)
			args = append(args, arg{room, 0, -1})
		} else {
			c.copy(s, room, b, n, at.n)
			args = append(args, arg{room, 0, 1})
		}
	}
	if masked, _ := c.masked(at, j, n); masked {
		m.at(c, at, j)
		args = append(args, arg{m.keys, 0, -1}, arg{m.from, -1, 1}, arg{m.to, -1, 1})
	}
	return args
}
