package attend

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// The gradients take blocks of Rows queries by Block keys, whose sums are part of
// the definition: here Rows does decide bits.

type backward struct {
	*call
	engine *Engine
	out    [2]Tensor
}

// newBackward makes the kernels of gradients ready.
func (e *Engine) newBackward(c *call, out []Tensor) (*backward, *loader) {
	c.folds = false
	l := &loader{Engine: e}
	c.load(l)
	for masked := range 2 {
		l.load(&c.back[masked], func() (*kernel.Kernel, error) { return backKernel(c.c, c.bias, masked > 0) }, "back", c.c, c.bias, masked)
	}
	first := tile{}
	for _, t := range []Tensor{c.q, c.dy} {
		c.loadCopy(l, c.queries(t, first))
		c.loadCopy(l, c.queries(t, first).transposed())
	}
	for _, t := range []Tensor{c.lse, c.sum} {
		c.loadCopy(l, c.queries(t, first).transposed())
	}
	c.loadSides(l)
	g := &backward{call: c, engine: e}
	copy(g.out[:], out)
	return g, l
}

func (g *backward) work(l *loader, tasks, columns int64, do func(*pair, int64)) (*kernel.Work, error) {
	if l.err != nil {
		return nil, l.err
	}
	return &kernel.Work{Phases: []kernel.Phase{{Tasks: tasks, Cost: g.cost(columns), Do: func(n int64) {
		s, _ := g.engine.scratch.Get().(*scratch)
		if s == nil {
			s = &scratch{}
		}
		defer g.engine.scratch.Put(s)
		do(g.newPair(s), n)
	}}}}, nil
}

// pair is the scratch memory for a block of queries and one of keys.
type pair struct {
	*scratch
	c              *call
	q, qt, dy, dyt matrix // the queries and their gradients, as rows and as columns
	k, v           matrix
	x, dp, p, ds   matrix
	b              matrix
	mask           mask
	lse, delta     matrix
	ones, room     matrix
	dk, dv, dq     *sum
	grid           [2]matrix // of a bias
}

func (g *backward) newPair(s *scratch) *pair {
	c := g.c
	side := int64(max(Rows, Block))
	s.reset(int64(c.Size())*side*(9*g.d+7*g.e+7*side+64) + 64*64)
	r := &pair{scratch: s, c: g.call, q: s.matrix(c, Rows, g.d), qt: s.turned(c, g.d), dy: s.matrix(c, Rows, g.e), dyt: s.turned(c, g.e),
		k: s.matrix(c, Block, g.d), v: s.matrix(c, Block, g.e), x: s.matrix(c, Block, Rows), dp: s.matrix(c, Block, Rows),
		p: s.matrix(c, Block, Rows), ds: s.matrix(c, Block, Rows), b: s.matrix(c, Block, Rows), mask: g.newMask(s),
		lse: s.matrix(c, 1, Rows), delta: s.matrix(c, 1, Rows), ones: s.matrix(c, side, 1), room: s.matrix(c, 1, 8),
		dk: g.newSum(s, Block, g.d), dv: g.newSum(s, Block, g.e), dq: g.newSum(s, Rows, g.d),
		grid: [2]matrix{s.matrix(c, Block, Rows), s.matrix(c, Block, Rows)}}
	r.ones.fill(side, 1)
	return r
}

// queries takes a block of queries in.
func (r *pair) queries(at tile) (q, dy matrix) {
	c := r.c
	r.rows(&r.q, &r.qt, c.queries(c.q, at), at.n, c.d)
	r.rows(&r.dy, &r.dyt, c.queries(c.dy, at), at.n, c.e)
	c.copy(r.scratch, r.lse, c.queries(c.lse, at).transposed(), 1, at.n)
	c.copy(r.scratch, r.delta, c.queries(c.sum, at).transposed(), 1, at.n)
	return r.q, r.dy
}

// rows copies a matrix as it is and transposed.
func (r *pair) rows(m, mt *matrix, from matrix, n, width int64) {
	r.c.copy(r.scratch, *m, from, n, width)
	r.c.columns(r.scratch, *mt, from, n, width)
}

