package fn_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
	"github.com/sinter-go/sinter/nn/fn"
)

// onTiles skips the test where the device does not run products on packed tiles:
// what is counted here is fused only there.
func onTiles(t *testing.T) {
	t.Helper()
	if !strings.Contains(sinter.DefaultDevice().Info().Detail, "avx") {
		t.Skip("the device has no packed tiles")
	}
}

// plans records f over operands in a scope, as layers do.
func plans(t *testing.T, f func(in []*sinter.Tensor) *sinter.Tensor, shapes ...[]int) *fusetest.Plans {
	t.Helper()
	var in []*sinter.Tensor
	for i, s := range shapes {
		in = append(in, random(uint64(i), s...).tensor().Cast(sinter.F32))
	}
	if err := sinter.DefaultDevice().Sync(ctx); err != nil {
		t.Fatal(err)
	}
	return fusetest.Record(t, sinter.DefaultDevice(), func() {
		s := sinter.NewScope("kernels")
		inside := make([]*sinter.Tensor, len(in))
		for i, x := range in {
			inside[i] = s.In(x)
		}
		y := s.Keep(f(inside))
		s.End()
		if _, err := sinter.Data[float32](ctx, y); err != nil {
			t.Fatal(err)
		}
	})
}

// A convolution with everything around it is one kernel, whose windows are in no
// memory; a border is one more, which the convolution before writes.
func TestConvKernels(t *testing.T) {
	onTiles(t)
	pad := fn.ConvOptions{Pad: []int{1}}
	normed := func(y, scale, shift *sinter.Tensor) *sinter.Tensor {
		return y.Mul(scale.Reshape(-1, 1, 1)).Add(shift.Reshape(-1, 1, 1))
	}
	for _, c := range []struct {
		name    string
		kernels int
		shapes  [][]int
		f       func(in []*sinter.Tensor) *sinter.Tensor
	}{
		{"1x1, bias, relu", 1, [][]int{{2, 16, 14, 14}, {32, 16, 1, 1}, {32}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return fn.Conv(in[0], in[1], in[2], fn.ConvOptions{}).Relu()
		}},
		{"1x1, stride 2", 1, [][]int{{2, 16, 14, 14}, {32, 16, 1, 1}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return fn.Conv(in[0], in[1], nil, fn.ConvOptions{Stride: []int{2}})
		}},
		{"3x3, scale and shift, residual, relu", 1, [][]int{{2, 8, 16, 16}, {8, 8, 3, 3}, {8}, {8}, {2, 8, 14, 14}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return normed(fn.Conv(in[0], in[1], nil, fn.ConvOptions{}), in[2], in[3]).Add(in[4]).Relu()
		}},
		{"3x3 with a border", 2, [][]int{{2, 8, 16, 16}, {8, 8, 3, 3}, {8}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return fn.Conv(in[0], in[1], in[2], pad).Relu()
		}},
		{"a residual block", 3, [][]int{{2, 8, 16, 16}, {8, 8, 3, 3}, {8}, {8, 8, 3, 3}, {8}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return fn.Conv(fn.Conv(in[0], in[1], in[2], pad).Relu(), in[3], in[4], pad).Add(in[0]).Relu()
		}},
		{"inverted bottleneck", 3, [][]int{{1, 8, 16, 16}, {24, 8, 1, 1}, {24}, {24, 1, 3, 3}, {24}, {8, 24, 1, 1}, {8}}, func(in []*sinter.Tensor) *sinter.Tensor {
			wide := fn.Conv(in[0], in[1], in[2], fn.ConvOptions{}).Relu()
			deep := fn.Conv(wide, in[3], in[4], fn.ConvOptions{Pad: []int{1}, Groups: 24}).Relu()
			return fn.Conv(deep, in[5], in[6], fn.ConvOptions{}).Add(in[0])
		}},
		{"in half precision", 1, [][]int{{2, 8, 16, 16}, {8, 8, 3, 3}}, func(in []*sinter.Tensor) *sinter.Tensor {
			return fn.Conv(in[0].Cast(sinter.F16).Cast(sinter.F32), in[1], nil, fn.ConvOptions{}).Relu().Cast(sinter.F16).Cast(sinter.F32)
		}},
	} {
		p := plans(t, c.f, c.shapes...)
		if got := p.Launches(); got != c.kernels {
			t.Errorf("%s: %d launches, want %d:\n%s", c.name, got, c.kernels, p)
		}
	}
}

// A recurrent network takes one product for the inputs of all steps, and for each
// step a product with the state and the gates.
func TestRecurrentKernels(t *testing.T) {
	onTiles(t)
	const length, n, input, hidden = 5, 4, 16, 32
	for kind, gates := range map[string]int{"rnn": 1, "gru": 3, "lstm": 4} {
		p := plans(t, func(in []*sinter.Tensor) *sinter.Tensor {
			w := fn.Weights{In: in[3], Hidden: in[4], BiasIn: in[5], BiasHidden: in[6]}
			var y *sinter.Tensor
			switch kind {
			case "rnn":
				y, _ = fn.RNN(in[0], in[1], w, false)
			case "gru":
				y, _ = fn.GRU(in[0], in[1], w, false)
			default:
				y, _, _ = fn.LSTM(in[0], in[1], in[2], w, false)
			}
			return y
		}, []int{length, n, input}, []int{n, hidden}, []int{n, hidden}, []int{gates * hidden, input}, []int{gates * hidden, hidden}, []int{gates * hidden}, []int{gates * hidden})
		want := 1 + 2*length
		if kind == "rnn" { // the step is the product with what follows it; the states are put together at the end
			want = 1 + length + 1
		}
		if got := p.Launches(); got > want {
			t.Errorf("%s: %d launches, want at most %d:\n%s", kind, got, want, p)
		}
	}
}
