package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/fn"
)

var _ = register(
	opDef{name: "Attention", since: 23, in: arity{3, 7}, out: arity{1, 4}, run: attentionOp, attrs: []attrSpec{
		intAttr("is_causal", 0), intAttr("kv_num_heads", 0), intAttr("q_num_heads", 0), intAttr("qk_matmul_output_mode", 0), floatAttr("scale", 0),
		floatAttr("softcap", 0), intAttr("softmax_precision", 0), intAttr("left_window_size", -1), intAttr("right_window_size", -1)}},
	opDef{name: "FlexAttention", domain: "ai.onnx.preview", in: three, out: one, run: flexAttentionOp, attrs: []attrSpec{
		floatAttr("scale", 0), intAttr("softmax_precision", 0), plainAttr("score_mod", AttrGraph), plainAttr("prob_mod", AttrGraph)}},
	opDef{name: "LinearAttention", since: 27, in: arity{3, 6}, out: oneTwo, run: linearAttentionOp, attrs: linearAttentionAttrs},
	opDef{name: "LinearAttention", domain: microsoft, in: arity{3, 6}, out: oneTwo, run: linearAttentionOp, attrs: linearAttentionAttrs},
	opDef{name: "RotaryEmbedding", since: 23, in: arity{3, 4}, out: one, run: func(c *Call) error {
		return c.rotary(c.In(1), c.In(2), c.InOpt(3))
	}, attrs: []attrSpec{intAttr("interleaved", 0), intAttr("num_heads", 0), intAttr("rotary_embedding_dim", 0)}},
)

var linearAttentionAttrs = []attrSpec{need("kv_num_heads", AttrInt), need("q_num_heads", AttrInt), floatAttr("scale", 0),
	strAttr("update_rule", "gated_delta"), intAttr("chunk_size", 64)}

// attending is one application of attention: queries [batch, heads, l, d], keys
// [batch, h, s, d] and values [batch, h, s, e], where heads is a multiple of h.
type attending struct {
	q, k, v *sinter.Tensor
	mask    *sinter.Tensor // bool: what is seen; nil: everything
	causal  bool           // the last query is at the last key, and none sees a later one
	bias    *sinter.Tensor // added to the scores; nil: 0
	scale   float64        // 0: 1/sqrt(d)
	softcap float64        // 0: none
	precise sinter.DType   // of the softmax; 0: that of q
	sink    *sinter.Tensor // [heads]: a score that counts in the softmax and takes no value; nil: none
	stage   int            // which scores are wanted: scaled 0, capped 1, biased 2, weights 3; -1 none
	// mods change scores and weights; nil for none.
	modScores, modWeights func(*sinter.Tensor) (*sinter.Tensor, error)
}

// see hides what a mask hides, too.
func (a *attending) see(m *sinter.Tensor) {
	if a.mask != nil {
		m = m.And(a.mask)
	}
	a.mask = m
}

