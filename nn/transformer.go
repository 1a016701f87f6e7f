package nn

import "github.com/sinter-go/sinter"

// FeedForward is Down(Activation(Up(x))), or with a Gate
// Down(Activation(Gate(x))·Up(x)).
type FeedForward struct {
	Gate       *Linear // nil: none
	Up, Down   *Linear
	Activation Layer
	Dropout    float64 // of the result, while training
}

// NewFeedForward makes a layer with GELU, or with [SwiGLU] one that is gated by
// SiLU (Shazeer, GLU Variants Improve Transformer, 2020); see [Activation] for others.
func NewFeedForward(g *sinter.Generator, width, hidden int, opts ...Option) *FeedForward {
	o := makeOptions(opts)
	f := &FeedForward{Activation: GELU, Dropout: o.dropout}
	if o.gated {
		f.Gate, f.Activation = NewLinear(g, width, hidden, opts...), SiLU
	}
	if o.activation != nil {
		f.Activation = o.activation
	}
	f.Up, f.Down = NewLinear(g, width, hidden, opts...), NewLinear(g, hidden, width, opts...)
	return f
}

// Forward applies the layer to the last axis.
func (f *FeedForward) Forward(x *sinter.Tensor) *sinter.Tensor { return f.ForwardMode(Mode{}, x) }

// ForwardMode applies the layer in a mode.
func (f *FeedForward) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	up := f.Up.Forward(x)
	if f.Gate != nil {
		up = Forward(m, f.Activation, f.Gate.Forward(x)).Mul(up)
	} else {
		up = Forward(m, f.Activation, up)
	}
	return Dropout{f.Dropout}.ForwardMode(m, f.Down.Forward(up))
}

// TransformerBlock is a block with normalisation before each part (Xiong and
// others, On Layer Normalization in the Transformer Architecture, 2020):
//
//	x = x + Attention(Norm1(x))
//	x = x + FeedForward(Norm2(x))
type TransformerBlock struct {
	Norm1       Layer
	Attention   *MultiHeadAttention
	Norm2       Layer
	FeedForward *FeedForward
	Dropout     float64 // of the attention's result, while training
}

// NewTransformerBlock makes a block whose feed-forward part is hidden wide. It
// takes the options of its parts: [Causal], [Packed], [KVHeads], [Rotary], [SwiGLU],
// [Activation], [RMS], [NoBias], [DropoutRate].
func NewTransformerBlock(g *sinter.Generator, width, heads, hidden int, opts ...Option) *TransformerBlock {
	o := makeOptions(opts)
	norm := func() Layer {
		if o.rms {
			return NewRMSNorm([]int{width}, opts...)
		}
		return NewLayerNorm([]int{width}, opts...)
	}
	return &TransformerBlock{
		Norm1: norm(), Attention: NewMultiHeadAttention(g, width, heads, opts...),
		Norm2: norm(), FeedForward: NewFeedForward(g, width, hidden, opts...), Dropout: o.dropout,
	}
}

// Forward applies the block to x [..., length, width].
func (b *TransformerBlock) Forward(x *sinter.Tensor) *sinter.Tensor {
	return b.ForwardMasked(Mode{}, x, nil)
}

// ForwardMode applies the block in a mode.
func (b *TransformerBlock) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	return b.ForwardMasked(m, x, nil)
}

// ForwardMasked applies the block in a mode with a mask, as
// [MultiHeadAttention.Attend] takes it.
func (b *TransformerBlock) ForwardMasked(m Mode, x, mask *sinter.Tensor) *sinter.Tensor {
	n := Forward(m, b.Norm1, x)
	x = x.Add(Dropout{b.Dropout}.ForwardMode(m, b.Attention.Attend(m, n, n, n, mask)))
	return x.Add(Forward(m, b.FeedForward, Forward(m, b.Norm2, x)))
}

// ForwardCached applies the block to the next positions of sequences; see
// [MultiHeadAttention.ForwardCached].
func (b *TransformerBlock) ForwardCached(x *sinter.Tensor, c *KVCache) *sinter.Tensor {
	x = x.Add(b.Attention.ForwardCached(b.Norm1.Forward(x), c))
	return x.Add(b.FeedForward.Forward(b.Norm2.Forward(x)))
}
