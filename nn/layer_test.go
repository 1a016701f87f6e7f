package nn_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
)

func data[T sinter.Element](t *testing.T, x *sinter.Tensor) []T {
	t.Helper()
	v, err := sinter.Data[T](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLinear(t *testing.T) {
	l := &nn.Linear{
		Weight: sinter.NewVar(sinter.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 3, 2)), // [out, in]
		Bias:   sinter.NewVar(sinter.FromSlice([]float64{10, 20, 30})),
	}
	x := sinter.FromSlice([]float64{1, 1, 2, 0}, 1, 2, 2)
	y := l.Forward(x)
	if !slices.Equal(y.Shape(), []int{1, 2, 3}) || !slices.Equal(data[float64](t, y), []float64{13, 27, 41, 12, 26, 40}) {
		t.Errorf("y = %v", y)
	}
	l.Bias = nil
	if v := data[float64](t, l.Forward(sinter.FromSlice([]float64{1, -1}))); !slices.Equal(v, []float64{-1, -1, -1}) {
		t.Errorf("a single sample: %v", v)
	}
	if err := l.Forward(sinter.Ones(sinter.F64, 2, 3)).Err(); !errors.Is(err, ir.ErrShape) {
		t.Errorf("wrong shape: %v", err)
	}
	if err := l.Forward(sinter.Ones(sinter.F32, 2, 2)).Err(); !errors.Is(err, ir.ErrDType) {
		t.Errorf("wrong dtype: %v", err)
	}
	g := sinter.NewGenerator(1)
	if err := nn.NewLinear(g, -1, 3).Forward(sinter.Ones(sinter.F32, 2, 2)).Err(); err == nil {
		t.Error("a layer of -1 features works")
	}
	if v := data[float32](t, nn.NewLinear(g, 0, 2).Forward(sinter.Ones(sinter.F32, 1, 0))); !slices.Equal(v, []float32{0, 0}) {
		t.Errorf("a layer of no features: %v", v)
	}
}

// TestLinearInScope checks that results go with the scope of the input, and that
// old values of a parameter go when it gets a new one.
func TestLinearInScope(t *testing.T) {
	l := nn.NewLinear(sinter.NewGenerator(1), 3, 2)
	old := l.Weight.Borrow()
	s := sinter.NewScope("test")
	y := l.Forward(s.In(sinter.Ones(sinter.F32, 4, 3)))
	if y.Scope() != s || s.Live() == 0 {
		t.Errorf("the result belongs to %v, %d tensors live", y.Scope(), s.Live())
	}
	s.End()
	if !errors.Is(y.Err(), ir.ErrClosed) {
		t.Errorf("after the scope: %v", y.Err())
	}
	if err := l.Weight.Set(sinter.Zeros(sinter.F32, 2, 3)); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(old.Err(), ir.ErrClosed) {
		t.Errorf("the old weight is still there: %v", old.Err())
	}
	v := nn.Use(l.Weight, sinter.Ones(sinter.F32)) // lent to whoever is in no scope
	if err := l.Weight.Set(sinter.Ones(sinter.F32, 2, 3)); err != nil || v.Err() != nil {
		t.Errorf("set: %v, the lent value: %v", err, v.Err())
	}
}

func TestInit(t *testing.T) {
	interp, err := sinter.OpenDevice("interp")
	if err != nil {
		t.Fatal(err)
	}
	const in, out = 64, 96
	for name, c := range map[string]struct {
		f        nn.Init
		variance float64
		bound    float64
	}{
		"HeUniform":     {nn.HeUniform, 2.0 / in, math.Sqrt(6.0 / in)},
		"HeNormal":      {nn.HeNormal, 2.0 / in, math.Inf(1)},
		"GlorotUniform": {nn.GlorotUniform, 2.0 / (in + out), math.Sqrt(6.0 / (in + out))},
		"GlorotNormal":  {nn.GlorotNormal, 2.0 / (in + out), math.Inf(1)},
	} {
		make := func(d *sinter.Device, dt sinter.DType) []float64 {
			l := nn.NewLinear(sinter.NewGenerator(7), in, out, nn.On(d), nn.DType(dt), nn.InitWith(c.f))
			if b := l.Bias.Borrow(); b.DType() != dt || b.Device() != d {
				t.Errorf("%s: the bias is %v on %v", name, b.DType(), b.Device())
			}
			return data[float64](t, l.Weight.Value().Cast(sinter.F64))
		}
		w := make(sinter.DefaultDevice(), sinter.F32)
		var mean, variance float64
		for _, v := range w {
			mean += v / float64(len(w))
			variance += v * v / float64(len(w))
			if math.Abs(v) > c.bound*(1+1e-6) {
				t.Errorf("%s: %v is beyond %v", name, v, c.bound)
			}
		}
		if math.Abs(mean) > 0.01 || math.Abs(variance/c.variance-1) > 0.06 {
			t.Errorf("%s: mean %v, variance %v, want 0 and %v", name, mean, variance, c.variance)
		}
		if !slices.Equal(w, make(interp, sinter.F32)) {
			t.Errorf("%s: other values on the interpreter", name)
		}
		half := make(interp, sinter.F16)
		for i := range half {
			if math.Abs(half[i]-w[i]) > 1e-3 {
				t.Errorf("%s: f16 element %d is %v, f32 %v", name, i, half[i], w[i])
				break
			}
		}
	}
}

func TestCrossEntropy(t *testing.T) {
	logits := []float64{1, 2, 3, 0, -1, 40, 5, 5, 5, -700, 0, 700}
	labels := []int64{0, 2, 1, 2}
	x := sinter.FromSlice(logits, 4, 3).Track()
	loss := nn.CrossEntropy(x, sinter.FromSlice(labels))
	want, grad := 0.0, make([]float64, len(logits))
	for i, l := range labels {
		row, sum := logits[3*i:3*i+3], 0.0
		top := slices.Max(row)
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		want -= (row[l] - top - math.Log(sum)) / 4
		for j, v := range row {
			grad[3*i+j] = math.Exp(v-top) / sum / 4
		}
		grad[3*i+int(l)] -= 0.25
	}
	if v := data[float64](t, loss)[0]; loss.Rank() != 0 || math.Abs(v-want) > 1e-14*want {
		t.Errorf("loss %v, want %v", v, want)
	}
	g, err := autodiff.Grad(loss, x)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range data[float64](t, g[0]) {
		if math.Abs(v-grad[i]) > 1e-15 {
			t.Errorf("gradient %d is %v, want %v", i, v, grad[i])
		}
	}
	if a := data[float64](t, nn.Accuracy(x, sinter.FromSlice(labels)))[0]; a != 0.5 {
		t.Errorf("accuracy %v, want 0.5", a)
	}
}

func TestCrossEntropyRefuses(t *testing.T) {
	x := sinter.Ones(sinter.F32, 2, 3)
	for _, label := range []int64{3, -1, -3, math.MaxInt64, math.MinInt64} {
		_, err := sinter.Item[float32](context.Background(), nn.CrossEntropy(x, sinter.FromSlice([]int64{0, label})))
		if !errors.Is(err, ir.ErrData) {
			t.Errorf("label %d: error %v", label, err)
		}
	}
	if err := nn.CrossEntropy(x, sinter.FromSlice([]int64{0, 1, 2})).Err(); !errors.Is(err, ir.ErrShape) {
		t.Errorf("three labels for two rows: %v", err)
	}
	if err := nn.CrossEntropy(x, sinter.FromSlice([]int32{0, 1})).Err(); !errors.Is(err, ir.ErrDType) {
		t.Errorf("i32 labels: %v", err)
	}
	if err := nn.CrossEntropy(&sinter.Tensor{}, sinter.FromSlice([]int64{0})).Err(); err == nil {
		t.Error("no error of a tensor that was not made")
	}
	if v, err := sinter.Item[float32](context.Background(), nn.CrossEntropy(sinter.Zeros(sinter.F32, 0, 3), sinter.Zeros(sinter.I64, 0))); err != nil || v == v {
		t.Errorf("no rows: %v, %v", v, err)
	}
}
