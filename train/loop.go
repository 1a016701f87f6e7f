package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train/sink"
)

// ErrDiverged marks a training whose loss became infinite or NaN.
var ErrDiverged = errors.New("the loss is no longer a number")

// Loop trains a model on a set of labelled samples. Model, Optimizer and Train
// are required. A Loop is used by one goroutine at a time.
type Loop struct {
	Model     nn.Layer // applied by nn.Forward, in training and at inference
	Optimizer optim.Optimizer
	Train     *data.Set
	Test      *data.Set // evaluated after every epoch, if there is one

	// Loss takes the model's result and i64 labels of shape [batch] and returns
	// a scalar; nn.CrossEntropy if nil.
	Loss func(y, labels *sinter.Tensor) *sinter.Tensor

	Epochs int    // in all, those before a checkpoint included
	Batch  int    // samples a step; 0 means 32
	Seed   uint64 // of the order of samples and of Augment

	// Parts divides the samples of a step into so many parts, whose gradients
	// are added up: less memory for the same step, up to rounding. 0 means 1.
	Parts int

	// Clip, if above 0, is the greatest length of all gradients as one vector.
	Clip float64

	// Precision, if set, is the dtype of samples and so of what layers compute:
	// mixed precision is F16 or BF16 with parameters in F32. Losses are then
	// computed in F32. Without it, samples have the dtype of the parameters.
	Precision sinter.DType

	// Scaler, if set, scales losses, so that gradients in half precision do not
	// become 0.
	Scaler *optim.Scaler

	// Capture has steps replayed that come again as they were ([sinter.Capture]): what
	// the model, the loss and the optimizer record then costs nothing any more, and
	// the bits are the same. They must do nothing beside recording but what
	// [sinter.Scope.OnReplay] is told. With a Scaler, which reads gradients, every step
	// is recorded.
	Capture bool

	// Augment, if set, changes a copy of a sample before it is used. What it
	// does may depend on the sample and the random numbers alone.
	Augment Augment

	// Checkpoint, if set, is the file that is replaced after every epoch.
	// Settings are stored in it, and must be equal when training is resumed.
	// Keep says which epochs have files of their own beside it.
	Checkpoint string
	Settings   map[string]string
	Keep       Keep

	// Stop, if set, ends the training when it returns true for the reports of
	// all epochs so far, as [Patience] does. It must depend on these alone.
	Stop func(history []Report) bool

	Events Events
	Sinks  []sink.Sink // get a record of every epoch; the loop does not close them

	done    Report // of the last whole epoch
	history []Report
}

// Events are called while a loop runs, by its goroutine; those that are nil are
// left out.
type Events struct {
	// Step is called when a step was recorded. The device may be some steps
	// behind.
	Step func(Progress)
	// Epoch is called when an epoch is done, evaluated and saved.
	Epoch func(Report)
}

// Progress tells how far a training is.
type Progress struct {
	Epoch, Epochs int // the epoch that is running, from 1
	Step, Steps   int // of all epochs
}

// Report tells what an epoch came to.
type Report struct {
	Epoch  int           // from 1; 0 before the first
	Epochs int           // in all
	Loss   float64       // mean over the samples of the epoch
	Test   Score         // on the test set; zero without one
	Time   time.Duration `json:"-"`
}

// Run trains until Epochs are done, or Stop ends it, and returns the report of the
// last. When ctx
// ends it stops between two steps and returns the report of the last whole epoch,
// which is also what the checkpoint holds, and the context's error. Other errors
// are those of the settings, the model, the device and the file system;
// [ErrDiverged] leaves the checkpoint of the epoch before.
func (l *Loop) Run(ctx context.Context) (Report, error) {
	if err := l.check(); err != nil {
		return l.done, err
	}
	steps := l.begin()
	defer steps.end()
	for l.done.Epoch < l.Epochs && (l.Stop == nil || len(l.history) == 0 || !l.Stop(l.History())) {
		r, err := l.epoch(ctx, steps, l.done.Epoch)
		if err != nil {
			return l.done, err
		}
		l.done = r
		l.history = append(l.history, r)
		if l.Checkpoint != "" {
			if err := l.save(ctx); err != nil {
				return l.done, err
			}
		}
		if err := l.report(r); err != nil {
			return l.done, err
		}
		if l.Events.Epoch != nil {
			l.Events.Epoch(r)
		}
	}
	return l.done, nil
}

