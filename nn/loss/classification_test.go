package loss_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/fusetest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/loss"
)

// entropyModel is the loss of logits [n, classes, m] by definition, and the
// divisor of its mean.
func entropyModel(x []float64, n, classes, m int, labels []int64, weights []float64, ignore int64, smoothing float64, nll bool) (out []float64, divisor float64) {
	for i := range n {
		for j := range m {
			label := labels[i*m+j]
			at := func(c int) float64 { return x[(i*classes+c)*m+j] }
			if label == ignore {
				out = append(out, 0)
				continue
			}
			sum := 0.0
			for c := range classes {
				sum += math.Exp(at(c))
			}
			log := math.Log(sum)
			if nll {
				log = 0
			}
			v := (1 - smoothing) * weights[label] * (log - at(int(label)))
			for c := range classes {
				v += smoothing / float64(classes) * weights[c] * (log - at(c))
			}
			out = append(out, v)
			divisor += weights[label]
		}
	}
	return out, divisor
}

func TestCrossEntropy(t *testing.T) {
	const n, classes, m = 2, 5, 3
	x := random(1, n*classes*m)
	labels := []int64{0, 4, 2, 2, -100, 1}
	weights := []float64{0.5, 2, 1.25, 3, 0.75}
	ones := []float64{1, 1, 1, 1, 1}
	logits := tensor(x, n, classes, m)
	for _, ignore := range []int64{-100, 2} {
		list := append([]int64(nil), labels...)
		if ignore == 2 {
			list[4] = 3
		}
		index := sinter.FromSlice(list, n, m)
		for _, weighted := range []bool{false, true} {
			w := ones
			if weighted {
				w = weights
			}
			for _, smoothing := range []float64{0, 0.2} {
				options := func(x *sinter.Tensor, r loss.Reduction) loss.Options {
					o := loss.Options{Smoothing: smoothing, Ignore: &ignore, Axis: 1, Reduction: r}
					if weighted {
						o.Weights = tensor(weights, classes).Cast(x.DType())
					}
					return o
				}
				f := func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
					return loss.CrossEntropy(in[0], index, options(in[0], r))
				}
				want, divisor := entropyModel(x, n, classes, m, list, w, ignore, smoothing, false)
				reduced(t, "cross entropy", f, want, divisor, logits)
				gradients(t, "cross entropy", func(in ...*sinter.Tensor) *sinter.Tensor { return f(loss.Mean, in...) }, logits)
				if smoothing > 0 {
					continue
				}
				g := func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
					return loss.NLL(in[0], index, options(in[0], r))
				}
				want, divisor = entropyModel(x, n, classes, m, list, w, ignore, 0, true)
				reduced(t, "nll", g, want, divisor, logits)
				gradients(t, "nll", func(in ...*sinter.Tensor) *sinter.Tensor { return g(loss.Mean, in...) }, logits)
			}
		}
	}
	// The last axis, no options; large logits.
	big := tensor([]float64{1000, 0, -1000, 0}, 2, 2)
	reduced(t, "large", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
		return loss.CrossEntropy(in[0], sinter.FromSlice([]int64{1, 0}), loss.Options{Reduction: r})
	}, []float64{1000, 1000}, 0, big)
}

// TestLabels: a label that is no class is an error, even where it would be one
// counted from the end; all rows ignored give NaN, and their gradient is no error.
func TestLabels(t *testing.T) {
	x := tensor(random(1, 6), 2, 3).Track()
	for _, bad := range []int64{3, -1, -100} {
		labels := sinter.FromSlice([]int64{0, bad})
		for _, f := range []func(x, l *sinter.Tensor, o loss.Options) *sinter.Tensor{loss.CrossEntropy, loss.NLL} {
			if _, err := sinter.Data[float64](context.Background(), f(x, labels, loss.Options{})); !errors.Is(err, ir.ErrData) {
				t.Errorf("label %d gave %v", bad, err)
			}
		}
	}
	ignore := int64(-1)
	y := loss.CrossEntropy(x, sinter.FromSlice([]int64{-1, -1}), loss.Options{Ignore: &ignore, Reduction: loss.Sum})
	g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{sinter.Ones(sinter.F64)}, []*sinter.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(data(t, y), data(t, g[0])...) {
		if v != 0 {
			t.Errorf("ignored rows give %v", v)
		}
	}
	if v := data(t, loss.CrossEntropy(x, sinter.FromSlice([]int64{-1, -1}), loss.Options{Ignore: &ignore})); v[0] == v[0] {
		t.Errorf("the mean of nothing is %v", v)
	}
}

