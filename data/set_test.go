package data

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// numbered is a set whose single feature is the index of the sample.
func numbered(labels ...int64) *Set {
	s := &Set{Labels: labels, N: len(labels), Features: 1}
	for i := range labels {
		s.Pixels = append(s.Pixels, float32(i))
	}
	return s
}

var broken = map[string]*Set{
	"zero":              {},
	"negative":          {N: -1, Features: 1},
	"no features":       {N: 1, Pixels: []float32{1}},
	"negative features": {N: 1, Features: -1, Pixels: []float32{1}},
	"too few values":    {N: 2, Features: 2, Pixels: []float32{1, 2, 3}},
	"too many values":   {N: 1, Features: 2, Pixels: []float32{1, 2, 3, 4}},
	"product overflows": {N: math.MaxInt/2 + 1, Features: 4},
	"too few labels":    {N: 2, Features: 1, Pixels: []float32{1, 2}, Labels: []int64{1}},
	"no labels for one": {N: 1, Features: 1, Pixels: []float32{1}, Labels: []int64{}},
}

func TestBrokenSets(t *testing.T) {
	for name, s := range broken {
		if s.Validate() == nil {
			t.Errorf("%s: valid", name)
		}
		if _, err := s.Take([]int{0}); err == nil {
			t.Errorf("%s: Take gave no error", name)
		}
		if _, _, err := s.Split(1, 0.5); err == nil {
			t.Errorf("%s: Split gave no error", name)
		}
		if s.N < 10 {
			for range s.Batches(1, 1, 1) { // must not panic
			}
		}
	}
}

func TestTake(t *testing.T) {
	s := &Set{Pixels: []float32{0, 1, 10, 11, 20, 21}, Labels: []int64{5, 6, 7}, N: 3, Features: 2}
	got, err := s.Take([]int{2, 0, 2})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Pixels, []float32{20, 21, 0, 1, 20, 21}) || !slices.Equal(got.Labels, []int64{7, 5, 7}) ||
		got.N != 3 || got.Features != 2 {
		t.Errorf("got %+v", got)
	}
	for _, bad := range []int{-1, 3, math.MaxInt, math.MinInt} {
		if _, err := s.Take([]int{0, bad}); err == nil || !strings.Contains(err.Error(), "position 1") {
			t.Errorf("index %d: error %v", bad, err)
		}
	}
	s.Labels = nil
	if got, err := s.Take(nil); err != nil || got.N != 0 || got.Labels != nil || got.Validate() != nil {
		t.Errorf("empty selection without labels: %+v, %v", got, err)
	}
	if row := s.Row(1); cap(row) != 2 {
		t.Error("a row reaches into the next one")
	}
}

// ids returns the sample indices of a set made from numbered.
func ids(s *Set) []int {
	out := make([]int, len(s.Pixels))
	for i, v := range s.Pixels {
		out[i] = int(v)
	}
	return out
}

func TestSplit(t *testing.T) {
	labels := make([]int64, 0, 1000)
	for i := range 1000 {
		labels = append(labels, []int64{0, 0, 0, 0, 0, 0, 1, 1, 1, -7}[i%10])
	}
	s := numbered(labels...)
	for _, fraction := range []float64{0, 0.001, 0.1, 0.2, 1.0 / 3, 0.5, 0.999, 1} {
		train, test, err := s.Split(42, fraction)
		if err != nil {
			t.Fatal(err)
		}
		if train.Validate() != nil || test.Validate() != nil {
			t.Fatalf("%v: the parts are broken", fraction)
		}
		if want := int(math.Round(1000 * fraction)); test.N != want || train.N != 1000-want {
			t.Errorf("%v: %d for training and %d for test", fraction, train.N, test.N)
		}
		all := append(ids(train), ids(test)...)
		slices.Sort(all)
		for i, id := range all {
			if i != id {
				t.Fatalf("%v: sample %d is missing or there twice", fraction, i)
			}
		}
		for label, n := range map[int64]float64{0: 600, 1: 300, -7: 100} {
			got := 0
			for i, l := range test.Labels {
				if l != labels[ids(test)[i]] {
					t.Fatalf("%v: a label went astray", fraction)
				}
				if l == label {
					got++
				}
			}
			if math.Abs(float64(got)-n*fraction) >= 1 {
				t.Errorf("%v: %d of label %d in the test part, want about %v", fraction, got, label, n*fraction)
			}
		}
		if fraction > 0.1 && slices.IsSorted(ids(test)) || fraction < 0.9 && slices.IsSorted(ids(train)) {
			t.Errorf("%v: not shuffled", fraction)
		}
	}
	for _, fraction := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, _, err := s.Split(42, fraction); err == nil || !strings.Contains(err.Error(), "want 0 to 1") {
			t.Errorf("%v: error %v", fraction, err)
		}
	}
}

func TestSplitWithoutLabels(t *testing.T) {
	s := numbered(make([]int64, 10)...)
	s.Labels = nil
	train, test, err := s.Split(1, 0.25)
	if err != nil || test.N != 3 || train.N != 7 || test.Labels != nil {
		t.Errorf("%+v, %+v, %v", train, test, err)
	}
}

// The values are the same on every machine and stay the same: experiments refer
// to them.
func TestFrozenOrder(t *testing.T) {
	s := numbered(0, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	train, test, _ := s.Split(42, 0.4)
	if got, want := append(ids(train), ids(test)...), []int{8, 3, 2, 0, 5, 1, 7, 4, 9, 6}; !slices.Equal(got, want) {
		t.Errorf("split %v, want %v", got, want)
	}
	var got []int
	for b := range s.Batches(4, 42, 3) {
		got = append(got, b...)
	}
	if want := []int{1, 0, 9, 3, 6, 5, 4, 2, 8, 7}; !slices.Equal(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
}

func TestSeedsDiffer(t *testing.T) {
	s := digits(t)
	first := func(seed uint64, epoch int) []int {
		for b := range s.Batches(s.N, seed, epoch) {
			return b
		}
		return nil
	}
	_, test1, _ := s.Split(1, 0.2)
	_, test2, _ := s.Split(2, 0.2)
	if slices.Equal(test1.Pixels, test2.Pixels) || slices.Equal(first(1, 0), first(2, 0)) ||
		slices.Equal(first(1, 0), first(1, 1)) || !slices.Equal(first(1, 1), first(1, 1)) {
		t.Error("seeds or epochs do not make the difference they should")
	}
}

func TestBatches(t *testing.T) {
	s := numbered(make([]int64, 10)...)
	for size, want := range map[int][]int{
		1:           {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
		3:           {3, 3, 3, 1},
		5:           {5, 5},
		10:          {10},
		11:          {10},
		math.MaxInt: {10},
		0:           {10},
		-1:          {10},
	} {
		var sizes, all []int
		var kept [][]int
		for b := range s.Batches(size, 1, 0) {
			sizes = append(sizes, len(b))
			kept = append(kept, b)
			if cap(b) != len(b) {
				t.Errorf("size %d: a batch reaches into the next one", size)
			}
		}
		for _, b := range kept {
			all = append(all, b...)
		}
		slices.Sort(all)
		if !slices.Equal(sizes, want) || !slices.Equal(all, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("size %d: batches of %v with the samples %v", size, sizes, all)
		}
	}
	for range s.Batches(3, 1, -5) {
		break // stopping early must not panic
	}
	for range numbered().Batches(3, 1, 0) {
		t.Error("a batch of nothing")
	}
}
