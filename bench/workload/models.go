package workload

import (
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/bench/limit"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/nn/loss"
	"github.com/sinter-go/sinter/optim"
)

// Whole models: language models in the shapes of published ones, with random weights
// and tokens.

var models = []op{
	{group: "models", name: "train_gpt2", label: modelLabel(4), tiny: []int{2, 16, 2, 32, 2, 8}, state: trainGPT2, cost: gpt2Cost,
		gpu: in(ir.BF16, []int{12, 768, 12, 50257, 8, 512})},
	{group: "models", name: "decode_llama", label: modelLabel(6), tiny: []int{2, 16, 4, 2, 24, 32, 8}, state: decodeLlama, cost: llamaCost,
		gpu: in(ir.BF16, []int{16, 2048, 32, 8, 8192, 128256, 512})},
}

// modelLabel is the layers and the width, and what the model is given.
func modelLabel(from int) func(sizes []int) string {
	return func(s []int) string { return fmt.Sprintf("%s/%s", times(s[:2]...), times(s[from:]...)) }
}

// gpt2 is a language model of the shape of GPT-2 (Radford and others, Language Models
// are Unsupervised Multitask Learners, 2019): learned positions, normalisation before
// each part, and a last layer that is tied to the embedding. Parameters are f32, what
// layers compute has another precision: weights are cast where they are used.
type gpt2 struct {
	Tokens    *nn.Embedding
	Positions *nn.LearnedPositions
	Blocks    []*nn.TransformerBlock
	Norm      *nn.LayerNorm
	Precision ir.DType
}

// newGPT2 makes a model of layers, width, heads and vocabulary for tokens positions.
func newGPT2(g *sinter.Generator, layers, width, heads, vocabulary, tokens int, precision ir.DType, opts ...nn.Option) *gpt2 {
	opts = append([]nn.Option{nn.InitWith(nn.Normal(0.02)), nn.Causal(), nn.Packed(), nn.Activation(nn.GELUTanh)}, opts...)
	m := &gpt2{Tokens: nn.NewEmbedding(g, vocabulary, width, opts...), Positions: nn.NewLearnedPositions(g, tokens, width, opts...),
		Norm: nn.NewLayerNorm([]int{width}, opts...), Precision: precision}
	for range layers {
		m.Blocks = append(m.Blocks, nn.NewTransformerBlock(g, width, heads, 4*width, opts...))
	}
	return m
}

// Forward gives logits [n, length, vocabulary] of tokens [n, length].
func (m *gpt2) Forward(tokens *sinter.Tensor) *sinter.Tensor { return m.ForwardMode(nn.Mode{}, tokens) }

// ForwardMode is Forward in a mode.
func (m *gpt2) ForwardMode(mode nn.Mode, tokens *sinter.Tensor) *sinter.Tensor {
	x := m.Positions.Forward(m.Tokens.Forward(tokens)).Cast(m.Precision)
	for _, b := range m.Blocks {
		x = b.ForwardMode(mode, x)
	}
	return m.Tokens.Logits(m.Norm.Forward(x))
}

// gpt2Cost counts what every token passes, forward and back: the matrices of the
// blocks, the last layer, and causal attention, half of 4·length·width. The parameters
// are read and written as by [optim.Adam].
func gpt2Cost(s []int, t ir.DType) Cost {
	layers, width, vocabulary, tokens, length := float64(s[0]), float64(s[1]), float64(s[3]), float64(s[4]*s[5]), float64(s[5])
	weights := 12*layers*width*width + vocabulary*width
	return Cost{Bytes: int64(7 * weights * 4), Moves: limit.Copy, Work: 3 * (2*weights + 2*layers*length*width) * tokens, Unit: unit(t)}
}

func trainGPT2(s []int, t ir.DType, d *sinter.Device) stateStep {
	model := newGPT2(sinter.NewGenerator(1), s[0], s[1], s[2], s[3], s[5], t, nn.On(d))
	tokens := input{t: ir.I64, shape: s[4:], below: s[3]}.make(sinter.On(d), 1)
	next := input{t: ir.I64, shape: s[4:], below: s[3]}.make(sinter.On(d), 2)
	rule := optim.NewAdamW(nn.Trainable(model), optim.Constant(1e-4), 0.1)
	return training(model, rule, func(scope *sinter.Scope, forward func(*sinter.Tensor) *sinter.Tensor) *sinter.Tensor {
		return loss.CrossEntropy(forward(scope.In(tokens)).Cast(sinter.F32), scope.In(next), loss.Options{})
	})
}

