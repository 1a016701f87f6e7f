package data

import (
	"slices"
	"testing"
)

func digits(t testing.TB) *Set {
	t.Helper()
	s, err := Digits()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDigits(t *testing.T) {
	s := digits(t)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if s.N != 1797 || s.Features != 64 {
		t.Fatalf("%d samples of %d features", s.N, s.Features)
	}
	for i, v := range s.Pixels {
		if v < 0 || v > 1 || v*16 != float32(int(v*16)) {
			t.Fatalf("value %d is %v, want a multiple of 1/16 from 0 to 1", i, v)
		}
	}
	if slices.Max(s.Pixels) != 1 {
		t.Errorf("no pixel is 1")
	}
	counts := make([]int, 10)
	for _, l := range s.Labels {
		counts[l]++
	}
	// As the repository states them.
	if want := []int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}; !slices.Equal(counts, want) {
		t.Errorf("samples per label %v, want %v", counts, want)
	}
	row := []float32{0, 0, 5, 13, 9, 1, 0, 0}
	for i := range row {
		row[i] /= 16
	}
	if !slices.Equal(s.Row(0)[:8], row) || s.Labels[0] != 0 || s.Labels[1] != 1 {
		t.Errorf("the first sample is %v, labels %v", s.Row(0), s.Labels[:2])
	}
	s.Pixels[0] = 7
	if digits(t).Pixels[0] == 7 {
		t.Error("two calls share memory")
	}
}
