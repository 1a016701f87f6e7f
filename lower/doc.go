// Package lower turns operations into kernels: one node, or a block of nodes
// that share an iteration space. There is one lowering. Unfused execution lowers
// blocks of length one and fusion longer ones, so the two cannot differ in what
// they compute, only in what they store between.
//
// Invariants between packages: the nodes were inferred ([ir.Infer]); the summation
// tree of every reduction is chosen here, from logical shapes alone; between two
// rows of a block every value is rounded to its dtype, as if it had been stored.
package lower
