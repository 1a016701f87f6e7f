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

// A rate that falls from round to round is fed, and rounds are counted, whether they are
// recorded or replayed.
func ExampleFed() {
	ctx := context.Background()
	device, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	x := sinter.NewVar(sinter.On(device).Full(8, sinter.F32))
	rounds := 0
	step := sinter.Capture(device, func(s *sinter.Scope, _ []*sinter.Tensor) ([]*sinter.Tensor, error) {
		now := x.In(s).Detach()
		rate := sinter.Fed(now, func() float64 { return 1 / float64(rounds+1) })
		rounds++
		s.OnReplay(func() { rounds++ })
		return nil, x.Set(now.Sub(rate))
	})
	defer step.Release()
	for range 8 {
		if _, err := step.Run(ctx); err != nil {
			fmt.Println(err)
			return
		}
	}
	v, err := sinter.Item[float32](ctx, x.Borrow())
	fmt.Printf("%.4f after %d rounds, %d of them replayed, %v\n", v, rounds, step.Stats().Replayed, err)
	// Output: 5.2821 after 8 rounds, 5 of them replayed, <nil>
}

// The times differ from run to run; the kernels do not.
func ExampleDevice_Profile() {
	ctx := context.Background()
	device, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	x := sinter.On(device).Ones(sinter.F32, 256, 256)
	p, err := device.Profile(ctx, func() error {
		for range 3 {
			if _, err := sinter.Data[float32](ctx, x.MatMul(x)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, k := range p.Kernels {
		fmt.Println(k.Name, k.Runs, k.Time > 0)
	}
	// Output: matmul 3 true
}
