package fn

import (
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// AttentionOptions configure Attention.
type AttentionOptions struct {
	// Causal lets query i of l see the keys up to i + s - l of s: the queries are
	// the last ones, as they are when earlier keys come from a cache.
	Causal bool
	// Window, above 0, hides the keys that lie that many positions or more before a
	// query; query i is at position i + s - l of the keys.
	Window int
	// Scale of the scores; 0 means 1/sqrt(width of q).
	Scale float64
	// Lengths, i64, are the numbers of keys that count, the first ones: those after
	// them are padding. They have the leading extents of k, or broadcast to them.
	Lengths *sinter.Tensor
	// Mask broadcasts to [..., heads, l, s]. Bool: true where a query sees a key.
	// Else it is added to the scores, and -inf hides a key.
	Mask *sinter.Tensor
	// Dropout sets weights to 0 with this probability and scales the others, by
	// draws of Generator.
	Dropout   float64
	Generator *sinter.Generator
}

// Attention is softmax(q·kᵀ·scale)·v for q [..., heads, l, d], k [..., h, s, d] and
// v [..., h, s, e]; heads is a multiple of h, and neighbouring heads share keys and
// values. A query that sees no key gives 0.
//
// Memory grows with the lengths, and not with their product, but for a Mask that has
// both, and dropout. Views are read where they lie: heads of a packed projection, the
// used part of a cache. A query has the same bits whatever is computed with it, and
// whatever lies in keys and values that are hidden.
func Attention(q, k, v *sinter.Tensor, o AttentionOptions) *sinter.Tensor {
	in := []*sinter.Tensor{q, k, v}
	row := "attention"
	if m := o.mask(q, k); m != nil {
		in, row = append(in, m), "attention_bias"
	}
	attend := func(in []*sinter.Tensor) *sinter.Tensor {
		out := sinter.Apply(row, in, ir.A("causal", o.Causal, "scale", o.Scale, "window", o.Window)...)
		if len(out) > 1 && !out[0].Tracked() { // the statistic is for gradients
			out[1].Release()
		}
		return out[0]
	}
	if o.Dropout == 0 {
		return attend(in)
	}
	if o.Dropout < 0 || o.Dropout >= 1 || o.Generator == nil {
		return failed(row, in, "dropout %v: expected 0 up to, not including, 1, and a generator", o.Dropout)
	}
	// The weights are attention with the identity as values.
	s := k.Dim(-2)
	eye := arange(q, s, sinter.I64).Unsqueeze(-1).Eq(arange(q, s, sinter.I64)).Cast(q.DType())
	shape := k.Shape()
	if len(shape) < 2 || k.Err() != nil {
		return attend(in) // an error
	}
	shape[len(shape)-1] = s
	in[2] = eye.Expand(shape...)
	w := Dropout(attend(in), o.Dropout, o.Generator)
	if w.Err() != nil || v.Rank() != w.Rank() {
		return attend(append([]*sinter.Tensor{q, k, v}, in[3:]...))
	}
	n := w.Rank()
	out, grouped := w.Shape(), v.Shape()
	heads, l := out[n-3], out[n-2]
	out[n-1] = v.Dim(-1)
	grouped[n-2] = heads / v.Dim(n-3) * l
	grouped[n-1] = s
	return w.Reshape(grouped...).MatMul(v).Reshape(out...)
}

// mask is what is added to the scores: Mask, and -inf of the keys past Lengths.
func (o *AttentionOptions) mask(q, k *sinter.Tensor) *sinter.Tensor {
	m := o.Mask
	if m != nil && m.DType() == sinter.Bool {
		m = sinter.Where(m, like(q, 0), like(q, math.Inf(-1)))
	}
	if o.Lengths == nil || k.Err() != nil || k.Rank() < 3 {
		return m
	}
	shown := arange(q, k.Dim(-2), sinter.I64).Lt(o.Lengths.Unsqueeze(-1, -2, -3))
	if m == nil {
		m = like(q, 0)
	}
	return sinter.Where(shown, m, like(q, math.Inf(-1)))
}

// Dropout sets elements to 0 with probability p, and scales the others by
// 1/(1-p), by a draw of the generator.
func Dropout(x *sinter.Tensor, p float64, g *sinter.Generator) *sinter.Tensor {
	if p == 0 {
		return x
	}
	if p < 0 || p > 1 || g == nil {
		return failed("dropout", []*sinter.Tensor{x}, "probability %v: expected 0 to 1, and a generator", p)
	}
	if x.Err() != nil {
		return x
	}
	draw := g.Uniform(sinter.On(x.Device()), sinter.F32, x.Shape()...)
	if s := x.Scope(); s != nil {
		draw = s.Own(draw) // it goes when what it is for goes
	}
	keep := draw.Ge(p)
	scale := 0.0
	if p < 1 {
		scale = 1 / (1 - p)
	}
	return sinter.Where(keep, x.Mul(scale), 0)
}

// SplitHeads turns [..., l, heads·d] to [..., heads, l, d].
func SplitHeads(x *sinter.Tensor, heads int) *sinter.Tensor {
	s := x.Shape()
	n := len(s)
	if n < 2 || heads < 1 || s[n-1]%heads != 0 {
		return failed("split_heads", []*sinter.Tensor{x}, "%v in %d heads: the last extent is a multiple of heads", s, heads)
	}
	return swapBefore(x.Reshape(append(s[:n-1:n-1], heads, s[n-1]/heads)...))
}

// MergeHeads turns [..., heads, l, d] to [..., l, heads·d].
func MergeHeads(x *sinter.Tensor) *sinter.Tensor {
	s := x.Shape()
	n := len(s)
	if n < 3 {
		return failed("merge_heads", []*sinter.Tensor{x}, "%v has no axis of heads", s)
	}
	return swapBefore(x).Reshape(append(s[:n-3:n-3], s[n-2], s[n-3]*s[n-1])...)
}

// swapBefore swaps the second and third axis from the end.
func swapBefore(x *sinter.Tensor) *sinter.Tensor {
	axes := make([]int, x.Rank())
	for i := range axes {
		axes[i] = i
	}
	n := len(axes)
	axes[n-3], axes[n-2] = n-2, n-3
	return x.Permute(axes...)
}

// RoPEOptions configure RoPE.
type RoPEOptions struct {
	Base float64 // 10000
	// Interleaved pairs neighbours 2i and 2i+1 (the original paper, GPT-J); else
	// element i is paired with i + d/2 (GPT-NeoX, Llama).
	Interleaved bool
}

// RoPE turns pairs of the elements of x [..., l, d], d even, by position times
// Base^(-2i/d), for pair i. Positions are i64, and broadcast to [..., l]; nil means
// 0, 1, ..., l-1.
func RoPE(x, positions *sinter.Tensor, o RoPEOptions) *sinter.Tensor {
	n, d := x.Rank(), x.Dim(-1)
	if n < 2 || d%2 != 0 {
		return failed("rope", []*sinter.Tensor{x}, "%v: the last of at least two axes has an even extent", x.Shape())
	}
	if o.Base == 0 {
		o.Base = 10000
	}
	if positions == nil {
		positions = arange(x, x.Dim(-2), sinter.I64)
	}
	// Angles in f64: positions are large where frequencies are not.
	frequency := arange(x, d/2, sinter.F64).Mul(-2 / float64(d) * math.Log2(o.Base)).Exp2()
	angle := positions.Cast(sinter.F64).Unsqueeze(-1).Mul(frequency)
	cos, sin := angle.Cos().Cast(x.DType()), angle.Sin().Cast(x.DType())
	if o.Interleaved {
		s := x.Shape()
		pairs := x.Reshape(append(s[:n-1:n-1], d/2, 2)...)
		a, b := pairs.At(-1, 0), pairs.At(-1, 1)
		return sinter.Stack(-1, a.Mul(cos).Sub(b.Mul(sin)), b.Mul(cos).Add(a.Mul(sin))).Reshape(s...)
	}
	ranges := make([]sinter.Range, n)
	for i := range ranges {
		ranges[i] = sinter.All()
	}
	ranges[n-1] = sinter.Until(d / 2)
	a := x.Slice(ranges...)
	ranges[n-1] = sinter.From(d / 2)
	b := x.Slice(ranges...)
	return sinter.Concat(-1, a.Mul(cos).Sub(b.Mul(sin)), b.Mul(cos).Add(a.Mul(sin)))
}
