package sinter_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/autodiff/gradcheck"
)

// TestMoveGradients: methods made of rows have gradients to the second order.
func TestMoveGradients(t *testing.T) {
	x := sinter.FromSlice([]float64{0.3, -1.2, 2.1, 0.7, -0.4, 1.6}, 2, 3)
	at := sinter.FromSlice([]int64{2, 0, 2, -1}, 2, 2)
	mask := sinter.FromSlice([]bool{true, false, true})
	pad := [2]int{2, 3}
	for name, f := range map[string]func(x *sinter.Tensor) *sinter.Tensor{
		"pad":       func(x *sinter.Tensor) *sinter.Tensor { return x.Pad(1, [2]int{1, -1}, [2]int{-1, 2}) },
		"reflect":   func(x *sinter.Tensor) *sinter.Tensor { return x.PadWith(sinter.PadReflect, pad) },
		"symmetric": func(x *sinter.Tensor) *sinter.Tensor { return x.PadWith(sinter.PadSymmetric, pad) },
		"edge":      func(x *sinter.Tensor) *sinter.Tensor { return x.PadWith(sinter.PadEdge, pad) },
		"wrap":      func(x *sinter.Tensor) *sinter.Tensor { return x.PadWith(sinter.PadWrap, pad) },
		"roll":      func(x *sinter.Tensor) *sinter.Tensor { return x.Roll(1, 1) },
		"tile":      func(x *sinter.Tensor) *sinter.Tensor { return x.Tile(2, 2) },
		"repeat":    func(x *sinter.Tensor) *sinter.Tensor { return x.Repeat(0, 2) },
		"fold":      func(x *sinter.Tensor) *sinter.Tensor { return x.Fold(0, 4, 1, 1) },
		"windows":   func(x *sinter.Tensor) *sinter.Tensor { return x.Unfold(1, 2, 1, 1).Prod(sinter.Over(-1)) },
		"diag":      func(x *sinter.Tensor) *sinter.Tensor { return x.At(0, 1).Diag(1) },
		"tril":      func(x *sinter.Tensor) *sinter.Tensor { return x.Tril(0) },
		"set_slice": func(x *sinter.Tensor) *sinter.Tensor {
			return x.SetSlice(along1(sinter.All().By(-2)), x.At(0, 0).Slice(sinter.Until(2)))
		},
		"put constant": func(x *sinter.Tensor) *sinter.Tensor { return x.PutAlong(1, at, 2, sinter.PutMul) },
		"slices": func(x *sinter.Tensor) *sinter.Tensor {
			return x.Scatter(0, sinter.FromSlice([]int64{1, 1}), x.Mul(x), sinter.PutMax)
		},
		"masked_fill":   func(x *sinter.Tensor) *sinter.Tensor { return x.MaskedFill(mask, 0) },
		"masked_select": func(x *sinter.Tensor) *sinter.Tensor { y, _ := x.MaskedSelectMax(mask, 5); return y },
		"masked_put":    func(x *sinter.Tensor) *sinter.Tensor { return x.MaskedScatter(mask, x.Mul(2)) },
		"quantile":      func(x *sinter.Tensor) *sinter.Tensor { return x.Quantile(0.3, sinter.Over(1)) },
		"median":        func(x *sinter.Tensor) *sinter.Tensor { return x.Median() },
		"kth":           func(x *sinter.Tensor) *sinter.Tensor { y, _ := x.KthValue(1, 1); return y },
		"top of sorted": func(x *sinter.Tensor) *sinter.Tensor {
			v, i := x.TopK(2, 1, true)
			return v.Mul(x.TakeAlong(1, i))
		},
	} {
		g := func(in []*sinter.Tensor) []*sinter.Tensor { return []*sinter.Tensor{f(in[0].Mul(in[0])), f(in[0])} }
		if err := gradcheck.Check(context.Background(), g, x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func along1(r sinter.Range) []sinter.Range { return []sinter.Range{sinter.All(), r} }

// TestScatterGradientsAtTies: equal elements share the gradient of an extremum,
// the last of replaced ones gets it, and zeros do not spoil that of a product.
func TestScatterGradientsAtTies(t *testing.T) {
	at := sinter.FromSlice([]int64{0, 0, 0})
	for _, c := range []struct {
		name   string
		mode   sinter.PutMode
		x, z   []float64
		dx, dz string
	}{
		{"max", sinter.PutMax, []float64{2, 5}, []float64{2, 1, 2}, "[1 3]", "[1 0 1]"},
		{"min", sinter.PutMin, []float64{2, 5}, []float64{1, 1, 1}, "[0 3]", "[1 1 1]"},
		{"replace", sinter.PutReplace, []float64{2, 5}, []float64{1, 2, 3}, "[0 3]", "[0 0 3]"},
		{"mul", sinter.PutMul, []float64{2, 5}, []float64{3, 4, 5}, "[180 3]", "[120 90 72]"},
		{"mul by 0", sinter.PutMul, []float64{2, 5}, []float64{3, 0, 5}, "[0 3]", "[0 90 0]"},
		{"mul by 0 twice", sinter.PutMul, []float64{2, 5}, []float64{0, 0, 5}, "[0 3]", "[0 0 0]"},
		{"mul of 0", sinter.PutMul, []float64{0, 5}, []float64{3, 1, 5}, "[45 3]", "[0 0 0]"},
	} {
		x, z := sinter.FromSlice(c.x).Track(), sinter.FromSlice(c.z).Track()
		g, err := autodiff.VJP([]*sinter.Tensor{x.PutAlong(0, at, z, c.mode)}, []*sinter.Tensor{sinter.FromSlice([]float64{3, 3})}, []*sinter.Tensor{x, z})
		if err != nil {
			t.Fatal(c.name, err)
		}
		for i, want := range []string{c.dx, c.dz} {
			if got := readText(t, g[i]); got != want {
				t.Errorf("%s, operand %d: got %s, want %s", c.name, i, got, want)
			}
		}
	}
}

func readText(t *testing.T, x *sinter.Tensor) string {
	t.Helper()
	return fmt.Sprint(read(t, x))
}
