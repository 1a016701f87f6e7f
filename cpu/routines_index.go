package cpu

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func init() {
	builtinRoutines["scatter_along"] = scatterAlong
	builtinRoutines["scatter_nd"] = scatterND
	builtinRoutines["gather_nd"] = gatherND
}

// targets say where elements go to or come from: of outer blocks, the element
// (i, j) of n rows of inner elements belongs to row at[i] of extent rows, or, if
// each element has a row of its own, to row at[its number].
type targets struct {
	outer, n, extent, inner int
	own                     bool
	at                      []int
}

// split returns the extents before, of and after count axes from axis on.
func split(s ir.Shape, axis, count int) (outer, extent, inner int) {
	return s[:axis].Size(), s[axis : axis+count].Size(), s[axis+count:].Size()
}

// wrap returns an index of an axis counted from its beginning, clamped into the
// axis if it is out of range.
func wrap(v int64, extent int) (at int, ok bool) {
	ok = v >= -int64(extent) && v < int64(extent)
	if v < 0 {
		v += int64(extent)
	}
	return int(min(max(v, 0), int64(extent)-1)), ok
}

// along finds the rows of scatter_along, whose index may be broadcast to z, and
// the first index out of range.
func along(n *ir.Node, x, index, z Host) (*targets, error) {
	shape := z.Type.Shape
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	t := &targets{n: shape[axis], own: true, at: make([]int, shape.Size())}
	t.outer, t.extent, t.inner = split(x.Type.Shape, axis, 1)
	values, from := view[int64](index.Data), index.Type.Shape.Strides()
	var fault error
	at := make([]int, len(shape))
	for i := range t.at {
		p := int64(0)
		for j, c := range at {
			if index.Type.Shape[j] != 1 {
				p += int64(c) * from[j]
			}
		}
		var ok bool
		if t.at[i], ok = wrap(values[p], t.extent); !ok && fault == nil {
			fault = ir.Errorf(ir.ErrData, "index out of range: index%s is %d, axis %d has extent %d",
				position(index.Type.Shape, p), values[p], axis, t.extent)
		}
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; at[j] < shape[j] {
				break
			}
			at[j] = 0
		}
	}
	return t, fault
}

// rowsOf finds the rows that the coordinates in the last axis of index name, and
// the first one out of range.
func rowsOf(n *ir.Node, x, index Host) (*targets, error) {
	shape, s := x.Type.Shape, index.Type.Shape
	axis, err := ir.Axis(int(n.Attr("axis").Int), len(shape))
	if err != nil {
		return nil, err
	}
	count := s[len(s)-1]
	t := &targets{n: s[:len(s)-1].Size()}
	t.outer, t.extent, t.inner = split(shape, axis, count)
	t.at = make([]int, t.n)
	if t.outer*t.n*t.inner == 0 {
		return t, nil
	}
	values := view[int64](index.Data)
	var fault error
	for i := range t.at {
		for k := 0; k < count; k++ {
			v, d := values[i*count+k], shape[axis+k]
			c, ok := wrap(v, d)
			if t.at[i] = t.at[i]*d + c; !ok && fault == nil {
				fault = ir.Errorf(ir.ErrData, "index out of range: index%s is %d, axis %d has extent %d",
					position(s, int64(i*count+k)), v, axis+k, d)
			}
		}
	}
	return t, fault
}

func gatherND(n *ir.Node, in, out []Host) error {
	t, err := rowsOf(n, in[0], in[1])
	if t == nil {
		return err
	}
	row := t.inner * in[0].Type.DType.Size()
	for o := 0; o < t.outer; o++ {
		for i, at := range t.at {
			copy(out[0].Data[(o*t.n+i)*row:][:row], in[0].Data[(o*t.extent+at)*row:][:row])
		}
	}
	return err
}

func scatterND(n *ir.Node, in, out []Host) error {
	t, err := rowsOf(n, in[0], in[1])
	if t != nil {
		t.put(int(n.Attr("mode").Int), out[0], in[0], in[2])
	}
	return err
}

func scatterAlong(n *ir.Node, in, out []Host) error {
	t, err := along(n, in[0], in[1], in[2])
	if t != nil {
		t.put(int(n.Attr("mode").Int), out[0], in[0], in[2])
	}
	return err
}

