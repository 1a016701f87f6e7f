// Package lower turns operations into kernels: one node, or a group of nodes that
// one function can compute. There is one lowering. Unfused execution lowers groups
// of one node and fusion larger ones, so the two cannot differ in what they
// compute, only in what they store between.
//
// A group is evaluated backwards from what it stores, by affine index maps
// (affine.go): views only change maps (views.go), joins choose an operand or cut the
// iteration space in pieces, reductions share one reduced group (reduce.go), and what
// comes from outside is loaded where its map says (eval.go). Nothing here knows a row
// by name.
//
// Invariants between packages: the nodes were inferred ([ir.Infer]); the summation
// tree of every reduction is chosen here, from the logical shapes of its node alone;
// between two rows of a block every value is rounded to its dtype, as if it had been
// stored.
package lower
