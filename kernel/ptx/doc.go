// Package ptx translates kernels of package kernel to PTX text for NVIDIA GPUs
// and says how to launch them.
//
// [Generate] looks at a kernel once and returns a [Module]; [Module.Plan] picks,
// for the extents, strides and addresses of one launch, among a few entry
// points (vector or scalar accesses, a row held in the registers of a warp, a block
// or a cluster, or streamed, one kernel or two) and fills the parameter block. Entry text is made when a plan
// first needs it, since the driver takes tens of milliseconds to compile each.
// [Natives] plans nodes whose kernels are written as a whole.
//
// Invariants:
//
//   - Equal bits with the interpreter of package kernel. Every float operation
//     says its rounding (add.rn, mul.rn, fma.rn, div.rn, sqrt.rn), so that the
//     assembler never contracts one; nothing is flushed to zero; nothing is
//     approximate. [Check] refuses text that breaks this. Matrix units are the
//     exception, whose bits are those of their kind: products of bf16 and f16, and attention.
//     Of a product they are one chain over the group, 16 steps after the other, from +0: no
//     form, tile, layout, batch or extent beside the group's changes a bit.
//   - Sums follow the tree of the reduction exactly. Which variant runs, and how
//     many threads take part, changes no bit: a plan may choose freely.
//   - What is not covered is refused with [*Unsupported], never approximated.
//   - Since compute capability 9.0 every entry waits for the kernel before it in all threads
//     before it touches global memory (dependent.go), so that whoever launches it may do so
//     while that one runs ([Entry].Waits). [Check] refuses text that does not.
//   - All registers are untyped (.b16, .b32, .b64, .pred): a bit cast costs
//     nothing, and the type of an operation stands in the instruction alone.
package ptx
