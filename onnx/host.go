package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// hostLimit is the number of elements up to which constants are kept on the host
// too, and operators of host values compute on the host.
const hostLimit = 4096

// Host is elements known on the host, in row-major order: shapes, axes, bounds
// and the arithmetic on them never wait for a device. Integers and bools (0, 1)
// are in Ints, u64 by its bits; floats in Floats, each a value of the element
// type; strings in Strs.
type Host struct {
	Elem   Elem
	Shape  []int
	Ints   []int64
	Floats []float64
	Strs   []string
}

// IsFloat reports whether the elements are in Floats.
func (h *Host) IsFloat() bool { return h.Elem != String && h.Elem.DType().IsFloat() }

// Size returns the number of elements.
func (h *Host) Size() int { return product(h.Shape) }

// smallHost returns the elements of a small array, nil of another.
func smallHost(e Elem, a sinter.Array) *Host {
	if product(a.Shape) > hostLimit {
		return nil
	}
	return hostOf(e, a)
}

// hostOf returns the elements of an array.
func hostOf(e Elem, a sinter.Array) *Host {
	h := &Host{Elem: e, Shape: append([]int{}, a.Shape...)}
	n := product(a.Shape)
	b := a.Bytes
	if h.IsFloat() {
		h.Floats = make([]float64, n)
	} else {
		h.Ints = make([]int64, n)
	}
	for i := range n {
		switch a.DType {
		case sinter.F32:
			h.Floats[i] = float64(math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:])))
		case sinter.F64:
			h.Floats[i] = math.Float64frombits(binary.NativeEndian.Uint64(b[8*i:]))
		case sinter.F16:
			h.Floats[i] = ir.Scalar{DType: sinter.F16, Bits: uint64(binary.NativeEndian.Uint16(b[2*i:]))}.Float()
		case sinter.BF16:
			h.Floats[i] = ir.Scalar{DType: sinter.BF16, Bits: uint64(binary.NativeEndian.Uint16(b[2*i:]))}.Float()
		case sinter.I64, sinter.U64:
			h.Ints[i] = int64(binary.NativeEndian.Uint64(b[8*i:]))
		case sinter.I32:
			h.Ints[i] = int64(int32(binary.NativeEndian.Uint32(b[4*i:])))
		case sinter.U32:
			h.Ints[i] = int64(binary.NativeEndian.Uint32(b[4*i:]))
		case sinter.I16:
			h.Ints[i] = int64(int16(binary.NativeEndian.Uint16(b[2*i:])))
		case sinter.U16:
			h.Ints[i] = int64(binary.NativeEndian.Uint16(b[2*i:]))
		case sinter.I8:
			h.Ints[i] = int64(int8(b[i]))
		default: // u8, bool
			h.Ints[i] = int64(b[i])
		}
	}
	return h
}

// array returns the elements as an array.
func (h *Host) array() sinter.Array {
	d := h.Elem.DType()
	n := h.Size()
	b := make([]byte, n*d.Size())
	for i := range n {
		switch d {
		case sinter.F32:
			binary.NativeEndian.PutUint32(b[4*i:], math.Float32bits(float32(h.Floats[i])))
		case sinter.F64:
			binary.NativeEndian.PutUint64(b[8*i:], math.Float64bits(h.Floats[i]))
		case sinter.F16, sinter.BF16:
			binary.NativeEndian.PutUint16(b[2*i:], uint16(ir.MakeScalar(d, h.Floats[i]).Bits))
		case sinter.I64, sinter.U64:
			binary.NativeEndian.PutUint64(b[8*i:], uint64(h.Ints[i]))
		case sinter.I32, sinter.U32:
			binary.NativeEndian.PutUint32(b[4*i:], uint32(h.Ints[i]))
		case sinter.I16, sinter.U16:
			binary.NativeEndian.PutUint16(b[2*i:], uint16(h.Ints[i]))
		default:
			b[i] = byte(h.Ints[i])
		}
	}
	return sinter.Array{DType: d, Shape: h.Shape, Bytes: b}
}

// tensor returns the elements as a tensor of a device: a single one as a
// constant, which kernels take without memory.
func (h *Host) tensor(d *sinter.Device) *sinter.Tensor {
	if h.Size() == 1 {
		switch {
		case h.IsFloat():
			return sinter.On(d).Full(h.Floats[0], h.Elem.DType(), h.Shape...)
		case h.Elem == Bool:
			return sinter.On(d).Full(h.Ints[0] != 0, sinter.Bool, h.Shape...)
		case h.Elem != Uint64:
			return sinter.On(d).Full(h.Ints[0], h.Elem.DType(), h.Shape...)
		}
	}
	a := h.array()
	return sinter.FromBytes(sinter.On(d), a.DType, a.Bytes, a.Shape...)
}

// HostInts is integers on the host, of one axis.
func HostInts(v ...int) *Host {
	h := &Host{Elem: Int64, Shape: []int{len(v)}, Ints: make([]int64, len(v))}
	for i, x := range v {
		h.Ints[i] = int64(x)
	}
	return h
}

// ints returns the elements as ints; floats are an error.
func (h *Host) ints() ([]int, error) {
	if h.IsFloat() || h.Elem == String {
		return nil, fmt.Errorf("expected integers, got %s", h.Elem)
	}
	out := make([]int, len(h.Ints))
	for i, v := range h.Ints {
		out[i] = int(v)
		if int64(out[i]) != v {
			return nil, fmt.Errorf("the number %d is out of range", v)
		}
	}
	return out, nil
}

// floats returns the elements as float64s.
func (h *Host) floats() ([]float64, error) {
	switch {
	case h.Elem == String:
		return nil, fmt.Errorf("expected numbers, got strings")
	case h.IsFloat():
		return append([]float64(nil), h.Floats...), nil
	}
	out := make([]float64, len(h.Ints))
	for i, v := range h.Ints {
		out[i] = float64(v)
		if h.Elem == Uint64 {
			out[i] = float64(uint64(v))
		}
	}
	return out, nil
}
