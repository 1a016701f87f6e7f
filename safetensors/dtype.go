package safetensors

import (
	"math/bits"

	"github.com/sinter-go/sinter/ir"
)

// format is an element type as the file format knows it: an index into
// formats.
type format uint8

// formats lists the element types of the specification in the order of the
// reference implementation, which grows with the alignment. [Write] lays
// tensors out by descending position in this list, as the reference does, so
// that both produce the same bytes. A type without an ir.DType is recognised
// (its size is known, so the rest of the file can be checked and read) but
// unsupported.
var formats = []struct {
	name  string
	bits  uint64
	dtype ir.DType
}{
	{"BOOL", 8, ir.Bool},
	{"F4", 4, ir.Invalid},
	{"F6_E2M3", 6, ir.Invalid},
	{"F6_E3M2", 6, ir.Invalid},
	{"U8", 8, ir.U8},
	{"I8", 8, ir.I8},
	{"F8_E5M2", 8, ir.Invalid},
	{"F8_E4M3", 8, ir.Invalid},
	{"F8_E8M0", 8, ir.Invalid},
	{"I16", 16, ir.I16},
	{"U16", 16, ir.U16},
	{"F16", 16, ir.F16},
	{"BF16", 16, ir.BF16},
	{"I32", 32, ir.I32},
	{"U32", 32, ir.U32},
	{"F32", 32, ir.F32},
	{"C64", 64, ir.Invalid},
	{"F64", 64, ir.F64},
	{"I64", 64, ir.I64},
	{"U64", 64, ir.U64},
}

func (f format) String() string { return formats[f].name }

// formatNamed finds the element type that a header calls name.
func formatNamed(name []byte) (format, bool) {
	for i := range formats {
		if formats[i].name == string(name) {
			return format(i), true
		}
	}
	return 0, false
}

// formatOf finds the element type that stores d.
func formatOf(d ir.DType) (format, bool) {
	for i := range formats {
		if d != ir.Invalid && formats[i].dtype == d {
			return format(i), true
		}
	}
	return 0, false
}

// byteSize returns the bytes that a tensor of the given shape takes. It is
// false where the size exceeds 2^61-1 or is not a whole number of bytes.
// Dimensions of size zero do not excuse the others: [0, 1<<40, 1<<40] is
// refused, because strides computed from it would overflow.
func (f format) byteSize(shape []int) (int64, bool) {
	n, empty := uint64(1), false
	for _, d := range shape {
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 {
			return 0, false
		}
		n = lo
	}
	hi, total := bits.Mul64(n, formats[f].bits)
	if hi != 0 {
		return 0, false
	}
	if empty {
		return 0, true
	}
	return int64(total / 8), total%8 == 0
}
