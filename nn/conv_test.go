package nn_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
)

// refConv convolves over any axes of space; pads are those before the axes.
func refConv(x, w, bias array, out, stride, pad, dilation []int, groups int) array {
	y := zeros(append([]int{x.shape[0], w.shape[0]}, out...)...)
	kernel := zeros(w.shape[1:]...)
	y.each(func(at []int, v *float64) {
		*v = bias.v[at[1]]
		group := at[1] / (w.shape[0] / groups)
		kernel.each(func(k []int, _ *float64) {
			from := []int{at[0], group*w.shape[1] + k[0]}
			for i := range out {
				from = append(from, at[2+i]*stride[i]+k[1+i]*dilation[i]-pad[i])
			}
			if p := x.at(from...); p != nil {
				*v += *p * *w.at(append([]int{at[1]}, k...)...)
			}
		})
	})
	return y
}

// refConvTranspose spreads every element of x over the result.
func refConvTranspose(x, w, bias array, out, stride, pad, dilation []int, groups int) array {
	channels := w.shape[1] * groups
	y := zeros(append([]int{x.shape[0], channels}, out...)...)
	y.each(func(at []int, v *float64) { *v = bias.v[at[1]] })
	kernel := zeros(w.shape[1:]...)
	x.each(func(at []int, v *float64) {
		group := at[1] / (x.shape[1] / groups)
		kernel.each(func(k []int, _ *float64) {
			to := []int{at[0], group*w.shape[1] + k[0]}
			for i := range out {
				to = append(to, at[2+i]*stride[i]+k[1+i]*dilation[i]-pad[i])
			}
			if p := y.at(to...); p != nil {
				*p += *v * *w.at(append([]int{at[1]}, k...)...)
			}
		})
	})
	return y
}

func TestConv(t *testing.T) {
	g := sinter.NewGenerator(1)
	for name, c := range map[string]struct {
		layer                 *nn.Conv
		x, out                []int
		stride, pad, dilation []int
		groups                int
		text                  string
	}{
		"1d": {nn.NewConv1d(g, 3, 2, 3, f64), []int{2, 3, 6}, []int{4}, []int{1}, []int{0}, []int{1}, 1, "Conv(3 → 2, kernel 3)"},
		"1d, all": {nn.NewConv1d(g, 4, 6, 3, f64, nn.Stride(2), nn.Pad(2, 1), nn.Dilation(2), nn.Groups(2)),
			[]int{1, 4, 8}, []int{4}, []int{2}, []int{2}, []int{2}, 2, "Conv(4 → 6, kernel 3, stride 2, pad 2 1, dilation 2, groups 2)"},
		"2d": {nn.NewConv2d(g, 2, 3, 3, f64, nn.Pad(1)), []int{2, 2, 4, 5}, []int{4, 5}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1, "Conv(2 → 3, kernel 3 3, pad 1)"},
		"2d, kernel": {nn.NewConv2d(g, 2, 2, 0, f64, nn.Kernel(1, 3), nn.Stride(1, 2), nn.Groups(2)),
			[]int{1, 2, 3, 7}, []int{3, 3}, []int{1, 2}, []int{0, 0}, []int{1, 1}, 2, "Conv(2 → 2, kernel 1 3, stride 1 2, groups 2)"},
		"2d, same": {nn.NewConv2d(g, 1, 2, 0, f64, nn.Kernel(3, 2), nn.PadSame(), nn.Dilation(1, 3)),
			[]int{1, 1, 4, 5}, []int{4, 5}, []int{1, 1}, []int{1, 1}, []int{1, 3}, 1, "Conv(1 → 2, kernel 3 2, pad 1 1 1 2, dilation 1 3)"},
		"3d": {nn.NewConv3d(g, 2, 2, 2, f64), []int{1, 2, 3, 2, 3}, []int{2, 1, 2}, []int{1, 1, 1}, []int{0, 0, 0}, []int{1, 1, 1}, 1, "Conv(2 → 2, kernel 2 2 2)"},
	} {
		stir(t, c.layer)
		x := wave(1, c.x...)
		same(t, name, c.layer.Forward(x), refConv(arrayOf(t, x), varOf(t, c.layer.Weight), varOf(t, c.layer.Bias), c.out, c.stride, c.pad, c.dilation, c.groups))
		if s := c.layer.String(); s != c.text {
			t.Errorf("%s: %s, want %s", name, s, c.text)
		}
		if n := names(c.layer); !slices.Equal(n, []string{"weight", "bias"}) {
			t.Errorf("%s: parameters %v", name, n)
		}
		gradients(t, name, c.layer, c.layer.Forward, x)
		empty := append([]int{0}, c.x[1:]...)
		if y := c.layer.Forward(sinter.Zeros(sinter.F64, empty...)); y.Err() != nil || y.Dim(0) != 0 || len(data[float64](t, y)) != 0 {
			t.Errorf("%s: no samples: %v", name, y)
		}
	}
}

