package attend

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/attend/texts"
)

// Block is the number of keys of a step of the recurrence.
const Block = 64

// Rows is the greatest number of queries of a task. No bit depends on it.
const Rows = 64

// The access classes, short.
const (
	any_ = kernel.Strided
	unit = kernel.Unit
	same = kernel.Broadcast
)

// builder makes one kernel in a compute type.
type builder struct {
	*kernel.Builder
	c   ir.DType
	err error
}

func build(name string, c ir.DType, axes ...kernel.AxisKind) *builder {
	return &builder{Builder: kernel.NewBuilder("attention_"+name, axes), c: c}
}

const (
	par = kernel.Parallel
	red = kernel.Reduced
)

func (b *builder) in(t ir.DType, access ...kernel.Access) kernel.Ref {
	return b.Convert(b.Load(b.AddArg(kernel.Arg{Type: t, Dir: kernel.In, Access: access})), b.c)
}

func (b *builder) out(v kernel.Ref, t ir.DType, access ...kernel.Access) {
	b.Store(b.AddArg(kernel.Arg{Type: t, Dir: kernel.Out, Access: access}), b.Convert(v, t))
}

// text expands a text over names and returns what it defines. Sums are in order.
func (b *builder) text(text string, names map[string]kernel.Ref) map[string]kernel.Ref {
	block, err := ir.Parse(text)
	if err == nil {
		names, err = b.Expand(block, kernel.Env{T: b.c, Names: names, Tree: kernel.ColumnsTree})
	}
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.K.Name, err)
	}
	return names
}

// weight is 2^x for x up to 0.
func (b *builder) weight(x kernel.Ref) kernel.Ref {
	if b.c == ir.F64 {
		return b.exp2(x)
	}
	return b.scalar(texts.Weight, map[string]kernel.Ref{"x": x})
}

func (b *builder) exp2(x kernel.Ref) kernel.Ref {
	return b.scalar(ir.Lookup("exp2").Program(b.c), map[string]kernel.Ref{"x": x})
}

// scalar is what a block makes of some names, as y.
func (b *builder) scalar(block *ir.Block, names map[string]kernel.Ref) kernel.Ref {
	return b.block(block, names)["y"]
}

func (b *builder) block(block *ir.Block, names map[string]kernel.Ref) map[string]kernel.Ref {
	names, err := b.Expand(block, kernel.Env{T: b.c, Names: names})
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("%s: %w", b.K.Name, err)
	}
	return names
}

func (b *builder) number(v float64) kernel.Ref {
	return b.Const(b.c, ir.MakeScalar(b.c, v).Bits)
}

// copyKernel converts a matrix of any layout to the compute type, row by row.
func copyKernel(from, c ir.DType, row, col kernel.Access) (*kernel.Kernel, error) {
	b := build("copy", c, par, par)
	b.out(b.in(from, row, col), c, any_, unit)
	return b.K, b.err
}

// productKernel: out[j, i] = Σ x[j, k]·z[k, i].
func productKernel(c ir.DType) (*kernel.Kernel, error) {
	b := build("product", c, par, par, red)
	x, z := b.in(c, any_, same, unit), b.in(c, same, unit, any_)
	b.out(b.Reduce(kernel.Dot, kernel.DotTree, x, z), c, any_, unit, same)
	return b.K, b.err
}

// addKernel: out[i, e] = fma(acc[i, e], a[i], Σ w[i, j]·x[j, e]). Where it guards, a
// weight of 0 takes no part.
func addKernel(c ir.DType, guard bool) (*kernel.Kernel, error) {
	b := build("add", c, par, par, red)
	w, x := b.in(c, any_, same, any_), b.in(c, same, unit, any_)
	acc, a := b.in(c, any_, unit, same), b.in(c, any_, same, same)
	if guard {
		zero := b.number(0)
		x = b.Op(kernel.OpSelect, c, b.Op(kernel.OpEq, ir.Bool, w, zero), zero, x)
	}
	sum := b.Reduce(kernel.Dot, kernel.DotTree, w, x)
	b.out(b.Op(kernel.OpFma, c, acc, a, sum), c, any_, unit, same)
	return b.K, b.err
}

// biasKind says how a bias varies inside a head.
type biasKind uint8

const (
	noBias   biasKind = iota
	keyBias           // with the key
	fullBias          // with key and query
)

// biased is a score with its bias, which hides it where it is -inf.
func (b *builder) biased(x, z kernel.Ref) kernel.Ref {
	low := b.number(math.Inf(-1))
	hidden := b.Op(kernel.OpEq, ir.Bool, z, low)
	return b.Op(kernel.OpSelect, b.c, hidden, low, b.Op(kernel.OpFma, b.c, z, b.number(math.Log2E), x))
}

// weigh takes the scores of a block, the reduced axis, into the greatest score m and the
// sum l: it returns the weights, both anew, and what was summed before is multiplied
// by.
func (b *builder) weigh(x, m, l kernel.Ref) (w, greatest, sum, a kernel.Ref) {
	n := b.text("n = max(m, reduce_max(x))\nc = select(n == -inf, 0, n)", map[string]kernel.Ref{"x": x, "m": m})
	w = b.weight(b.Op(kernel.OpSub, b.c, x, n["c"]))
	a = b.weight(b.Op(kernel.OpSub, b.c, m, n["c"]))
	y := b.text("y = fma(l, a, reduce_sum(p))", map[string]kernel.Ref{"p": w, "a": a, "l": l})
	return w, n["n"], y["y"], a
}

