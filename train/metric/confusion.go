package metric

import "fmt"

// Confusion counts how often samples of a class were taken for another.
type Confusion struct {
	Classes int
	Counts  []int64 // Counts[label*Classes+predicted]
}

// NewConfusion makes one of so many classes.
func NewConfusion(classes int) *Confusion {
	return &Confusion{Classes: classes, Counts: make([]int64, classes*classes)}
}

// Add counts predictions. An error names the first class that is out of range;
// nothing is counted then.
func (c *Confusion) Add(predicted, labels []int64) error {
	if len(predicted) != len(labels) {
		return fmt.Errorf("metric: %d predictions for %d labels", len(predicted), len(labels))
	}
	for i := range labels {
		for _, v := range []int64{predicted[i], labels[i]} {
			if v < 0 || v >= int64(c.Classes) {
				return fmt.Errorf("metric: sample %d: class %d, expected 0 to %d", i, v, c.Classes-1)
			}
		}
	}
	for i := range labels {
		c.Counts[labels[i]*int64(c.Classes)+predicted[i]]++
	}
	return nil
}

// Count is how many samples of a label were taken for a class.
func (c *Confusion) Count(label, predicted int) int64 { return c.Counts[label*c.Classes+predicted] }

// N is the number of samples.
func (c *Confusion) N() int64 {
	n := int64(0)
	for _, v := range c.Counts {
		n += v
	}
	return n
}

// Accuracy is the share of right predictions, 0 of none.
func (c *Confusion) Accuracy() float64 {
	right := int64(0)
	for k := range c.Classes {
		right += c.Count(k, k)
	}
	return ratio(right, c.N())
}

// Scores are precision (of what was taken for a class, the share that is of it),
// recall (of what is of a class, the share that was taken for it) and their
// harmonic mean. A share of nothing is 0.
type Scores struct{ Precision, Recall, F1 float64 }

// Class returns the scores of one class.
func (c *Confusion) Class(k int) Scores {
	right, taken, are := c.Count(k, k), int64(0), int64(0)
	for other := range c.Classes {
		taken += c.Count(other, k)
		are += c.Count(k, other)
	}
	return Scores{ratio(right, taken), ratio(right, are), ratio(2*right, taken+are)}
}

// Macro is the plain mean of the scores of all classes.
func (c *Confusion) Macro() Scores {
	var p, r, f Sum
	for k := range c.Classes {
		s := c.Class(k)
		p.Add(s.Precision)
		r.Add(s.Recall)
		f.Add(s.F1)
	}
	if c.Classes == 0 {
		return Scores{}
	}
	return Scores{p.Mean(), r.Mean(), f.Mean()}
}

// Micro is the scores over all samples together. As each has one label and one
// prediction, all three are the accuracy.
func (c *Confusion) Micro() Scores {
	a := c.Accuracy()
	return Scores{a, a, a}
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
