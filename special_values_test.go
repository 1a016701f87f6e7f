package sinter_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// specialValues are results that definitions fix exactly: IEEE 754-2019 (9.2.1),
// Annex F of C, numpy, or the limit. The operands of a case come before its result.
var specialValues = map[string][][]float64{}

func init() {
	var inf, nan, zero = math.Inf(1), math.NaN(), math.Copysign(0, -1)
	pi := math.Pi
	specialValues = map[string][][]float64{
		"sign":         {{2, 1}, {-inf, -1}, {0, 0}, {zero, 0}, {nan, nan}},
		"ceil":         {{-0.5, zero}, {0.5, 1}, {2, 2}, {-inf, -inf}, {nan, nan}, {zero, zero}},
		"trunc":        {{-0.5, zero}, {1.75, 1}, {-2.5, -2}, {inf, inf}, {nan, nan}},
		"round":        {{0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, zero}, {-2.5, -2}, {inf, inf}, {nan, nan}, {8388609, 8388609}},
		"square":       {{-3, 9}, {inf, inf}, {zero, 0}, {nan, nan}},
		"reciprocal":   {{0, inf}, {zero, -inf}, {inf, 0}, {-inf, zero}, {4, 0.25}, {nan, nan}},
		"rsqrt":        {{0, inf}, {4, 0.5}, {inf, 0}, {-1, nan}, {nan, nan}},
		"frac":         {{2.5, 0.5}, {-2.5, -0.5}, {3, 0}, {nan, nan}},
		"copysign":     {{3, zero, -3}, {-3, nan, 3}, {3, math.Float64frombits(0xfff8 << 48), 3}, {-0.5, 1, 0.5}, {inf, -1, -inf}, {nan, -1, nan}, {0, -2, zero}},
		"nextafter":    {{1, 1, 1}, {0, zero, zero}, {nan, 1, nan}, {1, nan, nan}, {inf, inf, inf}},
		"fmax":         {{1, nan, 1}, {nan, 1, 1}, {nan, nan, nan}, {zero, 0, 0}, {0, zero, 0}, {inf, 2, inf}},
		"fmin":         {{1, nan, 1}, {nan, 1, 1}, {nan, nan, nan}, {zero, 0, zero}, {0, zero, zero}, {-inf, 2, -inf}},
		"heaviside":    {{-1, 0.5, 0}, {0, 0.5, 0.5}, {zero, 0.25, 0.25}, {3, 0.5, 1}, {nan, 0.5, nan}},
		"clamp":        {{-2, 2, 1, 1}, {nan, 0, 1, nan}, {5, nan, 9, nan}, {5, 0, nan, nan}, {inf, 0, 1, 1}, {0.5, 0, 1, 0.5}},
		"lerp":         {{1, 5, 0, 1}, {1, 5, 1, 5}, {1, 5, 0.5, 3}, {0.1, 0.3, 1, 0.3}, {1, 2, nan, nan}},
		"fma":          {{2, 3, 4, 10}, {inf, 0, 1, nan}, {2, inf, -inf, nan}, {0, 5, zero, 0}, {zero, 5, zero, zero}},
		"mod":          {{-7, 3, 2}, {7, -3, -2}, {-7, -3, -1}, {7, 3, 1}, {5, 0, nan}, {inf, 3, nan}, {1, inf, 1}, {-1, inf, inf}, {1, -inf, -inf}, {6, 3, 0}, {-6, 3, 0}, {6, -3, zero}, {nan, 1, nan}, {1, nan, nan}, {inf, inf, nan}},
		"fmod":         {{-7, 3, -1}, {7, -3, 1}, {-6, 3, zero}, {5, 0, nan}, {inf, 3, nan}, {-1, inf, -1}, {zero, 3, zero}, {nan, 1, nan}, {inf, inf, nan}, {1, inf, 1}},
		"floor_div":    {{1, -inf, -1}, {-1, inf, -1}, {inf, 3, nan}, {1, 0, inf}, {-1, 0, -inf}, {0, 0, nan}, {1, inf, 0}, {7, 2, 3}, {-7, 2, -4}, {0, -3, zero}, {nan, 1, nan}, {6, 0.1, 59}},
		"pow":          {{-2, 2, 4}, {-2, 3, -8}, {-2, 0.5, nan}, {0, -1, inf}, {zero, -1, -inf}, {1, nan, 1}, {nan, 0, 1}, {-1, inf, 1}, {0.5, -inf, inf}, {zero, 2, 0}, {zero, 3, zero}, {-inf, 3, -inf}, {-inf, -3, zero}},
		"hypot":        {{3, 4, 5}, {inf, nan, inf}, {nan, -inf, inf}, {zero, zero, 0}, {nan, 1, nan}, {0, -2, 2}},
		"atan2":        {{0, 1, 0}, {zero, 1, zero}, {0, -1, pi}, {zero, -1, -pi}, {0, 0, 0}, {zero, 0, zero}, {0, zero, pi}, {zero, zero, -pi}, {1, 0, pi / 2}, {-1, zero, -pi / 2}, {inf, inf, pi / 4}, {-inf, inf, -pi / 4}, {inf, -inf, 3 * pi / 4}, {1, inf, 0}, {-1, inf, zero}, {1, -inf, pi}, {inf, 1, pi / 2}, {nan, 1, nan}, {1, nan, nan}},
		"logaddexp":    {{-inf, -inf, -inf}, {inf, inf, inf}, {-inf, inf, inf}, {-inf, 3, 3}, {0, -inf, 0}, {nan, 1, nan}, {1000, 0, 1000}},
		"xlogy":        {{0, 0, 0}, {0, -1, 0}, {0, nan, nan}, {0, inf, 0}, {1, 0, -inf}, {2, 1, 0}, {nan, 1, nan}},
		"exp10":        {{0, 1}, {2, 100}, {10, 1e10}, {inf, inf}, {-inf, 0}, {nan, nan}, {-1000, 0}, {1000, inf}},
		"log10":        {{1, 0}, {10, 1}, {1000, 3}, {1e10, 10}, {0, -inf}, {zero, -inf}, {-1, nan}, {inf, inf}, {nan, nan}},
		"tan":          {{0, 0}, {zero, zero}, {inf, nan}, {nan, nan}},
		"asin":         {{0, 0}, {zero, zero}, {1, pi / 2}, {-1, -pi / 2}, {1.5, nan}, {inf, nan}, {nan, nan}},
		"acos":         {{1, 0}, {-1, pi}, {0, pi / 2}, {-1.5, nan}, {nan, nan}},
		"sinh":         {{0, 0}, {zero, zero}, {inf, inf}, {-inf, -inf}, {nan, nan}, {1000, inf}},
		"cosh":         {{0, 1}, {inf, inf}, {-inf, inf}, {nan, nan}, {-1000, inf}},
		"asinh":        {{0, 0}, {zero, zero}, {inf, inf}, {-inf, -inf}, {nan, nan}},
		"acosh":        {{1, 0}, {0.5, nan}, {-3, nan}, {inf, inf}, {nan, nan}},
		"atanh":        {{0, 0}, {zero, zero}, {1, inf}, {-1, -inf}, {2, nan}, {nan, nan}},
		"erfc":         {{0, 1}, {inf, 0}, {-inf, 2}, {nan, nan}},
		"erfinv":       {{0, 0}, {zero, zero}, {1, inf}, {-1, -inf}, {1.5, nan}, {nan, nan}},
		"cbrt":         {{27, 3}, {-8, -2}, {0, 0}, {zero, zero}, {inf, inf}, {-inf, -inf}, {nan, nan}},
		"normal_cdf":   {{0, 0.5}, {inf, 1}, {-inf, 0}, {nan, nan}},
		"sinc":         {{0, 1}, {zero, 1}, {1, 0}, {-3, 0}, {nan, nan}, {inf, nan}},
		"logit":        {{0.5, 0}, {0, -inf}, {1, inf}, {2, nan}, {-1, nan}, {nan, nan}},
		"deg2rad":      {{180, pi}, {0, 0}, {-inf, -inf}},
		"rad2deg":      {{0, 0}, {inf, inf}, {nan, nan}},
		"gelu":         {{0, 0}, {inf, inf}, {-inf, 0}, {nan, nan}, {100, 100}},
		"gelu_tanh":    {{0, 0}, {inf, inf}, {-inf, 0}, {nan, nan}, {100, 100}},
		"silu":         {{0, 0}, {inf, inf}, {-inf, 0}, {nan, nan}, {1000, 1000}},
		"mish":         {{0, 0}, {inf, inf}, {-inf, 0}, {nan, nan}, {100, 100}},
		"softplus":     {{100, 100}, {inf, inf}, {-inf, 0}, {nan, nan}, {-1000, 0}},
		"log_sigmoid":  {{-1000, -1000}, {inf, zero}, {-inf, -inf}, {nan, nan}},
		"softsign":     {{0, 0}, {1, 0.5}, {-3, -0.75}, {inf, 1}, {-inf, -1}, {nan, nan}},
		"elu":          {{2, 2}, {0, 0}, {-inf, -1}, {inf, inf}, {nan, nan}},
		"selu":         {{0, 0}, {inf, inf}, {nan, nan}},
		"celu":         {{2, 2}, {-inf, -1}, {inf, inf}, {nan, nan}},
		"leaky_relu":   {{2, 2}, {0, 0}, {inf, inf}, {-inf, -inf}, {nan, nan}},
		"prelu":        {{2, 5, 2}, {-2, 0.25, -0.5}, {nan, 1, nan}, {1, nan, 1}},
		"relu6":        {{-1, 0}, {3, 3}, {inf, 6}, {nan, nan}},
		"hard_sigmoid": {{-3, 0}, {3, 1}, {0, 0.5}, {inf, 1}, {-inf, 0}, {nan, nan}},
		"hard_swish":   {{-3, 0}, {3, 3}, {inf, inf}, {-inf, 0}, {nan, nan}},
		"hard_tanh":    {{-2, -1}, {0.5, 0.5}, {inf, 1}, {nan, nan}},
		"threshold":    {{1, 1}, {0, 0}, {-inf, 0}, {nan, nan}},
		"hard_shrink":  {{0.5, 0}, {0.75, 0.75}, {-inf, -inf}, {nan, nan}},
		"soft_shrink":  {{0.5, 0}, {-0.25, 0}, {0.75, 0.25}, {-1, -0.5}, {inf, inf}, {nan, nan}},
		"tanh_shrink":  {{0, 0}, {inf, inf}, {-inf, -inf}, {nan, nan}},
		"is_nan":       {{inf, 0}, {0.5, 0}, {4, 0}, {-38.75, 0}, {nan, 1}},
		"is_inf":       {{inf, 1}, {-inf, 1}, {nan, 0}, {1e30, 0}},
		"is_finite":    {{inf, 0}, {-inf, 0}, {nan, 0}, {1e30, 1}, {zero, 1}},
		"signbit":      {{zero, 1}, {0, 0}, {-inf, 1}, {1, 0}, {nan, 0}, {math.Float64frombits(0xfff8 << 48), 0}},
		"is_close":     {{1, 1, 1}, {inf, inf, 1}, {inf, -inf, 0}, {nan, nan, 0}, {1, 1.1, 0}, {inf, 1, 0}},
	}
}

