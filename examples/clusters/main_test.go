package main

import (
	"io"
	"math"
	"testing"
)

func TestClusters(t *testing.T) {
	r, err := run(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	// The shares that scikit-learn's PCA gives for these digits.
	for i, want := range []float64{0.1489, 0.1362, 0.1179, 0.0841, 0.0578, 0.0492} {
		if math.Abs(r.Explained[i]-want) > 5e-4 {
			t.Errorf("direction %d explains %.4f, want %.4f", i, r.Explained[i], want)
		}
	}
	if r.Purity < 0.7 {
		t.Errorf("purity %v", r.Purity)
	}
}
