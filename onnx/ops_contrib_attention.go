package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/fn"
)

var maskFilter = floatAttr("mask_filter_value", -10000)

var _ = registerMicrosoft(
	opDef{name: "Attention", in: arity{2, 7}, out: oneTwo, run: contribAttentionOp, attrs: []attrSpec{intAttr("do_rotary", 0), maskFilter, need("num_heads", AttrInt),
		intAttr("past_present_share_buffer", 0), plainAttr("qkv_hidden_sizes", AttrInts), intAttr("rotary_embedding_dim", 0), floatAttr("scale", 0),
		intAttr("unidirectional", 0)}},
	opDef{name: "QAttention", in: arity{5, 9}, out: oneTwo, run: quantizedAttentionOp, attrs: []attrSpec{intAttr("do_rotary", 0), maskFilter, need("num_heads", AttrInt),
		intAttr("past_present_share_buffer", 0), floatAttr("scale", 0), intAttr("unidirectional", 0)}},
	opDef{name: "MultiHeadAttention", in: arity{1, 10}, out: arity{1, 4}, run: multiHeadAttentionOp, attrs: []attrSpec{maskFilter, need("num_heads", AttrInt),
		floatAttr("scale", 0), intAttr("unidirectional", 0)}},
	opDef{name: "GroupQueryAttention", in: arity{7, 16}, optional: []int{1, 2, 3, 4}, out: arity{1, 4}, run: groupQueryAttentionOp, attrs: []attrSpec{intAttr("causal", 1), intAttr("do_rotary", 0),
		strAttr("k_quant_type", "NONE"), intAttr("kv_cache_bit_width", 0), need("kv_num_heads", AttrInt), intAttr("local_window_size", -1), need("num_heads", AttrInt),
		floatAttr("qk_norm_epsilon", 1e-6), intAttr("qk_output", 0), intAttr("rotary_interleaved", 0), floatAttr("scale", 0), intAttr("sliding_window_cache", 0),
		intAttr("smooth_softmax", 0), floatAttr("softcap", 0), strAttr("v_quant_type", "NONE")}},
	opDef{name: "RotaryEmbedding", in: arity{4, 4}, out: one, run: contribRotaryOp, attrs: []attrSpec{intAttr("interleaved", 0), intAttr("is_packed_batching", 0),
		intAttr("num_heads", 0), intAttr("rotary_embedding_dim", 0), floatAttr("scale", 1)}},
)

// contribAttentionOp projects its input to queries, keys and values.
func contribAttentionOp(c *Call) error {
	if c.Bool("do_rotary") || c.Bool("past_present_share_buffer") {
		return fmt.Errorf("the attributes do_rotary and past_present_share_buffer are not supported")
	}
	x := addOpt(c.In(0).MatMul(c.In(1)), c.InOpt(2))
	return c.projectedAttention(x, c.Value(3), c.InOpt(4), c.InOpt(5))
}

// quantizedAttentionOp is contribAttentionOp with quantized input and weights.
func quantizedAttentionOp(c *Call) error {
	if c.Bool("do_rotary") || c.Bool("past_present_share_buffer") {
		return fmt.Errorf("the attributes do_rotary and past_present_share_buffer are not supported")
	}
	y, err := c.matMulInteger(0, 1, 6, 7)
	if err != nil {
		return err
	}
	x := y.Cast(sinter.F32).Mul(onColumns(c.In(4)).Mul(c.In(3).Reshape())).Add(c.In(2))
	return c.projectedAttention(x, c.Value(5), c.InOpt(8), nil)
}

// projectedAttention takes queries, keys and values side by side.
func (c *Call) projectedAttention(x *sinter.Tensor, mask *Value, past, bias *sinter.Tensor) error {
	if x.Err() != nil || x.Rank() != 3 {
		return firstError(fmt.Errorf("the projected input has shape %v, expected 3 axes", x.Shape()), x)
	}
	n := c.Int("num_heads")
	sizes := c.Ints("qkv_hidden_sizes")
	if len(sizes) == 0 {
		sizes = []int{x.Dim(2) / 3, x.Dim(2) / 3, x.Dim(2) / 3}
	}
	if len(sizes) != 3 || sizes[0]+sizes[1]+sizes[2] != x.Dim(2) || n < 1 || sizes[0]%n != 0 || sizes[1]%n != 0 || sizes[2]%n != 0 {
		return fmt.Errorf("%d numbers of queries, keys and values, as %v in %d heads", x.Dim(2), sizes, n)
	}
	parts := x.Split(2, sizes...)
	for i := range parts {
		parts[i] = fn.SplitHeads(parts[i], n)
	}
	a := &attending{q: parts[0], k: parts[1], v: parts[2], scale: c.Float("scale"), bias: bias, stage: -1}
	length := 0
	if past != nil {
		if past.Err() != nil || past.Rank() != 5 {
			return firstError(fmt.Errorf("the past has shape %v, expected 5 axes", past.Shape()), past)
		}
		length = past.Dim(3)
		a.k, a.v = sinter.Concat(2, past.At(0, 0), a.k), sinter.Concat(2, past.At(0, 1), a.v)
	}
	if err := firstError(nil, a.k, a.v); err != nil {
		return err
	}
	if err := c.padding(a, mask, length, "mask_index"); err != nil {
		return err
	}
	if c.Bool("unidirectional") {
		c.causal(a, length)
	}
	y, _, err := a.run(c)
	if err != nil {
		return err
	}
	c.Set(0, fn.MergeHeads(y))
	if c.Wants(1) {
		c.Set(1, sinter.Stack(0, a.k, a.v))
	}
	return nil
}

