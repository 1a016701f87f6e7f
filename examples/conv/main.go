// Command conv trains a convolutional network on the embedded handwritten digits
// and prints how many it gets right that it has not seen.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

func main() {
	epochs := flag.Int("epochs", 20, "times to go through the digits")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, *epochs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const side = 8 // pixels of a digit

// newNet makes the network: pixels as [1, 8, 8], convolutions of 3×3 with
// batch normalisation, two linear layers.
func newNet(seed uint64) nn.Sequential {
	g := sinter.NewGenerator(seed)
	image := nn.Func(func(x *sinter.Tensor) *sinter.Tensor { return x.Reshape(-1, 1, side, side) })

	return nn.Sequential{
		image,
		nn.NewConv2d(g, 1, 16, 3, nn.Pad(1)), nn.NewBatchNorm(16), nn.ReLU,
		nn.NewConv2d(g, 16, 32, 3, nn.Pad(1), nn.Stride(2)), nn.NewBatchNorm(32), nn.ReLU,
		nn.NewConv2d(g, 32, 32, 3, nn.Pad(1)), nn.NewBatchNorm(32), nn.ReLU,
		nn.Flatten,
		nn.Dropout{P: 0.3}, nn.NewLinear(g, 32*side/2*side/2, 10),
	}
}

// shift moves a digit by up to a pixel in each direction: there are few to learn
// from.
func shift(x []float32, r *rand.Rand) {
	dx, dy := r.IntN(3)-1, r.IntN(3)-1
	var moved [side * side]float32
	for i := range moved {
		if fx, fy := i%side-dx, i/side-dy; fx >= 0 && fx < side && fy >= 0 && fy < side {
			moved[i] = x[fy*side+fx]
		}
	}
	copy(x, moved[:])
}

func run(ctx context.Context, w io.Writer, epochs int) (train.Report, error) {
	digits, err := data.Digits()
	if err != nil {
		return train.Report{}, err
	}
	learn, test, err := digits.Split(1, 0.2)
	if err != nil {
		return train.Report{}, err
	}
	net := newNet(1)
	loop := &train.Loop{Model: net, Train: learn, Test: test, Epochs: epochs, Batch: 64, Seed: 1, Augment: shift}
	total := int64(epochs * loop.Steps())
	loop.Optimizer = optim.NewAdamW(nn.Params(net), optim.OneCycle(0.01, total), 0.02)
	loop.Events.Epoch = func(r train.Report) {
		fmt.Fprintf(w, "epoch %2d/%d  loss %.4f  right %.2f %%  %.1f s\n", r.Epoch, r.Epochs, r.Loss, 100*r.Test.Accuracy(), r.Time.Seconds())
	}
	return loop.Run(ctx)
}
