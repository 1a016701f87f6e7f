package fn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/autodiff"
	"github.com/sinter-go/sinter/nn/fn"
)

func coordinate(i, m, n int, c fn.Coords) float64 {
	switch {
	case c == fn.HalfPixel:
		return (float64(i)+0.5)*float64(n)/float64(m) - 0.5
	case c == fn.AlignCorners && m == 1:
		return 0
	case c == fn.AlignCorners:
		return float64(i) * float64(n-1) / float64(m-1)
	}
	return float64(i) * float64(n) / float64(m)
}

func clamp(i, n int) int { return min(max(i, 0), n-1) }

// resizeModel applies weights (index → weight) along every axis of space.
func resizeModel(x host, sizes []int, taps func(i, m, n int) map[int]float64) host {
	for a, m := range sizes {
		shape := append([]int(nil), x.shape...)
		shape[2+a] = m
		y := blank(shape...)
		each(shape, func(p []int) {
			at := append([]int(nil), p...)
			for j, w := range taps(p[2+a], m, x.shape[2+a]) {
				at[2+a] = j
				y.v[y.index(p)] += w * x.at(at...)
			}
		})
		x = y
	}
	return x
}

func linearTaps(c fn.Coords) func(i, m, n int) map[int]float64 {
	return func(i, m, n int) map[int]float64 {
		at := math.Min(math.Max(coordinate(i, m, n, c), 0), float64(n-1))
		lo := int(at)
		w := map[int]float64{lo: 1 - (at - float64(lo))}
		w[clamp(lo+1, n)] += at - float64(lo)
		return w
	}
}

func cubicTaps(c fn.Coords) func(i, m, n int) map[int]float64 {
	return func(i, m, n int) map[int]float64 {
		at := coordinate(i, m, n, c)
		lo := int(math.Floor(at))
		w := map[int]float64{}
		for j := lo - 1; j <= lo+2; j++ {
			d, a := math.Abs(at-float64(j)), -0.75
			if d <= 1 {
				w[clamp(j, n)] += (a+2)*d*d*d - (a+3)*d*d + 1
			} else if d < 2 {
				w[clamp(j, n)] += a*d*d*d - 5*a*d*d + 8*a*d - 4*a
			}
		}
		return w
	}
}

func nearestTaps(c fn.Coords) func(i, m, n int) map[int]float64 {
	return func(i, m, n int) map[int]float64 {
		switch c {
		case fn.HalfPixel:
			return map[int]float64{(2*i + 1) * n / (2 * m): 1}
		case fn.Asymmetric:
			return map[int]float64{i * n / m: 1}
		}
		return map[int]float64{clamp(int(math.Floor(coordinate(i, m, n, c)+0.5)), n): 1}
	}
}

func TestResize(t *testing.T) {
	for i, k := range []struct{ x, sizes []int }{
		{[]int{2, 1, 3}, []int{7}}, {[]int{1, 2, 9}, []int{4}}, {[]int{1, 1, 4}, []int{1}}, {[]int{1, 2, 1}, []int{3}}, {[]int{1, 2, 3, 5}, []int{6, 3}}, {[]int{1, 1, 2, 3, 2}, []int{3, 2, 5}},
	} {
		x := random(uint64(i), k.x...)
		for _, c := range []fn.Coords{fn.HalfPixel, fn.AlignCorners, fn.Asymmetric} {
			name := fmt.Sprintf("case %d coords %d", i, c)
			both(t, name+" nearest", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Nearest(in[0], c, k.sizes...) }, resizeModel(x, k.sizes, nearestTaps(c)), x)
			both(t, name+" linear", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Linear(in[0], c, k.sizes...) }, resizeModel(x, k.sizes, linearTaps(c)), x)
			both(t, name+" cubic", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Cubic(in[0], c, k.sizes...) }, resizeModel(x, k.sizes, cubicTaps(c)), x)
		}
	}
	x := vector(1, 2).as(1, 1, 2)
	equal(t, "half pixel", fn.Linear(x.tensor(), fn.HalfPixel, 4), vector(1, 1.25, 1.75, 2).as(1, 1, 4), 0)
	equal(t, "corners", fn.Linear(x.tensor(), fn.AlignCorners, 4), vector(1, 4./3, 5./3, 2).as(1, 1, 4), 1e-15)
	equal(t, "corners to one", fn.Linear(x.tensor(), fn.AlignCorners, 1), vector(1).as(1, 1, 1), 0)
	equal(t, "infinite neighbour", fn.Linear(vector(1, math.Inf(1)).as(1, 1, 2).tensor(), fn.AlignCorners, 3), vector(1, math.Inf(1), math.Inf(1)).as(1, 1, 3), 0)
}

