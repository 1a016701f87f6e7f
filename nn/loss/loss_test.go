package loss_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn/loss"
)

var ctx = context.Background()

func random(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Floor(r.Float64()*6) - 3 + 0.1 + 0.3*r.Float64()
	}
	return v
}

func fractions(seed uint64, n int) []float64 {
	v := random(seed, n)
	for i := range v {
		v[i] = 1 / (1 + math.Exp(-v[i]))
	}
	return v
}

func tensor(v []float64, shape ...int) *sinter.Tensor {
	return sinter.FromSlice(v, len(v)).Reshape(shape...)
}

func data(t *testing.T, x *sinter.Tensor) []float64 {
	t.Helper()
	v, err := sinter.Data[float64](ctx, x.Cast(sinter.F64))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// reduced checks none, sum and mean of values, in f64 and f32; divisor 0 means
// their number.
func reduced(t *testing.T, what string, f func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor, want []float64, divisor float64, in ...*sinter.Tensor) {
	t.Helper()
	sum := 0.0
	for _, v := range want {
		sum += v
	}
	if divisor == 0 {
		divisor = float64(len(want))
	}
	for _, d := range []sinter.DType{sinter.F64, sinter.F32} {
		tol := 1e-13
		if d == sinter.F32 {
			tol = 2e-5
		}
		cast := make([]*sinter.Tensor, len(in))
		for i, x := range in {
			if cast[i] = x; x.DType().IsFloat() {
				cast[i] = x.Cast(d)
			}
		}
		for r, w := range map[loss.Reduction][]float64{loss.None: want, loss.Sum: {sum}, loss.Mean: {sum / divisor}} {
			y := f(r, cast...)
			if y.Err() == nil && y.DType() != d {
				t.Errorf("%s: the loss is %s, expected %s", what, y.DType(), d)
			}
			got := data(t, y)
			if len(got) != len(w) {
				t.Fatalf("%s %d: %d values, expected %d", what, r, len(got), len(w))
			}
			for i := range got {
				if !(math.Abs(got[i]-w[i]) <= tol*math.Max(1, math.Abs(w[i]))) && !(math.IsNaN(got[i]) && math.IsNaN(w[i])) && got[i] != w[i] {
					t.Errorf("%s %s, reduction %d: value %d is %v, expected %v", what, d, r, i, got[i], w[i])
				}
			}
		}
	}
}

func gradients(t *testing.T, what string, f func(in ...*sinter.Tensor) *sinter.Tensor, in ...*sinter.Tensor) {
	t.Helper()
	g := func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in...)} }
	if err := gradcheck.Check(ctx, g, in...); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func zip(x, y []float64, f func(x, y float64) float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = f(x[i], y[i])
	}
	return out
}

