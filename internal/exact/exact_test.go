package exact

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestOf: the oracle agrees with package math, which is off by a few units at most.
func TestOf(t *testing.T) {
	for _, name := range []string{"exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "atan"} {
		row := ir.Lookup(name)
		for _, x := range []float64{0x1p-1000, 1e-9, 0.003, 0.2, 0.5, 0.7, 0.999, 1.0001, 1.57, 3, 6.5, 20, 300} {
			for _, x := range []float64{x, -x} {
				if want := row.Ref(x); !math.IsNaN(want) {
					if got := float(Of(name, x)); math.Abs(got-want) > 1e-15*math.Abs(want) {
						t.Errorf("%s(%v): got %v, want about %v", name, x, got, want)
					}
				}
			}
		}
	}
	for _, x := range [][2]float64{{2, 0.5}, {-3, 3}, {-3, -2}, {1e-300, -1}, {1.0001, 10}} {
		want := math.Pow(x[0], x[1])
		if got := float(Of("pow", x[0], x[1])); math.Abs(got-want) > 1e-15*math.Abs(want) {
			t.Errorf("pow(%v, %v): got %v, want about %v", x[0], x[1], got, want)
		}
	}
	// The greatest float64, and the one nearest to a multiple of π/2.
	if got, want := float(Of("sin", math.MaxFloat64)), 0.004961954789184062; got != want {
		t.Errorf("sin(MaxFloat64): got %v, want %v", got, want)
	}
	if got, want := float(Of("cos", 0x1.6ac5b262ca1ffp+849)), -4.687165924254628e-19; got != want {
		t.Errorf("cos(0x1.6ac5b262ca1ffp+849): got %v, want %v", got, want)
	}
}
