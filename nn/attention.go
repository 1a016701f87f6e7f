package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// MultiHeadAttention lets positions look at each other: queries, keys and values
// are projected, split in heads, joined by [fn.Attention], merged and projected.
// Parameters are named q_proj, k_proj, v_proj and out_proj, or in_proj and out_proj.
type MultiHeadAttention struct {
	Q   *Linear `nn:"q_proj"`
	K   *Linear `nn:"k_proj"`
	V   *Linear `nn:"v_proj"`
	In  *Linear `nn:"in_proj"` // instead of the three: their results side by side
	Out *Linear `nn:"out_proj"`

	Heads, KVHeads int
	Causal         bool
	Window         int             // positions that a query looks back on, 0: all
	Dropout        float64         // of the weights, while training
	Rotary         *fn.RoPEOptions // nil: none
}

// NewMultiHeadAttention makes attention of a width in heads, whose number divides
// it, with weights drawn by [GlorotUniform]. See [Causal], [Packed], [KVHeads],
// [Rotary], [DropoutRate] and [NoBias].
func NewMultiHeadAttention(g *sinter.Generator, width, heads int, opts ...Option) *MultiHeadAttention {
	o := makeOptions(opts)
	a := &MultiHeadAttention{Heads: heads, KVHeads: heads, Causal: o.causal, Window: o.window, Dropout: o.dropout}
	if o.kvHeads != 0 {
		a.KVHeads = o.kvHeads
	}
	if o.rotary != 0 {
		a.Rotary = &fn.RoPEOptions{Base: o.rotary}
	}
	if o.init == nil {
		opts = append(opts[:len(opts):len(opts)], InitWith(GlorotUniform))
	}
	kv := over(width, heads) * a.KVHeads // negative, if heads does not divide width
	if o.packed {
		a.In = NewLinear(g, width, width+2*kv, opts...)
	} else {
		a.Q = NewLinear(g, width, width, opts...)
		a.K, a.V = NewLinear(g, width, kv, opts...), NewLinear(g, width, kv, opts...)
	}
	a.Out = NewLinear(g, width, width, opts...)
	return a
}

// Forward is self-attention of x [..., length, width].
func (a *MultiHeadAttention) Forward(x *sinter.Tensor) *sinter.Tensor {
	return a.Attend(Mode{}, x, x, x, nil)
}

// ForwardMode is Forward in a mode.
func (a *MultiHeadAttention) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	return a.Attend(m, x, x, x, nil)
}

// Attend lets queries [..., l, width] look at keys and values [..., s, width]. A
// mask, if there is one, broadcasts to [..., heads, l, s]: bool, true where a query
// sees a key, or added to the scores.
func (a *MultiHeadAttention) Attend(m Mode, query, key, value, mask *sinter.Tensor) *sinter.Tensor {
	q, k, v := a.project(query, key, value, nil)
	return a.join(m, q, k, v, mask)
}

// project makes heads; positions are those of queries and keys, nil from 0 on.
func (a *MultiHeadAttention) project(query, key, value, positions *sinter.Tensor) (q, k, v *sinter.Tensor) {
	return a.turned(query, key, value, func(like *sinter.Tensor, length int) fn.Rotation {
		if positions == nil {
			positions = arange(like, length)
		}
		return fn.NewRotation(positions, like.Dim(-1), like.DType(), *a.Rotary)
	})
}

// turned makes heads and, where positions turn them, turns those of queries and keys by the
// rotation of as many positions as the longer of them has. What is projected from one tensor
// is turned as one.
func (a *MultiHeadAttention) turned(query, key, value *sinter.Tensor, rotation func(like *sinter.Tensor, length int) fn.Rotation) (q, k, v *sinter.Tensor) {
	if a.Rotary == nil {
		return a.heads(query, key, value)
	}
	if a.In != nil && query == key && key == value {
		y := a.In.Forward(query)
		head := over(y.Dim(-1), a.Heads+2*a.KVHeads)
		parts := y.Split(-1, head*(a.Heads+a.KVHeads), head*a.KVHeads)
		qk := fn.SplitHeads(parts[0], a.Heads+a.KVHeads)
		both := rotation(qk, qk.Dim(-2)).Turn(qk).Split(-3, a.Heads, a.KVHeads)
		return both[0], both[1], fn.SplitHeads(parts[1], a.KVHeads)
	}
	q, k, v = a.heads(query, key, value)
	r := rotation(k, max(q.Dim(-2), k.Dim(-2)))
	return r.Until(q.Dim(-2)).Turn(q), r.Until(k.Dim(-2)).Turn(k), v
}

// heads projects, and splits in heads.
func (a *MultiHeadAttention) heads(query, key, value *sinter.Tensor) (q, k, v *sinter.Tensor) {
	if a.In != nil {
		q, k, v = a.unpack(query, key, value)
	} else {
		q, k, v = a.Q.Forward(query), a.K.Forward(key), a.V.Forward(value)
	}
	return fn.SplitHeads(q, a.Heads), fn.SplitHeads(k, a.KVHeads), fn.SplitHeads(v, a.KVHeads)
}

