package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/fusion"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// network is a model over digits, to be compared fused and unfused.
type network struct {
	name string
	make func(g *sinter.Generator, on nn.Option) nn.Layer
}

var networks = []network{
	{"two layers", func(g *sinter.Generator, on nn.Option) nn.Layer {
		return nn.Sequential{nn.NewLinear(g, 64, 128, on), nn.ReLU, nn.NewLinear(g, 128, 10, on)}
	}},
	{"convolutions", func(g *sinter.Generator, on nn.Option) nn.Layer {
		image := nn.Func(func(x *sinter.Tensor) *sinter.Tensor { return x.Reshape(-1, 1, 8, 8) })
		return nn.Sequential{image,
			nn.NewConv2d(g, 1, 16, 3, nn.Pad(1), on), nn.NewBatchNorm(16, on), nn.ReLU,
			nn.NewConv2d(g, 16, 32, 3, nn.Pad(1), nn.Stride(2), on), nn.NewBatchNorm(32, on), nn.ReLU,
			nn.Flatten, nn.NewLinear(g, 32*16, 10, on)}
	}},
	{"transformer", func(g *sinter.Generator, on nn.Option) nn.Layer { // a token per row of pixels
		rows := nn.Func(func(x *sinter.Tensor) *sinter.Tensor { return x.Reshape(-1, 8, 8) })
		return nn.Sequential{rows, nn.NewLinear(g, 8, 32, on),
			nn.NewTransformerBlock(g, 32, 4, 64, on), nn.NewTransformerBlock(g, 32, 4, 64, on),
			nn.Flatten, nn.NewLinear(g, 8*32, 10, on)}
	}},
}

// digitsRun is a network on a device with a batch of digits.
type digitsRun struct {
	dev       *sinter.Device
	client    *fusion.Client
	model     nn.Layer
	optimizer *optim.Adam
	vars      []*sinter.Var
	mode      nn.Mode
	x, labels *sinter.Tensor
}

const batch = 64

func newDigitsRun(n network, o fusion.Options) (*digitsRun, error) {
	dev, err := sinter.NewRuntime(sinter.WithFusionOptions(o)).Device("cpu")
	if err != nil {
		return nil, err
	}
	client, ok := backend.As[*fusion.Client](dev.Backend())
	if !ok {
		return nil, fmt.Errorf("device %s does not fuse", dev)
	}
	set, err := data.Digits()
	if err != nil {
		return nil, err
	}
	r := &digitsRun{dev: dev, client: client, mode: nn.Training(sinter.NewGenerator(2)),
		model: n.make(sinter.NewGenerator(1), nn.On(dev))}
	pixels, labels := make([]float32, 0, batch*64), make([]int64, 0, batch)
	for i := range batch {
		pixels = append(pixels, set.Pixels[64*i:][:64]...)
		labels = append(labels, int64(set.Labels[i]))
	}
	on := sinter.On(dev)
	r.x, r.labels = sinter.FromSliceOn(on, pixels, batch, 64), sinter.FromSliceOn(on, labels, batch)
	params := nn.Trainable(r.model)
	r.optimizer = optim.NewAdam(params, optim.Constant(0.001))
	for _, p := range params {
		r.vars = append(r.vars, p.Var)
	}
	return r, nil
}

// infer returns the scores of the batch.
func (r *digitsRun) infer(ctx context.Context) ([]float32, error) {
	s := sinter.NewScope("inference")
	y := s.Keep(nn.Forward(nn.Mode{}, r.model, s.In(r.x)))
	s.End() // what is in between is released before anything runs
	defer y.Release()
	return sinter.Data[float32](ctx, y)
}

// train makes one step and returns the loss.
func (r *digitsRun) train(ctx context.Context) ([]float32, error) {
	s := sinter.NewScope("step")
	defer s.End()
	loss := nn.CrossEntropy(nn.Forward(r.mode, r.model, s.In(r.x)), s.In(r.labels))
	grads, err := autodiff.Gradients(loss, r.vars...)
	if err != nil {
		return nil, err
	}
	if err := r.optimizer.Step(grads); err != nil {
		return nil, err
	}
	loss = s.Keep(loss.Detach())
	s.End()
	defer loss.Release()
	return sinter.Data[float32](ctx, loss)
}

