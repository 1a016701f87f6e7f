package fn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/fusetest"
	"github.com/sinter-go/sinter/nn/fn"
)

// bagModel combines rows of w bag by bag.
func bagModel(w host, bags [][]int64, factors []float64, mode fn.BagMode) host {
	width := w.shape[1]
	y := blank(len(bags), width)
	at := 0
	for b, bag := range bags {
		for c := range width {
			sum, most := 0.0, math.Inf(-1)
			for i, row := range bag {
				v := w.at(int(row), c)
				if factors != nil {
					v *= factors[at+i]
				}
				sum, most = sum+v, max(most, v)
			}
			switch {
			case len(bag) == 0:
				sum = 0
			case mode == fn.BagMean:
				sum /= float64(len(bag))
			case mode == fn.BagMax:
				sum = most
			}
			y.v[b*width+c] = sum
		}
		at += len(bag)
	}
	return y
}

// Bags of one size and by offsets, empty ones too, give what loops give, with
// gradients by the rows and the factors.
func TestEmbeddingBag(t *testing.T) {
	w := random(1, 7, 3)
	factors := random(2, 6)
	flat := []int64{4, 0, 2, 2, 6, 1}
	index := sinter.FromSlice(flat, len(flat))
	for _, mode := range []fn.BagMode{fn.BagSum, fn.BagMean, fn.BagMax} {
		for _, weighted := range []bool{false, true} {
			if weighted && mode == fn.BagMax {
				continue
			}
			f, in := []float64(nil), []host{w}
			if weighted {
				f, in = factors.v, append(in, factors)
			}
			even := func(ts ...*sinter.Tensor) *sinter.Tensor {
				o := fn.BagOptions{Mode: mode}
				if weighted {
					o.Weights = ts[1].Reshape(3, 2)
				}
				return fn.EmbeddingBag(ts[0], index.Reshape(3, 2), o)
			}
			ragged := func(ts ...*sinter.Tensor) *sinter.Tensor {
				o := fn.BagOptions{Mode: mode, Offsets: sinter.FromSlice([]int64{0, 3, 3, 5, 6}, 5)}
				if weighted {
					o.Weights = ts[1]
				}
				return fn.EmbeddingBag(ts[0], index, o)
			}
			both(t, "even bags", even, bagModel(w, [][]int64{{4, 0}, {2, 2}, {6, 1}}, f, mode), in...)
			both(t, "bags by offsets", ragged, bagModel(w, [][]int64{{4, 0, 2}, {}, {2, 6}, {1}, {}}, f, mode), in...)
			gradients(t, "even bags", even, in...)
			gradients(t, "bags by offsets", ragged, in...)
		}
	}
	empty := sinter.FromSlice([]int64{}, 0).Reshape(2, 0)
	equal(t, "empty bags", fn.EmbeddingBag(w.tensor(), empty, fn.BagOptions{Mode: fn.BagMean}), blank(2, 3), 0)
}

// Bags of one size are one kernel: rows are looked up where they are added.
func TestEmbeddingBagKernels(t *testing.T) {
	w, index := sinter.FromSlice(make([]float32, 64000), 1000, 64), sinter.FromSlice(make([]int64, 320), 32, 10)
	factors := sinter.FromSlice(make([]float32, 320), 32, 10)
	read := func() {
		s := sinter.NewScope("bags")
		y := s.Keep(fn.EmbeddingBag(s.In(w), s.In(index), fn.BagOptions{Mode: fn.BagMean, Weights: factors}))
		s.End()
		if _, err := sinter.Data[float32](ctx, y); err != nil {
			t.Fatal(err)
		}
	}
	read()
	fusetest.Record(t, w.Device(), read).WantKernels(1)
}

func TestEmbeddingBagErrors(t *testing.T) {
	w, index := sinter.Ones(sinter.F32, 4, 2), sinter.FromSlice([]int64{0, 4}, 1, 2)
	flat := sinter.FromSlice([]int64{0, 1}, 2)
	for _, c := range []struct {
		y    *sinter.Tensor
		want string
	}{
		{fn.EmbeddingBag(w, flat, fn.BagOptions{}), "expected [count, width] and [bags, size]"},
		{fn.EmbeddingBag(w, index, fn.BagOptions{Offsets: flat}), "expected [count, width] and [n]"},
		{fn.EmbeddingBag(w, index.Cast(sinter.I32), fn.BagOptions{}), "expected i64"},
		{fn.EmbeddingBag(w.Cast(sinter.I32), index, fn.BagOptions{}), "expected floats"},
		{fn.EmbeddingBag(w, index, fn.BagOptions{Mode: fn.BagMax, Weights: w}), "sums and means"},
		{fn.EmbeddingBag(w, index, fn.BagOptions{Weights: w}), "the factors have shape [4 2]"},
		{fn.EmbeddingBag(w, index, fn.BagOptions{Mode: 3}), "mode 3"},
		{fn.EmbeddingBag(w, flat, fn.BagOptions{Offsets: w.At(0, 0)}), "expected i64 [bags]"},
		{fn.EmbeddingBag(w, index, fn.BagOptions{}), "out of range"},
		{fn.EmbeddingBag(w, index.Neg(), fn.BagOptions{}), "out of range"},
		{fn.EmbeddingBag(w, flat, fn.BagOptions{Offsets: sinter.FromSlice([]int64{1}, 1)}), "out of range"},
	} {
		if _, err := sinter.Data[float32](ctx, c.y); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
