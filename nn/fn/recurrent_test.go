package fn_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// affineModel is x·wᵀ + b.
func affineModel(x, w, b host) host {
	y := blank(x.shape[0], w.shape[0])
	each(y.shape, func(p []int) {
		sum := b.v[p[1]]
		for k := range x.shape[1] {
			sum += x.at(p[0], k) * w.at(p[1], k)
		}
		y.v[y.index(p)] = sum
	})
	return y
}

// cellModel is one step; kind is "rnn", "gru" or "lstm".
func cellModel(kind string, x, h, c host, w []host) (host, host) {
	fx, fh := affineModel(x, w[0], w[2]), affineModel(h, w[1], w[3])
	n := h.shape[1]
	hn, cn := blank(h.shape...), blank(h.shape...)
	each(h.shape, func(p []int) {
		gx := func(g int) float64 { return fx.at(p[0], g*n+p[1]) }
		gh := func(g int) float64 { return fh.at(p[0], g*n+p[1]) }
		i := h.index(p)
		switch kind {
		case "rnn":
			hn.v[i] = math.Tanh(gx(0) + gh(0))
		case "gru":
			r, z := logistic(gx(0)+gh(0)), logistic(gx(1)+gh(1))
			hn.v[i] = (1-z)*math.Tanh(gx(2)+r*gh(2)) + z*h.v[i]
		default:
			cn.v[i] = logistic(gx(1)+gh(1))*c.v[i] + logistic(gx(0)+gh(0))*math.Tanh(gx(2)+gh(2))
			hn.v[i] = logistic(gx(3)+gh(3)) * math.Tanh(cn.v[i])
		}
	})
	return hn, cn
}

func TestRecurrent(t *testing.T) {
	const length, n, input, hidden = 4, 2, 3, 2
	x, h0, c0 := random(1, length, n, input), random(2, n, hidden), random(3, n, hidden)
	for kind, gates := range map[string]int{"rnn": 1, "gru": 3, "lstm": 4} {
		w := []host{random(4, gates*hidden, input), random(5, gates*hidden, hidden), random(6, gates*hidden), random(7, gates*hidden)}
		for _, reverse := range []bool{false, true} {
			states := blank(length, n, hidden)
			h, c := h0, c0
			for i := range length {
				at := i
				if reverse {
					at = length - 1 - i
				}
				step := host{[]int{n, input}, x.v[at*n*input:][:n*input]}
				h, c = cellModel(kind, step, h, c, w)
				copy(states.v[at*n*hidden:], h.v)
			}
			run := func(in ...*sinter.Tensor) (s, h, c *sinter.Tensor) {
				weights := fn.Weights{In: in[3], Hidden: in[4], BiasIn: in[5], BiasHidden: in[6]}
				switch kind {
				case "rnn":
					s, h = fn.RNN(in[0], in[1], weights, reverse)
				case "gru":
					s, h = fn.GRU(in[0], in[1], weights, reverse)
				default:
					return fn.LSTM(in[0], in[1], in[2], weights, reverse)
				}
				return s, h, nil
			}
			in := append([]host{x, h0, c0}, w...)
			both(t, kind, func(in ...*sinter.Tensor) *sinter.Tensor { s, _, _ := run(in...); return s }, states, in...)
			both(t, kind+" last", func(in ...*sinter.Tensor) *sinter.Tensor { _, h, _ := run(in...); return h }, h, in...)
			if kind == "lstm" {
				both(t, "cell", func(in ...*sinter.Tensor) *sinter.Tensor { _, _, c := run(in...); return c }, c, in...)
			}
		}
		first := host{[]int{n, input}, x.v[:n*input]}
		want, wantC := cellModel(kind, first, h0, c0, w)
		one := func(in ...*sinter.Tensor) *sinter.Tensor {
			weights := fn.Weights{In: in[3], Hidden: in[4], BiasIn: in[5], BiasHidden: in[6]}
			switch kind {
			case "rnn":
				return fn.RNNCell(in[0], in[1], weights)
			case "gru":
				return fn.GRUCell(in[0], in[1], weights)
			}
			h, c := fn.LSTMCell(in[0], in[1], in[2], weights)
			return sinter.Concat(0, h, c)
		}
		if kind == "lstm" {
			want = host{[]int{2 * n, hidden}, append(want.v, wantC.v...)}
		}
		in := append([]host{first, h0, c0}, w...)
		both(t, kind+" cell", one, want, in...)
		small := append([]host{random(1, 1, 2), random(2, 1, 1), random(3, 1, 1)},
			random(4, gates, 2), random(5, gates, 1), random(6, gates), random(7, gates))
		gradients(t, kind, one, small...)
	}
	empty, _ := fn.RNN(blank(0, n, input).tensor(), h0.tensor(), fn.Weights{}, false)
	equal(t, "no steps", empty, blank(0, n, hidden), 0)
}
