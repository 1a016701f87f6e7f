package sinter_test

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
)

// A counter is a variable that each round reads and sets. After a few rounds the
// function is not called any more.
func ExampleCapture() {
	ctx := context.Background()
	device, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	total := sinter.NewVar(sinter.On(device).Zeros(sinter.F32))
	calls := 0
	step := sinter.Capture(device, func(s *sinter.Scope, in []*sinter.Tensor) ([]*sinter.Tensor, error) {
		calls++
		sum := total.In(s).Detach().Add(in[0].Sum())
		return []*sinter.Tensor{sum.Mul(10)}, total.Set(sum)
	})
	defer step.Release()
	for round := range 10 {
		x := sinter.FromSliceOn(sinter.On(device), []float32{float32(round), 1})
		out, err := step.Run(ctx, x)
		if err != nil {
			fmt.Println(err)
			return
		}
		if round == 9 {
			fmt.Println(out[0])
		}
		x.Release()
		out[0].Release()
	}
	stats := step.Stats()
	fmt.Println(calls, "calls,", stats.Replayed, "rounds replayed")
	// Output:
	// 550. f32[]
	// 3 calls, 7 rounds replayed
}
