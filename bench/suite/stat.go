package suite

import (
	"math"
	"slices"
)

// Stat is a figure over the rounds: its median, the 95 % interval of the median,
// and its least value. The interval is that of the sign test, which assumes nothing
// of how figures are distributed; below six rounds there is none, and it is zero.
type Stat struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Least  float64 `json:"least"`
}

func statOf(values []float64) Stat {
	v := slices.Clone(values)
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return Stat{}
	}
	s := Stat{Median: (v[(n-1)/2] + v[n/2]) / 2, Least: v[0]}
	if k := cut(n); k >= 0 {
		s.Low, s.High = v[k], v[n-1-k]
	}
	return s
}

// cut is how many values at each end lie outside the interval; -1 if even all of
// them do not make 95 %.
func cut(n int) int {
	k, tail, term := -1, 0.0, math.Pow(0.5, float64(n)) // P(exactly i of n below the median)
	for i := 0; i < n; i++ {
		if tail += term; tail > 0.025 {
			break
		}
		k = i
		term *= float64(n-i) / float64(i+1)
	}
	return k
}

// HasInterval reports whether there were rounds enough for an interval.
func (s Stat) HasInterval() bool { return s.High != 0 }

// Verdict compares a ratio of times with 1: "ahead" or "behind" if the whole
// interval is on that side, else "level".
func (s Stat) Verdict() string {
	switch {
	case !s.HasInterval():
		return ""
	case s.High < 1:
		return "ahead"
	case s.Low > 1:
		return "behind"
	}
	return "level"
}
