package exact_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/internal/exact"
	"github.com/sinter-go/sinter/ir"
)

// special are the functions made of others, with the arguments for which both the
// oracle and float64 can tell a result.
var special = []struct {
	name   string
	within func(x float64) bool
}{
	{"rsqrt", positive}, {"exp10", between(-307, 308)}, {"log10", positive}, {"tan", nil}, {"asin", between(-1, 1)}, {"acos", func(x float64) bool { return -1 < x && x < 1 }},
	{"sinh", between(-710, 710)}, {"cosh", between(-710, 710)}, {"asinh", nil}, {"acosh", func(x float64) bool { return x >= 1 }},
	{"atanh", func(x float64) bool { return math.Abs(x) < 1 }}, {"erfc", between(-30, 26.5)},
	{"erfinv", func(x float64) bool { return math.Abs(x) < 1 }}, {"cbrt", nil}, {"normal_cdf", between(-37, 30)}, {"sinc", func(x float64) bool { return x != math.Round(x) && math.Abs(x) < 1e5 }},
	{"logit", func(x float64) bool { return x > 0 && x < 1 }}, {"gelu", between(-36, 1e300)}, {"gelu_tanh", between(-4, 20)}, {"silu", between(-700, 5000)},
	{"mish", between(-300, 300)}, {"log_sigmoid", between(-700, 700)}, {"tanh_shrink", func(x float64) bool { return math.Abs(x) > 1e-15 && math.Abs(x) < 70 }},
}

func positive(x float64) bool { return x > 0 }

func between(a, b float64) func(x float64) bool {
	return func(x float64) bool { return a <= x && x <= b }
}

// arguments spreads arguments over all exponents and over the ranges that matter.
func arguments(rng *rand.Rand, n int) []float64 {
	x := []float64{math.SmallestNonzeroFloat64, 0x1p-1022, math.MaxFloat64, 1, -1, 0.5, -0.5, 2, 10, 100, 1000, 0x1p28, 0x1p28 + 1, 1 - 0x1p-53, 0x1p-53 - 1, 1 + 0x1p-52}
	for range n {
		if f := math.Float64frombits(rng.Uint64()); math.Abs(f) <= math.MaxFloat64 {
			x = append(x, f)
		}
		u := rng.Float64()
		x = append(x, rng.NormFloat64(), rng.NormFloat64()*5, rng.NormFloat64()*200, u, -u, 1-u*math.Exp(-20*rng.Float64()), 1+rng.NormFloat64()/16, 0.5+rng.NormFloat64()/64)
	}
	return x
}

// TestSpecialF64 compares with the oracle; with -exhaustive on many more arguments.
func TestSpecialF64(t *testing.T) {
	n := 60
	if *exhaustive {
		n = 20000
	}
	for _, f := range special {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(5, 6))
			p := compile(t, f.name, ir.F64)
			x := arguments(rng, n)
			var w worst
			for i, y := range all(t, p, x) {
				if f.within == nil || f.within(x[i]) {
					w.note(error64(y, exact.Of(f.name, x[i])), x[i])
				}
			}
			t.Logf("%-11s %.4f ulp at %s", f.name, w.ulp, w.at)
			if !(w.ulp <= p.row.Tol.F64) {
				t.Errorf("error %v ulp at %s exceeds the tolerance %v", w.ulp, w.at, p.row.Tol.F64)
			}
		})
	}
}

// TestSpecialF32 compares with the definition in float64, with -exhaustive on all
// arguments.
func TestSpecialF32(t *testing.T) {
	for _, f := range special {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, f.name, ir.F32)
			generated := p
			if len(p.exes) > 1 {
				generated.exes, generated.name = p.exes[1:], p.name[1:]
			}
			step := uint64(200003)
			if *exhaustive {
				step = 1
			}
			var w worst
			x := make([]float32, 1<<12)
			for at, k := uint64(0), 0; at < 1<<32; at, k = at+uint64(len(x))*step, k+1 {
				for i := range x {
					x[i] = math.Float32frombits(uint32(min(at+uint64(i)*step, 1<<32-1)))
				}
				q := generated
				if k%64 == 0 {
					q = p
				}
				for i, y := range all(t, q, x) {
					v := float64(x[i])
					if f.within != nil && (!f.within(v) || math.Abs(v) > 85 && f.name != "acosh") {
						continue
					}
					if want := p.row.Ref(v); math.Abs(want) >= 0x1p-126 || want == 0 {
						w.note(error32(y, want), v)
					}
				}
			}
			t.Logf("%-11s %.4f ulp at %s", f.name, w.ulp, w.at)
			if !(w.ulp <= p.row.Tol.F32) {
				t.Errorf("error %v ulp at %s exceeds the tolerance %v", w.ulp, w.at, p.row.Tol.F32)
			}
		})
	}
}

// TestBinary: functions of two arguments.
func TestBinary(t *testing.T) {
	n := 120
	if *exhaustive {
		n = 20000
	}
	for _, name := range []string{"hypot", "atan2", "logaddexp"} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			p32, p64 := compile(t, name, ir.F32), compile(t, name, ir.F64)
			x, z := arguments(rng, n), arguments(rng, n)
			m := min(len(x), len(z))
			x, z = x[:m], z[:m]
			rng.Shuffle(m, func(i, j int) { z[i], z[j] = z[j], z[i] })
			var x32, z32 []float32
			for i := range x {
				x32, z32 = append(x32, float32(x[i])), append(z32, float32(z[i]))
			}
			var w32, w64 worst
			tell := func(w *worst, ulp func(want float64) float64, a, b float64) {
				if name == "logaddexp" && (math.Abs(a) > 700 || math.Abs(b) > 700) || a == 0 || b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
					return
				}
				want := exact.Of(name, a, b)
				f, _ := want.Float64()
				if math.Abs(f) < 0x1p-1000 {
					return
				}
				w.note(ulp(f), a, b)
			}
			for i, y := range all(t, p32, x32, z32) {
				a, b := float64(x32[i]), float64(z32[i])
				tell(&w32, func(want float64) float64 {
					if name == "logaddexp" {
						return math.Abs(float64(y)-want) / (0x1p-23 * max(1, math.Abs(want)))
					}
					return error32(y, want)
				}, a, b)
			}
			for i, y := range all(t, p64, x, z) {
				tell(&w64, func(want float64) float64 {
					if name == "logaddexp" {
						return math.Abs(y-want) / (0x1p-52 * max(1, math.Abs(want)))
					}
					return error64(y, exact.Of(name, x[i], z[i]))
				}, x[i], z[i])
			}
			t.Logf("%-11s %.4f ulp at %s, f64 %.4f ulp at %s", name, w32.ulp, w32.at, w64.ulp, w64.at)
			if !(w32.ulp <= p32.row.Tol.F32) || !(w64.ulp <= p64.row.Tol.F64) {
				t.Errorf("errors %v and %v ulp exceed the tolerances %v", w32, w64, p32.row.Tol)
			}
		})
	}
}
