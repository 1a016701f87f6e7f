package nn

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn/fn"
)

// State is what a recurrent network remembers: H, and of an LSTM its cells C, both
// [layers·directions, n, hidden]. Nil ones are zeros.
type State struct{ H, C *sinter.Tensor }

// Recurrent is a network of recurrent layers over sequences x [length, n, input].
// Parameters have names and shapes as files of PyTorch models have them:
// "weight_ih_l0" [gates·hidden, input], "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
// "weight_ih_l0_reverse", …, with gates in the order input, forget, cell, output
// (LSTM) or reset, update, new (GRU). Between layers there is dropout while
// training.
type Recurrent struct {
	Dropout float64

	kind       string
	hidden     int
	directions [][]cell // of each layer: forwards, and maybe backwards
}

// cell are the parameters of one layer in one direction.
type cell struct{ in, hidden, biasIn, biasHidden *sinter.Var }

// NewRNN makes a network of tanh cells ([fn.RNNCell]). Parameters are drawn from
// ±1/√hidden, biases too. See [Layers], [Bidirectional], [DropoutRate], [NoBias].
func NewRNN(g *sinter.Generator, input, hidden int, opts ...Option) *Recurrent {
	return newRecurrent(g, "RNN", 1, input, hidden, opts)
}

// NewLSTM makes a network of long short-term memories ([fn.LSTMCell]); see [NewRNN].
func NewLSTM(g *sinter.Generator, input, hidden int, opts ...Option) *Recurrent {
	return newRecurrent(g, "LSTM", 4, input, hidden, opts)
}

// NewGRU makes a network of gated recurrent units ([fn.GRUCell]); see [NewRNN].
func NewGRU(g *sinter.Generator, input, hidden int, opts ...Option) *Recurrent {
	return newRecurrent(g, "GRU", 3, input, hidden, opts)
}

func newRecurrent(g *sinter.Generator, kind string, gates, input, hidden int, opts []Option) *Recurrent {
	o := makeOptions(opts)
	r := &Recurrent{kind: kind, hidden: hidden, Dropout: o.dropout}
	usual := Uniform(1 / math.Sqrt(float64(max(hidden, 1))))
	directions := 1
	if o.bidirectional {
		directions = 2
	}
	for range o.layers {
		var layer []cell
		for range directions {
			c := cell{
				in:     o.weight(g, usual, Fan{In: input, Out: hidden}, gates*hidden, input),
				hidden: o.weight(g, usual, Fan{In: hidden, Out: hidden}, gates*hidden, hidden),
			}
			if o.bias {
				c.biasIn = sinter.NewVar(usual(g, o.of, o.dtype, Fan{}, gates*hidden))
				c.biasHidden = sinter.NewVar(usual(g, o.of, o.dtype, Fan{}, gates*hidden))
			}
			layer = append(layer, c)
		}
		r.directions = append(r.directions, layer)
		input = hidden * directions
	}
	return r
}

// NamedParams lists the parameters; see [Parameterized].
func (r *Recurrent) NamedParams() []Named {
	var out []Named
	for l, layer := range r.directions {
		for d, c := range layer {
			suffix := fmt.Sprintf("_l%d", l)
			if d == 1 {
				suffix += "_reverse"
			}
			for _, p := range []Named{{Name: "weight_ih", Var: c.in}, {Name: "weight_hh", Var: c.hidden}, {Name: "bias_ih", Var: c.biasIn}, {Name: "bias_hh", Var: c.biasHidden}} {
				if p.Var != nil {
					p.Name += suffix
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// Forward gives the last layer's states [length, n, directions·hidden], beginning
// from zeros.
func (r *Recurrent) Forward(x *sinter.Tensor) *sinter.Tensor { return r.ForwardMode(Mode{}, x) }

// ForwardMode is Forward in a mode.
func (r *Recurrent) ForwardMode(m Mode, x *sinter.Tensor) *sinter.Tensor {
	y, _ := r.Run(m, x, State{})
	return y
}

// Run gives the last layer's states [length, n, directions·hidden], beginning from
// a state, and the state after the last step (after the first, for the cells that
// run backwards).
func (r *Recurrent) Run(m Mode, x *sinter.Tensor, s State) (states *sinter.Tensor, last State) {
	fail := func(t *sinter.Tensor) (*sinter.Tensor, State) {
		last := State{H: t}
		if r.kind == "LSTM" {
			last.C = t
		}
		return t, last
	}
	if x.Err() != nil || x.Rank() != 3 {
		return fail(failed("recurrent", []*sinter.Tensor{x}, "x has shape %v, expected [length, n, input]", x.Shape()))
	}
	if len(r.directions) == 0 {
		return fail(failed("recurrent", nil, "the network has no layers"))
	}
	count := len(r.directions) * len(r.directions[0])
	initial := func(t *sinter.Tensor) *sinter.Tensor {
		if t != nil {
			return t
		}
		return constant(x, 0).Expand(count, x.Dim(1), r.hidden)
	}
	s.H = initial(s.H)
	if r.kind == "LSTM" {
		s.C = initial(s.C)
	}
	for _, t := range []*sinter.Tensor{s.H, s.C} {
		if t != nil && t.Err() == nil && (t.Rank() != 3 || t.Dim(0) != count || t.Dim(1) != x.Dim(1) || t.Dim(2) != r.hidden) {
			return fail(failed("recurrent", []*sinter.Tensor{x}, "the state has shape %v, expected [%d, %d, %d]", t.Shape(), count, x.Dim(1), r.hidden))
		}
	}
	var h, c []*sinter.Tensor
	for l, layer := range r.directions {
		var sides []*sinter.Tensor
		for d, p := range layer {
			w := fn.Weights{In: Use(p.in, x), Hidden: Use(p.hidden, x), BiasIn: optional(p.biasIn, x), BiasHidden: optional(p.biasHidden, x)}
			at := s.H.At(0, len(h))
			var side, lastH, lastC *sinter.Tensor
			switch r.kind {
			case "LSTM":
				side, lastH, lastC = fn.LSTM(x, at, s.C.At(0, len(h)), w, d == 1)
				c = append(c, lastC)
			case "GRU":
				side, lastH = fn.GRU(x, at, w, d == 1)
			default:
				side, lastH = fn.RNN(x, at, w, d == 1)
			}
			h, sides = append(h, lastH), append(sides, side)
		}
		if x = sides[0]; len(sides) > 1 {
			x = sinter.Concat(-1, sides...)
		}
		if l < len(r.directions)-1 {
			x = Dropout{r.Dropout}.ForwardMode(m, x)
		}
	}
	last.H = sinter.Stack(0, h...)
	if len(c) > 0 {
		last.C = sinter.Stack(0, c...)
	}
	return x, last
}

// String describes the network: LSTM(8 → 16, 2 layers).
func (r *Recurrent) String() string {
	if len(r.directions) == 0 {
		return "Recurrent(empty)"
	}
	text := fmt.Sprintf("%s(%d → %d", r.kind, r.directions[0][0].in.Borrow().Dim(1), r.hidden)
	if n := len(r.directions); n > 1 {
		text += fmt.Sprintf(", %d layers", n)
	}
	if len(r.directions[0]) > 1 {
		text += ", both ways"
	}
	return text + ")"
}
