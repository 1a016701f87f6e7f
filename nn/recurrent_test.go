package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// refRecurrent runs one direction of one layer over x [length, n, input] from
// zeros.
func refRecurrent(kind string, x, wi, wh, bi, bh array, reverse bool) (states, h, c array) {
	l, n, d := x.shape[0], x.shape[1], wh.shape[1]
	states, h, c = zeros(l, n, d), zeros(n, d), zeros(n, d)
	for step := range l {
		i := step
		if reverse {
			i = l - 1 - step
		}
		now := array{[]int{n, x.shape[2]}, x.v[i*n*x.shape[2] : (i+1)*n*x.shape[2]]}
		a, b := refLinear(now, wi, bi), refLinear(h, wh, bh)
		next := zeros(n, d)
		next.each(func(at []int, v *float64) {
			gate := func(k int) (float64, float64) { return *a.at(at[0], k*d+at[1]), *b.at(at[0], k*d+at[1]) }
			sum := func(k int) float64 { p, q := gate(k); return p + q }
			switch kind {
			case "RNN":
				*v = math.Tanh(sum(0))
			case "LSTM":
				cell := c.at(at...)
				*cell = sigmoid(sum(1))**cell + sigmoid(sum(0))*math.Tanh(sum(2))
				*v = sigmoid(sum(3)) * math.Tanh(*cell)
			default:
				r, z := sigmoid(sum(0)), sigmoid(sum(1))
				p, q := gate(2)
				*v = (1-z)*math.Tanh(p+r*q) + z**h.at(at...)
			}
		})
		h = next
		copy(states.v[i*n*d:], h.v)
	}
	return states, h, c
}

func TestRecurrent(t *testing.T) {
	for kind, build := range map[string]func(g *sinter.Generator, input, hidden int, opts ...nn.Option) *nn.Recurrent{
		"RNN": nn.NewRNN, "LSTM": nn.NewLSTM, "GRU": nn.NewGRU,
	} {
		g := sinter.NewGenerator(1)
		x := wave(2, 3, 2, 4)
		one := build(g, 4, 3, f64)
		p := func(m any, k int) array { return varOf(t, nn.Params(m)[k].Var) }
		y, last := one.Run(nn.Mode{}, x, nn.State{})
		states, h, c := refRecurrent(kind, arrayOf(t, x), p(one, 0), p(one, 1), p(one, 2), p(one, 3), false)
		same(t, kind, y, states)
		same(t, kind+", state", last.H, array{[]int{1, 2, 3}, h.v})
		if kind == "LSTM" {
			same(t, kind+", cells", last.C, array{[]int{1, 2, 3}, c.v})
		}
		gradients(t, kind, one, one.Forward, wave(2, 2, 1, 4))
		// In two pieces, by the state between them.
		a, state := one.Run(nn.Mode{}, x.Slice(sinter.Until(2)), nn.State{})
		b, _ := one.Run(nn.Mode{}, x.Slice(sinter.From(2)), state)
		same(t, kind+", in pieces", sinter.Concat(0, a, b), states)

		two := build(g, 4, 3, f64, nn.Layers(2), nn.Bidirectional())
		if n := names(two); len(n) != 16 || n[0] != "weight_ih_l0" || n[6] != "bias_ih_l0_reverse" || n[9] != "weight_hh_l1" {
			t.Errorf("%s: parameters %v", kind, n)
		}
		in := arrayOf(t, x)
		var want array
		var wantH []float64
		for l := range 2 {
			k := l * 8
			f, hf, _ := refRecurrent(kind, in, p(two, k), p(two, k+1), p(two, k+2), p(two, k+3), false)
			r, hr, _ := refRecurrent(kind, in, p(two, k+4), p(two, k+5), p(two, k+6), p(two, k+7), true)
			want = zeros(3, 2, 6)
			want.each(func(at []int, v *float64) {
				if at[2] < 3 {
					*v = *f.at(at...)
				} else {
					*v = *r.at(at[0], at[1], at[2]-3)
				}
			})
			in, wantH = want, append(append(wantH, hf.v...), hr.v...)
		}
		y, last = two.Run(nn.Mode{}, x, nn.State{})
		same(t, kind+", two layers both ways", y, want)
		same(t, kind+", their state", last.H, array{[]int{4, 2, 3}, wantH})
		if s := two.String(); s != kind+"(4 → 3, 2 layers, both ways)" {
			t.Errorf("%s is called %s", kind, s)
		}

		for _, shape := range [][]int{{3, 0, 4}, {0, 2, 4}} {
			y, last := two.Run(nn.Mode{}, sinter.Zeros(sinter.F64, shape...), nn.State{})
			if y.Err() != nil || last.H.Err() != nil || !slices.Equal(y.Shape(), []int{shape[0], shape[1], 6}) || !slices.Equal(last.H.Shape(), []int{4, shape[1], 3}) {
				t.Errorf("%s: %v: %v, %v", kind, shape, y, last.H)
			}
		}
		_, bad := one.Run(nn.Mode{}, x, nn.State{H: sinter.Zeros(sinter.F64, 1, 2, 4)})
		for want, r := range map[string]*sinter.Tensor{
			"[3 4], expected [length, n, input]":  one.Forward(sinter.Ones(sinter.F64, 3, 4)),
			"[3,2,5]":                             one.Forward(sinter.Ones(sinter.F64, 3, 2, 5)),
			"state has shape [1 2 4], expected [": bad.H,
			"generator":                           build(g, 4, 3, f64, nn.Layers(2), nn.DropoutRate(0.5)).ForwardMode(nn.Mode{Train: true}, x),
		} {
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %q: %v", kind, want, err)
			}
		}
		if n := names(build(g, 4, 3, nn.NoBias())); !slices.Equal(n, []string{"weight_ih_l0", "weight_hh_l0"}) {
			t.Errorf("%s without biases: %v", kind, n)
		}
	}
}

func TestBilinear(t *testing.T) {
	b := nn.NewBilinear(sinter.NewGenerator(1), 2, 3, 4, f64)
	stir(t, b)
	x, z := wave(1, 5, 2), wave(2, 5, 3)
	w, bias, want := varOf(t, b.Weight), varOf(t, b.Bias), zeros(5, 4)
	want.each(func(at []int, v *float64) {
		*v = bias.v[at[1]]
		for i := range 2 {
			for j := range 3 {
				*v += *arrayOf(t, x).at(at[0], i) * *w.at(at[1], i, j) * *arrayOf(t, z).at(at[0], j)
			}
		}
	})
	same(t, "bilinear", b.Pair(x, z), want)
	gradients(t, "bilinear", b, func(x *sinter.Tensor) *sinter.Tensor { return b.Pair(x, z) }, x)
	if y := b.Pair(sinter.Zeros(sinter.F64, 0, 2), sinter.Zeros(sinter.F64, 0, 3)); y.Err() != nil || y.Dim(0) != 0 {
		t.Errorf("no samples: %v", y)
	}
	if err := b.Pair(z, x).Err(); err == nil || !strings.Contains(err.Error(), "[5 3]") {
		t.Errorf("exchanged: %v", err)
	}
}
