package train_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/train"
)

func Example() {
	digits, err := data.Digits()
	if err != nil {
		fmt.Println(err)
		return
	}
	learn, test, err := digits.Split(1, 0.2)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := sinter.NewGenerator(1)
	model := nn.Sequential{nn.NewLinear(g, 64, 32), nn.ReLU, nn.NewLinear(g, 32, 10)}
	loop := &train.Loop{
		Model: model, Optimizer: optim.NewAdam(nn.Params(model), optim.Constant(0.01)),
		Train: learn, Test: test, Epochs: 2, Batch: 64, Seed: 1,
	}
	report, err := loop.Run(context.Background())
	fmt.Println(report.Epoch, report.Test.Accuracy() > 0.9, err)
	// Output: 2 true <nil>
}
