package autodiff_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
	"github.com/sinter-go/sinter/backend"
)

// layers is a deep function of x and w with two results.
func layers(in []*sinter.Tensor) []*sinter.Tensor {
	x, w := in[0], in[1]
	for range 6 {
		x = x.MatMul(w).Tanh().Add(x)
	}
	return []*sinter.Tensor{x.Softmax(-1), x.Mul(x).Sum(sinter.Over(0))}
}

func operands() (x, w *sinter.Tensor) {
	g := sinter.NewGenerator(5)
	return g.Normal(sinter.Of{}, sinter.F64, 3, 4), g.Normal(sinter.Of{}, sinter.F64, 4, 4).Mul(0.3)
}

// Values and gradients of a checkpointed function have the bits of the plain one.
func TestCheckpointBits(t *testing.T) {
	for _, scoped := range []bool{false, true} {
		x, w := operands()
		var s *sinter.Scope
		if scoped {
			s = sinter.NewScope("outer")
			x, w = s.In(x), s.In(w)
		}
		var results [2][][]float64
		for i, f := range []func([]*sinter.Tensor) []*sinter.Tensor{
			layers,
			func(in []*sinter.Tensor) []*sinter.Tensor { return autodiff.Checkpoint(layers, in...) },
		} {
			a, b := x.Track(), w.Track()
			out := f([]*sinter.Tensor{a, b})
			loss := out[0].Mul(out[0]).Sum().Add(out[1].Sum())
			grads, err := autodiff.Grad(loss, a, b)
			if err != nil {
				t.Fatal(err)
			}
			for _, y := range []*sinter.Tensor{out[0], out[1], grads[0], grads[1]} {
				results[i] = append(results[i], data(t, y))
			}
		}
		for j := range results[0] {
			if !slices.Equal(results[0][j], results[1][j]) {
				t.Errorf("scoped %v: value %d: %v plain, %v checkpointed", scoped, j, results[0][j], results[1][j])
			}
		}
		if s != nil {
			s.End()
		}
	}
}

// First and second order, numerically.
func TestCheckpointGradient(t *testing.T) {
	x, w := operands()
	err := gradcheck.Check(context.Background(), func(in []*sinter.Tensor) []*sinter.Tensor {
		return autodiff.Checkpoint(layers, in...)
	}, x, w)
	if err != nil {
		t.Error(err)
	}
}

// Until it is differentiated, a checkpointed function holds its results only.
func TestCheckpointMemory(t *testing.T) {
	ctx := context.Background()
	d, err := sinter.NewRuntime().Device("cpu") // its own, so that nobody else's tensors come or go
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	b, _ := backend.As[backend.Memory](d.Backend())
	live := func() int {
		d.Stream().Flush()
		u, err := b.MemoryUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return u.Tensors
	}
	x, w := sinter.On(d).Ones(sinter.F64, 3, 4), sinter.On(d).Ones(sinter.F64, 4, 4)
	s := sinter.NewScope("step")
	defer s.End()
	a, c := s.In(x).Track(), s.In(w).Track()
	before := live()
	out := autodiff.Checkpoint(layers, a, c)
	if n := live() - before; n != len(out) {
		t.Errorf("%d tensors live on, expected the %d results", n, len(out))
	}
	for _, alive := range []any{x, w, a, c, out} { // what was counted
		runtime.KeepAlive(alive)
	}
}

func TestCheckpointErrors(t *testing.T) {
	x, w := operands()
	bad := x.MatMul(x)
	for _, y := range autodiff.Checkpoint(layers, bad, w) {
		if !errors.Is(y.Err(), sinter.ErrShape) {
			t.Errorf("got %v, expected the operand's error", y.Err())
		}
	}
	out := autodiff.Checkpoint(func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{in[0].MatMul(in[0])} }, x)
	if !errors.Is(out[0].Err(), sinter.ErrShape) {
		t.Errorf("got %v, expected the function's error", out[0].Err())
	}
	// What the function captures is constant.
	v := sinter.NewVar(w)
	y := autodiff.Checkpoint(func(in []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{in[0].MatMul(v.Borrow())}
	}, x.Track())[0]
	g, err := autodiff.Gradients(y.Sum(), v)
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, g[0]); slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Errorf("the gradient of a captured variable is %v, expected zeros", got)
	}
}

// A custom gradient is what is used, to any order; nil means none.
func TestCustom(t *testing.T) {
	double := func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{in[0].Mul(in[1])} }
	back := func(in, out, dout []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{dout[0].Mul(in[0]).Mul(in[0]), nil} // x², not z
	}
	x := sinter.FromSlice([]float64{2, 3}).Track()
	z := sinter.FromSlice([]float64{10, 10}).Track()
	y := autodiff.Custom("twice", double, back, x, z)[0]
	if got := data(t, y); !slices.Equal(got, []float64{20, 30}) {
		t.Errorf("value %v", got)
	}
	g, err := autodiff.Options{Track: true}.Grad(y.Sum(), x, z)
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, g[0]); !slices.Equal(got, []float64{4, 9}) {
		t.Errorf("gradient %v, expected x²", got)
	}
	if got := data(t, g[1]); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("gradient of z %v, expected none", got)
	}
	gg, err := autodiff.Grad(g[0].Sum(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got := data(t, gg[0]); !slices.Equal(got, []float64{4, 6}) {
		t.Errorf("second gradient %v, expected 2x", got)
	}
}

// A gradient that clips what arrives.
func ExampleCustom() {
	identity := func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{in[0].Add(0)} }
	clip := func(in, out, dout []*sinter.Tensor) []*sinter.Tensor {
		return []*sinter.Tensor{dout[0].Maximum(-1).Minimum(1)}
	}
	x := sinter.FromSlice([]float64{0.1, 5, -5}).Track()
	y := autodiff.Custom("clip_gradient", identity, clip, x)[0]
	g, err := autodiff.Grad(y.Mul(y).Sum(), x) // 2x without the clip
	fmt.Println(g[0], err)
	// Output: [ 0.2  1.  -1. ] f64[3] <nil>
}
