package train_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

// samples makes n points of two features, labelled by which is greater.
func samples(n int) *data.Set {
	r := rand.New(rand.NewPCG(1, 2))
	s := &data.Set{N: n, Features: 2}
	for range n {
		a, b := r.Float32(), r.Float32()
		s.Pixels = append(s.Pixels, a, b)
		label := int64(0)
		if b > a {
			label = 1
		}
		s.Labels = append(s.Labels, label)
	}
	return s
}

// loop makes a small training on a device.
func loop(d *sinter.Device, epochs int) *train.Loop {
	g := sinter.NewGenerator(3)
	m := nn.Sequential{nn.NewLinear(g, 2, 16, nn.On(d)), nn.ReLU, nn.NewLinear(g, 16, 2, nn.On(d))}
	return &train.Loop{
		Model: m, Optimizer: optim.NewAdamW(nn.Params(m), optim.Constant(0.01), 0.01),
		Train: samples(200), Test: samples(50), Batch: 24, Epochs: epochs, Seed: 5,
		Augment: func(x []float32, r *rand.Rand) {
			if r.IntN(2) == 0 {
				x[0], x[1] = x[0]+0.001, x[1]+0.001
			}
		},
	}
}

func run(t *testing.T, l *train.Loop) (train.Report, string) {
	t.Helper()
	r, err := l.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	h, err := nn.Hash(context.Background(), l.Model)
	if err != nil {
		t.Fatal(err)
	}
	return r, h
}

// devices are those whose bits must agree.
func devices(t *testing.T) map[string]*sinter.Device {
	t.Helper()
	out := map[string]*sinter.Device{}
	for name, o := range map[string]cpu.Options{
		"interp, 1 thread": {Generator: cpu.Interpret, Threads: 1}, "interp, 4 threads": {Generator: cpu.Interpret, Threads: 4},
		"cpu, 1 thread": {Threads: 1}, "cpu, 2 threads": {Threads: 2}, "cpu, 4 threads": {Threads: 4},
	} {
		b, err := cpu.New(o)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = sinter.Default().Adopt(b)
		t.Cleanup(func() { out[name].Close() })
	}
	return out
}

func TestLearns(t *testing.T) {
	l := loop(sinter.DefaultDevice(), 20)
	var epochs, steps int
	l.Events = train.Events{
		Step: func(p train.Progress) {
			if steps++; p.Step != steps || p.Steps != 180 || p.Epoch != (steps-1)/9+1 || p.Epochs != 20 {
				t.Errorf("step %d: %+v", steps, p)
			}
		},
		Epoch: func(r train.Report) {
			if epochs++; r.Epoch != epochs || r.Test.N != 50 || r.Loss <= 0 {
				t.Errorf("epoch %d: %+v", epochs, r)
			}
		},
	}
	r, _ := run(t, l)
	if epochs != 20 || steps != 180 || r.Test.Accuracy() < 0.9 {
		t.Errorf("%d epochs, %d steps, %+v", epochs, steps, r)
	}
	if again, _ := run(t, l); again != r {
		t.Errorf("running a loop that is done: %+v", again)
	}
}

func TestEqualBits(t *testing.T) {
	want := ""
	for name, d := range devices(t) {
		_, h := run(t, loop(d, 3))
		if want == "" {
			want = h
		}
		if h != want {
			t.Errorf("%s: other bits: %s, %s", name, h, want)
		}
	}
}

func TestResumeGivesEqualBits(t *testing.T) {
	_, want := run(t, loop(sinter.DefaultDevice(), 6))
	path := filepath.Join(t.TempDir(), "c.safetensors")
	for _, stop := range []int{1, 9, 10, 29} { // steps; an epoch has 9
		first := loop(sinter.DefaultDevice(), 6)
		first.Checkpoint, first.Settings = path, map[string]string{"lr": "0.01"}
		ctx, cancel := context.WithCancelCause(context.Background())
		enough := errors.New("enough")
		last := 0
		first.Events.Step = func(p train.Progress) {
			if last = p.Step; p.Step == stop {
				cancel(enough)
			}
		}
		r, err := first.Run(ctx)
		if !errors.Is(err, enough) && !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: error %v", stop, err)
		}
		if last != stop || r.Epoch > stop/9 {
			t.Errorf("stopped at %d: last step %d, %d epochs reported", stop, last, r.Epoch)
		}
		second := loop(sinter.DefaultDevice(), 6)
		second.Checkpoint, second.Settings = path, first.Settings
		if r.Epoch > 0 {
			back, err := second.Resume()
			r.Time = 0
			if err != nil || back != r {
				t.Fatalf("resumed %+v, %v, want %+v", back, err, r)
			}
		} else if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a checkpoint without an epoch: %v", err)
		}
		if _, got := run(t, second); got != want {
			t.Errorf("stopped at step %d: other bits", stop)
		}
		os.Remove(path)
	}
}

func TestResumeRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.safetensors")
	l := loop(sinter.DefaultDevice(), 1)
	l.Checkpoint = path
	if _, err := l.Resume(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	run(t, l)
	for want, change := range map[string]func(*train.Loop){
		`sinter.batch was "24", now it is "25"`:     func(l *train.Loop) { l.Batch = 25 },
		`sinter.seed was "5", now it is "6"`:        func(l *train.Loop) { l.Seed = 6 },
		`sinter.samples was "200", now it is "100"`: func(l *train.Loop) { l.Train = samples(100) },
		`lr was "", now it is "1"`:                  func(l *train.Loop) { l.Settings = map[string]string{"lr": "1"} },
		"not in the file":                           func(l *train.Loop) { l.Model = nn.Sequential{nn.ReLU, l.Model} },
	} {
		l := loop(sinter.DefaultDevice(), 1)
		l.Checkpoint = path
		change(l)
		if _, err := l.Resume(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v", want, err)
		}
	}
	if err := nn.Save(context.Background(), path, l.Model, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resume(); !errors.Is(err, train.ErrNoCheckpoint) {
		t.Errorf("a model file: %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*train.Loop){
		"needs Model":    func(l *train.Loop) { l.Model = nil },
		"-1 epochs":      func(l *train.Loop) { l.Epochs = -1 },
		"batches of -1":  func(l *train.Loop) { l.Batch = -1 },
		"without labels": func(l *train.Loop) { l.Train.Labels = nil },
		"no samples":     func(l *train.Loop) { l.Train = &data.Set{Features: 2, Labels: []int64{}} },
		"want 51":        func(l *train.Loop) { l.Test.N = 51 },
		"matmul": func(l *train.Loop) {
			l.Train = &data.Set{Pixels: make([]float32, 6), Labels: make([]int64, 2), N: 2, Features: 3}
		},
		"index":         func(l *train.Loop) { l.Train.Labels[7] = 2 },
		"checkpoint of": func(l *train.Loop) { l.Checkpoint = filepath.Join("no", "such", "directory") },
	} {
		l := loop(sinter.DefaultDevice(), 1)
		change(l)
		if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v", want, err)
		}
	}
}

func TestDivergence(t *testing.T) {
	l := loop(sinter.DefaultDevice(), 9)
	l.Optimizer = optim.NewSGD(nn.Params(l.Model), optim.Constant(1e30))
	if r, err := l.Run(context.Background()); !errors.Is(err, train.ErrDiverged) || r.Epoch != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := loop(sinter.DefaultDevice(), 1).Run(ctx); !errors.Is(err, context.Canceled) || r.Epoch != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMemoryIsBounded checks that no tensor of a step outlives its epoch.
func TestMemoryIsBounded(t *testing.T) {
	b, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	d := sinter.Default().Adopt(b)
	defer d.Close()
	var m backend.Memory = b
	l := loop(d, 8)
	first := 0
	l.Events.Epoch = func(r train.Report) {
		u, err := m.MemoryUsage(context.Background())
		if err != nil {
			t.Error(err)
		}
		if r.Epoch == 2 {
			first = u.Tensors
		}
		if r.Epoch > 2 && u.Tensors > first+64 { // streams pass frees on in groups
			t.Errorf("epoch %d: %d tensors, %d after the second", r.Epoch, u.Tensors, first)
		}
	}
	run(t, l)
}

func TestPredict(t *testing.T) {
	double := nn.Func(func(x *sinter.Tensor) *sinter.Tensor { return x.Mul(2) })
	set := &data.Set{Features: 3}
	for i := range 1200 { // more than one piece
		row := []float32{0, 0, 0}
		row[i%3] = 1
		set.Pixels, set.Labels, set.N = append(set.Pixels, row...), append(set.Labels, int64(i%3)), i+1
	}
	p, err := train.Predict(context.Background(), double, sinter.DefaultDevice(), set)
	if err != nil || len(p.Class) != 1200 || len(p.Probability) != 1200 {
		t.Fatalf("%d predictions, %v", len(p.Class), err)
	}
	if s := p.Score(set.Labels); s.Right != 1200 || s.Accuracy() != 1 || p.Probability[1199] < 0.78 || p.Probability[1199] > 0.79 {
		t.Errorf("%+v, probability %v", s, p.Probability[1199])
	}
	if p, err := train.Predict(context.Background(), double, sinter.DefaultDevice(), &data.Set{Features: 3}); err != nil || len(p.Class) != 0 || p.Score(nil).Accuracy() != 0 {
		t.Errorf("nothing: %v, %v", p, err)
	}
	if _, err := train.Predict(context.Background(), double, sinter.DefaultDevice(), &data.Set{Features: 3, N: 1}); err == nil {
		t.Error("a set that is not valid")
	}
}
