// Package safetensors reads and writes files of the safetensors format, the
// common way to ship the weights of a model.
//
// The format is defined by the safetensors specification
// (https://github.com/huggingface/safetensors, section "Format"). A file is
//
//   - 8 bytes: N, an unsigned 64-bit little-endian integer,
//   - N bytes: a JSON object in UTF-8 that begins with '{' and may be padded
//     with spaces at its end. Each key is the name of a tensor, its value
//     {"dtype": "F32", "shape": [2, 3], "data_offsets": [BEGIN, END]}. The key
//     "__metadata__" is special: a map from strings to strings,
//   - the rest: the elements of all tensors, little-endian and row-major.
//     Offsets count from the start of this part, which must be covered without
//     holes or overlaps.
//
// Files come from strangers, so reading trusts nothing: every length, offset,
// shape and name is checked before it is used, memory is bounded by a small
// multiple of the header (itself at most [MaxHeader] bytes), and whatever is
// wrong becomes an error that names the tensor, the value found and the value
// expected. No input makes this package panic.
//
// Where the specification leaves a choice, the stricter reading is taken:
// duplicate names are errors, as are numbers that are not written as plain
// non-negative integers, shapes of more than [MaxRank] dimensions, and elements
// of a BOOL tensor other than 0 and 1. Unknown fields of a tensor are ignored.
//
// Package safetensors depends on package ir for the element types only; it
// knows nothing of tensors on devices. Whoever loads a [Tensor] into one copies
// its bytes, so that a [File] may be closed as soon as loading is done.
package safetensors
