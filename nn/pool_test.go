package nn_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

func TestPoolLayers(t *testing.T) {
	x := wave(2, 2, 3, 5, 4)
	a := arrayOf(t, x)
	pool := func(out, kernel, stride, pad []int, start float64, fold func(acc, v float64) float64, end func(acc float64, n int) float64) array {
		y := zeros(2, 3, out[0], out[1])
		y.each(func(at []int, v *float64) {
			acc, n := start, 0
			for i := range kernel[0] {
				for j := range kernel[1] {
					if p := a.at(at[0], at[1], at[2]*stride[0]+i-pad[0], at[3]*stride[1]+j-pad[1]); p != nil {
						acc = fold(acc, *p)
						n++
					}
				}
			}
			*v = end(acc, n)
		})
		return y
	}
	sum := func(a, b float64) float64 { return a + b }
	mean := func(a float64, n int) float64 { return a / float64(n) }
	same(t, "max", nn.MaxPool{Kernel: []int{2}}.Forward(x),
		pool([]int{2, 2}, []int{2, 2}, []int{2, 2}, []int{0, 0}, math.Inf(-1), math.Max, func(a float64, _ int) float64 { return a }))
	same(t, "max, padded", nn.MaxPool{Kernel: []int{3, 2}, Stride: []int{1, 2}, Pad: []int{1, 0}}.Forward(x),
		pool([]int{5, 2}, []int{3, 2}, []int{1, 2}, []int{1, 0}, math.Inf(-1), math.Max, func(a float64, _ int) float64 { return a }))
	same(t, "average", nn.AvgPool{Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}}.Forward(x),
		pool([]int{3, 2}, []int{3, 3}, []int{2, 2}, []int{1, 1}, 0, sum, mean))
	same(t, "adaptive average", nn.AdaptiveAvgPool{1, 2}.Forward(x), pool([]int{1, 2}, []int{5, 2}, []int{5, 2}, []int{0, 0}, 0, sum, mean))
	same(t, "adaptive maximum", nn.AdaptiveMaxPool{1, 2}.Forward(x),
		pool([]int{1, 2}, []int{5, 2}, []int{5, 2}, []int{0, 0}, math.Inf(-1), math.Max, func(a float64, _ int) float64 { return a }))
	global := pool([]int{1, 1}, []int{5, 4}, []int{1, 1}, []int{0, 0}, 0, sum, mean)
	same(t, "global average", nn.GlobalAvgPool.Forward(x), array{[]int{2, 3}, global.v})
	global = pool([]int{1, 1}, []int{5, 4}, []int{1, 1}, []int{0, 0}, math.Inf(-1), math.Max, func(a float64, _ int) float64 { return a })
	same(t, "global maximum", nn.GlobalMaxPool.Forward(x), array{[]int{2, 3}, global.v})

	up := zeros(2, 3, 10, 8)
	up.each(func(at []int, v *float64) { *v = *a.at(at[0], at[1], at[2]/2, at[3]/2) })
	same(t, "nearest", nn.Upsample{Factor: 2, Nearest: true}.Forward(x), up)
	up.each(func(at []int, v *float64) {
		*v = 0
		for i := range 5 {
			for j := range 4 {
				weight := func(at, i, n int) float64 {
					p := min(max((float64(at)+0.5)/2-0.5, 0), float64(n-1))
					return max(0, 1-math.Abs(p-float64(i)))
				}
				*v += weight(at[2], i, 5) * weight(at[3], j, 4) * *a.at(at[0], at[1], i, j)
			}
		}
	})
	same(t, "linear", nn.Upsample{Factor: 2}.Forward(x), up)

	small := wave(3, 1, 2, 3, 3)
	for _, l := range []nn.Layer{nn.MaxPool{Kernel: []int{2}}, nn.AvgPool{Kernel: []int{2}}, nn.AdaptiveAvgPool{2}, nn.AdaptiveMaxPool{2}, nn.GlobalAvgPool,
		nn.GlobalMaxPool, nn.Upsample{Factor: 2}} {
		gradients(t, fmt.Sprint(l), l, l.Forward, small)
		if y := l.Forward(sinter.Zeros(sinter.F64, 0, 2, 4, 4)); y.Err() != nil || y.Dim(0) != 0 {
			t.Errorf("%v: no samples: %v", l, y)
		}
		if err := l.Forward(sinter.Zeros(sinter.F64, 3, 2)).Err(); err == nil || !strings.Contains(err.Error(), "2]") {
			t.Errorf("%v: no axes of space: %v", l, err)
		}
	}
	if s := (nn.Sequential{nn.MaxPool{Kernel: []int{2}, Stride: []int{1}}, nn.AdaptiveAvgPool{1, 1}}).String(); s != "Sequential(\n  0: MaxPool(2, stride 1)\n  1: AdaptiveAvgPool(1 1)\n)" {
		t.Error(s)
	}
}

