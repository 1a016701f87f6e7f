// Command warm learns digits for a few steps and starts with the plans of an
// earlier run, which it embeds: no fusion is searched for, and kernels are compiled
// when the plans are loaded, not when the first step waits for them.
//
//	go run ./examples/warm             # with the embedded plans
//	go run ./examples/warm warm.plans  # cold, and writes the plans
//
// Plans of another build are refused, and the program starts cold.
package main

//go:generate go run . warm.plans

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

//go:embed warm.plans
var plans []byte

func main() {
	var err error
	switch len(os.Args) {
	case 1:
		_, err = run(context.Background(), os.Stdout, plans, nil)
	case 2:
		var made bytes.Buffer
		if _, err = run(context.Background(), os.Stdout, nil, &made); err == nil {
			err = os.WriteFile(os.Args[1], made.Bytes(), 0o644)
		}
	default:
		fmt.Fprintln(os.Stderr, "usage: warm [FILE]")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	steps = 20
	batch = 64
)

// run learns, with the plans of a bundle if there is one, and saves the plans that
// it has in the end. It returns the segments for which a plan was searched.
func run(ctx context.Context, w io.Writer, bundle []byte, save io.Writer) (searches int64, err error) {
	device, err := sinter.NewRuntime().Device("cpu")
	if err != nil {
		return 0, err
	}
	defer device.Close()
	if bundle != nil {
		report, err := sinter.LoadBundle(device, bytes.NewReader(bundle))
		if err != nil {
			fmt.Fprintln(w, err) // and starts cold
		}
		fmt.Fprintf(w, "%d plans loaded, %d kernels compiled\n", report.Plans, report.Compiled)
	}
	digits, err := data.Digits()
	if err != nil {
		return 0, err
	}
	on, g := sinter.On(device), sinter.NewGenerator(1)
	layer := func(in, out int) *nn.Linear {
		return &nn.Linear{Weight: sinter.NewVar(g.Normal(on, sinter.F32, out, in).Mul(0.1)), Bias: sinter.NewVar(on.Zeros(sinter.F32, out))}
	}
	model := nn.Sequential{layer(digits.Features, 32), nn.ReLU, layer(32, 10)}
	optimizer := optim.NewAdam(nn.Params(model), optim.Constant(0.01))
	if err := device.Sync(ctx); err != nil {
		return 0, err
	}
	var last float32
	for i := range steps {
		if last, err = step(ctx, on, model, optimizer, digits, i*batch); err != nil {
			return 0, err
		}
	}
	stats := device.Backend().(*fusion.Client).Stats()
	fmt.Fprintf(w, "loss %.3f after %d steps; plans: %d searched, %d found\n", last, steps, stats.Searches, stats.Hits)
	if save != nil {
		saved, err := sinter.SaveBundle(device, save)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(w, "%d plans saved, %d bytes\n", saved.Plans, saved.Bytes)
	}
	return stats.Searches, nil
}

func step(ctx context.Context, on sinter.Of, model nn.Layer, optimizer optim.Optimizer, digits *data.Set, from int) (float32, error) {
	s := sinter.NewScope("step")
	defer s.End()
	x := s.Own(sinter.FromSliceOn(on, digits.Pixels[from*digits.Features:(from+batch)*digits.Features], batch, digits.Features))
	y := s.Own(sinter.FromSliceOn(on, digits.Labels[from:from+batch], batch))
	loss := nn.CrossEntropy(nn.Forward(nn.Training(nil), model, x), y)
	var vars []*sinter.Var
	for _, p := range nn.Params(model) {
		vars = append(vars, p.Var)
	}
	grads, err := autodiff.Gradients(loss, vars...)
	if err != nil {
		return 0, err
	}
	if err := optimizer.Step(grads); err != nil {
		return 0, err
	}
	values, err := sinter.Data[float32](ctx, loss)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}
