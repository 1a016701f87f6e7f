package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// TopK counts how often the label is among the K highest scores of a sample.
type TopK struct {
	K        int
	Right, N int64
}

// Add takes scores of shape [samples, classes] and a label for each sample. Of
// equal scores the lower class comes first; NaN comes last.
func (t *TopK) Add(scores []float32, classes int, labels []int64) error {
	if classes < 1 || len(scores) != classes*len(labels) {
		return fmt.Errorf("metric: %d scores of %d classes for %d labels", len(scores), classes, len(labels))
	}
	right := int64(0)
	for i, l := range labels {
		if l < 0 || l >= int64(classes) {
			return fmt.Errorf("metric: sample %d: class %d, expected 0 to %d", i, l, classes-1)
		}
		row := scores[i*classes:][:classes]
		own, before := row[l], 0
		for k, s := range row {
			if s > own || own != own && s == s || int64(k) < l && (s == own || own != own && s != s) {
				before++
			}
		}
		if before < t.K {
			right++
		}
	}
	t.Right, t.N = t.Right+right, t.N+int64(len(labels))
	return nil
}

// Value is the share, 0 of none.
func (t *TopK) Value() float64 { return ratio(t.Right, t.N) }

// AUROC is the area under the curve of true over false positives: how likely a
// positive sample has a higher score than a negative one, ties half. It keeps all
// scores.
type AUROC struct {
	positive, negative []float32
}

// Add takes a score and a truth for each sample; NaN is an error.
func (a *AUROC) Add(scores []float32, truth []bool) error {
	if len(scores) != len(truth) {
		return fmt.Errorf("metric: %d scores for %d samples", len(scores), len(truth))
	}
	if i := slices.IndexFunc(scores, func(s float32) bool { return s != s }); i >= 0 {
		return fmt.Errorf("metric: the score of sample %d is NaN", i)
	}
	for i, s := range scores {
		if truth[i] {
			a.positive = append(a.positive, s)
		} else {
			a.negative = append(a.negative, s)
		}
	}
	return nil
}

// Value returns the area, NaN without samples of both kinds.
func (a *AUROC) Value() float64 {
	if len(a.positive) == 0 || len(a.negative) == 0 {
		return math.NaN()
	}
	negative := slices.Sorted(slices.Values(a.negative))
	twice := 0 // the number of pairs in order, and half of those that tie
	for _, s := range a.positive {
		below, _ := slices.BinarySearch(negative, s)
		upTo, _ := slices.BinarySearchFunc(negative, s, func(n, s float32) int {
			if n <= s {
				return -1
			}
			return cmp.Compare(n, s)
		})
		twice += below + upTo
	}
	return float64(twice) / 2 / (float64(len(a.positive)) * float64(len(negative)))
}