func TestActivationLayers(t *testing.T) {
	x := wave(4, 2, 6).Mul(2)
	a := arrayOf(t, x)
	for name, c := range map[string]struct {
		l nn.Layer
		f func(v float64) float64
	}{
		"ReLU": {nn.ReLU, func(v float64) float64 { return max(v, 0) }}, "ReLU6": {nn.ReLU6, func(v float64) float64 { return min(max(v, 0), 6) }},
		"GELU":     {nn.GELU, gelu},
		"GELUTanh": {nn.GELUTanh, func(v float64) float64 { return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) }},
		"SiLU":     {nn.SiLU, func(v float64) float64 { return v * sigmoid(v) }}, "Tanh": {nn.Tanh, math.Tanh}, "Sigmoid": {nn.Sigmoid, sigmoid},
		"Mish":       {nn.Mish, func(v float64) float64 { return v * math.Tanh(math.Log1p(math.Exp(v))) }},
		"LogSigmoid": {nn.LogSigmoid, func(v float64) float64 { return math.Log(sigmoid(v)) }},
		"SELU": {nn.SELU, func(v float64) float64 {
			const alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
			if v > 0 {
				return scale * v
			}
			return scale * alpha * math.Expm1(v)
		}},
		"HardSigmoid": {nn.HardSigmoid, func(v float64) float64 { return min(max(v/6+0.5, 0), 1) }},
		"HardSwish":   {nn.HardSwish, func(v float64) float64 { return v * min(max(v/6+0.5, 0), 1) }},
		"HardTanh":    {nn.HardTanh, func(v float64) float64 { return min(max(v, -1), 1) }},
		"Softsign":    {nn.Softsign, func(v float64) float64 { return v / (1 + math.Abs(v)) }},
		"Softplus(2)": {nn.Softplus(2), func(v float64) float64 { return math.Log1p(math.Exp(2*v)) / 2 }},
		"ELU(0.5)": {nn.ELU(0.5), func(v float64) float64 {
			if v > 0 {
				return v
			}
			return 0.5 * math.Expm1(v)
		}},
		"LeakyReLU(0.1)": {nn.LeakyReLU(0.1), func(v float64) float64 { return max(v, 0.1*v) }},
		"Identity":       {nn.Identity, func(v float64) float64 { return v }},
		"PReLU":          {nn.NewPReLU(1, f64), func(v float64) float64 { return max(v, 0.25*v) }},
	} {
		same(t, name, c.l.Forward(x), apply(c.f, a))
		if s := fmt.Sprint(c.l); name != "PReLU" && s != name {
			t.Errorf("%s is called %s", name, s)
		}
	}
	p := nn.NewPReLU(6, f64)
	stir(t, p)
	w, y := varOf(t, p.Weight), zeros(2, 6)
	y.each(func(at []int, v *float64) {
		if *v = *a.at(at...); *v < 0 {
			*v *= w.v[at[1]]
		}
	})
	same(t, "PReLU of channels", p.Forward(x), y)
	gradients(t, "PReLU", p, p.Forward, x)
	if err := p.Forward(sinter.Ones(sinter.F64, 2, 5)).Err(); err == nil {
		t.Error("PReLU of 6 channels takes 5")
	}
	glu := zeros(2, 3)
	glu.each(func(at []int, v *float64) { *v = *a.at(at...) * sigmoid(*a.at(at[0], at[1]+3)) })
	same(t, "GLU", nn.GLU.Forward(x), glu)
	if err := nn.GLU.Forward(sinter.Ones(sinter.F64, 2, 5)).Err(); err == nil || !strings.Contains(err.Error(), "[2 5]") {
		t.Errorf("GLU: %v", err)
	}
	same(t, "Softmax", nn.Softmax(-1).Forward(x).Log(), arrayOf(t, nn.LogSoftmax(1).Forward(x)))
	same(t, "Flatten", nn.Flatten.Forward(wave(1, 2, 3, 1, 2)), array{[]int{2, 6}, data[float64](t, wave(1, 12))})
	if y := nn.Flatten.Forward(sinter.Zeros(sinter.F64, 0, 3, 2)); y.Err() != nil || y.Dim(1) != 6 {
		t.Errorf("Flatten of nothing: %v", y)
	}
	if err := nn.Flatten.Forward(sinter.Zeros(sinter.F64, 3)).Err(); err == nil {
		t.Error("Flatten of one axis")
	}
}