// TestSpecialValues checks the table in f32 and f64.
func TestSpecialValues(t *testing.T) {
	for name, cases := range specialValues {
		for _, d := range []sinter.DType{sinter.F32, sinter.F64} {
			n := len(cases[0]) - 1
			in := make([]*sinter.Tensor, n)
			for i := range in {
				v := make([]float64, len(cases))
				for j, c := range cases {
					v[j] = c[i]
				}
				in[i] = sinter.FromSlice(v).Cast(d)
			}
			got, err := sinter.Data[float64](context.Background(), sinter.Apply(name, in)[0].Cast(sinter.F64))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for j, c := range cases {
				want := c[n]
				if d == sinter.F32 {
					want = float64(float32(want))
				}
				if got[j] != want && !(got[j] != got[j] && want != want) || math.Signbit(got[j]) != math.Signbit(want) && want == want {
					t.Errorf("%s(%v) in %s: got %v, want %v", name, c[:n], d, got[j], want)
				}
			}
		}
	}
}

// TestReductionValues: what reductions and scans give of nothing, zeros, infinities
// and NaN.
func TestReductionValues(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	over := func(f func(*sinter.Tensor, ...sinter.Axes) *sinter.Tensor) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return f(x) }
	}
	along := func(f func(*sinter.Tensor, int) *sinter.Tensor) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return f(x, 0) }
	}
	norm := func(p float64) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return x.Norm(p) }
	}
	std := func(c int) func(x *sinter.Tensor) *sinter.Tensor {
		return func(x *sinter.Tensor) *sinter.Tensor { return x.Std(c) }
	}
	nothing := []float64{}
	for _, c := range []struct {
		name    string
		f       func(x *sinter.Tensor) *sinter.Tensor
		x, want []float64
	}{
		{"prod", over((*sinter.Tensor).Prod), nothing, []float64{1}},
		{"prod", over((*sinter.Tensor).Prod), []float64{2, -3, 4}, []float64{-24}},
		{"prod", over((*sinter.Tensor).Prod), []float64{inf, 0}, []float64{nan}},
		{"any", over((*sinter.Tensor).Any), nothing, []float64{0}},
		{"any", over((*sinter.Tensor).Any), []float64{0, zero}, []float64{0}},
		{"any", over((*sinter.Tensor).Any), []float64{0, nan}, []float64{1}},
		{"all", over((*sinter.Tensor).All), nothing, []float64{1}},
		{"all", over((*sinter.Tensor).All), []float64{1, nan, 5e-324}, []float64{1}},
		{"all", over((*sinter.Tensor).All), []float64{1, zero}, []float64{0}},
		{"count", over((*sinter.Tensor).CountNonZero), []float64{1, 0, nan, inf}, []float64{3}},
		{"std of one", std(1), []float64{5}, []float64{nan}},
		{"std of one", std(0), []float64{5}, []float64{0}},
		{"std", std(0), []float64{1, 3}, []float64{1}},
		{"norm 1", norm(1), []float64{3, -4, 0}, []float64{7}},
		{"norm 2", norm(2), []float64{3, -4, 0}, []float64{5}},
		{"norm inf", norm(inf), []float64{3, -4, 0}, []float64{4}},
		{"norm inf of NaN", norm(inf), []float64{3, nan, inf}, []float64{nan}},
		{"norm inf of nothing", norm(inf), nothing, []float64{0}},
		{"norm 2 of nothing", norm(2), nothing, []float64{0}},
		{"norm 4", norm(4), []float64{1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []float64{2}},
		{"logsumexp of nothing", over((*sinter.Tensor).LogSumExp), nothing, []float64{-inf}},
		{"logsumexp", over((*sinter.Tensor).LogSumExp), []float64{-inf, -inf}, []float64{-inf}},
		{"logsumexp", over((*sinter.Tensor).LogSumExp), []float64{inf, 2, 3}, []float64{inf}},
		{"logsumexp", over((*sinter.Tensor).LogSumExp), []float64{inf, -inf}, []float64{inf}},
		{"logsumexp", over((*sinter.Tensor).LogSumExp), []float64{nan, inf}, []float64{nan}},
		{"logsumexp", over((*sinter.Tensor).LogSumExp), []float64{1e5, -inf}, []float64{1e5}},
		{"nansum", over((*sinter.Tensor).NaNSum), []float64{1, nan, 2}, []float64{3}},
		{"nansum", over((*sinter.Tensor).NaNSum), []float64{nan}, []float64{0}},
		{"nanmean", over((*sinter.Tensor).NaNMean), []float64{1, nan, 2}, []float64{1.5}},
		{"nanmean", over((*sinter.Tensor).NaNMean), []float64{nan}, []float64{nan}},
		{"nanmax", over((*sinter.Tensor).NaNMax), []float64{1, nan, 2}, []float64{2}},
		{"nanmax", over((*sinter.Tensor).NaNMax), []float64{nan, -inf}, []float64{-inf}},
		{"nanmax", over((*sinter.Tensor).NaNMax), []float64{nan, nan}, []float64{nan}},
		{"nanmin", over((*sinter.Tensor).NaNMin), []float64{1, nan, 2}, []float64{1}},
		{"nanprod", over((*sinter.Tensor).NaNProd), []float64{nan, 2, 3}, []float64{6}},
		{"nanprod", over((*sinter.Tensor).NaNProd), []float64{nan}, []float64{1}},
		{"nanvar", func(x *sinter.Tensor) *sinter.Tensor { return x.NaNVariance(0) }, []float64{nan, 1, 3}, []float64{1}},
		{"nanstd", func(x *sinter.Tensor) *sinter.Tensor { return x.NaNStd(1) }, []float64{nan, 1}, []float64{nan}},
		{"cumprod", along((*sinter.Tensor).CumProd), []float64{2, 3, 0, inf, 1}, []float64{2, 6, 0, nan, nan}},
		{"cummax", along((*sinter.Tensor).CumMax), []float64{1, 3, nan, 5, 4}, []float64{1, 3, nan, nan, nan}},
		{"cummin", along((*sinter.Tensor).CumMin), []float64{1, 3, -2, nan, -4}, []float64{1, 1, -2, nan, nan}},
		{"cummin", along((*sinter.Tensor).CumMin), []float64{0, zero, 0}, []float64{0, zero, zero}},
		{"logcumsumexp", along((*sinter.Tensor).LogCumSumExp), []float64{-inf, -inf, 0, -inf}, []float64{-inf, -inf, 0, 0}},
		{"logcumsumexp", along((*sinter.Tensor).LogCumSumExp), []float64{-1000, 1000, inf, 0}, []float64{-1000, 1000, inf, inf}},
		{"nan to num", func(x *sinter.Tensor) *sinter.Tensor { return x.NaNToNum() }, []float64{nan, 2, inf, -inf}, []float64{0, 2, math.MaxFloat64, -math.MaxFloat64}},
		{"nan to num", func(x *sinter.Tensor) *sinter.Tensor { return x.NaNToNum(1, 2, 3) }, []float64{nan, 5, inf, -inf}, []float64{1, 5, 2, 3}},
		{"clamp", func(x *sinter.Tensor) *sinter.Tensor { return x.Clamp(2, 1) }, []float64{-2, 0, 6}, []float64{1, 1, 1}},
	} {
		got, err := sinter.Data[float64](context.Background(), c.f(sinter.FromSlice(c.x, len(c.x))).Cast(sinter.F64).Flatten())
		if err != nil {
			t.Errorf("%s(%v): %v", c.name, c.x, err)
		} else if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s(%v): got %v, want %v", c.name, c.x, got, c.want)
		}
	}
	for _, f := range []func(*sinter.Tensor, ...sinter.Axes) *sinter.Tensor{(*sinter.Tensor).NaNMax, (*sinter.Tensor).NaNMin} {
		if f(sinter.FromSlice(nothing, 0)).Err() == nil {
			t.Error("there is an extreme of nothing")
		}
	}
	if sinter.FromSlice([]float64{1}).Norm(-1).Err() == nil || sinter.FromSlice([]float64{1}).NaNToNum(1, 2, 3, 4).Err() == nil {
		t.Error("malformed arguments are accepted")
	}
}

