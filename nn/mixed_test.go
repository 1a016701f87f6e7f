package nn_test

import (
	"context"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// TestMixedPrecision feeds layers in f32 with halves: results are halves near those
// in f32, parameters, statistics and caches stay in f32.
func TestMixedPrecision(t *testing.T) {
	g := sinter.NewGenerator(1)
	sequence, image := g.Normal(sinter.Of{}, sinter.F32, 2, 3, 8), g.Normal(sinter.Of{}, sinter.F32, 2, 3, 6, 6)
	for name, c := range map[string]struct {
		l nn.Layer
		x *sinter.Tensor
	}{
		"linear": {nn.NewLinear(g, 8, 4), sequence}, "convolution": {nn.NewConv2d(g, 3, 4, 3), image},
		"transposed": {nn.NewConvTranspose2d(g, 3, 4, 3), image}, "batch": {nn.NewBatchNorm(3), image}, "layer": {nn.NewLayerNorm([]int{8}), sequence},
		"rms": {nn.NewRMSNorm([]int{8}), sequence}, "group": {nn.NewGroupNorm(1, 3), image}, "gru": {nn.NewGRU(g, 8, 4), sequence},
		"block": {nn.NewTransformerBlock(g, 8, 2, 16, nn.Causal(), nn.Rotary(100)), sequence},
	} {
		for _, d := range []sinter.DType{sinter.F16, sinter.BF16} {
			want := data[float64](t, nn.Forward(nn.Training(g), c.l, c.x).Cast(sinter.F64))
			y := nn.Forward(nn.Training(g), c.l, c.x.Cast(d))
			if y.Err() != nil || y.DType() != d {
				t.Errorf("%s: %s, %v", name, y.DType(), y.Err())
				continue
			}
			for i, v := range data[float64](t, y.Cast(sinter.F64)) {
				if math.Abs(v-want[i]) > 0.1 {
					t.Errorf("%s in %s: element %d is %v, in f32 %v", name, d, i, v, want[i])
					break
				}
			}
			grads, err := autodiff.Gradients(y.Cast(sinter.F32).Sum(), nn.Vars(c.l)...)
			if err != nil || grads[0].DType() != sinter.F32 {
				t.Errorf("%s: gradient %v, %v", name, grads, err)
			}
		}
	}
	b := nn.NewTransformerBlock(g, 8, 2, 16, nn.Causal())
	cache := b.Attention.NewCache(2, 4)
	if y := b.ForwardCached(sequence.Cast(sinter.F16), cache); y.Err() != nil || y.DType() != sinter.F16 || cache.Key.Borrow().DType() != sinter.F32 {
		t.Errorf("a cache: %v", y.Err())
	}
}

// TestLossScaling trains with gradients that f16 cannot hold: without a scale they
// are 0, with one the parameters move as in f32.
func TestLossScaling(t *testing.T) {
	for _, scale := range []float64{1, 65536} {
		l := nn.NewLinear(sinter.NewGenerator(1), 4, 1, nn.NoBias(), nn.InitWith(nn.Ones))
		o := optim.NewSGD(nn.Params(l), optim.Constant(1e6))
		scaler := optim.NewScaler(nil, scale)
		s := sinter.NewScope("step")
		y := l.Forward(s.In(sinter.Ones(sinter.F32, 8, 4)).Cast(sinter.F16)).Mul(1e-3).Cast(sinter.F32).Mul(1e-5)
		grads, err := autodiff.Gradients(scaler.Scale(y.Mean()), nn.Vars(l)...)
		if err != nil {
			t.Fatal(err)
		}
		done, err := scaler.Step(context.Background(), o, grads)
		s.End()
		if !done || err != nil {
			t.Fatal(done, err)
		}
		moved := 1 - float64(data[float32](t, l.Weight.Value())[0])
		if want := 1e-2; scale == 1 && moved > want/2 || scale > 1 && math.Abs(moved-want) > want/20 {
			t.Errorf("scale %v: the weight moved by %v, the gradient is 1e-8", scale, moved)
		}
	}
}
