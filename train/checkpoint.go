package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/safetensors"
)

// Names in a checkpoint: parameters are those of the model after "model.", the
// optimizer's state follows "optim.", and the rest is metadata.
const (
	modelPrefix = "model"
	optimPrefix = "optim"

	keyFormat  = "sinter.checkpoint"
	keyEpoch   = "sinter.epoch"
	keySteps   = "sinter.steps"
	keyLoss    = "sinter.loss"
	keyRight   = "sinter.right"
	keyTested  = "sinter.tested"
	keySeed    = "sinter.seed"
	keyBatch   = "sinter.batch"
	keySamples = "sinter.samples"

	checkpointFormat = "1"
)

// ErrNoCheckpoint marks a file that is no checkpoint of this package.
var ErrNoCheckpoint = errors.New("not a checkpoint")

// variables are all variables of a checkpoint, with their names in it.
func (l *Loop) variables() []nn.Named {
	return append(nn.Prefixed(modelPrefix, nn.Params(l.Model)), nn.Prefixed(optimPrefix, l.Optimizer.State())...)
}

// fixed is the metadata that must be equal for a training to be resumed.
func (l *Loop) fixed() map[string]string {
	m := map[string]string{
		keyFormat:  checkpointFormat,
		keySeed:    strconv.FormatUint(l.Seed, 10),
		keyBatch:   strconv.Itoa(l.batch()),
		keySamples: strconv.Itoa(l.Train.N),
	}
	maps.Copy(m, l.Settings)
	return m
}

func (l *Loop) save(ctx context.Context) error {
	m := l.fixed()
	m[keyEpoch] = strconv.Itoa(l.done.Epoch)
	m[keySteps] = strconv.FormatInt(l.Optimizer.Steps(), 10)
	m[keyLoss] = strconv.FormatFloat(l.done.Loss, 'g', -1, 64)
	m[keyRight] = strconv.Itoa(l.done.Test.Right)
	m[keyTested] = strconv.Itoa(l.done.Test.N)
	if err := nn.SaveParams(ctx, l.Checkpoint, l.variables(), m); err != nil {
		return fmt.Errorf("train: checkpoint of epoch %d: %w", l.done.Epoch, err)
	}
	return nil
}

// Resume loads the checkpoint into model and optimizer, so that Run goes on after
// its epoch, and returns the report of that epoch. The loop must be set up as it
// was: an error lists what differs. Other errors: [ErrNoCheckpoint], those of
// [nn.Load] and of the file system (fs.ErrNotExist if there is no file).
func (l *Loop) Resume() (Report, error) {
	if err := l.check(); err != nil {
		return Report{}, err
	}
	m, err := ReadSettings(l.Checkpoint)
	if err != nil {
		return Report{}, err
	}
	var diff []string
	fixed := l.fixed()
	for _, k := range slices.Sorted(maps.Keys(fixed)) {
		if m[k] != fixed[k] {
			diff = append(diff, fmt.Sprintf("%s was %q, now it is %q", k, m[k], fixed[k]))
		}
	}
	if len(diff) > 0 {
		return Report{}, fmt.Errorf("train: %s belongs to another training: %s", l.Checkpoint, strings.Join(diff, "; "))
	}
	var r Report
	r.Epochs = l.Epochs
	var errs [5]error
	r.Epoch, errs[0] = strconv.Atoi(m[keyEpoch])
	steps, err := strconv.ParseInt(m[keySteps], 10, 64)
	errs[1] = err
	r.Loss, errs[2] = strconv.ParseFloat(m[keyLoss], 64)
	r.Test.Right, errs[3] = strconv.Atoi(m[keyRight])
	r.Test.N, errs[4] = strconv.Atoi(m[keyTested])
	if err := errors.Join(errs[:]...); err != nil || r.Epoch < 0 || steps < 0 {
		return Report{}, fmt.Errorf("train: %s: %w: its metadata is damaged", l.Checkpoint, ErrNoCheckpoint)
	}
	if _, err := nn.LoadParams(l.Checkpoint, l.variables()); err != nil {
		return Report{}, err
	}
	l.Optimizer.SetSteps(steps)
	l.done = r
	return r, nil
}

// ReadSettings returns the metadata of a checkpoint, Settings of its loop among
// it, without loading the rest.
func ReadSettings(path string) (map[string]string, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := f.Metadata()
	if m[keyFormat] != checkpointFormat {
		return nil, fmt.Errorf("train: %s: %w: its %q is %q, expected %q", path, ErrNoCheckpoint, keyFormat, m[keyFormat], checkpointFormat)
	}
	return m, nil
}
