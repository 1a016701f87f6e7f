package main

import (
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sinter-go/sinter/data"
)

func TestVAE(t *testing.T) {
	path := filepath.Join(t.TempDir(), "digits.png")
	r, err := run(t.Context(), io.Discard, 25, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("loss %.3f, then %.3f", r.First, r.Last)
	if r.First < 35 || r.Last > 27 {
		t.Errorf("loss %v in the first epoch, %v in the last", r.First, r.Last)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, err := png.DecodeConfig(f); err != nil || c.Width != 5*rows*side {
		t.Error(c, err)
	}
	// What was made up is near real digits, as noise is not, and is not one digit.
	digits, err := data.Digits()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[int64]bool{}
	mean := 0.0
	for i := range rows * rows {
		best, label := 1e9, int64(0)
		for j := range digits.N {
			d := 0.0
			for k, p := range digits.Row(j) {
				e := float64(p - r.Pixels[i*side*side+k])
				d += e * e
			}
			if d < best {
				best, label = d, digits.Labels[j]
			}
		}
		labels[label] = true
		mean += best / (rows * rows)
	}
	t.Logf("%.2f to the nearest digit on average, %d labels", mean, len(labels))
	if mean > 3.5 || len(labels) < 6 {
		t.Errorf("%.2f to the nearest digit on average, %d labels", mean, len(labels))
	}
}