// causal hides keys after each query; past keys come before all queries.
func (c *Call) causal(a *attending, past int) {
	l, s := a.q.Dim(2), a.k.Dim(2)
	if past+l == s {
		a.causal = true
		return
	}
	a.see(c.positions(s, s).Le(c.positions(l, l, 1).Add(past)))
}

// padding adds the filter value where a mask says so: [batch] lengths, [2·batch]
// ends and starts, or masks of 0 and 1: [batch, keys], [batch, queries, keys],
// [batch, 1, longest, longest].
func (c *Call) padding(a *attending, mask *Value, past int, what string) error {
	if mask == nil || mask.isNone {
		return nil
	}
	m := c.Enter(mask)
	if err := m.Err(); err != nil {
		return err
	}
	batch, l, s := a.q.Dim(0), a.q.Dim(2), a.k.Dim(2)
	shape := m.Shape()
	bad := fmt.Errorf("%s has shape %v for a batch of %d, %d queries and %d keys", what, shape, batch, l, s)
	var seen *sinter.Tensor
	switch len(shape) {
	case 1:
		at := c.positions(s, 1, s)
		m = m.Cast(sinter.I64)
		switch shape[0] {
		case batch:
			seen = at.Lt(m.Unsqueeze(1))
		case 2 * batch:
			ends := m.Reshape(2, batch, 1)
			seen = at.Lt(ends.At(0, 0)).And(at.Ge(ends.At(0, 1)))
		case 3*batch + 2: // lengths, then what other kernels need
			seen = at.Lt(m.Slice(sinter.Until(batch)).Unsqueeze(1))
		default:
			return bad
		}
		seen = seen.Reshape(batch, 1, 1, s)
	case 2:
		if shape[0] != batch || shape[1] != s {
			return bad
		}
		seen = m.Ne(0).Reshape(batch, 1, 1, s)
	case 3:
		if shape[0] != batch || shape[1] != l || shape[2] != s {
			return bad
		}
		seen = m.Ne(0).Reshape(batch, 1, l, s)
	case 4:
		if shape[2] < past+l || shape[3] < s {
			return bad
		}
		seen = m.Slice(sinter.All(), sinter.All(), sinter.Span(past, past+l), sinter.Until(s)).Ne(0)
	default:
		return bad
	}
	d := a.q.DType()
	fill := sinter.Where(seen, c.Full(0, d), c.Full(c.Float("mask_filter_value"), d))
	if a.bias != nil {
		fill = a.bias.Add(fill)
	}
	a.bias = fill
	return nil
}

