package backendtest

import (
	"math"
	"slices"
	"sort"

	"github.com/sinter-go/sinter/ir"
)

// Definitions of windows, scatters along axes and at coordinates, and of rows that
// order elements.

func axisOf(x *testCase, rank int) int { return wrapped(x.row.Attr(x.attrs, "axis").Int, rank) }

func defineUnfold(x *testCase, in []host) []expected {
	s := in[0].typ.Shape
	axis := axisOf(x, len(s))
	step, dilation := x.row.Attr(x.attrs, "step").Int, x.row.Attr(x.attrs, "dilation").Int
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := append([]int(nil), at[:len(s)]...)
		src[axis] = at[axis]*int(step) + at[len(s)]*int(dilation)
		return in[0].bits[linear(s, src)]
	})
}

func defineDiagonal(x *testCase, in []host) []expected {
	s := in[0].typ.Shape
	axis1, axis2 := wrapped(x.row.Attr(x.attrs, "axis1").Int, len(s)), wrapped(x.row.Attr(x.attrs, "axis2").Int, len(s))
	offset := int(x.row.Attr(x.attrs, "offset").Int)
	e := expected{bits: make([]uint64, x.out[0].Shape.Size())}
	walk(s, func(i int, at []int) {
		if at[axis2] != at[axis1]+offset {
			return
		}
		var to []int
		for j, c := range at {
			if j != axis1 && j != axis2 {
				to = append(to, c)
			}
		}
		e.bits[linear(x.out[0].Shape, append(to, min(at[axis1], at[axis2])))] = in[0].bits[i]
	})
	return []expected{e}
}

func defineSetSlice(x *testCase, in []host) []expected {
	starts, steps := x.row.Attr(x.attrs, "starts").List, x.row.Attr(x.attrs, "steps").List
	e := expected{bits: slices.Clone(in[0].bits)}
	to := make([]int, len(starts))
	walk(in[1].typ.Shape, func(i int, at []int) {
		for j, c := range at {
			to[j] = int(starts[j]) + c*int(steps[j])
		}
		e.bits[linear(in[0].typ.Shape, to)] = in[1].bits[i]
	})
	return []expected{e}
}

// clipped is a position in a shape that broadcasts to the one at is in.
func clipped(s ir.Shape, at []int) []int {
	out := append([]int(nil), at...)
	for i, d := range s {
		if d == 1 {
			out[i] = 0
		}
	}
	return out
}

func defineTakeAlong(x *testCase, in []host) []expected {
	s, index := in[0].typ.Shape, in[1]
	axis := axisOf(x, len(s))
	return moved(x.out[0].Shape, func(at []int) uint64 {
		src := clipped(s, at)
		src[axis] = wrapped(index.integer(linear(index.typ.Shape, clipped(index.typ.Shape, at))), s[axis])
		return in[0].bits[linear(s, src)]
	})
}

func defineScatterAlong(x *testCase, in []host) []expected {
	s, index := in[0].typ.Shape, in[1]
	axis := axisOf(x, len(s))
	e := expected{bits: slices.Clone(in[0].bits)}
	walk(in[2].typ.Shape, func(i int, at []int) {
		to := append([]int(nil), at...)
		to[axis] = wrapped(index.integer(linear(index.typ.Shape, clipped(index.typ.Shape, at))), s[axis])
		x.put(e.bits, linear(s, to), in[2].bits[i])
	})
	return []expected{e}
}

// put combines an element with one that is there, by the attribute mode.
func (x *testCase) put(bits []uint64, at int, v uint64) {
	d := x.in[0].DType
	a, b := ir.Scalar{DType: d, Bits: bits[at]}.Float(), ir.Scalar{DType: d, Bits: v}.Float()
	pair := host{ir.Type{DType: d, Shape: ir.Shape{2}}, []uint64{bits[at], v}}
	c, nan := order(pair, 0, pair, 1)
	round := func(y float64) uint64 {
		if d != ir.F64 {
			y = float64(float32(y))
		}
		return ir.MakeScalar(d, y).Bits
	}
	mode := int(x.row.Attr(x.attrs, "mode").Int)
	switch {
	case mode == ir.PutReplace:
		bits[at] = v
	case mode == ir.PutAdd && d.IsFloat():
		bits[at] = round(a + b)
	case mode == ir.PutMul && d.IsFloat():
		bits[at] = round(a * b)
	case mode == ir.PutAdd:
		bits[at] = cut(d, bits[at]+v)
	case mode == ir.PutMul:
		bits[at] = cut(d, bits[at]*v)
	case nan:
		bits[at] = ir.MakeScalar(d, math.NaN()).Bits
	case c == 0 && d.IsFloat() && a == 0 && math.Signbit(a) == (mode == ir.PutMax), mode == ir.PutMax && c < 0, mode == ir.PutMin && c > 0:
		bits[at] = v
	}
}

