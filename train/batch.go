package train

import (
	"math/rand/v2"

	"github.com/sinter-go/sinter"
)

// Augment changes a sample in place. The random numbers are its own, and depend
// on seed, step and position in the batch.
type Augment func(sample []float32, random *rand.Rand)

// random is the source of random numbers of a step.
type random struct{ seed, step uint64 }

// augmentStream keeps the random numbers of samples apart from those that shuffle
// them, and modeStream those of layers from both, for equal seeds.
const (
	augmentStream = 0x6175676d656e74
	modeStream    = 0x6c61796572
)

func (l *Loop) random(step int) *random { return &random{l.Seed ^ augmentStream, uint64(step)} }

// of returns the numbers of sample i of the step.
func (r *random) of(i int) *rand.Rand {
	return rand.New(rand.NewPCG(r.seed, r.step<<20|uint64(i)))
}

// generator is for the parts of steps, and draws is how many draws it has made before
// the part that begins at sample i. What layers draw depends on seed, step and part
// alone, so that a resumed training draws the same.
func (r *random) generator() *sinter.Generator { return sinter.NewGenerator(r.seed ^ modeStream) }

func (r *random) draws(i int) uint64 { return r.step<<32 | uint64(i)<<12 }

// load puts rows of the training set on the device: f32 samples of shape [batch,
// features] and i64 labels of shape [batch].
func (l *Loop) load(dev *sinter.Device, rows []int, random *random) (x, labels *sinter.Tensor) {
	features := l.Train.Features
	values := make([]float32, 0, len(rows)*features)
	marks := make([]int64, len(rows))
	for i, r := range rows {
		values = append(values, l.Train.Row(r)...)
		marks[i] = l.Train.Labels[r]
		if l.Augment != nil {
			l.Augment(values[i*features:], random.of(i))
		}
	}
	on := sinter.On(dev)
	return sinter.FromSliceOn(on, values, len(rows), features), sinter.FromSliceOn(on, marks)
}
