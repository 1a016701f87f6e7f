package onnx

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter"
)

func recurrentAttrs(more ...attrSpec) []attrSpec {
	return append([]attrSpec{plainAttr("activation_alpha", AttrFloats), plainAttr("activation_beta", AttrFloats), plainAttr("activations", AttrStrings),
		plainAttr("clip", AttrFloat), strAttr("direction", "forward"), need("hidden_size", AttrInt), intAttr("layout", 0)}, more...)
}

var _ = register(
	opDef{name: "RNN", since: 7, in: arity{3, 6}, out: arity{0, 2}, attrs: recurrentAttrs(), run: func(c *Call) error {
		return c.recurrent(1, []string{"Tanh"}, rnnCell)
	}},
	opDef{name: "GRU", since: 7, in: arity{3, 6}, out: arity{0, 2}, attrs: recurrentAttrs(intAttr("linear_before_reset", 0)), run: func(c *Call) error {
		return c.recurrent(3, []string{"Sigmoid", "Tanh"}, gruCell)
	}},
	opDef{name: "LSTM", since: 7, in: arity{3, 8}, out: arity{0, 3}, attrs: recurrentAttrs(intAttr("input_forget", 0)), run: func(c *Call) error {
		return c.recurrent(4, []string{"Sigmoid", "Tanh", "Tanh"}, lstmCell)
	}},
)

// activation is a function of a recurrent cell.
type activation func(*sinter.Tensor) *sinter.Tensor

// direction is one direction of a recurrent operator while it runs.
type direction struct {
	clip      activation
	act       []activation
	recur     *sinter.Tensor // transposed weights of the state [hidden, gates·hidden]
	bias      *sinter.Tensor // of the state, [gates·hidden], where it is not in the part of the input
	peephole  []*sinter.Tensor
	hidden    int
	lateReset bool // GRU: the reset gate comes after the product
	coupled   bool // LSTM: the forget gate is 1 less the input gate
}

// cell computes the next states from the part of the input, [batch,
// gates·hidden], and the states: h, and c of an LSTM.
type cell func(d *direction, x *sinter.Tensor, state []*sinter.Tensor) []*sinter.Tensor

// gate returns part i of the last axis.
func (d *direction) gate(x *sinter.Tensor, i, n int) *sinter.Tensor {
	return x.Slice(sinter.All(), sinter.Span(i*d.hidden, (i+n)*d.hidden))
}

func (d *direction) product(h *sinter.Tensor) *sinter.Tensor {
	y := h.MatMul(d.recur)
	if d.bias != nil {
		y = y.Add(d.bias)
	}
	return y
}

func rnnCell(d *direction, x *sinter.Tensor, s []*sinter.Tensor) []*sinter.Tensor {
	return []*sinter.Tensor{d.act[0](d.clip(x.Add(d.product(s[0]))))}
}

// gruCell has the gates z (update), r (reset) and h (new).
func gruCell(d *direction, x *sinter.Tensor, s []*sinter.Tensor) []*sinter.Tensor {
	h := s[0]
	var z, r, n *sinter.Tensor
	if d.lateReset {
		p := d.product(h)
		zr := d.act[0](d.clip(d.gate(x, 0, 2).Add(d.gate(p, 0, 2))))
		z, r = d.gate(zr, 0, 1), d.gate(zr, 1, 1)
		n = d.gate(x, 2, 1).Add(r.Mul(d.gate(p, 2, 1)))
	} else {
		zr := d.act[0](d.clip(d.gate(x, 0, 2).Add(h.MatMul(d.recur.Slice(sinter.All(), sinter.Until(2*d.hidden))))))
		z, r = d.gate(zr, 0, 1), d.gate(zr, 1, 1)
		n = d.gate(x, 2, 1).Add(r.Mul(h).MatMul(d.recur.Slice(sinter.All(), sinter.From(2*d.hidden))))
	}
	n = d.act[1](d.clip(n))
	return []*sinter.Tensor{n.Add(z.Mul(h.Sub(n)))}
}

