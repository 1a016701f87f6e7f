package optim

import (
	"math"
	"testing"
)

func TestCosPi(t *testing.T) {
	for i := range 10001 {
		x := float64(i) / 10000
		if got, want := cosPi(x), math.Cos(math.Pi*x); math.Abs(got-want) > 1e-14 {
			t.Fatalf("cos(π·%v) = %v, want %v", x, got, want)
		}
	}
	// The bits that every machine must give.
	for x, want := range map[float64]uint64{0: 0x3ff0000000000000, 1: 0xbff0000000000000} {
		if got := math.Float64bits(cosPi(x)); got != want {
			t.Errorf("cos(π·%v) has bits %#x, want %#x", x, got, want)
		}
	}
}

func TestPower(t *testing.T) {
	for _, x := range []float64{0.9, 0.999, 0, 1} {
		for _, n := range []int64{0, 1, 2, 3, 10, 1000, 1 << 40} {
			got, want := power(x, n), math.Pow(x, float64(n))
			if math.Abs(got-want) > 1e-12*want {
				t.Errorf("%v^%d = %v, want %v", x, n, got, want)
			}
		}
	}
}

func TestSchedules(t *testing.T) {
	c := Cosine(0.1, 0.02, 10)
	for step, want := range map[int64]float64{-1: 0.1, 0: 0.1, 5: 0.06, 10: 0.02, 11: 0.02, 1 << 40: 0.02} {
		if got := c(step); math.Abs(got-want) > 1e-15 {
			t.Errorf("cosine of step %d: %v, want %v", step, got, want)
		}
	}
	if got := Cosine(0.1, 0.02, 0)(0); got != 0.02 {
		t.Errorf("cosine over no steps: %v", got)
	}
	w := Warmup(4, Constant(1))
	for step, want := range map[int64]float64{0: 0.25, 3: 1, 4: 1, 100: 1} {
		if got := w(step); got != want {
			t.Errorf("warmup of step %d: %v, want %v", step, got, want)
		}
	}
}
