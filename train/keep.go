package train

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Keep says which epochs' checkpoints stay: the last ones, and the best ones by a
// criterion (ByLoss if nil; the earlier one of equals). Files of other epochs of
// this training are removed.
type Keep struct {
	Last, Best int
	By         Criterion
}

// CheckpointOf is the file in which Keep keeps the checkpoint of an epoch: beside
// Checkpoint, "digits.epoch-0012.safetensors" for "digits.safetensors".
func (l *Loop) CheckpointOf(epoch int) string {
	ext := filepath.Ext(l.Checkpoint)
	return fmt.Sprintf("%s.epoch-%04d%s", strings.TrimSuffix(l.Checkpoint, ext), epoch, ext)
}

// kept returns the epochs to keep, in order.
func (l *Loop) kept() []int {
	by := l.Keep.By
	if by == nil {
		by = ByLoss
	}
	keep := map[int]bool{}
	for _, r := range l.history[max(0, len(l.history)-max(l.Keep.Last, 0)):] {
		keep[r.Epoch] = true
	}
	best := slices.DeleteFunc(slices.Clone(l.history), func(r Report) bool { return math.IsNaN(by(r)) })
	slices.SortStableFunc(best, func(a, b Report) int { return cmp.Compare(by(a), by(b)) })
	for _, r := range best[:min(len(best), max(l.Keep.Best, 0))] {
		keep[r.Epoch] = true
	}
	var out []int
	for _, r := range l.history {
		if keep[r.Epoch] {
			out = append(out, r.Epoch)
		}
	}
	return out
}

// prune removes the files of epochs that are no longer kept.
func (l *Loop) prune(kept []int) error {
	for _, r := range l.history {
		if slices.Contains(kept, r.Epoch) {
			continue
		}
		if err := os.Remove(l.CheckpointOf(r.Epoch)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}

// Restore loads the checkpoint that Keep kept of an epoch, as [Loop.Resume] loads
// the last one: for the best model at the end of a training. Run would go on from
// there.
func (l *Loop) Restore(epoch int) (Report, error) { return l.restore(l.CheckpointOf(epoch)) }