// coordinatesAt is the position in x that index names for position at of the
// slices, and the row's first named axis.
func coordinatesAt(x *testCase, in []host, at []int) []int {
	s, index := in[0].typ.Shape, in[1]
	axis, lead := axisOf(x, len(s)), len(index.typ.Shape)-1
	out := append([]int(nil), at[:axis]...)
	for k := 0; k < index.typ.Shape[lead]; k++ {
		from := append(append([]int(nil), at[axis:axis+lead]...), k)
		out = append(out, wrapped(index.integer(linear(index.typ.Shape, from)), s[axis+k]))
	}
	return append(out, at[axis+lead:]...)
}

func defineGatherND(x *testCase, in []host) []expected {
	return moved(x.out[0].Shape, func(at []int) uint64 {
		return in[0].bits[linear(in[0].typ.Shape, coordinatesAt(x, in, at))]
	})
}

func defineScatterND(x *testCase, in []host) []expected {
	e := expected{bits: slices.Clone(in[0].bits)}
	walk(in[2].typ.Shape, func(i int, at []int) {
		x.put(e.bits, linear(in[0].typ.Shape, coordinatesAt(x, in, at)), in[2].bits[i])
	})
	return []expected{e}
}

// before is the order of sort: NaN after all numbers.
func before(h host, i, j int) bool {
	c, nan := order(h, i, h, j)
	if nan {
		return !math.IsNaN(h.float(i))
	}
	return c < 0
}

func defineSort(attr string) func(x *testCase, in []host) []expected {
	return func(x *testCase, in []host) []expected {
		s, out := in[0].typ.Shape, x.out[0].Shape
		axis := axisOf(x, len(s))
		down := x.row.Attr(x.attrs, attr).Bool()
		y, index := expected{bits: make([]uint64, out.Size())}, expected{bits: make([]uint64, out.Size())}
		lanes := out.Clone()
		lanes[axis] = 1
		walk(lanes, func(_ int, at []int) {
			lane := make([]int, s[axis]) // positions in x
			for i := range lane {
				at[axis] = i
				lane[i] = linear(s, at)
			}
			sorted := slices.Clone(lane)
			sort.SliceStable(sorted, func(i, j int) bool {
				if down {
					i, j = j, i
				}
				return before(in[0], sorted[i], sorted[j])
			})
			for i := 0; i < out[axis]; i++ {
				at[axis] = i
				to := linear(out, at)
				y.bits[to], index.bits[to] = in[0].bits[sorted[i]], uint64(slices.Index(lane, sorted[i]))
			}
			at[axis] = 0
		})
		return []expected{y, index}
	}
}

// defineUnique counts by comparing all with all.
func defineUnique(x *testCase, in []host) []expected {
	h := in[0]
	equal := func(i, j int) bool { return !before(h, i, j) && !before(h, j, i) }
	var first []int // of each value
	for i := range h.bits {
		if !slices.ContainsFunc(first, func(j int) bool { return equal(i, j) }) {
			first = append(first, i)
		}
	}
	sort.Slice(first, func(i, j int) bool { return before(h, first[i], first[j]) })
	most := x.out[0].Shape[0]
	y, counts, inverse := make([]uint64, most), make([]uint64, most), make([]uint64, len(h.bits))
	for k, f := range first {
		for i := range h.bits {
			if equal(i, f) {
				if inverse[i] = uint64(k); k < most {
					y[k] = h.bits[f]
					counts[k]++
				}
			}
		}
	}
	return []expected{{bits: y}, {bits: inverse}, {bits: counts}, {bits: []uint64{uint64(len(first))}}}
}

// defineSearch counts the elements before each; of lanes that are not sorted it
// says nothing.
func defineSearch(x *testCase, in []host) []expected {
	xs, z := in[0].typ.Shape, in[1].typ.Shape
	n := xs[len(xs)-1]
	right := x.row.Attr(x.attrs, "right").Bool()
	e := expected{val: make([]float64, z.Size()), tol: make([]float64, z.Size())}
	for i := range e.val {
		row := 0
		if len(xs) > 1 {
			row = i / z[len(z)-1] * n
		}
		both := host{ir.Type{DType: in[0].typ.DType, Shape: ir.Shape{n + 1}}, append(slices.Clone(in[0].bits[row:row+n]), in[1].bits[i])}
		for j := 0; j < n; j++ {
			if j > 0 && before(both, j, j-1) {
				e.tol[i] = math.NaN()
			}
			if before(both, j, n) || right && !before(both, n, j) {
				e.val[i]++
			}
		}
	}
	return []expected{e}
}
