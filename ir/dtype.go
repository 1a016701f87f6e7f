package ir

import "fmt"

// DType is the element type of a tensor. The numeric values are part of wire
// form v1 and never change meaning; new types are appended.
type DType uint8

// The element types. Bool is stored as one byte, 0 or 1. F16 and BF16 are
// storage types: arithmetic on them is done in F32 and rounded once per row.
// The values from QuantBase on are reserved for quantized block formats, whose
// descriptor holds several buffers and bit-sized elements.
const (
	Invalid DType = iota
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
	numDTypes

	QuantBase DType = 64
)

// Kind groups element types by the arithmetic they take part in.
type Kind uint8

// The kinds of element type.
const (
	KindNone Kind = iota
	KindBool
	KindInt
	KindUint
	KindFloat
)

type dtypeInfo struct {
	name    string
	size    int
	kind    Kind
	compute DType
}

var dtypeTable = [numDTypes]dtypeInfo{
	Invalid: {"invalid", 0, KindNone, Invalid},
	Bool:    {"bool", 1, KindBool, Bool},
	I8:      {"i8", 1, KindInt, I32},
	I16:     {"i16", 2, KindInt, I32},
	I32:     {"i32", 4, KindInt, I32},
	I64:     {"i64", 8, KindInt, I64},
	U8:      {"u8", 1, KindUint, U32},
	U16:     {"u16", 2, KindUint, U32},
	U32:     {"u32", 4, KindUint, U32},
	U64:     {"u64", 8, KindUint, U64},
	F16:     {"f16", 2, KindFloat, F32},
	BF16:    {"bf16", 2, KindFloat, F32},
	F32:     {"f32", 4, KindFloat, F32},
	F64:     {"f64", 8, KindFloat, F64},
}

// DTypes lists every valid element type in wire order.
func DTypes() []DType {
	out := make([]DType, 0, numDTypes-1)
	for d := Bool; d < numDTypes; d++ {
		out = append(out, d)
	}
	return out
}

// Valid reports whether d is one of the defined element types.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

func (d DType) info() dtypeInfo {
	if d < numDTypes {
		return dtypeTable[d]
	}
	return dtypeTable[Invalid]
}

// String returns the short name used in programs and files, such as "f32".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return d.info().name
}

// Size returns the bytes of one element.
func (d DType) Size() int { return d.info().size }

// Bits returns the bits of one element as stored.
func (d DType) Bits() int { return 8 * d.info().size }

// Kind returns the arithmetic kind of d.
func (d DType) Kind() Kind { return d.info().kind }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return d.Kind() == KindFloat }

// IsInt reports whether d is a signed or unsigned integer type.
func (d DType) IsInt() bool { return d.Kind() == KindInt || d.Kind() == KindUint }

// Compute returns the type in which scalar programs compute values stored as
// d: itself for bool and for 32- and 64-bit types, F32 for F16 and BF16, and
// I32 or U32 for the narrower integers.
func (d DType) Compute() DType { return d.info().compute }

// ParseDType is the inverse of [DType.String]; it returns an error that lists
// the known names when the name is unknown.
func ParseDType(name string) (DType, error) {
	for d := Bool; d < numDTypes; d++ {
		if dtypeTable[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown dtype %q (known: %v)", name, DTypes())
}
