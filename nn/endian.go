package nn

import (
	"encoding/binary"
	"slices"

	"github.com/sinter-go/sinter"
)

// littleEndian converts elements between the machine's byte order and that of
// files; on most machines they are the same, and data is returned as it is.
func littleEndian(d sinter.DType, data []byte) []byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return data
	}
	return swapped(data, d.Size())
}

// swapped returns data with the bytes of each element reversed.
func swapped(data []byte, size int) []byte {
	out := slices.Clone(data)
	for i := 0; i+size <= len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}
