package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

type trainCmd struct {
	settingFlags
	deviceFlags
	Out    string `name:"out" short:"o" default:"digits.safetensors" placeholder:"FILE" help:"Model file to write. (default ${default})"`
	Resume bool   `name:"resume" help:"Go on from the checkpoint of an interrupted training."`
	Quiet  bool   `name:"quiet" short:"q" help:"Print neither progress nor digits."`
	UI     bool   `name:"ui" help:"Show live curves, where standard error is a terminal."`
	Report string `name:"report" placeholder:"FILE" help:"Write curves, confusion matrix and digits to a .html or .png file."`
	Logs   string `name:"logs" placeholder:"DIR" help:"Write every epoch to epochs.csv and to an event file for TensorBoard there."`
	output
}

// Help is the long help of the command.
func (*trainCmd) Help() string {
	return `Trains on four fifths of 1,797 digits of 8×8 pixels, reports the accuracy on the rest, and saves
the network. Equal flags give equal bits on every processor and number of threads.

After each epoch a checkpoint is written beside the model file. Ctrl-C stops between two steps and
keeps it; --resume goes on from there, with the bits that an uninterrupted training gives.`
}

// weightDecay keeps the weights small: there are few digits to learn from.
const weightDecay = 0.1

// testShare is the share of digits that are held out.
const testShare = 0.2

// trainResult is what a training came to, as --json prints it.
type trainResult struct {
	Event    string  `json:"event"` // "done"
	Accuracy float64 `json:"accuracy"`
	Right    int     `json:"right"`
	Tested   int     `json:"tested"`
	Loss     float64 `json:"loss"`
	Epochs   int     `json:"epochs"`
	Seconds  float64 `json:"seconds"`
	Params   int     `json:"params"`
	Model    string  `json:"model"`
	Hash     string  `json:"sha256"` // of the parameters
}

// training is a training that was set up.
type training struct {
	net  *net
	dev  *sinter.Device
	loop *train.Loop
	test *data.Set
}

func (c *trainCmd) Run(e *env) error {
	checkpoint := checkpointPath(c.Out)
	var resumed *settings
	if c.Resume {
		var err error
		if resumed, err = checkpointSettings(checkpoint); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no training to resume: %s does not exist", checkpoint)
		} else if err != nil {
			return err
		}
	}
	s, err := c.settings(resumed)
	if err != nil {
		return err
	}
	if err := writable("--out", c.Out); err != nil {
		return err
	}
	if err := c.checkReport(); err != nil {
		return err
	}
	dev, closeDevice, err := c.open()
	if err != nil {
		return err
	}
	defer closeDevice()
	t, err := newTraining(dev, s)
	if err != nil {
		return err
	}
	t.loop.Checkpoint, t.loop.Settings = checkpoint, s.metadata()
	var closeLogs func() error
	if t.loop.Sinks, closeLogs, err = openLogs(c.Logs); err != nil {
		return err
	}
	defer closeLogs() // where what follows fails; closing again does nothing
	p, ctx := newView(e, c, t)
	t.loop.Events = p.events()
	if c.Resume {
		r, err := t.loop.Resume()
		if err != nil {
			return err
		}
		p.resumed(r)
	}
	p.begin()
	began := time.Now()
	report, err := t.loop.Run(ctx)
	p.end()
	if closed := closeLogs(); err == nil {
		err = closed
	}
	if err != nil {
		return c.stopped(e, report, checkpoint, err)
	}
	return c.finish(e, t, s, report, time.Since(began))
}

// newTraining sets up network, optimizer and data.
func newTraining(dev *sinter.Device, s settings) (*training, error) {
	digits, err := data.Digits()
	if err != nil {
		return nil, err
	}
	learn, test, err := digits.Split(s.Seed, testShare)
	if err != nil {
		return nil, err
	}
	n := newNet(dev, s.Seed, s.Hidden)
	loop := &train.Loop{Model: n, Train: learn, Test: test, Epochs: s.Epochs, Batch: s.Batch, Seed: s.Seed, Capture: true}
	total := int64(s.Epochs) * int64(loop.Steps())
	loop.Optimizer = optim.NewAdamW(nn.Params(n), optim.Cosine(s.LR, 0, total), weightDecay)
	loop.Augment = sometimesShift
	return &training{net: n, dev: dev, loop: loop, test: test}, nil
}

// stopped reports a training that did not come to its end.
func (c *trainCmd) stopped(e *env, r train.Report, checkpoint string, err error) error {
	if !errors.Is(err, errInterrupted) && !errors.Is(err, context.Canceled) {
		return err
	}
	if r.Epoch == 0 {
		return fmt.Errorf("%w before the first epoch was done; nothing was saved", errInterrupted)
	}
	again := "sinter train --resume"
	if c.Out != "digits.safetensors" {
		again += " --out " + c.Out
	}
	return fmt.Errorf("%w after epoch %d of %d, which %s holds; to go on: %s", errInterrupted, r.Epoch, r.Epochs, checkpoint, again)
}

// finish saves the model and shows what it can do.
func (c *trainCmd) finish(e *env, t *training, s settings, r train.Report, took time.Duration) error {
	if err := nn.Save(e.ctx, c.Out, t.net, t.net.metadata()); err != nil {
		return err
	}
	if err := os.Remove(checkpointPath(c.Out)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	hash, err := nn.Hash(e.ctx, t.net)
	if err != nil {
		return err
	}
	result := trainResult{Event: "done", Accuracy: r.Test.Accuracy(), Right: r.Test.Right, Tested: r.Test.N, Loss: r.Loss,
		Epochs: r.Epoch, Seconds: took.Seconds(), Params: nn.Count(t.net), Model: c.Out, Hash: hash}
	var p train.Predictions
	if c.Report != "" || !c.Quiet && !c.JSON {
		if p, err = train.Predict(e.ctx, t.net, t.dev, t.test); err != nil {
			return err
		}
	}
	if c.Report != "" {
		summary, err := summarize(t, s, p, took)
		if err == nil {
			err = summary.write(c.Report)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		e.stdout.object(result)
		return nil
	}
	if !c.Quiet {
		e.stdout.printf("\n")
		showDigits(e.stdout, t.test, p)
		e.stdout.printf("\n")
	}
	e.stdout.printf("%s of %d digits that it had not seen, %d wrong (%d epochs, %.1f s)\n",
		e.stdout.paint(bold, percent(r.Test.Accuracy())+" right"), r.Test.N, r.Test.N-r.Test.Right, r.Epoch, took.Seconds())
	e.stdout.printf("saved %s, parameters sha256:%.16s\n", c.Out, hash)
	if c.Report != "" {
		e.stdout.printf("report in %s\n", c.Report)
	}
	return nil
}

// checkpointPath is where checkpoints of a model go: beside it.
func checkpointPath(out string) string {
	return strings.TrimSuffix(out, ".safetensors") + ".checkpoint.safetensors"
}

// writable refuses a file that could not be written, before time is spent on
// training.
func writable(flag, path string) error {
	if i, err := os.Stat(path); err == nil && !i.Mode().IsRegular() {
		return fmt.Errorf("%s %s: it is no regular file", flag, path)
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".sinter-*.tmp")
	if err != nil {
		return fmt.Errorf("%s %s: cannot write there: %w", flag, path, err)
	}
	f.Close()
	return os.Remove(f.Name())
}

// percent writes a share: 98.3 %.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }
