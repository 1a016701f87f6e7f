package nn

import (
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// Place is where in its sequences a model decodes one position: a number on the device,
// so that no shape depends on it and a step that is captured ([sinter.Capture]) decodes
// one after the other. Its layers share what they make of it. A Place is of one step, and
// used by one goroutine at a time.
type Place struct {
	position *sinter.Tensor
	turns    map[turning]fn.Rotation
	masks    map[masking]*sinter.Tensor
	hits     map[int]*sinter.Tensor
}

type turning struct {
	width int
	dtype sinter.DType
	fn.RoPEOptions
}

type masking struct {
	capacity, window int
	dtype            sinter.DType
}

// At is the place of a position, i64 without axes: in the scope of the step, the value
// of a [sinter.Var] that the step counts up, say.
func At(position *sinter.Tensor) *Place {
	return &Place{position, map[turning]fn.Rotation{}, map[masking]*sinter.Tensor{}, map[int]*sinter.Tensor{}}
}

// Position is the number on the device.
func (p *Place) Position() *sinter.Tensor {
	if p == nil {
		return nil
	}
	return p.position
}

// check returns what is wrong with a place for x, or nil.
func (p *Place) check(op string, x *sinter.Tensor) *sinter.Tensor {
	if p == nil || p.masks == nil {
		return failed(op, []*sinter.Tensor{x}, "there is no place; At makes one of a position")
	}
	if t := p.position; t != nil && t.Err() == nil && (t.Rank() != 0 || t.DType() != sinter.I64) {
		return failed(op, []*sinter.Tensor{x, t}, "the position is %v%v, expected an i64 without axes", t.DType(), t.Shape())
	}
	return nil
}

// rotation turns heads of a width at the place.
func (p *Place) rotation(width int, t sinter.DType, o fn.RoPEOptions) fn.Rotation {
	k := turning{width, t, o}
	r, ok := p.turns[k]
	if !ok {
		r = fn.NewRotation(p.position.Unsqueeze(0), width, t, o)
		p.turns[k] = r
	}
	return r
}

// mask is 0 for what the place sees of a cache, [1, capacity], and -inf for the rest.
func (p *Place) mask(capacity, window int, t sinter.DType) *sinter.Tensor {
	k := masking{capacity, window, t}
	m := p.masks[k]
	if m == nil {
		at := arange(p.position, capacity)
		seen := at.Le(p.position)
		if window > 0 {
			seen = seen.And(at.Gt(p.position.Sub(window)))
		}
		zero := constant(p.position.Cast(t), 0)
		m = sinter.Where(seen, zero, math.Inf(-1)).Unsqueeze(0)
		p.masks[k] = m
	}
	return m
}

// hit is true at the place in a cache, [capacity, 1].
func (p *Place) hit(capacity int) *sinter.Tensor {
	h := p.hits[capacity]
	if h == nil {
		h = arange(p.position, capacity).Eq(p.position).Unsqueeze(-1)
		p.hits[capacity] = h
	}
	return h
}

// ForwardStep is [MultiHeadAttention.ForwardCached] for one position, x [n, 1, width], of
// which the place says where in the cache it goes; those before it are what it sees. Nothing
// of it depends on c.Length, which stays as it is: count the positions where the place is
// made. Results are those of ForwardCached but for rounding. A position is not looked at: of
// one below 0, or from the capacity on, nothing is taken into the cache, and the result
// means nothing. A prompt goes in by ForwardCached, whose c.Length is the first place.
func (a *MultiHeadAttention) ForwardStep(x *sinter.Tensor, at *Place, c *KVCache) *sinter.Tensor {
	if y := c.check("attention_step", x); y != nil {
		return y
	}
	if y := at.check("attention_step", x); y != nil {
		return y
	}
	if x.Dim(1) != 1 {
		return failed("attention_step", []*sinter.Tensor{x, c.Key.Borrow()}, "x has shape %v, expected [%d, 1, width]", x.Shape(), c.Key.Borrow().Dim(0))
	}
	q, k, v := a.turned(x, x, x, func(like *sinter.Tensor, _ int) fn.Rotation {
		return at.rotation(like.Dim(-1), like.DType(), *a.Rotary)
	})
	keys, values := present(c.Key, x), present(c.Value, x)
	hit := at.hit(c.Capacity())
	keys, values = sinter.Where(hit, k.Cast(keys.DType()), keys), sinter.Where(hit, v.Cast(values.DType()), values)
	y := fn.AttentionByScores(q, keys.Cast(q.DType()), values.Cast(q.DType()), at.mask(c.Capacity(), a.Window, sinter.F32), 0)
	y = a.Out.Forward(fn.MergeHeads(y))
	return c.take(y, keys, values)
}

// ForwardStep applies the block to one position; see [MultiHeadAttention.ForwardStep].
func (b *TransformerBlock) ForwardStep(x *sinter.Tensor, at *Place, c *KVCache) *sinter.Tensor {
	x = x.Add(b.Attention.ForwardStep(b.Norm1.Forward(x), at, c))
	return x.Add(b.FeedForward.Forward(b.Norm2.Forward(x)))
}
