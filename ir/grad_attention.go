package ir

// Gradients of attention. The first order is rows of its own, which compute the
// weights again, a block at a time. The gradients of those rows are composed of
// products, and store the scores: second derivatives of attention are rare.

// gradAttention: see Dao, "FlashAttention-2", 2023, for delta; the gradient of lse
// goes the same way, since both are subtracted from that of the weights.
func gradAttention(g *GradContext) []Value {
	b := build{g}
	y, lse := g.Out[0], g.Out[1]
	stat := b.Type(lse).DType
	dy := g.DOut[0]
	if dy == nil {
		dy = b.full(0, b.Type(y).DType, b.shape(y)...)
	}
	delta := b.do("sum", []Value{b.mul(b.cast(dy, stat), b.cast(y, stat))}, "axes", []int{-1})
	if d := g.DOut[1]; d != nil {
		delta = b.sub(delta, d)
	}
	in := append(g.In[:3:3], b.num(0, y), dy, lse, delta)
	if len(g.In) > 3 {
		in[3] = g.In[3]
	}
	out := make([]Value, len(g.In))
	attrs := []any{"causal", g.Attrs[0].Bool(), "scale", g.Attrs[1].Float(), "window", g.Attrs[2].Int}
	if g.Need[0] {
		out[0] = b.do("attention_grad_q", in, attrs...)
	}
	if g.Need[1] || g.Need[2] {
		kv := b.ApplyN("attention_grad_kv", in, A(attrs...)...)
		out[1], out[2] = kv[0], kv[1]
	}
	if len(g.In) > 3 && g.Need[3] {
		out[3] = b.do("attention_grad_bias", in, attrs...)
	}
	return out
}

// composed is attention's backward pass in terms of products: what the gradients of
// its rows are made of. Matrices of queries have the rows of neighbouring heads that
// share keys one below the other.
type composed struct {
	build
	q, k, v, dy Value
	p, dp, ds   Value // weights, their gradient, and that of the scores
	less        Value // dp - delta
	scale       Value
	rows, wide  Shape // of the scores, grouped and as they are
}

func composeAttention(g *GradContext) *composed {
	c := &composed{build: build{g}, k: g.In[1], v: g.In[2]}
	q, k := c.shape(g.In[0]), c.shape(g.In[1])
	n := len(q)
	l, s := q[n-2], k[n-2]
	c.rows = append(k[:n-2].Clone(), q[n-3]/k[n-3]*l, s)
	c.wide = append(q[:n-1].Clone(), s)
	c.q, c.dy = c.grouped(g.In[0]), c.grouped(g.In[4])
	c.scale = c.num(AttentionScale(g.Attrs[1].Float(), q[n-1]), g.In[0])
	stat := func(v Value) Value { return c.reshape(c.cast(v, c.Type(g.In[0]).DType), append(q[:n-1:n-1], 1)...) }
	x := c.add(c.reshape(c.mul(c.mm(c.q, c.mt(c.k)), c.scale), c.wide...), g.In[3])
	lse := stat(g.In[5])
	low := c.num(lowest(F64), x)
	x = c.where(c.pair("eq", lse, low), low, c.sub(x, c.where(c.pair("eq", lse, low), c.num(0, x), lse)))
	if hidden := c.hidden(l, s, g.Attrs[0].Bool(), int(g.Attrs[2].Int)); hidden != nil {
		x = c.where(hidden, low, x)
	}
	c.p = c.reshape(c.do("exp", []Value{x}), c.rows...)
	c.dp = c.mm(c.dy, c.mt(c.v))
	c.less = c.grouped(c.sub(c.reshape(c.dp, c.wide...), stat(g.In[6])))
	c.ds = c.mul(c.p, c.less)
	return c
}

// hidden says which keys causal and a window hide, nil for none.
func (b build) hidden(l, s int, causal bool, window int) Value {
	if !causal && window == 0 {
		return nil
	}
	key := b.iota(s, 1, 2, I64)
	at := b.add(b.iota(l, 0, 2, I64), b.Scalar(float64(s-l), I64))
	var out Value
	if causal {
		out = b.pair("gt", key, at)
	}
	if window > 0 {
		before := b.pair("le", key, b.sub(at, b.Scalar(float64(window), I64)))
		if out == nil {
			return before
		}
		out = b.pair("or", out, before)
	}
	return out
}

// grouped gives a matrix [..., heads, l, w] the rows of heads that share keys.
func (c *composed) grouped(v Value) Value {
	s := c.shape(v)
	return c.reshape(v, append(c.rows[:len(c.rows)-1:len(c.rows)-1], s[len(s)-1])...)
}

// back returns the gradients of the operands of a row whose result has the gradient
// a with respect to ds, and w, if there is one, with respect to p; the others are
// what the row's own formula adds to those of q, k and dy.
func (c *composed) back(g *GradContext, a, w, dq, dk, ddy Value) []Value {
	plus := func(x, z Value) Value {
		if z == nil {
			return x
		}
		return c.add(x, z)
	}
	ap := c.mul(a, c.p)
	dp := plus(c.mul(a, c.less), w)
	x := c.mul(dp, c.p)
	sum := func(v Value, like Value) Value {
		return c.cast(c.do("sum", []Value{c.neg(c.reshape(v, c.wide...))}, "axes", []int{-1}), c.Type(like).DType)
	}
	as := func(v, like Value) Value { return c.reshape(v, c.shape(like)...) }
	return []Value{
		as(plus(c.mul(c.mm(x, c.k), c.scale), dq), g.In[0]),
		plus(c.mul(c.mm(c.mt(x), c.q), c.scale), dk),
		c.mm(c.mt(ap), c.dy),
		c.reshape(x, c.wide...),
		as(plus(c.mm(ap, c.v), ddy), g.In[4]),
		sum(x, g.In[5]),
		sum(ap, g.In[6]),
	}
}

// gradAttentionQ: dq = scale·ds·k.
func gradAttentionQ(g *GradContext) []Value {
	c := composeAttention(g)
	u := c.grouped(g.DOut[0])
	return c.back(g, c.mul(c.mm(u, c.mt(c.k)), c.scale), nil, nil, c.mul(c.mm(c.mt(c.ds), u), c.scale), nil)
}

// gradAttentionKV: dk = scale·dsᵀ·q, dv = pᵀ·dy.
func gradAttentionKV(g *GradContext) []Value {
	c := composeAttention(g)
	a, dq := c.mul(c.ds, c.num(0, c.ds)), Value(nil)
	if u := g.DOut[0]; u != nil {
		a, dq = c.mul(c.mm(c.q, c.mt(u)), c.scale), c.mul(c.mm(c.ds, u), c.scale)
	}
	var w, ddy Value
	if u := g.DOut[1]; u != nil {
		w, ddy = c.mm(c.dy, c.mt(u)), c.mm(c.p, u)
	}
	return c.back(g, a, w, dq, nil, ddy)
}

// gradAttentionBias: dbias = ds, summed to the shape of bias.
func gradAttentionBias(g *GradContext) []Value {
	c := composeAttention(g)
	u := c.do("expand", []Value{g.DOut[0]}, "shape", c.wide)
	return c.back(g, c.reshape(u, c.rows...), nil, nil, nil, nil)
}
