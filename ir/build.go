package ir

import (
	"math"
	"slices"
)

// build writes decompositions and gradients tersely: rows by method, constants
// from Go numbers. Every method is one row.
type build struct{ Graph }

func (b build) do(row string, in []Value, attrs ...any) Value {
	return b.Apply(row, in, A(attrs...)...)
}

func (b build) shape(v Value) Shape { return b.Type(v).Shape }

func (b build) reshape(v Value, shape ...int) Value {
	if b.shape(v).Equal(shape) {
		return v
	}
	return b.do("reshape", []Value{v}, "shape", shape)
}

func (b build) permute(v Value, axes ...int) Value {
	if slices.IsSorted(axes) {
		return v
	}
	return b.do("permute", []Value{v}, "axes", axes)
}

func (b build) pair(row string, x, z Value) Value { return b.do(row, []Value{x, z}) }
func (b build) add(x, z Value) Value              { return b.pair("add", x, z) }
func (b build) sub(x, z Value) Value              { return b.pair("sub", x, z) }
func (b build) mul(x, z Value) Value              { return b.pair("mul", x, z) }
func (b build) div(x, z Value) Value              { return b.pair("div", x, z) }

func (b build) cast(v Value, d DType) Value {
	if b.Type(v).DType == d {
		return v
	}
	return b.do("cast", []Value{v}, "dtype", d)
}

func (b build) where(c, x, z Value) Value { return b.do("where", []Value{c, x, z}) }

// num is a constant of the dtype of v.
func (b build) num(c float64, v Value) Value { return b.Scalar(c, b.Type(v).DType) }

// full is a constant of a shape, which takes the room of one element.
func (b build) full(c float64, d DType, shape ...int) Value {
	return b.do("expand", []Value{b.Scalar(c, d)}, "shape", shape)
}

// iota is 0, 1, ..., n-1, along axis of rank axes whose others have extent 1.
func (b build) iota(n, axis, rank int, d DType) Value {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[axis] = n
	return b.do("iota", nil, "shape", shape, "dtype", d)
}

// slice takes size elements of an axis from start in steps of step.
func (b build) slice(v Value, axis, start, size, step int) Value {
	s := b.shape(v)
	starts, sizes, steps := make([]int, len(s)), s.Clone(), make([]int, len(s))
	for i := range steps {
		steps[i] = 1
	}
	starts[axis], sizes[axis], steps[axis] = start, size, step
	return b.do("slice", []Value{v}, "starts", starts, "sizes", sizes, "steps", steps)
}

// flip reverses an axis.
func (b build) flip(v Value, axis int) Value {
	if n := b.shape(v)[axis]; n > 1 {
		return b.slice(v, axis, n-1, n, -1)
	}
	return v
}

// border puts lo elements of value c before an axis and hi after it; negative
// counts take elements away.
func (b build) border(v Value, axis, lo, hi int, c float64) Value {
	return b.frame(v, axis, []int{lo}, []int{hi}, c)
}

// frame is border on all axes from one on, as many as there are counts.
func (b build) frame(v Value, from int, lo, hi []int, c float64) Value {
	s := b.shape(v).Clone()
	starts, steps, wide := make([]int, len(s)), make([]int, len(s)), s.Clone()
	for i := range s {
		steps[i] = 1
	}
	framed := false
	for i := range lo {
		axis, lo, hi := from+i, lo[i], hi[i]
		if lo < 0 || hi < 0 {
			n := s[axis] + min(lo, 0) + min(hi, 0)
			v = b.slice(v, axis, min(max(-lo, 0), max(s[axis]-1, 0)), max(n, 0), 1)
			s[axis] = max(n, 0)
			lo, hi = max(lo, 0), max(hi, 0)
			if n < 0 { // more is taken from one end than there is: from what the other one gets
				lo, hi = max(lo+hi+n, 0), 0
			}
		}
		framed = framed || lo > 0 || hi > 0
		starts[axis], wide[axis] = lo, lo+s[axis]+hi
	}
	if !framed {
		return v
	}
	return b.do("set_slice", []Value{b.full(c, b.Type(v).DType, wide...), v}, "starts", starts, "sizes", []int(s), "steps", steps)
}

