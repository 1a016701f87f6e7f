// Package ptxtest makes kernels with data, runs them on the interpreter and
// compares bits. The tests of kernel/ptx run the cases on a simulator, those of
// package cuda on a device, so that both exercise the same things.
//
// Invariant: a case is a function of its description alone; data come from a
// seeded generator.
package ptxtest
