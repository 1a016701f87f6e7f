package onnx

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
)

// TestRecurrentLengths: a sequence in a batch of longer ones gives what it gives
// alone, and zeros after its end.
func TestRecurrentLengths(t *testing.T) {
	const length, batch, in, hidden = 5, 3, 2, 4
	lengths := []int{5, 0, 3}
	for _, name := range []string{"RNN", "GRU", "LSTM"} {
		gates := map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4}[name]
		outs := 2
		if name == "LSTM" {
			outs = 3
		}
		x, w, r, b := noise(1, length, batch, in), noise(2, 2, gates*hidden, in), noise(3, 2, gates*hidden, hidden), noise(4, 2, 2*gates*hidden)
		first := noise(5, 2, batch, hidden)
		attrs := []*Attr{intA("hidden_size", hidden), strA("direction", "bidirectional"), floatA("clip", 0.7)}
		op := applied{op: name, outs: outs, attrs: attrs}
		lens := filled(func(at []int) float64 { return float64(lengths[at[0]]) }, batch)
		in := []*sinter.Tensor{x.f32(), w.f32(), r.f32(), b.f32(), lens.as(sinter.I32), first.f32()}
		if name == "LSTM" {
			in = append(in, first.f32())
		}
		all := op.run(t, in...)
		for k, n := range lengths {
			one := func(a array) *sinter.Tensor { return a.f32().Gather(1, sinter.FromSlice([]int64{int64(k)})) }
			y := arrayOf(t, all[0].Gather(2, sinter.FromSlice([]int64{int64(k)})))
			for s := n; s < length; s++ {
				for d := range 2 {
					for h := range hidden {
						if y.at(s, d, 0, h) != 0 {
							t.Fatalf("%s: step %d of a sequence of %d is %v", name, s, n, y.at(s, d, 0, h))
						}
					}
				}
			}
			if n == 0 { // the state stays
				near(t, name+" of length 0", arrayOf(t, all[1].Gather(1, sinter.FromSlice([]int64{int64(k)}))), arrayOf(t, one(first)), 0)
				continue
			}
			alone := []*sinter.Tensor{one(x).Slice(sinter.Until(n)), w.f32(), r.f32(), b.f32(), nil, one(first)}
			if name == "LSTM" {
				alone = append(alone, one(first))
			}
			want := op.run(t, alone...)
			near(t, fmt.Sprint(name, " of length ", n), arrayOf(t, all[0].Gather(2, sinter.FromSlice([]int64{int64(k)})).Slice(sinter.Until(n))), arrayOf(t, want[0]), 0)
			for i := 1; i < outs; i++ {
				near(t, name+" state", arrayOf(t, all[i].Gather(1, sinter.FromSlice([]int64{int64(k)}))), arrayOf(t, want[i]), 0)
			}
		}
	}
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// TestRecurrentForms: variants of the cells by their formulas, for one step.
func TestRecurrentForms(t *testing.T) {
	const in, hidden = 3, 2
	x, h, c := noise(1, 1, 1, in), noise(2, 1, 1, hidden), noise(3, 1, 1, hidden)
	part := func(w array, v []float64, row int) float64 {
		s := 0.0
		for k, a := range v {
			s += w.at(0, row, k) * a
		}
		return s
	}
	gate := func(w, r, b array, g, gates, i int) float64 {
		row := g*hidden + i
		return part(w, x.v, row) + part(r, h.v, row) + b.at(0, row) + b.at(0, gates*hidden+row)
	}
	weights := func(gates int) (w, r, b array) {
		return noise(4, 1, gates*hidden, in), noise(5, 1, gates*hidden, hidden), noise(6, 1, 2*gates*hidden)
	}

	w, r, b := weights(4)
	p := noise(7, 1, 3*hidden)
	out := applied{op: "LSTM", outs: 3, attrs: []*Attr{intA("hidden_size", hidden), intA("input_forget", 1), floatA("clip", 0.4)}}.run(t,
		x.f32(), w.f32(), r.f32(), b.f32(), nil, h.f32(), c.f32(), p.f32())
	clip := func(v float64) float64 { return min(max(v, -0.4), 0.4) }
	var wantH, wantC array
	wantH, wantC = array{[]int{1, 1, hidden}, make([]float64, hidden)}, array{[]int{1, 1, hidden}, make([]float64, hidden)}
	for i := range hidden {
		in := sigmoid(clip(gate(w, r, b, 0, 4, i) + p.v[i]*c.v[i]))
		next := (1-in)*c.v[i] + in*math.Tanh(clip(gate(w, r, b, 3, 4, i)))
		wantC.v[i] = next
		wantH.v[i] = sigmoid(clip(gate(w, r, b, 1, 4, i)+p.v[hidden+i]*next)) * math.Tanh(next)
	}
	near(t, "LSTM state", arrayOf(t, out[1]), wantH, 1e-6)
	near(t, "LSTM cell", arrayOf(t, out[2]), wantC, 1e-6)

	w, r, b = weights(3)
	for _, late := range []bool{false, true} {
		got := applied{op: "GRU", outs: 2, attrs: []*Attr{intA("hidden_size", hidden), intA("linear_before_reset", flag(late))}}.run(t,
			x.f32(), w.f32(), r.f32(), b.f32(), nil, h.f32())[1]
		want := array{[]int{1, 1, hidden}, make([]float64, hidden)}
		reset := make([]float64, hidden)
		for i := range hidden {
			reset[i] = sigmoid(gate(w, r, b, 1, 3, i))
		}
		for i := range hidden {
			z, row := sigmoid(gate(w, r, b, 0, 3, i)), 2*hidden+i
			var n float64
			if late {
				n = part(w, x.v, row) + b.at(0, row) + reset[i]*(part(r, h.v, row)+b.at(0, 3*hidden+row))
			} else {
				rh := []float64{reset[0] * h.v[0], reset[1] * h.v[1]}
				n = part(w, x.v, row) + b.at(0, row) + part(r, rh, row) + b.at(0, 3*hidden+row)
			}
			want.v[i] = (1-z)*math.Tanh(n) + z*h.v[i]
		}
		near(t, fmt.Sprint("GRU, late reset ", late), arrayOf(t, got), want, 1e-6)
	}

	w, r, b = weights(1)
	for name, f := range map[string]func(float64) float64{
		"Relu": func(v float64) float64 { return max(v, 0) }, "Sigmoid": sigmoid, "Tanh": math.Tanh,
		"Affine": func(v float64) float64 { return 0.5*v + 0.25 }, "ScaledTanh": func(v float64) float64 { return 0.5 * math.Tanh(0.25*v) },
		"LeakyRelu": func(v float64) float64 { return max(v, 0) + 0.5*min(v, 0) }, "HardSigmoid": func(v float64) float64 { return min(max(0.5*v+0.25, 0), 1) },
		"Elu": func(v float64) float64 { return max(v, 0) + 0.5*(math.Exp(min(v, 0))-1) }, "Softsign": func(v float64) float64 { return v / (1 + math.Abs(v)) },
		"Softplus": func(v float64) float64 { return math.Log1p(math.Exp(v)) },
		"ThresholdedRelu": func(v float64) float64 {
			if v > 0.5 {
				return v
			}
			return 0
		},
	} {
		attrs := []*Attr{intA("hidden_size", hidden), {Name: "activations", Kind: AttrStrings, Strs: []string{name}},
			{Name: "activation_alpha", Kind: AttrFloats, Floats: []float32{0.5}}, {Name: "activation_beta", Kind: AttrFloats, Floats: []float32{0.25}}}
		got := applied{op: "RNN", outs: 2, attrs: attrs}.run(t, x.f32(), w.f32(), r.f32(), b.f32(), nil, h.f32())[1]
		near(t, name, arrayOf(t, got), filled(func(at []int) float64 { return f(gate(w, r, b, 0, 1, at[2])) }, 1, 1, hidden), 1e-6)
	}
}

