package train_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

// modal is a loop whose model has dropout and running statistics.
func modal(epochs int) *train.Loop {
	g := sinter.NewGenerator(3)
	l := loop(sinter.DefaultDevice(), epochs)
	l.Model = nn.Sequential{nn.NewLinear(g, 2, 16), nn.NewBatchNorm(16), nn.ReLU, nn.Dropout{P: 0.2}, nn.NewLinear(g, 16, 2)}
	l.Optimizer = optim.NewAdam(nn.Params(l.Model), optim.Constant(0.02))
	return l
}

// TestModes trains layers that do something else at inference, whole and in two
// runs, with equal bits.
func TestModes(t *testing.T) {
	whole := modal(6)
	r, want := run(t, whole)
	if r.Test.Accuracy() < 0.9 {
		t.Errorf("%+v", r)
	}
	for _, p := range nn.Params(whole.Model) {
		if p.Buffer && p.Var.Version() != 6*9 {
			t.Errorf("%s was set %d times", p.Name, p.Var.Version())
		}
	}
	path := filepath.Join(t.TempDir(), "c.safetensors")
	first := modal(2)
	first.Checkpoint = path
	run(t, first)
	second := modal(6)
	second.Checkpoint = path
	if _, err := second.Resume(); err != nil {
		t.Fatal(err)
	}
	if _, got := run(t, second); got != want {
		t.Error("other bits after a checkpoint")
	}
	if _, other := run(t, func() *train.Loop { l := modal(6); l.Seed++; return l }()); other == want {
		t.Error("another seed gives the same bits")
	}
}

// hidden has a dropout inside, but passes no mode on.
type hidden struct{ Drop nn.Layer }

func (h hidden) Forward(x *sinter.Tensor) *sinter.Tensor { return h.Drop.Forward(x) }

func TestHiddenMode(t *testing.T) {
	l := modal(1)
	l.Model = nn.Sequential{hidden{nn.Dropout{P: 0.1}}, l.Model}
	if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "has no ForwardMode") {
		t.Errorf("error %v", err)
	}
}