// unpack projects by the packed layer: once what is the same tensor.
func (a *MultiHeadAttention) unpack(query, key, value *sinter.Tensor) (q, k, v *sinter.Tensor) {
	parts := func(x *sinter.Tensor) []*sinter.Tensor {
		y := a.In.Forward(x)
		head := over(y.Dim(-1), a.Heads+2*a.KVHeads)
		return y.Split(-1, head*a.Heads, head*a.KVHeads, head*a.KVHeads)
	}
	p := parts(query)
	q, k, v = p[0], p[1], p[2]
	if key != query {
		p = parts(key)
		k, v = p[1], p[2]
	}
	if value != key {
		v = parts(value)[2]
	}
	return q, k, v
}

func (a *MultiHeadAttention) join(m Mode, q, k, v, mask *sinter.Tensor) *sinter.Tensor {
	o := fn.AttentionOptions{Causal: a.Causal, Window: a.Window, Mask: mask}
	if m.Train {
		o.Dropout, o.Generator = a.Dropout, m.Generator
	}
	return a.Out.Forward(fn.MergeHeads(fn.Attention(q, k, v, o)))
}

// String describes the layer.
func (a *MultiHeadAttention) String() string {
	text := fmt.Sprintf("MultiHeadAttention(%d heads", a.Heads)
	if a.KVHeads != a.Heads {
		text += fmt.Sprintf(", %d of keys", a.KVHeads)
	}
	if a.Causal {
		text += ", causal"
	}
	if a.Window > 0 {
		text += fmt.Sprintf(", window %d", a.Window)
	}
	return text + ")"
}

// KVCache holds the keys and values of earlier positions, so that a sequence grows
// by a position at the cost of one. It belongs to a sequence, not to the model. It
// is used by one goroutine at a time.
//
// Attention reads the part that is in use where it lies. A sequence that is fed in
// pieces, of any lengths, gives the bits that the whole gives, if the cache has the
// dtype of the keys, whatever its capacity.
type KVCache struct {
	Key, Value *sinter.Var // [n, heads, capacity, width of a head]
	Length     int         // how many positions are in use
}

// NewCache makes an empty cache for n sequences of up to capacity positions.
func (a *MultiHeadAttention) NewCache(n, capacity int) *KVCache {
	layer, heads := a.K, a.KVHeads
	if a.In != nil {
		layer, heads = a.In, a.Heads+2*a.KVHeads
	}
	w, width := layer.Weight.Borrow(), 0
	if heads > 0 {
		width = w.Dim(0) / heads
	}
	make := func() *sinter.Var {
		v := sinter.NewVar(sinter.On(deviceOf(w)).Zeros(w.DType(), n, a.KVHeads, capacity, width))
		v.Freeze()
		return v
	}
	return &KVCache{Key: make(), Value: make()}
}

// Capacity is the greatest length, 0 without a cache.
func (c *KVCache) Capacity() int {
	if c == nil || c.Key == nil {
		return 0
	}
	return c.Key.Borrow().Dim(2)
}

// check returns what is wrong with a cache for x, or nil.
func (c *KVCache) check(op string, x *sinter.Tensor) *sinter.Tensor {
	switch {
	case c == nil || c.Key == nil || c.Value == nil:
		return failed(op, []*sinter.Tensor{x}, "there is no cache; NewCache makes one")
	case c.Length < 0 || c.Length > c.Capacity():
		return failed(op, []*sinter.Tensor{x, c.Key.Borrow()}, "%d positions of the cache are in use, expected 0 to %d", c.Length, c.Capacity())
	case x.Rank() != 3 || x.Dim(0) != c.Key.Borrow().Dim(0):
		return failed(op, []*sinter.Tensor{x, c.Key.Borrow()}, "x has shape %v, expected [%d, length, width]", x.Shape(), c.Key.Borrow().Dim(0))
	}
	return nil
}

// ForwardCached is causal self-attention of x [n, length, width], whose positions
// follow those in the cache, and takes their keys and values into it. No gradient
// flows into earlier calls. On an error the cache is as it was.
func (a *MultiHeadAttention) ForwardCached(x *sinter.Tensor, c *KVCache) *sinter.Tensor {
	if y := c.check("cached_attention", x); y != nil {
		return y
	}
	n := x.Dim(1)
	if c.Length+n > c.Capacity() {
		return failed("cached_attention", []*sinter.Tensor{x, c.Key.Borrow()}, "x has shape %v after %d positions, expected [n, length, width] up to position %d",
			x.Shape(), c.Length, c.Capacity())
	}
	q, k, v := a.project(x, x, x, arange(x, n).Add(c.Length))
	at := []sinter.Range{sinter.All(), sinter.All(), sinter.Span(c.Length, c.Length+n)}
	keys, values := present(c.Key, x), present(c.Value, x)
	keys, values = keys.SetSlice(at, k.Cast(keys.DType())), values.SetSlice(at, v.Cast(values.DType()))
	seen := []sinter.Range{sinter.All(), sinter.All(), sinter.Until(c.Length + n)}
	o := fn.AttentionOptions{Causal: true, Window: a.Window}
	y := a.Out.Forward(fn.MergeHeads(fn.Attention(q, keys.Slice(seen...).Cast(q.DType()), values.Slice(seen...).Cast(q.DType()), o)))
	if y = c.take(y, keys, values); y.Err() == nil {
		c.Length += n
	}
	return y
}

// take sets keys and values beside a result, unless that carries an error.
func (c *KVCache) take(y, keys, values *sinter.Tensor) *sinter.Tensor {
	if y.Err() != nil {
		return y
	}
	if err := c.Key.Set(keys); err != nil {
		return sinter.Failed(err)
	}
	if err := c.Value.Set(values); err != nil {
		return sinter.Failed(err)
	}
	return y
}
