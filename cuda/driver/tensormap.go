package driver

import "unsafe"

// ElementType names the element type of a tensor map by the driver's number.
type ElementType uint32

// ElementBF16 is the element type in use.
const ElementBF16 ElementType = 9

// TensorMapBytes is the size of an encoded tensor map.
const TensorMapBytes = 128

// The modes of a tensor map in use, by the driver's numbers.
const (
	swizzle128     = 3 // lines of 128 bytes spread over the banks of shared memory
	promotion128   = 2 // what is read of the L2 cache at once
	interleaveNone = 0
	fillZero       = 0 // what is outside reads as zero
)

// EncodeTensorMap describes a tensor of up to five axes, the one whose elements lie side by
// side first, to the bulk copy engine: extents in elements, strides of the other
// axes in bytes, and the box that is moved at once, whose first axis spans 128
// bytes. The result goes among the parameters of a kernel. Drivers before CUDA 12 give
// an [*Unavailable] error.
func (d *Driver) EncodeTensorMap(t ElementType, base Ptr, extents, strides []int64, box []int32) (m [TensorMapBytes]byte, err error) {
	if d.fn.tensorMapEncodeTiled == 0 {
		return m, &Unavailable{Library: library, Reason: "it lacks cuTensorMapEncodeTiled"}
	}
	const align = 64
	room := make([]byte, TensorMapBytes+align)
	at := (align - int(uintptr(unsafe.Pointer(&room[0]))%align)) % align
	steps := &[5]uint32{1, 1, 1, 1, 1}
	err = d.check("cuTensorMapEncodeTiled", call(d.fn.tensorMapEncodeTiled,
		uintptr(unsafe.Pointer(&room[at])), uintptr(t), uintptr(len(extents)), uintptr(base),
		uintptr(unsafe.Pointer(unsafe.SliceData(extents))), uintptr(unsafe.Pointer(unsafe.SliceData(strides))),
		uintptr(unsafe.Pointer(unsafe.SliceData(box))), uintptr(unsafe.Pointer(steps)),
		interleaveNone, swizzle128, promotion128, fillZero))
	copy(m[:], room[at:])
	return m, err
}