// Steps returns the number of steps of an epoch.
func (l *Loop) Steps() int {
	if l.Train == nil {
		return 0
	}
	return (l.Train.N + l.batch() - 1) / l.batch()
}

func (l *Loop) batch() int {
	if l.Batch == 0 {
		return 32
	}
	return l.Batch
}

func (l *Loop) check() error {
	switch {
	case l.Model == nil || l.Optimizer == nil || l.Train == nil:
		return errors.New("train: a loop needs Model, Optimizer and Train")
	case l.Epochs < 0 || l.Batch < 0:
		return fmt.Errorf("train: %d epochs in batches of %d, expected positive numbers", l.Epochs, l.Batch)
	case l.Parts < 0 || !(l.Clip >= 0):
		return fmt.Errorf("train: %d parts of a step, gradients clipped at %v, expected positive numbers", l.Parts, l.Clip)
	case l.Precision != 0 && !l.Precision.IsFloat():
		return fmt.Errorf("train: precision %s, expected a float dtype", l.Precision)
	case l.Train.N == 0:
		return errors.New("train: there are no samples")
	}
	for _, s := range []*data.Set{l.Train, l.Test} {
		if s == nil {
			continue
		}
		if err := s.Validate(); err != nil {
			return err
		}
		if s.Labels == nil {
			return errors.New("train: samples without labels")
		}
	}
	return nil
}

// epoch makes the steps of an epoch, counted from 0, and evaluates.
func (l *Loop) epoch(ctx context.Context, steps *steps, epoch int) (Report, error) {
	began := time.Now()
	if err := steps.total.Set(sinter.On(steps.dev).Zeros(sinter.F32)); err != nil {
		return Report{}, err
	}
	step := epoch * l.Steps()
	for rows := range l.Train.Batches(l.batch(), l.Seed, epoch) {
		if ctx.Err() != nil {
			return Report{}, context.Cause(ctx)
		}
		if err := steps.step(ctx, rows, l.random(step)); err != nil {
			return Report{}, fmt.Errorf("train: epoch %d, step %d: %w", epoch+1, step+1, err)
		}
		step++
		if l.Events.Step != nil {
			l.Events.Step(Progress{Epoch: epoch + 1, Epochs: l.Epochs, Step: step, Steps: l.Epochs * l.Steps()})
		}
	}
	sum, err := sinter.Item[float32](ctx, steps.total.Borrow())
	if err != nil {
		return Report{}, fmt.Errorf("train: epoch %d: %w", epoch+1, err)
	}
	r := Report{Epoch: epoch + 1, Epochs: l.Epochs, Loss: float64(sum) / float64(l.Train.N)}
	if math.IsNaN(r.Loss) || math.IsInf(r.Loss, 0) {
		return Report{}, fmt.Errorf("train: epoch %d: %w (%v); a lower learning rate may help", epoch+1, ErrDiverged, r.Loss)
	}
	if l.Test != nil {
		p, err := Predict(ctx, l.Model, steps.dev, l.Test)
		if err != nil {
			return Report{}, fmt.Errorf("train: epoch %d: evaluation: %w", epoch+1, err)
		}
		r.Test = p.Score(l.Test.Labels)
	}
	r.Time = time.Since(began)
	return r, nil
}

// deviceOf is where the parameters live.
func deviceOf(params []nn.Named) *sinter.Device {
	for _, p := range params {
		if d := p.Var.Borrow().Device(); d != nil {
			return d
		}
	}
	return sinter.DefaultDevice()
}
