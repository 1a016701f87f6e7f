// Command vae trains a variational autoencoder on the embedded handwritten digits
// and writes a picture of digits that it makes up: Kingma and Welling (2014), two
// small networks and a code of eight numbers between them.
package main

import (
	"context"
	"flag"
	"fmt"
	"image/png"
	"io"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/nn/loss"
	"github.com/sinter-go/sinter/optim"
)

func main() {
	out := flag.String("out", "digits.png", "picture to write")
	epochs := flag.Int("epochs", 60, "times to go through the digits")
	flag.Parse()
	if _, err := run(context.Background(), os.Stdout, *epochs, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	side  = 8
	code  = 8
	batch = 64
	rows  = 8 // digits of the picture, in each direction
)

// vae is an encoder, which gives mean and logarithm of the variance of a code, and
// a decoder, which gives the pixels of one as logits.
type vae struct{ Encoder, Decoder nn.Sequential }

func newVAE(g *sinter.Generator) *vae {
	return &vae{
		Encoder: nn.Sequential{nn.NewLinear(g, side*side, 128), nn.ReLU, nn.NewLinear(g, 128, 2*code)},
		Decoder: nn.Sequential{nn.NewLinear(g, code, 128), nn.ReLU, nn.NewLinear(g, 128, side*side)},
	}
}

// loss is the evidence lower bound of samples, negative: how badly they come back,
// and how far codes are from normal ones. noise is normal, one number for each of a
// code.
func (v *vae) loss(x, noise *sinter.Tensor) *sinter.Tensor {
	parts := v.Encoder.Forward(x).Chunk(1, 2)
	mean, logVariance := parts[0], parts[1]
	z := mean.Add(noise.Mul(logVariance.Mul(0.5).Exp()))
	missed := loss.BCELogits(v.Decoder.Forward(z), x, nil, loss.Sum)
	far := mean.Square().Add(logVariance.Exp()).Sub(logVariance).Sub(1).Sum().Mul(0.5)
	return missed.Add(far).Div(x.Dim(0))
}

// result is the loss per digit in the first and the last epoch, and the pixels of
// the digits that were made up.
type result struct {
	First, Last float64
	Pixels      []float32
}

func run(ctx context.Context, w io.Writer, epochs int, out string) (result, error) {
	digits, err := data.Digits()
	if err != nil {
		return result{}, err
	}
	g := sinter.NewGenerator(1)
	v := newVAE(g)
	opt := optim.NewAdam(nn.Params(v), optim.Constant(0.003))
	batches := &data.Loader[[]float32, []float32]{
		Len: digits.N, Batch: batch, Seed: 1, DropLast: true, Ahead: 1,
		Get: func(_ context.Context, i int) ([]float32, error) { return digits.Row(i), nil },
		Collate: func(rows [][]float32) ([]float32, error) {
			var all []float32
			for _, r := range rows {
				all = append(all, r...)
			}
			return all, nil
		},
	}
	var r result
	for epoch := range epochs {
		total := sinter.NewVar(sinter.Zeros(sinter.F32))
		total.Freeze()
		for pixels, err := range batches.Epoch(ctx, epoch) {
			if err == nil {
				err = v.step(opt, g, pixels, total)
			}
			if err != nil {
				return r, err
			}
		}
		sum, err := sinter.Item[float32](ctx, total.Value())
		if err != nil {
			return r, err
		}
		if r.Last = float64(sum) / float64(batches.Batches()); epoch == 0 {
			r.First = r.Last
		}
		if (epoch+1)%10 == 0 {
			fmt.Fprintf(w, "epoch %d  loss %.3f\n", epoch+1, r.Last)
		}
	}
	if r.Pixels, err = v.sample(ctx, sinter.NewGenerator(2)); err != nil {
		return r, err
	}
	return r, write(out, r.Pixels)
}

func (v *vae) step(opt optim.Optimizer, g *sinter.Generator, pixels []float32, total *sinter.Var) error {
	s := sinter.NewScope("step")
	defer s.End()
	x := sinter.FromSlice(pixels, batch, side*side)
	noise := g.Normal(sinter.Of{}, sinter.F32, batch, code)
	defer x.Release()
	defer noise.Release()
	l := v.loss(s.In(x), s.In(noise))
	grads, err := autodiff.Gradients(l, nn.Vars(v)...)
	if err != nil {
		return err
	}
	if err := total.Set(total.In(s).Add(l.Detach())); err != nil {
		return err
	}
	return opt.Step(grads)
}

// sample decodes normal codes.
func (v *vae) sample(ctx context.Context, g *sinter.Generator) ([]float32, error) {
	s := sinter.NewScope("sample", sinter.NoGrad())
	defer s.End()
	z := s.In(g.Normal(sinter.Of{}, sinter.F32, rows*rows, code))
	return sinter.Data[float32](ctx, v.Decoder.Forward(z).Sigmoid())
}

// write makes one picture of the digits, dark on light, five pixels for each of
// theirs.
func write(path string, pixels []float32) error {
	const width = rows * side
	sheet := make([]float32, width*width)
	for i, p := range pixels {
		digit, x, y := i/(side*side), i%side, i/side%side
		sheet[(digit/rows*side+y)*width+digit%rows*side+x] = 1 - p
	}
	img, err := data.Images{Width: width, Height: width, Channels: 1}.Image(sheet)
	if err != nil {
		return err
	}
	large := data.Images{Width: 5 * width, Height: 5 * width, Channels: 1}
	v, err := large.Values(img)
	if err != nil {
		return err
	}
	if img, err = large.Image(v); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := png.Encode(f, img); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
