package train_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

// TestCapture: captured training has the bits of recorded training, with dropout and
// running statistics, schedules, parts, clipping and mixed precision, while most steps
// do not call the model.
func TestCapture(t *testing.T) {
	for name, change := range map[string]func(l *train.Loop){
		"plain":    func(*train.Loop) {},
		"schedule": func(l *train.Loop) { l.Optimizer.(*optim.Adam).Rate = optim.Warmup(20, optim.Cosine(0.02, 0, 50)) },
		"parts":    func(l *train.Loop) { l.Parts = 3 },
		"clip":     func(l *train.Loop) { l.Clip = 0.5 },
		"mixed":    func(l *train.Loop) { l.Precision = sinter.BF16 },
		"scaler":   func(l *train.Loop) { l.Precision = sinter.F16; l.Scaler = optim.NewScaler(nil, 1024) },
	} {
		var hashes [2]string
		var reports [2]train.Report
		for i := range 2 {
			l := modal(6)
			change(l)
			calls := 0
			l.Loss = func(y, labels *sinter.Tensor) *sinter.Tensor {
				calls++
				return nn.CrossEntropy(y, labels)
			}
			l.Capture = i == 1
			reports[i], hashes[i] = run(t, l)
			steps := 6 * l.Steps() * max(l.Parts, 1)
			if few := calls < steps/2; few != (l.Capture && l.Scaler == nil) {
				t.Errorf("%s: captured %v: the loss was called %d times in %d steps", name, l.Capture, calls, steps)
			}
		}
		reports[0].Time, reports[1].Time = 0, 0
		if hashes[0] != hashes[1] || reports[0] != reports[1] {
			t.Errorf("%s: captured %s, %+v, recorded %s, %+v", name, hashes[1], reports[1], hashes[0], reports[0])
		}
	}
}

// TestClosedDevice: a loop whose device is closed says so.
func TestClosedDevice(t *testing.T) {
	for _, captured := range []bool{false, true} {
		d, err := sinter.NewRuntime().Device("cpu")
		if err != nil {
			t.Fatal(err)
		}
		l := loop(d, 1)
		l.Capture = captured
		d.Close()
		if _, err := l.Run(t.Context()); !errors.Is(err, sinter.ErrClosed) {
			t.Errorf("captured %v: %v", captured, err)
		}
	}
}
