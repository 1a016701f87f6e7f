package backendtest

import (
	"encoding/binary"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// host is a tensor as definitions see it: the bits of its elements, in row-major
// order, extended by zeros.
type host struct {
	typ  ir.Type
	bits []uint64
}

func newHost(t ir.Type) host { return host{t, make([]uint64, t.Shape.Size())} }

// decode reads elements in the machine's byte order.
func decode(t ir.Type, b []byte) host {
	h := newHost(t)
	for i := range h.bits {
		switch t.DType.Size() {
		case 1:
			h.bits[i] = uint64(b[i])
		case 2:
			h.bits[i] = uint64(binary.NativeEndian.Uint16(b[2*i:]))
		case 4:
			h.bits[i] = uint64(binary.NativeEndian.Uint32(b[4*i:]))
		default:
			h.bits[i] = binary.NativeEndian.Uint64(b[8*i:])
		}
	}
	return h
}

func (h host) encode() []byte {
	b := make([]byte, 0, h.typ.Bytes())
	for _, v := range h.bits {
		switch h.typ.DType.Size() {
		case 1:
			b = append(b, byte(v))
		case 2:
			b = binary.NativeEndian.AppendUint16(b, uint16(v))
		case 4:
			b = binary.NativeEndian.AppendUint32(b, uint32(v))
		default:
			b = binary.NativeEndian.AppendUint64(b, v)
		}
	}
	return b
}

func (h host) scalar(i int) ir.Scalar { return ir.Scalar{DType: h.typ.DType, Bits: h.bits[i]} }

func (h host) float(i int) float64 { return h.scalar(i).Float() }

func (h host) values() []float64 {
	v := make([]float64, len(h.bits))
	for i := range v {
		v[i] = h.float(i)
	}
	return v
}

// integer returns an element extended to 64 bits by its sign, if it has one.
func (h host) integer(i int) int64 {
	if h.typ.DType.Kind() != ir.KindInt {
		return int64(h.bits[i])
	}
	shift := 64 - h.typ.DType.Bits()
	return int64(h.bits[i]<<shift) >> shift
}

// cut keeps the low bits that the dtype has.
func cut(d ir.DType, v uint64) uint64 { return v & (math.MaxUint64 >> (64 - d.Bits())) }

// walk calls f with the row-major number and the coordinates of each element.
func walk(s ir.Shape, f func(i int, at []int)) {
	at := make([]int, len(s))
	for i, n := 0, s.Size(); i < n; i++ {
		f(i, at)
		for j := len(s) - 1; j >= 0; j-- {
			if at[j]++; at[j] < s[j] {
				break
			}
			at[j] = 0
		}
	}
}

// linear is the row-major number of coordinates.
func linear(s ir.Shape, at []int) int {
	n := 0
	for i, d := range s {
		n = n*d + at[i]
	}
	return n
}

// spread returns the elements repeated to a shape that the tensor broadcasts to.
func (h host) spread(s ir.Shape) host {
	if h.typ.Shape.Equal(s) {
		return h
	}
	out := newHost(ir.Type{DType: h.typ.DType, Shape: s})
	off := len(s) - len(h.typ.Shape)
	from := make([]int, len(h.typ.Shape))
	walk(s, func(i int, at []int) {
		for j, d := range h.typ.Shape {
			from[j] = 0
			if d != 1 {
				from[j] = at[off+j]
			}
		}
		out.bits[i] = h.bits[linear(h.typ.Shape, from)]
	})
	return out
}

// permuted moves axis p[i] to place i.
func (h host) permuted(p []int) host {
	s := make(ir.Shape, len(p))
	for i, x := range p {
		s[i] = h.typ.Shape[x]
	}
	out := newHost(ir.Type{DType: h.typ.DType, Shape: s})
	from := make([]int, len(p))
	walk(s, func(i int, at []int) {
		for j, x := range p {
			from[x] = at[j]
		}
		out.bits[i] = h.bits[linear(h.typ.Shape, from)]
	})
	return out
}

// same reports whether two elements of a dtype are equal bit for bit, any NaN
// being as good as any other.
func same(d ir.DType, a, b uint64) bool {
	if a == b {
		return true
	}
	return d.IsFloat() && math.IsNaN(ir.Scalar{DType: d, Bits: a}.Float()) && math.IsNaN(ir.Scalar{DType: d, Bits: b}.Float())
}

// difference returns the first element that differs, -1 if none does.
func difference(a, b host) int {
	for i := range a.bits {
		if !same(a.typ.DType, a.bits[i], b.bits[i]) {
			return i
		}
	}
	return -1
}

// ulp is the distance of neighbours of the dtype near v.
func ulp(d ir.DType, v float64) float64 {
	fraction, least := 52, -1022
	switch d {
	case ir.F16:
		fraction, least = 10, -14
	case ir.BF16:
		fraction, least = 7, -126
	case ir.F32:
		fraction, least = 23, -126
	}
	e := least
	if v != 0 && !math.IsInf(v, 0) {
		e = max(math.Ilogb(v), least)
	}
	return math.Ldexp(1, e-fraction)
}
