// Command uncertainty fits a curve and how far samples stray from it: a network with
// two outputs, mean and logarithm of the variance, trained on the likelihood of a
// normal distribution. The samples stray further on the right.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// net has two heads on a common body.
type net struct {
	Body           nn.Sequential
	Mean, Variance *nn.Linear
}

func newNet(g *sinter.Generator) *net {
	return &net{
		Body: nn.Sequential{nn.NewLinear(g, 1, 32), nn.Tanh, nn.NewLinear(g, 32, 32), nn.Tanh},
		Mean: nn.NewLinear(g, 32, 1), Variance: nn.NewLinear(g, 32, 1),
	}
}

// forward returns means and logarithms of variances for x of shape [n, 1].
func (n *net) forward(x *sinter.Tensor) (mean, logVariance *sinter.Tensor) {
	h := n.Body.Forward(x)
	return n.Mean.Forward(h), n.Variance.Forward(h)
}

// loss is the mean negative log likelihood, but for a constant.
func loss(mean, logVariance, y *sinter.Tensor) *sinter.Tensor {
	return y.Sub(mean).Square().Mul(logVariance.Neg().Exp()).Add(logVariance).Mean().Mul(0.5)
}

// curve and deviation are what the samples are drawn from, for x from -1 to 1.
func curve(x float64) float64     { return math.Sin(4*x) + x }
func deviation(x float64) float64 { return 0.05 + 0.25*(x+1)/2 }

// point is what the network says at a place.
type point struct{ X, Mean, Deviation float64 }

const (
	samples = 1024
	steps   = 600
)

func run(ctx context.Context, w io.Writer) ([]point, error) {
	r := rand.New(rand.NewPCG(1, 1))
	xs, ys := make([]float32, samples), make([]float32, samples)
	for i := range xs {
		x := 2*r.Float64() - 1
		xs[i], ys[i] = float32(x), float32(curve(x)+deviation(x)*r.NormFloat64())
	}
	x, y := sinter.FromSlice(xs, samples, 1), sinter.FromSlice(ys, samples, 1)
	n := newNet(sinter.NewGenerator(1))
	opt := optim.NewAdam(nn.Params(n), optim.Cosine(0.01, 0.0005, steps))
	for step := range steps {
		s := sinter.NewScope("step")
		mean, logVariance := n.forward(s.In(x))
		l := loss(mean, logVariance, s.In(y))
		grads, err := autodiff.Gradients(l, nn.Vars(n)...)
		if err == nil {
			err = opt.Step(grads)
		}
		if err == nil && (step+1)%(steps/4) == 0 {
			var v float32
			if v, err = sinter.Item[float32](ctx, l); err == nil {
				fmt.Fprintf(w, "step %3d  loss %.4f\n", step+1, v)
			}
		}
		s.End()
		if err != nil {
			return nil, err
		}
	}
	return n.table(ctx, w)
}

// table prints what the network says beside the truth.
func (n *net) table(ctx context.Context, w io.Writer) ([]point, error) {
	s := sinter.NewScope("table", sinter.NoGrad())
	defer s.End()
	at := sinter.LinSpace(-0.9, 0.9, 7, sinter.F32)
	mean, logVariance := n.forward(s.In(at).Unsqueeze(1))
	arrays, err := sinter.Read(ctx, at, mean, logVariance.Mul(0.5).Exp())
	if err != nil {
		return nil, err
	}
	var columns [3][]float32
	for i, a := range arrays {
		if columns[i], err = sinter.Values[float32](a); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(w, "    x   mean (truth)       deviation (truth)")
	var out []point
	for i, x := range columns[0] {
		p := point{float64(x), float64(columns[1][i]), float64(columns[2][i])}
		fmt.Fprintf(w, "%5.2f  %5.2f (%5.2f)      %5.3f (%5.3f)\n", p.X, p.Mean, curve(p.X), p.Deviation, deviation(p.X))
		out = append(out, p)
	}
	return out, nil
}