// TestCrossEntropyGradient: values that are special, against softmax(x) - target.
func TestCrossEntropyGradient(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name    string
		x       []float64
		label   int64
		smooth  float64
		y, grad []float64 // grad nil: not asked
	}{
		{"huge logits", []float64{1e8, 1e8}, 1, 0, []float64{math.Ln2}, []float64{0.5, -0.5}},
		{"a certain one", []float64{0, -200}, 0, 0, []float64{0}, []float64{0, 0}},
		{"a certain and wrong one", []float64{0, -200}, 1, 0, []float64{200}, []float64{1, -1}},
		{"masked classes", []float64{0, -inf, 0}, 2, 0, []float64{math.Ln2}, []float64{0.5, 0, -0.5}},
		{"a masked label", []float64{0, -inf, 0}, 1, 0, []float64{inf}, []float64{0.5, -1, 0.5}},
		{"NaN", []float64{0, nan}, 0, 0, []float64{nan}, []float64{nan, nan}},
		{"smoothed", []float64{0, 0, 0, 0}, 3, 0.4, []float64{2 * math.Ln2}, []float64{0.15, 0.15, 0.15, -0.45}},
		{"smoothed over a masked class", []float64{0, -inf}, 0, 0.5, []float64{inf}, nil},
		{"wholly smoothed", []float64{1, 1, 1}, 0, 1, []float64{math.Log(3)}, []float64{0, 0, 0}},
	} {
		for _, d := range []sinter.DType{sinter.F64, sinter.F32, sinter.BF16} {
			x := tensor(c.x, 1, len(c.x)).Cast(d).Track()
			y := loss.CrossEntropy(x, sinter.FromSlice([]int64{c.label}), loss.Options{Smoothing: c.smooth})
			if y.DType() != d {
				t.Errorf("%s: the loss of %s is %s", c.name, d, y.DType())
			}
			g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{nil}, []*sinter.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			tol := map[sinter.DType]float64{sinter.F64: 1e-14, sinter.F32: 1e-6, sinter.BF16: 1. / 128}[d]
			near := func(what string, got, want []float64) {
				for i := range want {
					if !(math.Abs(got[i]-want[i]) <= tol*math.Max(1, math.Abs(want[i]))) && got[i] != want[i] && !(got[i] != got[i] && want[i] != want[i]) {
						t.Errorf("%s in %s: %s %v, expected %v", c.name, d, what, got, want)
						return
					}
				}
			}
			near("loss", data(t, y), c.y)
			near("gradient", data(t, g[0]), c.grad)
		}
	}
}

// TestCrossEntropyPasses: the logits are read once for the loss and once for their
// gradient, which is all of their size that is written.
func TestCrossEntropyPasses(t *testing.T) {
	const n, classes = 512, 4000
	const size = 4 * n * classes
	ignore := int64(0)
	index, logits := sinter.Zeros(sinter.I64, n), sinter.Full(0.5, sinter.F32, n, classes)
	for _, o := range []loss.Options{{}, {Ignore: &ignore}, {Smoothing: 0.1}} {
		plans := fusetest.Record(t, sinter.DefaultDevice(), func() {
			s := sinter.NewScope("step")
			x := s.In(logits).Track()
			y := loss.CrossEntropy(x, s.In(index), o)
			data(t, y) // so that the gradient is another segment
			g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{nil}, []*sinter.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			s.Keep(g[0])
			s.End()
		})
		if r, w := plans.Read(), plans.Written(); r > 2*size+size/8 || w > size+size/8 {
			t.Errorf("smoothing %v: logits of %d bytes, read %d, written %d:\n%v", o.Smoothing, size, r, w, plans)
		}
	}
}