// run returns the result [batch, heads, l, e] and the scores that are wanted.
func (a *attending) run(c *Call) (y, scores *sinter.Tensor, err error) {
	for _, t := range []*sinter.Tensor{a.q, a.k, a.v} {
		if t.Err() != nil {
			return nil, nil, t.Err()
		}
		if t.Rank() != 4 {
			return nil, nil, fmt.Errorf("queries, keys or values have shape %v, expected 4 axes", t.Shape())
		}
	}
	q, k, v := a.q.Shape(), a.k.Shape(), a.v.Shape()
	if k[1] < 1 || q[1]%k[1] != 0 || q[0] != k[0] || q[3] != k[3] || v[0] != k[0] || v[1] != k[1] || v[2] != k[2] {
		return nil, nil, fmt.Errorf("queries of shape %v, keys of %v and values of %v do not fit", q, k, v)
	}
	if a.scale == 0 {
		a.scale = 1 / math.Sqrt(float64(q[3]))
	}
	dtype := a.q.DType()
	bias := a.bias
	if bias != nil {
		bias = bias.Cast(dtype)
	}
	plain := a.softcap == 0 && a.stage < 0 && a.modScores == nil && a.modWeights == nil && a.sink == nil && (a.precise == 0 || a.precise == dtype)
	if a.causal && !plain {
		l, s := q[2], k[2]
		a.see(c.positions(s, s).Le(c.positions(l, l, 1).Add(s - l)))
	}
	if a.mask != nil {
		hidden := c.Full(math.Inf(-1), dtype)
		if bias == nil {
			bias = sinter.Where(a.mask, c.Full(0, dtype), hidden)
		} else {
			bias = sinter.Where(a.mask, bias, hidden)
		}
	}
	if plain {
		return fn.Attention(a.q, a.k, a.v, fn.AttentionOptions{Causal: a.causal, Scale: a.scale, Mask: bias}), nil, nil
	}
	// Heads that share keys lie side by side: they are rows of one product.
	group := q[1] / k[1]
	root := math.Sqrt(a.scale)
	wide := a.q.Mul(root).Reshape(q[0], k[1], group*q[2], q[3])
	s := wide.MatMul(a.k.Mul(root).Transpose()).Reshape(q[0], q[1], q[2], k[2])
	stages := []*sinter.Tensor{s}
	if a.softcap != 0 {
		s = s.Div(a.softcap).Tanh().Mul(a.softcap)
	}
	stages = append(stages, s)
	if bias != nil {
		s = s.Add(bias)
	}
	stages = append(stages, s)
	if a.precise != 0 {
		s = s.Cast(a.precise)
	}
	if a.modScores != nil {
		if s, err = a.modScores(s); err != nil {
			return nil, nil, err
		}
	}
	if a.sink != nil {
		s = sinter.Concat(-1, s, a.sink.Cast(s.DType()).Reshape(1, q[1], 1, 1).Expand(q[0], q[1], q[2], 1))
	}
	p := sinter.Apply("softmax_masked", []*sinter.Tensor{s}, ir.A("axis", -1)...)[0]
	if a.sink != nil {
		p = p.Slice(sinter.All(), sinter.All(), sinter.All(), sinter.Until(k[2]))
	}
	if a.modWeights != nil {
		if p, err = a.modWeights(p); err != nil {
			return nil, nil, err
		}
		p = p.Reshape(q[0], k[1], group*q[2], k[2])
		return p.MatMul(a.v.Cast(p.DType())).Cast(dtype).Reshape(q[0], q[1], q[2], v[3]), nil, nil
	}
	p = p.Cast(dtype)
	stages = append(stages, p)
	y = p.Reshape(q[0], k[1], group*q[2], k[2]).MatMul(a.v).Reshape(q[0], q[1], q[2], v[3])
	if a.stage >= 0 && a.stage < len(stages) {
		scores = stages[a.stage]
	}
	return y, scores, nil
}

// heads splits the last axis of [batch, length, heads·d]; four axes stay as they
// are.
func heads(x *sinter.Tensor, n int, attr string) (*sinter.Tensor, error) {
	if x.Err() != nil || x.Rank() == 4 {
		return x, x.Err()
	}
	if x.Rank() != 3 || n < 1 || x.Dim(2)%n != 0 {
		return nil, fmt.Errorf("an input of shape %v with %s %d", x.Shape(), attr, n)
	}
	return fn.SplitHeads(x, n), nil
}

// positions are the positions of a sequence, shaped to be compared.
func (c *Call) positions(n int, shape ...int) *sinter.Tensor {
	return c.Arange(n, sinter.I64).Reshape(shape...)
}

func attentionOp(c *Call) error {
	a := &attending{scale: c.Float("scale"), softcap: c.Float("softcap"), stage: -1}
	var err error
	for i, to := range []**sinter.Tensor{&a.q, &a.k, &a.v} {
		attr := "kv_num_heads"
		if i == 0 {
			attr = "q_num_heads"
		}
		if *to, err = heads(c.In(i), c.Int(attr), attr); err != nil {
			return err
		}
	}
	past := 0
	if c.Has(4) != c.Has(5) {
		return fmt.Errorf("of the past keys and values one is missing")
	}
	if c.Has(4) {
		past = c.In(4).Dim(2)
		a.k, a.v = sinter.Concat(2, c.In(4), a.k), sinter.Concat(2, c.In(5), a.v)
	}
	if err := firstError(nil, a.q, a.k, a.v); err != nil {
		return err
	}
	l, s := a.q.Dim(2), a.k.Dim(2)
	if c.Has(3) {
		m := c.In(3)
		if m.Rank() == 0 || m.Rank() > 4 {
			return fmt.Errorf("a mask of shape %v", m.Shape())
		}
		short := s - m.Dim(-1)
		if m.DType() == sinter.Bool {
			if short > 0 && m.Dim(-1) > 1 {
				m = m.Pad(false, [2]int{0, short})
			}
			a.mask = m
		} else {
			if short > 0 && m.Dim(-1) > 1 {
				m = m.Pad(math.Inf(-1), [2]int{0, short})
			}
			a.bias = m
		}
	}
	// Query i is at position i + offset of the keys.
	row, column := c.positions(l, l, 1), c.positions(s, s)
	at := row.Add(past)
	if c.Has(6) {
		n := c.In(6).Reshape(-1, 1, 1, 1)
		a.see(column.Lt(n))
		at = row.Add(n.Sub(l))
	}
	switch {
	case c.Bool("is_causal") && !c.Has(6) && past+l == s:
		a.causal = true
	case c.Bool("is_causal"):
		a.see(column.Le(at))
	}
	if w := c.Int("left_window_size"); w >= 0 {
		a.see(at.Sub(column).Le(w))
	}
	if w := c.Int("right_window_size"); w >= 0 {
		a.see(column.Sub(at).Le(w))
	}
	if e := Elem(c.Int("softmax_precision")); e != Undefined {
		if a.precise = e.DType(); !a.precise.IsFloat() {
			return fmt.Errorf("the attribute softmax_precision is %s", e)
		}
	}
	if c.Wants(3) {
		if a.stage = c.Int("qk_matmul_output_mode"); a.stage < 0 || a.stage > 3 {
			return fmt.Errorf("the attribute qk_matmul_output_mode is %d", a.stage)
		}
	}
	y, scores, err := a.run(c)
	if err != nil {
		return err
	}
	if len(c.Shape(0)) == 3 {
		y = fn.MergeHeads(y)
	}
	c.Set(0, y)
	if c.Wants(1) {
		c.Set(1, a.k)
	}
	if c.Wants(2) {
		c.Set(2, a.v)
	}
	if c.Wants(3) {
		c.Set(3, scores)
	}
	return nil
}

