package metric_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/train/metric"
)

// Expected values are scikit-learn's, or counted by hand.

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got != want && !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestConfusion(t *testing.T) {
	c := metric.NewConfusion(3)
	predicted, labels := []int64{0, 2, 1, 0, 0, 1}, []int64{0, 1, 2, 0, 1, 2}
	for i := range labels { // one by one
		if err := c.Add(predicted[i:i+1], labels[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if s := fmt.Sprint(c.Counts); s != "[2 0 0 1 0 1 0 2 0]" || c.N() != 6 {
		t.Errorf("%s", s)
	}
	m := c.Macro()
	near(t, "macro precision", m.Precision, 2.0/9)
	near(t, "macro recall", m.Recall, 1.0/3)
	near(t, "macro F1", m.F1, 0.8/3)
	near(t, "micro F1", c.Micro().F1, 1.0/3)
	near(t, "accuracy", c.Accuracy(), 1.0/3)
	near(t, "precision of 0", c.Class(0).Precision, 2.0/3)
	before := fmt.Sprint(c)
	for _, bad := range [][2][]int64{{{0}, {0, 1}}, {{0, 3}, {0, 0}}, {{0, 0}, {0, -1}}} {
		if c.Add(bad[0], bad[1]) == nil || fmt.Sprint(c) != before {
			t.Errorf("%v was taken", bad)
		}
	}
	if e := metric.NewConfusion(0); e.Accuracy() != 0 || e.Macro().F1 != 0 {
		t.Error("nothing")
	}
}

func TestTopK(t *testing.T) {
	nan := float32(math.NaN())
	scores := []float32{0.5, 0.2, 0.2, 0.1, 0.3, 0.4, 0.2, 0.1, nan, 1, nan, nan}
	for k, want := range map[int]int64{0: 0, 1: 0, 2: 1, 3: 3, 4: 3} {
		m := metric.TopK{K: k}
		if err := m.Add(scores, 4, []int64{2, 0, 2}); err != nil || m.Right != want || m.N != 3 {
			t.Errorf("top %d: %+v, %v, want %d", k, m, err, want)
		}
	}
	m := metric.TopK{K: 1}
	if m.Add(scores, 4, []int64{0}) == nil || m.Add(scores[:4], 4, []int64{4}) == nil || m.Add(nil, 0, nil) == nil || m.N != 0 || m.Value() != 0 {
		t.Errorf("%+v", m)
	}
}

func TestAUROC(t *testing.T) {
	var a metric.AUROC
	near(t, "of nothing", a.Value(), math.NaN())
	a.Add([]float32{0.1, 0.4}, []bool{false, false})
	a.Add([]float32{0.35, 0.8}, []bool{true, true})
	near(t, "AUROC", a.Value(), 0.75)
	a.Add([]float32{0.4, 0.4}, []bool{true, false})
	near(t, "with ties", a.Value(), (1+0+0+3+1+0.5+0.5)/9)
	if a.Add([]float32{float32(math.NaN())}, []bool{true}) == nil || a.Add(nil, []bool{true}) == nil {
		t.Error("NaN, or a missing score")
	}
	r := rand.New(rand.NewPCG(1, 1)) // against the definition
	var b metric.AUROC
	var scores []float32
	var truth []bool
	for range 300 {
		scores, truth = append(scores, float32(r.IntN(40))), append(truth, r.IntN(3) == 0)
	}
	b.Add(scores, truth)
	var pairs, sum float64
	for i := range scores {
		for j := range scores {
			if truth[i] && !truth[j] {
				pairs++
				if scores[i] > scores[j] {
					sum++
				} else if scores[i] == scores[j] {
					sum += 0.5
				}
			}
		}
	}
	near(t, "random", b.Value(), sum/pairs)
}

func TestRegression(t *testing.T) {
	var r metric.Regression
	near(t, "MSE of nothing", r.MSE(), math.NaN())
	near(t, "R2 of nothing", r.R2(), math.NaN())
	r.Add([]float32{2.5, 0}, []float32{3, -0.5})
	r.Add([]float32{2, 8}, []float32{2, 7})
	near(t, "MSE", r.MSE(), 0.375)
	near(t, "MAE", r.MAE(), 0.5)
	near(t, "RMSE", r.RMSE(), math.Sqrt(0.375))
	near(t, "R2", r.R2(), 0.9486081370449679)
	var far metric.Regression // a mean far from 0 takes nothing of the variance
	far.Add([]float32{16777214, 16777216}, []float32{16777213, 16777215})
	near(t, "R2 far from 0", far.R2(), 0)
	var p metric.Perplexity
	near(t, "perplexity of nothing", p.Value(), math.NaN())
	p.Add([]float32{float32(math.Ln2), 0})
	p.AddMean(math.Log(8), 2)
	near(t, "perplexity", math.Round(p.Value()*1e6)/1e6, math.Round(math.Exp2(7.0/4)*1e6)/1e6)
	if r.Add(nil, []float32{1}) == nil {
		t.Error("a missing prediction")
	}
}

// TestBatchesDoNotMatter adds the same values in many orders and groups.
func TestBatchesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float32, 1000), make([]float32, 1000)
	for i := range x {
		x[i], y[i] = float32(r.NormFloat64()*math.Exp2(float64(r.IntN(60)-30))), float32(r.NormFloat64())
	}
	want := ""
	for range 8 {
		var m metric.Regression
		for at := 0; at < len(x); {
			n := min(1+r.IntN(100), len(x)-at)
			m.Add(x[at:at+n], y[at:at+n])
			at += n
		}
		got := fmt.Sprint(m.MSE(), m.MAE(), m.R2())
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s, then %s", want, got)
		}
		r.Shuffle(len(x), func(i, j int) { x[i], x[j], y[i], y[j] = x[j], x[i], y[j], y[i] })
	}
	var s metric.Sum
	s.Add(1e308, 1, 1e-300, -1e308, -1)
	near(t, "an exact sum", s.Value()*1e300, 1)
	s.Add(math.Inf(1))
	near(t, "infinity", s.Value(), math.Inf(1))
	s.Add(math.Inf(-1))
	near(t, "two infinities", s.Mean(), math.NaN())
	if s.N() != 7 {
		t.Error(s.N())
	}
}