func TestConvTranspose(t *testing.T) {
	g := sinter.NewGenerator(1)
	for name, c := range map[string]struct {
		layer                 *nn.ConvTranspose
		x, out                []int
		stride, pad, dilation []int
		groups                int
	}{
		"1d": {nn.NewConvTranspose1d(g, 2, 3, 3, f64, nn.Stride(2), nn.Pad(1), nn.Extra(1)), []int{2, 2, 4}, []int{8}, []int{2}, []int{1}, []int{1}, 1},
		"2d": {nn.NewConvTranspose2d(g, 4, 2, 2, f64, nn.Groups(2), nn.Dilation(1, 2)), []int{1, 4, 2, 3}, []int{3, 5}, []int{1, 1}, []int{0, 0}, []int{1, 2}, 2},
		"3d": {nn.NewConvTranspose3d(g, 1, 2, 2, f64, nn.Stride(2)), []int{1, 1, 2, 1, 2}, []int{4, 2, 4}, []int{2, 2, 2}, []int{0, 0, 0}, []int{1, 1, 1}, 1},
	} {
		stir(t, c.layer)
		x := wave(1, c.x...)
		same(t, name, c.layer.Forward(x), refConvTranspose(arrayOf(t, x), varOf(t, c.layer.Weight), varOf(t, c.layer.Bias), c.out, c.stride, c.pad, c.dilation, c.groups))
		gradients(t, name, c.layer, c.layer.Forward, x)
		empty := append([]int{0}, c.x[1:]...)
		if y := c.layer.Forward(sinter.Zeros(sinter.F64, empty...)); y.Err() != nil || y.Dim(0) != 0 {
			t.Errorf("%s: no samples: %v", name, y)
		}
	}
	c := nn.NewConvTranspose2d(g, 4, 6, 3, nn.Groups(2), nn.Stride(2), nn.NoBias())
	if s := c.String(); s != "ConvTranspose(4 → 6, kernel 3 3, stride 2, groups 2)" || !slices.Equal(c.Weight.Borrow().Shape(), []int{4, 3, 3, 3}) || c.Bias != nil {
		t.Errorf("%s, weight %v", s, c.Weight.Borrow().Shape())
	}
}

func TestConvRefuses(t *testing.T) {
	g := sinter.NewGenerator(1)
	c := nn.NewConv2d(g, 3, 4, 3)
	for want, y := range map[string]*sinter.Tensor{
		"f32[2,5,8,8]": c.Forward(sinter.Ones(sinter.F32, 2, 5, 8, 8)),
		"[2,3,8]":      c.Forward(sinter.Ones(sinter.F32, 2, 3, 8)),
		"f64":          c.Forward(sinter.Ones(sinter.F64, 2, 3, 8, 8)),
		"-1":           nn.NewConv2d(g, 3, 4, 3, nn.Groups(2)).Forward(sinter.Ones(sinter.F32, 2, 3, 8, 8)),
	} {
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "conv_test.go") {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := c.Forward(sinter.Ones(sinter.F64, 2, 3, 8, 8)).Err(); !errors.Is(err, ir.ErrDType) {
		t.Errorf("wrong dtype: %v", err)
	}
}
