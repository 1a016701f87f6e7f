package fn

import "github.com/sinter-go/sinter"

// Weights of a recurrent cell, in PyTorch's layout: In [gates·hidden, input],
// Hidden [gates·hidden, hidden], biases [gates·hidden] or nil. The gates lie in the
// order input, forget, cell, output (LSTM) or reset, update, new (GRU).
type Weights struct {
	In, Hidden         *sinter.Tensor
	BiasIn, BiasHidden *sinter.Tensor
}

func affine(x, w, bias *sinter.Tensor) *sinter.Tensor {
	y := x.MatMul(w.Transpose())
	if bias != nil {
		y = y.Add(bias)
	}
	return y
}

// gates splits the last axis in n parts.
func gates(x *sinter.Tensor, n int) []*sinter.Tensor {
	out := make([]*sinter.Tensor, n)
	size := x.Dim(-1) / n
	ranges := make([]sinter.Range, max(x.Rank(), 1))
	for i := range ranges {
		ranges[i] = sinter.All()
	}
	for i := range out {
		ranges[len(ranges)-1] = sinter.Span(i*size, (i+1)*size)
		out[i] = x.Slice(ranges...)
	}
	return out
}

// RNNCell is tanh(x·Inᵀ + BiasIn + h·Hiddenᵀ + BiasHidden) for x [n, input] and the
// state h [n, hidden].
func RNNCell(x, h *sinter.Tensor, w Weights) *sinter.Tensor {
	return affine(x, w.In, w.BiasIn).Add(affine(h, w.Hidden, w.BiasHidden)).Tanh()
}

// LSTMCell returns the next state and cell of a long short-term memory:
//
//	i, f, g, o = x·Inᵀ + BiasIn + h·Hiddenᵀ + BiasHidden
//	c' = sigmoid(f)·c + sigmoid(i)·tanh(g)
//	h' = sigmoid(o)·tanh(c')
func LSTMCell(x, h, c *sinter.Tensor, w Weights) (hNext, cNext *sinter.Tensor) {
	return lstm(affine(x, w.In, w.BiasIn), h, c, w)
}

func lstm(fromX, h, c *sinter.Tensor, w Weights) (hNext, cNext *sinter.Tensor) {
	g := gates(fromX.Add(affine(h, w.Hidden, w.BiasHidden)), 4)
	cNext = g[1].Sigmoid().Mul(c).Add(g[0].Sigmoid().Mul(g[2].Tanh()))
	return g[3].Sigmoid().Mul(cNext.Tanh()), cNext
}

// GRUCell returns the next state of a gated recurrent unit, the reset gate being
// applied after the product with Hidden:
//
//	r, z, n of x·Inᵀ + BiasIn and of h·Hiddenᵀ + BiasHidden
//	r = sigmoid(rx + rh), z = sigmoid(zx + zh), n = tanh(nx + r·nh)
//	h' = (1 - z)·n + z·h
func GRUCell(x, h *sinter.Tensor, w Weights) *sinter.Tensor {
	return gru(affine(x, w.In, w.BiasIn), h, w)
}

func gru(fromX, h *sinter.Tensor, w Weights) *sinter.Tensor {
	gx, gh := gates(fromX, 3), gates(affine(h, w.Hidden, w.BiasHidden), 3)
	r, z := gx[0].Add(gh[0]).Sigmoid(), gx[1].Add(gh[1]).Sigmoid()
	n := gx[2].Add(r.Mul(gh[2])).Tanh()
	return n.Add(z.Mul(h.Sub(n)))
}

// steps runs a cell over x [length, n, input], backwards if reverse is set, and
// returns all states [length, n, hidden] in the order of x. The product with In is
// one for all steps.
func steps(x *sinter.Tensor, w Weights, reverse bool, h *sinter.Tensor, cell func(fromX *sinter.Tensor) *sinter.Tensor) *sinter.Tensor {
	n := x.Dim(0)
	if x.Rank() != 3 {
		return failed("sequence", []*sinter.Tensor{x}, "x has shape %v, expected [length, n, input]", x.Shape())
	}
	if n == 0 {
		return zeros(h, append([]int{0}, h.Shape()...)...)
	}
	fromX := affine(x, w.In, w.BiasIn)
	out := make([]*sinter.Tensor, n)
	for i := range out {
		t := i
		if reverse {
			t = n - 1 - i
		}
		out[t] = cell(fromX.At(0, t))
	}
	return sinter.Stack(0, out...)
}

// RNN runs RNNCell over x [length, n, input] from the state h, backwards if
// reverse is set, and returns all states, in the order of x, and the last one.
func RNN(x, h *sinter.Tensor, w Weights, reverse bool) (states, last *sinter.Tensor) {
	states = steps(x, w, reverse, h, func(fromX *sinter.Tensor) *sinter.Tensor {
		h = fromX.Add(affine(h, w.Hidden, w.BiasHidden)).Tanh()
		return h
	})
	return states, h
}

// GRU runs GRUCell over x [length, n, input]; see [RNN].
func GRU(x, h *sinter.Tensor, w Weights, reverse bool) (states, last *sinter.Tensor) {
	states = steps(x, w, reverse, h, func(fromX *sinter.Tensor) *sinter.Tensor {
		h = gru(fromX, h, w)
		return h
	})
	return states, h
}

// LSTM runs LSTMCell over x [length, n, input] from the state h and the cell c;
// see [RNN].
func LSTM(x, h, c *sinter.Tensor, w Weights, reverse bool) (states, lastH, lastC *sinter.Tensor) {
	states = steps(x, w, reverse, h, func(fromX *sinter.Tensor) *sinter.Tensor {
		h, c = lstm(fromX, h, c, w)
		return h
	})
	return states, h, c
}