// gradients returns the weight of a score and the score's gradient.
func (b *builder) gradients(x, dp, lse, delta kernel.Ref) (w, ds kernel.Ref) {
	p := b.exp2(b.Op(kernel.OpSub, b.c, x, b.Op(kernel.OpMul, b.c, lse, b.number(math.Log2E))))
	y := b.block(texts.Gradient, map[string]kernel.Ref{"x": x, "lse": lse, "p": p, "dp": dp, "delta": delta})
	return y["y"], y["s"]
}

// quotient is acc / l + 0, 0 where l is 0.
func (b *builder) quotient(acc, l kernel.Ref) kernel.Ref {
	return b.scalar(texts.Quotient, map[string]kernel.Ref{"x": acc, "l": l})
}

// logSum is lse.
func (b *builder) logSum(m, l kernel.Ref) kernel.Ref {
	return b.scalar(texts.LogSum, map[string]kernel.Ref{"m": m, "l": l, "n": b.number(math.Ln2)})
}

// scaled is a sum times a parameter, + 0.
func (b *builder) scaled(x kernel.Ref) kernel.Ref {
	return b.Op(kernel.OpAdd, b.c, b.Op(kernel.OpMul, b.c, x, b.AddParam(b.c)), b.number(0))
}

// scores are x_j of products [keys, queries] in a kernel over these axes.
func (b *builder) scores(bias biasKind, masked bool) kernel.Ref {
	x := b.Op(kernel.OpMul, b.c, b.in(b.c, any_, unit), b.AddParam(b.c))
	low := b.number(math.Inf(-1))
	if bias != noBias {
		access := unit
		if bias == keyBias {
			access = same
		}
		x = b.biased(x, b.in(b.c, any_, access))
	}
	if masked { // the numbers of keys, and the first and last ones of each query
		j, from, to := b.in(b.c, any_, same), b.in(b.c, same, unit), b.in(b.c, same, unit)
		x = b.Op(kernel.OpSelect, b.c, b.Op(kernel.OpLe, ir.Bool, from, j), x, low)
		x = b.Op(kernel.OpSelect, b.c, b.Op(kernel.OpLe, ir.Bool, j, to), x, low)
	}
	return x
}

// weightsKernel makes the weights of a block from its products, over [keys,
// queries], and takes them into the greatest score m and the sum l.
func weightsKernel(c ir.DType, bias biasKind, masked bool) (*kernel.Kernel, error) {
	b := build("weights", c, red, par)
	x := b.scores(bias, masked)
	m, l := b.in(c, same, unit), b.in(c, same, unit)
	w, greatest, sum, a := b.weigh(x, m, l)
	b.out(w, c, any_, unit)
	b.out(greatest, c, same, unit)
	b.out(sum, c, same, unit)
	b.out(a, c, same, unit)
	return b.K, b.err
}

// backKernel makes weights from products and lse, and with the products dp of dy
// and values the gradients of scores. Whoever gives another lse than that of the
// scores may get weights above 1.
func backKernel(c ir.DType, bias biasKind, masked bool) (*kernel.Kernel, error) {
	b := build("back", c, par, par)
	x := b.scores(bias, masked)
	dp, lse, delta := b.in(c, any_, unit), b.in(c, same, unit), b.in(c, same, unit)
	w, ds := b.gradients(x, dp, lse, delta)
	b.out(w, c, any_, unit)
	b.out(ds, c, any_, unit)
	return b.K, b.err
}

// divideKernel: y[i, e] = acc / l + 0, 0 where l is 0.
func divideKernel(to, c ir.DType) (*kernel.Kernel, error) {
	b := build("divide", c, par, par)
	b.out(b.quotient(b.in(c, any_, unit), b.in(c, any_, same)), to, any_, unit)
	return b.K, b.err
}

// statKernel is lse.
func statKernel(c ir.DType) (*kernel.Kernel, error) {
	b := build("lse", c, par)
	b.out(b.logSum(b.in(c, unit), b.in(c, unit)), c, any_)
	return b.K, b.err
}

// scaleKernel: y[i, e] = acc[i, e]·t + 0.
func scaleKernel(to, c ir.DType, columns kernel.Access) (*kernel.Kernel, error) {
	b := build("scale", c, par, par)
	b.out(b.scaled(b.in(c, any_, columns)), to, any_, columns)
	return b.K, b.err
}

// greatestKernel is the greatest number, or NaN if there is one.
func greatestKernel(c ir.DType) (*kernel.Kernel, error) {
	b := build("greatest", c, red)
	y := b.text("y = reduce_max(x)", map[string]kernel.Ref{"x": b.in(c, unit)})
	b.out(y["y"], c, same)
	return b.K, b.err
}

// sumKernel adds the gradients of scores [keys, queries] to those of a bias that
// may be one for all keys, or all queries: acc + the sum, ascending.
func sumKernel(c ir.DType, keys, queries bool) (*kernel.Kernel, error) {
	kind := func(sum bool) (kernel.AxisKind, kernel.Access) {
		if sum {
			return red, same
		}
		return par, any_
	}
	kj, aj := kind(keys)
	ki, ai := kind(queries)
	b := build("sum", c, kj, ki)
	x := b.in(c, any_, unit)
	acc := b.in(c, aj, ai)
	if keys || queries {
		x = b.text("y = reduce_sum(x)", map[string]kernel.Ref{"x": x})["y"]
	}
	b.out(b.Op(kernel.OpAdd, c, acc, x), c, aj, ai)
	return b.K, b.err
}
