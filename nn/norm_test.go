package nn_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
)

// refNorm normalises the elements that group puts together.
func refNorm(x array, group func(at []int) int, eps float64, w, b array) (y array, means, variances map[int]float64, counts map[int]int) {
	means, variances, counts = map[int]float64{}, map[int]float64{}, map[int]int{}
	x.each(func(at []int, v *float64) { means[group(at)] += *v; counts[group(at)]++ })
	for k := range means {
		means[k] /= float64(counts[k])
	}
	x.each(func(at []int, v *float64) {
		k := group(at)
		variances[k] += (*v - means[k]) * (*v - means[k]) / float64(counts[k])
	})
	y = zeros(x.shape...)
	y.each(func(at []int, v *float64) {
		k := group(at)
		*v = (*x.at(at...)-means[k])/math.Sqrt(variances[k]+eps)*w.v[at[1]] + b.v[at[1]]
	})
	return y, means, variances, counts
}

func TestBatchNorm(t *testing.T) {
	train := nn.Training(nil)
	for _, shape := range [][]int{{5, 3}, {2, 3, 4}, {2, 3, 2, 3}} {
		name := fmt.Sprint(shape)
		b := nn.NewBatchNorm(3, f64)
		stir(t, b)
		x := wave(3, shape...)
		weight, bias, mean, variance := varOf(t, b.Weight), varOf(t, b.Bias), varOf(t, b.RunningMean), varOf(t, b.RunningVar)

		want := zeros(shape...)
		want.each(func(at []int, v *float64) {
			c := at[1]
			*v = (*arrayOf(t, x).at(at...)-mean.v[c])/math.Sqrt(variance.v[c]+1e-5)*weight.v[c] + bias.v[c]
		})
		same(t, name+", inference", b.Forward(x), want)
		if b.RunningMean.Version() != 1 || b.NumBatchesTracked.Version() != 0 {
			t.Errorf("%s: inference changed the running statistics", name)
		}
		gradients(t, name+", inference", b, b.Forward, x)

		want, means, variances, counts := refNorm(arrayOf(t, x), func(at []int) int { return at[1] }, 1e-5, weight, bias)
		same(t, name+", training", b.ForwardMode(train, x), want)
		for c := range 3 {
			n := float64(counts[c])
			mean.v[c] = 0.9*mean.v[c] + 0.1*means[c]
			variance.v[c] = 0.9*variance.v[c] + 0.1*variances[c]*n/(n-1)
		}
		same(t, name+", running mean", b.RunningMean.Borrow(), mean)
		same(t, name+", running variance", b.RunningVar.Borrow(), variance)
		if n := data[int64](t, b.NumBatchesTracked.Borrow())[0]; n != 1 {
			t.Errorf("%s: %d batches", name, n)
		}
		gradients(t, name+", training", b, func(x *sinter.Tensor) *sinter.Tensor { return b.ForwardMode(train, x) }, x)
	}
}

func TestBatchNormEdges(t *testing.T) {
	train := nn.Training(nil)
	b := nn.NewBatchNorm(3)
	if y := b.ForwardMode(train, sinter.Zeros(sinter.F32, 0, 3, 2)); y.Err() != nil || len(data[float32](t, y)) != 0 || b.RunningMean.Version() != 0 {
		t.Errorf("no samples: %v", y)
	}
	for want, y := range map[string]*sinter.Tensor{
		"one element a channel":             b.ForwardMode(train, sinter.Ones(sinter.F32, 1, 3)),
		"[2 4 5], expected [n, 3, ...]":     b.ForwardMode(train, sinter.Ones(sinter.F32, 2, 4, 5)),
		"shape [3], expected [n, 3, ...]":   b.Forward(sinter.Ones(sinter.F32, 3)),
		"f64":                               b.ForwardMode(train, sinter.Ones(sinter.F64, 2, 3)),
		"x has shape [1 1], expected [n, 3": b.ForwardMode(train, sinter.Ones(sinter.F32, 1, 1)),
	} {
		if err := y.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "norm_test.go") {
			t.Errorf("%q: %v", want, err)
		}
	}
	if b.RunningMean.Version() != 0 || b.NumBatchesTracked.Version() != 0 {
		t.Error("an error changed the running statistics")
	}
	if n := names(b); !slices.Equal(n, []string{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}) || len(nn.Vars(b)) != 2 {
		t.Errorf("parameters %v", n)
	}
	plain := nn.NewBatchNorm(3, nn.NoAffine())
	if n := names(plain); len(n) != 3 || plain.ForwardMode(train, sinter.Ones(sinter.F32, 2, 3)).Err() != nil {
		t.Errorf("without factors: %v", n)
	}
	s := sinter.NewScope("step")
	y := b.ForwardMode(train, s.In(sinter.Ones(sinter.F32, 4, 3)))
	if y.Scope() != s {
		t.Error("the result is not of the scope")
	}
	s.End()
	if data[float32](t, b.RunningMean.Borrow())[0] == 0 || b.RunningMean.Borrow().Tracked() {
		t.Error("the running mean did not outlive the scope, or is tracked")
	}
	path := filepath.Join(t.TempDir(), "bn")
	if err := nn.Save(t.Context(), path, b, nil); err != nil {
		t.Fatal(err)
	}
	other := nn.NewBatchNorm(3)
	if _, err := nn.Load(path, other); err != nil {
		t.Fatal(err)
	}
	x := sinter.Ones(sinter.F32, 2, 3)
	if !slices.Equal(data[float32](t, b.Forward(x)), data[float32](t, other.Forward(x))) || other.RunningVar.Borrow().Tracked() {
		t.Error("other results after a file")
	}
}