func TestRecurrentErrors(t *testing.T) {
	x, w, r := noise(1, 2, 1, 3).f32(), noise(2, 1, 4, 3).f32(), noise(3, 1, 4, 4).f32()
	size := intA("hidden_size", 4)
	for i, c := range []struct {
		attrs []*Attr
		in    []*sinter.Tensor
	}{
		{[]*Attr{size, strA("direction", "sideways")}, []*sinter.Tensor{x, w, r}},
		{[]*Attr{intA("hidden_size", 3)}, []*sinter.Tensor{x, w, r}},
		{[]*Attr{size, strA("direction", "bidirectional")}, []*sinter.Tensor{x, w, r}},
		{[]*Attr{size}, []*sinter.Tensor{x.At(1, 0), w, r}},
		{[]*Attr{size, {Name: "activations", Kind: AttrStrings, Strs: []string{"Swirl"}}}, []*sinter.Tensor{x, w, r}},
		{[]*Attr{size, {Name: "activations", Kind: AttrStrings, Strs: []string{"Tanh", "Tanh"}}}, []*sinter.Tensor{x, w, r}},
		{[]*Attr{size}, []*sinter.Tensor{x, w, r, nil, sinter.FromSlice([]int32{1, 2})}},
	} {
		if _, err := (applied{op: "RNN", outs: 2, attrs: c.attrs}).try(c.in...); err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}
