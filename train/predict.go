package train

import (
	"context"
	"errors"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
)

// Predictions are what a classifier says about samples.
type Predictions struct {
	Class       []int64
	Probability []float32 // of the class, by softmax
}

// Score is how often predictions are right.
type Score struct {
	Right, N int
}

// Accuracy is the share of right predictions, 0 of none.
func (s Score) Accuracy() float64 {
	if s.N == 0 {
		return 0
	}
	return float64(s.Right) / float64(s.N)
}

// Score compares predictions with labels, one for each.
func (p Predictions) Score(labels []int64) Score {
	s := Score{N: min(len(labels), len(p.Class))}
	for i := range s.N {
		if p.Class[i] == labels[i] {
			s.Right++
		}
	}
	return s
}

// predictRows is how many samples are classified at a time. A sample's result
// does not depend on its neighbours, so this decides memory and speed only.
const predictRows = 512

// Predict classifies the samples of a set with a model whose results are logits
// of shape [samples, classes], on the device of its parameters. Nothing is
// tracked.
func Predict(ctx context.Context, model nn.Layer, dev *sinter.Device, set *data.Set) (Predictions, error) {
	if err := set.Validate(); err != nil {
		return Predictions{}, err
	}
	var out Predictions
	for at := 0; at < set.N; at += predictRows {
		n := min(predictRows, set.N-at)
		class, p, err := predict(ctx, model, dev, set.Pixels[at*set.Features:(at+n)*set.Features], n)
		if err != nil {
			return Predictions{}, err
		}
		out.Class = append(out.Class, class...)
		out.Probability = append(out.Probability, p...)
	}
	return out, nil
}

func predict(ctx context.Context, model nn.Layer, dev *sinter.Device, values []float32, n int) ([]int64, []float32, error) {
	s := sinter.NewScope("predict", sinter.NoGrad())
	defer s.End()
	x := sinter.FromSliceOn(sinter.On(dev), values, n, len(values)/n)
	defer x.Release()
	p := model.Forward(s.In(x).Cast(floatOf(nn.Vars(model)))).Cast(sinter.F32).Softmax(-1)
	class, best := p.ArgMax(-1), p.Max(sinter.Over(-1))
	arrays, err := sinter.Read(ctx, class, best)
	if err != nil {
		return nil, nil, err
	}
	classes, err1 := sinter.Values[int64](arrays[0])
	probabilities, err2 := sinter.Values[float32](arrays[1])
	return classes, probabilities, errors.Join(err1, err2)
}