// lstmCell has the gates i (input), o (output), f (forget) and c (cell).
func lstmCell(d *direction, x *sinter.Tensor, s []*sinter.Tensor) []*sinter.Tensor {
	c := s[1]
	g := x.Add(d.product(s[0]))
	in, out, forget := d.gate(g, 0, 1), d.gate(g, 1, 1), d.gate(g, 2, 1)
	if d.peephole != nil {
		in, forget = in.Add(d.peephole[0].Mul(c)), forget.Add(d.peephole[2].Mul(c))
	}
	in = d.act[0](d.clip(in))
	if d.coupled {
		forget = in.Neg().Add(1)
	} else {
		forget = d.act[0](d.clip(forget))
	}
	next := forget.Mul(c).Add(in.Mul(d.act[1](d.clip(d.gate(g, 3, 1)))))
	if d.peephole != nil {
		out = out.Add(d.peephole[1].Mul(next))
	}
	return []*sinter.Tensor{d.act[0](d.clip(out)).Mul(d.act[2](next)), next}
}

// recurrent runs a cell along the sequence, in one direction or both.
func (c *Call) recurrent(gates int, defaults []string, f cell) error {
	hidden := c.Int("hidden_size")
	batchFirst := c.Bool("layout")
	x := c.In(0)
	if batchFirst {
		x = x.SwapAxes(0, 1)
	}
	s := x.Shape()
	if err := x.Err(); err != nil {
		return err
	}
	if len(s) != 3 || hidden < 1 {
		return fmt.Errorf("the input has shape %v, expected 3 axes, the hidden size is %d", s, hidden)
	}
	length, batch := s[0], s[1]
	var reverse []bool
	switch dir := c.Str("direction"); dir {
	case "forward":
		reverse = []bool{false}
	case "reverse":
		reverse = []bool{true}
	case "bidirectional":
		reverse = []bool{false, true}
	default:
		return fmt.Errorf("the attribute direction is %q", dir)
	}
	dirs := len(reverse)
	states := 1
	if gates == 4 {
		states = 2
	}
	for i, want := range [][]int{{dirs, gates * hidden, s[2]}, {dirs, gates * hidden, hidden}, {dirs, 2 * gates * hidden}} {
		if c.Has(1+i) && fmt.Sprint(c.Shape(1+i)) != fmt.Sprint(want) {
			return fmt.Errorf("input %d has shape %v, expected %v", 1+i, c.Shape(1+i), want)
		}
	}
	acts, err := c.activations(dirs, defaults)
	if err != nil {
		return err
	}
	there, err := c.present(length, batch)
	if err != nil {
		return err
	}
	all := make([]*sinter.Tensor, dirs)
	last := make([][]*sinter.Tensor, states)
	for k := range dirs {
		d := &direction{hidden: hidden, act: acts[k], clip: c.clip()}
		fromX := c.setUp(d, x, k, gates)
		state := make([]*sinter.Tensor, states)
		for i := range state {
			if c.Has(5 + i) {
				first := c.In(5 + i)
				if batchFirst {
					first = first.SwapAxes(0, 1)
				}
				state[i] = first.At(0, k)
			} else {
				state[i] = c.Full(0, x.DType(), batch, hidden)
			}
		}
		ys := make([]*sinter.Tensor, length)
		for i := range ys {
			t := i
			if reverse[k] {
				t = length - 1 - i
			}
			if err := c.Context().Err(); err != nil {
				return err
			}
			next := f(d, fromX.At(0, t), state)
			ys[t] = next[0]
			if there != nil { // past its end a sequence keeps its state
				on := there.At(0, t)
				for j := range next {
					next[j] = sinter.Where(on, next[j], state[j])
				}
				ys[t] = sinter.Where(on, ys[t], 0)
			}
			state = next
		}
		if c.Wants(0) {
			if length == 0 {
				all[k] = c.Full(0, x.DType(), 0, batch, hidden)
			} else {
				all[k] = sinter.Stack(0, ys...)
			}
		}
		for i, t := range state {
			last[i] = append(last[i], t)
		}
	}
	if c.Wants(0) {
		axis := 1
		if batchFirst {
			axis = 2
			for k := range all {
				all[k] = all[k].SwapAxes(0, 1)
			}
		}
		c.Set(0, sinter.Stack(axis, all...))
	}
	for i, ts := range last {
		if c.Wants(1 + i) {
			axis := 0
			if batchFirst {
				axis = 1
			}
			c.Set(1+i, sinter.Stack(axis, ts...))
		}
	}
	return nil
}

