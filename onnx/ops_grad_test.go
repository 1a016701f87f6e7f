package onnx

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
)

func (a array) f64() *sinter.Tensor { return sinter.FromSlice(a.v, a.shape...) }

// TestGradientsOfOperators compares gradients with differences, in f64, for
// operators that are put together from others.
func TestGradientsOfOperators(t *testing.T) {
	hidden := intA("hidden_size", 2)
	sizes := sinter.FromSlice([]int64{1, 2, 5, 3})
	rois := filled(func(at []int) float64 { return []float64{0.3, 0.1, 3.2, 2.7}[at[1]] }, 1, 4)
	image := noise(1, 1, 2, 3, 4)
	for _, c := range []struct {
		a    applied
		in   []array          // differentiated
		rest []*sinter.Tensor // after them
	}{
		{applied{op: "Conv", attrs: []*Attr{intsA("pads", 1, 0, 0, 1), intsA("strides", 2, 1)}}, []array{image, noise(2, 3, 2, 2, 2), noise(3, 3)}, nil},
		{applied{op: "ConvTranspose", attrs: []*Attr{intsA("strides", 2, 2)}}, []array{image, noise(2, 2, 3, 2, 2), noise(3, 3)}, nil},
		{applied{op: "DeformConv", attrs: []*Attr{intsA("pads", 0, 0, 0, 0)}}, []array{image, noise(2, 1, 2, 2, 2), noise(3, 1, 8, 2, 3)}, nil},
		{applied{op: "AveragePool", attrs: []*Attr{intsA("kernel_shape", 2, 2), intsA("pads", 1, 1, 0, 0)}}, []array{image}, nil},
		{applied{op: "LpPool", attrs: []*Attr{intsA("kernel_shape", 2, 2), intA("p", 3)}}, []array{image}, nil},
		{applied{op: "MaxPool", attrs: []*Attr{intsA("kernel_shape", 2, 2)}}, []array{image}, nil},
		{applied{op: "InstanceNormalization"}, []array{image, noise(2, 2), noise(3, 2)}, nil},
		{applied{op: "LayerNormalization", attrs: []*Attr{intA("axis", 2)}}, []array{image, noise(2, 3, 4), noise(3, 3, 4)}, nil},
		{applied{op: "RMSNormalization", opset: 23}, []array{image, noise(2, 4)}, nil},
		{applied{op: "LRN", attrs: []*Attr{intA("size", 3), floatA("alpha", 0.5)}}, []array{image}, nil},
		{applied{op: "LpNormalization"}, []array{image}, nil},
		{applied{op: "RNN", attrs: []*Attr{hidden, strA("direction", "reverse")}}, []array{noise(1, 3, 2, 2), noise(2, 1, 2, 2), noise(3, 1, 2, 2)}, nil},
		{applied{op: "GRU", attrs: []*Attr{hidden}}, []array{noise(1, 3, 2, 2), noise(2, 1, 6, 2), noise(3, 1, 6, 2), noise(4, 1, 12)}, []*sinter.Tensor{sinter.FromSlice([]int32{2, 3})}},
		{applied{op: "LSTM", attrs: []*Attr{hidden}}, []array{noise(1, 3, 1, 2), noise(2, 1, 8, 2), noise(3, 1, 8, 2), noise(4, 1, 16)}, nil},
		{applied{op: "Attention", opset: 24, attrs: []*Attr{intA("is_causal", 1), floatA("softcap", 2)}}, []array{noise(1, 1, 2, 3, 2), noise(2, 1, 1, 3, 2), noise(3, 1, 1, 3, 2)}, nil},
		{applied{op: "Attention", opset: 24, attrs: []*Attr{intA("is_causal", 1)}}, []array{noise(1, 1, 2, 3, 2), noise(2, 1, 1, 3, 2), noise(3, 1, 1, 3, 2)}, nil},
		{applied{op: "LinearAttention", opset: 27, attrs: []*Attr{intA("q_num_heads", 2), intA("kv_num_heads", 1), strA("update_rule", "linear")}},
			[]array{noise(1, 1, 3, 4), noise(2, 1, 3, 2), noise(3, 1, 3, 2)}, nil},
		{applied{op: "Resize", attrs: []*Attr{strA("mode", "cubic")}}, []array{image}, []*sinter.Tensor{nil, nil, sizes}},
		{applied{op: "GridSample", attrs: []*Attr{strA("mode", "cubic")}}, []array{image, noise(2, 1, 2, 2, 2)}, nil},
		{applied{op: "RoiAlign"}, []array{image}, []*sinter.Tensor{rois.f64(), sinter.FromSlice([]int64{0})}},
		{applied{op: "RotaryEmbedding", opset: 23}, []array{noise(1, 1, 2, 3, 4), noise(2, 1, 3, 2), noise(3, 1, 3, 2)}, nil},
		{microsoftOp("SkipLayerNormalization"), []array{noise(1, 1, 2, 3), noise(2, 1, 2, 3), noise(3, 3), noise(4, 3)}, nil},
		{microsoftOp("BiasGelu"), []array{noise(1, 2, 3), noise(2, 3)}, nil},
		{microsoftOp("FusedMatMul", intA("transA", 1)), []array{noise(1, 2, 3), noise(2, 2, 4)}, nil},
	} {
		loss := func(track bool) (*sinter.Tensor, []*sinter.Tensor) {
			in := make([]*sinter.Tensor, len(c.in))
			for i, a := range c.in {
				if in[i] = a.f64(); track {
					in[i] = in[i].Track()
				}
			}
			y := c.a.run(t, append(append([]*sinter.Tensor{}, in...), c.rest...)...)[0]
			return y.Mul(noise(99, y.Shape()...).f64()).Sum(), in
		}
		l, in := loss(true)
		grads, err := autodiff.Grad(l, in...)
		if err != nil {
			t.Fatalf("%s: %v", c.a.op, err)
		}
		for i, a := range c.in {
			got := arrayOf(t, grads[i])
			for k := 0; k < len(a.v); k += 1 + len(a.v)/5 { // some of the elements
				const h = 1e-5
				old := a.v[k]
				a.v[k] = old + h
				up, _ := loss(false)
				a.v[k] = old - h
				down, _ := loss(false)
				a.v[k] = old
				want := (arrayOf(t, up).v[0] - arrayOf(t, down).v[0]) / (2 * h)
				if math.Abs(got.v[k]-want) > 1e-6*(1+math.Abs(want)) {
					t.Errorf("%s: the gradient of element %d of input %d is %v, differences give %v", c.a.op, k, i, got.v[k], want)
				}
			}
		}
	}
}