// ctcModel adds up the probabilities of all paths.
func ctcModel(x []float64, classes, n, i, length int, target []int64, blank int64) float64 {
	total := 0.0
	path := make([]int64, length)
	var walk func(step int, log float64)
	walk = func(step int, log float64) {
		if step == length {
			var spelt []int64
			last := blank
			for _, c := range path {
				if c != blank && c != last {
					spelt = append(spelt, c)
				}
				last = c
			}
			if len(spelt) != len(target) {
				return
			}
			for j := range spelt {
				if spelt[j] != target[j] {
					return
				}
			}
			total += math.Exp(log)
			return
		}
		for c := range classes {
			path[step] = int64(c)
			walk(step+1, log+x[(step*n+i)*classes+c])
		}
	}
	walk(0, 0)
	return -math.Log(total)
}

func TestCTC(t *testing.T) {
	const steps, n, classes, s = 5, 4, 3, 3
	logits := tensor(random(1, steps*n*classes), steps, n, classes)
	x := data(t, logits.LogSoftmax(-1))
	for _, blank := range []int{0, 2} {
		a, b := int64(1), int64(2-blank)
		targets := [][]int64{{a, b, a}, {a, a, 0}, {b, 0, 0}, {0, 0, 0}}
		inputs, lengths := []int64{5, 4, 2, 3}, []int64{3, 2, 1, 0}
		var flat []int64
		var want []float64
		mean := 0.0
		for i := range targets {
			flat = append(flat, targets[i]...)
			v := ctcModel(x, classes, n, i, int(inputs[i]), targets[i][:lengths[i]], int64(blank))
			want = append(want, v)
			mean += v / float64(max(lengths[i], 1)) / n
		}
		sum := 0.0
		for _, v := range want {
			sum += v
		}
		f := func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.CTC(in[0].LogSoftmax(-1), sinter.FromSlice(flat, n, s), sinter.FromSlice(inputs), sinter.FromSlice(lengths),
				loss.CTCOptions{Blank: blank, Reduction: r})
		}
		reduced(t, "ctc", f, want, sum/mean, logits)
		gradients(t, "ctc", func(in ...*sinter.Tensor) *sinter.Tensor { return f(loss.None, in...) }, logits.Slice(sinter.All(), sinter.All()))
	}
	// A target that needs more steps than there are.
	for _, zero := range []bool{false, true} {
		in := logits.Slice(sinter.Until(3), sinter.Until(1)).Track()
		y := loss.CTC(in.LogSoftmax(-1), sinter.FromSlice([]int64{1, 1, 2}, 1, 3), sinter.FromSlice([]int64{3}), sinter.FromSlice([]int64{3}),
			loss.CTCOptions{ZeroInfinity: zero, Reduction: loss.Sum})
		v := data(t, y)[0]
		if zero && v != 0 || !zero && !math.IsInf(v, 1) {
			t.Errorf("zero %v: an impossible target gives %v", zero, v)
		}
		g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{sinter.Ones(sinter.F64)}, []*sinter.Tensor{in})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range data(t, g[0]) {
			if zero && v != 0 || v != v {
				t.Errorf("zero %v: an impossible target has gradient %v", zero, v)
			}
		}
	}
	if loss.CTC(logits, sinter.FromSlice([]int64{1}, 1, 1), sinter.FromSlice([]int64{1}), sinter.FromSlice([]int64{1}), loss.CTCOptions{}).Err() == nil {
		t.Error("batches that differ are no error")
	}
}
