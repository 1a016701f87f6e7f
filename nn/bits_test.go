package nn_test

import (
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/cpu"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// zoo has most layers one after the other.
type zoo struct {
	Image    nn.Sequential
	Sequence nn.Sequential
	Out      *nn.Linear
}

func newZoo(d *sinter.Device) *zoo {
	g, on := sinter.NewGenerator(5), nn.On(d)
	return &zoo{
		Image: nn.Sequential{nn.NewConv2d(g, 2, 6, 3, nn.PadSame(), on), nn.NewBatchNorm(6, on), nn.GELU, nn.MaxPool{Kernel: []int{2}},
			nn.NewConvTranspose2d(g, 6, 4, 2, nn.Stride(2), nn.InitWith(nn.Orthogonal(1)), on), nn.NewGroupNorm(2, 4, on), nn.SiLU, nn.AdaptiveAvgPool{4, 2}},
		Sequence: nn.Sequential{nn.SinusoidalPositions{},
			nn.NewTransformerBlock(g, 8, 4, 16, nn.Causal(), nn.KVHeads(2), nn.Rotary(10000), nn.SwiGLU(), nn.RMS(), nn.DropoutRate(0.1), on),
			nn.NewLSTM(g, 8, 8, nn.Bidirectional(), on), nn.Dropout{P: 0.2}},
		Out: nn.NewLinear(g, 16, 3, nn.InitWith(nn.TruncatedNormal(0.1, -2, 2)), on),
	}
}

func (z *zoo) loss(m nn.Mode, x *sinter.Tensor) *sinter.Tensor {
	x = z.Image.ForwardMode(m, x).Reshape(x.Dim(0), 4, 8) // channels as a sequence
	x = z.Sequence.ForwardMode(m, x)
	return z.Out.Forward(x).Square().Mean()
}

// TestEqualBits trains layers on devices that compute in different ways.
func TestEqualBits(t *testing.T) {
	want := map[string]string{}
	for _, o := range []cpu.Options{{Generator: cpu.Interpret, Threads: 1}, {Threads: 1}, {Threads: 3}} {
		b, err := cpu.New(o)
		if err != nil {
			t.Fatal(err)
		}
		d := sinter.Default().Adopt(b)
		for name, build := range map[string]func(p []nn.Named) optim.Optimizer{
			"adam": func(p []nn.Named) optim.Optimizer { return optim.NewAdamW(p, optim.OneCycle(0.01, 4), 0.1) },
			"muon": func(p []nn.Named) optim.Optimizer {
				return optim.NewMuon(p, optim.Constant(0.02), optim.Constant(0.01), 0.1, nil)
			},
			"lamb": func(p []nn.Named) optim.Optimizer { return optim.NewLAMB(p, optim.Exponential(0.01, 0.9), 0.1) },
		} {
			z := newZoo(d)
			opt := build(nn.Params(z))
			draws := sinter.NewGenerator(9)
			for range 3 {
				s := sinter.NewScope("step")
				x := s.Own(draws.Normal(sinter.On(d), sinter.F32, 3, 2, 6, 6))
				grads, err := autodiff.Gradients(z.loss(nn.Training(draws), x), nn.Vars(z)...)
				if err == nil {
					grads, _ = optim.ClipByNorm(grads, 0.5)
					err = opt.Step(grads)
				}
				s.End()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			h, err := nn.Hash(t.Context(), z)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want[name] == "" {
				want[name] = h
			}
			if h != want[name] {
				t.Errorf("%s: other bits with %+v", name, o)
			}
		}
		d.Close()
	}
}