func TestNorms(t *testing.T) {
	x := wave(5, 2, 4, 3)
	a := arrayOf(t, x)

	l := nn.NewLayerNorm([]int{4, 3}, f64, nn.Epsilon(1e-3))
	stir(t, l)
	same(t, "LayerNorm", l.Forward(x), refLayerNorm(a, varOf(t, l.Weight), varOf(t, l.Bias), 1e-3))

	r := nn.NewRMSNorm([]int{3}, f64)
	stir(t, r)
	w, want := varOf(t, r.Weight), zeros(2, 4, 3)
	want.each(func(at []int, v *float64) {
		s := 0.0
		for i := range 3 {
			s += math.Pow(*a.at(at[0], at[1], i), 2) / 3
		}
		*v = *a.at(at...) / math.Sqrt(s+1e-5) * w.v[at[2]]
	})
	same(t, "RMSNorm", r.Forward(x), want)

	g := nn.NewGroupNorm(2, 4, f64)
	stir(t, g)
	want, _, _, _ = refNorm(a, func(at []int) int { return at[0]*2 + at[1]/2 }, 1e-5, varOf(t, g.Weight), varOf(t, g.Bias))
	same(t, "GroupNorm", g.Forward(x), want)

	i := nn.NewInstanceNorm(4, f64)
	stir(t, i)
	want, _, _, _ = refNorm(a, func(at []int) int { return at[0]*4 + at[1] }, 1e-5, varOf(t, i.Weight), varOf(t, i.Bias))
	same(t, "InstanceNorm", i.Forward(x), want)

	for text, layer := range map[string]nn.Layer{"LayerNorm[4 3]": l, "RMSNorm[3]": r, "GroupNorm(2 groups)[4]": g, "InstanceNorm[4]": i} {
		gradients(t, text, layer, layer.Forward, x)
		if s := fmt.Sprint(layer); s != text {
			t.Errorf("%s is called %s", text, s)
		}
		if y := layer.Forward(sinter.Zeros(sinter.F64, 0, 4, 3)); y.Err() != nil || y.Dim(0) != 0 {
			t.Errorf("%s: no samples: %v", text, y)
		}
		if err := layer.Forward(sinter.Ones(sinter.F64, 2, 5, 2)).Err(); err == nil || !strings.Contains(err.Error(), "5") {
			t.Errorf("%s: a wrong shape: %v", text, err)
		}
		if err := layer.Forward(sinter.Ones(sinter.F32, 2, 4, 3)).Err(); err == nil || !strings.Contains(err.Error(), "f32") {
			t.Errorf("%s: a wrong dtype: %v", text, err)
		}
	}
	for _, layer := range []nn.Layer{nn.NewLayerNorm([]int{3}, nn.NoAffine()), nn.NewRMSNorm([]int{3}, nn.NoAffine()), nn.NewGroupNorm(1, 4, nn.NoAffine()),
		nn.NewInstanceNorm(4, nn.NoAffine())} {
		if len(nn.Params(layer)) != 0 || layer.Forward(sinter.Ones(sinter.F32, 2, 4, 3)).Err() != nil {
			t.Errorf("%v without factors", layer)
		}
	}
	if n := names(nn.NewLayerNorm([]int{3}, nn.NoBias())); !slices.Equal(n, []string{"weight"}) {
		t.Errorf("without biases: %v", n)
	}
}
