package autodiff_test

import (
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/fusetest"
	"github.com/sinter-go/sinter/ir"
)

// slice is a row of the table as it is recorded.
func slice(x *sinter.Tensor, starts, sizes, steps []int) *sinter.Tensor {
	return sinter.Apply("slice", []*sinter.Tensor{x}, ir.A("starts", starts, "sizes", sizes, "steps", steps)...)[0]
}

// TestParts: the gradient of sums of squares of slices is 2x, as often as an element is
// in one, and that of its square sum is 8x times the square of how often.
func TestParts(t *testing.T) {
	type cut struct{ starts, sizes, steps []int }
	one := []int{1, 1}
	for _, c := range []struct {
		name  string
		shape []int
		cuts  []cut
	}{
		{"three that cover", []int{2, 6}, []cut{{[]int{0, 0}, []int{2, 2}, one}, {[]int{0, 2}, []int{2, 3}, one}, {[]int{0, 5}, []int{2, 1}, one}}},
		{"out of order", []int{6, 2}, []cut{{[]int{4, 0}, []int{2, 2}, one}, {[]int{0, 0}, []int{4, 2}, one}}},
		{"one", []int{2, 6}, []cut{{[]int{0, 2}, []int{2, 3}, one}}},
		{"gaps", []int{2, 9}, []cut{{[]int{0, 6}, []int{2, 2}, one}, {[]int{0, 1}, []int{2, 3}, one}}},
		{"overlaps", []int{7, 2}, []cut{{[]int{0, 0}, []int{3, 2}, one}, {[]int{2, 0}, []int{3, 2}, one}, {[]int{2, 0}, []int{1, 2}, one}, {[]int{4, 0}, []int{3, 2}, one}}},
		{"the same twice", []int{2, 4}, []cut{{[]int{0, 1}, []int{2, 2}, one}, {[]int{0, 1}, []int{2, 2}, one}}},
		{"all, and a part", []int{2, 4}, []cut{{[]int{0, 0}, []int{2, 4}, one}, {[]int{0, 3}, []int{2, 1}, one}}},
		{"both axes", []int{4, 4}, []cut{{[]int{0, 2}, []int{4, 2}, one}, {[]int{1, 0}, []int{2, 4}, one}, {[]int{1, 1}, []int{2, 2}, one}, {[]int{0, 0}, []int{4, 1}, one}}},
		{"steps", []int{2, 6}, []cut{{[]int{0, 0}, []int{2, 3}, []int{1, 2}}, {[]int{0, 5}, []int{2, 3}, []int{1, -2}}, {[]int{1, 0}, []int{2, 6}, []int{-1, 1}}}},
		{"empty ones", []int{2, 4}, []cut{{[]int{0, 0}, []int{2, 0}, one}, {[]int{0, 4}, []int{2, 0}, one}, {[]int{0, 1}, []int{2, 1}, one}}},
		{"nothing but empty ones", []int{2, 4}, []cut{{[]int{0, 0}, []int{2, 0}, one}}},
		{"an extent of 1, backwards", []int{1, 2}, []cut{{[]int{0, 0}, []int{1, 2}, []int{-1, 1}}, {[]int{0, 0}, []int{0, 2}, one}}},
		{"of no elements", []int{0, 2}, []cut{{[]int{0, 0}, []int{0, 2}, []int{-1, 1}}}},
	} {
		n := c.shape[0] * c.shape[1]
		v, often := make([]float64, n), make([]float64, n)
		for i := range v {
			v[i] = float64(i + 1)
		}
		for _, k := range c.cuts {
			for i := range k.sizes[0] {
				for j := range k.sizes[1] {
					often[(k.starts[0]+i*k.steps[0])*c.shape[1]+k.starts[1]+j*k.steps[1]]++
				}
			}
		}
		first, second := make([]float64, n), make([]float64, n)
		for i := range v {
			first[i], second[i] = 2*v[i]*often[i], 8*v[i]*often[i]*often[i]
		}
		x := sinter.FromSlice(v, n).Reshape(c.shape...).Track()
		loss := sinter.Zeros(sinter.F64)
		for _, k := range c.cuts {
			y := slice(x, k.starts, k.sizes, k.steps)
			loss = loss.Add(y.Mul(y).Sum())
		}
		g, err := autodiff.Options{Track: true}.VJP([]*sinter.Tensor{loss}, []*sinter.Tensor{nil}, []*sinter.Tensor{x})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := data(t, g[0]); !same(got, first) {
			t.Errorf("%s: the gradient is %v, expected %v", c.name, got, first)
		}
		if !g[0].Tracked() && same(second, make([]float64, n)) {
			continue // a constant
		}
		if got := data(t, grad(t, g[0].Mul(g[0]).Sum(), x)[0]); !same(got, second) {
			t.Errorf("%s: the second derivative is %v, expected %v", c.name, got, second)
		}
	}
}

// TestPartsPasses: the gradients of all rows of a tensor are written once, and once
// more side by side, not amid zeros each.
func TestPartsPasses(t *testing.T) {
	const n, width = 32, 4096
	x := sinter.Full(0.5, sinter.F32, n, width)
	plans := fusetest.Record(t, sinter.DefaultDevice(), func() {
		s := sinter.NewScope("rows")
		x := s.In(x).Track()
		y := sinter.Zeros(sinter.F32, width)
		for i := range n {
			y = y.Add(x.Slice(sinter.Span(i, i+1)).Reshape(width).Mul(float32(i)))
		}
		s.Keep(grad(t, y.Sum(), x)[0])
		s.End()
	})
	if w := plans.Written(); w > 4*n*width*5/2 {
		t.Errorf("%d bytes of gradient, written %d:\n%v", 4*n*width, w, plans)
	}
}
