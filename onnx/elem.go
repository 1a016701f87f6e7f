package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter"
)

// Elem is the element type of a value, numbered as in ONNX files.
type Elem int32

// The element types of ONNX.
const (
	Undefined      Elem = 0
	Float          Elem = 1
	Uint8          Elem = 2
	Int8           Elem = 3
	Uint16         Elem = 4
	Int16          Elem = 5
	Int32          Elem = 6
	Int64          Elem = 7
	String         Elem = 8
	Bool           Elem = 9
	Float16        Elem = 10
	Double         Elem = 11
	Uint32         Elem = 12
	Uint64         Elem = 13
	Complex64      Elem = 14
	Complex128     Elem = 15
	BFloat16       Elem = 16
	Float8E4M3FN   Elem = 17
	Float8E4M3FNUZ Elem = 18
	Float8E5M2     Elem = 19
	Float8E5M2FNUZ Elem = 20
	Uint4          Elem = 21
	Int4           Elem = 22
	Float4E2M1     Elem = 23
	Float8E8M0     Elem = 24
	Uint2          Elem = 25
	Int2           Elem = 26
)

type elemInfo struct {
	name string
	bits int          // of an element in raw data
	held sinter.DType // of the tensor that holds it
}

var elems = map[Elem]elemInfo{
	Float: {"float32", 32, sinter.F32}, Double: {"float64", 64, sinter.F64},
	Float16: {"float16", 16, sinter.F16}, BFloat16: {"bfloat16", 16, sinter.BF16},
	Int8: {"int8", 8, sinter.I8}, Int16: {"int16", 16, sinter.I16}, Int32: {"int32", 32, sinter.I32}, Int64: {"int64", 64, sinter.I64},
	Uint8: {"uint8", 8, sinter.U8}, Uint16: {"uint16", 16, sinter.U16}, Uint32: {"uint32", 32, sinter.U32}, Uint64: {"uint64", 64, sinter.U64},
	Bool: {"bool", 8, sinter.Bool},
	// Narrow types are held widened, in a dtype that has each of their values.
	Float8E4M3FN: {"float8e4m3fn", 8, sinter.F32}, Float8E4M3FNUZ: {"float8e4m3fnuz", 8, sinter.F32},
	Float8E5M2: {"float8e5m2", 8, sinter.F32}, Float8E5M2FNUZ: {"float8e5m2fnuz", 8, sinter.F32},
	Float8E8M0: {"float8e8m0", 8, sinter.F32}, Float4E2M1: {"float4e2m1", 4, sinter.F32},
	Uint4: {"uint4", 4, sinter.U8}, Int4: {"int4", 4, sinter.I8}, Uint2: {"uint2", 2, sinter.U8}, Int2: {"int2", 2, sinter.I8},
	String: {"string", 0, 0}, Complex64: {"complex64", 64, 0}, Complex128: {"complex128", 128, 0},
}

// String returns the name of the type, such as "float32".
func (e Elem) String() string {
	if i, ok := elems[e]; ok {
		return i.name
	}
	return fmt.Sprintf("element type %d", int32(e))
}

// DType returns the dtype of the tensors that hold elements of the type. Types
// narrower than a byte, and floats of 8 and 4 bits, are held in one that has
// each of their values. It is not valid for strings and complex numbers.
func (e Elem) DType() sinter.DType { return elems[e].held }

// Narrow reports whether the type has no dtype of its own.
func (e Elem) Narrow() bool { return e >= Float8E4M3FN && e <= Int2 }

// elemOf returns the element type of a dtype.
func elemOf(d sinter.DType) Elem {
	for e, i := range elems {
		if i.held == d && !e.Narrow() {
			return e
		}
	}
	return Undefined
}

var elemOfDType = func() (table [64]Elem) {
	for d := range table {
		if sinter.DType(d).Valid() {
			table[d] = elemOf(sinter.DType(d))
		}
	}
	return table
}()

// ElemOf returns the element type of a dtype.
func ElemOf(d sinter.DType) Elem {
	if int(d) < len(elemOfDType) {
		return elemOfDType[d]
	}
	return Undefined
}
