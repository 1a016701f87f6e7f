package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
	"github.com/sinter-go/sinter/train/sink"
)

func reports(losses ...float64) []train.Report {
	var out []train.Report
	for i, l := range losses {
		out = append(out, train.Report{Epoch: i + 1, Loss: l})
	}
	return out
}

func TestPatience(t *testing.T) {
	stop := train.Patience(2, 0.1, train.ByLoss)
	for want, h := range map[bool][][]train.Report{
		false: {nil, reports(3), reports(3, 4), reports(3, 2, 1), reports(3, 4, 2.5), reports(math.Inf(1), 5)},
		true:  {reports(3, 4, 5), reports(3, 2.95, 2.92), reports(1, 3, 2), reports(3, 1, math.NaN(), 1)},
	} {
		for _, history := range h {
			if stop(history) != want {
				t.Errorf("%v: %v", history, !want)
			}
		}
	}
	if i := train.Best(reports(3, math.NaN(), 1, 1), train.ByLoss); i != 2 {
		t.Errorf("the best is %d", i)
	}
	if i := train.Best(reports(math.NaN()), train.ByLoss); i != -1 {
		t.Errorf("the best of NaN is %d", i)
	}
}

// TestStopsAndResumes checks that a training which is interrupted stops where it
// would have stopped without.
func TestStopsAndResumes(t *testing.T) {
	long := func() *train.Loop {
		l := loop(sinter.DefaultDevice(), 200)
		l.Stop = train.Patience(3, 0.002, train.ByErrors)
		return l
	}
	first := long()
	r, want := run(t, first)
	if r.Epoch >= 200 || r.Epoch < 4 || len(first.History()) != r.Epoch {
		t.Fatalf("stopped at %+v", r)
	}
	path := filepath.Join(t.TempDir(), "c.safetensors")
	second := long()
	second.Checkpoint = path
	ctx, cancel := context.WithCancel(context.Background())
	second.Events.Epoch = func(now train.Report) {
		if now.Epoch == r.Epoch-2 {
			cancel()
		}
	}
	if _, err := second.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	third := long()
	third.Checkpoint = path
	if _, err := third.Resume(); err != nil {
		t.Fatal(err)
	}
	again, got := run(t, third)
	if again.Epoch != r.Epoch || got != want {
		t.Errorf("stopped at %d, want %d; equal bits: %v", again.Epoch, r.Epoch, got == want)
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	losses := []float64{5, 1, 4, 1, 3, 6}
	l := loop(sinter.DefaultDevice(), 6)
	l.Checkpoint = filepath.Join(dir, "c.safetensors")
	l.Keep = train.Keep{Last: 2, Best: 2, By: func(r train.Report) float64 { return losses[r.Epoch-1] }}
	hashes := map[int]string{}
	l.Events.Epoch = func(r train.Report) {
		h, err := nn.Hash(context.Background(), l.Model)
		if err != nil {
			t.Error(err)
		}
		hashes[r.Epoch] = h
	}
	run(t, l)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(files)
	if s := fmt.Sprint(files); s != "[c.epoch-0002.safetensors c.epoch-0004.safetensors c.epoch-0005.safetensors c.epoch-0006.safetensors c.safetensors]" {
		t.Error(s)
	}
	back := loop(sinter.DefaultDevice(), 6)
	back.Checkpoint, back.Keep = l.Checkpoint, l.Keep
	r, err := back.Restore(2)
	if err != nil || r.Epoch != 2 {
		t.Fatal(r, err)
	}
	if h, _ := nn.Hash(context.Background(), back.Model); h != hashes[2] {
		t.Error("another model than that of epoch 2")
	}
	if _, got := run(t, back); got != hashes[6] { // and going on gives the same
		t.Error("other bits after going on")
	}
	if _, err := back.Restore(1); err == nil {
		t.Error("an epoch that was not kept")
	}
}

func TestPartsAreOneStep(t *testing.T) {
	value := func(l *train.Loop) []float32 {
		run(t, l)
		v, err := sinter.Data[float32](context.Background(), nn.Params(l.Model)[0].Var.Value())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	one, some := loop(sinter.DefaultDevice(), 2), loop(sinter.DefaultDevice(), 2)
	for _, l := range []*train.Loop{one, some} {
		l.Optimizer = optim.NewSGD(nn.Params(l.Model), optim.Constant(0.1))
	}
	some.Parts = 5 // 24 samples are 5, 5, 5, 5, 4; the last 8 are 2, 2, 2, 2
	a, b := value(one), value(some)
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > 1e-5 {
			t.Fatalf("element %d: %v and %v", i, a[i], b[i])
		}
	}
	clipped := loop(sinter.DefaultDevice(), 1)
	clipped.Optimizer = optim.NewSGD(nn.Params(clipped.Model), optim.Constant(1))
	clipped.Clip = 1e-6
	before, _ := sinter.Data[float32](context.Background(), nn.Params(clipped.Model)[0].Var.Value())
	after := value(clipped)
	for i := range after {
		if d := math.Abs(float64(after[i] - before[i])); d > 9e-6 {
			t.Fatalf("9 steps of length 1e-6 moved element %d by %v", i, d)
		}
	}
}

func TestHalfPrecision(t *testing.T) {
	make := func() *train.Loop {
		l := loop(sinter.DefaultDevice(), 12)
		g := sinter.NewGenerator(3)
		l.Model = nn.Sequential{nn.NewLinear(g, 2, 16, nn.DType(sinter.F16)), nn.ReLU, nn.NewLinear(g, 16, 2, nn.DType(sinter.F16))}
		l.Optimizer = optim.NewSGD(nn.Params(l.Model), optim.Constant(0.5))
		l.Scaler = optim.NewScaler(nil, 1<<24) // too much at first
		return l
	}
	l := make()
	r, want := run(t, l)
	if r.Test.Accuracy() < 0.9 || l.Optimizer.Steps() >= 108 || l.Optimizer.Steps() < 80 {
		t.Errorf("%+v after %d steps", r, l.Optimizer.Steps())
	}
	path := filepath.Join(t.TempDir(), "c.safetensors")
	first := make()
	first.Epochs, first.Checkpoint = 1, path
	run(t, first)
	second := make()
	second.Checkpoint = path
	if _, err := second.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, got := run(t, second); got != want {
		t.Error("other bits after resuming: the scaler's state was lost")
	}
}

func TestSinks(t *testing.T) {
	var b bytes.Buffer
	l := loop(sinter.DefaultDevice(), 2)
	l.Sinks = []sink.Sink{sink.CSV(&b)}
	run(t, l)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || lines[0] != "time,epoch,step,loss/train,accuracy/test,seconds" || !strings.Contains(lines[2], ",2,18,0.") {
		t.Errorf("%q", lines)
	}
	l = loop(sinter.DefaultDevice(), 1)
	l.Sinks = []sink.Sink{broken{}}
	if r, err := l.Run(context.Background()); !errors.Is(err, errBroken) || r.Epoch != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write(sink.Record) error { return errBroken }
func (broken) Close() error            { return nil }

// TestMixedPrecision trains parameters in f32 on samples in half precision.
func TestMixedPrecision(t *testing.T) {
	for _, d := range []sinter.DType{sinter.F16, sinter.BF16} {
		l := loop(sinter.DefaultDevice(), 12)
		l.Precision, l.Scaler = d, optim.NewScaler(nil, 1024)
		_, full := run(t, loop(sinter.DefaultDevice(), 12))
		r, h := run(t, l)
		if r.Test.Accuracy() < 0.9 || h == full {
			t.Errorf("%s: %+v, as in f32: %v", d, r, h == full)
		}
		for _, p := range nn.Params(l.Model) {
			if p.Var.Borrow().DType() != sinter.F32 {
				t.Errorf("%s: %s is %s", d, p.Name, p.Var.Borrow().DType())
			}
		}
	}
	l := loop(sinter.DefaultDevice(), 1)
	l.Precision = sinter.I32
	if _, err := l.Run(context.Background()); err == nil {
		t.Error("precision i32")
	}
}