func TestResizeGradients(t *testing.T) {
	x := vector(1, 2).as(1, 1, 2).tensor().Track()
	y := fn.Nearest(x, fn.HalfPixel, 4).Sum().Add(x.Sum())
	g, err := autodiff.VJP([]*sinter.Tensor{y}, []*sinter.Tensor{sinter.Ones(sinter.F64)}, []*sinter.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "accumulated", g[0], vector(3, 3).as(1, 1, 2), 0)
	h := random(1, 1, 2, 3, 2)
	gradients(t, "linear", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Linear(in[0], fn.HalfPixel, 4, 3) }, h)
	gradients(t, "cubic", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.Cubic(in[0], fn.AlignCorners, 2, 4) }, h)
}

// gridModel samples images of two axes by definition.
func gridModel(x, grid host, o fn.GridOptions) host {
	y := blank(x.shape[0], x.shape[1], grid.shape[1], grid.shape[2])
	each(y.shape, func(p []int) {
		var at [2]float64
		for a := range at {
			n := float64(x.shape[2+a])
			v := grid.at(p[0], p[2], p[3], 1-a)
			lo, hi := -0.5, n-0.5
			if o.AlignCorners {
				v, lo, hi = (v+1)/2*(n-1), 0, n-1
			} else {
				v = ((v+1)*n - 1) / 2
			}
			if o.Padding == fn.PadReflect {
				for v < lo || v > hi {
					if v < lo {
						v = 2*lo - v
					} else {
						v = 2*hi - v
					}
				}
			}
			if o.Padding != fn.PadZeros {
				v = math.Min(math.Max(v, 0), n-1)
			}
			at[a] = v
		}
		get := func(i, j float64) float64 {
			if i < 0 || j < 0 || i >= float64(x.shape[2]) || j >= float64(x.shape[3]) {
				return 0
			}
			return x.at(p[0], p[1], int(i), int(j))
		}
		if o.Nearest {
			y.v[y.index(p)] = get(math.RoundToEven(at[0]), math.RoundToEven(at[1]))
			return
		}
		i, j := math.Floor(at[0]), math.Floor(at[1])
		s, r := at[0]-i, at[1]-j
		y.v[y.index(p)] = get(i, j)*(1-s)*(1-r) + get(i, j+1)*(1-s)*r + get(i+1, j)*s*(1-r) + get(i+1, j+1)*s*r
	})
	return y
}

func TestGridSample(t *testing.T) {
	x, grid := random(1, 2, 3, 4, 5), random(2, 2, 3, 4, 2)
	for i := range grid.v {
		grid.v[i] *= 0.6
	}
	for _, nearest := range []bool{false, true} {
		for _, padding := range []fn.Padding{fn.PadZeros, fn.PadBorder, fn.PadReflect} {
			for _, corners := range []bool{false, true} {
				o := fn.GridOptions{Nearest: nearest, Padding: padding, AlignCorners: corners}
				f := func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GridSample(in[0], in[1], o) }
				both(t, fmt.Sprint(o), f, gridModel(x, grid, o), x, grid)
				if !nearest {
					small := random(3, 1, 1, 2, 2, 2)
					for i := range small.v {
						small.v[i] *= 0.3
					}
					gradients(t, fmt.Sprint(o), f, random(4, 1, 2, 3, 2), small.as(1, 2, 2, 2))
				}
			}
		}
	}
	// An image sampled at its own centres is itself, in three axes too.
	id := random(5, 1, 2, 2, 3, 2)
	points := blank(1, 2, 3, 2, 3)
	each([]int{2, 3, 2}, func(p []int) {
		for a, n := range []int{2, 3, 2} {
			points.v[points.index([]int{0, p[0], p[1], p[2], 2 - a})] = (2*float64(p[a])+1)/float64(n) - 1
		}
	})
	both(t, "identity", func(in ...*sinter.Tensor) *sinter.Tensor { return fn.GridSample(in[0], in[1], fn.GridOptions{}) }, id, id, points)
}
