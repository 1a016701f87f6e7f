package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/sinter-go/sinter/train"
)

// settings decide the bits of a training.
type settings struct {
	Epochs int     `json:"epochs"`
	Batch  int     `json:"batch"`
	LR     float64 `json:"lr"`
	Seed   uint64  `json:"seed"`
	Hidden []int   `json:"hidden"`
}

// defaults are those of the flags' help.
var defaults = settings{Epochs: 25, Batch: 64, LR: 0.02, Seed: 1, Hidden: []int{128}}

// settingFlags are settings as flags: nil where the user gave none.
type settingFlags struct {
	Epochs *int     `name:"epochs" placeholder:"N" help:"Times to go through the training digits. (default 25)"`
	Batch  *int     `name:"batch" placeholder:"N" help:"Digits per step. (default 64)"`
	LR     *float64 `name:"lr" placeholder:"RATE" help:"Learning rate at the start; it falls to 0 along a cosine. (default 0.02)"`
	Seed   *uint64  `name:"seed" placeholder:"N" help:"Seed of weights, split and order: equal seeds give equal bits. (default 1)"`
	Hidden *string  `name:"hidden" placeholder:"N,..." help:"Widths of the hidden layers. (default 128)"`
}

// settings returns the settings: flags where they were given, else those of the
// training that is resumed (or the defaults). A flag that contradicts a resumed
// training is an error.
func (f *settingFlags) settings(resumed *settings) (settings, error) {
	s := defaults
	if resumed != nil {
		s = *resumed
	}
	before := s
	if f.Epochs != nil {
		s.Epochs = *f.Epochs
	}
	if f.Batch != nil {
		s.Batch = *f.Batch
	}
	if f.LR != nil {
		s.LR = *f.LR
	}
	if f.Seed != nil {
		s.Seed = *f.Seed
	}
	if f.Hidden != nil {
		h, err := parseHidden(*f.Hidden)
		if err != nil {
			return s, usage("--hidden: %v", err)
		}
		s.Hidden = h
	}
	if err := s.check(); err != nil {
		return s, err
	}
	if resumed != nil {
		return s, before.differs(s)
	}
	return s, nil
}

func (s settings) check() error {
	switch {
	case s.Epochs < 1 || s.Epochs > 100_000:
		return usage("--epochs is %d, expected 1 to 100000", s.Epochs)
	case s.Batch < 1 || s.Batch > 1<<16:
		return usage("--batch is %d, expected 1 to %d", s.Batch, 1<<16)
	case !(s.LR > 0) || math.IsInf(s.LR, 0):
		return usage("--lr is %v, expected a number above 0", s.LR)
	}
	if err := checkHidden(s.Hidden); err != nil {
		return usage("--hidden: %v", err)
	}
	return nil
}

// differs is an error if a resumed training was asked to change.
func (s settings) differs(now settings) error {
	was := func(flag string, old, now any) error {
		return usage("--%s is %v, but the training that is resumed has %v; leave the flag out, or start anew without --resume", flag, now, old)
	}
	switch {
	case s.Epochs != now.Epochs:
		return was("epochs", s.Epochs, now.Epochs)
	case s.Batch != now.Batch:
		return was("batch", s.Batch, now.Batch)
	case s.LR != now.LR:
		return was("lr", s.LR, now.LR)
	case s.Seed != now.Seed:
		return was("seed", s.Seed, now.Seed)
	case !slices.Equal(s.Hidden, now.Hidden):
		return was("hidden", formatHidden(s.Hidden), formatHidden(now.Hidden))
	}
	return nil
}

// Keys of settings in a checkpoint, beside those of the network.
const (
	keyEpochs = "sinter.train.epochs"
	keyBatch  = "sinter.train.batch"
	keyLR     = "sinter.train.lr"
	keySeed   = "sinter.train.seed"
)

func (s settings) metadata() map[string]string {
	return map[string]string{
		keyModel:  modelName,
		keyHidden: formatHidden(s.Hidden),
		keyEpochs: strconv.Itoa(s.Epochs),
		keyBatch:  strconv.Itoa(s.Batch),
		keyLR:     strconv.FormatFloat(s.LR, 'g', -1, 64),
		keySeed:   strconv.FormatUint(s.Seed, 10),
	}
}

// checkpointSettings reads the settings of a checkpoint.
func checkpointSettings(path string) (*settings, error) {
	m, err := train.ReadSettings(path)
	if err != nil {
		return nil, err
	}
	var s settings
	var errs [5]error
	s.Epochs, errs[0] = strconv.Atoi(m[keyEpochs])
	s.Batch, errs[1] = strconv.Atoi(m[keyBatch])
	s.LR, errs[2] = strconv.ParseFloat(m[keyLR], 64)
	s.Seed, errs[3] = strconv.ParseUint(m[keySeed], 10, 64)
	s.Hidden, errs[4] = parseHidden(m[keyHidden])
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s was not written by \"sinter train\": %w", path, err)
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %v", path, err)
	}
	return &s, nil
}
