// Package contract runs contractions: kernels whose one reduction is a dot product,
// with all that surrounds it.
//
// A contraction is a kernel like any other, and this engine another executable for
// it, with the bits of the interpreter. [Compile] takes a kernel apart:
//
//   - what feeds the two operands of the product (casts, dequantisation, index
//     maps) becomes two elementwise kernels, which write blocks of an operand in the
//     order in which micro-kernels read;
//   - what uses the product (bias, activation, residual, cast) becomes one, which
//     reads a tile of products;
//   - in between run the micro-kernels of package amd64: tiles of sums that stay in
//     registers over all k of a chunk.
//
// A side that is the plain load of a matrix is read where it lies, if its strides
// suit the micro-kernels; a product that is stored as it is goes from the registers
// to its place.
//
// Problems of one row whose columns are overlapping windows (the channels of a
// depthwise convolution) are packed nowhere: see slide.go.
//
// The axes of a kernel are classed by the operands that vary along them: rows vary
// the first only, columns the second only; all others are looped over. Rows and
// columns change places where that puts adjacent results side by side in vectors.
// Several axes of a class are one linear index ([span]); ranges of it are cut into
// boxes for the elementwise kernels.
//
// The tree of a dot product is sequential: chunks of k folded from +0 in ascending
// order, chunk sums added in order. Tiles keep to it whatever their size, so
// neither blocking, packing nor the number of threads changes a bit.
//
// Narrow operands stay narrow: bytes that were widened to i32 for the product, and
// pairs of bf16, are multiplied several at a time (a lane), as [kernel.PairDot] and the
// wrapping of integers allow.
//
// Refused, and so run by the code of package amd64: kernels with other reductions,
// scans or stores of single elements beside the product, products of a type without
// micro-kernels, and those where no axis belongs to one operand alone, such as the
// norms of rows.
package contract
