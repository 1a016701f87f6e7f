package sinter_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// within fails the test if a mean of n draws is more than 5 standard deviations
// from what is expected.
func within(t *testing.T, what string, got, want, deviation float64, n int) {
	t.Helper()
	if z := (got - want) / (deviation / math.Sqrt(float64(n))); !(math.Abs(z) <= 5) {
		t.Errorf("%s: %v, want %v: %.1f sigma", what, got, want, z)
	}
}

func values[T sinter.Element](t *testing.T, x *sinter.Tensor) []T {
	t.Helper()
	v, err := sinter.Data[T](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const draws = 40000

// moments checks mean, variance and the distribution function at some points.
func moments(t *testing.T, what string, x []float64, mean, variance, fourth float64, cdf func(float64) float64) {
	t.Helper()
	n := len(x)
	m, v := 0.0, 0.0
	for _, y := range x {
		m += y / float64(n)
		v += (y - mean) * (y - mean) / float64(n)
	}
	within(t, what+": mean", m, mean, math.Sqrt(variance), n)
	within(t, what+": variance", v, variance, math.Sqrt(fourth-variance*variance), n)
	for _, at := range []float64{-1, -0.3, 0.1, 0.5, 1, 2, 4} {
		below := 0.0
		for _, y := range x {
			if y <= at {
				below++
			}
		}
		p := cdf(at)
		within(t, what+": distribution", below/float64(n), p, math.Sqrt(p*(1-p))+1e-9, n)
	}
}

func TestDistributions(t *testing.T) {
	g := sinter.NewGenerator(2024)
	o := sinter.Of{}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, d := range []sinter.DType{sinter.F32, sinter.F64} {
		get := func(x *sinter.Tensor) []float64 { return values[float64](t, x.Cast(sinter.F64)) }
		moments(t, "exponential", get(g.Exponential(o, d, draws)), 1, 1, 9, func(x float64) float64 { return max(0, -math.Expm1(-x)) })
		moments(t, "gumbel", get(g.Gumbel(o, d, draws)), 0.5772156649015329, math.Pi*math.Pi/6, 5.4*math.Pow(math.Pi, 4)/36,
			func(x float64) float64 { return math.Exp(-math.Exp(-x)) })
		for _, b := range [][2]float64{{-1, 2}, {0.5, 3}, {-3, -1}, {math.Inf(-1), 0.5}, {2, math.Inf(1)}, {-9, 9}} {
			x := get(g.TruncatedNormal(o, d, b[0], b[1], draws))
			lo, hi := phi(b[0]), phi(b[1])
			for _, at := range []float64{-2, -1.5, -0.5, 0, 0.4, 1, 2.5} {
				below := 0.0
				for _, y := range x {
					if y < b[0] || y > b[1] {
						t.Fatalf("truncated normal: %v is outside %v", y, b)
					}
					if y <= at {
						below++
					}
				}
				p := min(max((phi(at)-lo)/(hi-lo), 0), 1)
				within(t, "truncated normal", below/draws, p, math.Sqrt(p*(1-p))+1e-9, draws)
			}
		}
	}
}

func TestIntegers(t *testing.T) {
	g := sinter.NewGenerator(7)
	o := sinter.Of{}
	for _, d := range []sinter.DType{sinter.I8, sinter.U8, sinter.I16, sinter.U32, sinter.I32, sinter.I64, sinter.U64} {
		low := int64(3)
		if d.Kind() == ir.KindInt {
			low = -4
		}
		counts := make([]int, 10)
		for _, v := range values[int64](t, g.Integers(o, d, low, low+10, draws).Cast(sinter.I64)) {
			if v < low || v >= low+10 {
				t.Fatalf("%s: %d is outside", d, v)
			}
			counts[v-low]++
		}
		for _, c := range counts {
			within(t, d.String(), float64(c)/draws, 0.1, math.Sqrt(0.09), draws)
		}
	}
	mean := 0.0
	for _, v := range values[int64](t, g.Integers(o, sinter.I64, math.MinInt64, math.MaxInt64, draws)) {
		mean += float64(v) / 0x1p63 / draws
	}
	within(t, "all of i64", mean, 0, math.Sqrt(1.0/3), draws)
	if v := values[int64](t, g.Integers(o, sinter.I64, 5, 6, 3)); v[0] != 5 || v[1] != 5 || v[2] != 5 {
		t.Errorf("one number: %v", v)
	}
	for i, bad := range []*sinter.Tensor{g.Integers(o, sinter.I8, 0, 129, 2), g.Integers(o, sinter.U8, -1, 4, 2), g.Integers(o, sinter.F32, 0, 4, 2),
		g.Integers(o, sinter.I64, 4, 4, 2), g.Integers(o, sinter.U64, -1, 4), g.Bernoulli(o, 1.5, 2), g.Bernoulli(o, math.NaN(), 2),
		g.Exponential(o, sinter.I32, 2), g.TruncatedNormal(o, sinter.F16, 0, 1, 2), g.TruncatedNormal(o, sinter.F32, 1, 0, 2),
		g.TruncatedNormal(o, sinter.F32, 8, 9, 2), g.TruncatedNormal(o, sinter.F32, math.NaN(), 9, 2), g.Permutation(o, -1), g.Choice(o, 3, 4, false),
		g.Choice(o, 0, 1, true), g.Multinomial(sinter.Ones(sinter.F32), 1, true), g.Multinomial(sinter.Ones(sinter.I32, 2), 1, true),
		g.Multinomial(sinter.Ones(sinter.F32, 2), 3, false), g.Shuffle(sinter.Ones(sinter.F32, 2), 1), g.Dropout(sinter.Ones(sinter.F32, 2), 2),
		g.Dropout(sinter.Ones(sinter.I32, 2), 0.5), g.Uniform(o, sinter.F32, -1)} {
		if err := bad.Err(); !errors.Is(err, ir.ErrShape) && !errors.Is(err, ir.ErrDType) && !errors.Is(err, ir.ErrArgument) {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

func TestBernoulli(t *testing.T) {
	g := sinter.NewGenerator(8)
	for _, p := range []float64{0, 1e-3, 0.25, 0.5, 0.9, 1} {
		hits := values[int64](t, g.Bernoulli(sinter.Of{}, p, draws).CountNonZero())
		within(t, "bernoulli", float64(hits[0])/draws, p, math.Sqrt(p*(1-p))+1e-12, draws)
		x := g.Dropout(sinter.Ones(sinter.F64, draws), p)
		if p < 1 {
			within(t, "dropout", values[float64](t, x.Mean())[0], 1, math.Sqrt(p/(1-p))+1e-12, draws)
		} else if v := values[float64](t, x.Sum()); v[0] != 0 {
			t.Errorf("dropout of all leaves %v", v)
		}
	}
}

func TestOrders(t *testing.T) {
	g := sinter.NewGenerator(9)
	o := sinter.Of{}
	const rounds = 1200
	place, rows := [4][4]int{}, [4]int{}
	for i := 0; i < rounds; i++ {
		seen := [4]bool{}
		for j, v := range values[int64](t, g.Permutation(o, 4)) {
			place[j][v]++
			seen[v] = true
		}
		if seen != [4]bool{true, true, true, true} {
			t.Fatal("no permutation")
		}
		rows[values[int64](t, g.Choice(o, 4, 2, false))[1]]++
	}
	for j := range place {
		within(t, "choice", float64(rows[j])/rounds, 0.25, math.Sqrt(3)/4, rounds)
		for _, c := range place[j] {
			within(t, "permutation", float64(c)/rounds, 0.25, math.Sqrt(3)/4, rounds)
		}
	}
	x := sinter.Arange(6, sinter.I64).Reshape(3, 2)
	sorted, _ := g.Shuffle(x, 0).Sort(0, false)
	v := values[int64](t, sorted)
	for i, w := range v {
		if w != int64(i) {
			t.Fatalf("shuffled rows: %v", v)
		}
	}
	if v := values[int64](t, g.Choice(o, 5, draws, true).CountNonZero()); math.Abs(float64(v[0])/draws-0.8) > 0.02 {
		t.Errorf("choice with replacement: %v", v)
	}
}

func TestMultinomial(t *testing.T) {
	g := sinter.NewGenerator(10)
	weights := sinter.FromSlice([]float32{1, 0, 3, 4, 0, 0, 2, 2}).Reshape(2, 4)
	p := [2][4]float64{{0.125, 0, 0.375, 0.5}, {0, 0, 0.5, 0.5}}
	counts := [2][4]float64{}
	for i, v := range values[int64](t, g.Multinomial(weights, draws, true)) {
		counts[i/draws][v] += 1.0 / draws
	}
	for r := range p {
		for c, q := range p[r] {
			within(t, "with replacement", counts[r][c], q, math.Sqrt(q*(1-q))+1e-12, draws)
		}
	}
	// Without replacement the first draw has the same probabilities.
	many := weights.At(0, 0).Expand(draws, 4)
	v := values[int64](t, g.Multinomial(many, 3, false))
	first := [4]float64{}
	for i := 0; i < len(v); i += 3 {
		if v[i] == v[i+1] || v[i] == v[i+2] || v[i+1] == v[i+2] || v[i+2] == 1 {
			t.Fatalf("draws %v", v[i:i+3])
		}
		first[v[i]] += 1.0 / draws
	}
	for c, q := range p[0] {
		within(t, "without replacement", first[c], q, math.Sqrt(q*(1-q))+1e-12, draws)
	}
	if y := g.Multinomial(sinter.Ones(sinter.F64, 0, 3), 2, true); y.Err() != nil || y.Size() != 0 {
		t.Errorf("no rows: %v", y.Err())
	}
}