// stretch puts step-1 zeros between neighbours along an axis.
func (b build) stretch(v Value, axis, step int) Value {
	s := b.shape(v)
	n := s[axis]
	if step == 1 || n < 2 {
		return v
	}
	wide := append(append(s[:axis+1:axis+1], 1), s[axis+1:]...)
	flat := s.Clone()
	flat[axis] = n * step
	v = b.reshape(b.border(b.reshape(v, wide...), axis+1, 0, step-1, 0), flat...)
	return b.slice(v, axis, 0, (n-1)*step+1, 1)
}

// lowest is the value below all others of a dtype.
func lowest(d DType) float64 {
	switch d.Kind() {
	case KindFloat:
		return math.Inf(-1)
	case KindInt:
		return -math.Ldexp(1, d.Bits()-1)
	}
	return 0
}

// windowAttrs are the attributes of rows that slide windows over the axes after
// the first two. Lists have one entry per axis, or none, which means the default.
func windowAttrs(more ...AttrSpec) []AttrSpec {
	none := []int64{}
	return append([]AttrSpec{{Name: "strides", Kind: AttrInts, Default: none}, {Name: "pads", Kind: AttrInts, Default: none},
		{Name: "dilations", Kind: AttrInts, Default: none}}, more...)
}

// sliding are the numbers of a window that slides over one axis.
type sliding struct {
	kernel, stride, dilation int
	lo, hi                   int // padding; negative for none but transposed convolutions
}

func (w sliding) span() int { return w.dilation*(w.kernel-1) + 1 }

// slidings reads the attributes of a row for kernels of the given extents.
func slidings(r *Row, a Attrs, kernel []int) ([]sliding, error) {
	d := len(kernel)
	strides, pads, dilations := r.Attr(a, "strides").List, r.Attr(a, "pads").List, r.Attr(a, "dilations").List
	if len(strides) != 0 && len(strides) != d || len(dilations) != 0 && len(dilations) != d || len(pads) != 0 && len(pads) != 2*d {
		return nil, Errorf(ErrArgument, "strides %v, pads %v, dilations %v: expected none, or %d, %d and %d numbers (pads: those before the axes, then those after)",
			strides, pads, dilations, d, 2*d, d)
	}
	out := make([]sliding, d)
	for i, k := range kernel {
		w := sliding{kernel: k, stride: 1, dilation: 1}
		if len(strides) > 0 {
			w.stride = extent(strides[i])
		}
		if len(dilations) > 0 {
			w.dilation = extent(dilations[i])
		}
		if len(pads) > 0 {
			w.lo, w.hi = extent(pads[i]), extent(pads[d+i])
		}
		if k < 1 || w.stride < 1 || w.dilation < 1 || w.lo < 0 || w.hi < 0 {
			return nil, Errorf(ErrArgument, "axis %d: kernel %d, stride %d, dilation %d are at least 1, pads %d and %d at least 0",
				i+2, k, w.stride, w.dilation, w.lo, w.hi)
		}
		if max(k, w.stride, w.dilation, w.lo, w.hi) > 1<<30 || w.dilation > 1<<30/k {
			return nil, Errorf(ErrArgument, "axis %d: the window is too wide", i+2)
		}
		out[i] = w
	}
	return out, nil
}

// count returns how many windows fit into an extent with its padding.
func (w sliding) count(n int) (int, error) {
	if free := n + w.lo + w.hi - w.span(); free >= 0 {
		return free/w.stride + 1, nil
	}
	return 0, Errorf(ErrShape, "a window of %d elements does not fit into %d with padding %d and %d", w.span(), n, w.lo, w.hi)
}

// padded puts the padding of windows around the axes after the first two.
func (b build) padded(v Value, ws []sliding, fill float64) Value {
	var lo, hi []int
	for _, w := range ws {
		lo, hi = append(lo, w.lo), append(hi, w.hi)
	}
	return b.frame(v, 2, lo, hi, fill)
}

// over lays windows over the axes after the first two: [a, b, s...] gives
// [a, b, counts..., kernel...], a view if nothing is padded.
func (b build) over(v Value, ws []sliding, fill float64) Value {
	v = b.padded(v, ws, fill)
	for i, w := range ws {
		v = b.do("unfold", []Value{v}, "axis", 2+i, "size", w.kernel, "step", w.stride, "dilation", w.dilation)
	}
	return v
}