// flexAttentionOp is attention with graphs that change scores and weights.
func flexAttentionOp(c *Call) error {
	a := &attending{q: c.In(0), k: c.In(1), v: c.In(2), scale: c.Float("scale"), stage: -1}
	a.precise = a.q.DType()
	if a.precise.Size() < 4 {
		a.precise = sinter.F32
	}
	if e := Elem(c.Int("softmax_precision")); e != Undefined {
		if a.precise = e.DType(); !a.precise.IsFloat() {
			return fmt.Errorf("the attribute softmax_precision is %s", e)
		}
	}
	mod := func(attr string) func(*sinter.Tensor) (*sinter.Tensor, error) {
		return func(x *sinter.Tensor) (*sinter.Tensor, error) {
			if !c.HasAttr(attr) {
				return x, nil
			}
			out, err := c.RunGraph(attr, c.Made(ElemOf(x.DType()), x))
			if err != nil {
				return nil, err
			}
			if len(out) != 1 {
				return nil, fmt.Errorf("the graph %s has %d outputs, expected 1", attr, len(out))
			}
			if y := c.Enter(out[0]); y.Err() != nil || fmt.Sprint(y.Shape()) != fmt.Sprint(x.Shape()) || y.DType() != x.DType() {
				return nil, firstError(fmt.Errorf("the graph %s makes %s of %s%v", attr, out[0], x.DType(), x.Shape()), y)
			}
			return c.Enter(out[0]), nil
		}
	}
	a.modScores, a.modWeights = mod("score_mod"), mod("prob_mod")
	y, _, err := a.run(c)
	if err != nil {
		return err
	}
	c.Set(0, y)
	return nil
}

// linearAttentionOp reads queries from a matrix that each position changes, by
// its key and value: what is there fades (gated) and the difference from it is
// written (delta).
func linearAttentionOp(c *Call) error {
	hq, hkv := c.Int("q_num_heads"), c.Int("kv_num_heads")
	s := c.Shape(0)
	if len(s) != 3 || hq < 1 || hkv < 1 || hq%hkv != 0 || s[2]%hq != 0 || len(c.Shape(2)) != 3 || c.Shape(2)[2]%hkv != 0 {
		return fmt.Errorf("queries of shape %v and values of %v in %d and %d heads", s, c.Shape(2), hq, hkv)
	}
	batch, length, dk, dv := s[0], s[1], s[2]/hq, c.Shape(2)[2]/hkv
	gated, delta := false, false
	switch rule := c.Str("update_rule"); rule {
	case "linear":
	case "gated":
		gated = true
	case "delta":
		delta = true
	case "gated_delta":
		gated, delta = true, true
	default:
		return fmt.Errorf("the attribute update_rule is %q", rule)
	}
	wide := sinter.F32
	if c.In(0).DType() == sinter.F64 {
		wide = sinter.F64
	}
	split := func(i, n int) *sinter.Tensor { // [batch, length, heads, rest]
		return c.In(i).Cast(wide).Reshape(batch, length, n, -1)
	}
	q, k, v := split(0, hq), split(1, hkv), split(2, hkv)
	var fade, beta *sinter.Tensor
	if gated {
		fade = split(4, hkv).Exp()
	}
	if delta {
		beta = c.In(5).Cast(wide).Reshape(batch, length, -1, 1)
	}
	state := c.Full(0, wide, batch, hkv, dk, dv)
	if c.Has(3) {
		state = c.In(3).Cast(wide)
	}
	scale := c.Float("scale")
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(dk))
	}
	out := make([]*sinter.Tensor, length)
	for t := range out {
		if err := c.Context().Err(); err != nil {
			return err
		}
		key := k.At(1, t).Unsqueeze(-1) // [batch, heads, dk, 1]
		write := v.At(1, t).Unsqueeze(-2)
		if gated {
			state = state.Mul(fade.At(1, t).Unsqueeze(-1))
		}
		if delta {
			there := key.Transpose().MatMul(state)
			write = write.Sub(there).Mul(beta.At(1, t).Unsqueeze(-1))
		}
		state = state.Add(key.Mul(write))
		query := q.At(1, t).Reshape(batch, hkv, hq/hkv, dk)
		out[t] = query.MatMul(state).Mul(scale).Reshape(batch, hq*dv)
	}
	if length == 0 {
		c.Set(0, c.Full(0, c.In(0).DType(), batch, 0, hq*dv))
	} else {
		c.Set(0, sinter.Stack(1, out...).Cast(c.In(0).DType()))
	}
	if c.Wants(1) {
		c.Set(1, state.Cast(c.In(0).DType()))
	}
	return nil
}