// setUp prepares direction k, and returns the part of the gates that comes from
// the input, which is one product for all steps: [length, batch, gates·hidden].
func (c *Call) setUp(d *direction, x *sinter.Tensor, k, gates int) *sinter.Tensor {
	fromX := x.MatMul(c.In(1).At(0, k).Transpose())
	d.recur = c.In(2).At(0, k).Transpose()
	d.coupled = c.Int("input_forget") != 0
	d.lateReset = c.Int("linear_before_reset") != 0
	if c.Has(3) {
		b := c.In(3).At(0, k)
		n := gates * d.hidden
		bias := b.Slice(sinter.Until(n))
		if d.lateReset { // the reset gate applies to the bias of the state too
			d.bias = b.Slice(sinter.From(n))
		} else {
			bias = bias.Add(b.Slice(sinter.From(n)))
		}
		fromX = fromX.Add(bias)
	}
	if gates == 4 && c.Has(7) {
		d.peephole = c.In(7).At(0, k).Split(0, d.hidden, d.hidden, d.hidden)
	}
	return fromX
}

// present says for each step and batch whether the sequence is that long:
// bool[length, batch, 1], nil if all are.
func (c *Call) present(length, batch int) (*sinter.Tensor, error) {
	if !c.Has(4) {
		return nil, nil
	}
	if n := c.Shape(4); len(n) != 1 || n[0] != batch {
		return nil, fmt.Errorf("lengths of shape %v for a batch of %d", n, batch)
	}
	if h, ok := c.Known(4); ok {
		full := true
		for _, n := range h.Ints {
			full = full && n >= int64(length)
		}
		if full {
			return nil, nil
		}
	}
	step := c.Arange(length, sinter.I32).Unsqueeze(1)
	return step.Lt(c.In(4)).Unsqueeze(2), nil
}

func (c *Call) clip() activation {
	if !c.HasAttr("clip") {
		return func(x *sinter.Tensor) *sinter.Tensor { return x }
	}
	bound := c.Float("clip")
	return func(x *sinter.Tensor) *sinter.Tensor { return x.Clamp(-bound, bound) }
}

// activations reads the functions of each direction. Those that have parameters
// take them from the lists in order, then their defaults.
func (c *Call) activations(dirs int, defaults []string) ([][]activation, error) {
	names := c.Strs("activations")
	if len(names) == 0 {
		for range dirs {
			names = append(names, defaults...)
		}
	}
	if len(names) != dirs*len(defaults) {
		return nil, fmt.Errorf("the attribute activations has %d names, expected %d", len(names), dirs*len(defaults))
	}
	alphas, betas := c.Floats("activation_alpha"), c.Floats("activation_beta")
	take := func(list *[]float64, otherwise float64) float64 {
		if len(*list) == 0 {
			return otherwise
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return v
	}
	out := make([][]activation, dirs)
	for i, name := range names {
		var f activation
		switch strings.ToLower(name) {
		case "relu":
			f = (*sinter.Tensor).Relu
		case "tanh":
			f = (*sinter.Tensor).Tanh
		case "sigmoid":
			f = (*sinter.Tensor).Sigmoid
		case "softsign":
			f = (*sinter.Tensor).Softsign
		case "softplus":
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Softplus(1) }
		case "affine":
			a, b := take(&alphas, 1), take(&betas, 0)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(a).Add(b) }
		case "leakyrelu":
			a := take(&alphas, 0.01)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.LeakyRelu(a) }
		case "thresholdedrelu":
			a := take(&alphas, 1)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Threshold(a, 0) }
		case "scaledtanh":
			a, b := take(&alphas, 1), take(&betas, 1)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(b).Tanh().Mul(a) }
		case "hardsigmoid":
			a, b := take(&alphas, 0.2), take(&betas, 0.5)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(a).Add(b).Clamp(0, 1) }
		case "elu":
			a := take(&alphas, 1)
			f = func(x *sinter.Tensor) *sinter.Tensor { return x.Elu(a) }
		default:
			return nil, fmt.Errorf("the activation %q is not supported", name)
		}
		k := i / len(defaults)
		out[k] = append(out[k], f)
	}
	return out, nil
}