// llama is a language model of the shape of Llama 3 (Grattafiori and others, The Llama 3
// Herd of Models, 2024): rotary positions, heads that share keys, gated feed-forward
// parts, and a last layer that is tied to the embedding, as in the small ones.
type llama struct {
	Tokens *nn.Embedding
	Blocks []*nn.TransformerBlock
	Norm   *nn.RMSNorm
}

// newLlama makes a model of layers, width, heads, heads of keys, hidden width and
// vocabulary.
func newLlama(g *sinter.Generator, layers, width, heads, kvHeads, hidden, vocabulary int, opts ...nn.Option) *llama {
	opts = append([]nn.Option{nn.InitWith(nn.Normal(0.02)), nn.Causal(), nn.Packed(), nn.KVHeads(kvHeads), nn.Rotary(500000), nn.SwiGLU(), nn.RMS(), nn.NoBias()}, opts...)
	m := &llama{Tokens: nn.NewEmbedding(g, vocabulary, width, opts...), Norm: nn.NewRMSNorm([]int{width}, opts...)}
	for range layers {
		m.Blocks = append(m.Blocks, nn.NewTransformerBlock(g, width, heads, hidden, opts...))
	}
	return m
}

// Forward gives logits [n, length, vocabulary] of tokens [n, length].
func (m *llama) Forward(tokens *sinter.Tensor) *sinter.Tensor {
	x := m.Tokens.Forward(tokens)
	for _, b := range m.Blocks {
		x = b.Forward(x)
	}
	return m.Tokens.Logits(m.Norm.Forward(x))
}

// caches are of every block, for n sequences.
func (m *llama) caches(n, capacity int) []*nn.KVCache {
	out := make([]*nn.KVCache, len(m.Blocks))
	for i, b := range m.Blocks {
		out[i] = b.Attention.NewCache(n, capacity)
	}
	return out
}

// next gives logits [n, 1, vocabulary] of the tokens [n, 1] at a place.
func (m *llama) next(tokens *sinter.Tensor, at *nn.Place, caches []*nn.KVCache) *sinter.Tensor {
	x := m.Tokens.Forward(tokens)
	for i, b := range m.Blocks {
		x = b.ForwardStep(x, at, caches[i])
	}
	return m.Tokens.Logits(m.Norm.Forward(x))
}

// llamaCost is reading every weight once, and the cache.
func llamaCost(s []int, t ir.DType) Cost {
	layers, width, heads, kvHeads, hidden, vocabulary, context := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
	kv := width / heads * kvHeads
	block := 2*width*width + 2*width*kv + 3*width*hidden + 2*context*kv
	return Cost{Bytes: int64(layers*block+vocabulary*width) * int64(t.Size()), Moves: limit.Copy}
}

// decodeLlama decodes one token after the other at the last position of a cache that is
// full: a step takes the most likely token of the one before.
func decodeLlama(s []int, t ir.DType, d *sinter.Device) stateStep {
	on := sinter.On(d)
	model := newLlama(sinter.NewGenerator(1), s[0], s[1], s[2], s[3], s[4], s[5], nn.On(d), nn.DType(t))
	caches := model.caches(1, s[6])
	fixed := func(x *sinter.Tensor) *sinter.Var { // no gradients here
		v := sinter.NewVar(x)
		v.Freeze()
		return v
	}
	for _, p := range nn.Params(model) {
		p.Var.Freeze()
	}
	token, position := fixed(on.Zeros(sinter.I64, 1, 1)), fixed(on.Full(s[6]-1, sinter.I64))
	return func(s *sinter.Scope) ([]*sinter.Tensor, error) {
		logits := model.next(token.In(s), nn.At(position.In(s)), caches)
		return list{logits}, token.Set(logits.ArgMax(-1))
	}
}
