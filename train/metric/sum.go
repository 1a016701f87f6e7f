package metric

import (
	"math"
	"math/big"
)

// Sum adds numbers exactly (Shewchuk, 1997): Value is the sum rounded once, the
// same for any order of them. Numbers whose partial sums leave the range of float64
// give an infinity.
type Sum struct {
	parts   []float64 // that do not overlap, of growing magnitude
	special float64   // infinities and NaN, added up
	n       int64
}

// Add adds numbers.
func (s *Sum) Add(values ...float64) {
	for _, x := range values {
		s.n++
		if math.IsInf(x, 0) || math.IsNaN(x) {
			s.special += x
			continue
		}
		kept := s.parts[:0]
		for _, y := range s.parts {
			if math.Abs(x) < math.Abs(y) {
				x, y = y, x
			}
			high := x + y
			if math.IsInf(high, 0) {
				s.special += high
				return
			}
			if low := y - (high - x); low != 0 {
				kept = append(kept, low)
			}
			x = high
		}
		s.parts = append(kept, x)
	}
}

// N returns how many numbers were added.
func (s *Sum) N() int64 { return s.n }

// Value returns the sum.
func (s *Sum) Value() float64 {
	if s.special != 0 || math.IsNaN(s.special) {
		return s.special
	}
	v, _ := s.exact().Float64()
	return v
}

// Mean returns the sum over the number of numbers, rounded once; NaN of none.
func (s *Sum) Mean() float64 {
	if s.n == 0 || s.special != 0 || math.IsNaN(s.special) {
		return s.special / float64(s.n)
	}
	v, _ := wide().Quo(s.exact(), wide().SetInt64(s.n)).Float64()
	return v
}

// exactBits hold any sum of float64, and products of two such sums.
const exactBits = 4500

func wide() *big.Float { return new(big.Float).SetPrec(exactBits) }

func (s *Sum) exact() *big.Float {
	v := wide()
	for _, p := range s.parts {
		v.Add(v, wide().SetFloat64(p))
	}
	return v
}