func TestElementwise(t *testing.T) {
	const n = 12
	x, y := random(1, n), random(2, n)
	p, q := fractions(3, n), fractions(4, n)
	q[0], q[1], p[2] = 0, 1, 0.25
	softplus := func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	huber := func(d, delta float64) float64 {
		if d = math.Abs(d); d <= delta {
			return d * d / 2
		}
		return delta * (d - delta/2)
	}
	for _, c := range []struct {
		name string
		f    func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor
		in   [2][]float64
		want func(x, y float64) float64
	}{
		{"mse", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.MSE(in[0], in[1], r) }, [2][]float64{x, y},
			func(x, y float64) float64 { return (x - y) * (x - y) }},
		{"l1", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.L1(in[0], in[1], r) }, [2][]float64{x, y},
			func(x, y float64) float64 { return math.Abs(x - y) }},
		{"huber", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.Huber(in[0], in[1], 1.5, r) }, [2][]float64{x, y},
			func(x, y float64) float64 { return huber(x-y, 1.5) }},
		{"smooth l1", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.SmoothL1(in[0], in[1], 0.7, r)
		}, [2][]float64{x, y},
			func(x, y float64) float64 { return huber(x-y, 0.7) / 0.7 }},
		{"smooth l1 of 0", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.SmoothL1(in[0], in[1], 0, r) }, [2][]float64{x, y},
			func(x, y float64) float64 { return math.Abs(x - y) }},
		{"hinge", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.Hinge(in[0], in[1], r) }, [2][]float64{x, y},
			func(x, y float64) float64 { return math.Max(0, 1-x*y) }},
		{"kl", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.KL(in[0], in[1], loss.KLOptions{Reduction: r})
		}, [2][]float64{x, q},
			func(x, q float64) float64 {
				if q == 0 {
					return 0
				}
				return q * (math.Log(q) - x)
			}},
		{"kl of logarithms", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.KL(in[0], in[1], loss.KLOptions{LogTarget: true, Reduction: r})
		}, [2][]float64{x, y}, func(x, y float64) float64 { return math.Exp(y) * (y - x) }},
		{"bce logits", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.BCELogits(in[0], in[1], nil, r)
		}, [2][]float64{x, q},
			func(x, q float64) float64 { return q*softplus(-x) + (1-q)*softplus(x) }},
		{"bce weighted", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
			return loss.BCELogits(in[0], in[1], tensor([]float64{2.5}, 1).Cast(in[0].DType()), r)
		}, [2][]float64{x, q}, func(x, q float64) float64 { return 2.5*q*softplus(-x) + (1-q)*softplus(x) }},
		{"bce", func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor { return loss.BCE(in[0], in[1], r) }, [2][]float64{p, q},
			func(p, q float64) float64 { return -q*math.Log(p) - (1-q)*math.Log(1-p) }},
	} {
		a, b := tensor(c.in[0], 3, 4), tensor(c.in[1], 3, 4)
		reduced(t, c.name, c.f, zip(c.in[0], c.in[1], c.want), 0, a, b)
		if c.name != "kl" {
			gradients(t, c.name, func(in ...*sinter.Tensor) *sinter.Tensor { return c.f(loss.None, in...) }, a.Slice(sinter.Until(1)), b.Slice(sinter.From(2)))
		} else {
			gradients(t, c.name, func(in ...*sinter.Tensor) *sinter.Tensor { return c.f(loss.Mean, in[0], b) }, a)
		}
		if err := c.f(loss.Mean, a, b.Reshape(12)).Err(); !errors.Is(err, ir.ErrShape) {
			t.Errorf("%s: shapes that differ gave %v", c.name, err)
		}
	}
	if y := data(t, loss.BCE(tensor([]float64{0, 1}, 2), tensor([]float64{1, 0}, 2), loss.None)); y[0] != 100 || y[1] != 100 {
		t.Errorf("certain and wrong: %v", y)
	}
	batch := data(t, loss.KL(tensor(x, 3, 4), tensor(y, 3, 4), loss.KLOptions{LogTarget: true, Batch: true}))[0]
	sum := data(t, loss.KL(tensor(x, 3, 4), tensor(y, 3, 4), loss.KLOptions{LogTarget: true, Reduction: loss.Sum}))[0]
	if math.Abs(batch-sum/3) > 1e-14*math.Abs(sum) {
		t.Errorf("the mean over the batch is %v, the sum %v", batch, sum)
	}
}

func TestEmbeddings(t *testing.T) {
	const n, d = 3, 4
	a, b, c := random(1, n*d), random(2, n*d), random(3, n*d)
	y := []float64{1, -1, -1}
	dot := func(x, y []float64, i int) (s float64) {
		for j := range d {
			s += x[i*d+j] * y[i*d+j]
		}
		return s
	}
	distance := func(x, y []float64, i int) float64 {
		s := 0.0
		for j := range d {
			s += (x[i*d+j] - y[i*d+j]) * (x[i*d+j] - y[i*d+j])
		}
		return math.Sqrt(s)
	}
	cosine, triplet := make([]float64, n), make([]float64, n)
	for i := range n {
		cos := dot(a, b, i) / math.Sqrt(dot(a, a, i)*dot(b, b, i))
		if cosine[i] = 1 - cos; y[i] < 0 {
			cosine[i] = math.Max(0, cos+0.5)
		}
		triplet[i] = math.Max(0, distance(a, b, i)-distance(a, c, i)+2)
	}
	embed := func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
		return loss.CosineEmbedding(in[0], in[1], tensor(y, n), -0.5, r)
	}
	margin := func(r loss.Reduction, in ...*sinter.Tensor) *sinter.Tensor {
		return loss.TripletMargin(in[0], in[1], in[2], 2, r)
	}
	x1, x2, x3 := tensor(a, n, d), tensor(b, n, d), tensor(c, n, d)
	reduced(t, "cosine", embed, cosine, 0, x1, x2)
	reduced(t, "triplet", margin, triplet, 0, x1, x2, x3)
	gradients(t, "cosine", func(in ...*sinter.Tensor) *sinter.Tensor { return embed(loss.None, in...) }, x1, x2)
	gradients(t, "triplet", func(in ...*sinter.Tensor) *sinter.Tensor { return margin(loss.None, in...) }, x1, x2, x3)
}