// state reads all parameters and buffers.
func (r *digitsRun) state(ctx context.Context) ([][]byte, error) {
	var out [][]byte
	for _, p := range nn.Params(r.model) {
		data, err := sinter.Read(ctx, p.Var.Borrow())
		if err != nil {
			return nil, err
		}
		for _, d := range data {
			out = append(out, d.Bytes)
		}
	}
	return out, nil
}

// figures are what one run of a network takes.
type figures struct {
	kernels, launches int
	bytes, peak       int64
	baseline          int64 // the peak of one operation per kernel, with no result in place of an operand
}

// figuresOf runs f and adds up the plans of its segments.
func (r *digitsRun) figuresOf(ctx context.Context, f func(context.Context) ([]float32, error)) (sum figures, err error) {
	if err := r.dev.Sync(ctx); err != nil {
		return sum, err
	}
	stop := r.client.Inspect(func(x fusion.Run) {
		e := x.Explain()
		sum.kernels += e.Kernels
		sum.launches += e.Launches
		sum.bytes += e.Read + e.Written
		sum.peak, sum.baseline = max(sum.peak, e.Peak), max(sum.baseline, e.Unfused.Peak)
	})
	_, err = f(ctx)
	if err == nil {
		err = r.dev.Sync(ctx)
	}
	stop()
	return sum, err
}

// pair is a network fused and unfused, brought to the same state.
type pair struct{ fused, single *digitsRun }

func newPair(n network) (p pair, err error) {
	if p.fused, err = newDigitsRun(n, fusion.Options{}); err != nil {
		return p, err
	}
	p.single, err = newDigitsRun(n, fusion.Options{Plan: fusion.PlanOptions{Unfused: true}})
	return p, err
}

// train makes steps on both, and returns an error at the first bit that differs.
func (p pair) train(ctx context.Context, steps int) error {
	for i := range steps {
		for _, f := range []func(*digitsRun, context.Context) ([]float32, error){(*digitsRun).train, (*digitsRun).infer} {
			a, err := f(p.fused, ctx)
			if err != nil {
				return err
			}
			b, err := f(p.single, ctx)
			if err != nil {
				return err
			}
			if !slices.Equal(a, b) {
				return fmt.Errorf("step %d: fused and unfused differ: %v and %v", i, a[0], b[0])
			}
		}
	}
	a, err := p.fused.state(ctx)
	if err != nil {
		return err
	}
	b, err := p.single.state(ctx)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(a, b, bytes.Equal) {
		return fmt.Errorf("after %d steps parameters differ", steps)
	}
	return nil
}

// fusionTable compares networks over digits, fused and unfused.
func fusionTable(rounds int) error {
	ctx := context.Background()
	fmt.Printf("Networks over %d digits, fused / unfused (one operation per kernel), equal bits; time is the ratio, the median of %d rounds in which both take turns, on %s/%s.\n\n",
		batch, rounds, runtime.GOOS, runtime.GOARCH)
	fmt.Print("| network | what | kernels | launches | KB moved | peak KB | time |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, n := range networks {
		p, err := newPair(n)
		if err != nil {
			return err
		}
		if err := p.train(ctx, 5); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		for _, what := range []struct {
			name string
			run  func(*digitsRun, context.Context) ([]float32, error)
		}{{"training", (*digitsRun).train}, {"inference", (*digitsRun).infer}} {
			var figs [2]figures
			var vs []*variant
			var failed error
			for i, r := range []*digitsRun{p.fused, p.single} {
				if figs[i], err = r.figuresOf(ctx, func(ctx context.Context) ([]float32, error) { return what.run(r, ctx) }); err != nil {
					return err
				}
				vs = append(vs, &variant{run: func() {
					if _, err := what.run(r, ctx); err != nil {
						failed = err
					}
				}})
			}
			measure(rounds, vs)
			if failed != nil {
				return failed
			}
			f, u := figs[0], figs[1]
			fmt.Printf("| %s | %s | %d / %d | %d / %d | %d / %d | %d / %d | %.2f |\n", n.name, what.name, f.kernels, u.kernels,
				f.launches, u.launches, f.bytes>>10, u.bytes>>10, f.peak>>10, u.peak>>10, vs[0].median()/vs[1].median())
		}
	}
	return nil
}
