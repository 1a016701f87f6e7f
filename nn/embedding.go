package nn

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// Embedding looks rows of Weight [count, width] up.
type Embedding struct{ Weight *sinter.Var }

// NewEmbedding makes a table of count rows, drawn by [Normal] of deviation 1.
func NewEmbedding(g *sinter.Generator, count, width int, opts ...Option) *Embedding {
	o := makeOptions(opts)
	return &Embedding{o.weight(g, Normal(1), Fan{In: count, Out: width}, count, width)}
}

// Forward gives [..., width] for i64 indices [...]. An index outside 0 to count-1,
// negative ones included, makes the result an error when it is read.
func (e *Embedding) Forward(index *sinter.Tensor) *sinter.Tensor {
	w := Use(e.Weight, index)
	if index.Err() == nil && index.DType() != sinter.I64 {
		return failed("embedding", []*sinter.Tensor{w}, "the indices are %s, expected i64", index.DType())
	}
	// Gather counts negative ones from the end.
	return w.Gather(0, sinter.Where(index.Lt(0), w.Dim(0), index))
}

// Logits is x·Weightᵀ: how like each row x [..., width] is, shape [..., count]. A
// language model whose last layer is tied to its embedding ends with it (Press and Wolf,
// Using the Output Embedding to Improve Language Models, 2017).
func (e *Embedding) Logits(x *sinter.Tensor) *sinter.Tensor {
	return x.MatMul(Use(e.Weight, x).Transpose())
}

// String describes the layer: Embedding(1000 × 64).
func (e *Embedding) String() string { return describeTable("Embedding", e.Weight) }

func describeTable(name string, v *sinter.Var) string {
	if v == nil || v.Borrow().Err() != nil {
		return name + "(empty)"
	}
	w := v.Borrow()
	return fmt.Sprintf("%s(%d × %d)", name, w.Dim(0), w.Dim(1))
}

// LearnedPositions adds row i of Weight [longest, width] to position i of x
// [..., length, width].
type LearnedPositions struct{ Weight *sinter.Var }

// NewLearnedPositions makes a table of rows, drawn by [Normal] of deviation 0.02.
func NewLearnedPositions(g *sinter.Generator, longest, width int, opts ...Option) *LearnedPositions {
	o := makeOptions(opts)
	return &LearnedPositions{o.weight(g, Normal(0.02), Fan{In: longest, Out: width}, longest, width)}
}

// Forward adds the positions from 0 on.
func (p *LearnedPositions) Forward(x *sinter.Tensor) *sinter.Tensor { return p.ForwardAt(x, 0) }

// ForwardAt adds the positions from start on, as after earlier ones in a cache.
func (p *LearnedPositions) ForwardAt(x *sinter.Tensor, start int) *sinter.Tensor {
	w := Use(p.Weight, x)
	if n := x.Dim(-2); x.Rank() < 2 || start < 0 || start+n > w.Dim(0) {
		return failed("learned_positions", []*sinter.Tensor{x, w}, "x has shape %v from position %d, expected [..., length, width] up to position %d",
			x.Shape(), start, w.Dim(0))
	}
	return x.Add(w.Slice(sinter.Span(start, start+x.Dim(-2))))
}

// String describes the layer.
func (p *LearnedPositions) String() string { return describeTable("LearnedPositions", p.Weight) }

// SinusoidalPositions adds sines and cosines to x [..., length, width], width even:
// element 2i of position p gets sin(p / 10000^(2i/width)), element 2i+1 the cosine
// (Vaswani and others, Attention Is All You Need, 2017).
type SinusoidalPositions struct{}

// Forward adds the positions from 0 on.
func (s SinusoidalPositions) Forward(x *sinter.Tensor) *sinter.Tensor { return s.ForwardAt(x, 0) }

// ForwardAt adds the positions from start on.
func (SinusoidalPositions) ForwardAt(x *sinter.Tensor, start int) *sinter.Tensor {
	d := x.Dim(-1)
	if x.Rank() < 2 || d%2 != 0 {
		return failed("sinusoidal_positions", []*sinter.Tensor{x}, "x has shape %v, expected [..., length, width] of even width", x.Shape())
	}
	n := x.Dim(-2)
	position := arange(x, n).Add(start).Cast(sinter.F64).Unsqueeze(-1)
	// 2^13.28771237954945 is 10000.
	angle := position.Mul(arange(x, d/2).Cast(sinter.F64).Mul(-2 * 13.28771237954945 / float64(max(d, 1))).Exp2())
	return x.Add(sinter.Stack(-1, angle.Sin(), angle.Cos()).Reshape(n, d).Cast(x.DType()))
}
