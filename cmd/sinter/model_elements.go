package main

import (
	endian "encoding/binary"
	"math"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/ir"
)

// floatAt returns element i of bytes of a float dtype.
func floatAt(d sinter.DType, b []byte, i int) float64 {
	ne := endian.NativeEndian
	switch d {
	case sinter.F32:
		return float64(math.Float32frombits(ne.Uint32(b[4*i:])))
	case sinter.F64:
		return math.Float64frombits(ne.Uint64(b[8*i:]))
	}
	return ir.Scalar{DType: d, Bits: uint64(ne.Uint16(b[2*i:]))}.Float()
}

// intAt returns element i of bytes of an integer dtype or bool; u64 by its bits.
func intAt(d sinter.DType, b []byte, i int) int64 {
	ne := endian.NativeEndian
	switch d {
	case sinter.I64, sinter.U64:
		return int64(ne.Uint64(b[8*i:]))
	case sinter.I32:
		return int64(int32(ne.Uint32(b[4*i:])))
	case sinter.U32:
		return int64(ne.Uint32(b[4*i:]))
	case sinter.I16:
		return int64(int16(ne.Uint16(b[2*i:])))
	case sinter.U16:
		return int64(ne.Uint16(b[2*i:]))
	case sinter.I8:
		return int64(int8(b[i]))
	}
	return int64(b[i])
}

// numberAt returns element i as a float64.
func numberAt(d sinter.DType, b []byte, i int) float64 {
	switch {
	case d.IsFloat():
		return floatAt(d, b, i)
	case d == sinter.U64:
		return float64(uint64(intAt(d, b, i)))
	}
	return float64(intAt(d, b, i))
}
