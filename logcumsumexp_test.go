package sinter_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
)

// LogCumSumExp against sums of exponentials of differences in float64, over ranges
// in which exponentials overflow and vanish, and with infinities and NaN.
func TestLogCumSumExp(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	rows := [][]float64{
		{0, -20, -40, 0, 1e-3}, {-1000, -1000, 0, 1000, 5}, {700, 710, -700, 720, 719},
		{-inf, -inf, -1000, 3, -inf}, {1, inf, 2, inf, -inf}, {-inf, inf, -inf, 0, 0}, {0, nan, 1, inf, -inf}, {-inf, nan, nan, 0, inf},
	}
	r := rand.New(rand.NewPCG(1, 9))
	for _, scale := range []float64{1, 30, 1e4} {
		row := make([]float64, 500)
		for i := range row {
			row[i] = r.NormFloat64() * scale
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		got := values[float64](t, sinter.FromSlice(row).LogCumSumExp(0))
		single := make([]float32, len(row))
		for i, v := range row {
			single[i] = float32(v)
		}
		got32 := values[float32](t, sinter.FromSlice(single).LogCumSumExp(0))
		for i := range row {
			want := logSumExp(row[:i+1])
			if !agrees(got[i], want, 1e-14) {
				t.Errorf("%v: element %d is %v, want %v", row[:min(len(row), 5)], i, got[i], want)
			}
			wide := make([]float64, i+1)
			for j := range wide {
				wide[j] = float64(single[j])
			}
			if want := logSumExp(wide); !agrees(float64(got32[i]), want, 4e-7) {
				t.Errorf("f32 %v: element %d is %v, want %v", row[:min(len(row), 5)], i, got32[i], want)
			}
		}
	}
}

// logSumExp is exact to a few units of f64, by compensated sums of the others' shares.
func logSumExp(v []float64) float64 {
	m, at := math.Inf(-1), 0
	for i, x := range v {
		if x != x {
			return x
		}
		if x > m {
			m, at = x, i
		}
	}
	if math.IsInf(m, 0) {
		return m
	}
	sum := 0.0
	for i, x := range v {
		if i != at {
			sum += math.Exp(x - m)
		}
	}
	return m + math.Log1p(sum)
}

func agrees(got, want, eps float64) bool {
	return got == want || got != got && want != want || math.Abs(got-want) <= eps*(1+math.Abs(want))
}