// TestRemainderIsExact: over ratios of any size, against integers of any length.
func TestRemainderIsExact(t *testing.T) {
	var x, z []float64
	state := uint64(1)
	for range 2000 {
		var v [2]float64
		for i := range v {
			state = state*6364136223846793005 + 1442695040888963407
			v[i] = math.Float64frombits(state ^ state>>29)
		}
		if math.Abs(v[0]) <= math.MaxFloat64 && math.Abs(v[1]) <= math.MaxFloat64 && v[1] != 0 {
			x, z = append(x, v[0]), append(z, v[1])
		}
	}
	r, err := sinter.Data[float64](context.Background(), sinter.FromSlice(x).FMod(sinter.FromSlice(z)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r {
		if want := math.Mod(x[i], z[i]); r[i] != want || math.Signbit(r[i]) != math.Signbit(want) {
			t.Fatalf("fmod(%v, %v): got %v, want %v", x[i], z[i], r[i], want)
		}
	}
	v := sinter.FromSlice(x).Mul(1e-30).Cast(sinter.F32)
	if !truth(t, v.Mod(v).Eq(0).Or(v.Eq(0)).Or(v.IsFinite().Not()).All()) {
		t.Error("v mod v is not 0")
	}
}

func truth(t *testing.T, x *sinter.Tensor) bool {
	t.Helper()
	v, err := sinter.Data[bool](context.Background(), x)
	if err != nil || len(v) != 1 {
		t.Fatalf("%v, %v", v, err)
	}
	return v[0]
}

// TestBits: shifts by any count, and xor.
func TestBits(t *testing.T) {
	for _, c := range []struct {
		row        string
		x, z, want int64
	}{{"shr", -2, 1, -1}, {"shr", -1, 70, -1}, {"shl", 1, 64, 0}, {"shl", 1, -1, 0}, {"shr", 5, -1, 0}, {"shr", -5, -1, -1}, {"shl", 3, 4, 48}, {"xor", 6, 3, 5}} {
		y, err := sinter.Data[int64](context.Background(), sinter.Apply(c.row, []*sinter.Tensor{sinter.FromSlice([]int64{c.x}), sinter.FromSlice([]int64{c.z})})[0])
		if err != nil || y[0] != c.want {
			t.Errorf("%s(%d, %d): got %v, %v, want %d", c.row, c.x, c.z, y, err, c.want)
		}
	}
	if y := sinter.Zeros(ir.F16).NextAfter(1); y.Err() == nil {
		t.Error("f16 has no neighbours here, but it was accepted")
	}
}
