package train

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sinter-go/sinter/train/sink"
)

// Criterion says how bad an epoch was: smaller is better.
type Criterion func(Report) float64

// ByLoss is the loss on the training set.
func ByLoss(r Report) float64 { return r.Loss }

// ByErrors is the share of wrong predictions on the test set.
func ByErrors(r Report) float64 { return 1 - r.Test.Accuracy() }

// Best returns where the best report is, the first of equals; -1 if there is none
// whose criterion is a number.
func Best(history []Report, by Criterion) int {
	best, least := -1, math.Inf(1)
	for i, r := range history {
		if v := by(r); v < least || best < 0 && v == least {
			best, least = i, v
		}
	}
	return best
}

// Patience returns a function for [Loop.Stop] that ends a training when so many
// epochs in a row were not better than the best before them by more than least.
func Patience(epochs int, least float64, by Criterion) func(history []Report) bool {
	return func(history []Report) bool {
		best, since := math.Inf(1), 0
		for _, r := range history {
			since++
			if v := by(r); v < best-least || math.IsInf(best, 1) && v < best {
				best, since = v, 0
			}
		}
		return since >= epochs && len(history) > 0
	}
}

// History returns the reports of all epochs, those before a checkpoint included
// (without their times).
func (l *Loop) History() []Report { return slices.Clone(l.history) }

// report writes a record of an epoch to the sinks.
func (l *Loop) report(r Report) error {
	if len(l.Sinks) == 0 {
		return nil
	}
	rec := sink.Record{Time: time.Now(), Epoch: r.Epoch, Step: r.Epoch * l.Steps(), Values: []sink.Value{{Name: "loss/train", Value: r.Loss}}}
	if r.Test.N > 0 {
		rec.Values = append(rec.Values, sink.Value{Name: "accuracy/test", Value: r.Test.Accuracy()})
	}
	rec.Values = append(rec.Values, sink.Value{Name: "seconds", Value: r.Time.Seconds()})
	for _, s := range l.Sinks {
		if err := s.Write(rec); err != nil {
			return fmt.Errorf("train: epoch %d: %w", r.Epoch, err)
		}
	}
	return nil
}
