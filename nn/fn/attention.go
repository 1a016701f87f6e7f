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

// AttentionByScores is [Attention] as sums of products, softmax, and sums of products
// again, with the scores in memory between them, in f32 for half precision: for few
// queries, such as the one of a step of decoding, where launches are what takes time. Its
// bits are not those of Attention. Mask is added to the scores, of a shape as there, or nil.
func AttentionByScores(q, k, v, mask *sinter.Tensor, scale float64) *sinter.Tensor {
	in := []*sinter.Tensor{q, k, v}
	n := q.Rank()
	if n < 3 || k.Rank() != n || v.Rank() != n || k.Dim(-3) == 0 || q.Dim(-3)%k.Dim(-3) != 0 || k.Dim(-3) != v.Dim(-3) {
		return failed("attention_by_scores", in, "q %v, k %v and v %v do not fit: they have one rank, and the heads of q are a multiple of those of k and v",
			q.Shape(), k.Shape(), v.Shape())
	}
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(q.Dim(-1), 1)))
	}
	// Heads that share keys have an axis of their own: [..., h, heads/h, l, s, d or e].
	shape := q.Shape()
	group := func(x *sinter.Tensor, tail ...int) *sinter.Tensor {
		return x.Reshape(append(append(shape[:n-3:n-3], k.Dim(-3), shape[n-3]/k.Dim(-3)), tail...)...)
	}
	t, s := wide(q.DType()), k.Dim(-2)
	each := func(x *sinter.Tensor) *sinter.Tensor { return x.Cast(t).Unsqueeze(-3, -4) }
	x := group(q.Cast(t), shape[n-2], 1, shape[n-1]).Mul(each(k)).Sum(sinter.Over(-1)).Mul(scale)
	x = x.Reshape(append(shape[:n-1:n-1], s)...)
	if mask != nil {
		x = x.Add(mask.Cast(t))
	}
	y := group(x.Softmax(-1), shape[n-2], s, 1).Mul(each(v)).Sum(sinter.Over(-2))
	return y.Reshape(append(shape[:n-1:n-1], v.Dim(-1))...).Cast(q.DType())
}

// wide is the dtype in which one of half precision is summed.
func wide(d sinter.DType) sinter.DType {
	if d == sinter.F16 || d == sinter.BF16 {
		return sinter.F32
	}
	return d
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
	draw := g.Uniform(sinter.Beside(x), sinter.F32, x.Shape()...)
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
