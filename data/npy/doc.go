// Package npy reads and writes numpy's array files: .npy, and .npz archives of
// them. An [Array] has the fields of sinter.Array, so that one converts to the
// other, and sinter.FromBytes takes it to a device:
//
//	a, err := npy.ReadFile("weights.npy")
//	t := sinter.FromBytes(sinter.Of{}, a.DType, a.Bytes, a.Shape...)
//
// Every dtype of Sinter but bf16, which numpy has no name for, is read and
// written; others of numpy's (complex numbers, texts, records, objects) are errors.
// Either byte order and either order of axes is read; arrays are written row-major
// and little-endian, with the bytes that numpy writes.
//
// Files need not be trusted: headers are parsed, not evaluated, memory grows with
// the data that is there rather than with what a header claims, and archives that
// unfold to more than [MaxBytes] are refused.
package npy
