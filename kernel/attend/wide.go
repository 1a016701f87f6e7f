package attend

import (
	"fmt"
	"math"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// Wide makes attention for devices that run large kernels well and small ones badly:
// the same recurrence, a step of it for all queries of all heads at once. Its bits are
// those of [Engine]: a block of hidden keys changes nothing, and weights of 0 never take
// part, which is what a task of the engine comes to when a result of it has a NaN. Its
// scratch memory grows with the number of queries, times that of keys of a block, or
// the other way round.
//
// It is safe for concurrent use.
type Wide struct {
	mu   sync.Mutex
	made map[string]*kernel.Kernel // few: dtypes, access classes, kinds of mask
}

// Step is one kernel over memory: of the operands, in order, then the results, then
// scratch. Kernels are the same ones from call to call.
type Step struct {
	Kernel  *kernel.Kernel
	Extents []int64
	Args    []StepArg
	Params  []uint64
}

// StepArg is an argument of a step.
type StepArg struct {
	Memory  int // which
	Offset  int64
	Strides []int64
}

// maxLeading bounds the leading axes: kernels have six beside them at most.
const maxLeading = kernel.MaxAxes - 5

// Plan returns the steps of a node, and the bytes of each scratch memory that they
// use; nil if the node is better run on the host: a gradient of a bias, vectors of no
// elements, or many leading axes. Bases of the tensors are not looked at.
func (w *Wide) Plan(n *ir.Node, in, out []Tensor) (steps []Step, scratch []int64, err error) {
	if rows[n.Row.Name] == nil || n.Row.Name == "attention_grad_bias" {
		return nil, nil, nil
	}
	c := newCall(n, in)
	if len(c.batch) > maxLeading || c.d == 0 || c.e == 0 || c.s == 0 || c.l == 0 || c.batches() == 0 {
		return nil, nil, nil
	}
	p := &wide{call: c, kernels: w, memory: len(in) + len(out)}
	for i, t := range append(append([]Tensor(nil), in...), out...) {
		if i == 3 && c.bias != noBias {
			t = c.b
		}
		keys := i == 1 || i == 2 || n.Row.Name == "attention_grad_kv" && i >= len(in)
		p.tensors = append(p.tensors, p.lead(t, i, keys))
	}
	switch n.Row.Name {
	case "attention_grad_q":
		p.gradQ()
	case "attention_grad_kv":
		p.gradKV()
	default:
		p.forward()
	}
	return p.steps, p.scratch, p.err
}

// get returns the kernel of a name, which says all that it depends on.
func (w *Wide) get(make func() (*kernel.Kernel, error), name string) (*kernel.Kernel, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := w.made[name]; k != nil {
		return k, nil
	}
	k, err := make()
	if err != nil {
		return nil, err
	}
	if w.made == nil {
		w.made = map[string]*kernel.Kernel{}
	}
	w.made[name] = k
	return k, nil
}

// wide is a call on its way to steps.
type wide struct {
	*call
	kernels *Wide
	tensors []block // operands and results
	steps   []Step
	scratch []int64
	memory  int  // of operands and results
	alone   bool // one of the heads that share keys at a time
	err     error
}

// block is a matrix for each leading index: leading axes, the heads that share keys, and
// those of one group, whose strides come first, then rows and columns.
type block struct {
	typ      ir.DType
	memory   int
	offset   int64
	lead     []int64
	row, col int64
}

func (b block) rows(from int64) block {
	b.offset += from * b.row
	return b
}

func (b block) transposed() block {
	b.row, b.col = b.col, b.row
	return b
}

// leading is the extents of the leading axes.
func (p *wide) leading() []int64 {
	var out []int64
	for _, n := range p.batch {
		out = append(out, int64(n))
	}
	if p.alone {
		return append(out, p.shared, 1)
	}
	return append(out, p.shared, p.group)
}

// lead is a tensor by heads, of keys or of queries.
func (p *wide) lead(t Tensor, memory int, keys bool) block {
	n, o := len(p.batch), &t.Operand
	b := block{typ: t.Type.DType, memory: memory, offset: o.Offset, lead: append([]int64(nil), o.Strides[:n]...), row: o.Strides[n+1]}
	if head := o.Strides[n]; keys {
		b.lead = append(b.lead, head, 0)
	} else {
		b.lead = append(b.lead, head*p.group, head)
	}
	if len(o.Strides) > n+2 {
		b.col = o.Strides[n+2]
	}
	return b
}

// of is the heads of queries number g of those that share keys.
func (p *wide) of(b block, g int64) block {
	b.lead = append([]int64(nil), b.lead...)
	last := len(b.lead) - 1
	b.offset += g * b.lead[last]
	b.lead[last] = 0
	return b
}

// room takes a matrix for each leading index from scratch memory of its own.
func (p *wide) room(t ir.DType, rows, cols int64) block {
	b := block{typ: t, memory: p.memory + len(p.scratch), row: cols, col: 1}
	lead := p.leading()
	step := rows * cols
	b.lead = make([]int64, len(lead))
	for i := len(lead) - 1; i >= 0; i-- {
		b.lead[i] = step
		step *= lead[i]
	}
	p.scratch = append(p.scratch, step*int64(t.Size()))
	return b
}

// wideArg is a block as an argument: rows walk along one inner axis of the kernel and
// columns along another; -1 for none.
type wideArg struct {
	block
	row, col int
}

func (a wideArg) in(axis int) kernel.Access {
	switch {
	case a.row == axis && a.block.row == 1 && a.col >= 0 && a.block.col == 1: // one axis is enough
		return any_
	case a.row == axis:
		return access(a.block.row)
	case a.col == axis:
		return access(a.block.col)
	}
	return same
}

// step adds a kernel over the leading axes and these, which make fills; its name and the
// layout of its arguments say all that it depends on.
func (p *wide) step(name string, fill func(b *wideBuilder), axes []kernel.AxisKind, extents []int64, params []uint64, args ...wideArg) {
	if p.err != nil {
		return
	}
	lead := p.leading()
	key := fmt.Sprint(name, p.c, len(lead), p.bias != noBias)
	for i := range args {
		a := &args[i]
		for axis := range axes {
			key += fmt.Sprint(a.typ, a.in(axis))
		}
	}
	k, err := p.kernels.get(func() (*kernel.Kernel, error) {
		kinds := append(repeat(par, len(lead)), axes...)
		b := &wideBuilder{builder: build(name, p.c, kinds...), lead: len(lead), inner: len(axes), args: args}
		fill(b)
		return b.K, b.err
	}, key)
	if err != nil {
		p.err = err
		return
	}
	s := Step{Kernel: k, Extents: append(lead, extents...), Params: params}
	for _, a := range args {
		strides := append(append([]int64(nil), a.lead...), repeat(int64(0), len(axes))...)
		if a.row >= 0 {
			strides[len(lead)+a.row] = a.block.row
		}
		if a.col >= 0 {
			strides[len(lead)+a.col] = a.block.col
		}
		s.Args = append(s.Args, StepArg{Memory: a.memory, Offset: a.offset, Strides: strides})
	}
	p.steps = append(p.steps, s)
}

func repeat[T any](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// wideBuilder makes a kernel whose arguments are taken in order.
type wideBuilder struct {
	*builder
	lead, inner int
	args        []wideArg
	next        int
}

func (b *wideBuilder) classes() (ir.DType, []kernel.Access) {
	a := b.args[b.next]
	b.next++
	out := repeat(any_, b.lead)
	for axis := range b.inner {
		out = append(out, a.in(axis))
	}
	return a.typ, out
}

// take loads the next argument, in the compute type.
func (b *wideBuilder) take() kernel.Ref {
	t, access := b.classes()
	return b.in(t, access...)
}

// give stores to the next argument.
func (b *wideBuilder) give(v kernel.Ref) {
	t, access := b.classes()
	b.out(v, t, access...)
}

// index is that of an inner axis.
func (b *wideBuilder) index(axis int) kernel.Ref { return b.Index(b.lead + axis) }

// fill sets every element.
func (p *wide) fill(to block, rows, cols int64, v float64) {
	p.step(fmt.Sprint("fill", v), func(b *wideBuilder) { b.give(b.number(v)) }, []kernel.AxisKind{par, par}, []int64{rows, cols}, nil, wideArg{to, 0, 1})
}

// products writes x · z for rows x [n, k] and rows z [m, k].
func (p *wide) products(out, x, z block, n, m, k int64) {
	p.step("products", func(b *wideBuilder) {
		x, z := b.take(), b.take()
		b.give(b.Reduce(kernel.Dot, kernel.DotTree, x, z))
	}, []kernel.AxisKind{par, par, red}, []int64{n, m, k}, nil, wideArg{x, 0, 2}, wideArg{z, 1, 2}, wideArg{out, 0, 1})
}

// plus writes acc·factor + w · x, for weights w [n, k] and rows x [k, width], of which
// those of weight 0 take no part; without a factor it is 1.
func (p *wide) plus(to, acc block, factor *block, w, x block, n, width, k int64) {
	name, args := "plus", []wideArg{{w, 0, 2}, {x, 2, 1}, {acc, 0, 1}}
	if factor != nil {
		name, args = "plus times", append(args, wideArg{*factor, 0, -1})
	}
	p.step(name, func(b *wideBuilder) {
		w, x, acc := b.take(), b.take(), b.take()
		a := b.number(1)
		if factor != nil {
			a = b.take()
		}
		zero := b.number(0)
		x = b.Op(kernel.OpSelect, b.c, b.Op(kernel.OpEq, ir.Bool, w, zero), zero, x)
		// Adding +0 leaves no sign to a sum of nothing, so that a device may skip what
		// takes no part.
		sum := b.Op(kernel.OpAdd, b.c, b.Reduce(kernel.Dot, kernel.DotTree, w, x), zero)
		b.give(b.Op(kernel.OpFma, b.c, acc, a, sum))
	}, []kernel.AxisKind{par, par, red}, []int64{n, width, k}, nil, append(args, wideArg{to, 0, 1})...)
}

// hiding is the number of a query less that of a key up to which, and from which on, it
// sees it: keys from j on, queries from i on.
func (p *wide) hiding(i, j int64) (params []uint64, masked bool) {
	if !p.causal && p.window <= 0 {
		return nil, false
	}
	const none = int64(1) << 40
	shift := i + p.s - p.l - j
	first, last := -none, none
	if p.causal {
		last = shift
	}
	if p.window > 0 {
		first = shift - p.window + 1
	}
	return []uint64{uint64(first), uint64(last)}, true
}

// scores are x_j of products [keys, queries], see [builder.scores]. Arguments: the
// products, and the bias.
func (b *wideBuilder) scores(bias, masked bool) kernel.Ref {
	x := b.Op(kernel.OpMul, b.c, b.take(), b.AddParam(b.c))
	if bias {
		x = b.biased(x, b.take())
	}
	if masked {
		low := b.number(math.Inf(-1))
		first, last := b.AddParam(ir.I64), b.AddParam(ir.I64)
		at := b.Op(kernel.OpSub, ir.I64, b.index(0), b.index(1)) // the key less the query
		x = b.Op(kernel.OpSelect, b.c, b.Op(kernel.OpLe, ir.Bool, first, at), x, low)
		x = b.Op(kernel.OpSelect, b.c, b.Op(kernel.OpLe, ir.Bool, at, last), x, low)
	}
	return x
}

// scored are the arguments of scores, and its parameters: keys from j on, queries from
// i on.
func (p *wide) scored(x block, i, j int64) (args []wideArg, params []uint64, name string) {
	if p.bias == noBias {
		return p.scoredOf(x, block{}, i, j)
	}
	return p.scoredOf(x, p.tensors[3], i, j)
}

func (p *wide) scoredOf(x, bias block, i, j int64) (args []wideArg, params []uint64, name string) {
	args = []wideArg{{x, 0, 1}}
	if p.bias != noBias {
		b := bias.transposed()
		b.offset += j*b.row + i*b.col
		args = append(args, wideArg{b, 0, 1})
	}
	hidden, masked := p.hiding(i, j)
	if masked {
		name = " masked"
	}
	return args, append(append([]uint64(nil), p.factor...), hidden...), name
}

// seeing returns the first of the queries that may see some of the keys from j on.
func (p *wide) seeing(j int64) (from int64) {
	if p.causal {
		from = max(0, min(p.l, j-p.s+p.l))
	}
	return from
}

func (p *wide) forward() {
	c, l := p.c, p.l
	q, k, v := p.tensors[0], p.tensors[1], p.tensors[2]
	x, w, a := p.room(c, Block, l), p.room(c, Block, l), p.room(c, 1, l)
	var m, sum, acc [2]block
	for i := range 2 {
		m[i], sum[i], acc[i] = p.room(c, 1, l), p.room(c, 1, l), p.room(c, l, p.e)
	}
	p.fill(m[0], 1, l, math.Inf(-1))
	p.fill(sum[0], 1, l, 0)
	p.fill(acc[0], l, p.e, 0)
	done := int64(0)
	finish := func(to int64) {
		if done < to {
			p.finish(acc[0], m[0], sum[0], done, to)
		}
		done = to
	}
	for j := int64(0); j < p.s; j += Block {
		n, i := min(Block, p.s-j), p.seeing(j)
		finish(i) // no later key is seen by the queries before
		if i == l {
			return
		}
		rest := l - i
		at := func(b block) block { b.offset += i; return b }
		vector := func(b block) wideArg { return wideArg{at(b), -1, 1} }
		p.products(at(x), k.rows(j), q.rows(i), n, rest, p.d)
		args, params, masked := p.scored(at(x), i, j)
		p.step("weights"+masked, func(b *wideBuilder) {
			x := b.scores(p.bias != noBias, masked != "")
			m, l := b.take(), b.take()
			w, greatest, sum, a := b.weigh(x, m, l)
			for _, v := range []kernel.Ref{w, greatest, sum, a} {
				b.give(v)
			}
		}, []kernel.AxisKind{red, par}, []int64{n, rest}, params,
			append(args, vector(m[0]), vector(sum[0]), wideArg{at(w), 0, 1}, vector(m[1]), vector(sum[1]), vector(a))...)
		factor := at(a).transposed()
		p.plus(acc[1].rows(i), acc[0].rows(i), &factor, at(w).transposed(), v.rows(j), rest, p.e, n)
		m[0], m[1], sum[0], sum[1], acc[0], acc[1] = m[1], m[0], sum[1], sum[0], acc[1], acc[0]
	}
	finish(l)
}

// finish writes the results of some queries.
func (p *wide) finish(acc, m, sum block, from, to int64) {
	y, lse := p.tensors[len(p.tensors)-2].rows(from), p.tensors[len(p.tensors)-1].rows(from)
	acc = acc.rows(from)
	m.offset, sum.offset = m.offset+from, sum.offset+from
	m, sum = m.transposed(), sum.transposed()
	p.step("divide", func(b *wideBuilder) {
		acc, l := b.take(), b.take()
		b.give(b.quotient(acc, l))
	}, []kernel.AxisKind{par, par}, []int64{to - from, p.e}, nil, wideArg{acc, 0, 1}, wideArg{sum, 0, -1}, wideArg{y, 0, 1})
	p.step("lse", func(b *wideBuilder) {
		m, l := b.take(), b.take()
		b.give(b.logSum(m, l))
	}, []kernel.AxisKind{par}, []int64{to - from}, nil, wideArg{m, 0, -1}, wideArg{sum, 0, -1}, wideArg{lse, 0, -1})
}

// back makes the weights and the gradients of scores of some keys and queries, both
// [keys, queries]. Inputs of gradients: q, k, v, bias, dy, lse, delta.
func (p *wide) back(w, ds, x, dp block, of func(block) block, i, j, n, rest int64) {
	q, k, v, dy := of(p.tensors[0]), p.tensors[1], p.tensors[2], of(p.tensors[4])
	p.products(x, k.rows(j), q.rows(i), n, rest, p.d)
	p.products(dp, v.rows(j), dy.rows(i), n, rest, p.e)
	args, params, masked := p.scoredOf(x, of(p.tensors[3]), i, j)
	lse, delta := of(p.tensors[5]).rows(i), of(p.tensors[6]).rows(i)
	p.step("back"+masked, func(b *wideBuilder) {
		x := b.scores(true, masked != "")
		dp, lse, delta := b.take(), b.take(), b.take()
		w, ds := b.gradients(x, dp, lse, delta)
		b.give(w)
		b.give(ds)
	}, []kernel.AxisKind{par, par}, []int64{n, rest}, params,
		append(args, wideArg{dp, 0, 1}, wideArg{lse, 1, -1}, wideArg{delta, 1, -1}, wideArg{w, 0, 1}, wideArg{ds, 0, 1})...)
}

// store writes sums, times a number, to a result.
func (p *wide) store(to, from block, rows, cols int64, t float64) {
	p.step("store", func(b *wideBuilder) {
		b.give(b.scaled(b.take()))
	}, []kernel.AxisKind{par, par}, []int64{rows, cols}, []uint64{ir.MakeScalar(p.c, t).Bits}, wideArg{from, 0, 1}, wideArg{to, 0, 1})
}

// gradQ takes blocks of keys in ascending order, for all queries at once.
func (p *wide) gradQ() {
	c, l := p.c, p.l
	x, dp, w, ds := p.room(c, Block, l), p.room(c, Block, l), p.room(c, Block, l), p.room(c, Block, l)
	dq := [2]block{p.room(c, l, p.d), p.room(c, l, p.d)}
	p.fill(dq[0], l, p.d, 0)
	out, done := p.tensors[len(p.tensors)-1], int64(0)
	finish := func(to int64) {
		if done < to {
			p.store(out.rows(done), dq[0].rows(done), to-done, p.d, p.scale)
		}
		done = to
	}
	for j := int64(0); j < p.s; j += Block {
		n, i := min(Block, p.s-j), p.seeing(j)
		finish(i)
		if i == l {
			return
		}
		at := func(b block) block { b.offset += i; return b }
		p.back(at(w), at(ds), at(x), at(dp), func(b block) block { return b }, i, j, n, l-i)
		p.plus(dq[1].rows(i), dq[0].rows(i), nil, at(ds).transposed(), p.tensors[1].rows(j), l-i, p.d, n)
		dq[0], dq[1] = dq[1], dq[0]
	}
	finish(l)
}

// gradKV takes the heads that share keys, and of each the blocks of queries, in
// ascending order, for all keys at once.
func (p *wide) gradKV() {
	c, s := p.c, p.s
	p.alone = true
	x, dp, w, ds := p.room(c, s, Rows), p.room(c, s, Rows), p.room(c, s, Rows), p.room(c, s, Rows)
	dk, dv := [2]block{p.room(c, s, p.d), p.room(c, s, p.d)}, [2]block{p.room(c, s, p.e), p.room(c, s, p.e)}
	p.fill(dk[0], s, p.d, 0)
	p.fill(dv[0], s, p.e, 0)
	for g := range p.group {
		of := func(b block) block { return p.of(b, g) }
		for i := int64(0); i < p.l; i += Rows {
			n := min(Rows, p.l-i)
			p.back(w, ds, x, dp, of, i, 0, s, n)
			p.plus(dk[1], dk[0], nil, ds, of(p.tensors[0]).rows(i), s, p.d, n)
			p.plus(dv[1], dv[0], nil, w, of(p.tensors[4]).rows(i), s, p.e, n)
			dk[0], dk[1], dv[0], dv[1] = dk[1], dk[0], dv[1], dv[0]
		}
	}
	p.store(p.tensors[len(p.tensors)-2], dk[0], s, p.d, p.scale)
	p.store(p.tensors[len(p.tensors)-1], dv[0], s, p.e, 1)
}