// keys returns a block of keys and values.
func (r *pair) keys(batch, head, j, n int64) (k, v matrix) {
	c := r.c
	return c.block(r.scratch, r.k, c.head(c.k, batch, head), j, n, c.d, c.inPlaceK), c.block(r.scratch, r.v, c.head(c.v, batch, head), j, n, c.e, c.inPlaceV)
}

// scores computes p and ds of the queries that were taken in and keys, [keys, queries].
func (r *pair) scores(at tile, k, v matrix, j, n int64) {
	c := r.c
	c.products(r.scratch, r.x, k, r.qt, n, at.n, c.d)
	c.products(r.scratch, r.dp, v, r.dyt, n, at.n, c.e)
	args := append(c.sides(r.scratch, &r.mask, r.b, r.x, at, j, n),
		arg{r.dp, 0, 1}, arg{r.lse, -1, 1}, arg{r.delta, -1, 1}, arg{r.p, 0, 1}, arg{r.ds, 0, 1})
	masked, _ := c.masked(at, j, n)
	r.runWith(c.back[index(masked)], c.factor, [3]int64{n, at.n}, args)
}

// store writes sums, times a number, to a result.
func (r *pair) store(x kernel.Executable, to, from matrix, rows, cols int64, t float64) {
	if rows > 0 && cols > 0 {
		r.runWith(x, []uint64{ir.MakeScalar(r.c.c, t).Bits}, [3]int64{rows, cols}, []arg{{from, 0, 1}, {to, 0, 1}})
	}
}

func (c *call) loadStore(l *loader, columns kernel.Access) {
	l.load(&c.scaled, func() (*kernel.Kernel, error) { return scaleKernel(c.t, c.c, columns) }, "scale", c.t, c.c, columns)
}

// gradQ is dq, a task per tile of queries.
func (e *Engine) gradQ(c *call, out []Tensor) (*kernel.Work, error) {
	g, l := e.newBackward(c, out)
	c.loadStore(l, unit)
	per, heads := c.tiles()
	return g.work(l, per*heads*c.batches(), 2*c.d+c.e+16, func(r *pair, n int64) {
		at := c.tile(n)
		r.queries(at)
		run := func(add adder) {
			r.dq.reset(at.n, add)
			from, to := c.blocks(at)
			for b := from; b < to; b++ {
				j := b * Block
				n := min(Block, c.s-j)
				k, v := r.keys(at.batch, at.head/c.group, j, n)
				r.scores(at, k, v, j, n)
				r.dq.plus(r.scratch, r.ones, r.ds.transposed(), k, n)
			}
		}
		if run(c.add); c.hasNaN(r.scratch, r.dq, r.room) {
			run(c.guarded)
		}
		r.store(c.scaled, c.queries(g.out[0], at), r.dq.now, at.n, c.d, c.scale)
	})
}

// gradKV is dk and dv, a task per block of keys.
func (e *Engine) gradKV(c *call, out []Tensor) (*kernel.Work, error) {
	g, l := e.newBackward(c, out)
	c.loadStore(l, unit)
	heads, blocks := c.shared, (c.s+Block-1)/Block
	return g.work(l, blocks*heads*c.batches(), 2*(c.d+c.e)+16, func(r *pair, task int64) {
		j := task / (heads * c.batches()) * Block // the first keys are seen by most queries
		task %= heads * c.batches()
		batch, head, n := task/heads, task%heads, min(Block, c.s-j)
		k, v := r.keys(batch, head, j, n)
		run := func(add adder) {
			r.dk.reset(n, add)
			r.dv.reset(n, add)
			for h := head * c.group; h < (head+1)*c.group; h++ {
				for first := int64(0); first < c.l; first += Rows {
					at := tile{batch: batch, head: h, first: first, n: min(Rows, c.l-first)}
					if _, hidden := c.masked(at, j, n); hidden {
						continue
					}
					q, dy := r.queries(at)
					r.scores(at, k, v, j, n)
					r.dk.plus(r.scratch, r.ones, r.ds, q, at.n)
					r.dv.plus(r.scratch, r.ones, r.p, dy, at.n)
				}
			}
		}
		if run(c.add); c.hasNaN(r.scratch, r.dk, r.room) || c.hasNaN(r.scratch, r.dv, r.room) {
			run(c.guarded)
		}
		r.store(c.scaled, c.head(g.out[0], batch, head).rows(j), r.dk.now, n, c.d, c.scale)
		r.store(c.scaled, c.head(g.out[1], batch, head).rows(j), r.dv.now, n, c.e, 1)
	})
}