// rotary turns pairs of elements by angles whose cosines and sines are given: for
// each position of input 0, or in a table that position ids, [batch, length],
// point into.
func (c *Call) rotary(cos, sin, ids *sinter.Tensor) error {
	x := c.In(0)
	shape := x.Shape()
	if len(shape) == 3 {
		n := c.Int("num_heads")
		if n < 1 && cos.Err() == nil && cos.Rank() > 0 { // as many as the tables say
			if d := c.Int("rotary_embedding_dim"); d == 0 {
				n = shape[2] / max(2*cos.Dim(-1), 1)
			}
		}
		if n < 1 || shape[2]%n != 0 {
			return fmt.Errorf("an input of shape %v with num_heads %d", shape, n)
		}
		x = x.Reshape(shape[0], shape[1], n, shape[2]/n).SwapAxes(1, 2)
	}
	if ids != nil {
		cos, sin = cos.Gather(0, ids.Cast(sinter.I64)), sin.Gather(0, ids.Cast(sinter.I64))
	}
	y, err := rotate(x, cos, sin, c.Int("rotary_embedding_dim"), c.Bool("interleaved"))
	if err != nil {
		return err
	}
	if len(shape) == 3 {
		y = y.SwapAxes(1, 2).Reshape(shape...)
	}
	c.Set(0, y)
	return nil
}

// rotate turns pairs of the first dim elements (0: all) of the last axis of x
// [batch, heads, length, d] by cosines and sines [batch, length, dim/2]. Pairs are
// neighbours if interleaved, else an element of each half.
func rotate(x, cos, sin *sinter.Tensor, dim int, interleaved bool) (*sinter.Tensor, error) {
	if x.Err() != nil || x.Rank() != 4 {
		return nil, firstError(fmt.Errorf("an input with %d axes, expected 3 or 4", x.Rank()), x)
	}
	d := x.Dim(-1)
	if dim == 0 {
		dim = d
	}
	if dim < 0 || dim > d || dim%2 != 0 {
		return nil, fmt.Errorf("the rotation of %d elements of %d", dim, d)
	}
	if cos.Err() != nil || sin.Err() != nil || cos.Rank() != 3 || cos.Dim(-1) < dim/2 {
		return nil, firstError(fmt.Errorf("cosines of shape %v for the rotation of %d elements", cos.Shape(), dim), cos, sin)
	}
	last := func(t *sinter.Tensor, r sinter.Range) *sinter.Tensor {
		ranges := make([]sinter.Range, t.Rank())
		for i := range ranges {
			ranges[i] = sinter.All()
		}
		ranges[len(ranges)-1] = r
		return t.Slice(ranges...)
	}
	cos = last(cos, sinter.Until(dim/2)).Unsqueeze(1).Cast(x.DType())
	sin = last(sin, sinter.Until(dim/2)).Unsqueeze(1).Cast(x.DType())
	first, second := sinter.Until(dim/2), sinter.Span(dim/2, dim)
	if interleaved {
		first, second = sinter.Span(0, dim).By(2), sinter.Span(1, dim).By(2)
	}
	a, b := last(x, first), last(x, second)
	re, im := a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos))
	var y *sinter.Tensor
	if interleaved {
		s := x.Shape()
		s[3] = dim
		y = sinter.Stack(-1, re, im).Reshape(s...)
	} else {
		y = sinter.Concat(-1, re, im)
	}
	if dim < d {
		y = sinter.Concat(-1, y, last(x, sinter.From(dim)))
	}
	return y, nil
}