func multiHeadAttentionOp(c *Call) error {
	n := c.Int("num_heads")
	if n < 1 {
		return fmt.Errorf("the attribute num_heads is %d", n)
	}
	if c.Has(8) || c.Has(9) {
		return fmt.Errorf("caches of decoding (past_sequence_length, cache_indirection) are not supported")
	}
	q := c.In(0)
	var k, v *sinter.Tensor
	switch len(c.Shape(0)) {
	case 5: // packed [batch, length, heads, 3, d]
		q = q.Permute(3, 0, 2, 1, 4)
		q, k, v = q.At(0, 0), q.At(0, 1), q.At(0, 2)
	case 3:
	default:
		return fmt.Errorf("the query has shape %v, expected 3 or 5 axes", c.Shape(0))
	}
	if k == nil {
		switch len(c.Shape(1)) {
		case 5: // packed [batch, length, heads, 2, d]
			k = c.In(1).Permute(3, 0, 2, 1, 4)
			k, v = k.At(0, 0), k.At(0, 1)
		case 3, 4:
			k, v = c.In(1), c.In(2)
		default:
			return fmt.Errorf("the key has shape %v, expected 3 to 5 axes", c.Shape(1))
		}
	}
	if c.Has(3) { // for queries, keys and values one after the other
		var err error
		if q, k, v, err = biased(c.In(3), q, k, v, n, len(c.Shape(1)) == 4); err != nil {
			return err
		}
	}
	a := &attending{scale: c.Float("scale"), bias: c.InOpt(5), stage: -1}
	var err error
	for _, p := range []struct {
		to   **sinter.Tensor
		from *sinter.Tensor
	}{{&a.q, q}, {&a.k, k}, {&a.v, v}} {
		if *p.to, err = heads(p.from, n, "num_heads"); err != nil {
			return err
		}
	}
	past := 0
	if c.Has(6) && c.Has(7) {
		past = c.In(6).Dim(2)
		a.k, a.v = sinter.Concat(2, c.In(6), a.k), sinter.Concat(2, c.In(7), a.v)
		if err := firstError(nil, a.k, a.v); err != nil {
			return err
		}
	}
	if err := c.padding(a, c.Value(4), past, "key_padding_mask"); err != nil {
		return err
	}
	if c.Bool("unidirectional") {
		c.causal(a, past)
	}
	if c.Wants(3) {
		a.stage = 0
	}
	y, scores, err := a.run(c)
	if err != nil {
		return err
	}
	c.Set(0, fn.MergeHeads(y))
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

// biased adds the three parts of a bias, to [batch, length, heads·d] or [batch,
// heads, length, d]; with queries only to the queries: cached keys and values have
// theirs already.
func biased(bias, q, k, v *sinter.Tensor, n int, queries bool) (bq, bk, bv *sinter.Tensor, err error) {
	width := func(t *sinter.Tensor) int {
		if t.Rank() == 4 {
			return t.Dim(3) * n
		}
		return t.Dim(2)
	}
	if err := firstError(nil, bias, q, k, v); err != nil {
		return nil, nil, nil, err
	}
	if bias.Rank() != 1 || bias.Dim(0) != width(q)+width(k)+width(v) {
		return nil, nil, nil, fmt.Errorf("a bias of shape %v for queries of %v, keys of %v and values of %v", bias.Shape(), q.Shape(), k.Shape(), v.Shape())
	}
	parts := bias.Split(0, width(q), width(k), width(v))
	add := func(t, b *sinter.Tensor) *sinter.Tensor {
		if t.Rank() == 4 {
			return t.Add(b.Reshape(n, 1, -1))
		}
		return t.Add(b)
	}
	if queries {
		return add(q, parts[0]), k, v, nil
	}
	return add(q, parts[0]), add(k, parts[1]), add(v, parts[2]), nil
}

// contribRotaryOp takes positions of each element, or that of the first one.
func contribRotaryOp(c *Call) error {
	if c.Bool("is_packed_batching") {
		return fmt.Errorf("the attribute is_packed_batching is not supported")
	}
	if s := c.Float("scale"); s != 1 {
		return fmt.Errorf("the attribute scale is %v; only 1 is supported", s)
	}
	x := c.Shape(0)
	if len(x) != 3 && len(x) != 4 {
		return fmt.Errorf("an input of shape %v, expected 3 or 4 axes", x)
	}
	length := x[len(x)-2]
	ids := c.In(1)
	if len(c.Shape(1)) < 2 {
		ids = ids.Reshape(1, 1).Add(c.positions(length, 1, length)).Expand(x[0], length)
	}
	return c.rotary(c.In(2), c.In(3), ids)
}

// groupQueryAttentionOp appends to a cache of keys and values, and attends to it.
func groupQueryAttentionOp(c *Call) error {
	n, h := c.Int("num_heads"), c.Int("kv_num_heads")
	s := c.Shape(0)
	switch {
	case n < 1 || h < 1 || n%h != 0 || len(s) != 3:
		return fmt.Errorf("queries of shape %v in %d heads, with %d heads of keys", s, n, h)
	case c.Bool("sliding_window_cache"):
		return fmt.Errorf("the attribute sliding_window_cache is not supported")
	case c.Str("k_quant_type") != "NONE" || c.Str("v_quant_type") != "NONE":
		return fmt.Errorf("quantized caches are not supported")
	}
	batch, l := s[0], s[1]
	total, err := c.HostInt(6)
	if err != nil {
		return err
	}
	if total < l || total > maxExtent {
		return fmt.Errorf("the total sequence length is %d, less than the %d queries", total, l)
	}
	q, k, v := c.In(0), c.InOpt(1), c.InOpt(2)
	if k == nil { // packed
		d := s[2] / (n + 2*h)
		if d*(n+2*h) != s[2] {
			return fmt.Errorf("packed queries, keys and values of shape %v in %d and %d heads", s, n, h)
		}
		parts := q.Split(2, n*d, h*d, h*d)
		q, k, v = parts[0], parts[1], parts[2]
	}
	a := &attending{scale: c.Float("scale"), softcap: c.Float("softcap"), stage: -1}
	for _, p := range []struct {
		to   **sinter.Tensor
		from *sinter.Tensor
		n    int
	}{{&a.q, q, n}, {&a.k, k, h}, {&a.v, v, h}} {
		if *p.to, err = heads(p.from, p.n, "num_heads"); err != nil {
			return err
		}
	}
	if c.Has(14) && c.Has(15) {
		eps := ir.A("axes", []int{-1}, "eps", c.Float("qk_norm_epsilon"))
		a.q = sinter.Apply("rms_norm", []*sinter.Tensor{a.q, c.In(14)}, eps...)[0]
		a.k = sinter.Apply("rms_norm", []*sinter.Tensor{a.k, c.In(15)}, eps...)[0]
	}
	// Sequence b has lengths[b] keys in all; its queries are the last ones, unless
	// this is a prompt, which begins at 0 and may be padded at the end.
	lengths := c.In(5).Cast(sinter.I64).Reshape(-1, 1).Add(1)
	if lengths.Err() != nil || lengths.Dim(0) != batch {
		return firstError(fmt.Errorf("seqlens_k has shape %v for a batch of %d", c.Shape(5), batch), lengths)
	}
	start := lengths.Sub(l)
	if l == total {
		start = lengths.Mul(0)
	}
	at := start.Add(c.positions(l, 1, l)) // [batch, queries]
	if c.Bool("do_rotary") {
		ids := at
		if c.Has(9) {
			if ids = c.In(9); ids.Size() == 1 { // of the first query
				ids = ids.Reshape(1, 1).Add(c.positions(l, 1, l))
			}
			ids = ids.Expand(batch, l)
		}
		ids = ids.Maximum(0)
		cos, sin := c.In(7).Gather(0, ids), c.In(8).Gather(0, ids)
		dim := 2 * cos.Dim(-1)
		if a.q, err = rotate(a.q, cos, sin, dim, c.Bool("rotary_interleaved")); err != nil {
			return err
		}
		if a.k, err = rotate(a.k, cos, sin, dim, c.Bool("rotary_interleaved")); err != nil {
			return err
		}
	}
	a.k, a.v = c.cached(3, a.k, at, total), c.cached(4, a.v, at, total)
	if err := firstError(nil, a.k, a.v); err != nil {
		return err
	}
	if c.Has(10) {
		if a.bias = c.In(10); a.bias.Dim(-1) < a.k.Dim(2) && a.bias.Dim(-1) > 1 {
			a.bias = a.bias.Pad(0, [2]int{0, a.k.Dim(2) - a.bias.Dim(-1)})
		}
	}
	if c.Has(11) {
		a.sink = c.In(11)
	} else if c.Bool("smooth_softmax") {
		a.sink = c.Full(0, a.q.DType(), n)
	}
	column := c.positions(a.k.Dim(2), 1, 1, 1, a.k.Dim(2))
	row := at.Reshape(batch, 1, l, 1)
	if c.Bool("causal") {
		a.mask = column.Le(row)
	} else {
		a.mask = column.Lt(lengths.Reshape(batch, 1, 1, 1))
	}
	if w := c.Int("local_window_size"); w > 0 {
		a.mask = a.mask.And(row.Sub(column).Lt(w))
	}
	if c.Wants(3) {
		switch o := c.Int("qk_output"); o {
		case 1:
			a.stage = 2
		case 2:
			a.stage = 3
		default:
			return fmt.Errorf("the node has an output of scores, but the attribute qk_output is %d", o)
		}
	}
	y, scores, err := a.run(c)
	if err != nil {
		return err
	}
	c.Set(0, fn.MergeHeads(y))
	for i, t := range []*sinter.Tensor{a.k, a.v, scores} {
		if c.Wants(1 + i) {
			c.Set(1+i, t)
		}
	}
	return nil
}

// cached puts new keys or values [batch, heads, length, d] at positions [batch,
// length] of the cache that input i is, if it is there. The result holds at least
// total positions; a longer cache stays as long as it is.
func (c *Call) cached(i int, x, at *sinter.Tensor, total int) *sinter.Tensor {
	if x.Err() != nil {
		return x
	}
	s := x.Shape()
	past := 0
	if c.Has(i) {
		if len(c.Shape(i)) != 4 {
			return sinter.Failed(fmt.Errorf("a cache of shape %v, expected 4 axes", c.Shape(i)))
		}
		past = c.Shape(i)[2]
	}
	room := max(past, total)
	if past == 0 && room == s[2] {
		return x
	}
	var cache *sinter.Tensor
	if past == 0 {
		cache = c.Full(0, x.DType(), s[0], s[1], room, s[3])
	} else {
		cache = c.In(i).Pad(0, [2]int{0, room - past}, [2]int{})
	}
	return cache.PutAlong(2, at.Maximum(0).Reshape(s[0], 1, s[2], 1), x, sinter.PutReplace)
}
