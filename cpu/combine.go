package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

// number is an element that Go computes with. Its max and min give NaN if one is
// NaN, and order -0 before +0.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// combiner combines elements that arrive with those that are there, in ascending
// order of arrival, each result rounded to the dtype.
type combiner[T any] struct {
	// row combines s with d, element by element.
	row func(d, s []T)
	// points combines s[i] with d[index[i]], and returns the position of the first
	// index that lies outside of d, or -1.
	points func(d []T, index []int64, s []T) int
	// columns combines s[i] with d[index[i]·inner + i]. The indices lie in an axis of
	// the extent.
	columns func(d []T, extent, inner int, index []int64, s []T)
}

// place is an index as it counts from the beginning of an axis. It lies in the axis.
func place(v int64, extent int) int { return int(v + v>>63&int64(extent)) }

// combinerOf returns the combiner of a mode.
func combinerOf[T number](mode int) combiner[T] {
	switch mode {
	case ir.PutAdd:
		return combiner[T]{
			func(d, s []T) {
				for i, v := range s[:len(d)] {
					d[i] += v
				}
			},
			func(d []T, index []int64, s []T) int {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, len(d))
					if uint(at) >= uint(len(d)) {
						return i
					}
					d[at] += s[i]
				}
				return -1
			},
			func(d []T, extent, inner int, index []int64, s []T) {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, extent)*inner + i
					d[at] += s[i]
				}
			}}
	case ir.PutMul:
		return combiner[T]{
			func(d, s []T) {
				for i, v := range s[:len(d)] {
					d[i] *= v
				}
			},
			func(d []T, index []int64, s []T) int {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, len(d))
					if uint(at) >= uint(len(d)) {
						return i
					}
					d[at] *= s[i]
				}
				return -1
			},
			func(d []T, extent, inner int, index []int64, s []T) {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, extent)*inner + i
					d[at] *= s[i]
				}
			}}
	case ir.PutMax:
		return combiner[T]{
			func(d, s []T) {
				for i, v := range s[:len(d)] {
					d[i] = max(d[i], v)
				}
			},
			func(d []T, index []int64, s []T) int {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, len(d))
					if uint(at) >= uint(len(d)) {
						return i
					}
					d[at] = max(d[at], s[i])
				}
				return -1
			},
			func(d []T, extent, inner int, index []int64, s []T) {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, extent)*inner + i
					d[at] = max(d[at], s[i])
				}
			}}
	case ir.PutMin:
		return combiner[T]{
			func(d, s []T) {
				for i, v := range s[:len(d)] {
					d[i] = min(d[i], v)
				}
			},
			func(d []T, index []int64, s []T) int {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, len(d))
					if uint(at) >= uint(len(d)) {
						return i
					}
					d[at] = min(d[at], s[i])
				}
				return -1
			},
			func(d []T, extent, inner int, index []int64, s []T) {
				s = s[:len(index)]
				for i, v := range index {
					at := place(v, extent)*inner + i
					d[at] = min(d[at], s[i])
				}
			}}
	}
	return replacer[T]()
}

// replacer keeps what arrives last, bit for bit.
func replacer[T any]() combiner[T] {
	return combiner[T]{
		func(d, s []T) {
			copy(d, s)
		},
		func(d []T, index []int64, s []T) int {
			s = s[:len(index)]
			for i, v := range index {
				at := place(v, len(d))
				if uint(at) >= uint(len(d)) {
					return i
				}
				d[at] = s[i]
			}
			return -1
		},
		func(d []T, extent, inner int, index []int64, s []T) {
			s = s[:len(index)]
			for i, v := range index {
				at := place(v, extent)*inner + i
				d[at] = s[i]
			}
		}}
}

// halfCombiner returns the combiner of a float of 16 bits, which computes in f32.
func halfCombiner(mode int, up func(uint16) float32, down func(float32) uint16) combiner[uint16] {
	var f func(a, b float32) float32
	switch mode {
	case ir.PutAdd:
		f = func(a, b float32) float32 { return a + b }
	case ir.PutMul:
		f = func(a, b float32) float32 { return a * b }
	case ir.PutMax:
		f = func(a, b float32) float32 { return max(a, b) }
	case ir.PutMin:
		f = func(a, b float32) float32 { return min(a, b) }
	default:
		return replacer[uint16]()
	}
	return combiner[uint16]{
		func(d, s []uint16) {
			for i, v := range s[:len(d)] {
				d[i] = down(f(up(d[i]), up(v)))
			}
		},
		func(d []uint16, index []int64, s []uint16) int {
			s = s[:len(index)]
			for i, v := range index {
				at := place(v, len(d))
				if uint(at) >= uint(len(d)) {
					return i
				}
				d[at] = down(f(up(d[at]), up(s[i])))
			}
			return -1
		},
		func(d []uint16, extent, inner int, index []int64, s []uint16) {
			s = s[:len(index)]
			for i, v := range index {
				at := place(v, extent)*inner + i
				d[at] = down(f(up(d[at]), up(s[i])))
			}
		}}
}

// put combines the elements of z with those of y by mode, to rows as p says. It
// returns the position of the first index that lies outside of its axis, or -1.
func (p *placing) put(c *Call, mode int, y, z Host) (outside int, err error) {
	switch y.Type.DType {
	case ir.F32:
		return putAll(c, p, combinerOf[float32](mode), y, z)
	case ir.F64:
		return putAll(c, p, combinerOf[float64](mode), y, z)
	case ir.I8:
		return putAll(c, p, combinerOf[int8](mode), y, z)
	case ir.I16:
		return putAll(c, p, combinerOf[int16](mode), y, z)
	case ir.I32:
		return putAll(c, p, combinerOf[int32](mode), y, z)
	case ir.I64:
		return putAll(c, p, combinerOf[int64](mode), y, z)
	case ir.U16:
		return putAll(c, p, combinerOf[uint16](mode), y, z)
	case ir.U32:
		return putAll(c, p, combinerOf[uint32](mode), y, z)
	case ir.U64:
		return putAll(c, p, combinerOf[uint64](mode), y, z)
	case ir.F16:
		return putAll(c, p, halfCombiner(mode, kernel.F16ToF32, kernel.F16FromF32), y, z)
	case ir.BF16:
		return putAll(c, p, halfCombiner(mode, kernel.BF16ToF32, kernel.BF16FromF32), y, z)
	}
	return putAll(c, p, combinerOf[uint8](mode), y, z) // bool and u8
}