// gradBias is dbias, a task per block of elements of it: each is the sum of ds over
// the heads that it was broadcast to, in ascending order, and, where it was
// broadcast along queries or keys, over the blocks of these.
func (e *Engine) gradBias(c *call, out []Tensor) (*kernel.Work, error) {
	bias := out[0].Type.Shape
	extent := func(fromEnd int) int {
		if len(bias) < fromEnd {
			return 1
		}
		return bias[len(bias)-fromEnd]
	}
	sumKeys, sumQueries := extent(1) == 1 && c.s != 1, extent(2) == 1 && c.l != 1
	g, l := e.newBackward(c, []Tensor{spread(out[0], c.b.Type.Shape)})
	c.loadStore(l, any_)
	l.load(&c.gather, func() (*kernel.Kernel, error) { return sumKernel(c.c, sumKeys, sumQueries) }, "sum", c.c, sumKeys, sumQueries)
	groups := c.sharedBias(g.out[0])
	if len(groups) == 0 { // of no heads
		return &kernel.Work{Phases: []kernel.Phase{{Tasks: 1, Do: func(int64) { clearResult(out[0]) }}}}, l.err
	}
	keyBlocks, queryBlocks := (c.s+Block-1)/Block, (c.l+Rows-1)/Rows
	parts := func(all int64, sum bool) (tasks, each int64) {
		if sum {
			return 1, all
		}
		return all, 1
	}
	keyTasks, keysEach := parts(keyBlocks, sumKeys)
	queryTasks, queriesEach := parts(queryBlocks, sumQueries)
	return g.work(l, int64(len(groups))*keyTasks*queryTasks, 2*c.d+c.e+16, func(r *pair, task int64) {
		group := groups[task/(keyTasks*queryTasks)]
		j0, i0 := task%keyTasks*keysEach, task/keyTasks%queryTasks*queriesEach
		r.grid[0].fill(Block*Rows, 0)
		for _, h := range group {
			for i := i0; i < i0+queriesEach; i++ {
				at := tile{batch: h / c.heads, head: h % c.heads, first: i * Rows, n: min(Rows, c.l-i*Rows)}
				r.queries(at)
				for b := j0; b < j0+keysEach; b++ {
					j := b * Block
					n := min(Block, c.s-j)
					if _, hidden := c.masked(at, j, n); hidden {
						continue
					}
					k, v := r.keys(at.batch, at.head/c.group, j, n)
					r.scores(at, k, v, j, n)
					r.run(c.gather, [3]int64{n, at.n}, arg{r.ds, 0, 1}, along(r.grid[0], sumKeys, sumQueries), along(r.grid[1], sumKeys, sumQueries))
					r.grid[0], r.grid[1] = r.grid[1], r.grid[0]
				}
			}
		}
		rows, cols := min(Rows, c.l-i0*Rows), min(Block, c.s-j0*Block)
		if sumQueries {
			rows = 1
		}
		if sumKeys {
			cols = 1
		}
		to := c.head(g.out[0], group[0]/c.heads, group[0]%c.heads).rows(i0 * Rows)
		to.offset += j0 * Block * to.col
		r.store(c.scaled, to, r.grid[0].transposed(), rows, cols, 1)
	})
}

// along is a grid of sums as an argument, without the axes that are summed.
func along(m matrix, keys, queries bool) arg {
	a := arg{m, 0, 1}
	if keys {
		a.row = -1
	}
	if queries {
		a.col = -1
	}
	return a
}

// sharedBias lists, for each matrix of a bias, the heads that have it, counted over
// batches.
func (c *call) sharedBias(t Tensor) [][]int64 {
	at := map[int64]int{}
	var out [][]int64
	for h := range c.batches() * c.heads {
		o := c.head(t, h/c.heads, h%c.heads).offset
		i, ok := at[o]
		if !ok {
			i = len(out)
			at[o], out = i, append(out, nil)
		}
		out[i] = append(out[i], h)
	}
	return out
}
