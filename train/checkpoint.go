package train

import (
	"context"
	"encoding/json"
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
	keyParts   = "sinter.parts"
	keyClip    = "sinter.clip"
	keyHistory = "sinter.history"
	keyPrecise = "sinter.precision"

	checkpointFormat = "1"
)

// ErrNoCheckpoint marks a file that is no checkpoint of this package.
var ErrNoCheckpoint = errors.New("not a checkpoint")

// variables are all variables of a checkpoint, with their names in it.
func (l *Loop) variables() []nn.Named {
	v := append(nn.Prefixed(modelPrefix, nn.Params(l.Model)), nn.Prefixed(optimPrefix, l.Optimizer.State())...)
	if l.Scaler != nil {
		v = append(v, nn.Prefixed(optimPrefix, l.Scaler.State())...)
	}
	return v
}

// fixed is the metadata that must be equal for a training to be resumed.
func (l *Loop) fixed() map[string]string {
	m := map[string]string{
		keyFormat:  checkpointFormat,
		keySeed:    strconv.FormatUint(l.Seed, 10),
		keyBatch:   strconv.Itoa(l.batch()),
		keySamples: strconv.Itoa(l.Train.N),
		keyParts:   strconv.Itoa(l.parts()),
		keyClip:    strconv.FormatFloat(l.Clip, 'g', -1, 64),
	}
	if l.Precision != 0 {
		m[keyPrecise] = l.Precision.String()
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
	history, err := json.Marshal(l.history)
	if err != nil {
		return fmt.Errorf("train: checkpoint of epoch %d: %w", l.done.Epoch, err)
	}
	m[keyHistory] = string(history)
	paths, kept := []string{l.Checkpoint}, l.kept()
	if slices.Contains(kept, l.done.Epoch) {
		paths = append(paths, l.CheckpointOf(l.done.Epoch))
	}
	for _, path := range paths {
		if err := nn.SaveParams(ctx, path, l.variables(), m); err != nil {
			return fmt.Errorf("train: checkpoint of epoch %d: %w", l.done.Epoch, err)
		}
	}
	return l.prune(kept)
}

// Resume loads the checkpoint into model and optimizer, so that Run goes on after
// its epoch, and returns the report of that epoch. The loop must be set up as it
// was: an error lists what differs. Other errors: [ErrNoCheckpoint], those of
// [nn.Load] and of the file system (fs.ErrNotExist if there is no file).
func (l *Loop) Resume() (Report, error) { return l.restore(l.Checkpoint) }

func (l *Loop) restore(path string) (Report, error) {
	if err := l.check(); err != nil {
		return Report{}, err
	}
	m, err := ReadSettings(path)
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
		return Report{}, fmt.Errorf("train: %s belongs to another training: %s", path, strings.Join(diff, "; "))
	}
	var r Report
	r.Epochs = l.Epochs
	var errs [6]error
	r.Epoch, errs[0] = strconv.Atoi(m[keyEpoch])
	steps, err := strconv.ParseInt(m[keySteps], 10, 64)
	errs[1] = err
	r.Loss, errs[2] = strconv.ParseFloat(m[keyLoss], 64)
	r.Test.Right, errs[3] = strconv.Atoi(m[keyRight])
	r.Test.N, errs[4] = strconv.Atoi(m[keyTested])
	var history []Report
	errs[5] = json.Unmarshal([]byte(m[keyHistory]), &history)
	if err := errors.Join(errs[:]...); err != nil || r.Epoch < 0 || steps < 0 || len(history) != r.Epoch {
		return Report{}, fmt.Errorf("train: %s: %w: its metadata is damaged", path, ErrNoCheckpoint)
	}
	if _, err := nn.LoadParams(path, l.variables()); err != nil {
		return Report{}, err
	}
	l.Optimizer.SetSteps(steps)
	l.done, l.history = r, history
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
