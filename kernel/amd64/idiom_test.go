package amd64

import (
	"math/rand"
	"testing"

	"github.com/sinter-go/sinter/kernel"
)

// TestIdioms runs what the generator rewrites on values of all kinds, and checks
// that it does.
func TestIdioms(t *testing.T) {
	cases := []struct {
		text   string
		op     kernel.Op
		narrow bool // at every level
	}{
		{"y = select(x < z, x, z)", opLesser, true},
		{"y = select(x < z, z, x)", opGreater, true},
		{"y = select(x > 2, 2, x)", opLesser, true},
		{"y = max(x, 3)", opGreater, true},
		{"y = max(x, -0.0)", opGreater, true},
		{"y = max(0, x)", opAtLeast0, true},
		{"y = min(x, 0)", opLesser, true},
		{"y = min(-1, x)", opLesser, true},
		{"y = fma(-x, z, x)", opFnma, true},
		{"y = fma(x, -z, z) + x", opFnma, true},
		{"y = exp(x)", opScale, false},
		{"y = exp2(x * z)", opScale, false},
		{"y = float(bits(x) | (bits(z) & -0x80000000))", opLogic, false},
		{"y = float((bits(x) & 0x7fffff) ^ bits(z)) * x", opLogic, false},
		{"y = float((bits(x) | bits(z)) & (bits(x) ^ 0x10))", opLogic, false},
	}
	for seed, c := range cases {
		k := composed(t, c.text, c.text, par1, []string{"x", "z"}, []string{"y"})
		for _, level := range levels {
			found := false
			for _, in := range idioms(k, level == AVX512).Body {
				found = found || in.Op == c.op
			}
			if want := c.narrow || level == AVX512; found != want {
				t.Errorf("%s at %s: rewritten: %v, expected %v", c.text, level, found, want)
			}
		}
		codes, in := prepare(t, k, false)
		r := rand.New(rand.NewSource(int64(seed)))
		for _, fill := range []filler{randomBits, plainBits} {
			agree(t, r, k, codes, in, []int64{1 + r.Int63n(20)}, fill)
			agree(t, r, k, codes, in, []int64{5000}, fill)
		}
	}
}

// TestNoIdiom runs what looks like an idiom and is none.
func TestNoIdiom(t *testing.T) {
	scale := "t = fma(c, 0x1.715476p0, 0x1.8001fcp23); n = t - 0x1.8001fcp23; r = fma(n, -0x1.62e43p-1, c); p = fma(r, r, one); " +
		"k = bits(t); a = (k << 22) & -0x800000; b = (k << 23) - a; y = p * float(a) * float(b)"
	for seed, text := range []string{
		"y = select(x <= z, x, z)", "y = min(x, -0.0)", "y = max(x, z)",
		"one = 1; c = x; " + scale,
		"one = 1; c = select(x > 900, 900, x); c = select(c < -90, -90, c); " + scale,
		"one = z; c = select(x > 89, 89, x); c = select(c < -104, -104, c); " + scale,
	} {
		k := composed(t, text, text, par1, []string{"x", "z"}, []string{"y"})
		for _, in := range idioms(k, true).Body {
			if in.Op == opScale || in.Op == opAtLeast0 || seed < 3 && in.Op >= opLesser {
				t.Errorf("%s: rewritten to %d", text, in.Op)
			}
		}
		codes, in := prepare(t, k, false)
		r := rand.New(rand.NewSource(int64(seed)))
		agree(t, r, k, codes, in, []int64{5000}, randomBits)
	}
}
