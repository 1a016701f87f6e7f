// Package ir is the language that every part of Sinter speaks: element types,
// shapes, the table of operations, and programs made of operations.
//
// An operation is defined in exactly one place, a [Row] of the table. Method
// names of the root package, lowering, interpreter, code generators, wire form,
// gradients, conformance tests and fuzzing derive from the row. A scalar program
// (the meaning of an elementwise row, and of the rows that reduce) is data: a
// text in a small language which package kernel parses and lowers.
//
// Invariants between packages: a [Node] that went through [Infer] has the
// result types its row's rules give, so backends may trust them; attributes are
// positional and complete, so equal nodes have equal encodings; package ir
// imports no other package of the project.
package ir