// put makes y of x and combines the elements of z into their rows, in ascending
// source order, each result rounded to the dtype.
func (t *targets) put(mode int, y, x, z Host) {
	copy(y.Data, x.Data)
	switch y.Type.DType {
	case ir.F32:
		putFloats[float32](t, mode, y, z)
	case ir.F64:
		putFloats[float64](t, mode, y, z)
	case ir.I8:
		putInts[int8](t, mode, y, z)
	case ir.I16:
		putInts[int16](t, mode, y, z)
	case ir.I32:
		putInts[int32](t, mode, y, z)
	case ir.I64:
		putInts[int64](t, mode, y, z)
	case ir.U8, ir.Bool:
		putInts[uint8](t, mode, y, z)
	case ir.U16:
		putInts[uint16](t, mode, y, z)
	case ir.U32:
		putInts[uint32](t, mode, y, z)
	case ir.U64:
		putInts[uint64](t, mode, y, z)
	case ir.F16:
		putHalves(t, mode, y, z, kernel.F16ToF32, kernel.F16FromF32)
	case ir.BF16:
		putHalves(t, mode, y, z, kernel.BF16ToF32, kernel.BF16FromF32)
	}
}

func putWith[T any](t *targets, dst, src []T, f func(a, b T) T) {
	for o := 0; o < t.outer; o++ {
		for i := 0; i < t.n; i++ {
			for j := 0; j < t.inner; j++ {
				s := (o*t.n+i)*t.inner + j
				at := 0
				if t.own {
					at = t.at[s]
				} else {
					at = t.at[i]
				}
				d := (o*t.extent+at)*t.inner + j
				dst[d] = f(dst[d], src[s])
			}
		}
	}
}

func second[T any](_, b T) T { return b }

func putInts[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](t *targets, mode int, y, z Host) {
	f := second[T]
	switch mode {
	case ir.PutAdd:
		f = func(a, b T) T { return a + b }
	case ir.PutMul:
		f = func(a, b T) T { return a * b }
	case ir.PutMax:
		f = func(a, b T) T { return max(a, b) }
	case ir.PutMin:
		f = func(a, b T) T { return min(a, b) }
	}
	putWith(t, view[T](y.Data), view[T](z.Data), f)
}

// floatOf returns the combination of two floats; Go's max and min give NaN if one
// is NaN, and order -0 before +0.
func floatOf[T float32 | float64](mode int) func(a, b T) T {
	switch mode {
	case ir.PutAdd:
		return func(a, b T) T { return a + b }
	case ir.PutMul:
		return func(a, b T) T { return a * b }
	case ir.PutMax:
		return func(a, b T) T { return max(a, b) }
	case ir.PutMin:
		return func(a, b T) T { return min(a, b) }
	}
	return second[T]
}

func putFloats[T float32 | float64](t *targets, mode int, y, z Host) {
	putWith(t, view[T](y.Data), view[T](z.Data), floatOf[T](mode))
}

func putHalves(t *targets, mode int, y, z Host, up func(uint16) float32, down func(float32) uint16) {
	f := second[uint16] // replaced elements keep their bits
	if wide := floatOf[float32](mode); mode != ir.PutReplace {
		f = func(a, b uint16) uint16 { return down(wide(up(a), up(b))) }
	}
	putWith(t, view[uint16](y.Data), view[uint16](z.Data), f)
}

// keysOf returns the order of the elements of a tensor as unsigned numbers: -0 is
// +0, and NaN is the greatest.
func keysOf(h Host) func(i int) uint64 {
	switch d := h.Type.DType; d {
	case ir.F64:
		v := view[float64](h.Data)
		return func(i int) uint64 { return floatKey(v[i]) }
	case ir.F32:
		v := view[float32](h.Data)
		return func(i int) uint64 { return floatKey(float64(v[i])) }
	case ir.F16:
		v := view[uint16](h.Data)
		return func(i int) uint64 { return floatKey(float64(kernel.F16ToF32(v[i]))) }
	case ir.BF16:
		v := view[uint16](h.Data)
		return func(i int) uint64 { return floatKey(float64(kernel.BF16ToF32(v[i]))) }
	case ir.I8:
		return intKeys[int8](h)
	case ir.I16:
		return intKeys[int16](h)
	case ir.I32:
		return intKeys[int32](h)
	case ir.I64:
		return intKeys[int64](h)
	case ir.U16:
		v := view[uint16](h.Data)
		return func(i int) uint64 { return uint64(v[i]) }
	case ir.U32:
		v := view[uint32](h.Data)
		return func(i int) uint64 { return uint64(v[i]) }
	case ir.U64:
		v := view[uint64](h.Data)
		return func(i int) uint64 { return v[i] }
	}
	return func(i int) uint64 { return uint64(h.Data[i]) } // bool and u8
}

func intKeys[T int8 | int16 | int32 | int64](h Host) func(i int) uint64 {
	v := view[T](h.Data)
	return func(i int) uint64 { return uint64(int64(v[i])) ^ 1<<63 }
}

func floatKey(v float64) uint64 {
	b := math.Float64bits(v)
	switch {
	case v != v:
		return math.MaxUint64
	case v == 0:
		return 1 << 63
	case b>>63 != 0:
		return ^b
	}
	return b | 1<<63
}
