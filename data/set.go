package data

import "fmt"

// Set is a set of samples with the same number of features each.
type Set struct {
	// Pixels holds the features of all samples, row by row: N × Features
	// values.
	Pixels []float32

	// Labels holds one label per sample, or is nil.
	Labels []int64

	N        int // the number of samples
	Features int // values per sample
}

// Validate checks that the lengths of the slices are those that N and Features
// ask for. Sets made by this package are valid.
func (s *Set) Validate() error {
	switch {
	case s.N < 0 || s.Features < 1:
		return fmt.Errorf("data: set of %d samples of %d features", s.N, s.Features)
	// Divided rather than multiplied, since the product could overflow.
	case len(s.Pixels)%s.Features != 0 || len(s.Pixels)/s.Features != s.N:
		return fmt.Errorf("data: set holds %d values, want %d samples × %d features", len(s.Pixels), s.N, s.Features)
	case s.Labels != nil && len(s.Labels) != s.N:
		return fmt.Errorf("data: set holds %d labels, want %d", len(s.Labels), s.N)
	}
	return nil
}

// Row returns the features of sample i as a view of Pixels. Like an index
// expression, it panics when i is out of range.
func (s *Set) Row(i int) []float32 {
	return s.Pixels[i*s.Features : (i+1)*s.Features : (i+1)*s.Features]
}

// Take returns a new set of the given samples, in that order; an index may
// occur more than once. The error names the first index that is out of range.
func (s *Set) Take(indices []int) (*Set, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for pos, i := range indices {
		if i < 0 || i >= s.N {
			return nil, fmt.Errorf("data: index %d, at position %d, is out of range: the set has %d samples", i, pos, s.N)
		}
	}
	return s.take(indices), nil
}

// take is Take for what is known to be in range.
func (s *Set) take(indices []int) *Set {
	out := &Set{
		Pixels:   make([]float32, 0, len(indices)*s.Features),
		N:        len(indices),
		Features: s.Features,
	}
	if s.Labels != nil {
		out.Labels = make([]int64, 0, len(indices))
	}
	for _, i := range indices {
		out.Pixels = append(out.Pixels, s.Row(i)...)
		if s.Labels != nil {
			out.Labels = append(out.Labels, s.Labels[i])
		}
	}
	return out
}
