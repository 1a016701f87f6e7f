package attend

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Tensor is an operand or a result in memory. Results are row-major.
type Tensor = kernel.Tensor

// rows are those that Work takes.
var rows = map[string]func(e *Engine, c *call, out []Tensor) (*kernel.Work, error){
	"attention":           (*Engine).forward,
	"attention_bias":      (*Engine).forward,
	"attention_grad_q":    (*Engine).gradQ,
	"attention_grad_kv":   (*Engine).gradKV,
	"attention_grad_bias": (*Engine).gradBias,
}

// Supports reports whether Work takes nodes of a row.
func Supports(r *ir.Row) bool { return rows[r.Name] != nil }

// clearResult makes the elements of a result 0.
func clearResult(t Tensor) {
	n := t.Type.Bytes()
	if n > 0 {
		clear(unsafe.Slice((*byte)(unsafe.Add(t.Operand.Base, t.Operand.Offset*int64(t.Type.DType.Size()))), n))
	}
}

// Work makes work of a node of access [ir.Recurrence]. The tensors stay as they are
// until its phases are through. The error is one of the device's compiler, or of
// kind ir.ErrUnsupported.
func (e *Engine) Work(n *ir.Node, in, out []Tensor) (*kernel.Work, error) {
	make := rows[n.Row.Name]
	if make == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "there is no recurrence for the row %s", n.Row.Name)
	}
	return make(e, newCall(n, in), out)
}

// call is one application of attention.
type call struct {
	t, c ir.DType // of the operands, and computed in

	batch                    []int // leading extents
	heads, shared, group     int64 // heads of queries and of keys, and how many of them share one
	l, s, d, e               int64
	causal                   bool
	window                   int64
	scale                    float64
	factor                   []uint64 // that of the products, to the base 2: a launch parameter
	bias                     biasKind
	q, k, v, b, dy, lse, sum Tensor // b is the bias, sum is delta

	kernels
	inPlaceK, inPlaceV bool // keys and values are read where they lie
	folds              bool // tasks take the only queries of heads that share keys together
}

func newCall(n *ir.Node, in []Tensor) *call {
	q, k, v := in[0].Type.Shape, in[1].Type.Shape, in[2].Type.Shape
	r := len(q)
	c := &call{t: in[0].Type.DType, c: in[0].Type.DType.Compute(), batch: q[:r-3], heads: int64(q[r-3]), shared: int64(k[r-3]), group: int64(q[r-3] / k[r-3]),
		l: int64(q[r-2]), s: int64(k[r-2]), d: int64(q[r-1]), e: int64(v[r-1]),
		causal: n.Attr("causal").Bool(), window: n.Attr("window").Int, scale: ir.AttentionScale(n.Attr("scale").Float(), q[r-1]),
		q: in[0], k: in[1], v: in[2]}
	c.factor = []uint64{ir.MakeScalar(c.c, c.scale*math.Log2E).Bits}
	c.folds = c.l == 1 && c.group > 1
	if len(in) > 3 {
		c.b, c.bias = spread(in[3], append(q[:r-1:r-1], k[r-2])), keyBias
		if c.folds || c.b.Operand.Strides[r-2] != 0 {
			c.bias = fullBias
		}
	}
	if len(in) > 4 {
		c.dy, c.lse, c.sum = in[4], in[5], in[6]
	}
	c.inPlaceK = c.t == c.c && c.k.Operand.Strides[r-1] == 1
	c.inPlaceV = c.t == c.c && c.v.Operand.Strides[r-1] == 1
	return c
}

// spread gives a tensor the strides of a shape that it broadcasts to.
func spread(t Tensor, shape ir.Shape) Tensor {
	from := t.Type.Shape
	strides := make([]int64, len(shape))
	off := len(shape) - len(from)
	for i, d := range from {
		if d != 1 {
			strides[off+i] = t.Operand.Strides[i]
		}
	}
	t.Type.Shape, t.Operand.Strides = shape, strides
	return t
}

// batches is the number of leading indices.
func (c *call) batches() int64 { return int64(ir.Shape(c.batch).Size()) }

// head returns the matrix of a head: the last two axes, or, of a statistic, the
// last one as its rows.
func (c *call) head(t Tensor, batch, head int64) matrix {
	o := &t.Operand
	n := len(c.batch)
	m := matrix{typ: t.Type.DType, base: o.Base, size: o.Size, offset: o.Offset + head*o.Strides[n], row: o.Strides[n+1]}
	if len(o.Strides) > n+2 {
		m.col = o.Strides[n+2]
	}
	for i := n - 1; i >= 0; i-- {
		d := max(1, int64(c.batch[i]))
		m.offset += batch % d * o.Strides[i]
		batch /= d
	}
	return m
}

// tile is the queries of a task.
type tile struct {
	batch, head int64 // of the first query
	first, n    int64 // queries from first on, or heads if folded
	folded      bool  // the only queries of neighbouring heads that share keys
}

// tiles returns how many tasks the queries make per head, and how many heads there
// are, those that are taken together counted once.
func (c *call) tiles() (perHead, heads int64) {
	if c.folds {
		return (c.group + Rows - 1) / Rows, c.shared
	}
	return (c.l + Rows - 1) / Rows, c.heads
}

// tile returns the queries of task n. Those that see most keys come first.
func (c *call) tile(n int64) tile {
	per, heads := c.tiles()
	at := per - 1 - n/(heads*c.batches())
	n %= heads * c.batches()
	t := tile{batch: n / heads, head: n % heads, first: at * Rows}
	if c.folds {
		t.folded = true
		t.head, t.n = t.head*c.group+t.first, min(Rows, c.group-t.first)
		t.first = 0
		return t
	}
	t.n = min(Rows, c.l-t.first)
	return t
}

// queries returns the rows of a tile in a tensor that has a row per query.
func (c *call) queries(t Tensor, at tile) matrix {
	m := c.head(t, at.batch, at.head)
	if at.folded {
		m.row = t.Operand.Strides[len(c.batch)]
		return m
	}
	return m.rows(at.first)
}

// sees returns the first and last key of query i of a tile.
func (c *call) sees(at tile, i int64) (from, to int64) {
	if at.folded {
		i = 0
	}
	pos := at.first + i + c.s - c.l
	to = c.s - 1
	if c.causal {
		to = min(to, pos)
	}
	if c.window > 0 {
		from = max(0, pos-c.window+1)
	}
	return from, to
}

// masked reports whether a query of a tile does not see all of the keys j to
// j+n-1, and hidden whether none of them sees any.
func (c *call) masked(at tile, j, n int64) (masked, hidden bool) {
	from0, to0 := c.sees(at, 0)
	from1, to1 := c.sees(at, at.n-1)
	return from1 > j || to0 < j+n-1, to1 < j || from0 > j+n-1
}

// blocks returns the range of blocks of keys of which a tile may see some; it may be
// empty, or end before it begins.
func (c *call) blocks(at tile) (from, to int64) {
	first, _ := c.sees(at, 0)
	_, last := c.sees(at, at.n-1)
	return first / Block, (last + Block) / Block // last is below 0 where there is none
}

// cost is the work of products of so many columns over all scores.
func (c *call) cost(columns int64) int64 {
	n := c.batches() * c.heads * c.l
	if limit := int64(1) << 40; n > limit/max(c.s*columns, 1) {
		return limit
	}
	return n * c.s * columns
}
